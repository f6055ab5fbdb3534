"""Picture 5: what stops another block from moving in?

One SM as four stacks: block slots, warp slots, registers, shared memory. Each resident block takes its share of every
stack; what nobody uses is hatched. The next block is dashed, in the colour of trouble where it overflows. Below,
occupancy against registers per thread: a staircase, and where the kernel stands on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from gpusim.devices import LaunchLimits
from gpusim.occupancy import DoesNotFit, Occupancy, occupancy
from helpers.pictures import page, theme

TINTS = ("#CBAEDA", "#E2D1EA")  # of a block: purple, for blocks are warps; neighbours differ

# CSS pixels
STACK_X, STACK_STEP, STACK_WIDTH = 28.0, 219.0, 150.0
STACK_TOP, STACK_HEIGHT, OVERFLOW = 136.0, 190.0, 22.0
LEGEND_Y = 392.0
STAIRS_TOP, STAIRS_HEIGHT = 422.0, 120.0
HEIGHT = 592.0
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)

NAMES = {"blocks": "block slots", "warps": "warps", "registers": "registers", "shared": "shared memory"}
UNITS = {"blocks": "blocks", "warps": "warps", "registers": "registers", "shared": "bytes"}
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True)
class Stack:
    """One resource of an SM. capacity: what the SM has.  each: what one block takes.  limit: blocks that fit."""

    resource: str
    capacity: int
    each: int
    limit: int

    @property
    def rest_in_pieces(self) -> bool:
        """What is left would hold another block, but not in one piece: each scheduler owns a part of the registers."""
        return (self.limit + 1) * self.each <= self.capacity


@dataclass(frozen=True)
class SmFilling:
    """An SM filled with blocks of one kernel, and how its occupancy would change with the registers per thread.

    staircase: (255,) occupancy, 0 … 1, for 1 … 255 registers per thread; 0 where no block fits.
    """

    name: str
    device: str
    threads: int
    registers: int
    shared_bytes: int
    result: Occupancy
    stacks: tuple[Stack, ...]
    staircase: np.ndarray


def filling(
    device: LaunchLimits, device_name: str, name: str, threads: int, registers: int, shared_bytes: int
) -> SmFilling:
    """The four limits of a kernel on a GPU: threads of a block, registers of a thread, shared bytes of a block.

    Raises DoesNotFit if not even one block fits.
    """
    result = occupancy(device, threads, registers, shared_bytes)
    takes = {
        "blocks": (device.blocks_per_sm, 1),
        "warps": (device.warps_per_sm, result.warps_per_block),
        "registers": (device.registers_per_sm, result.warps_per_block * result.registers_per_warp),
        "shared": (device.shared_bytes_per_sm, result.shared_bytes_per_block),
    }
    stacks = tuple(Stack(name, *takes[name], result.limits[name]) for name in NAMES)
    stairs = [_fraction(device, threads, count, shared_bytes) for count in range(1, device.registers_per_thread + 1)]
    return SmFilling(name, device_name, threads, registers, shared_bytes, result, stacks, np.array(stairs))


def _fraction(device: LaunchLimits, threads: int, registers: int, shared_bytes: int) -> float:
    try:
        return occupancy(device, threads, registers, shared_bytes).fraction
    except DoesNotFit:
        return 0.0


def occupancy_figure(data: SmFilling) -> theme.Figure:
    """The four stacks of an SM with the blocks in them, and the staircase over registers per thread."""
    result = data.result
    title = f"{data.name} on one SM of the {data.device}: {theme.percent(result.fraction, 2)} occupancy"
    drawn, axes = page.page(HEIGHT, title, caption(data), CAPTION_LINES)
    with theme.style():
        facts = f"a block: {data.threads} threads, {data.registers} registers for each of them, "
        facts += f"{theme.thousands(data.shared_bytes)} bytes of shared memory"
        page.text(axes, page.MARGIN, 46, facts, color=theme.INK)
        keys = [page.Key(TINTS[0], "resident blocks"), page.Key(theme.WASTE, "not used", hatched=True)]
        keys.append(page.Key(theme.TROUBLE, "what stops the next block (dashed)"))
        page.legend(axes, LEGEND_Y, keys)
        for number, stack in enumerate(data.stacks):
            _stack(axes, stack, result, STACK_X + number * STACK_STEP)
        stairs = drawn.axes_in_inches(0.75, STAIRS_TOP / 100, theme.WIDTH - 0.95, STAIRS_HEIGHT / 100)
        _stairs(stairs, data)
    return drawn


def caption(data: SmFilling) -> str:
    """'Registers stop the third block: 2 blocks of 8 warps are 16 of 64 warps, 25 %.'"""
    result = data.result
    names = [NAMES[name] for name in result.limiters]
    resources = " and ".join(names)
    verb = "stops" if names == ["shared memory"] else "stop"
    blocks, each = theme.plural(result.blocks, "block"), theme.plural(result.warps_per_block, "warp")
    text = f"{resources[0].upper()}{resources[1:]} {verb} the {ordinal(result.blocks + 1)} block: {blocks} of {each} "
    text += f"{'is' if result.blocks == 1 else 'are'} {result.warps} of {result.max_warps} warps, "
    text += f"{theme.percent(result.fraction, 2)}."
    if result.warps == result.max_warps:
        return text + " The SM is full."
    step = _next_step(data)
    if step is not None:
        registers, fraction = step
        text += f" With {registers} registers per thread or fewer it would be {theme.percent(fraction, 2)}."
    elif "registers" not in result.limiters:
        text += " Fewer registers would change nothing."
    return text


def ordinal(number: int) -> str:
    """3 is 'third', 21 is '21st'."""
    if number < len(ORDINALS):
        return ORDINALS[number]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _next_step(data: SmFilling) -> tuple[int, float] | None:
    """(registers, occupancy): the most registers per thread that give a higher occupancy than now, or None."""
    fewer = data.staircase[: data.registers - 1]
    better = np.flatnonzero(fewer > data.result.fraction)
    return (int(better[-1]) + 1, float(fewer[better[-1]])) if len(better) else None


def _stack(axes: Axes, stack: Stack, result: Occupancy, left: float) -> None:
    bottom = STACK_TOP + STACK_HEIGHT
    scale = STACK_HEIGHT / stack.capacity
    stops = stack.resource in result.limiters
    ink = theme.TROUBLE if stops else theme.INK
    each = stack.each * scale
    fills = result.blocks * each

    page.hatch(axes, page.boxes(left, STACK_TOP, STACK_WIDTH, STACK_HEIGHT))
    tops = bottom - each * np.arange(1, result.blocks + 1)
    colours = [TINTS[number % len(TINTS)] for number in range(result.blocks)]
    page.fill(axes, page.boxes(left, tops, STACK_WIDTH, each), colours, label=f"{stack.resource} used")
    if each >= 13:
        names = [f"block {number + 1}" for number in range(result.blocks)]
        page.labels(axes, names, left + STACK_WIDTH / 2, tops + each / 2, 12.0, theme.INK)
    page.outline(axes, page.boxes(left, STACK_TOP, STACK_WIDTH, STACK_HEIGHT), ink, 2.2 if stops else 1.2)

    if stops:
        top = max(bottom - fills - each, STACK_TOP - OVERFLOW)  # a large block is cut off at the top
        next_block = page.boxes(left + 5, top, STACK_WIDTH - 10, bottom - fills - top)
        page.outline(axes, next_block, theme.TROUBLE, 2.0, dashed=True, label=f"{stack.resource} overflow")
    page.text(axes, left, 78, NAMES[stack.resource], size=theme.TEXT, color=theme.INK)
    page.text(axes, left, 99, f"room for {stack.limit}", size=theme.TEXT, color=ink, weight="bold")
    used = f"{result.blocks} × {theme.thousands(stack.each)} = {theme.thousands(result.blocks * stack.each)}"
    page.text(axes, left, bottom + 15, used, color=theme.INK)
    page.text(axes, left, bottom + 32, f"of {theme.thousands(stack.capacity)} {UNITS[stack.resource]}")
    if stops and stack.rest_in_pieces:
        page.text(axes, left, STACK_TOP - OVERFLOW / 2, "the rest: pieces too small", color=theme.TROUBLE)


def _stairs(axes: Axes, data: SmFilling) -> None:
    registers = np.arange(1, len(data.staircase) + 1)
    axes.set(xlim=(0, 256), ylim=(0, 108))
    axes.step(registers, 100 * data.staircase, where="mid", color=theme.SPEED, linewidth=2.2, label="staircase")
    here = 100 * data.result.fraction
    axes.plot([data.registers], [here], "o", color=theme.WARP, markersize=10, markeredgecolor=theme.PAPER, label="here")
    right = data.registers < 190
    axes.annotate(
        f"{data.registers} registers: {theme.percent(data.result.fraction, 2)}",
        (data.registers, here),
        xytext=(9 if right else -9, 9),
        textcoords="offset points",
        ha="left" if right else "right",
        color=theme.WARP,
        weight="bold",
        annotation_clip=False,
    )
    axes.set_xlabel("registers per thread")
    axes.set_ylabel("occupancy, %")
    axes.set_xticks(range(0, 257, 32))
    axes.set_yticks((0, 25, 50, 75, 100))
    axes.grid(True, axis="y")
