"""The two banks of registers: what FMAs read from them, a queue for each, and what is written to them, cycle by cycle.

Both pictures are of a model (`helpers.pictures.register_file.model`, `helpers.pictures.register_file.write_port`), and
say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.register_file.model import REUSE_A, REUSE_B, Fma, Step
from helpers.pictures.register_file.write_port import EVEN, ODD, Cycle

BANKS = ("even bank", "odd bank")

# CSS pixels of the queues
CODE, AT_HAND, QUEUES, LOST = 46.0, 344.0, (470.0, 652.0), 834.0
TOP, ROW, BOX, BOX_HEIGHT, DEBT = 96.0, 19.0, 42.0, 15.0, 11.0
SHOWN = 32  # rows at most

# CSS pixels of the write ports
PORT_LEFT, PORT_CELL, PORT_ROW, PORT_GAP, PORT_TOP = 118.0, 46.0, 30.0, 74.0, 92.0


def queues_figure(fmas: Sequence[Fma], steps: Sequence[Step], title: str) -> theme.Figure:
    """FMAs as machine code, a row each; beside each the registers that it reads, under the bank that delivers them,
    what that bank then still owes, and the cycles lost. ValueError without any, or for more than SHOWN."""
    if not 1 <= len(fmas) <= SHOWN or len(fmas) != len(steps):
        raise ValueError(f"The picture shows 1 to {SHOWN} FMAs with a step each; given {len(fmas)} and {len(steps)}.")
    drawn, axes = page.page(TOP + ROW * len(fmas) + 8, title, caption(steps), 2)
    with theme.style():
        page.legend(axes, 46, [page.Key(theme.A, "a"), page.Key(theme.B, "b"), page.Key(theme.C, "sum"),
                               page.Key(theme.TROUBLE, "still owed")])  # fmt: skip
        page.text(axes, page.WIDTH - page.MARGIN, 46, "time ↓, a model", ha="right")
        for x, words in ((CODE, "machine code"), (AT_HAND, "at hand"), *zip(QUEUES, BANKS, strict=True)):
            page.text(axes, x, TOP - 14, words, color=theme.INK)
        page.text(axes, page.WIDTH - page.MARGIN, TOP - 14, "lost", ha="right", color=theme.INK)
        for number, (before, fma, step) in enumerate(zip([None, *fmas], fmas, steps, strict=False)):
            queue_row(axes, TOP + number * ROW, number, before, fma, step)
    return drawn


def caption(steps: Sequence[Step]) -> str:
    """'32 FMAs lose 7 cycles to the banks: 1.22 cycles each (model).'"""
    lost = sum(step.lost for step in steps)
    sentence = f"{theme.plural(len(steps), 'FMA')} {'loses' if len(steps) == 1 else 'lose'} "
    return (
        sentence
        + f"{theme.plural(lost, 'cycle') if lost else 'no cycle'} to the banks: "
        + (f"{1 + lost / len(steps):.2f} cycles for each of them (a model, with one cycle of slack).")
    )


def queue_row(axes: Axes, top: float, number: int, before: Fma | None, fma: Fma, step: Step) -> None:
    """One FMA: its number and its text, and the registers that it reads, under what delivers them. before: the FMA
    before it, whose registers may be at hand."""
    middle = top + ROW / 2
    if step.lost:
        page.fill(axes, page.boxes(page.MARGIN, top, page.WIDTH - 2 * page.MARGIN, ROW), "#FBE9E5")
    page.text(axes, CODE - 8, middle, number, ha="right")
    page.text(axes, CODE, middle, fma.text, color=theme.INK, family="DejaVu Sans Mono", size=8.5)
    kept = before.keep if before else 0
    held = {0: kept & REUSE_A and before.a == fma.a, 1: kept & REUSE_B and before.b == fma.b} if before else {}
    places = {EVEN: QUEUES[EVEN], ODD: QUEUES[ODD], None: AT_HAND}
    for position, (register, colour) in enumerate(((fma.a, theme.A), (fma.b, theme.B), (fma.sum, theme.C))):
        where = None if held.get(position) else register % 2
        box = page.boxes(places[where], middle - BOX_HEIGHT / 2, BOX, BOX_HEIGHT)
        if where is None:
            page.outline(axes, box, colour, 1.2)
        else:
            page.fill(axes, box, colour)
        ink = theme.ON_B if colour == theme.B and where is not None else theme.PAPER if where is not None else theme.INK
        page.text(axes, places[where] + BOX / 2, middle, f"R{register}", ha="center", color=ink, size=8.5)
        places[where] += BOX + 3
    for bank in (EVEN, ODD):
        for waiting in range(step.behind[bank]):
            x = QUEUES[bank] + 3 * (BOX + 3) + waiting * (DEBT + 2)
            page.fill(axes, page.boxes(x, middle - DEBT / 2, DEBT, DEBT), theme.TROUBLE)
    if step.lost:
        page.text(axes, page.WIDTH - page.MARGIN - 8, middle, f"+{step.lost}", ha="right", color=theme.INK,
                  weight="bold", size=theme.TEXT)  # fmt: skip


def ports_figure(panels: Sequence[tuple[str, Sequence[Cycle]]], title: str) -> theme.Figure:
    """The write ports of both banks in several situations under each other. ValueError without any.

    panels: the words above each, and its cycles.
    """
    if not panels:
        raise ValueError("There is no situation to draw: give at least one.")
    height = PORT_TOP + len(panels) * (2 * PORT_ROW + PORT_GAP) - 30
    drawn, axes = page.page(height, title, ports_caption(panels), 2)
    with theme.style():
        page.legend(axes, 46, [page.Key(theme.C, "the sum of an FMA"), page.Key(theme.A, "a register that is loaded"),
                               page.Key(theme.TROUBLE, "an FMA that has to wait")])  # fmt: skip
        for number, (words, cycles) in enumerate(panels):
            _ports(axes, PORT_TOP + number * (2 * PORT_ROW + PORT_GAP), words, cycles)
    return drawn


def ports_caption(panels: Sequence[tuple[str, Sequence[Cycle]]]) -> str:
    """'FMAs lose 2 cycles (merged) and no cycle (not merged). It is a model …'"""
    parts = []
    for words, cycles in panels:
        waits = sum(cycle.waits is not None for cycle in cycles)
        parts.append(f"{theme.plural(waits, 'cycle') if waits else 'no cycle'} ({words[0].lower()}{words[1:]})")
    return f"FMAs lose {' and '.join(parts)}. It is a model, in which each bank takes one write per cycle."


def _ports(axes: Axes, top: float, words: str, cycles: Sequence[Cycle]) -> None:
    page.text(axes, page.MARGIN, top - 14, words, color=theme.INK, size=theme.TEXT, weight="bold")
    cell = min(PORT_CELL, (page.WIDTH - page.MARGIN - PORT_LEFT) / len(cycles))
    size, mark = (theme.SMALL, "#") if cell == PORT_CELL else (7.5, "")
    right = PORT_LEFT + len(cycles) * cell
    for bank, name in enumerate(BANKS):
        middle = top + (bank + 0.5) * PORT_ROW
        page.text(axes, PORT_LEFT - 10, middle, name, ha="right", color=theme.INK)
        edges = [(PORT_LEFT + n * cell, top + bank * PORT_ROW) for n in range(len(cycles) + 1)]
        page.lines(axes, [[(x, y), (x, y + PORT_ROW)] for x, y in edges], theme.FAINT, 0.8)
    for line in range(3):
        page.lines(axes, [[(PORT_LEFT, top + line * PORT_ROW), (right, top + line * PORT_ROW)]], theme.MUTED, 0.8)
    for number, cycle in enumerate(cycles):
        x = PORT_LEFT + number * cell
        if cycle.fma is not None and cycle.bank is not None:
            _written(axes, x, top, cycle.bank, theme.C, f"{mark}{cycle.fma}", cell, size)
        for bank, register in cycle.returned:
            _written(axes, x, top, bank, theme.A, "xyzw"[register], cell, size)
        page.text(axes, x + cell / 2, top + 2 * PORT_ROW + 10, number, ha="center", size=size)
        if cycle.waits is not None:
            page.outline(axes, page.boxes(x + 2, top + 2, cell - 4, 2 * PORT_ROW - 4), theme.TROUBLE, 2.0)
            page.text(axes, x + cell / 2, top + 2 * PORT_ROW + 26, f"{mark}{cycle.waits}", ha="center",
                      color=theme.TROUBLE, weight="bold", size=size)  # fmt: skip
    if any(cycle.waits is not None for cycle in cycles):
        page.text(axes, PORT_LEFT - 10, top + 2 * PORT_ROW + 26, "has to wait", ha="right", color=theme.TROUBLE)
    page.text(axes, PORT_LEFT - 10, top + 2 * PORT_ROW + 10, "clock cycle", ha="right")


def _written(axes: Axes, x: float, top: float, bank: int, colour: str, words: str, cell: float, size: float) -> None:
    gap = min(3.0, cell / 10)
    page.fill(axes, page.boxes(x + gap, top + bank * PORT_ROW + 4, cell - 2 * gap, PORT_ROW - 8), colour)
    page.text(axes, x + cell / 2, top + (bank + 0.5) * PORT_ROW, words, ha="center", color=theme.PAPER, size=size)
