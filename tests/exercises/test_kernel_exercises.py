"""What happens to a learner's kernel: broken ones never reach the GPU, and every answer is a sentence with a place."""

import re
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from gpusim.native import NoLibrary
from helpers import exercises, plan, run
from helpers.exercises.framework import marked, on_gpu, problems, speed, trial
from helpers.exercises.framework.exercise import KernelExercise
from helpers.exercises.framework.functions import FunctionExercise
from helpers.exercises.framework.problems import Case

BETA = exercises.get("beta")
BARRIERS = exercises.get("barriers")
SUM = "float sum = 0.0f;"
STORE = "C[row * N + col] = alpha"


@pytest.fixture
def launched(monkeypatch) -> list[str]:
    """The sources that got as far as the GPU."""
    seen = []
    answer = on_gpu.OnDevice(True, "")
    monkeypatch.setattr(on_gpu, "run", lambda source, problem: seen.append(source) or answer)
    return seen


BROKEN = {
    "endless": (SUM, f"{SUM} while (true) {{}}", "still running"),
    "endless with a step": ("++k) sum", "k += 0) sum", "still running"),
    "endless at a barrier": (SUM, f"{SUM} while (true) __syncthreads();", "still running"),
    "beyond the end": (STORE, "C[row * N + col + M * N] = alpha", "outside the arrays"),
    "far away": (STORE, "C[row * N + col + (1 << 28)] = alpha", "far from every array"),
    "a race": (STORE, "C[0] = sum; C[row * N + col] = alpha", "race in global memory"),
    "half a barrier": (SUM, f"{SUM} if (threadIdx.x < 3) __syncthreads();", "__syncthreads()"),
    "a trap": (SUM, f"{SUM} if (row == 3) __trap();", "__trap()"),
    "unaligned": (SUM, "float sum = *(double *)&C[1];", "not a multiple of 8"),
    "nothing stored": (STORE, "sum = alpha", "was not written by any thread"),
    "too much shared memory": (SUM, "__shared__ float s[99999]; s[row] = 1; float sum = s[col];", "49152 bytes"),
    "no CUDA": (SUM, "float sum = lambda x: x;", "error"),
    "another name": ("sgemm(", "mine(", "no kernel called sgemm"),
    "other parameters": ("int K, float alpha", "float alpha, int K", "Argument"),
    "wrong": ("k * N + col", "k + col * K", "“B is read as if"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_broken_kernel_gets_a_sentence_and_never_reaches_the_gpu(what, launched):
    old, new, sentence = BROKEN[what]
    assert old in BETA.solved
    verdict = BETA.check(BETA.solved.replace(old, new))
    assert verdict.passed is False and sentence in verdict.sentence, verdict.sentence
    assert launched == []
    assert not isinstance(BETA.show(BETA.solved.replace(old, new)), Exception)


def test_a_right_kernel_reaches_the_gpu_once(launched):
    assert BETA.check(BETA.solved).passed is True
    assert launched == [BETA.solved]


def test_a_kernel_that_is_right_but_slow_never_reaches_the_gpu(launched):
    slow = exercises.get("deep_tiles")
    assert slow.check("//\n" + slow.starter).passed is False
    assert launched == []


def test_a_loop_without_end_is_stopped_within_a_second_or_two():
    started = time.perf_counter()
    BETA.check(BETA.solved.replace(SUM, f"{SUM} while (true) {{}}"))
    assert time.perf_counter() - started < 8


@pytest.mark.parametrize("source", [3, b"x", ["a"], Case])
def test_what_is_no_text_is_said_to_be_none(source):
    for verdict in (BETA.check(source), BETA.show(source)):
        assert verdict.passed is False and 'r"""' in verdict.sentence


def test_a_wrong_element_is_named_with_its_writer_and_drawn():
    verdict = BETA.check(BETA.solved.replace("row * K + k]", "row * K + k] * (col == 5 ? 2.0f : 1.0f)"))
    wrong = re.search(r"C\[0, 5\] is (\S+), expected (\S+)\. Thread \(0, 5\) of block \(0, 0\) wrote it in line 18",
                      verdict.sentence)  # fmt: skip
    assert wrong, verdict.sentence
    got, expected = (float(number.rstrip(".").replace("\u2212", "-")) for number in wrong.groups())
    assert got == pytest.approx(2 * expected, rel=1e-4)  # shown with six digits
    assert "\nClue: Every wrong element has the products with k = 0 to 23 twice.\n" in verdict.sentence
    assert verdict.sentence.endswith("in its place the kernel is right.")
    assert verdict.picture.caption.endswith("all in column 5.")


def test_a_guard_is_advised_only_where_it_could_help():
    naive, guard = exercises.get("naive"), "Compare the index with the size before the access"
    swapped = naive.check(naive.marked.version("swapped")).sentence
    assert "outside the arrays" in swapped and guard not in swapped and "Why: x and y trade places" in swapped
    for exercise in (naive, BETA):
        beyond = exercise.check(exercise.solved.replace("A[row * K + k]", "A[row * K + k + 3]")).sentence
        assert guard not in beyond and "`k + 3` is 24, and a row of A has 24\u00a0floats, 0 to 23." in beyond, beyond


def test_no_index_is_advised_on_where_lanes_are_missing():
    product = exercises.get("warp_product")
    first, last = "wmma::load_matrix_sync(a, &As[0][0], 16);", "wmma::mma_sync(sums, a, b, sums);"
    alone = product.solved.replace(first, f"if (lane == 0) {{ {first}").replace(last, f"{last} }}")
    sentence = product.check(alone).sentence
    assert "of shared memory, which has 1024 bytes" in sentence and "index" not in sentence, sentence


def test_a_title_with_many_sizes_does_not_leave_the_map():
    batch = exercises.get("batch")
    verdict = batch.check(batch.solved.replace("A + p * step_a + first", "A + first"))
    assert verdict.picture.axes[0].texts[0].get_text() == "C in this launch"
    assert verdict.sentence.startswith("count = 3, M = 16, ")


def test_what_was_checked_is_said():
    sentence = BETA.check(BETA.solved).sentence
    assert "8\u00a0shapes, tails and single rows and columns included, also when launched twice" in sentence
    assert "none is out of bounds, and no race that can change a value was found" in sentence


def test_what_a_kernel_prints_is_quoted_once_and_shortened():
    out = StringIO()
    with redirect_stdout(out):
        verdict = BETA.check(BETA.solved.replace(SUM, f'{SUM} printf("column %d\\n", col);'))
    assert out.getvalue() == ""
    assert verdict.passed and verdict.sentence.count("column 0") == 8 and "lines more" in verdict.sentence
    one_line = BETA.check(BETA.solved.replace(SUM, f'{SUM} printf("column %d, ", col);')).sentence
    assert one_line.count("column 0") == 8 and " …\n" in one_line


def test_a_bug_of_the_simulator_is_not_put_down_to_the_learner(monkeypatch):
    monkeypatch.setattr("helpers.exercises.framework.trial.run", lambda *_: 1 / 0)
    verdict = BETA.check(f"{BETA.solved}\n// a kernel that was not launched before")
    assert verdict.passed is False and "bug of the course, not of your kernel" in verdict.sentence


def test_memory_from_malloc_has_no_predicted_time():
    exercise = exercises.get("column_sums")
    own = "float *mine = new float[1]; float sum = mine[0] = 0; delete[] mine;"
    verdict = exercise.check(exercise.solved.replace("float sum = 0;", own))
    assert verdict.passed is False
    assert "cannot be predicted: it takes memory by malloc or new" in verdict.sentence


def test_the_text_of_a_verdict_is_the_same_every_time():
    assert {BARRIERS.check().sentence for _ in range(2)} == {BARRIERS.check().sentence}


def test_the_writer_may_have_come_in_the_second_launch():
    exercise = exercises.get("last_block")
    late = exercise.solved.replace("== gridDim.x - 1;", "== 2 * gridDim.x - 1;").replace("*arrived = 0;", "")
    sentence = exercise.check(late).sentence
    assert "Thread (0, 0) of block (4, 0) wrote it" in sentence and "not written" not in sentence


def test_the_same_happens_only_where_it_is_in_the_same_order():
    exercise = exercises.get("two_tiles")
    barrier, load_b = (
        "        __syncthreads();\n",
        "        for (int half = 0; half < 2; ++half) {\n            const int c",
    )
    source = exercise.solved.replace(barrier, "").replace(load_b, barrier + load_b)
    sentence = exercise.check(source).sentence
    assert "race in shared memory" in sentence and "The same happens" not in sentence


# --- on a GPU, without one


class FakeGpu:
    """A device that computes what it is told to, on the host."""

    def __init__(self, answer) -> None:
        self.answer, self.launches = answer, 0

    def backend(self) -> str:
        return "gpu"

    def name(self) -> str:
        return "NVIDIA Test"

    def synchronize(self) -> None:
        pass

    array = staticmethod(np.array)
    asnumpy = staticmethod(np.asarray)

    def RawModule(self, **_):
        return SimpleNamespace(get_function=lambda entry: self.launch)

    def launch(self, grid, block, args, shared_mem=0) -> None:
        self.launches += 1
        M, N, K, alpha, A, B, beta, C = args
        C[...] = self.answer(alpha * (A @ B) + (beta * C if beta else 0))


def put_on(monkeypatch, device: FakeGpu) -> None:
    """Let the last step of a check find this device, and time nothing on the one that there may be."""
    for module in (on_gpu, run):
        monkeypatch.setattr(module, "gpu", device)
    monkeypatch.setattr(speed, "_measured", lambda *about: "")


def test_the_gpu_is_asked_for_every_case_and_says_that_it_agrees(monkeypatch):
    device = FakeGpu(lambda C: C)
    put_on(monkeypatch, device)
    verdict = BETA.check(BETA.solved)
    assert verdict.passed is True and verdict.sentence.endswith("The NVIDIA Test computes the same, bit for bit.")
    assert device.launches == sum(case.launches for case in BETA.problem.cases)


def test_a_gpu_that_disagrees_or_refuses_is_reported(monkeypatch):
    put_on(monkeypatch, FakeGpu(lambda C: C + 1))
    assert "NVIDIA Test" in BETA.check(BETA.solved).sentence and BETA.check(BETA.solved).passed is False
    put_on(monkeypatch, FakeGpu(lambda C: 1 / 0))
    assert "refuses the kernel" in BETA.check(BETA.solved).sentence


# --- sources


def test_regions_give_each_version_its_lines():
    text = "a\n  // <starter, other>\nb\n  // <solution>\nc\n  // <third>\n  // <end>\nd\n"
    source = marked.parse(text)
    assert source.versions == ("starter", "solution", "other", "third")
    texts = {name: source.version(name).split() for name in source.versions}
    assert texts == {
        "starter": ["a", "b", "d"], "other": ["a", "b", "d"], "solution": ["a", "c", "d"], "third": ["a", "d"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("// <end>", "line 1: <end>, but no region is open"),
        ("// <starter>\na\n// <end>", "line 3: <end>, but the region has no <solution>"),
        ("// <solution>\na", "not closed"),
        ("// <solution>\n// <solution>\n// <end>", "line 2: <solution> may not stand here again"),
    ],
)
def test_markers_that_do_not_fit_are_reported_with_their_line(text, sentence):
    with pytest.raises(marked.MarkerError, match=re.escape(sentence)):
        marked.parse(text)


def test_no_marker_reaches_a_learner():
    for exercise in (exercise for exercise in exercises.EXERCISES if isinstance(exercise, KernelExercise)):
        for version in exercise.marked.versions:
            assert not re.search(r"// <\w+", exercise.marked.version(version)), (exercise.name, version)


def test_an_unknown_exercise_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="There is no exercise 'barrier'; there are .*barriers"):
        exercises.get("barrier")


def test_numbers_are_small_asymmetric_and_the_same_everywhere():
    A = problems.values(37, 19, 1)
    assert A.dtype == np.float32 and A.shape == (37, 19) and (A != 0).all()
    assert np.array_equal(A * 8, np.round(A * 8)) and np.abs(A).max() <= 4
    assert len(np.unique(A, axis=0)) == 37 and not np.array_equal(A[:19], A[:19].T)
    assert not np.array_equal(problems.values(37, 19, 2), A)
    assert A[0, :4].tolist() == problems.values(37, 19, 1)[0, :4].tolist()


# --- notebooks


def checks(path: Path) -> list[tuple[str, str, str]]:
    """(notebook, exercise, cell) for every cell that checks an exercise."""
    cells = nbformat.read(path, as_version=4).cells
    names = [name for cell in cells for name in re.findall(r'exercises\.get\("(\w+)"\)', cell.source)]
    pattern = re.compile(r"\A%%cuda (\w+)\n|^(\w+)\.check\(", re.MULTILINE)
    asked = [(cell.source, {name for pair in pattern.findall(cell.source) for name in pair}) for cell in cells]
    return [(path.name, name, source) for source, called in asked for name in names if name in called]


EMBEDDED = [check for path in sorted(plan.FOLDER.glob("*.ipynb")) for check in checks(path)]


@pytest.mark.parametrize(("notebook", "name", "cell"), EMBEDDED, ids=[" ".join(check[:2]) for check in EMBEDDED])
def test_a_notebook_begins_with_what_the_exercise_begins_with(notebook, name, cell):
    exercise, checked = exercises.get(name), []
    # A kernel stands there as it is; each run of a cell with a function makes another one, so its text is compared.
    if cell.startswith("%%cuda ") or isinstance(exercise, FunctionExercise):
        assert cell.strip() == exercise.cells()[1].strip()
        return
    probe = SimpleNamespace(
        starter=exercise.starter, show=lambda _: None, hint=lambda *_: None, check=lambda answer: checked.append(answer)
    )
    exec(cell, {name: probe, "display": lambda *_: None, "exercises": exercises})
    assert checked == [exercise.starter]
    assert notebook.startswith(exercise.notebook)


def test_a_race_for_a_tile_is_drawn_with_its_two_threads():
    caption = BARRIERS.show().caption
    assert caption.startswith("Without a barrier between them, thread (0,\u00a00) may store the next tile's float")
    assert "C is right or wrong by chance" in caption
    assert BARRIERS.show(BARRIERS.solved).caption.startswith("Phase 2 of 3")


def test_only_a_passing_kernel_learns_its_predicted_time():
    assert "M = N = K = 2048: " in (sentence := BETA.check(BETA.solved).sentence)
    low, likely, high = (
        float(re.search(form, sentence)[1]) for form in (r"\((\S+) to", r": (\S+) [mµ]s \(", r"to (\S+)\),")
    )
    assert low < likely < high and "predicted for NVIDIA H200; the limit is " in sentence
    assert "predicted" not in BETA.check(BETA.wrong_source(BETA.wrong[0])).sentence


def test_verdict_says_its_predictions_sizes_unless_a_goal_does():
    assert "N = 300: " in exercises.get("scale").check(exercises.get("scale").solved).sentence
    column_sums = exercises.get("column_sums")
    assert column_sums.check(column_sums.solved).sentence.count("predicted") == 1


def test_verdict_has_no_time_where_none_can_be_predicted(monkeypatch):
    def without(*_):
        raise NoLibrary("no library")

    monkeypatch.setattr(speed.cycles, "predict", without)
    monkeypatch.setattr(speed, "_multiplied", speed._multiplied.__wrapped__)  # which keeps what was predicted before
    verdict = BETA.check(BETA.solved)
    assert verdict.passed and "predicted" not in verdict.sentence


def test_verdict_on_a_gpu_shows_measured_beside_predicted_time(monkeypatch):
    launched = []
    monkeypatch.setattr(speed.gpu, "backend", lambda: "gpu")
    monkeypatch.setattr(speed.gpu, "name", lambda: "NVIDIA H200")
    monkeypatch.setattr(speed.gpu, "array", lambda array: array.copy())
    monkeypatch.setattr(
        speed.run, "function", lambda source, entry: lambda *given, **more: launched.append((source, given))
    )

    def timed(starts, budget_s, flush):
        assert flush == speed.WRITE  # as the model expects it
        for start in starts:
            start()
        return np.array([[0.031], [0.029], [0.5]])

    monkeypatch.setattr(speed, "interleave", timed)
    kernel = run.simulated(BETA.solved, BETA.problem.entry)
    line = speed.line(kernel, BETA.solved, BETA.problem)
    assert re.fullmatch(
        r"\nM = N = K = 2048: \S+ [mµ]s \(\S+ to \S+\), predicted for NVIDIA H200; the (?:limit|busiest part) is .+; "
        r"31 µs, measured here \(NVIDIA H200\)\. Of \d+ timed launches of .+, \d+ fell within .+\.", line
    )  # fmt: skip
    assert launched[0][0] == BETA.solved
    monkeypatch.setattr(speed.gpu, "backend", lambda: "simulator")
    assert "measured" not in speed.line(kernel, BETA.solved, BETA.problem)


def test_an_index_beyond_an_array_in_registers_is_found():
    source = """extern "C" __global__ void k(const float *x, float *y) {
    float sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] += x[i];
#pragma unroll
    for (int i = 0; i < 8; ++i) y[8 * threadIdx.x + i] = sums[i];
}"""
    y, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    setup = problems.Setup((1,), (1,), 0, (x, y), y, x)
    kernel = run.simulated(source, "k")
    outcome = trial.run(kernel, SimpleNamespace(prepare=lambda case: setup), SimpleNamespace(launches=1))
    assert "sums[4], but sums has 4 elements" in str(outcome.error)
