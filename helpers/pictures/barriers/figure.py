"""Picture 4b: two threads, one word of shared memory, and what a barrier between them decides.

Time runs to the right, a row is a thread. Above, the barrier is there: one of the two waits. Below it is missing: the
order that nothing forbids, in which the later thread of the two comes first.
"""

from __future__ import annotations

from matplotlib.axes import Axes

from gpusim.devices import WARP
from helpers.pictures import page, theme
from helpers.pictures.tile_phases.facts import Race

Dims = tuple[int, int, int]

# CSS pixels; y runs down
LANE_X, LANE_RIGHT = 216.0, 878.0
LANE_STEP, LANE = 46.0, 30.0
MEANT_Y, MISSING_Y = 58.0, 218.0
BOX, GAP = 170.0, 16.0
LATE_X = 372.0  # where the slow thread begins
BARRIER_X = LATE_X + BOX + GAP
LOADS = "#D5DEE8"
MULTIPLIES = "#E9EDF1"
TIME_Y, CODE_Y, CODE_X, CODE_STEP = 392.0, 446.0, 264.0, 26.0
HEIGHT = 510.0
CODE_SIZE, CODE_LETTERS = 10.5, 76


def race_figure(race: Race, name: str, block: Dims, phase: int = 0) -> theme.Figure:
    """The two orders. name: of the kernel.  block: its threads along x, y, z.  phase: of the loop, from 0."""
    drawn, axes = page.page(HEIGHT, f"{race.element}: {name}", caption(race), 2)
    with theme.style():
        _meant(axes, race, block, phase)
        _missing(axes, race, block, phase)
        page.arrow(axes, (LANE_X, TIME_Y), (LANE_RIGHT, TIME_Y), theme.MUTED)
        page.text(axes, LANE_X - 10, TIME_Y, "time", color=theme.MUTED, ha="right")
        _code(axes, race)
    return drawn


def caption(race: Race) -> str:
    """'Without the first __syncthreads(), thread (0, 15) may read Bs[0][0] (line 21) before …'"""
    writer, reader = theme.index(race.write_thread), theme.index(race.read_thread)
    if race.overwrites:
        what = (
            f"thread {writer} may store the next tile's float in {race.element} (line {race.write_line}) before thread "
            f"{reader} has read this tile's (line {race.read_line})"
        )
    else:
        what = (
            f"thread {reader} may read {race.element} (line {race.read_line}) before thread {writer} has stored it "
            f"(line {race.write_line})"
        )
    return f"Without {race.missing}, {what}: C is right or wrong by chance."


def _stages(race: Race, phase: int) -> tuple[str, str]:
    """What a thread does before the barrier, and after it."""
    loads, multiplies = "phase {}: loads", "phase {}: multiplies"
    if race.overwrites:
        return multiplies.format(phase + 1), loads.format(phase + 2)
    return loads.format(phase + 1), multiplies.format(phase + 1)


def _lane(axes: Axes, y: float, thread: Dims, block: Dims) -> None:
    (column, row, layer), (width, height, _) = thread, block
    warp = (column + width * (row + height * layer)) // WARP
    page.text(axes, page.MARGIN, y, f"thread {theme.index(thread)}, warp {warp}", color=theme.INK)
    page.fill(axes, page.boxes(LANE_X, y - 0.5, LANE_RIGHT - LANE_X, 1), theme.FAINT)


def _box(axes: Axes, left: float, y: float, words: str, colour: str) -> None:
    box = page.boxes(left, y - LANE / 2, BOX, LANE)
    page.fill(axes, box, colour)
    page.outline(axes, box, theme.MUTED, 0.8)
    page.text(axes, left + BOX / 2, y, words, color=theme.INK, ha="center")


def _at_the_end(axes: Axes, left: float, y: float, words: str, colour: str) -> None:
    """A moment near the end of a box: a bar across it, with its words above the lane."""
    x = left + BOX - 10
    page.fill(axes, page.boxes(x - 2.5, y - LANE / 2, 5, LANE), colour, label="event")
    page.text(axes, x + 3, y - LANE / 2 - 10, words, color=colour, ha="right")


def _at_the_start(axes: Axes, left: float, y: float, words: str, colour: str) -> None:
    """A moment near the start of a box, with its words below the lane."""
    x = left + 10
    page.fill(axes, page.boxes(x - 2.5, y - LANE / 2, 5, LANE), colour, label="event")
    page.text(axes, x - 3, y + LANE / 2 + 10, words, color=colour)


def _rows(axes: Axes, race: Race, block: Dims, top: float) -> tuple[float, float]:
    """The two lanes: first the thread that must come first, then the other."""
    first, second = _threads(race)
    y = top + 46
    _lane(axes, y, first, block)
    _lane(axes, y + LANE_STEP, second, block)
    return y, y + LANE_STEP


def _threads(race: Race) -> tuple[Dims, Dims]:
    return (race.read_thread, race.write_thread) if race.overwrites else (race.write_thread, race.read_thread)


def _colours(race: Race) -> tuple[str, str]:
    return (MULTIPLIES, LOADS) if race.overwrites else (LOADS, MULTIPLIES)


def _words(race: Race) -> tuple[str, str]:
    verbs = ("reads", "stores") if race.overwrites else ("stores", "reads")
    return f"{verbs[0]} {race.element}", f"{verbs[1]} {race.element}"


def _meant(axes: Axes, race: Race, block: Dims, phase: int) -> None:
    """With the barrier: the fast thread waits for the slow one."""
    early, late = _stages(race, phase)
    (before, after), (did, does) = _colours(race), _words(race)
    title = f"With {race.missing}: the thread that is early waits"
    page.text(axes, page.MARGIN, MEANT_Y, title, size=theme.TEXT, color=theme.INK, weight="bold")
    page.text(axes, page.WIDTH - page.MARGIN, MEANT_Y, f"block {theme.index(race.block)}", color=theme.INK, ha="right")
    slow, fast = _rows(axes, race, block, MEANT_Y)
    _box(axes, LATE_X, slow, early, before)
    _box(axes, LANE_X, fast, early, before)
    page.text(axes, (LANE_X + BOX + BARRIER_X) / 2, fast - 10, "waits", color=theme.MUTED, ha="center")
    for y in (slow, fast):
        _box(axes, BARRIER_X + GAP, y, late, after)
    _at_the_end(axes, LATE_X, slow, did, theme.INK)
    _at_the_start(axes, BARRIER_X + GAP, fast, does, theme.INK)
    page.lines(axes, [[(BARRIER_X, slow - 30), (BARRIER_X, fast + 30)]], theme.INK, 2.4, label="barrier")
    page.text(axes, BARRIER_X + 8, slow - 25, "barrier", color=theme.INK)


def _missing(axes: Axes, race: Race, block: Dims, phase: int) -> None:
    """Without it: the fast thread goes on, and comes first."""
    early, late = _stages(race, phase)
    (before, after), (did, does) = _colours(race), _words(race)
    page.text(
        axes, page.MARGIN, MISSING_Y, "Without it nobody waits, and this may happen", size=theme.TEXT,
        color=theme.TROUBLE, weight="bold",
    )  # fmt: skip
    slow, fast = _rows(axes, race, block, MISSING_Y)
    _box(axes, LATE_X, slow, early, before)
    _box(axes, LATE_X + BOX, slow, late, after)
    _box(axes, LANE_X, fast, early, before)
    _box(axes, LANE_X + BOX, fast, late, after)
    _at_the_end(axes, LATE_X, slow, f"{did}: too late", theme.TROUBLE)
    _at_the_start(axes, LANE_X + BOX, fast, f"{does}: too early", theme.TROUBLE)


def _code(axes: Axes, race: Race) -> None:
    """The two lines, in the order in which they must come."""
    page.lines(axes, [[(page.MARGIN, CODE_Y - 24), (page.WIDTH - page.MARGIN, CODE_Y - 24)]], theme.FAINT, 0.8)
    writes = (race.write_thread, "stores", race.write_line, race.write_text)
    reads = (race.read_thread, "reads", race.read_line, race.read_text)
    for number, (thread, verb, line, source) in enumerate((reads, writes) if race.overwrites else (writes, reads)):
        y = CODE_Y + number * CODE_STEP
        page.text(axes, page.MARGIN, y, f"thread {theme.index(thread)} {verb}, line {line}", color=theme.INK)
        code = theme.cut(source.split("//")[0].strip(), CODE_LETTERS, CODE_SIZE)
        page.text(axes, CODE_X, y, code, color=theme.INK, family="DejaVu Sans Mono", size=CODE_SIZE)
