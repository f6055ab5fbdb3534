"""Who gives a value to whom, step by step? The pictures of notebook 16.

Lanes, or threads of a block, stand side by side, and each step is a row of lines from those that give to those that
take. Dark lines lead to a result that is stored; pale ones change values that nobody needs any more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from gpusim.devices import BANKS, WARP
from helpers.pictures import page, theme
from helpers.pictures.exchange.facts import Exchange, Step

# CSS pixels
LEFT, RIGHT = 110.0, 886.0
TOP, BOX, GAP = 92.0, 20.0, 40.0
NUMBERS = 11.0
APART = 4.0  # from one number to the next, at least
LEGEND_Y = 50.0
CAPTION_LINES = 2
MOST_STEPS = 7  # of the explorer, for a block of 128 threads
PALE = "#C9CED6"  # a tint of theme.SPEED
RESULT = "#B9DED5"  # a tint of theme.C
BANKS_ROOM = 92.0
FIGURE_HEIGHT = page.full_height(TOP + BOX + MOST_STEPS * (BOX + GAP) + BANKS_ROOM, CAPTION_LINES)


def exchange_figure(exchange: Exchange, title: str, *, chosen: int | None = None, whole: bool = False) -> theme.Figure:
    """All steps. chosen: the step that is drawn in purple, with the banks of its load, if it is one from shared memory.
    whole: as high as every other."""
    steps, step_of = len(exchange.steps), None if chosen is None else exchange.steps[chosen]
    banks = step_of is not None and step_of.banks is not None
    high = (MOST_STEPS if whole else steps) * (BOX + GAP)
    height = TOP + BOX + high + (BANKS_ROOM if banks or whole else 0.0) + 12
    drawn, axes = page.page(height, title, caption(exchange, chosen), CAPTION_LINES)
    width = (RIGHT - LEFT) / exchange.threads
    needed = exchange.needed()
    with theme.style():
        keys = [page.Key(theme.INK, "leads to a stored result"), page.Key(PALE, "is not needed any more")]
        keys += [page.Key(theme.WARP, f"step {chosen + 1}")] if chosen is not None else []
        page.legend(axes, LEGEND_Y, [*keys, page.Key(RESULT, "stores the result")])
        page.text(axes, page.MARGIN, TOP - 14, "thread" if exchange.threads > WARP else "lane")
        for row in range(steps + 1):
            _row(axes, exchange, row, width)
        for number, step in enumerate(exchange.steps):
            y = TOP + BOX + number * (BOX + GAP)
            page.text(axes, page.MARGIN, y + GAP / 2, step.name, color=theme.INK)
            _lines(axes, step, needed[number], y, width, number == chosen)
        if banks and step_of is not None:
            _banks(axes, step_of, TOP + BOX + steps * (BOX + GAP) + 34)
    return drawn


def caption(exchange: Exchange, chosen: int | None = None) -> str:
    """'5 steps: 16, 8, 4, 2, 1 values lead to what is stored.'; of a step who takes how many values for that."""
    if chosen is not None:
        step = exchange.steps[chosen]
        pairs, kind = exchange.needed()[chosen], "thread" if exchange.threads > WARP else "lane"
        takers = len({taker for _, taker in pairs})
        given = f"{theme.plural(len(pairs), 'value')} from {'another' if len(pairs) == 1 else 'others'}"
        cost = f" A load takes {theme.plural(step.wavefronts, 'wavefront')}." if step.wavefronts else ""
        said = f"Step {chosen + 1} of {len(exchange.steps)}: on the way to the result "
        said += f"{theme.plural(takers, kind)} {'takes' if takers == 1 else 'take'} {given}.{cost}"
        return said
    counts = ", ".join(str(len(pairs)) for pairs in exchange.needed())
    worst = max(step.wavefronts for step in exchange.steps)
    cost = f" The most expensive load takes {theme.plural(worst, 'wavefront')}." if worst else ""
    return f"{theme.plural(len(exchange.steps), 'step')}: {counts} values lead to what is stored.{cost}"


def _row(axes: Axes, exchange: Exchange, row: int, width: float) -> None:
    """The threads in front of step `row`, or behind the last one."""
    y = TOP + row * (BOX + GAP)
    left = LEFT + np.arange(exchange.threads) * width
    last = row == len(exchange.steps)
    colours = [RESULT if last and thread in exchange.keep else theme.WASTE_FILL for thread in range(exchange.threads)]
    page.fill(axes, page.boxes(left, y, width, BOX), colours, edge=theme.PAPER, line=0.6, label="threads")
    every = next(step for step in (1, 2, 4, 8, 16, 32) if step * width >= (20 if exchange.threads <= WARP else 36))
    shown = np.arange(0, exchange.threads, every)
    numbers, room = [str(n) for n in shown], every * width - APART
    page.labels(axes, numbers, left[shown] + width / 2, y + BOX / 2, NUMBERS, theme.INK, room=room)


def _lines(axes: Axes, step: Step, needed: set[tuple[int, int]], y: float, width: float, chosen: bool) -> None:
    for wanted in (False, True):
        pairs = [pair for pair in step.pairs if (pair in needed) == wanted]
        paths = [[(LEFT + (giver + 0.5) * width, y + 1), (LEFT + (taker + 0.5) * width, y + GAP - 1)]
                 for giver, taker in pairs]  # fmt: skip
        colour = PALE if not wanted else theme.WARP if chosen else theme.INK
        page.lines(axes, paths, colour, 1.6 if chosen and wanted else 0.9, label="needed" if wanted else "not needed")


def _banks(axes: Axes, step: Step, y: float) -> None:
    """How many different words of each bank the most expensive load of the step wants."""
    width = (RIGHT - LEFT) / BANKS
    assert step.banks is not None
    left = LEFT + np.arange(BANKS) * width
    colours = [theme.WASTE_FILL if n == 0 else RESULT if n == 1 else theme.TROUBLE for n in step.banks]
    page.text(axes, page.MARGIN, y - 14, "words that the most expensive load wants from each bank", color=theme.INK)
    page.text(axes, page.MARGIN, y + BOX / 2, "bank 0 … 31")
    page.fill(axes, page.boxes(left, y, width, BOX), colours, edge=theme.PAPER, line=0.6, label="banks")
    for many in (False, True):
        shown = [n for n in range(BANKS) if step.banks[n] and (step.banks[n] > 1) == many]
        ink = theme.ink_on(theme.TROUBLE if many else RESULT)
        numbers = [str(step.banks[n]) for n in shown]
        page.labels(axes, numbers, left[shown] + width / 2, y + BOX / 2, NUMBERS, ink, room=width - APART)


# --- one shuffle, with a mask

MASKED_HEIGHT = page.full_height(TOP + 2 * BOX + 110 + 20, CAPTION_LINES)


def shuffle_figure(
    giver: Sequence[int], named: np.ndarray, absent: np.ndarray, title: str, caption: str
) -> theme.Figure:
    """Who gives in one shuffle.

    named: (32,) lanes of the mask.  absent: (32,) those that take from a lane which it does not name.
    """
    drawn, axes = page.page(TOP + 2 * BOX + 130, title, caption, CAPTION_LINES)
    width, below = (RIGHT - LEFT) / WARP, TOP + BOX + 110
    left = LEFT + np.arange(WARP) * width
    own = np.asarray(giver) == np.arange(WARP)
    with theme.style():
        keys = [page.Key(theme.INK, "gets another lane's value"), page.Key(RESULT, "keeps its own")]
        keys.append(page.Key(theme.TROUBLE, "asks a lane that is not there"))
        page.legend(axes, LEGEND_Y, [*keys, page.Key(theme.WASTE, "not in the mask", hatched=True)])
        for y, name in ((TOP, "gives"), (below, "takes")):
            page.text(axes, page.MARGIN, y + BOX / 2, f"lane, {name}", color=theme.INK)
            boxes = page.boxes(left, y, width - 1, BOX)
            takes = y == below
            tints = [theme.TROUBLE if takes and absent[n] else RESULT if takes and own[n] else theme.WASTE_FILL
                     for n in range(WARP)]  # fmt: skip
            page.fill(axes, boxes[named], [tints[n] for n in np.flatnonzero(named)], label=name)
            page.hatch(axes, boxes[~named], label="not in the mask")
            for there in (True, False):
                shown = [n for n in np.flatnonzero(named) if (tints[n] == theme.TROUBLE) != there]
                ink = theme.INK if there else theme.ink_on(theme.TROUBLE)
                numbers, x = [str(n) for n in shown], left[shown] + width / 2 - 0.5
                page.labels(axes, numbers, x, y + BOX / 2, NUMBERS, ink, room=width - APART)
        for there in (True, False):
            takers = [n for n in np.flatnonzero(named & ~own) if bool(absent[n]) != there]
            paths = [[(left[giver[n]] + width / 2, TOP + BOX + 2), (left[n] + width / 2, below - 2)] for n in takers]
            page.lines(axes, paths, theme.INK if there else theme.TROUBLE, 1.2, label="takes")
    return drawn
