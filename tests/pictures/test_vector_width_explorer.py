"""The explorer of vector widths: a copy of the learner's own, and lines of kernels."""

from gemm_kernels import OwnKernel, get
from gpusim import compiler
from helpers import run
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.vector_width import explorer as vector_width
from helpers.pictures.vector_width.facts import COPY_SOURCE, LOAD_LINE, WIDTHS, Copy, lines_of
from tests.pictures.driving import drive, shown

OWN_SOURCE = """
extern "C" __global__ void
mine(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    C[threadIdx.x] = alpha * A[2 * threadIdx.x];
}
"""
OWN = OwnKernel(OWN_SOURCE, "mine", (64,))


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = vector_width.explore(OWN)
    kept = ("kernel mine", vector_width.COPY)
    explorer.launch.options = [pair for pair in explorer.launch.options if pair[0] in kept]
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 50 and seen["sentence"] == 0


def test_misaligned_copy_is_refused_with_the_byte_in_the_caption():
    explorer = vector_width.explore(copy=Copy(129, 1))
    assert shown(explorer) == "picture"
    caption = vector_width.picture_of(WIDTHS[-1], Copy(129, 1)).caption
    assert caption.endswith("Row 1 begins at byte 516 of A, which is no multiple of 16.")


def test_the_machine_code_is_the_compilers():
    compiled = compiler.compile(COPY_SOURCE, "copy_row<float4, false>", options=("-std=c++17",))
    (load,) = [
        instruction for instruction in compiler.sass_by_line(compiled)[LOAD_LINE] if instruction.startswith("LDG")
    ]
    texts = [text.get_text() for text in vector_width.picture_of(WIDTHS[-1], Copy()).axes[0].texts]
    assert load in texts and load.startswith("LDG.E.128")


def test_what_a_line_costs_is_what_was_recorded():
    launch = bank_board.shown(get("transposed"))
    fragment = next(line for line in lines_of(launch) if "b_frag" in line.text)
    rows = run.record(launch).requests(line=fragment.line)
    caption = vector_width.picture_of_line(launch, fragment).caption.replace("\u00a0", " ")
    assert caption == (
        f"Line {fragment.line} is 64 × ld.shared.f32 in PTX and 16 × LDS.128 in the machine code: "
        f"{len(rows)} requests, {rows['wavefronts'].sum()} wavefronts."
    )


def test_a_learners_kernel_comes_first():
    explorer = vector_width.explore(OWN)
    assert shown(explorer) == "picture"
    assert [option.line for _, option in explorer.line.options] == [4]
    caption = vector_width.picture_of_line(bank_board.shown(OWN), explorer.line.value).caption.replace("\u00a0", " ")
    assert caption.endswith("2 requests, 12 sectors.")


def test_kernel_touching_no_memory_gets_a_sentence():
    idle = OWN_SOURCE.replace("C[threadIdx.x] = alpha * A[2 * threadIdx.x];", "")
    explorer = vector_width.explore(OwnKernel(idle, "mine", (32,), name="idle"))
    assert shown(explorer) == "sentence"
    assert "No line of idle accesses memory" in explorer.stage.sentence.value


def test_without_a_disassembler_there_is_a_sentence(no_machine_code):
    explorer = vector_width.explore(OwnKernel(OWN_SOURCE.replace("2 *", "3 *"), "mine", (32,)))
    assert shown(explorer) == "sentence"
    assert "is not installed" in explorer.stage.sentence.value


def test_the_static_twin_shows_every_width_at_every_alignment():
    drawn = vector_width.small_multiples((Copy(128, 1), Copy(129, 1)))
    assert drawn.caption.startswith("16 to 65") and "2 of 8 are refused" in drawn.caption
