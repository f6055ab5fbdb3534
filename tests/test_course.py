"""`%%cuda` in a notebook: a cell of CUDA C++ is checked, or compiled and kept, and what is wrong is a sentence."""

import re
import sys

import numpy as np
import pytest
from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output

import gemm_kernels
from helpers import course, gpu, run
from helpers.exercises import get
from helpers.exercises.framework import kept, progress
from helpers.exercises.framework.answers import Verdict
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.first_launch import explorer as first_launch
from helpers.pictures.fragments import explorer as fragments
from helpers.pictures.ladder import explorer as ladder
from helpers.pictures.register_tile import explorer as register_tile
from helpers.pictures.scheduler import explorer as scheduler
from helpers.pictures.theme import Figure
from helpers.pictures.thread_map import explorer as thread_map
from helpers.pictures.tile_phases import explorer as tile_phases


@pytest.fixture(autouse=True)
def folder_of_a_learner(tmp_path, monkeypatch):
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, str(tmp_path / "my"))
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))
    return tmp_path / "my"


@pytest.fixture
def shown(monkeypatch):
    objects = []
    monkeypatch.setattr(course, "display", objects.append)
    return objects


def cell(name: str) -> str:
    """What stands below the line with the magic, once a learner has written the solution."""
    return get(name).solved.lstrip("\n")


def test_the_verdict_on_a_blank_stands_above_the_picture(shown):
    course.cuda("naive", cell("naive"))
    verdict, picture = shown
    assert isinstance(verdict, Verdict) and verdict.passed is True
    assert isinstance(picture, Figure)


def test_an_empty_body_is_answered_by_one_sentence(shown):
    course.cuda("tiled", get("tiled").starter.lstrip("\n"))
    (verdict,) = shown
    assert verdict.passed is None


def test_lines_are_counted_as_shown_with_the_magic_as_line_1(shown):
    course.cuda("naive", cell("naive").replace("B[k * N + col]", "B[k * N + column]"))
    line = 1 + next(n for n, text in enumerate(cell("naive").splitlines(), 1) if "B[k" in text)
    assert f"kernel.cu:{line}: error" in shown[0].sentence and len(shown) == 1


def test_own_kernel_is_kept_and_compiler_warnings_are_shown(shown, folder_of_a_learner):
    text = '// mine\nextern "C" __global__ void mine(float *x) {\n    int spare;\n    x[0] = 1.0f;\n}\n'
    course.cuda("first_try", text)
    assert shown[0].passed is True and "kept in my/first_try.cu" in shown[0].sentence
    assert 'kernel.cu:4: warning: variable "spare" was declared but never referenced' in shown[0].sentence
    assert (folder_of_a_learner / "first_try.cu").read_text() == course.source("first_try") == f"\n{text}"


def test_a_name_that_is_nearly_an_exercises_is_asked_back(shown):
    course.cuda("naiv", cell("naive"))
    asked, compiled = str(shown[0]).split("\n\n")
    assert asked == "… No exercise is called naiv; did you mean naive? Compiled only, not checked."
    assert compiled == "Compiled: sgemm, kept in my/naiv.cu." and len(shown) == 1


def test_a_kernel_that_does_not_compile_is_not_kept(shown):
    course.cuda("first_try", "__global__ void mine(float *x) { x[0] = y; }")
    assert shown[0].passed is False and 'identifier "y" is undefined' in shown[0].sentence
    with pytest.raises(ValueError, match="Nothing is kept under the name 'first_try'"):
        course.source("first_try")


def test_a_cell_without_a_kernel_says_what_a_kernel_is(shown):
    course.cuda("first_try", "int main() { return 0; }")
    assert shown[0].passed is False and "__global__ void" in shown[0].sentence


@pytest.mark.parametrize(
    ("line", "said"),
    [("", "needs a name"), ("3d", "'3d' is no name"), ("my kernel", "no name"), ("how_many_blocks", "no kernel")],
)
def test_a_wrong_name_is_answered_by_a_sentence(line, said):
    with pytest.raises(UsageError, match=said):
        course.cuda(line, cell("naive"))


def test_magic_is_in_notebooks_and_mistakes_show_no_traceback():
    shell = start_ipython() or get_ipython()
    course.load_ipython_extension(shell)
    with capture_output() as captured:
        shell.run_cell("%%cuda\nnothing")
    assert "UsageError: %%cuda needs a name" in captured.stderr and "Traceback" not in captured.stderr + captured.stdout


def test_course_uses_the_solution_of_an_open_blank():
    assert course.source("naive") == get("naive").solved


def test_an_open_exercise_keeps_the_lines_of_its_solution():
    error = "sgemm read outside.\n  line 9: sum += A[k];\nCompare the index."
    closed = "sgemm read outside.\n  line 9 of the course's kernel\nCompare the index."
    assert course.is_open("naive") and course.whose("naive") == "the course's kernel"
    assert course.message("naive", error) == closed


def test_solved_exercise_is_the_learners_and_quotes_their_lines(shown):
    course.cuda("naive", cell("naive").replace("sum", "total"))
    assert not course.is_open("naive") and course.whose("naive") == "your kernel"
    assert course.message("naive", "  line 9: total += A[k];") == "  line 9: total += A[k];"


@pytest.mark.parametrize(("name", "grid"), [("naive", (8, 4, 1)), ("coalesced", (2, 8, 1)), ("patch", (1, 1, 1))])
def test_explorers_take_the_kernel_that_the_course_goes_on_with(name, grid):
    launch = course.kernel(name).launch(64, 64, 16)
    assert launch.grid == grid and "the course's solution" in launch.name and not launch.scaled
    recording = run.record(launch)
    assert recording.level == "sass" and recording.total("requests", "global", "ld") > 0


def test_a_kernel_that_waits_in_another_way_is_not_taken_apart():
    tiled = get("tiled")
    assert course.with_barriers("tiled", 2).name == "tiled (the course's solution)"
    kept.keep("tiled", tiled.solved.replace("__syncthreads();", "__syncthreads() ;"))
    assert course.with_barriers("tiled", 2).name == "tiled (yours)"
    kept.keep("tiled", tiled.solved.replace("__syncthreads();", "// __syncthreads();", 1))
    assert course.with_barriers("tiled", 2).source == tiled.solved
    kept.keep("tiled", tiled.solved.replace("__syncthreads();", '__asm__ volatile("bar.sync 0;");'))
    assert course.with_barriers("tiled", 2).source == tiled.solved


def test_learners_kernel_multiplies_and_refuses_bad_operands():
    A, B = np.ones((16, 24), np.float32), np.ones((24, 32), np.float32)
    A, B, C = gpu.asarray(A), gpu.asarray(B), gpu.full((16, 32), np.nan, np.float32)
    launch = course.kernel("naive").launch(16, 32, 24)
    run.run(launch, A, B, C)
    assert (gpu.asnumpy(C) == 24).all()
    with pytest.raises(ValueError, match="takes no alpha"):
        run.run(launch, A, B, C, alpha=2.0)


@pytest.mark.parametrize(
    ("name", "words"),
    [("add_scaled", "is no multiplication to write"), ("barriers", "is no multiplication"), ("nothing", "kept")],
)
def test_what_is_no_multiplication_to_write_gets_a_sentence(name, words):
    with pytest.raises(ValueError, match=words):
        course.kernel(name)


FLIP = """
__global__ void flip(const float *in, float *out, int rows, int columns) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns && y < rows) out[x * rows + y] = in[y * columns + x];
}
template <int N> __global__ void other(float *x) { x[0] = N; }
"""


def test_a_kept_kernel_of_any_signature_is_recorded_and_explored(shown):
    course.cuda("flipped", FLIP)
    with pytest.raises(ValueError, match=r"'flipped' has flip, other<N>: say which one is launched"):
        course.kernel("flipped", block=(16, 16), grid=(2, 2))
    arrays = (np.zeros((20, 30), np.float32), np.zeros((30, 20), np.float32))
    flipped = course.kernel("flipped", entry="flip", block=(16, 16), grid=(2, 2), args=(*arrays, 20, 30))
    recording = course.record(flipped)
    assert recording.total("lanes", "global", "st", "out") == 600
    explorer = course.explore(flipped, "thread_map")
    assert explorer.stage.sentence.layout.display == "none"
    with pytest.raises(ValueError, match="There is no explorer 'scheduler' of a kernel; there are thread_map, "):
        course.explore(flipped, "scheduler")


def test_courses_multiplications_are_recorded_and_explored():
    naive = course.kernel("naive", shape=(64, 32, 16))
    assert course.record(naive).total("lanes", "global", "st", "C") == 64 * 32
    assert course.explore(naive).stage.sentence.layout.display == "none"


SLIPS = [  # typed as learners do: (exercise, what stands in the solution, what is typed, what the screen says)
    ("naive", "threadIdx.x;", "threadIdx.x", "Look at the end of line 4: the ; is missing there."),
    ("naive", "float sum = 0.0f;", "float sum;", "sum, a variable without a first value."),
    ("naive", "k < K", "k <= K", "read 4 bytes outside the arrays: index 1152 of B"),
    ("naive", "sum += A", "sum = A", "with each k the sum begins anew"),
    (
        "naive",
        "C[row * N + col]",
        "C[row][col]",
        "element (row, col) of rows that are W numbers long is C[row * W + col]",
    ),
    ("naive", "sgemm(", "my_sgemm(", "no kernel called sgemm in this source; it has: my_sgemm"),
    ("naive", "++k)", ")", "nothing in the loop changes k"),
    ("tiled", "[k][x];\n        __syncthreads();", "[k][x];", "race in shared memory, lines 23 and 21"),
    (
        "tiled",
        "#define T 16",
        "#define T 32",
        "T is 32 in line 2, and the exercise launches blocks of 16 × 16 threads.",
    ),
    (
        "tiled",
        "As[y][k] * Bs",
        "As[k][y] * Bs",
        "stored in one order of its two indices and read in the other: k is the second one.",
    ),
]


@pytest.mark.parametrize(("name", "right", "typed", "words"), SLIPS)
def test_a_slip_is_answered_by_its_line_and_its_reason(shown, name, right, typed, words):
    assert cell(name).count(right) >= 1
    course.cuda(name, cell(name).replace(right, typed, 1))
    verdict = shown[0]
    assert verdict.passed is False and words in verdict.sentence
    assert typed != "k <= K" or verdict.sentence.endswith("compare k with K by <, not by <=.")


SQUARE = np.ones((4, 4), np.float32)
SCALE = """extern "C" __global__ void scale(float *A, int N, float c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) A[i] *= c;
}"""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: course.kernel("naiv"), "%%cuda naiv"),
        (lambda: course.kernel("naive", block=(0, 1)), "block is (0, 1); 0 is no whole number"),
        (lambda: course.kernel("naive", blocks=4), "A launch has no 'blocks'; it has args, block, "),
        (lambda: course.kernel("naive", shape=(1, 2)), "it must be (M, N, K)"),
        (lambda: course.source(3), "Nothing is kept under the name 3"),
        (lambda: course.record(None), 'Try course.kernel("naive").'),
        (lambda: course.record(course.kernel("naive"), M="a"), "M = 'a' is no whole number"),
        (lambda: course.explore(None), 'Try course.kernel("naive").'),
        (lambda: course.explore(course.kernel("naive"), "ladder"), "There is no explorer 'ladder'"),
        (lambda: course.multiply("naive", SQUARE, 3), "B is 3, expected a matrix"),
        (lambda: course.multiply("naive", SQUARE, SQUARE[:3]), "A has 4 columns and B has 3 rows"),
        (lambda: course.sectors("naive", block="a"), "block is 'a'"),
        (lambda: course.sectors("naive", block=(2048, 1)), "2048 threads is more than the 1024"),
        (lambda: course.profile("naive"), "A profile is made of a launch, not of str"),
        (lambda: course.speed("naive", 3), "'naive' was not recorded at 3"),
        (lambda: course.my_ladder("a"), "size = 'a' is no whole number"),
        (lambda: course.my_ladder(until="99"), "There is no notebook '99'"),
        (lambda: course.way("x"), "size = 'x' is no whole number"),
        (lambda: course.here("99"), "has no notebook 99"),
        (lambda: course.here("01"), "Notebook 01 makes no kernel faster"),
        (lambda: course.program(None), "There is no program None"),
        (lambda: course.run_program("multiply.cu", "warp_tile"), "'multiply.cu' is no program in Python"),
        (lambda: get("nix"), "There is no exercise 'nix'"),
        (lambda: gemm_kernels.get("nix"), "there is no kernel 'nix'"),
        (lambda: gemm_kernels.get("naive").launch(0, 1, 1), "M = 0, but a matrix has"),
        (lambda: gpu.polynomial, "gpu.polynomial is not simulated"),
        (lambda: gpu.zeros(-1), "gpu.zeros cannot make this array: negative dimensions are not allowed."),
        (lambda: gpu.asarray([[1, 2], [3]]), "gpu.array cannot make this array: setting an array element"),
        (lambda: gpu.empty((2, 2.5)), "gpu.empty cannot make this array"),
        (lambda: gpu.matmul(gpu.ones((2, 3)), gpu.ones((2, 3))), "gpu.matmul cannot make this array"),
        (lambda: course.kernels("naive"), "There is no course.kernels. Did you mean course.kernel? There are ends_of"),
        (lambda: first_launch.picture(SCALE, 5, 16, 40), "80 threads over 40"),
        (lambda: first_launch.picture(SCALE, 1, 16, -4), "An array of -4 elements cannot be shown"),
        (lambda: first_launch.explore(SCALE, block=17), "threads per block: 17 is not offered here; there are 1, 2, 4"),
        (lambda: thread_map.explore(block=16), "block is 16; it must be 1 or 2 or 3 sizes, as block=(32, 8, 1)."),
        (lambda: thread_map.explore(shape=(0, 3)), "shape is (0, 3); 0 is no whole number"),
        (lambda: coalescing.explore(block=(0, 1)), "block is (0, 1); 0 is no whole number"),
        (lambda: coalescing.explore_steps("naiv"), "there is no kernel 'naiv'"),
        (lambda: tile_phases.explore(tile=7), "tile: 7 is not offered here; there are 2, 4, 8, 16, 32."),
        (lambda: register_tile.explore(BM=100), "BM: 100 is not offered here"),
        (lambda: fragments.explore(lane="a"), "lane: 'a' is not offered here"),
        (lambda: ladder.explore(kernel="nix"), "kernel: 'nix' is not offered here"),
        (lambda: scheduler.explore(3), "choice is 3; it must be a Choice, as choice=Choice(…)."),
    ],
)
def test_wrong_input_to_a_public_verb_gets_a_sentence(asked, said):
    with pytest.raises(Exception, match=re.escape(said)) as caught:
        asked()
    shown = caught.value._render_traceback_()
    assert said in shown[0] and not any("Traceback" in line or "File " in line for line in shown)


def test_a_program_runs_on_the_kernel_with_the_names_of_cupy(capsys):
    course.run_program("multiply.py", "warp_tile")
    assert float(capsys.readouterr().out.removeprefix("largest error ")) < 1e-4
    assert "cupy" not in sys.modules or sys.modules["cupy"] is not gpu


def test_a_program_whose_result_is_wrong_raises(monkeypatch):
    monkeypatch.setattr(course, "source", lambda name: get(name).marked.version("first_k_alone"))
    with pytest.raises(RuntimeError, match="the result of warp_tile is wrong"):
        course.run_program("multiply.py", "warp_tile")
