"""The search for parameters: its space, what it keeps, and that what it chose is what the kernel uses."""

import json

import pytest

from gemm_kernels import autotuned, get, tuned
from helpers import devices
from helpers.measure import Timing, recordings, tuning
from helpers.measure.measurement import Measurement
from helpers.models.tuning import CannotRun, predict

H200 = devices.get("H200")


@pytest.fixture(scope="module")
def space():
    return tuning.space(H200)


def test_the_space_is_legal_without_repetition_and_nothing_in_it_is_predicted_to_spill(space):
    assert len({tuple(one.values()) for one in space}) == len(space) > 500
    for params in space[:: len(space) // 50]:
        kernel = get("autotuned", **params)  # ValueError if it were not legal
        predicted = predict(H200, kernel)
        assert not predicted.spills and predicted.result.blocks >= params["BLOCKS"]
        assert kernel.threads in tuning.THREADS


def test_another_gpu_has_another_space(space):
    few = tuning.space(devices.get("RTX A6000"))  # 100 KB of shared memory an SM, and 48 warps
    assert 0 < len(few) < len(space)


def test_a_gpu_that_cannot_run_the_kernel_has_no_space_and_is_told_why():
    with pytest.raises(CannotRun, match="autotuned does not run on sm_75"):
        tuning.space(devices.get("Tesla T4"))


def test_busy_is_the_part_of_the_sms_time_that_goes_into_c():
    assert tuning.busy(128, 256, 4096, 4096, 132) == pytest.approx(512 / (4 * 132))  # 512 tiles in 4 rounds
    assert tuning.busy(16, 32, 128, 128, 132) == pytest.approx(32 / 132)
    assert tuning.busy(128, 128, 129, 1, 132) == pytest.approx(129 / (132 * 128 * 128))  # two tiles, nearly empty


def test_a_shape_asks_for_tiles_that_fit_it(space):
    suits = {shape: [one for one in space if tuning.suits(one, shape, 132)] for shape in tuning.SHAPES}
    assert all(suits.values())
    assert {one["BM"] for one in suits[1, 4096, 4096]} == {16}
    assert all(one["BM"] * one["BN"] <= 32 * 32 for one in suits[256, 256, 256])
    assert {(one["BM"], one["BN"]) for one in suits[8192, 8192, 8192]} == {(128, 256), (256, 128)}
    assert all(one["BK"] <= 128 for one in suits[4096, 4096, 128])


def row(size, ms, suite=tuning.FINAL, **params):
    kernel = get("autotuned", **params)
    time = Timing(ms, ms, ms, 3)
    one = Measurement("autotuned", kernel.params, kernel.block, size, size, size, time, time, 1e-6, "GPU X", "")
    return {"suite": suite, **one.row()}


def test_the_fastest_finalist_of_each_shape_is_chosen_not_the_fastest_of_the_search():
    rows = [row(512, 2.0), row(512, 1.5, STAGES=3), row(512, 1.0, tuning.SUITE, STAGES=4), row(256, 1.0)]
    chosen = tuning.choices(rows)
    assert [(one["M"], one["params"]["STAGES"]) for one in chosen] == [(256, 2), (512, 3)]


def test_choices_of_one_gpu_leave_those_of_others_alone(tmp_path):
    choices, search = tmp_path / "tuned.json", tmp_path / "tuning-gpu-x.json"
    choices.write_text(json.dumps({"GPU Y": [{"M": 1, "N": 1, "K": 1, "params": {}}]}), encoding="utf-8")
    recordings.merge_into(search, "GPU X", {"date": "now"}, [row(512, 2.0)])
    tuning.write_choices(search, choices)
    written = json.loads(choices.read_text(encoding="utf-8"))
    assert list(written) == ["GPU Y", "GPU X"]
    assert written["GPU X"][0]["params"] == dict(get("autotuned").params)


def test_a_file_of_searches_is_not_taken_for_the_recordings_of_a_gpu(tmp_path):
    recordings.merge("GPU X", {"date": "now"}, [row(512, 2.0, "ladder")], tmp_path)
    recordings.merge_into(recordings.tuning_path("GPU X", tmp_path), "GPU X", {"date": "now"}, [row(512, 1.0)])
    assert recordings.gpus(tmp_path) == ["GPU X"]
    assert [one.median_ms for one in recordings.load("GPU X", "finals", tmp_path)] == [1.0]
    assert [one.median_ms for one in recordings.load("GPU X", folder=tmp_path)] == [2.0]


def test_rows_can_be_dropped_with_the_runs_that_nobody_needs_any_more(tmp_path):
    file = tmp_path / "some.json"
    recordings.merge_into(file, "GPU X", {"date": "first"}, [row(512, 2.0)])
    recordings.merge_into(file, "GPU X", {"date": "second"}, [row(256, 2.0)])
    recordings.drop(file, lambda one: one["M"] == 512)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert [run["date"] for run in content["runs"]] == ["second"]
    assert [(one["M"], one["run"]) for one in content["rows"]] == [(256, 0)]
    recordings.drop(tmp_path / "none.json", lambda one: True)


# --- the search that the course ships ---------------------------------------------------------------------------------


def test_the_shipped_choices_are_the_fastest_finalists_of_the_shipped_search():
    shipped = json.loads(tuned.FILE.read_text(encoding="utf-8"))[recordings.DEFAULT_GPU]
    assert shipped == tuning.choices(recordings.raw(suite=tuning.FINAL)["rows"])
    assert {(one["M"], one["N"], one["K"]) for one in shipped} == set(tuning.SHAPES)


def test_every_finalist_was_among_the_fastest_of_the_search():
    searched = recordings.load(suite=tuning.SUITE)
    for shape in tuning.SHAPES:
        times = {tuple(one.params.items()): one.median_ms for one in searched if shape == (one.M, one.N, one.K)}
        best = sorted(times, key=times.__getitem__)[: tuning.FINALISTS]
        finals = [one for one in recordings.load(suite=tuning.FINAL) if shape == (one.M, one.N, one.K)]
        assert {tuple(one.params.items()) for one in finals} == set(best)


def test_of_some_shapes_the_whole_search_is_kept_good_and_bad():
    for M, N, K in tuning.WHOLE:
        speeds = [one.gflops for one in recordings.load(suite=tuning.SUITE) if (one.M, one.N, one.K) == (M, N, K)]
        assert len(speeds) > 50 and max(speeds) > 1.5 * min(speeds)


def test_the_autotuned_kernel_beats_cublas_on_most_recorded_shapes_and_by_the_geometric_mean():
    from helpers.measure import geometric_mean

    rows = [one for one in recordings.load() if one.kernel == "autotuned"]
    assert all(dict(one.params) == dict(autotuned(one.M, one.N, one.K).params) for one in rows)
    ratios = [one.of_cublas for one in rows]
    assert sum(ratio > 1 for ratio in ratios) >= 0.75 * len(ratios)
    assert geometric_mean(ratios) > 1.1


# --- with Kernel Tuner ------------------------------------------------------------------------------------------------


def test_kernel_tuner_walks_exactly_what_was_chosen(space):
    searchspace = pytest.importorskip("kernel_tuner.searchspace", reason="needs Kernel Tuner (make tune)")
    shape = (64, 4096, 1024)
    chosen = [one for one in space if tuning.suits(one, shape, 132)]
    values, restrictions = tuning.kernel_tuner_space(chosen)
    walked = searchspace.Searchspace(values, restrictions, 1024).list
    names = list(values)
    found = {tuple(one[names.index(name)] for name in tuning.SPACE) for one in walked}
    assert len(walked) == len(found)
    assert found == {tuple(one.values()) for one in chosen}
    for one in walked[::40]:
        params = dict(zip(names, one, strict=True))
        assert get("autotuned", **{name: params[name] for name in tuning.SPACE}).threads == params["THREADS"]
