"""The learner's ladder: their kernels where they wrote some, counters of exactly those, speeds with their label."""

import pytest

from gpusim import devices
from helpers import course, recordings
from helpers.exercises import get
from helpers.exercises.framework import kept, progress, rungs
from helpers.measure.problem import tolerance
from helpers.pictures import theme
from helpers.recordings.measurement import recorded_on

NAMES = [blank.name for blank in rungs.rungs()]


@pytest.fixture(autouse=True)
def folder_of_a_learner(tmp_path, monkeypatch):
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, str(tmp_path / "my"))
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))
    monkeypatch.setenv("GEMM_COURSE_BACKEND", "simulator")


def test_rungs_are_the_courses_multiplications_in_order():
    assert NAMES[:3] == ["naive", "coalesced", "tiled"] and "raster" not in NAMES
    numbers = [blank.notebook for blank in rungs.rungs()]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("size", rungs.SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_plain_kernels_speeds_are_of_the_shown_text(name, size):
    rows = recordings.raw(devices.DEFAULT.name, rungs.SUITE)["rows"]
    (row,) = (row for row in rows if (row["kernel"], row["M"]) == (name, size))
    assert row["sha256"] == rungs.sha256(get(name)), "run `python -m helpers.exercises --record` on a GPU"
    measured = course.speed(name, size)
    assert measured.error <= tolerance(size) and measured.repeats >= 5
    assert 0 < measured.gflops < devices.DEFAULT.peak_fp32_gflops
    assert measured.label == recorded_on(devices.DEFAULT.name)


def test_each_idea_is_faster_where_the_course_says_so():
    speed = {name: course.speed(name, 4096).gflops for name in NAMES}
    assert speed["coalesced"] > 3 * speed["naive"]
    assert speed["tiled"] > speed["coalesced"]
    assert speed["patch"] > speed["strip"] > speed["tiled"]


def test_open_blank_shows_the_courses_kernel_and_recorded_speed():
    (first, *_) = rungs.my_rungs()
    assert not first.written and first.speed == rungs.recorded("naive", rungs.SHOWN)
    assert first.sectors == pytest.approx(4.5, abs=4.0) and first.loads == 0


def test_accepted_kernel_is_counted_and_predicted_without_gpu():
    slower = get("coalesced").solved.replace("B[k * N + col];", "B[k * N + col] + 0.0f * A[row * K];")
    assert get("coalesced").check(slower.replace("sum", "total")).passed is True
    rung = next(rung for rung in rungs.my_rungs() if rung.blank.name == "coalesced")
    assert rung.written and rung.speed is None
    row = next(row for row in course.my_ladder().rows if row[1] == "coalesced")
    assert row[2] == "yours" and row[3] == "32 × 8" and row[7].startswith("predicted for NVIDIA H200, ")
    predicted = 2 * rungs.SHOWN**3 / rung.predicted.ms / 1e6
    assert predicted == pytest.approx(course.speed("coalesced").gflops, rel=0.35)
    assert row[6] == theme.thousands(predicted)


def test_a_speed_that_was_not_recorded_is_answered_by_what_was():
    with pytest.raises(
        ValueError, match=r"'naive' was not recorded at 100; recorded are naive, .*\(1024, 2048, 4096\)"
    ):
        course.speed("naive", 100)
