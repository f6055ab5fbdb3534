"""Who owns which part of C."""

from tests.analysis.data import hierarchy


def test_a_warps_tile_and_needs_follow_from_who_stores_what():
    data = hierarchy()
    assert data.tile == (16, 32) and data.warps == 4
    assert data.window(3) == (slice(8, 16), slice(16, 32))
    assert data.needs(3) == (8, 16) and data.needs(3, 5) == (2, 2)
    assert data.elements(0) == 128
