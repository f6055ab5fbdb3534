"""What one thread of a tiled kernel reads and computes."""

import pytest

from gemm_kernels import get
from helpers.pictures import CannotTell
from helpers.pictures.register_tile.facts import RegisterTile
from helpers.pictures.traffic import shared_loads_per_fma
from tests.pictures.facts_data import first_phase as tile


@pytest.fixture(scope="module")
def data() -> RegisterTile:
    """Thread 21 of 64: rows 8 … 11 (thread row 2), columns 20 … 23 (thread column 5)."""
    return tile(get("block_tile_2d").replace(BM=32, BN=32, BK=8, TM=4, TN=4), 21, 8)


def test_the_threads_patch_and_its_reads_are_those_of_the_kernel(data):
    assert data.rows.tolist() == [8, 9, 10, 11] and data.columns.tolist() == [20, 21, 22, 23]
    assert data.ks.tolist() == list(range(8))
    for reads in data.reads:
        assert sorted(reads) == [("A", row) for row in (8, 9, 10, 11)] + [("B", column) for column in (20, 21, 22, 23)]


@pytest.mark.parametrize(
    ("name", "params", "depth"),
    [
        ("shared_memory", {"T": 8}, 8),
        ("block_tile_2d", {"BM": 32, "BN": 32, "BK": 8, "TM": 2, "TN": 2}, 8),
        ("block_tile_1d", {"BM": 32, "BN": 32, "BK": 8, "TM": 8}, 8),
        ("interleaved", {"BM": 64, "BN": 64, "BK": 8, "TM": 8, "TN": 8}, 8),
    ],
)
def test_recorded_loads_per_fma_are_those_of_the_formula(name, params, depth):
    pieces = tile(get(name).replace(**params), 3, depth)
    assert pieces.loads_per_fma == shared_loads_per_fma(*pieces.shape)


def test_a_kernel_without_tiles_is_answered_in_a_sentence():
    with pytest.raises(CannotTell, match="stores nothing to shared memory"):
        tile(get("coalesced").replace(block_x=8, block_y=4), 0, 8)
