"""The explorer of notebook 09: width and leading dimension → the instructions, the requests and the sectors.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial

import ipywidgets

from gemm_kernels import Launch, get
from gpusim import devices
from helpers.pictures import theme
from helpers.pictures.bank_board.explorer import shown
from helpers.pictures.controls import choice_list
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.own_kernel import Own, of_kind, taken
from helpers.pictures.speeds import speed_of_launch
from helpers.pictures.vector_width.facts import (
    MOST_SHIFT,
    ROWS,
    WIDTHS,
    Copy,
    LineCode,
    Width,
    copy_code,
    cost_of_line,
    lines_of,
    way_of,
)
from helpers.pictures.vector_width.figure import FIGURE_HEIGHT, vector_width_figure, widths_figure
from helpers.pictures.widgets import choice_slider, number_slider

KERNELS = ("coalesced", "transposed", "interleaved", "vectorized", "vectorized_ptx", "async_copy", "warptiled")
COPY = "a copy of four floats a lane"
STRIDES = (128, 129, 130, 132, 136, 256, 1000, 1023, 1024)


def picture_of(width: Width, copy: Copy) -> theme.Figure:
    """The load and the store of one way to copy, as compiled, and the load's cost beside the other ways'."""
    ways = [way_of(width, copy) for width in WIDTHS]
    where = f"row {copy.row}, from column {copy.first} on, of {theme.plural(copy.stride, 'column')}"
    title = f"A warp copies 128 floats: {where}"
    scalar_load, _ = copy_code(WIDTHS[0])
    return vector_width_figure(copy_code(width), ways, WIDTHS.index(width), title, before=scalar_load)


def picture_of_line(launch: Launch, code: LineCode) -> theme.Figure:
    """A line of a kernel, and what it costs warp 0 of the first block."""
    way = cost_of_line(launch, code.line, f"warp 0, {theme.plural(launch.shape[2], 'step')} of k")
    return vector_width_figure([code], [way], 0, f"{launch.name}, line {code.line}")


class VectorWidthExplorer(LiveExplorer):
    """Controls for a copy of the learner's own width and alignment, or for the line of a kernel."""

    def __init__(self, kernels: Sequence[Launch], first: Launch | None, width: Width, copy: Copy) -> None:
        names = [(COPY, None), *((f"kernel {launch.name}", launch) for launch in kernels)]
        self.launch = choice_list("code of", names, first)
        self.line = choice_list("line", [("the copy", None)], None)
        self.width = choice_slider("a lane moves", [(width.label, width) for width in WIDTHS], width)
        self.stride = choice_slider("columns of A", list(dict.fromkeys((*STRIDES, copy.stride))), copy.stride)
        self.row = number_slider("row", ROWS - 1)
        self.first = number_slider("first column", MOST_SHIFT)
        self.row.value, self.first.value = copy.row, copy.first
        rows = [[self.launch, self.line], [self.width, self.stride], [self.row, self.first]]
        super().__init__("Explorer: what the compiler makes of a line.", rows, FIGURE_HEIGHT)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """Only the controls that change the picture can be moved."""
        for control in (self.width, self.stride, self.row, self.first):
            control.disabled = self.launch.value is not None
        self.line.disabled = self.launch.value is None
        if self.launch.value is None:
            self.line.options = [("the copy", None)]

    def needs(self) -> Iterable[Hashable]:
        return [self.launch.value]

    def draw(self) -> tuple[theme.Figure, str]:
        launch = self.launch.value
        if launch is None:
            picture = picture_of(self.width.value, Copy(self.stride.value, self.row.value, self.first.value))
        else:
            with self.quiet():
                self._offer(lines_of(launch))
            if self.line.value is None:
                raise CannotShow(f"No line of {launch.name} accesses memory. Choose another kernel.")
            picture = picture_of_line(launch, self.line.value)
        return picture, f"Compiled for {devices.DEFAULT.arch}, the architecture of the {devices.DEFAULT.short}."

    def later(self) -> Callable[[], str] | None:
        """How fast the kernel is."""
        launch = self.launch.value
        return launch and partial(speed_of_launch, launch)

    def _offer(self, lines: Sequence[LineCode]) -> None:
        """The lines to choose from; the one that was chosen stays chosen if it is still there."""
        options = [(f"line {line.line}: {line.text[:44]}", line) for line in lines] or [("none", None)]
        if list(self.line.options) != options:
            before = self.line.value
            self.line.options = options
            self.line.value = before if before in lines else options[0][1]


def explore(
    own: Own = None,
    *,
    kernel: str | None = None,
    width: Width = WIDTHS[-1],
    copy: Copy | None = None,
) -> VectorWidthExplorer:
    """The explorer, beginning with a copy, or with a kernel of the ladder, or with a learner's own kernel."""
    own = taken(own)
    kernels = [shown(get(name)) for name in dict.fromkeys((*KERNELS, *((kernel,) if kernel else ())))]
    mine = [shown(own)] if own else []
    first = [*mine, *([shown(get(kernel))] if kernel else []), None][0]
    return VectorWidthExplorer([*mine, *kernels], first, width, of_kind("copy", copy, Copy) or Copy())


TELLING = (Copy(128, 1), Copy(1000, 1), Copy(132, 1), Copy(130, 1), Copy(129, 1))


def small_multiples(settings: Sequence[Copy] = TELLING) -> theme.Figure:
    """The explorer's static twin: rows that begin at several places, copied in every way."""
    rows = []
    for copy in settings:
        byte = theme.thousands(copy.first_byte)
        rows.append((f"row begins at byte {byte}", [way_of(width, copy) for width in WIDTHS]))
    return widths_figure(rows, "128 floats of a row, copied by one warp: 32-byte sectors that are asked for")
