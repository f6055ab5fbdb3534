"""What does a kernel execute? A bar for each kernel, its instructions by pipe, per FMA of the product."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.pictures import page, theme
from helpers.pictures.mix.facts import OTHER, PIPES, Mix

COLOURS = {"fma": theme.SPEED, "lsu": theme.WARP, "alu": "#A9B4C2", OTHER: "#D3D3D3"}
LEFT, TOP, ROW, BAR, BELOW = 130.0, 84.0, 34.0, 24.0, 30.0  # CSS pixels
RIGHT = page.WIDTH - 70.0
NAMED = 40.0  # pixels from which on a part has its number in it


def mix_figure(mixes: Sequence[Mix], title: str) -> theme.Figure:
    """One bar below the other. Raises ValueError without a bar."""
    if not mixes:
        raise ValueError("There is no bar to draw: give at least one Mix.")
    scale = (RIGHT - LEFT) / max(mix.total for mix in mixes)
    height = TOP + ROW * len(mixes) + BELOW
    drawn, axes = page.page(height, title, caption(mixes), 2)
    with theme.style():
        page.legend(axes, 50, [page.Key(COLOURS[pipe], words) for pipe, words in {**PIPES, OTHER: OTHER}.items()])
        for number, mix in enumerate(mixes):
            top, left = TOP + number * ROW, LEFT
            page.text(axes, LEFT - 10, top + BAR / 2, mix.kernel, ha="right", color=theme.INK)
            for pipe, part in mix.parts.items():
                colour, wide = COLOURS[pipe], part * scale
                page.fill(axes, page.boxes(left, top, wide, BAR), colour, edge=theme.PAPER, line=0.6)
                if wide > NAMED:
                    ink = theme.ink_on(colour)
                    page.text(axes, left + wide / 2, top + BAR / 2, f"{part:.2f}", ha="center", color=ink)
                left += wide
            page.text(axes, left + 8, top + BAR / 2, f"{mix.total:.2f}", color=theme.INK, weight="bold")
        page.text(axes, LEFT, TOP + ROW * len(mixes) + 8, "instructions of warps per FMA of the product")
    return drawn


def caption(mixes: Sequence[Mix]) -> str:
    """'Per FMA of the product shared_memory executes 1.38 loads and stores, block_tile_2d 0.09 (recorded on …).'"""
    first, last = mixes[0], mixes[-1]
    text = f"Per FMA of the product {first.kernel} executes {first.parts['lsu']:.2f} loads and stores, {last.kernel} "
    return f"{text}{last.parts['lsu']:.2f} ({first.label})."
