"""The search for parameters: its space, what it keeps, and that what it chose is what the kernel uses."""

import json
import sys
from types import SimpleNamespace

import pytest

from gemm_kernels import autotuned, choices, get
from gpusim import devices
from helpers import gpu, recordings
from helpers.measure import Timing
from helpers.pictures.tuning.model import CannotRun, predict
from helpers.pictures.tuning.search_space import SPACE, THREADS, busy, space as parameters, suits
from helpers.recordings.measurement import Measurement
from helpers.tools.measuring import choosing, tuning

H200 = devices.get("H200")


@pytest.fixture(scope="module")
def space():
    return parameters(H200)


def test_space_is_legal_distinct_and_predicted_not_to_spill(space):
    assert len({tuple(candidate.values()) for candidate in space}) == len(space) > 500
    for params in space[:: len(space) // 50]:
        kernel = get("autotuned", **params)  # ValueError if it were not legal
        predicted = predict(H200, kernel)
        assert not predicted.spills and predicted.result.blocks >= params["BLOCKS"]
        assert kernel.threads in THREADS


def test_another_gpu_has_another_space(space):
    few = parameters(devices.get("RTX A6000"))  # 100 KB of shared memory an SM, and 48 warps
    assert 0 < len(few) < len(space)


def test_gpu_unable_to_run_the_kernel_has_no_space_and_says_why():
    with pytest.raises(CannotRun, match="autotuned does not run on sm_75"):
        parameters(devices.get("Tesla T4"))


def test_busy_is_the_part_of_the_sms_time_that_goes_into_c():
    assert busy(128, 256, 4096, 4096, 132) == pytest.approx(512 / (4 * 132))  # 512 tiles in 4 rounds
    assert busy(16, 32, 128, 128, 132) == pytest.approx(32 / 132)
    assert busy(128, 128, 129, 1, 132) == pytest.approx(129 / (132 * 128 * 128))  # two tiles, nearly empty


def test_a_shape_asks_for_tiles_that_fit_it(space):
    suitable = {shape: [candidate for candidate in space if suits(candidate, shape, 132)] for shape in tuning.SHAPES}
    assert all(suitable.values())
    assert {candidate["BM"] for candidate in suitable[1, 4096, 4096]} == {16}
    assert all(candidate["BM"] * candidate["BN"] <= 32 * 32 for candidate in suitable[256, 256, 256])
    assert {(candidate["BM"], candidate["BN"]) for candidate in suitable[8192, 8192, 8192]} == {(128, 256), (256, 128)}
    assert all(candidate["BK"] <= 128 for candidate in suitable[4096, 4096, 128])


def measured(size, ms, **params):
    kernel = get("autotuned", **params)
    time = Timing(ms, ms, ms, 3)
    return Measurement("autotuned", kernel.params, kernel.block, size, size, size, time, time, 1e-6, "GPU X", "")


def test_the_fastest_finalist_of_each_shape_is_chosen():
    chosen = tuning.chosen([measured(512, 2.0), measured(512, 1.5, STAGES=3), measured(256, 1.0)])
    assert [(row["M"], row["params"]["STAGES"]) for row in chosen] == [(256, 2), (512, 3)]


def test_what_a_search_finds_leaves_the_other_choices_alone(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "kernel_tuner", SimpleNamespace(__version__="1"))
    monkeypatch.setattr(gpu, "name", lambda: "GPU X")
    monkeypatch.setattr(tuning, "provenance", lambda: {"date": "now"})
    file = choosing.update_choices("GPU X", 7, tmp_path / "choices", fastest=[[1, 1, 1, 0]])
    slow, fast = measured(512, 2.0), measured(512, 1.0, STAGES=3)
    searched = tuning.Searched((512, 512, 512), (fast, slow), (slow, fast), ())
    assert tuning.keep([searched], 7, tmp_path, tmp_path / "choices") == tmp_path / "gpu-x" / "finals.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    assert (written["gpu"], written["sms"], written["fastest"]) == ("GPU X", 7, [[1, 1, 1, 0]])
    assert [row["params"] for row in written["searched"]] == [dict(fast.params)]
    assert len(recordings.load("GPU X", "search", tmp_path)) == 2
    tuning.keep([tuning.Searched((512, 512, 512), (slow,), (slow,), ())], 7, tmp_path, tmp_path / "choices")
    assert [row.median_ms for row in recordings.load("GPU X", "finals", tmp_path)] == [2.0], "searched again"


def test_rows_can_be_dropped_with_their_unneeded_runs(tmp_path):
    recordings.merge("GPU X", "finals", {"date": "first"}, [measured(512, 2.0).row()], tmp_path)
    file = recordings.merge("GPU X", "finals", {"date": "second"}, [measured(256, 2.0).row()], tmp_path)
    recordings.drop(file, lambda row: row["M"] == 512)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert [run["date"] for run in content["runs"]] == ["second"]
    assert [(row["M"], row["run"]) for row in content["rows"]] == [(256, 0)]
    recordings.drop(tmp_path / "none.json", lambda row: True)


# --- the search that the course ships ---------------------------------------------------------------------------------


def test_shipped_choices_are_the_searchs_fastest_finalists():
    shipped = json.loads(choices.path(devices.DEFAULT.name).read_text(encoding="utf-8"))["searched"]
    assert shipped == tuning.chosen(recordings.load(suite="finals"))
    assert {(row["M"], row["N"], row["K"]) for row in shipped} == set(tuning.SHAPES)


def test_every_finalist_was_among_the_fastest_of_the_search():
    searched = recordings.load(suite="search")
    for shape in tuning.SHAPES:
        times = {tuple(row.params.items()): row.median_ms for row in searched if shape == (row.M, row.N, row.K)}
        best = sorted(times, key=times.__getitem__)[: tuning.FINALISTS]
        finals = [row for row in recordings.load(suite="finals") if shape == (row.M, row.N, row.K)]
        assert {tuple(row.params.items()) for row in finals} == set(best)


def test_of_some_shapes_the_whole_search_is_kept_good_and_bad():
    for M, N, K in tuning.WHOLE:
        speeds = [row.gflops for row in recordings.load(suite="search") if (row.M, row.N, row.K) == (M, N, K)]
        assert len(speeds) > 50 and max(speeds) > 1.5 * min(speeds)


def test_autotuned_beats_cublas_on_most_shapes_and_on_average():
    from helpers.measure import geometric_mean

    rows = [row for row in recordings.load() if row.kernel == "autotuned"]
    assert all(dict(row.params) == dict(autotuned(row.M, row.N, row.K).params) for row in rows)
    ratios = [row.of_cublas for row in rows]
    assert sum(ratio > 1 for ratio in ratios) >= 0.75 * len(ratios)
    assert geometric_mean(ratios) > 1.1


# --- with Kernel Tuner ------------------------------------------------------------------------------------------------


def test_kernel_tuner_walks_exactly_what_was_chosen(space):
    searchspace = pytest.importorskip("kernel_tuner.searchspace", reason="needs Kernel Tuner (make tune)")
    shape = (64, 4096, 1024)
    chosen = [candidate for candidate in space if suits(candidate, shape, 132)]
    values, restrictions = tuning.kernel_tuner_space(chosen)
    walked = searchspace.Searchspace(values, restrictions, 1024).list
    names = list(values)
    walked_over = {tuple(setting[names.index(name)] for name in SPACE) for setting in walked}
    assert len(walked) == len(walked_over)
    assert walked_over == {tuple(candidate.values()) for candidate in chosen}
    for setting in walked[::40]:
        params = dict(zip(names, setting, strict=True))
        assert get("autotuned", **{name: params[name] for name in SPACE}).threads == params["THREADS"]
