"""The explorer of notebook 01: rows and columns of a patch of C → the floats that feed it, and what memory allows.

`explore()` is the explorer, `small_multiples()` its static twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusim import devices
from helpers.pictures import theme, traffic
from helpers.pictures.live import LiveExplorer
from helpers.pictures.patch.figure import FIGURE_HEIGHT, Patch, patches_figure
from helpers.pictures.roofline import model as roofline
from helpers.pictures.widgets import choice_slider

SIDES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TELLING = ((1, 1), (8, 8), (64, 64), (256, 256))


def patch(rows: int, columns: int, device: devices.Device = devices.DEFAULT) -> Patch:
    """A patch, and the most that a GPU's memory lets a multiplication reach that fetches its floats at each k."""
    return Patch(rows, columns, roofline.attainable_gflops(device, traffic.tile_intensity(rows, columns)))


class PatchExplorer(LiveExplorer):
    """Controls for the rows and the columns of the patch; beside it stands the largest one."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = choice_slider("rows", SIDES, rows), choice_slider("columns", SIDES, columns)
        super().__init__("Explorer: a patch of C and its edges.", [[self.rows, self.columns]], FIGURE_HEIGHT)

    def draw(self) -> tuple[theme.Figure, str]:
        return patches_figure([patch(256, 256), patch(self.rows.value, self.columns.value)], devices.DEFAULT.short), ""


def explore(rows: int = 8, columns: int = 8) -> PatchExplorer:
    """The explorer, beginning with this patch."""
    return PatchExplorer(rows, columns)


@dataclass(frozen=True)
class Shape:
    """A patch of a tile. groups: into which its columns are divided."""

    rows: int
    columns: int
    groups: int = 1


def in_tile(side: int, shapes: Sequence[Shape]) -> theme.Figure:
    """What one thread or one warp computes of a tile of `side` × `side` elements, several ways side by side."""
    patches = [replace(patch(shape.rows, shape.columns), groups=shape.groups) for shape in shapes]
    return patches_figure(patches, devices.DEFAULT.short, side)


def small_multiples(patches: Sequence[tuple[int, int]] = TELLING) -> theme.Figure:
    """The explorer's static twin: several patches side by side."""
    return patches_figure([patch(*sides) for sides in patches], devices.DEFAULT.short)
