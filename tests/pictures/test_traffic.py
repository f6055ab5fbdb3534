"""Traffic formulas against sums by hand, and against what the simulator counts."""

import itertools

import numpy as np
import pytest

from gemm_kernels import LADDER, get
from helpers import gpu, run
from helpers.measure import problem
from helpers.pictures.traffic import (
    compulsory,
    flops,
    requested,
    sectors_per_request,
    shared_loads_per_fma,
    tile_intensity,
    tiled,
)

pytestmark = pytest.mark.usefixtures("on_the_simulator")


def test_compulsory_traffic_reads_inputs_once_and_writes_c_once():
    assert compulsory(4092, 4092, 4092, beta=1.0).total == 4 * 4 * 4092**2
    assert compulsory(2, 3, 5).total == 4 * (2 * 5 + 5 * 3 + 2 * 3)


def test_the_naive_kernel_asks_for_550_gigabytes_at_4096():
    traffic = requested(get("naive"), 4096, 4096, 4096)
    assert traffic.loads == 2 * 4096**3 * 4
    assert traffic.total == 4096**2 * (2 * 4096 + 1) * 4
    assert round(traffic.total / 1e9) == 550
    assert traffic.intensity == pytest.approx(0.25, rel=1e-3)


def test_a_tile_divides_the_loads_by_its_side():
    naive, shared = (requested(get(name), 256, 256, 256) for name in ("naive", "shared_memory"))
    assert naive.loads == 32 * shared.loads
    assert tile_intensity(32, 32) == 32 / 4
    assert shared.flops / shared.loads == tile_intensity(32, 32)


def test_a_partial_tile_still_loads_whole_rows_and_columns():
    traffic = tiled(100, 90, 77, 32, 32)
    assert traffic.load_A == 4 * 100 * 77 * 3
    assert traffic.load_B == 4 * 77 * 90 * 4


def test_flops_count_a_multiply_and_an_add_for_each_product():
    assert flops(2, 3, 5) == 60


def test_register_tiles_lower_the_shared_loads_of_an_fma():
    assert [shared_loads_per_fma(*tile) for tile in ((1, 1), (8, 1), (8, 8))] == [2.0, 1.125, 0.25]


def test_warp_down_the_rows_touches_33_sectors_for_two_loads():
    naive = sectors_per_request(32, 32, x_along="rows")
    assert (naive.A, naive.B, naive.C, naive.load_average) == (32, 1, 32, 16.5)


def test_warp_along_the_columns_touches_5_sectors_for_two_loads():
    coalesced = sectors_per_request(32, 32, x_along="columns")
    assert (coalesced.A, coalesced.B, coalesced.C, coalesced.load_average) == (1, 4, 4, 2.5)


def test_block_of_16_by_16_costs_c_the_sectors_of_a_row_of_32():
    assert sectors_per_request(16, 16, x_along="columns").C == sectors_per_request(32, 1, x_along="columns").C == 4


def test_a_block_that_does_not_cut_into_warps_is_refused():
    with pytest.raises(ValueError, match="A block of 24 × 4 does not cut into equal patches"):
        sectors_per_request(24, 4, x_along="rows")
    with pytest.raises(ValueError, match="x_along is 'cols', expected 'rows' or 'columns'"):
        sectors_per_request(32, 1, x_along="cols")


# --- against the simulator ------------------------------------------------------------------------------------------

SHAPE = (40, 36, 24)  # M, N, K: partial tiles for most kernels


def simulate(kernel, M, N, K, beta):
    """The recording of one launch, with the requests of every block."""
    A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K, 3))
    launch = run.load(kernel)
    with gpu.record(level="ptx", blocks="all") as recording:
        launch(M, N, K, 1.25, A, B, beta, C)
    return recording


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("kernel", LADDER, ids=lambda kernel: kernel.name)
def test_formula_gives_the_bytes_that_simulated_threads_request(kernel):
    M, N, K = SHAPE
    recording = simulate(kernel, M, N, K, beta=0.5)
    asked = {"ld": {}, "st": {}}
    for block in itertools.product(*map(range, kernel.grid(M, N))):
        for op, sums in asked.items():
            rows = recording.requests(space="global", op=op, block=block, warp=None)
            for array in np.unique(rows["array"]):
                of_array = rows[rows["array"] == array]
                lanes_bytes = int((of_array["active"].sum(axis=1) * of_array["width"]).sum())
                sums[str(array)] = sums.get(str(array), 0) + lanes_bytes
    traffic = requested(kernel, M, N, K, beta=0.5)
    of_parts = [sums.pop("workspace") for sums in asked.values() if "workspace" in sums]
    assert bool(of_parts) == bool(kernel.params.get("WORKERS")), "only blocks that share a tile hand over their parts"
    assert asked == {
        "ld": {"A": traffic.load_A, "B": traffic.load_B, "C": traffic.load_C},
        "st": {"C": traffic.store_C},
    }


@pytest.mark.parametrize(("name", "x_along"), [("naive", "rows"), ("coalesced", "columns")])
@pytest.mark.parametrize("block", [(32, 1), (16, 16), (8, 8), (4, 8), (1, 32), (64, 2)])
def test_the_sector_formula_is_what_the_simulator_counts(name, x_along, block):
    kernel = get(name).replace(block_x=block[0], block_y=block[1])
    M = N = 64
    K = 8
    recording = simulate(kernel, M, N, K, beta=0.0)
    expected = sectors_per_request(*block, x_along=x_along)
    warps = M * N // 32
    counters = recording.counters
    assert counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 2 * K * warps
    assert counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == (expected.A + expected.B) * K * warps
    assert counters["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == expected.C * warps
