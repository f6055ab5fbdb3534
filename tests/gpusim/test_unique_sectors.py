"""Compulsory traffic: different sectors that blocks and the grid touch, against a count by hand."""

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gemm_kernels.launch import OPTIONS
from helpers import run

M, N, K = 70, 66, 20
BLOCK = 16


def record(level="ptx", **options) -> gpusim.Recording:
    kernel = get("coalesced", block_x=BLOCK, block_y=BLOCK)
    module = gpusim.RawModule(code=kernel.source, options=OPTIONS, name_expressions=[kernel.entry])
    arrays = [np.zeros(shape, np.float32) for shape in ((M, K), (K, N), (M, N))]
    with gpusim.record(level=level, checks="off", **options) as recording:
        run.launcher(kernel, module.get_function(kernel.entry))(M, N, K, 1.0, *arrays[:2], 0.5, arrays[2])
    return recording


def sectors(width: int, rows: slice, columns: slice) -> set[int]:
    """Sectors of a part of a row-major float matrix with `width` columns."""
    return {
        (row * width + column) * 4 // 32 for row in range(M)[rows] for column in range(N)[columns] if column < width
    }


def by_block() -> dict[str, list[set[int]]]:
    by_array: dict[str, list[set[int]]] = {"A": [], "B": [], "C": []}
    for y in range(0, M, BLOCK):
        for x in range(0, N, BLOCK):
            rows, columns = slice(y, y + BLOCK), slice(x, x + BLOCK)
            by_array["A"].append(sectors(K, rows, slice(0, K)))
            by_array["B"].append(sectors(N, slice(0, K), columns))
            by_array["C"].append(sectors(N, rows, columns))
    return by_array


@pytest.mark.parametrize("options", [{"unique_sectors": True}, {"blocks": "all"}], ids=["bitmaps", "traces"])
def test_each_sector_is_counted_once_a_block_and_once_a_grid(level, options):
    recording, expected = record(level, **options), by_block()
    for array, blocks in expected.items():
        assert recording.unique_sectors(array) == len(set.union(*blocks))
        assert recording.unique_sectors(array, per="block") == sum(map(len, blocks))
        assert recording.unique_sectors(array, block=(0, 0)) == len(blocks[0])
    assert recording.unique_sectors() == sum(-(-size * 4 // 32) for size in (M * K, K * N, M * N))
    assert recording.unique_sectors("C", "st") == recording.unique_sectors("C", "ld") == recording.unique_sectors("C")
    assert recording.unique_sectors("A", "st") == recording.unique_sectors("A", "atom") == 0


def test_asynchronous_copies_read_sectors_too():
    kernel = get("async_copy")
    module = gpusim.RawModule(code=kernel.source, options=OPTIONS, name_expressions=[kernel.entry])
    arrays = [np.zeros(shape, np.float32) for shape in ((M, K), (K, N), (M, N))]
    with gpusim.record(level="sass", unique_sectors=True) as recording:
        run.launcher(kernel, module.get_function(kernel.entry))(M, N, K, 1.0, *arrays[:2], 0.0, arrays[2])
    assert recording.unique_sectors("A", "ld") == -(-M * K * 4 // 32)
    assert recording.unique_sectors("C", "ld") == 0


def test_a_sampled_launch_knows_the_blocks_sum_alone():
    recording, expected = record(blocks="sampled", unique_sectors=True), by_block()
    for array, blocks in expected.items():
        assert recording.unique_sectors(array, per="block") == sum(map(len, blocks))
    with pytest.raises(gpusim.SimulatorError, match=r"Not all blocks were executed.*per='block'"):
        recording.unique_sectors("A")


def test_what_was_not_recorded_is_asked_for_in_a_sentence():
    recording = record()
    assert recording.unique_sectors("A", block=(0, 0)) == len(by_block()["A"][0])
    with pytest.raises(gpusim.SimulatorError, match=r"record\(unique_sectors=True\)"):
        recording.unique_sectors()
    with pytest.raises(gpusim.SimulatorError, match="choose 'grid' or 'block'"):
        recording.unique_sectors(per="warp")
