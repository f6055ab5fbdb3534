"""The explorer of notebook 14: size, tile and order → which block takes which tile, and what those that run need.

`explore()` is the explorer, `picture_of(choice)` what it is made from.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from gemm_kernels import get
from gpusim import devices
from helpers import recordings
from helpers.pictures import page, theme
from helpers.pictures.controls import choice_list
from helpers.pictures.live import LiveExplorer
from helpers.pictures.raster.facts import grouped
from helpers.pictures.raster.figure import MOST_HEIGHT, rasters_figure
from helpers.pictures.widgets import choice_slider

SIZES = (512, 1024, 1536, 2048, 3072, 4096)  # M = N
TILES = ((32, 64), (64, 64), (64, 128), (128, 128), (128, 256))
ROWS = (1, 2, 4, 8)  # of tiles together
KERNELS = {  # tile, rows together → the ladder's kernel that has both
    ((32, 64), 1): "sliced_k", ((128, 128), 1): "ping_pong", ((128, 256), 1): "staged_epilogue",
    ((128, 256), 8): "rasterized",
}  # fmt: skip
FIGURE_HEIGHT = page.full_height(MOST_HEIGHT, 2)


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. size: M = N.  tile: of C, for a block.  rows: of tiles together."""

    size: int = 2048
    tile: tuple[int, int] = (128, 256)
    rows: int = 8
    device: devices.Device = devices.DEFAULT

    @property
    def tiles(self) -> tuple[int, int]:
        """(down, along): of C."""
        return math.ceil(self.size / self.tile[0]), math.ceil(self.size / self.tile[1])


def picture_of(choice: Choice) -> theme.Figure:
    """The grid's own order beside the chosen one; as many blocks run together as there are SMs."""
    down, along = choice.tiles
    running = min(choice.device.sms, down * along)
    orders = dict.fromkeys((1, choice.rows))
    side, (BM, BN) = theme.thousands(choice.size), choice.tile
    title = f"C of {side} × {side}, in tiles of {BM} × {BN}"
    return rasters_figure([grouped(rows, down, along, running) for rows in orders], title)


def facts_of(choice: Choice) -> str:
    """Blocks and turns, what a tile gets out of a byte, and the recorded speed of a kernel with this tile and order."""
    (down, along), (BM, BN), sms = choice.tiles, choice.tile, choice.device.sms
    blocks, turns = down * along, math.ceil(down * along / sms)
    text = (
        f"{blocks} blocks: {theme.plural(turns, 'turn')}, {theme.percent(blocks / (turns * sms))} of {sms} SMs busy; "
    )
    text += f"{2 * BM * BN / (4 * (BM + BN)):.0f} FLOP per byte loaded."
    kernel = KERNELS.get((choice.tile, choice.rows))
    with suppress(recordings.NoRecording):
        recorded = recordings.find(get(kernel), *(choice.size,) * 3, choice.device.name) if kernel else None
        return f"{text} {kernel}: {theme.thousands(recorded.gflops)} GFLOPS, {recorded.label}." if recorded else text
    return text


class RasterExplorer(LiveExplorer):
    """Controls for the size of C, the tile of a block, the order of the blocks, and the GPU."""

    def __init__(self, choice: Choice) -> None:
        self.size = choice_slider("M = N = K", SIZES, choice.size)
        self.tile = choice_slider("tile", [(f"{BM} × {BN}", (BM, BN)) for BM, BN in TILES], choice.tile)
        self.rows = choice_slider("rows together", ROWS, choice.rows)
        self.device = choice_list("GPU", [(gpu.name, gpu) for gpu in devices.DEVICES.values()], choice.device)
        rows = [[self.size, self.tile], [self.rows, self.device]]
        super().__init__("Explorer: which block takes which tile, and when.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.size.value, self.tile.value, self.rows.value, self.device.value)

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.choice), facts_of(self.choice)


def explore(*, size: int = 2048, tile: tuple[int, int] = (128, 256), rows: int = 8) -> RasterExplorer:
    """The explorer, beginning with this size, tile and number of rows of tiles that blocks take together."""
    return RasterExplorer(Choice(size, tile, rows))
