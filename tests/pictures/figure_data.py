"""Fixed accesses for the tests of the pictures: what one warp of a GEMM kernel asks for, written out by hand."""

import numpy as np

from helpers.pictures.coalescing.facts import WarpAccess

BASE = 512 * 1000  # a byte address on a line, like the arrays of the simulator
LANES = np.arange(32)


def access(
    array: str, op: str, elements, *, active=None, base: int = BASE, width: int = 4, warp: int = 0
) -> WarpAccess:
    """An access to the elements (floats) with these indices, one a lane; a single index is a broadcast."""
    offset = (np.zeros(32, np.int64) + np.asarray(elements)) * 4
    active = np.ones(32, bool) if active is None else np.asarray(active, bool)
    return WarpAccess(array, op, 0, (0, 0, 0), warp, offset + base, offset, active, width)


def naive(width: int = 1024) -> list[WarpAccess]:
    """x down the rows: 32 rows of A and of C, one element of B."""
    return [access("A", "ld", LANES * width), access("B", "ld", 0), access("C", "st", LANES * width)]


def coalesced() -> list[WarpAccess]:
    """x along the columns: one element of A, 32 neighbours of B and of C."""
    return [access("A", "ld", 0), access("B", "ld", LANES), access("C", "st", LANES)]


def plain(text: str) -> str:
    """A text with ordinary spaces alone."""
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def words(drawn) -> list[str]:
    """The texts of a figure with one pair of axes."""
    return [text.get_text() for text in drawn.axes[0].texts]


def boxes_of(drawn, label: str) -> list[np.ndarray]:
    """The corners of all boxes of a figure's first axes with this label: those of collections, and of a single path."""
    artists = [artist for artist in drawn.axes[0].get_children() if artist.get_label() == label]
    corners = [path.vertices for artist in artists if hasattr(artist, "get_paths") for path in artist.get_paths()]
    return corners + [
        box for artist in artists if hasattr(artist, "get_path") for box in artist.get_path().to_polygons()
    ]
