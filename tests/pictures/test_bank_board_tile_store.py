"""A warp's store to a tile of any layout."""

import pytest

from helpers.pictures import CannotTell
from helpers.pictures.bank_board.tile_store import Tile, tile_access


@pytest.mark.parametrize(
    ("tile", "words"),
    [
        (Tile(128, 0, 8), lambda lane: lane % 8 * 128 + lane // 8),
        (Tile(128, 4, 8), lambda lane: lane % 8 * 132 + lane // 8),
        (Tile(2, 1, 32), lambda lane: lane * 3),
        (Tile(128, 0, 8, swizzle=True), lambda lane: lane % 8 * 128 + ((lane // 8) ^ (4 * (lane % 8) % 32))),
        (Tile(64, 4, 4, bits=128), lambda lane: lane % 4 * 68 + lane // 4 * 4),
    ],
)
def test_the_tile_is_stored_where_its_numbers_say(tile, words):
    access = tile_access(tile)
    assert (access.address // 4).tolist() == [words(lane) for lane in range(32)]
    assert 8 * access.width == tile.bits


def test_a_swizzle_needs_rows_of_32():
    with pytest.raises(CannotTell, match="within 32 neighbouring floats"):
        tile_access(Tile(row_length=16, swizzle=True))
