"""Notebook 12's lanes: a map that leaves loads merged is answered by the load, the half of the warp and the partner."""

from __future__ import annotations

import re

import pytest

from helpers import exercises
from helpers.exercises import n12
from helpers.exercises.framework import exercise, judge
from helpers.run import simulated

UNMERGED = exercises.get("unmerged_lanes")
ROW, COLUMN = "lane / 4 % 4 ^ (lane ^ lane / 2) % 2", "lane % 4 + lane / 16 * 4"


def with_map(row: str, column: str = COLUMN) -> str:
    """The solution with another lane map."""
    return UNMERGED.solved.replace(ROW, row).replace(COLUMN, column)


@pytest.mark.parametrize(
    ("row", "column", "lanes", "partner", "loaded"),
    [
        ("lane / 4 % 4 ^ lane / 2 % 2", COLUMN, "0 to 31", 1, "As[k][row]"),
        ("lane / 4 % 4 ^ (lane < 16 ? (lane ^ lane / 2) % 2 : 0)", COLUMN, "16 to 31", 1, "As[k][row]"),
        ("lane / 4 % 4 ^ (lane < 16 ? 0 : (lane ^ lane / 2) % 2)", COLUMN, "0 to 15", 1, "As[k][row]"),
        ("lane % 4 ^ lane / 4 % 2", "lane / 4", "0 to 31", 1, "Bs[k][col]"),
        ("lane / 2 % 4 ^ lane % 2", "lane / 8 * 2 + lane % 2", "0 to 31", 2, "Bs[k][col]"),
    ],
)
def test_unforeseen_map_is_answered_by_its_merged_load_and_lanes(row, column, lanes, partner, loaded):
    source = with_map(row, column)
    verdict = UNMERGED.check(source)
    assert verdict.passed is False
    line, lanes_said = re.search(r"Clue: The load in line (\d+) is merged for lanes (.*)", verdict.sentence).groups()
    assert loaded in source.splitlines()[int(line) - 1]
    assert lanes_said.startswith(f"{lanes}: each lane i of them reads what lane i ^ {partner} reads.")


def test_padding_that_saves_wavefronts_is_no_waste():
    padded, deep = (UNMERGED.solved.replace("As[BK][BM]", room) for room in ("As[BK][BM + 4]", "As[BK + 1][BM]"))
    own, wasteful, course = (
        judge.measured(simulated(source, UNMERGED.problem.entry), UNMERGED.problem, UNMERGED.judged)
        for source in (padded, deep, UNMERGED.solved)
    )
    assert exercise._more_shared(own, course) == ""
    said = "A block takes 4\u202f352 bytes of shared memory, and one of the course's solution 4\u202f096."
    assert exercise._more_shared(wasteful, course) == said  # no word on what would do: more stages need more room


def test_any_map_without_a_merged_load_is_accepted():
    assert UNMERGED.check(with_map("lane % 4", "(lane / 4 + lane % 4) % 8")).passed is True


@pytest.mark.parametrize(
    ("order", "asked"),
    [
        (
            [(y, x) for y in (0, 2, 4, 6, 1, 3, 5, 7) for x in range(4)],
            "the first one at FMA 0, .*: it asks the even bank for 3 registers at once",
        ),
        ([(y, x) for x in (3, 2, 1, 0) for y in range(8)], "FMA 1, .*: it asks the odd bank for 2 .* still owes one"),
    ],
)
def test_unforeseen_order_is_answered_by_the_bank_that_stops_it(order, asked):
    verdict = exercises.get("fma_order").check(lambda: order)
    assert verdict.passed is False and re.search(asked, verdict.sentence) and "Why" not in verdict.sentence


@pytest.mark.parametrize("first", [1, -1])
def test_columns_back_and_forth_are_named_from_either_end(first):
    order = [(y, x) for x in range(4) for y in range(8)[:: -first if x % 2 else first]]
    assert "Why: Back and forth along the columns" in exercises.get("fma_order").check(lambda: order).sentence


def test_what_is_no_list_of_pairs_is_no_error_of_the_function():
    for answer in (5, list(range(32)), [(number / 4, number % 4) for number in range(32)], [([0], 0)]):
        sentence = exercises.get("fma_order").check(lambda answer=answer: answer).sentence
        assert sentence.endswith("no list of pairs (y, x) of whole numbers.")


def test_rows_turned_on_the_right_lose_cycles_at_their_turns():
    order = next(wrong for wrong, _ in n12.MISTAKES if wrong.name == "turns_on_the_right")()
    lost = [number for number, step in enumerate(n12.steps_of(n12.fmas_of(order))) if step.lost]
    assert lost[0] == 0 and {number % 4 for number in lost[1:]} == {0} and len(lost) == 8
