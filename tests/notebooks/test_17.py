"""Notebook 17: its tree by hand and its claims are those of its kernels and recordings."""

import re

import numpy as np
import pytest

from helpers import exercises
from helpers.exercises import n17, smallest
from helpers.exercises.n17.matrices import BM, THREADS
from helpers.pictures.pairs import facts
from tests.notebooks.support import H200, linked_terms, prose, sources

RECORDED = smallest.recorded()


def test_it_links_the_term_that_it_explains_to_the_glossary():
    assert "fusing" in linked_terms("17")


def by_hand() -> list[list[tuple[float, int]]]:
    """The lines of the table of step 3, each a list of (value, place)."""
    (text,) = re.findall(r"```text\n(lane .*?)```", "\n".join(sources("17", "markdown")), re.DOTALL)
    return [[(float(v), int(at)) for v, at in re.findall(r"(\d+) at (\d+)", line)] for line in text.splitlines()[1:]]


def test_the_tree_by_hand_takes_what_it_shows():
    first, second, *steps = by_hand()
    lanes = [facts.two_of((left,), (other,)) for left, other in zip(first, second, strict=True)]
    assert lanes == list(zip(first, second, strict=True)), "the smaller one stands first"
    for offset, rows in ((2, steps[:2]), (1, steps[2:])):
        lanes = [facts.two_of(lanes[lane], lanes[lane + offset]) for lane in range(offset)]
        assert [list(row) for row in zip(*lanes, strict=True)] == rows


def test_the_answer_of_the_try_it_follows_the_rules():
    assert "3 at 2 and 3 at 4" in prose("17")
    assert facts.two_of(((3.0, 4), (3.0, 9)), ((3.0, 2),)) == ((3.0, 2), (3.0, 4))


def test_the_tile_of_the_checks_is_that_of_the_given_product():
    header = n17.given("product.cuh").source
    assert f"#define BM {BM} " in header and f"#define THREADS {THREADS} " in header


@pytest.mark.parametrize(("condition", "passes"), [("w < v || w == v", False), ("!(w >= v)", True)])
def test_a_nan_falls_out_of_the_first_question_alone(condition, passes):
    w, v = np.float32(np.nan), np.float32(1)
    assert {"w < v || w == v": bool(w < v or w == v), "!(w >= v)": not w >= v}[condition] is passes
    assert "Write the same as `!(w >= v)`, and every NaN wins" in prose("17")


def test_two_lines_of_atomics_keep_the_two_smallest_in_any_order():
    assert "atomicMin(&best[1], max(old, key));" in "\n".join(sources("17", "markdown"))
    keys = np.random.default_rng(17).permutation(50)
    for turn in range(20):
        best = [2**64 - 1, 2**64 - 1]
        for key in np.roll(keys, turn).tolist():
            old, best[0] = best[0], min(best[0], key)
            best[1] = min(best[1], max(old, key))
        assert best == [0, 1]


def test_places_above_32_bits_were_verified_on_the_gpu():
    rows = smallest.recordings.raw(H200.name, smallest.SUITE)["verified"]
    assert max(row["M"] * row["N"] for row in rows) > 2**32


def test_the_table_says_what_the_prose_says():
    large = RECORDED.at(4096)
    assert large.ratio(smallest.FUSED) <= 1.03 and large.ratio(smallest.TWO_KERNELS) < 1.02
    ratios = [timed.ratio(smallest.TWO_KERNELS, smallest.FUSED) for timed in RECORDED.timed]
    assert all(ratio > 1 for ratio in ratios) and max(ratios[2:]) > max(ratios[:2])
    assert "in every row the fused kernel takes longer than the product alone" in prose("17")
    assert all(timed.ratio(smallest.FUSED) > 1 for timed in RECORDED.timed)


def test_all_steps_have_our_solution_to_go_on_with():
    assert [exercises.get(step.name) for step in n17.STEPS] == list(n17.STEPS)
    assert len(n17.stages().rows) == 4
