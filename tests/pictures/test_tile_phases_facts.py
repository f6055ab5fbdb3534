"""What one block of a tiled kernel loads, phase by phase."""

import pytest

from gemm_kernels import get
from helpers.pictures.tile_phases.facts import phases_of


def test_tile_of_side_t_loads_a_tth_as_often():
    for side in (2, 4, 8, 16, 32):
        data = phases_of(get("shared_memory", T=side).launch(64, 64, 64))
        assert data.bytes_loaded() / len(data.tile) == 2 * 64 * 4 / side
        assert data.bytes_without_sharing / len(data.tile) == 2 * 64 * 4


@pytest.mark.parametrize(
    ("M", "N", "chosen"),
    [(12, 12, (1, 1)), (12, 4, (0, 1)), (4, 12, (1, 0)), (4, 4, (0, 0))],
    ids=["3 x 3 blocks", "one column of blocks", "one row of blocks", "one block"],
)
def test_block_is_the_one_behind_the_first_or_the_nearest(M, N, chosen):
    data = phases_of(get("shared_memory", T=4).launch(M, N, 4))
    assert data.block_index[:2] == chosen
