"""From one line of PyTorch down to the instructions of a thread: what stands between, and where the course is."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from helpers.pictures import page, theme

# CSS pixels
TOP, ROW, BOX, LEFT, WIDE, WORDS = 44.0, 74.0, 50.0, 14.0, 630.0, 662.0
GAP = 10.0
MONO = "DejaVu Sans Mono"


@dataclass(frozen=True)
class Level:
    """One level. boxes: what stands side by side, (name, what is called), the name "" for none.  words: what it is."""

    boxes: tuple[tuple[str, str], ...]
    words: str
    here: bool = False


LEVELS = (
    Level((("", "y = x @ W"),), "PyTorch, in Python"),
    Level(
        (
            ("cuBLAS", "cublasSgemm"),
            ("cuDNN", "cudnnConvolutionForward"),
            ("CUTLASS", "cutlass::gemm::device::Gemm"),
        ),
        "libraries, in C++",
    ),
    Level((("", "sgemm<<<grid, block>>>(…)"),), "a kernel: this course", here=True),
    Level((("multiply-add", "FFMA"), ("load", "LDG, LDS"), ("store", "STG, STS")), "a thread's instructions"),
)


def software_figure() -> theme.Figure:
    """The levels one below the other; the one of the course is marked."""
    caption = "A line of PyTorch calls a library, the library launches a kernel, and a kernel is what you write here."
    drawn, axes = page.page(TOP + ROW * len(LEVELS), "What runs when PyTorch multiplies two matrices?", caption)
    with theme.style():
        for number, level in enumerate(LEVELS):
            _level(axes, level, TOP + ROW * number)
            if number:
                y = TOP + ROW * number
                page.arrow(axes, (LEFT + WIDE / 2, y - ROW + BOX + 2), (LEFT + WIDE / 2, y - 2), theme.MUTED)
    return drawn


def _level(axes: Axes, level: Level, y: float) -> None:
    """Boxes as wide as their words need, which together fill the width."""
    needs = [page.text_width(called) * 1.1 + 30 for _, called in level.boxes]
    spare = (WIDE - GAP * (len(needs) - 1) - sum(needs)) / len(needs)
    x = LEFT
    for (name, called), need in zip(level.boxes, needs, strict=True):
        width = need + spare
        page.fill(axes, page.boxes(x, y, width, BOX), theme.C if level.here else theme.WASTE_FILL)
        colour, middle = theme.PAPER if level.here else theme.INK, x + width / 2
        if name:
            page.text(axes, middle, y + 15, name, color=colour, ha="center")
        size = theme.SMALL if name else theme.TEXT
        page.text(
            axes, middle, y + (35 if name else BOX / 2), called, color=colour, ha="center", size=size, family=MONO
        )
        x += width + GAP
    page.text(axes, WORDS, y + BOX / 2, level.words, color=theme.INK, size=theme.TEXT,
              weight="bold" if level.here else "normal")  # fmt: skip
