"""Exercises of notebook 12, the register file: an order in which no bank falls behind, and lanes that do not merge."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpusim.compiler.patch import Fma
from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.functions import FunctionExercise, Version
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import PortsOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import WrongValue
from helpers.measure import registers
from helpers.measure.registers import NO_REUSE, PATTERNS, cycles_of
from helpers.pictures import theme
from helpers.pictures.bars import Bar, gflops_figure
from helpers.pictures.register_file.figure import ports_figure, queues_figure
from helpers.pictures.register_file.model import Step, asked_of, in_order, queue
from helpers.pictures.register_file.write_port import cycles

# --- the patch whose FMAs are put in order: registers as a compiler hands them out, one float4 after the other

ROWS, COLUMNS = 8, 4
A_REGISTERS = tuple(range(48, 48 + ROWS))  # a[y], from R48 on
B_REGISTERS = tuple(range(56, 56 + COLUMNS))  # b[x], from R56 on
SUM_REGISTERS = tuple(tuple(16 + COLUMNS * y + x for x in range(COLUMNS)) for y in range(ROWS))  # from R16 on

Order = Sequence[tuple[int, int]]


def fmas_of(order: Order) -> tuple[Fma, ...]:
    """The FMAs of the patch in an order of (y, x), with what stays at hand marked as the compiler does it."""
    return in_order((A_REGISTERS[y], B_REGISTERS[x], SUM_REGISTERS[y][x]) for y, x in order)


def steps_of(fmas: Sequence[Fma]) -> tuple[Step, ...]:
    """What the two banks do with FMAs."""
    return queue(asked_of(fma.text for fma in fmas))


def show_order(order: Order, title: str = "Your order, in the two queues") -> theme.Figure:
    """The picture of an order."""
    fmas = fmas_of(order)
    return queues_figure(fmas, steps_of(fmas), title)


def row_by_row() -> list[tuple[int, int]]:
    """The order in which two nested loops multiply."""
    return [(y, x) for y in range(ROWS) for x in range(COLUMNS)]


# --- predictions


def predict_without_reuse() -> Prediction:
    """The speed of the course's fastest kernel with a part of its machine code cleared, as recorded."""
    before, after = (registers.recorded("stream_k", change) for change in (registers.AS_COMPILED, NO_REUSE))
    lost = 1 - after.tflops / before.tflops
    options = {
        "none of it": "Then the marks would be of no use, and the compiler would not set thousands of them.",
        "a tenth": "It is more: without the marks nearly every FMA reads three registers.",
        "a third": "Nearly every FMA now reads three registers, from two banks, and that takes more than a cycle.",
        "two thirds": "That would be three cycles for each FMA, one for each register. But there are two banks.",
    }
    answer = min(zip(options, (0, 0.1, 1 / 3, 2 / 3), strict=True), key=lambda pair: abs(pair[1] - lost))[0]
    bars = {"with its marks": before, "without marks": after}
    return predict(
        "Clear all marks. How much of its speed does the kernel lose?",
        options,
        answer,
        picture=lambda: _bars(bars, "stream_k at 4096³, the same bits of C"),
    )


IN_TURN = "in one bank, the banks in turn"


def predict_in_turn() -> Prediction:
    """Cycles per FMA if each asks one bank for two operands, the even one and the odd one in turn, as measured."""
    options = {
        1.0: "Each bank is asked for two operands every second cycle: one per cycle, which is what it delivers.",
        1.5: "That is what two and two FMAs in a row from one bank take.",
        2.0: "That is what it takes if all of them ask the same bank. Here the other bank has time to catch up.",
        3.0: "Three cycles would be three operands from one bank, each time.",
    }
    answer = min(options, key=lambda cycles: abs(cycles - cycles_of(IN_TURN)))
    pattern = PATTERNS[IN_TURN][:8]
    return predict(
        "Cycles per FMA, if all FMAs ask one bank for two operands, the even one and the odd one in turn:",
        options,
        answer,
        picture=lambda: queues_figure(pattern, steps_of(pattern), "The banks in turn: each catches up in time"),
    )


def predict_unmerged() -> Prediction:
    """What twice the wavefronts do to the course's fastest kernel, as recorded."""
    merged, unmerged = (registers.recorded(name) for name in ("stream_k", "stream_k, unmerged lanes"))
    gain = unmerged.tflops / merged.tflops - 1
    options = {
        "slower, by some 10 %": "Shared memory has twice the work. But it was busy for two fifths of the time only.",
        "as fast as before": "That is what wavefronts say: shared memory was not the limit, and is not now.",
        "faster, by some 3 %": "Each load returns one register per cycle, and fewer FMAs are stopped.",
    }
    answer = list(options)[0 if gain < -0.02 else 1 if gain < 0.015 else 2]
    return predict(
        "The lanes of the same kernel are renumbered, so that each load takes four wavefronts, not two. It becomes:",
        options,
        answer,
        picture=ports_picture,
    )


def predict_own() -> Prediction:
    """What the same change does to the small kernel of step 9, as recorded."""
    zigzag, unmerged = (registers.recorded(name, kind="own") for name in ("zigzag", "unmerged"))
    gain = unmerged.tflops / zigzag.tflops - 1
    options = {
        "faster": "The write ports are free now. But what do the loads cost shared memory?",
        "as fast as before": "A kernel whose warps seldom wait for shared memory might be. These do wait for it.",
        "slower": "For 32 FMAs of a warp it needs 12 wavefronts, and the warps wait for shared memory.",
    }
    answer = list(options)[0 if gain > 0.015 else 2 if gain < -0.02 else 1]
    bars = {name: registers.recorded(name, kind="own") for name in ("row by row", "zigzag", "unmerged")}
    return predict(
        "Your kernel with unmerged lanes, compared with the zigzag, on an H200:",
        options,
        answer,
        picture=lambda: _bars(bars, "The kernel of step 9 at 4096³, with three lane maps"),
    )


def _bars(rows: Mapping[str, registers.Changed], title: str) -> theme.Figure:
    """Recorded speeds, one bar for each name."""
    return gflops_figure([Bar(name, 1000 * row.tflops) for name, row in rows.items()], title, registers.label())


LOAD_AT, SHOWN_FMAS = 4, 14


def ports_picture() -> theme.Figure:
    """One load between FMAs whose sums go to the two banks in turn, merged and not."""
    banks = [number % 2 for number in range(SHOWN_FMAS)]
    names = {"Merged, two registers per cycle": True, "Not merged, one register per cycle": False}
    panels = [(name, cycles(banks, {LOAD_AT: merged})) for name, merged in names.items()]
    return ports_figure(panels, "What a 128-bit load returns meets what FMAs write")


def one_bank_picture() -> theme.Figure:
    """The same two loads between FMAs whose sums all go to one bank: the prediction that could refute the model."""
    names = {"Merged, all sums in the even bank": True, "Not merged, all sums in the even bank": False}
    panels = [(name, cycles([0] * (SHOWN_FMAS - 1), {LOAD_AT: merged})) for name, merged in names.items()]
    return ports_figure(panels, "The same loads, and every sum in one bank")


# --- to write: an order without a wait

STARTER = Version(
    "starter",
    """def order():
    # The FMAs sums[y][x] += a[y] * b[x] of a patch of 8 rows and 4 columns. a[y] is register
    # 48 + y, b[x] is register 56 + x, sums[y][x] is register 16 + 4 * y + x.
    # Return the 32 pairs (y, x) in an order in which neither bank falls behind.
    return [(y, x) for y in range(8) for x in range(4)]""",
)
SOLVED = Version(
    "solution",
    """def order():
    found = []
    for y in range(8):
        columns = range(4) if y % 2 else range(3, -1, -1)  # the first row backwards
        found += [(y, x) for x in columns]
    return found""",
)
_TURN = ("range(4) if y % 2 else range(3, -1, -1)", "range(3, -1, -1) if y % 2 else range(4)")
_COLUMNS = "for y in range(8):\n        columns = range(4) if y % 2 else range(3, -1, -1)  # the first row backwards\n"
_ALONG_COLUMNS = (
    "Back and forth along the columns keeps a factor at the turn, but within a column a changes its bank with every "
    "row, and the sum does not."
)
MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (SOLVED.replace(name, *changes), because)
    for name, changes, because in (
        ("turns_on_the_right", [_TURN],
         "The others are lost at the turns: there the next a lies in the bank of the next sum, behind an FMA that "
         "asked that bank twice. Turn at the other end of the rows."),
        ("all_backwards", [(" if y % 2 else range(3, -1, -1)", "[::-1]")],
         "All rows run in one direction: at the start of each, a and b are both new, and three operands are read."),
        ("by_columns", [(_COLUMNS, "for x in range(4):\n"), ("(y, x) for x in columns", "(y, x) for y in range(8)")],
         "Down a column b is at hand, and a and the sum are read: from one bank in every other row, from both in the "
         "rest, so that one bank never catches up."),
        ("columns_turned", [(_COLUMNS, "for x in range(4):\n        rows = range(7, -1, -1) if x % 2 else range(8)\n"),
                            ("(y, x) for x in columns", "(y, x) for y in rows")], _ALONG_COLUMNS),
        ("columns_from_below", [(_COLUMNS, "for x in range(4):\n        rows = range(8)[:: 1 if x % 2 else -1]\n"),
                                ("(y, x) for x in columns", "(y, x) for y in rows")], _ALONG_COLUMNS),
        ("even_columns_first", [("range(4) if y % 2 else range(3, -1, -1)", "(0, 2, 1, 3)")],
         "Columns 0 and 2 are both even: two FMAs in a row ask the same bank twice, and so do columns 1 and 3."),
        ("even_rows_first", [("for y in range(8)", "for y in (0, 2, 4, 6, 1, 3, 5, 7)"), ("y % 2", "y // 2 % 2")],
         "With the even rows first, a lies in the even bank at each of their turns, and at every other turn so does "
         "the sum. Let a change its bank from row to row."),
        ("last_row_missing", [("range(8)", "range(7)")],
         "All of the last row is missing."),
        ("pairs_traded", [("(y, x) for", "(x, y) for")],
         "A pair is (y, x), the row first: y runs from 0 to 7, x from 0 to 3."),
        ("registers", [("(y, x) for", "(48 + y, 56 + x) for")],
         "Return rows and columns, not registers: y is 0 to 7, x is 0 to 3."),
    )
)  # fmt: skip
WANTED = {(y, x) for y in range(ROWS) for x in range(COLUMNS)}


def _judge_order(function: Any) -> Verdict:
    """The order that a learner's function gives: all 32 FMAs, and no cycle lost by the model."""
    if not callable(function):
        return Verdict(False, f"Give check the function itself, by its name and without brackets; found {function!r}.")
    try:
        given = function()
    except Exception as error:  # whatever a learner's function raises is answered by a sentence
        return Verdict(False, f"Your function ends with {type(error).__name__}: {error}.")
    if given is None:
        return Verdict(None, "Your function returns None: end it with return and the list.")
    try:
        order = [tuple(map(operator.index, pair)) for pair in given]
    except TypeError:
        return Verdict(False, "Your function returns no list of pairs (y, x) of whole numbers.")
    known = next((why for wrong, why in MISTAKES if wrong() == order), "")
    because = f"\nWhy: {known}" if known else ""
    strange = next((pair for pair in order if pair not in WANTED), None)
    if strange is not None:
        return Verdict(False, f"{strange!r} is no FMA of the patch: y is 0 to 7, x is 0 to 3.{because}")
    if len(set(order)) != len(order):
        twice = next(pair for pair in order if order.count(pair) > 1)
        return Verdict(False, f"{twice!r} comes more than once: each sum gets one product at each k.{because}")
    if len(order) != len(WANTED):
        first = min(WANTED - set(order))
        return Verdict(False, f"{len(order)} of the {len(WANTED)} FMAs are there; {first!r} is missing.{because}")
    fmas = fmas_of(order)
    steps = steps_of(fmas)
    lost = sum(step.lost for step in steps)
    picture = queues_figure(fmas, steps, "Your order, in the two queues")
    if order == row_by_row():
        sentence = f"These are the two nested loops: {theme.plural(lost, 'cycle')} lost. The red rows show where."
        return Verdict(None, sentence, picture)
    if not lost:
        return Verdict(True, f"All 32 FMAs in {len(order)} cycles: done, the goal is 32.", picture)
    number = next(number for number, step in enumerate(steps) if step.lost)
    at = f"the first one at FMA {number}, {fmas[number].text}: {_stopped(steps, number)}"
    took = f"All 32 FMAs in {len(order) + lost} cycles: not there yet, the goal is 32"
    return Verdict(False, f"{took}. {theme.plural(lost, 'cycle')} lost, {at}.{because}", picture)


def _stopped(steps: Sequence[Step], number: int) -> str:
    """Which bank stops an FMA, what this asks of it, and what the bank owed before."""
    before = steps[number - 1].behind if number else (0, 0)
    even, odd = (owed + new for owed, new in zip(before, steps[number].asked, strict=True))
    bank = 0 if even > odd else 1
    asked = f"it asks the {('even', 'odd')[bank]} bank for {steps[number].asked[bank]} registers"
    return f"{asked}, and from the FMAs before it that bank still owes one" if before[bank] else f"{asked} at once"


def _picture_of(function: Callable[[], Order]) -> theme.Figure:
    return show_order(function())


FMA_ORDER = FunctionExercise(
    **texts.of("12", "fma_order"),
    difficulty=2,
    variable="order",
    starter=STARTER,
    solved=SOLVED,
    because="At each turn b stays at hand, and a and the sum come from different banks. Within a row the banks take "
    "turns, and what one of them owes it delivers in the next cycle.",
    judge=_judge_order,
    wrong=tuple(WrongValue(version, because) for version, because in MISTAKES),
    picture=_picture_of,
)  # fmt: skip


# --- to write: lanes that do not merge

JUDGED = Case({"M": 64, "N": 64, "K": 16})
LOADS = 3  # of a lane at each k: two of As, one of Bs
_LANE_MAP = "lane / 4 % 4 ^ (lane ^ lane / 2) % 2"

UNMERGED_LANES = Blank(
    **texts.of("12", "unmerged_lanes", place=_LANE_MAP),
    difficulty=2,
    problem=Gemm("sgemm", (128,), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=8, TN=4), scaled=False,
                 shapes=((64, 128, 24), (128, 192, 8), (64, 64, 16))),
    picture=PortsOf(JUDGED, LOADS),
    goals=(goals.merged_loads(), goals.conflicts("ld"), goals.shared_loads_per_fma(0.10)),
    judged=JUDGED,
    wrong=(
        Wrong("row_by_row", "Row by row, lanes i and i ^ 1 share their row: both loads of As are merged."),
        Wrong("column_by_column", "Column by column, lanes i and i ^ 1 share their column: the load of Bs is merged."),
        Wrong("zigzag", "That is the zigzag of notebook 11, in which every load is merged."),
        Wrong("no_parity", "Four neighbours stand in four columns, but in one row: both loads of As are merged."),
        Wrong("lowest_bit", "Lanes i and i ^ 1 differ in row and column now, but lanes i and i ^ 2 still share their "
              "row: both loads of As are merged. Both of the lowest bits must count."),
        Wrong("two_in_one_place", "Some places have two lanes and others none: neither lane_y nor lane_x depends on "
              "bit 2 of the lane."),
        Wrong("beyond_the_tile", "lane_y runs to 7, but the warp tile has room for 4 rows of lanes and for 8 columns."),
        Wrong("places_for_patches", "lane_y and lane_x count patches, which begin TM rows and TN columns apart."),
        Wrong("warps_in_a_row", "The block's 4 warps stand in 2 rows of BN / WN = 2, not in one row of 4."),
        Wrong("no_second_barrier", "A warp that is done may load the next tiles while others still read these: a "
              "barrier belongs at the end of the loop, too."),
        Wrong("upper_half_twice", "A lane has 8 rows: the second float4 of As begins at row + 4."),
        Wrong("one_by_one", "Floats that are loaded one by one take a load each: read four at once, as a float4."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_without_reuse, predict_in_turn, predict_unmerged, predict_own)
QUESTIONS = ()
EXERCISES = (FMA_ORDER, UNMERGED_LANES)
