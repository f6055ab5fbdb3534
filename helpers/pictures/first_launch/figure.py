"""Which thread writes which element of an array, and who has nothing to do? The picture of notebook 00.

Above, all threads of the launch, block beside block; below, the array. A line joins a thread to the element it wrote,
as recorded. Threads that wrote nothing are hatched grey, elements that were not written are hatched in orange.
Lines have the colour of their thread's block, so that one sees who else writes an element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from gpusim.sentences import BadInput
from helpers.pictures import marks, page, theme
from helpers.pictures.first_launch.facts import Strip
from helpers.pictures.thread_map.figure import TINTS

MOST = 64  # threads or elements side by side: more could not be told apart
AT_ONCE = 4
HEAD, STRIP = 74.0, 158.0  # CSS pixels
THREADS_Y, ELEMENTS_Y, BOX_HEIGHT = 40.0, 106.0, 24.0  # from the top of a strip
LEFT = 92.0
NUMBER_WIDTH, NUMBER_HEIGHT = 17.0, 14.0
NUMBER_SIZE = 11.0  # pixels
ELEMENT_TINT = "#BBD9EC"  # of theme.A
LINES = (theme.A, theme.WARP, theme.SPEED)  # of block 0, 1, 2, and again
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEAD + STRIP, CAPTION_LINES)


def strips_figure(strips: Sequence[Strip], title: str) -> theme.Figure:
    """One to four launches, one below the other, on one scale."""
    if not 1 <= len(strips) <= AT_ONCE:
        raise ValueError(f"Between 1 and {AT_ONCE} launches fit below each other, but {len(strips)} were given.")
    for strip in strips:
        if max(strip.threads, strip.elements) > MOST:
            raise BadInput(
                f"{strip.threads} threads over {theme.plural(strip.elements, 'element')}: a strip has room for {MOST}; "
                "take fewer blocks, smaller blocks or a shorter array."
            )
    longest = max(max(strip.threads, strip.elements) for strip in strips)
    step = min((page.WIDTH - LEFT - page.MARGIN) / longest, 26.0)
    sentence = caption(strips[0]) if len(strips) == 1 else _comparison(strips)
    drawn, axes = page.page(HEAD + STRIP * len(strips), title, sentence, CAPTION_LINES)
    with theme.style():
        _legend(axes, strips)
        for number, strip in enumerate(strips):
            _strip(axes, strip, HEAD + STRIP * number, step)
    return drawn


def caption(strip: Strip) -> str:
    """'3 blocks of 16 threads, 48 threads for 40 elements: 8 threads wrote nothing.'"""
    blocks = f"{theme.plural(strip.blocks, 'block')} of {theme.plural(strip.block, 'thread')}"
    threads, elements = theme.plural(strip.threads, "thread"), theme.plural(strip.elements, "element")
    return f"{blocks}, {threads} for {elements}: {_facts(strip)}."


def _comparison(strips: Sequence[Strip]) -> str:
    facts = "; ".join(f"{theme.plural(strip.blocks, 'block')} of {strip.block}: {_facts(strip)}" for strip in strips)
    return f"{facts}."


def _facts(strip: Strip) -> str:
    missed, again, idle = (int(x.sum()) for x in (strip.writers == 0, strip.writers > 1, strip.idle))
    facts = []
    if missed:
        facts.append(f"{theme.plural(missed, 'element')} {'was' if missed == 1 else 'were'} not written")
    if again:
        often = sorted(set(strip.writers[strip.writers > 1].tolist()))
        times = f"{often[0]} writes each" if len(often) == 1 else f"up to {often[-1]} writes"
        facts.append(f"{theme.plural(again, 'element')} got {times}")
    if idle:
        facts.append(f"{theme.plural(idle, 'thread')} wrote nothing")
    return " and ".join(facts) or "every thread wrote one element, and every element was written"


def _strip(axes: Axes, strip: Strip, top: float, step: float) -> None:
    threads_y, elements_y = top + THREADS_Y, top + ELEMENTS_Y
    page.text(axes, page.MARGIN, top + 8, strip.label, size=theme.TEXT, color=theme.INK, weight="bold")
    tints = np.array(TINTS)[[1, 0]][np.arange(strip.threads) // strip.block % 2]
    numbers = [n % strip.block for n in range(strip.threads)]
    written, writers = _written(strip)
    sentences = [
        f"thread {thread % strip.block} of block {thread // strip.block}: writes {_named(strip.array, written[thread])}"
        for thread in range(strip.threads)
    ]
    _row(axes, "threads", threads_y, step, numbers, tints, strip.idle, theme.WASTE, sentences)
    for block in range(strip.blocks):
        left, width = LEFT + block * strip.block * step, strip.block * step
        page.outline(axes, page.boxes(left, threads_y, width, BOX_HEIGHT), theme.INK, 1.4)
        words = f"block {block}" if width > page.text_width("block 00") else str(block)
        page.text(axes, left + width / 2, threads_y - 9, words, ha="center", color=theme.INK)
    tints = np.full(strip.elements, ELEMENT_TINT)
    _row(
        axes,
        strip.array,
        elements_y,
        step,
        range(strip.elements),
        tints,
        strip.writers == 0,
        theme.TROUBLE,
        [f"{strip.array}[{element}]: written by {_named('thread', writers[element])}" for element in writers],
    )
    paths = [
        [(LEFT + (thread + 0.5) * step, threads_y + BOX_HEIGHT + 1), (LEFT + (element + 0.5) * step, elements_y - 1)]
        for thread, element in strip.writes.tolist()
    ]
    colours = [LINES[thread // strip.block % len(LINES)] for thread, _ in strip.writes.tolist()]
    page.lines(axes, paths, colours, 0.6 if (strip.writers > 1).any() else 1.1, label="writes")


def _written(strip: Strip) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """(the elements that each thread writes, the threads that write each element)."""
    written: dict[int, list[int]] = {thread: [] for thread in range(strip.threads)}
    writers: dict[int, list[int]] = {element: [] for element in range(strip.elements)}
    for thread, element in strip.writes.tolist():
        written[thread].append(element)
        writers[element].append(thread % strip.block)
    return written, writers


def _named(name: str, numbers: Sequence[int]) -> str:
    """'A[3], A[4]', 'thread 3', or 'nothing'."""
    if name == "thread":
        return ", ".join(f"thread {number}" for number in numbers) or "no thread"
    return ", ".join(f"{name}[{number}]" for number in numbers) or "nothing"


def _row(
    axes: Axes, name: str, top: float, step: float, numbers: Sequence[int], tints: np.ndarray, bad: np.ndarray,
    trouble: str, words: Sequence[str],
) -> None:  # fmt: skip
    """Boxes side by side, a number in each; the bad ones hatched. told: what each is, for whoever points at it."""
    page.text(axes, page.MARGIN, top + BOX_HEIGHT / 2, name, color=theme.INK)
    left = LEFT + np.arange(len(tints)) * step
    # Where two numbers would touch, only some boxes have one.
    room = page.text_width(str(max(numbers, default=0)), NUMBER_SIZE / page.PIXELS_A_POINT) + 1
    boxes = page.boxes(left, top, step, BOX_HEIGHT)
    page.fill(axes, boxes[~bad], list(tints[~bad]), edge=theme.PAPER, line=1.0, label=name)
    page.hatch(axes, boxes[bad], colour=trouble, label=f"bad {name}")
    every = next(stride for stride in (1, 2, 4, 8, 16, 32) if stride * step >= room or stride == 32)
    numbered = np.array(numbers) % every == 0
    bad = bad & numbered
    wide, high = min(every * step - 2, NUMBER_WIDTH), NUMBER_HEIGHT
    middle = page.boxes(left[bad] + (step - wide) / 2, top + (BOX_HEIGHT - high) / 2, wide, high)
    page.fill(axes, middle, theme.WASTE_FILL)  # the hatching does not cross the number
    shown = [str(n) for n in np.array(numbers)[numbered]]
    page.labels(axes, shown, left[numbered] + step / 2, top + BOX_HEIGHT / 2, NUMBER_SIZE, theme.INK)
    marks.tell(axes, boxes, words)


def _legend(axes: Axes, strips: Sequence[Strip]) -> None:
    keys = [page.Key(TINTS[1], "thread, with its threadIdx.x"), page.Key(ELEMENT_TINT, "element, with its index")]
    if any(strip.idle.any() for strip in strips):
        keys.append(page.Key(theme.WASTE, "thread that wrote nothing", hatched=True))
    if any((strip.writers == 0).any() for strip in strips):
        keys.append(page.Key(theme.TROUBLE, "element that was not written", hatched=True))
    page.legend(axes, 48, keys)
