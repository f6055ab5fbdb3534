"""Bytes that a whole launch moves, counted on few blocks."""

import pytest

from gemm_kernels import get
from gpusim import devices
from helpers import recordings, run
from helpers.pictures.roofline.facts import bytes_moved

COUNTERS = recordings.raw(devices.DEFAULT.name, "counters")["rows"]


def counted(kernel, shape) -> int:
    return bytes_moved(kernel.launch(*shape))


@pytest.mark.parametrize("name", ["naive", "coalesced", "shared_memory", "block_tile_2d", "vectorized", "async_copy"])
def test_the_counted_bytes_are_nsight_computes_sectors(name):
    (row,) = (row for row in COUNTERS if row["kernel"] == name and row["M"] == row["N"] == row["K"] == 1024)
    counter = {kind: row["counters"][f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum"] for kind in ("ld", "st")}
    # There beta is not 0, so C is loaded once before it is stored, with the same sectors.
    assert counted(get(name).replace(**row["params"]), (1024, 1024, 1024)) == 32 * counter["ld"]


@pytest.mark.parametrize("name", ["naive", "shared_memory"])
def test_one_block_at_two_depths_gives_the_whole_launchs_bytes(name):
    kernel = get(name)
    whole = run.record_whole(kernel.launch(96, 64, 160)).total("sectors", "global")
    assert counted(kernel, (96, 64, 160)) == 32 * whole


def test_a_matrix_smaller_than_the_tile_is_counted_as_it_is():
    kernel = get("block_tile_2d")
    whole = run.record_whole(kernel.launch(32, 64, 64)).total("sectors", "global")
    assert counted(kernel, (32, 64, 64)) == 32 * whole


@pytest.mark.parametrize("name", ["naive", "shared_memory"])
def test_the_blocks_at_an_edge_are_counted_by_themselves(name):
    kernel = get(name)
    whole = run.record_whole(kernel.launch(40, 24, 64)).total("sectors", "global")
    assert counted(kernel, (40, 24, 64)) == 32 * whole
