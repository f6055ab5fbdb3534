"""The explorer of banks: a tile of the learner's own, and lines of kernels."""

from gemm_kernels import OwnKernel, get
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.bank_board.tile_store import Tile
from tests.pictures.driving import drive, shown

OWN_SOURCE = """
extern "C" __global__ void
mine(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    __shared__ float s[32][32];
    s[threadIdx.x][threadIdx.y] = alpha;
    __syncthreads();
    C[threadIdx.x] = s[threadIdx.y][threadIdx.x];
}
"""
OWN = OwnKernel(OWN_SOURCE, "mine", (32, 2, 1))


def test_settings_show_picture_or_sentence_and_free_figures(monkeypatch):
    explorer = bank_board.explore(OWN)
    explorer.launch.options = [
        pair for pair in explorer.launch.options if pair[0] in ("kernel mine", bank_board.BY_HAND)
    ]
    seen = drive(explorer, monkeypatch, settings=120)
    assert seen["picture"] > 90 and seen["sentence"] > 3


def test_misaligning_padding_gets_the_errors_sentence():
    explorer = bank_board.explore(tile=Tile(bits=128))
    explorer.padding.value = 1
    assert shown(explorer) == "sentence"
    assert "not a multiple of 16" in explorer.stage.sentence.value
    explorer.padding.value = 4
    assert shown(explorer) == "picture"


def test_without_a_disassembler_counts_are_called_ptx_estimates(no_machine_code):
    explorer = bank_board.explore(OwnKernel(OWN_SOURCE.replace("[32][32]", "[33][33]"), "mine", (32, 2, 1)))
    assert shown(explorer) == "picture"
    assert explorer.stage.note.value.startswith("An estimate: counted in PTX")


def test_a_learners_kernel_comes_first_and_its_lines_are_named():
    explorer = bank_board.explore(OWN)
    assert shown(explorer) == "picture"
    labels = [label for label, _ in explorer.instruction.options]
    assert labels == ["line 5: store to shared memory, 32 bits", "line 7: load from shared memory, 32 bits"]
    assert explorer.warp.max == 1
    assert (
        "32\u00a0wavefronts where 1 would do"
        in bank_board.picture_of(bank_board.shown(OWN), explorer.instruction.options[0][1]).caption
    )


def test_kernel_without_shared_memory_gets_a_sentence():
    explorer = bank_board.explore(OwnKernel(get("coalesced").source, "sgemm_coalesced", (32, 2)))
    assert shown(explorer) == "sentence"
    assert "makes no request to shared memory" in explorer.stage.sentence.value


def test_only_controls_that_change_the_picture_are_free():
    explorer = bank_board.explore()
    assert explorer.warp.disabled and not explorer.padding.disabled
    explorer.launch.value = explorer.launch.options[1][1]
    assert explorer.padding.disabled and not explorer.request.disabled


def test_static_twin_shows_one_conflict_among_free_requests():
    drawn = bank_board.small_multiples(bank_board.TELLING[:3])
    assert drawn.caption.startswith("Worst is the store to As of transposed: 8")
    assert drawn.caption.endswith("Without a conflict: 2 of 3.")
