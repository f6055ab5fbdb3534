"""`python -m helpers.tools.measuring`: its table, its arguments, and what it says without a GPU."""

import json
import shutil
import sys
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from gemm_kernels import autotuned, by_shape, choices, get
from helpers import gpu, recordings
from helpers.measure import NoGpu, bench
from helpers.measure.bench import Refusal
from helpers.recordings.compared import GRAPH, way
from helpers.run import LaunchFailed
from helpers.tools.measuring import __main__ as command, choosing, side_by_side
from helpers.tools.measuring.__main__ import main, summary, table_row
from helpers.tools.measuring.counters import write_cubins

pytestmark = pytest.mark.usefixtures("on_the_simulator")


@pytest.mark.parametrize("arguments", [["bench"], ["choose"], ["choose", "--size", "64"]], ids=" ".join)
def test_without_a_gpu_the_command_says_why_and_what_can_be_read(arguments, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "Measuring needs a GPU. GEMM_COURSE_BACKEND=simulator asks for the simulator." in said
    assert "Recordings to read without one: NVIDIA H100 80GB HBM3, NVIDIA H200" in said


def test_bench_without_a_gpu_points_to_the_recordings():
    with pytest.raises(
        NoGpu, match=r"Timing needs a GPU\. .* helpers.measure.performance\(…\) reads what was recorded"
    ):
        bench(get("naive"), 64, 64, 64)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bench", "nave"], "there is no kernel 'nave'; there are naive, coalesced"),
        (["bench", "--size", "12x"], "'12x' is no shape; write 4096, or MxNxK such as 64x4096x1024"),
        (["bench", "--size", "0"], "'0' is no shape"),
        (["record", "--suite", "all"], "invalid choice: 'all'"),
        ([], "required: bench | record | tune | choose | calibrate | cubins"),
    ],
)
def test_a_wrong_argument_is_answered_with_the_right_ones(arguments, sentence, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert sentence in capsys.readouterr().err.replace("\n", " ")


def test_without_a_gpu_tune_shows_the_search_that_was_recorded(capsys):
    assert main(["tune", "--size", "4096", "1x4096x4096"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Searched, recorded on NVIDIA H200; nothing is measured now.")
    best = max(recordings.load(suite="finals"), key=lambda row: row.gflops if row.M == row.K == 4096 else 0)
    line = next(line for line in said if "4096×4096×4096" in line)
    assert f"{best.gflops:,.0f}" in line and f"BM={best.params['BM']} " in line
    assert said[-1].startswith("autotuned: geometric mean") and said[-1].endswith("over 2 shape(s)")


def test_tune_without_a_gpu_and_without_a_search_says_so(tmp_path, capsys):
    assert main(["tune", "--folder", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert (
        "no recording of the suite 'finals' on 'NVIDIA H200'" in said
        and "`python -m helpers.tools.measuring tune`" in said
    )


def test_table_line_has_the_share_of_cublas_and_of_the_peak():
    row = recordings.gflops(get("naive"), 4096, 4096, 4096)
    cells = table_row(row).split()
    assert cells[:3] == ["naive", "32×32", "4096×4096×4096"]
    assert cells[5] == f"{row.gflops:,.0f}" and cells[6] == f"{row.cublas_gflops:,.0f}"
    assert float(cells[7]) == pytest.approx(row.of_cublas, abs=5e-4)
    assert cells[8] == f"{row.gflops / (132 * 128 * 2 * 1.98):.1%}"


def test_bench_prints_a_line_per_kernel_and_shape_and_the_means(monkeypatch, capsys):
    """The command without its GPU: what it would time is answered from the recordings."""
    asked = []

    def recorded(kernels, M, N, K, budget_s):
        asked.append([(kernel.name, dict(kernel.params)) for kernel in kernels])
        return [recordings.gflops(kernel, M, N, K) for kernel in kernels], []

    monkeypatch.setattr(gpu, "backend", lambda: "gpu")
    monkeypatch.setattr(gpu, "describe", lambda: "a GPU")
    monkeypatch.setattr(gpu, "name", lambda: "NVIDIA H200")
    monkeypatch.setattr(command, "bench_together", recorded)
    monkeypatch.setattr(command, "compile_all", lambda kernels, report: None)
    assert main(["bench", "naive", "autotuned", "--size", "256", "4096"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["naive", "autotuned"] * 2
    assert lines[-1].startswith("autotuned: geometric mean") and len(lines) == 8
    assert asked[0][1] == ("autotuned", dict(autotuned(256, 256, 256).params))


def test_choose_prints_each_shapes_best_and_keeps_the_choice(monkeypatch, tmp_path, capsys):
    """The command without its GPU: the second candidate that suits a shape is the fastest there."""

    def measured(kernels, shape, which, *, budget_s):
        assert budget_s == 0.1 and all(by_shape.suits(kernels[number], shape) for number in which)
        slow, fast = which[:2]
        return choosing.Measured(shape, 1.0, None, {slow: 2.0, fast: 0.8}, {}), [Refusal(kernels[slow], "is slow")]

    monkeypatch.setattr(gpu, "backend", lambda: "gpu")
    monkeypatch.setattr(gpu, "describe", lambda: "a GPU")
    monkeypatch.setattr(gpu, "name", lambda: "NVIDIA H200")
    monkeypatch.setattr(command, "compile_all", lambda kernels, report: None)
    monkeypatch.setattr(choosing, "measure", measured)
    monkeypatch.setattr(choosing, "provenance", lambda: {"date": "now"})
    monkeypatch.setattr(choosing, "costs", lambda *about: None)  # there is nothing to fit to
    file = tmp_path / "choices" / "nvidia-h200.json"
    command_line = ["choose", "--size", "1x64x64", "4096", "--budget", "0.1"]
    assert main([*command_line, "--folder", str(tmp_path), "--choices", str(file.parent)]) == 1, (
        "a candidate was refused"
    )
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[1].endswith(" candidates at 2 shapes; compiling") and lines[-1] == f"choice: {file}"
    assert [line.split()[:2] for line in lines[2:4]] == [["1×64×64", "1.250"], ["4096×4096×4096", "1.250"]]
    assert said.err.count("is slow") == 2
    kept = json.loads(file.read_text(encoding="utf-8"))
    kernels = choosing.candidates(kept["sms"])
    assert [shape for *shape, _ in kept["fastest"]] == [[1, 64, 64], [4096] * 3]
    assert [kernels[which].entry for *_, which in kept["fastest"]] == [line.split(maxsplit=2)[2] for line in lines[2:4]]
    rows = choosing.read_measured("NVIDIA H200", tmp_path)
    assert [(row.shape, row.cublas, sorted(row.times.values())) for row in rows] == [
        ((1, 64, 64), 1.0, [0.8, 2.0]),
        ((4096,) * 3, 1.0, [0.8, 2.0]),
    ]


@pytest.fixture
def an_h200_for_choosing(monkeypatch):
    """The command without its GPU: at every shape the second candidate that may be the fastest is."""

    def measured(kernels, shape, which, *, budget_s):
        times = dict.fromkeys(which, 2.0) | {which[1]: 0.8}
        in_graph = (1.0, times) if way(*shape) == GRAPH else (None, {})
        return choosing.Measured(shape, 1.0, in_graph[0], times, in_graph[1]), []

    dates = iter(["first", "second"])
    monkeypatch.setattr(gpu, "backend", lambda: "gpu")
    monkeypatch.setattr(gpu, "describe", lambda: "a GPU")
    monkeypatch.setattr(gpu, "name", lambda: "NVIDIA H200")
    monkeypatch.setattr(command, "compile_all", lambda kernels, report: None)
    monkeypatch.setattr(choosing, "measure", measured)
    monkeypatch.setattr(choosing, "provenance", lambda: {"date": next(dates)})
    monkeypatch.setattr(choosing, "costs", lambda *about: None)


def test_choose_adds_missing_shapes_to_earlier_measurements(an_h200_for_choosing, tmp_path, capsys):
    line = ["choose", "--folder", str(tmp_path), "--choices", str(tmp_path / "choices"), "--size"]
    assert main([*line, "64", "128"]) == 0
    assert main([*line, "128", "256", "--missing"]) == 0
    assert " candidates at 1 shapes; compiling" in capsys.readouterr().out
    assert [row.shape for row in choosing.read_measured("NVIDIA H200", tmp_path)] == [(n, n, n) for n in (64, 128, 256)]
    about = recordings.raw("NVIDIA H200", "choices", tmp_path)["provenance"]
    assert about["date"] == "second" and [run["date"] for run in about["earlier"]] == ["first"]
    kept = json.loads((tmp_path / "choices" / "nvidia-h200.json").read_text(encoding="utf-8"))
    assert [shape for *shape, _ in kept["fastest"]] == [[64] * 3, [128] * 3, [256] * 3]


def test_choose_on_several_gpus_keeps_the_order_of_shapes(an_h200_for_choosing, monkeypatch, tmp_path):
    def backwards(function, tasks, gpus):
        assert gpus == ["0", "2", "3"]
        for task in reversed(tasks):
            future = Future()
            future.set_result(function(*task))
            yield task, future

    monkeypatch.setattr(side_by_side, "like_this_one", lambda count: ["0", "2", "3", "4"][:count])
    monkeypatch.setattr(side_by_side, "results", backwards)
    line = ["choose", "--folder", str(tmp_path), "--choices", str(tmp_path / "choices"), "--size"]
    assert main([*line, "64", "128", "256", "--gpus", "3"]) == 0
    assert [row.shape for row in choosing.read_measured("NVIDIA H200", tmp_path)] == [(n, n, n) for n in (64, 128, 256)]
    assert recordings.raw("NVIDIA H200", "choices", tmp_path)["provenance"]["gpus_side_by_side"] == 3


def test_choose_on_too_many_gpus_says_how_many_there_are(an_h200_for_choosing, monkeypatch, capsys):
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 3,
        getDevice=lambda: 0,
        getDeviceProperties=lambda which: {"name": [b"NVIDIA H200", b"NVIDIA A2", b"NVIDIA H200"][which]},
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(runtime=runtime))
    monkeypatch.setenv(side_by_side.VISIBLE, "4,5,7")
    assert side_by_side.like_this_one(2) == ["4", "7"]
    assert main(["choose", "--gpus", "3"]) == 1
    assert "3 GPUs were asked for, and there are 2 × NVIDIA H200 here." in capsys.readouterr().err


def test_choose_keeps_what_was_measured_before_a_kernel_faulted(an_h200_for_choosing, monkeypatch, tmp_path, capsys):
    measured = choosing.measure

    def until_a_fault(kernels, shape, which, *, budget_s):
        if shape == (128, 128, 128):
            for question in ("name", "synchronize"):
                monkeypatch.setattr(gpu, question, lambda: pytest.fail("nothing can be asked of a GPU after a fault"))
            monkeypatch.setattr(choosing, "provenance", gpu.name)
            raise LaunchFailed("sgemm_rank_k<8> faulted on the GPU.")
        return measured(kernels, shape, which, budget_s=budget_s)

    monkeypatch.setattr(choosing, "measure", until_a_fault)
    line = ["choose", "--folder", str(tmp_path), "--choices", str(tmp_path / "choices"), "--size"]
    assert main([*line, "64", "128", "256"]) == 1
    assert "At 128×128×128:\n\nsgemm_rank_k<8> faulted" in capsys.readouterr().err
    assert [row.shape for row in choosing.read_measured("NVIDIA H200", tmp_path)] == [(64, 64, 64)]


def test_choose_measures_an_added_candidate_and_renumbers(an_h200_for_choosing, monkeypatch, tmp_path, capsys):
    line = ["choose", "--folder", str(tmp_path), "--choices", str(tmp_path / "choices"), "--size"]
    today = choosing.candidates(132)
    added = today.index(get("persistent", BM=96, BN=512, WM=96, WN=64, TM=24))
    assert added < len(today) - 1
    with monkeypatch.context() as before:
        before.setattr(choosing, "candidates", lambda sms: [kernel for kernel in today if kernel != today[added]])
        assert main([*line, "64", "4096"]) == 0
    old = {shape_times.shape: shape_times for shape_times in choosing.read_measured("NVIDIA H200", tmp_path)}
    assert main([*line, "64", "4096", "--missing"]) == 0
    assert f"\n2 of {len(today)} candidates at 1 shapes; compiling" in capsys.readouterr().out, "it and the fastest"
    new = {shape_times.shape: shape_times for shape_times in choosing.read_measured("NVIDIA H200", tmp_path)}
    assert {*new[4096, 4096, 4096].times} == {added} | {w + (w >= added) for w in old[4096, 4096, 4096].times}
    shift = {which + (which >= added): ms for which, ms in old[64, 64, 64].times.items()}
    assert new[64, 64, 64].times == shift != old[64, 64, 64].times


def test_choose_repeats_near_fastest_rows_of_changed_code(an_h200_for_choosing, monkeypatch, tmp_path, capsys):
    line = ["choose", "--folder", str(tmp_path), "--choices", str(tmp_path / "choices"), "--size"]
    assert main([*line, "64"]) == 0
    (before,) = choosing.read_measured("NVIDIA H200", tmp_path)
    fastest = min(before.times, key=before.score)
    changed = choosing.candidates(132)[fastest].name
    of_today = choosing.code_sha256
    monkeypatch.setattr(
        choosing, "code_sha256", lambda kernel: "of another source" if kernel.name == changed else of_today(kernel)
    )
    assert main([*line, "64", "--missing"]) == 0
    assert "candidates at 1 shapes; compiling" in capsys.readouterr().out
    (now,) = choosing.read_measured("NVIDIA H200", tmp_path)
    assert {*now.times} == {*before.times}
    about = recordings.raw("NVIDIA H200", "choices", tmp_path)["provenance"]
    assert about["code_sha256"][changed] == "of another source" != about["earlier"][0]["code_sha256"][changed]


def test_choose_vectors_changes_only_what_has_no_estimate(an_h200_for_choosing, tmp_path, capsys):
    of_now = recordings.path("NVIDIA H200", "choices", tmp_path)
    of_now.parent.mkdir()
    shutil.copy(recordings.path("NVIDIA H200", "choices"), of_now)
    line = ["choose", "--vectors", "--folder", str(tmp_path), "--choices", str(tmp_path / "choices")]
    assert main([*line, "--missing"]) == 2 and "leave out --gpus, --missing and --size" in capsys.readouterr().err
    assert main(line) == 0
    old, new = choices.of("NVIDIA H200"), json.loads((tmp_path / "choices" / "nvidia-h200.json").read_text("utf-8"))
    for before, after in zip(old.candidates, new["candidates"], strict=False):
        assert (before.kernel, before.costs) == (after["kernel"], after.get("seconds"))
        assert before.params.items() <= after["params"].items()  # a parameter that came later has its default
    fastest = {tuple(shape): which for *shape, which in new["fastest"]}
    few = {shape for shape in fastest if min(shape[:2]) <= by_shape.FEW}
    assert {*fastest} == {*old.fastest, *choosing.VECTORS}
    chosen = {new["candidates"][fastest[shape]]["kernel"] for shape in choosing.VECTORS}
    assert chosen == {"vector_matrix", "matrix_vector"}
    assert all(fastest[shape] == which for shape, which in old.fastest.items() if shape not in few)
    about = recordings.read(of_now)["provenance"]
    sources, before = (record["code_sha256"] for record in (about, about["earlier"][-1]))
    assert {name for name in sources if sources[name] != before[name]} <= {"vector_matrix", "matrix_vector"}


def test_machine_code_of_named_kernels_is_written_without_a_gpu(tmp_path, capsys):
    assert main(["cubins", str(tmp_path), "vector_matrix"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "index.json")
    assert [file.name for file in tmp_path.glob("*.cubin")] == ["vector_matrix.cubin"]


def test_summary_averages_each_kernels_ratios_geometrically():
    rows = [recordings.gflops(get("naive"), size, size, size) for size in (128, 4096)]
    expected = (rows[0].of_cublas * rows[1].of_cublas) ** 0.5
    assert summary(rows) == [f"naive: geometric mean {expected:.3f} of cuBLAS over 2 shape(s)"]


def test_courses_compiler_writes_portable_machine_code(tmp_path):
    index = write_cubins(tmp_path, (get("naive"), get("shared_memory")))
    functions = json.loads(index.read_text(encoding="utf-8"))["functions"]
    assert functions["naive"] == "sgemm_naive" and "sgemm_shared_memory" in functions["shared_memory"]
    assert all((tmp_path / f"{name}.cubin").read_bytes().startswith(b"\x7fELF") for name in functions)


# --- on a GPU -------------------------------------------------------------------------------------------------------

on_a_gpu = pytest.mark.skipif(not gpu.probe().usable, reason=gpu.probe().reason)


@on_a_gpu
def test_gpu_measurement_is_verified_repeated_and_labelled(monkeypatch):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "gpu")
    measured = bench(get("shared_memory"), 300, 200, 100, budget_s=0.2)
    assert measured.label == "measured here" and measured.gpu == gpu.name()
    assert 0 < measured.error < 1e-5
    assert measured.repeats >= 5 and 0 < measured.time.lower_ms <= measured.median_ms <= measured.time.upper_ms


@on_a_gpu
def test_wrong_kernel_on_a_gpu_is_refused_and_others_measured(monkeypatch):
    from helpers.measure import WrongResult, bench_together

    class ForgetsBeta:
        """The naive kernel with beta struck out of its source."""

        def __getattr__(self, attribute):
            return getattr(get("naive"), attribute)

        @property
        def source(self):
            return get("naive").source.replace("beta * C", "0.0f * C")

    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "gpu")
    measured, refused = bench_together((ForgetsBeta(), get("coalesced")), 100, 100, 100, budget_s=0.1)
    assert [row.kernel for row in measured] == ["coalesced"]
    assert isinstance(refused[0].error, WrongResult) and "elements are off" in str(refused[0].error)


@on_a_gpu
def test_interrupted_gpu_recording_keeps_what_it_measured(monkeypatch, tmp_path):
    from helpers.recordings.suites import in_turns, ladder
    from helpers.tools.measuring.record import record_suites

    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "gpu")

    def interrupt(done, measured):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shapes = in_turns({"ladder": ladder((get("coalesced"),), (64, 96, 128))})
        record_suites(shapes, folder=tmp_path, report=interrupt)
    assert [row.M for row in recordings.load(gpu.name(), folder=tmp_path)] == [64, 96]
