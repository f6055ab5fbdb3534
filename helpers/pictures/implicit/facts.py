"""Out of a recording: which elements of the implicit matrix a warp wants, and where in the images it finds them."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim import Recording
from gpusim.devices import FLOAT_BYTES, WARP
from helpers.pictures import CannotTell
from helpers.pictures.coalescing.facts import warp_access


@dataclass(frozen=True)
class Convolution:
    """The sizes of one: images X (images, H, W, C), filters of R × S, results P × Q."""

    H: int
    W: int
    C: int
    R: int
    S: int
    P: int
    Q: int
    stride: int
    pad: int

    def pixel(self, row: int, k: int) -> tuple[int, int, int, int]:
        """(image, h, w, c) of an element of the implicit matrix; h and w may lie in the border."""
        image, pixel = divmod(row, self.P * self.Q)
        p, q = divmod(pixel, self.Q)
        rs, c = divmod(k, self.C)
        r, s = divmod(rs, self.S)
        return image, p * self.stride + r - self.pad, q * self.stride + s - self.pad, c

    def inside(self, h: int, w: int) -> bool:
        """Whether the image has the pixel."""
        return 0 <= h < self.H and 0 <= w < self.W


@dataclass(frozen=True)
class Wanted:
    """One lane's element.

    row, k: of the implicit matrix.  pixel: (image, h, w, c).  loaded: whether the lane has loaded it; the border is not
    loaded.
    """

    lane: int
    row: int
    k: int
    pixel: tuple[int, int, int, int]
    loaded: bool


@dataclass(frozen=True)
class WarpOfImage:
    """What one warp wants in one iteration of k. sectors: of its request."""

    sizes: Convolution
    rows: int
    depth: int
    wanted: tuple[Wanted, ...]
    sectors: int
    k0: int

    @property
    def loads(self) -> int:
        """Lanes that load."""
        return sum(element.loaded for element in self.wanted)


def warp_of_image(
    recording: Recording, array: str, sizes: Convolution, shape: tuple[int, int], tile: int, iteration: int
) -> WarpOfImage:
    """Warp 0 of the traced block in an iteration. shape: of the implicit matrix.  tile: rows and k of a tile.

    CannotTell where a lane has loaded another element than the convolution has at its place.
    """
    access = warp_access(recording, array, "ld", iteration)
    first_row, k0 = access.block[1] * tile, iteration * tile
    wanted = []
    for lane in range(WARP):
        row, k = first_row + lane // tile, k0 + lane % tile
        if row >= shape[0] or k >= shape[1]:
            continue
        pixel = image, h, w, c = sizes.pixel(row, k)
        element = ((image * sizes.H + h) * sizes.W + w) * sizes.C + c
        loaded = bool(access.active[lane])
        if loaded != sizes.inside(h, w) or (loaded and access.offset[lane] != FLOAT_BYTES * element):
            raise CannotTell(
                f"Lane {lane} of warp 0 does not load row {row}, k = {k} of the matrix in iteration {iteration}, as "
                "this picture expects: thread (x, y) loads row y and k = k0 + x of the tile."
            )
        wanted.append(Wanted(lane, row, k, pixel, loaded))
    return WarpOfImage(sizes, *shape, tuple(wanted), access.sectors, k0)
