"""Recordings: what is kept, how it is merged, how it is read back and labelled."""

import json
from collections import Counter

import pytest

from gemm_kernels import LADDER, UPPER, at_shape, autotuned, get
from gpusim import devices
from helpers import recordings
from helpers.measure import Measurement, Timing, geometric_mean, one_run, performance
from helpers.measure.provenance import code_sha256
from helpers.recordings.suites import (
    BLOCK_SIZE,
    LADDER_SIZES,
    OTHER_SHAPES,
    TIMED_SUITES,
    block_shapes,
    blocks,
    groups_of,
    in_turns,
    ladder,
    sweep,
    tiles,
)
from helpers.tools.measuring import record as measuring
from helpers.tools.measuring.counters import METRICS, parse
from helpers.tools.measuring.record import record_golden, record_suites

pytestmark = pytest.mark.usefixtures("on_the_simulator")


def measurement(kernel="naive", size=128, ms=2.0, cublas_ms=1.0, params=None):
    return Measurement(
        kernel=kernel,
        params=params or {"block_x": 32, "block_y": 32},
        block=(32, 32, 1),
        M=size,
        N=size,
        K=size,
        time=Timing(ms, ms * 0.75, ms * 1.25, 9),
        cublas=Timing(cublas_ms, cublas_ms, cublas_ms, 9),
        error=1.5e-6,
        gpu="GPU X",
        label="measured here",
    )


def row(**changes):
    return measurement(**changes).row()


def merge(date, rows, folder, suite="ladder"):
    return recordings.merge("GPU X", suite, {"date": date}, rows, folder)


# --- a measurement --------------------------------------------------------------------------------------------------


def test_gflops_are_two_m_n_k_over_the_median():
    row = measurement(size=1000, ms=2.0, cublas_ms=0.5)
    assert row.gflops == pytest.approx(1000)
    assert row.cublas_gflops == pytest.approx(4000)
    assert row.of_cublas == pytest.approx(0.25)
    assert row.spread == pytest.approx(0.5)


def test_a_timing_is_the_median_and_the_quartiles():
    assert Timing.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Timing(3.0, 2.0, 4.0, 5)


def test_a_measurement_survives_the_file_and_changes_its_label():
    back = Measurement.from_row(json.loads(json.dumps(measurement().row())), "GPU X")
    assert back.label == "recorded on GPU X"
    assert (back.kernel, back.block, back.time, back.error) == ("naive", (32, 32, 1), measurement().time, 1.5e-6)


def test_the_geometric_mean_of_a_ratio_and_its_inverse_is_one():
    assert geometric_mean([4.0, 0.25]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="no ratio"):
        geometric_mean([])


# --- files ----------------------------------------------------------------------------------------------------------


def test_rows_are_kept_in_the_order_of_ladder_and_later_steps(tmp_path):
    names = ("persistent", "coalesced", "exchanged", "naive", "pinned")
    params = {name: dict(get(name).params) for name in names}
    file = merge("1", [row(kernel=name, params=params[name]) for name in names], tmp_path, suite="steps")
    kept = [row["kernel"] for row in json.loads(file.read_text(encoding="utf-8"))["rows"]]
    assert kept == ["naive", "coalesced", "pinned", "exchanged", "persistent"]


def test_second_run_replaces_what_it_measured_and_keeps_the_rest(tmp_path):
    merge("first", [row(size=128, ms=2), row(size=256, ms=3)], tmp_path)
    file = merge("second", [row(size=256, ms=4), row(size=512, ms=5)], tmp_path)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert file == tmp_path / "gpu-x" / "ladder.json"
    assert [run["date"] for run in content["runs"]] == ["first", "second"]
    assert [(r["M"], r["time"][0], r["run"]) for r in content["rows"]] == [(128, 2, 0), (256, 4, 1), (512, 5, 1)]


def test_a_run_without_rows_left_is_forgotten(tmp_path):
    merge("first", [row(ms=2)], tmp_path)
    file = merge("second", [row(ms=3)], tmp_path)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert [run["date"] for run in content["runs"]] == ["second"]
    assert content["rows"][0]["run"] == 0


def test_other_parameters_and_other_suites_are_other_rows(tmp_path):
    merge("now", [row(), row(params={"block_x": 16, "block_y": 16})], tmp_path)
    merge("now", [row()], tmp_path, "blocks")
    assert len(recordings.load("GPU X", folder=tmp_path)) == 3
    assert len(recordings.load("GPU X", "blocks", tmp_path)) == 1


def test_a_file_has_one_row_a_line(tmp_path):
    file = merge("first", [row(size=128), row(size=256)], tmp_path)
    assert sum('"kernel": "naive"' in line for line in file.read_text(encoding="utf-8").splitlines()) == 2


def test_rows_of_changed_kernels_take_their_old_places(tmp_path):
    file = tmp_path / "states.json"
    old = [{"kernel": kernel, "size": size, "ms": 1} for kernel in ("naive", "padded", "swizzled") for size in (1, 2)]
    recordings.write(file, {"provenance": {"date": "first"}, "rows": old})
    for date in ("second", "third"):
        again = [{"kernel": "padded", "size": size, "ms": date} for size in (2, 1)]
        recordings.replace_rows(file, {"date": date}, again)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["provenance"] == {"date": "first", "later": {"padded": {"date": "third"}}}
    assert [(r["kernel"], r["size"]) for r in content["rows"]] == [(r["kernel"], r["size"]) for r in old]
    assert [r["ms"] for r in content["rows"]] == [1, 1, "third", "third", 1, 1]
    with pytest.raises(recordings.NoRecording, match=r"no rows of pinned to replace; record the whole suite"):
        recordings.replace_rows(file, {}, [{"kernel": "pinned", "size": 1}])


def test_what_is_not_there_is_answered_with_what_there_is(tmp_path):
    merge("now", [row()], tmp_path)
    with pytest.raises(recordings.NoRecording, match="no recording of 'GPU Y'; there are recordings of: GPU X"):
        recordings.load("GPU Y", folder=tmp_path)
    message = (
        r"suite 'blocks' on 'GPU X'; GPU X has: ladder\. "
        r"`python -m helpers\.tools\.measuring record --suite blocks` on a GPU"
    )
    with pytest.raises(recordings.NoRecording, match=message):
        recordings.load("GPU X", "blocks", tmp_path)
    with pytest.raises(
        recordings.NoRecording, match=r"on 'GPU X'; .* `python -m helpers\.tools\.measuring tune` on a GPU"
    ):
        recordings.raw("GPU X", "search", tmp_path)


def test_suite_has_its_file_and_searches_stay_out_of_all(tmp_path):
    merge("now", [row(kernel="autotuned", ms=2)], tmp_path)
    merge("now", [row(kernel="autotuned", ms=1)], tmp_path, "finals")
    assert recordings.gpus(tmp_path) == ["GPU X"]
    assert [row.median_ms for row in recordings.load("GPU X", "finals", tmp_path)] == [1.0]
    assert [row.median_ms for row in recordings.load("GPU X", folder=tmp_path)] == [2.0]


def test_what_is_written_anew_is_read_anew(tmp_path):
    merge("now", [row(ms=2)], tmp_path)
    assert recordings.load("GPU X", "ladder", tmp_path)[0].median_ms == 2
    merge("now", [row(ms=3)], tmp_path)
    assert recordings.load("GPU X", "ladder", tmp_path)[0].median_ms == 3


# --- the recordings that the course ships ----------------------------------------------------------------------------


def test_shipped_recordings_cover_the_ladder_and_block_shapes():
    recorded = {(r.kernel, tuple(r.params.items()), r.M) for r in recordings.load(suite="ladder")}
    wanted = {
        (kernel.name, tuple(at_shape(kernel, size, size, size).params.items()), size)
        for kernel in LADDER
        for size in LADDER_SIZES
    }
    assert not wanted - recorded, "run `python -m helpers.tools.measuring record --suite ladder` on a GPU"
    recorded = {(r.kernel, r.M, r.N, r.K) for r in recordings.load(suite="shapes")}
    assert not {(kernel.name, *shape) for kernel in LADDER for shape in OTHER_SHAPES} - recorded


@pytest.mark.parametrize("suite", ["blocks", "sweep", "tiles"])
def test_shipped_suite_has_what_it_measures_and_nothing_else(suite):
    recorded = {(r.kernel, tuple(r.params.items()), r.M) for r in recordings.load(suite=suite)}
    assert recorded == {
        (kernel.name, tuple(kernel.params.items()), group.M) for group in groups_of(suite) for kernel in group.kernels
    }


@pytest.mark.parametrize("groups", [blocks(), sweep(), tiles()])
def test_everything_that_suites_compare_was_recorded_once(groups):
    for group in groups:
        assert len(one_run(group.kernels, group.M, group.N, group.K)) == len(group.kernels)


@pytest.mark.parametrize("gpu", recordings.gpus())
def test_kernel_has_one_recorded_speed_at_a_shape(gpu):
    rows = Counter((r.kernel, tuple(r.params.items()), r.M, r.N, r.K) for r in recordings.load(gpu))
    assert [row for row, count in rows.items() if count > 1] == []


@pytest.mark.parametrize("suite", ["ladder", "shapes", "sweep", "tiles", "search", "finals"])
def test_what_was_recorded_is_the_code_that_the_course_shows(suite):
    content = recordings.raw(devices.DEFAULT.name, suite)
    for r in content["rows"]:
        recorded = content["runs"][r["run"]]["code_sha256"][r["kernel"]]
        assert recorded == code_sha256(get(r["kernel"])), (
            f"the code of {r['kernel']} has changed since it was recorded: {recordings.how_to(suite)}"
        )


def test_comment_may_change_after_recording_but_no_instruction():
    class Changed:
        def __init__(self, old, new):
            self.source = get("naive").source.replace(old, new)

    assert code_sha256(Changed("// ", "//  now with more words: ")) == code_sha256(get("naive"))
    assert code_sha256(Changed("alpha *", "alpha +")) != code_sha256(get("naive"))


def test_autotuned_kernel_is_found_with_its_shapes_parameters():
    small, large = (recordings.gflops(get("autotuned"), size, size, size) for size in (256, 4096))
    assert dict(small.params) == dict(autotuned(256, 256, 256).params) != dict(large.params)
    assert recordings.find(get("sliced_k"), 256, 256, 256).kernel == "sliced_k"


@pytest.mark.parametrize("name", [kernel.name for kernel in LADDER if kernel.chosen_by_shape])
def test_kernel_chosen_by_shape_keeps_one_row_a_shape(name, tmp_path):
    old, new = row(kernel=name, params={"BM": 1}), row(kernel=name, params={"BM": 2})
    for suite in ("ladder", "search"):
        merge("first", [old], tmp_path, suite)
        merge("second", [new], tmp_path, suite)
    assert len(recordings.load("GPU X", "search", tmp_path)) == 2
    assert [r.params for r in recordings.load("GPU X", "ladder", tmp_path)] == [{"BM": 2}]


@pytest.mark.parametrize("suite", [*TIMED_SUITES, "search", "finals"])
def test_every_shipped_row_was_verified_and_names_its_run(suite):
    from helpers.measure import tolerance

    content = recordings.raw(devices.DEFAULT.name, suite)
    for r in content["rows"]:
        assert 0 < r["error"] <= tolerance(r["K"])
        row = Measurement.from_row(r, content["gpu"])
        assert 0 < row.time.lower_ms <= row.median_ms <= row.time.upper_ms
        run = content["runs"][r["run"]]
        assert run["gpu"] == content["gpu"] and len(run["commit"].removesuffix("-modified")) == 40
        assert all(run[name] for name in ("driver", "cuda_driver", "nvrtc", "cublas", "cupy", "date"))
        assert "MHz" in run["clocks_under_load"]["clocks.sm"]


def test_recorded_cublas_is_below_and_mostly_near_the_peak():
    peak = devices.DEFAULT.peak_fp32_gflops
    largest = max(recordings.load(suite="ladder"), key=lambda r: r.flops)
    assert 0.7 < largest.cublas_gflops / peak < 1


def test_a_recorded_shape_is_found_exactly_and_labelled():
    answer = recordings.gflops(get("naive"), 4096, 4096, 4096)
    assert (answer.M, answer.kernel, answer.label) == (4096, "naive", "recorded on NVIDIA H200")
    assert 450 < answer.gflops < 550


def test_unrecorded_shape_is_answered_with_the_recorded_ones():
    with pytest.raises(recordings.NoRecording) as error:
        recordings.gflops(get("naive"), 100, 100, 100)
    assert "naive (block_x=32, block_y=32) at 100×100×100 was not recorded on NVIDIA H200" in str(error.value)
    assert "128×128×128, 256×256×256" in str(error.value)


# --- how fast is it? --------------------------------------------------------------------------------------------------


def test_without_a_gpu_the_answer_is_the_labelled_recording():
    answer = performance(get("naive"), 4096, 4096, 4096)
    assert answer.measurement == recordings.find(get("naive"), 4096, 4096, 4096)
    assert answer.sentence.startswith("naive at 4096×4096×4096: ")
    assert answer.sentence.endswith("of cuBLAS, recorded on NVIDIA H200")


def test_without_the_exact_shape_the_nearest_answers_and_says_so():
    answer = performance(get("naive"), 500, 600, 550)
    assert answer.measurement.M == 512
    assert "; 500×600×550 itself was not recorded, this is the nearest shape that was" in answer.sentence


def test_nearest_shape_is_near_in_every_dimension():
    row = performance(get("naive"), 250, 250, 260).measurement
    assert (row.M, row.N, row.K) == (256, 256, 256)  # 1×4096×4096 has as many operations
    row = performance(get("naive"), 2, 4000, 4000).measurement
    assert (row.M, row.N, row.K) == (1, 4096, 4096)


def test_unmeasured_kernel_gets_a_sentence_instead_of_a_number():
    answer = performance(get("naive").replace(block_x=24, block_y=4), 2048, 2048, 2048)
    assert answer.measurement is None
    assert answer.sentence == (
        "naive (block_x=24, block_y=4) was not recorded on NVIDIA H200, and there is no GPU here."
    )
    assert "no recording of 'GPU Y'" in performance(get("naive"), 8, 8, 8, recorded_on="GPU Y").sentence


# --- suites -----------------------------------------------------------------------------------------------------------


def test_ladder_suite_times_all_kernels_together_at_each_size():
    groups = ladder()
    assert [group.M for group in groups] == list(LADDER_SIZES)
    assert all(group.kernels == LADDER + UPPER for group in groups)


def test_block_suite_has_all_shapes_of_16_to_1024_in_both_orders():
    shapes = block_shapes()
    assert {(32, 1), (1, 32), (16, 16), (8, 4), (1024, 1), (1, 1024), (4, 4)} <= set(shapes)
    assert len(shapes) == len(set(shapes)) == 56
    assert all(16 <= x * y <= 1024 for x, y in shapes)
    assert {kernel.name for group in blocks() for kernel in group.kernels} == {"naive", "coalesced"}
    assert all(kernel.threads <= 1024 for group in blocks() for kernel in group.kernels)


def test_rows_of_a_shape_go_to_the_files_of_their_suites(monkeypatch, tmp_path):
    asked = []

    def timed(kernels, M, N, K, budget_s):
        asked.append((len(kernels), budget_s))
        return [measurement(kernel.name, M, params=dict(kernel.params)) for kernel in kernels[1:]], [kernels[0]]

    monkeypatch.setattr(measuring, "bench_together", timed)
    monkeypatch.setattr(measuring, "compile_all", lambda kernels: None)
    monkeypatch.setattr(measuring, "provenance", lambda: {"date": "now"})
    monkeypatch.setattr(measuring.gpu, "name", lambda: "GPU X")
    groups = {"ladder": ladder((get("naive"), get("coalesced")), (64,)), "tiles": tiles(64)}
    files, refused = record_suites(in_turns(groups), folder=tmp_path)
    count = len(tiles(64)[0].kernels)
    assert asked == [(2 + count, 2.0)] and [kernel.name for kernel in refused] == ["naive"]
    assert [file.stem for file in files] == ["ladder", "tiles"]
    assert [row.kernel for row in recordings.load("GPU X", "ladder", tmp_path)] == ["coalesced"]
    assert len(recordings.load("GPU X", "tiles", tmp_path)) == count


def test_golden_hashes_are_not_made_by_the_simulator(tmp_path):
    from helpers.measure import NoGpu

    with pytest.raises(NoGpu, match="Golden hashes are made on a GPU"):
        record_golden(folder=tmp_path)
    assert not list(tmp_path.iterdir())


# --- Nsight Compute's output


def test_counters_are_read_from_ncus_table_launch_by_launch():
    first, second = METRICS[:2]
    text = (
        "==PROF== Connected to process 7\n"
        f'"ID","Kernel Name","{first}","{second}"\n'
        '"","","inst","%"\n'
        '"0","sgemm_naive(int, int)","1,234","99.5"\n'
        '"1","sgemm_naive(int, int)","5","6"\n'
    )
    assert parse(text) == [{first: 1234, second: 99.5}, {first: 5, second: 6}]
    assert parse("==ERROR== ERR_NVGPUCTRPERM") == []


def test_speeds_to_compare_are_the_ones_of_every_page():
    pair = [get("double_buffered", BLOCKS=blocks) for blocks in (1, 2)]
    assert one_run(pair, 2048, 2048, 2048) == [performance(kernel, 2048, 2048, 2048).measurement for kernel in pair]
    with pytest.raises(recordings.NoRecording, match="double_buffered .* was not recorded"):
        one_run(pair, 2048, 2048, 2047)


def test_kernels_of_several_suites_take_turns_at_a_shape():
    timed = {suite: groups_of(suite) for suite in TIMED_SUITES}
    shapes = in_turns(timed)
    assert len({(group.M, group.N, group.K) for group, _, _ in shapes}) == len(shapes)
    (group, suites, count) = next(shape for shape in shapes if shape[0].M == shape[0].N == shape[0].K == BLOCK_SIZE)
    assert set(suites) == {"ladder", "blocks", "sweep", "tiles"} and len(suites) == len(group.kernels)
    assert count == sum((g.M, g.N, g.K) == (BLOCK_SIZE,) * 3 for groups in timed.values() for g in groups)
