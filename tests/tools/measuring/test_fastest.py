"""The suite `fastest`: its shapes, several runs made into rows, the table, the recording, and what the command says."""

import contextlib
import ctypes
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import gemm_kernels
from gemm_kernels import autotuned, choices, get
from gpusim import devices
from helpers import gpu, recordings
from helpers.measure import ALPHA, BETA, Reference, WrongResult, problem, timing
from helpers.measure.bench import Refusal
from helpers.measure.provenance import code_sha256
from helpers.recordings import compared
from helpers.recordings.compared import EVENTS, GRAPH, Compared, Run, summaries, way
from helpers.recordings.measurement import geometric_mean
from helpers.recordings.suites import (
    FASTEST,
    FASTEST_OTHERS,
    FASTEST_SQUARES,
    OTHERS,
    SQUARES,
    UNSEEN,
    UNSEEN_COUNT,
    UNSEEN_FLOPS,
    UNSEEN_SIZES,
    SuiteShape,
    fastest_shapes,
    unseen_shapes,
)
from helpers.tools.measuring import choosing, fastest_suite, graphs
from helpers.tools.measuring.__main__ import main
from tests.measure.changed import changed_since

pytestmark = pytest.mark.usefixtures("on_the_simulator")


def measured(ours, cublas, best=1.5, autotuned=3.0):
    return Run(ours, cublas, best, 8, autotuned, repeats=9, error=1e-6)


def row(size=512, ours=(1.0, 2.0, 4.0), cublas=(2.0, 3.0, 4.0), group=SQUARES, gpu_name="NVIDIA H200"):
    return Compared(
        group=group,
        M=size,
        N=size,
        K=size,
        kernel="coalesced",
        params={"block_x": 32, "block_y": 8},
        way=way(size, size, size),
        runs=tuple(measured(*ms) for ms in zip(ours, cublas, strict=True)),
        gpu=gpu_name,
        label="measured here",
    )


# --- shapes ---------------------------------------------------------------------------------------------------------


def test_every_shape_is_in_one_group():
    shapes = fastest_shapes()
    assert len({shape.shape for shape in shapes}) == len(shapes)
    counts = {group: sum(shape.group == group for shape in shapes) for group in (SQUARES, OTHERS, UNSEEN)}
    assert counts == {SQUARES: len(FASTEST_SQUARES), OTHERS: len(FASTEST_OTHERS), UNSEEN: UNSEEN_COUNT}


def test_unseen_shapes_follow_from_the_choice_within_limits(tmp_path, monkeypatch):
    shapes = unseen_shapes()
    assert shapes == unseen_shapes() and len(set(shapes)) == UNSEEN_COUNT
    content = json.loads(choices.path("NVIDIA H200").read_text(encoding="utf-8"))
    content["fastest"][0][-1] += 1  # another candidate at one shape
    path = tmp_path / "other.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with monkeypatch.context() as changed:
        changed.setattr(choices, "path", lambda gpu: path)
        assert not set(unseen_shapes()) & set(shapes)
    assert choices.seed("GPU Y") == 0
    for M, N, K in shapes:
        assert all(UNSEEN_SIZES[0] <= size <= UNSEEN_SIZES[1] and type(size) is int for size in (M, N, K))
        assert UNSEEN_FLOPS[0] <= 2 * M * N * K <= UNSEEN_FLOPS[1]


def test_nothing_was_searched_or_chosen_at_an_unseen_shape():
    choice = choices.of()
    assert not set(unseen_shapes()) & {*choice.searched, *choice.fastest}


def test_named_shapes_keep_their_group_and_a_new_one_is_another():
    asked = [(512, 512, 512), unseen_shapes()[0], (5, 6, 7)]
    assert [shape.group for shape in fastest_shapes(asked)] == [SQUARES, UNSEEN, OTHERS]
    assert [shape.shape for shape in fastest_shapes(asked)] == asked


def test_less_work_than_1024_cubed_is_timed_in_a_graph():
    assert way(1023, 1024, 1024) == GRAPH
    assert way(1024, 1024, 1024) == EVENTS
    assert way(64, 4096, 1024) == GRAPH


# --- several runs as one row ------------------------------------------------------------------------------------------


def test_a_row_has_the_medians_and_the_ratio_of_each_run():
    result = row(ours=(1.0, 2.0, 4.0), cublas=(4.0, 3.0, 5.0))
    assert result.ratios == (4.0, 1.5, 1.25)
    assert (result.median_ms, result.cublas_median_ms) == (2.0, 4.0)
    assert result.of_cublas == 1.5  # not 4 / 2: of pairs of one run
    assert result.of_autotuned == 1.5
    assert result.of_best == 0.75 and result.only(0).of_best == 1.5  # 1.5, or what cuBLAS takes if that is less
    assert row(ours=(1.0,), cublas=(1.25,)).of_best == 1.25
    assert result.gflops == pytest.approx(2 * 512**3 / 2e-3 / 1e9)
    assert result.only(2).ratios == (1.25,)


def test_a_row_survives_the_file_and_changes_its_label():
    back = Compared.from_row(json.loads(json.dumps(row().row())), "NVIDIA H200")
    assert back.label == "recorded on NVIDIA H200"
    assert back.runs == row().runs and back.params == row().params and back.shape == (512, 512, 512)


def test_line_has_the_ratio_its_extremes_and_the_kernel():
    cells = compared.line(row(ours=(1.0, 1.0, 1.0), cublas=(1.5, 1.0, 1.25))).split()
    assert cells[:8] == ["squares", "512×512×512", "graph", "1.00000", "1.25000", "1.250", "1.000", "1.500"]
    assert cells[8] == "1.250" and cells[9].endswith("%") and cells[10] == "3.000"
    assert " ".join(cells[11:]) == "coalesced<32, 8>"
    assert len(compared.HEADER.split("kernel")[0].rstrip()) == compared.line(row()).index("  coalesced<")
    assert " – " in compared.line(row(gpu_name="GPU X"))  # whose peak nobody knows


def test_group_is_summed_up_by_geometric_mean_and_lowest_shape():
    rows = [
        row(512, (1.0,), (4.0,)),
        row(1024, (1.0,), (0.25,)),
        row(256, (1.0,), (2.0,), UNSEEN),
    ]
    squares, unseen = summaries(rows)
    assert (squares.group, squares.shapes, squares.faster) == (SQUARES, 2, 1)
    assert squares.of_cublas == pytest.approx(1.0) and squares.of_autotuned == pytest.approx(3.0)
    assert squares.lowest is rows[1] and unseen.lowest is rows[2]
    assert compared.group_line(squares) == (
        "squares: geometric mean 1.000 of cuBLAS over 2 shape(s), faster at 1, lowest 0.250 at 1024×1024×1024; "
        "0.612 of the best of cuBLASLt, 3.000 of autotuned"
    )


# --- the runs ---------------------------------------------------------------------------------------------------------


def places(*sizes):
    return [SuiteShape(SQUARES, size, size, size) for size in sizes]


def test_each_run_goes_over_the_whole_list(monkeypatch):
    asked = []

    def once(kernels, shape, *, seed, budget_s):
        asked.append((seed, shape[0]))
        return measured(1.0, 1.0 + seed), []

    monkeypatch.setattr(fastest_suite, "measure", once)
    pair = (get("stream_k"), get("autotuned"))
    kernels = {shape: pair for shape in places(8, 16)}
    every = list(fastest_suite.compare(kernels, runs=3))
    assert asked == [(run, size) for run in range(3) for size in (8, 16)]
    assert [len(rows[0].runs) for rows, _ in every] == [1, 2, 3]
    rows, refused = every[-1]
    assert [result.M for result in rows] == [8, 16] and rows[0].ratios == (1.0, 2.0, 3.0) and not refused
    assert rows[0].kernel == "stream_k" and rows[0].params == dict(get("stream_k").params)


def test_a_refused_kernel_has_no_row_and_no_second_turn(monkeypatch):
    asked = []
    refusal = Refusal(get("naive"), WrongResult("wrong"))

    def once(kernels, shape, *, seed, budget_s):
        asked.append(shape[0])
        return (None, [refusal]) if shape[0] == 16 and seed == 1 else (measured(1.0, 1.0), [])

    monkeypatch.setattr(fastest_suite, "measure", once)
    pair = (get("stream_k"), get("autotuned"))
    *_, (rows, refused) = fastest_suite.compare({shape: pair for shape in places(8, 16, 24)}, runs=3)
    assert [result.M for result in rows] == [8, 24] and refused == [
        Refusal(refusal.kernel, refusal.error, (16, 16, 16))
    ]
    assert asked == [8, 16, 24] * 2 + [8, 24]


class SeemsAGpu:
    """helpers.gpu on the simulator, saying that it is a GPU."""

    def __getattr__(self, name):
        return getattr(gpu, name)

    def backend(self):
        return "gpu"


@pytest.fixture
def seems_a_gpu(monkeypatch):
    """The suite on the simulator, and a cuBLASLt that offers two algorithms."""
    monkeypatch.setattr(fastest_suite, "gpu", SeemsAGpu())
    two = contextlib.nullcontext(["first", "second"])
    monkeypatch.setattr(fastest_suite.cublaslt, "algorithms", lambda M, N, K: two)


def test_a_run_verifies_the_kernels_and_takes_medians(seems_a_gpu, monkeypatch):
    def timed(launches, offered, reference, inputs, budget_s):
        assert len(launches) == 2 and [matrix.shape for matrix in inputs] == [(9, 7), (7, 20), (9, 20)]
        assert offered == ["first", "second"]
        return np.array([[1.0, 30.0, 5.0, 4.0], [2.0, 10.0, 7.0, 3.0], [9.0, 20.0, 6.0, 5.0]])

    monkeypatch.setattr(fastest_suite, "_graphs", timed)
    run, refused = fastest_suite.measure((get("coalesced"), get("naive")), (9, 20, 7))
    assert (run.ms, run.autotuned_ms, run.cublas_ms, run.repeats, refused) == (2.0, 20.0, 6.0, 3, [])
    assert (run.best_ms, run.algorithms) == (4.0, 2) and 0 < run.error < 1e-6


def test_the_same_kernel_is_timed_once(seems_a_gpu, monkeypatch):
    monkeypatch.setattr(fastest_suite, "_graphs", lambda launches, *rest: np.array([[1.0, 5.0, 4.0]] * len(launches)))
    run, _ = fastest_suite.measure((get("coalesced"), get("coalesced")), (9, 20, 7))
    assert (run.ms, run.autotuned_ms, run.cublas_ms, run.repeats) == (1.0, 1.0, 5.0, 1)


@pytest.mark.parametrize(("offered", "best"), [("slow fast slower", "fast"), ("", "cublas")])
def test_cublaslts_best_takes_turns_with_the_kernels(inputs, offered, best):
    reference, A, B, C = inputs
    turns, launches = [], {name: by_numpy() for name in ("ours", "cublas", *offered.split())}
    names = {launch: name for name, launch in launches.items()}
    takes = {"ours": 1.0, "cublas": 3.0, "slow": 4.0, "fast": 2.0, "slower": 5.0}

    def times(every, budget_s, warm_up_s):
        turns.append([names[launch] for launch in every])
        return np.array([[takes[names[launch]] for launch in every]] * 3)

    given = [launches[name] for name in offered.split()]
    ms = fastest_suite._beside([launches["ours"]], launches["cublas"], given, reference, (A, B, C), 1.0, times)
    assert turns == [offered.split() or ["cublas"], ["ours", "cublas", best]]
    assert ms.shape == (3, 3) and ms[0, 2] == takes[best]


def test_a_library_that_is_wrong_is_not_compared_with(inputs):
    reference, A, B, C = inputs
    wrong = by_numpy(1.0)
    with pytest.raises(WrongResult):
        fastest_suite._beside([by_numpy()], by_numpy(), [wrong], reference, (A, B, C), 1.0, lambda *about: None)


def test_without_a_gpu_nothing_is_timed():
    with pytest.raises(fastest_suite.NoGpu, match=r"Timing needs a GPU\. .*recordings.fastest\(\) reads"):
        fastest_suite.measure((get("coalesced"), get("naive")), (9, 20, 7))


def by_numpy(*slips):
    """A launch by NumPy, which adds one of the slips to C[1, 2] each time it updates C."""
    remaining = list(slips)

    def launch(M, N, K, alpha, A, B, beta, C):
        C[...] = alpha * (A.astype("float64") @ B) + (beta * C if beta else 0)
        if beta and remaining:
            C[1, 2] += remaining.pop(0)

    return launch


@pytest.fixture
def inputs():
    A, B, C = (gpu.asarray(matrix) for matrix in problem(4, 5, 6))
    return Reference.of(A, B), A, B, C


def test_a_kernel_that_repeats_its_bits_passes_with_its_error(inputs):
    assert 0 < fastest_suite.verify_and_repeat(by_numpy(), *inputs) < 1e-6


def test_kernel_with_other_bits_next_time_is_refused_by_element(inputs):
    slip = np.float32(2e-7)  # within the tolerance
    with pytest.raises(fastest_suite.NotRepeatable, match=r"different bits in 1 of 20 elements, the first C\[1, 2\]: "):
        fastest_suite.verify_and_repeat(by_numpy(0, slip, 0), *inputs)


def test_a_wrong_kernel_is_refused_before_it_is_repeated(inputs):
    with pytest.raises(WrongResult, match=r"C\[1, 2\]"):
        fastest_suite.verify_and_repeat(by_numpy(0.5, 0.5, 0.5), *inputs)


# --- graphs -----------------------------------------------------------------------------------------------------------


class Clock:
    now = 0.0


class FakeStream:
    """Remembers what is launched while it captures; a replay takes 1 ms for each launch of "a", 3 ms of "b"."""

    def __init__(self):
        self.captured, self.replayed, self.capturing = [], [], False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def synchronize(self):
        assert not self.capturing

    def begin_capture(self):
        self.captured, self.capturing = [], True

    def end_capture(self):
        self.capturing = False
        content = tuple(self.captured)

        def launch(stream):
            Clock.now += sum({"a": 1.0, "b": 3.0}[name] for name, _ in content)
            self.replayed.append(content)

        return SimpleNamespace(launch=launch, content=content)


class FakeEvent:
    def record(self, stream):
        self.at = Clock.now


@pytest.fixture
def fake_cupy(monkeypatch):
    elapsed = SimpleNamespace(Event=FakeEvent, get_elapsed_time=lambda begin, end: end.at - begin.at)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=elapsed))


def test_graphs_take_turns_and_a_launch_is_a_share_of_a_replay(fake_cupy):
    stream = FakeStream()
    launches = [lambda which, name=name: stream.captured.append((name, which)) for name in "ab"]
    milliseconds = graphs.interleave_graphs(launches, stream, budget_s=0.0, warm_up_s=0.0)
    assert milliseconds.tolist() == [[1.0, 3.0]] * timing.MIN_ROUNDS
    assert all(len(content) == graphs.LAUNCHES for content in stream.replayed)
    assert {which for _, which in stream.replayed[0]} == set(range(graphs.SETS))
    timed = stream.replayed[-2 * timing.MIN_ROUNDS :]
    rounds = ["".join(content[0][0] for content in timed[turn : turn + 2]) for turn in range(0, len(timed), 2)]
    assert set(rounds) == {"ab", "ba"}  # no rival always runs first


def test_a_capture_that_fails_is_ended_and_says_why(fake_cupy):
    stream = FakeStream()

    def fails(which):
        if stream.capturing:
            raise graphs.NoCublas("refused")

    with pytest.raises(graphs.NoCublas, match="refused"):
        graphs.interleave_graphs([fails], stream)
    assert not stream.capturing


class OnHost:
    """A NumPy array with its address where CuPy has it."""

    def __init__(self, array):
        self.array, self.data = array, SimpleNamespace(ptr=array.ctypes.data)


class FakeCublas:
    """cuBLAS's library with an SGEMM as its documentation states it, column by column, on the host's memory."""

    def __init__(self):
        self.calls, self.status = [], 0

    def cublasCreate_v2(self, handle):
        handle._obj.value = 7
        return self.status

    def cublasSetStream_v2(self, handle, stream):
        self.calls.append(("SetStream", handle.value, stream.value))

    def cublasSetWorkspace_v2(self, handle, workspace, size_in_bytes):
        self.calls.append(("SetWorkspace", handle.value, workspace.value, size_in_bytes.value))

    def cublasDestroy_v2(self, handle):
        self.calls.append(("Destroy", handle.value))

    def cublasSgemm_v2(self, handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
        def matrix(pointer, rows, columns, distance):
            assert distance >= rows
            memory = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float))
            return np.ctypeslib.as_array(memory, (columns, distance))[:, :rows].T

        assert (handle.value, transa, transb) == (7, 0, 0)
        a, b, c = matrix(A, m, k, lda), matrix(B, k, n, ldb), matrix(C, m, n, ldc)
        c[...] = alpha._obj.value * (a @ b) + beta._obj.value * c
        return self.status


@pytest.fixture
def fake_cublas(monkeypatch):
    """cuBLAS and CuPy without a GPU: the fake library, and memory at address 4096."""
    cublas = FakeCublas()
    workspace = SimpleNamespace(data=SimpleNamespace(ptr=4096), nbytes=graphs.WORKSPACE_BYTES)
    device = SimpleNamespace(synchronize=lambda: cublas.calls.append(("synchronize",)))
    cupy = SimpleNamespace(empty=lambda size, dtype: workspace, cuda=SimpleNamespace(Device=lambda: device))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(graphs, "library", lambda name: cublas)
    return cublas


def test_cublas_has_its_stream_and_memory_and_is_destroyed_idle(fake_cublas):
    """Row-major matrices are multiplied by a library that goes down columns."""
    A, B, C = problem(5, 7, 3)
    expected = ALPHA * (A @ B) + BETA * C
    with graphs.cublas_on(SimpleNamespace(ptr=99)) as launch:
        launch(5, 7, 3, ALPHA, OnHost(A), OnHost(B), BETA, OnHost(C))
    assert np.allclose(C, expected, atol=1e-6)
    settings = [("SetStream", 7, 99), ("SetWorkspace", 7, 4096, 32 * 2**20)]
    assert fake_cublas.calls == [("synchronize",), *settings, ("synchronize",), ("Destroy", 7)]


def test_what_cublas_refuses_becomes_a_sentence(fake_cublas):
    A, B, C = problem(5, 7, 3)
    sentence = r"refused cublasSgemm with status 3 of cublasStatus_t\. If memory is short, end other programs"
    with pytest.raises(graphs.NoCublas, match=sentence), graphs.cublas_on(SimpleNamespace(ptr=99)) as launch:
        fake_cublas.status = 3
        launch(5, 7, 3, ALPHA, OnHost(A), OnHost(B), BETA, OnHost(C))
    assert fake_cublas.calls[-1] == ("Destroy", 7)


def test_unloadable_cublas_is_named_with_its_install_command(monkeypatch):
    cuda = SimpleNamespace(device=SimpleNamespace(get_cublas_handle=lambda: 0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    sentence = r"could not be loaded: libcublas\.so is not among the libraries .*`make setup GPU=yes`"
    with pytest.raises(graphs.NoCublas, match=sentence), graphs.cublas_on(SimpleNamespace(ptr=99)):
        pass


# --- the recording ----------------------------------------------------------------------------------------------------


def test_what_was_not_recorded_is_answered_with_what_was(tmp_path):
    message = (
        r"no recording of the suite 'fastest' on 'GPU Y'; .* `python -m helpers.tools.measuring record --suite fastest`"
    )
    with pytest.raises(recordings.NoRecording, match=message):
        recordings.fastest("GPU Y", tmp_path)


GPUS = recordings.gpus(suites=(FASTEST,))


def test_default_gpu_is_among_the_suites_recorded_ones():
    assert devices.DEFAULT.name in GPUS


@pytest.mark.parametrize("name", GPUS)
def test_shipped_recording_has_every_shape_in_equally_many_runs(name):
    rows = recordings.fastest(name)
    assert [(result.group, *result.shape) for result in rows] == [
        (shape.group, *shape.shape) for shape in fastest_shapes(gpu=name)
    ]
    assert len({len(result.runs) for result in rows}) == 1
    assert all(result.way == way(*result.shape) for result in rows)


@pytest.mark.parametrize("name", GPUS)
def test_shipped_recording_is_of_the_code_the_course_shows(name):
    content = recordings.raw(name, FASTEST)
    about = content["provenance"]
    assert about["gpu"] == content["gpu"] == name
    changed_since(name, about["code_sha256"])
    assert {result.kernel for result in recordings.fastest(name)} <= {*about["code_sha256"]}


@pytest.mark.parametrize("name", GPUS)
def test_the_shipped_recording_is_of_what_fastest_gives_today(name):
    for result in recordings.fastest(name):
        kernel = gemm_kernels.fastest(*result.shape, name)
        assert (result.kernel, dict(result.params)) == (kernel.name, dict(kernel.params)), result.shape


@pytest.mark.parametrize("name", GPUS)
def test_what_was_measured_for_the_choice_was_measured_again(name):
    """Other times at the same shapes, in another process: a choice by luck would not hold."""
    measured = {shape_times.shape: shape_times for shape_times in choosing.read_measured(name)}
    again = [
        result.of_cublas * min(map(measured[result.shape].score, measured[result.shape].times))
        for result in recordings.fastest(name)
        if result.shape in measured
    ]
    assert len(again) == len(FASTEST_SQUARES) + len(FASTEST_OTHERS)
    assert geometric_mean(again) == pytest.approx(1, abs=0.02) and min(again) > 0.9


@pytest.mark.parametrize("name", GPUS)
def test_every_shipped_ratio_is_of_one_verified_run(name):
    from helpers.measure import tolerance

    for result in recordings.fastest(name):
        assert result.ratios == tuple(run.cublas_ms / run.ms for run in result.runs)
        assert min(result.ratios) <= result.of_cublas <= max(result.ratios)
        assert all(0 < run.error <= tolerance(result.K) and run.repeats >= timing.MIN_ROUNDS for run in result.runs)
        assert all(run.algorithms > 0 and run.best_ms > 0 and run.ratio_to_best <= run.ratio for run in result.runs)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def a_gpu_for_the_command(monkeypatch):
    """The command without its GPU: every run finds the kernel slower than the run before."""

    def once(kernels, shape, *, seed, budget_s):
        assert budget_s == 0.1
        return measured(1.0, 2.0 - seed / 2), []

    monkeypatch.setattr(gpu, "backend", lambda: "gpu")
    monkeypatch.setattr(gpu, "describe", lambda: "a GPU")
    monkeypatch.setattr(gpu, "name", lambda: "NVIDIA H200")
    monkeypatch.setattr(gemm_kernels, "fastest", autotuned, raising=False)
    monkeypatch.setattr(fastest_suite, "compile_all", lambda kernels, report: None)
    monkeypatch.setattr(fastest_suite, "provenance", lambda: {"commit": "0" * 40})
    monkeypatch.setattr(fastest_suite, "measure", once)


def test_bench_prints_each_run_the_table_and_the_groups(a_gpu_for_the_command, capsys):
    asked = ["bench", "--suite", "fastest", "--size", "256", "1x4096x4096", "4096", "--runs", "3", "--budget", "0.1"]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "fastest: 3 shapes, 3 run(s)"
    assert [line for line in lines if line.startswith("run ")] == ["run 1 of 3", "run 2 of 3", "run 3 of 3"]
    table = lines[lines.index(compared.HEADER) + 1 :]
    assert [line.split()[1] for line in table[:3]] == ["256×256×256", "1×4096×4096", "4096×4096×4096"]
    assert [line.split()[2] for line in table[:3]] == ["graph", "graph", "events"]
    assert table[0].split()[5:8] == ["1.500", "1.000", "2.000"] and " autotuned<" in table[0]
    assert [line.split(":")[0] for line in table[3:]] == [SQUARES, OTHERS]


def test_record_keeps_the_whole_list_with_where_it_comes_from(a_gpu_for_the_command, tmp_path, capsys):
    assert main(["record", "--suite", "fastest", "--budget", "0.1", "--folder", str(tmp_path)]) == 0
    rows = recordings.fastest("NVIDIA H200", tmp_path)
    assert [result.shape for result in rows] == [shape.shape for shape in fastest_shapes()]
    assert {result.ratios for result in rows} == {(2.0, 1.5, 1.0)}
    file = recordings.path("NVIDIA H200", "fastest", tmp_path)
    about = recordings.read(file)["provenance"]
    assert about["commit"] == "0" * 40 and about["code_sha256"]["autotuned"] == code_sha256(get("autotuned"))
    assert capsys.readouterr().out.splitlines()[-1] == f"fastest: {file}"


def test_interrupted_recording_keeps_the_finished_runs(a_gpu_for_the_command, monkeypatch, tmp_path, capsys):
    def interrupted(kernels, shape, *, seed, budget_s):
        if seed == 2:
            raise KeyboardInterrupt
        return measured(1.0, 2.0), []

    monkeypatch.setattr(fastest_suite, "measure", interrupted)
    assert main(["record", "--suite", "fastest", "--budget", "0.1", "--folder", str(tmp_path)]) == 130
    assert {len(result.runs) for result in recordings.fastest("NVIDIA H200", tmp_path)} == {2}
    assert compared.HEADER in capsys.readouterr().out


def test_a_gpu_that_nothing_was_chosen_for_is_named(a_gpu_for_the_command, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "name", lambda: "GPU X")
    assert main(["bench", "--suite", "fastest"]) == 1
    assert "gemm_kernels.fastest cannot choose a kernel for 'GPU X': nothing" in capsys.readouterr().err


def test_refused_rows_are_named_by_shape_and_the_rest_is_kept(a_gpu_for_the_command, monkeypatch, capsys):
    def once(kernels, shape, *, seed, budget_s):
        wrong = [Refusal(kernels[0], WrongResult("C[0, 0] is off"))]
        return (None, wrong) if shape[0] == 512 else (measured(1.0, 2.0), [])

    monkeypatch.setattr(fastest_suite, "measure", once)
    assert main(["bench", "--suite", "fastest", "--size", "256", "512"]) == 1
    said = capsys.readouterr()
    assert f"refused {autotuned(512, 512, 512).entry} at 512×512×512: C[0, 0] is off" in said.err
    assert "256×256×256" in said.out and "over 1 shape(s)" in said.out


def test_a_wrong_number_of_runs_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--suite", "fastest", "--runs", "0"])
    assert "'0' is no count; write 1 or more" in capsys.readouterr().err


# --- on a GPU ---------------------------------------------------------------------------------------------------------

on_a_gpu = pytest.mark.skipif(not gpu.probe().usable, reason=gpu.probe().reason)


@on_a_gpu
@pytest.mark.parametrize("shape", [(300, 200, 100), (1100, 1000, 1024)], ids=[GRAPH, EVENTS])
def test_on_a_gpu_both_ways_give_times_of_the_three_rivals(monkeypatch, shape):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "gpu")
    run, refused = fastest_suite.measure((get("sliced_k"), get("warptiled")), shape, budget_s=0.1)
    assert not refused and min(run.ms, run.cublas_ms, run.autotuned_ms) > 0
    assert run.repeats >= timing.MIN_ROUNDS and 0 < run.error < 1e-5


@on_a_gpu
def test_bound_cublas_on_a_gpu_computes_what_cupys_does(monkeypatch):
    import cupy

    from helpers.measure.bench import cublas_sgemm

    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "gpu")
    A, B, C = (gpu.asarray(matrix) for matrix in problem(100, 90, 77))
    other = C.copy()
    stream = cupy.cuda.Stream(non_blocking=True)
    gpu.synchronize()
    with graphs.cublas_on(stream) as cublas:
        cublas(100, 90, 77, ALPHA, A, B, BETA, other)
    cublas_sgemm(100, 90, 77, ALPHA, A, B, BETA, C)
    assert np.allclose(gpu.asnumpy(C), gpu.asnumpy(other), atol=1e-5)
