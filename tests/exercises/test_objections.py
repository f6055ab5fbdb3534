"""What is answered to a reader who doubts the comparison: from the recording alone, and as it was measured."""

import pytest

from helpers import recordings
from helpers.exercises import objections
from helpers.measure import conditions
from helpers.measure.frozen import frozen_shapes
from helpers.recordings.suites import FASTEST


def test_the_unseen_shapes_are_the_frozen_ones():
    rows = recordings.raw("NVIDIA H200", conditions.SUITE)["rows"]
    unseen = {(row["M"], row["N"], row["K"]) for row in rows if row["group"] == conditions.UNSEEN}
    assert unseen == set(frozen_shapes())
    assert not unseen & {row.shape for gpu in recordings.gpus(suites=(FASTEST,)) for row in recordings.fastest(gpu)}
    ratios = objections.ratios(conditions.UNSEEN)
    assert len(ratios.each) == 40 and ratios.faster < 40  # shapes that are lost are told, too


def test_every_condition_was_timed_in_the_same_turns():
    rows = recordings.raw("NVIDIA H200", conditions.SUITE)["rows"]
    counts = {}
    for row in rows:
        if row["group"] != conditions.UNSEEN:
            counts.setdefault((row["M"], row["N"], row["K"]), []).append((row["condition"], row["repeats"]))
    for count in counts.values():
        assert {condition for condition, _ in count} == set(conditions.CONDITIONS)
        assert len({repeats for _, repeats in count}) == 1


def test_a_dirty_l2_makes_memory_slower_for_the_next_kernel():
    read, written = recordings.raw("NVIDIA H200", conditions.SUITE)["roofs"]
    assert written["median_ms"] > 1.2 * read["median_ms"]
    assert f"{1e3 * written['median_ms']:.1f} µs instead of" in dict(objections.table().rows)["The L2 was flushed."]


def test_the_best_of_all_algorithms_is_no_slower_than_the_named():
    rows = recordings.raw("NVIDIA H200", "algorithms")["rows"]
    large = [row for row in rows if (row["M"], row["N"], row["K"]) in conditions.CLASSES[conditions.LARGE]]
    beside = [row["named by the heuristic"]["median_ms"] / row["fastest"]["median_ms"] for row in large]
    best = objections.best_algorithms()
    assert len(best.each) == 4 and all(ratio <= named for ratio, named in zip(best.each, beside, strict=True))
    assert f"{best.mean:.2f} at the large ones" in dict(objections.table().rows)["cuBLAS guesses."]


def test_sustained_speed_is_given_with_its_clock_and_watts():
    ours = objections.at_work(conditions.FASTEST, "sustained")
    said = dict(objections.table().rows)["A burst, on what data?"]
    assert f"{ours.tflops:.1f} TFLOPS" in said and f"{ours.watts:.0f} W" in said
    assert ours.per_joule == pytest.approx(1e3 * ours.tflops / ours.watts)
