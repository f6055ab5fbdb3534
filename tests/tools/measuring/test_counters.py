"""The simulator, the models and Nsight Compute count the same launches."""

import functools
from typing import NamedTuple

import pytest

import gpusim
from gemm_kernels import LADDER, SPECIALISTS, get
from gpusim import devices
from gpusim.devices import LIMITS
from gpusim.occupancy import occupancy
from helpers import gpu, recordings, run
from helpers.measure import problem
from helpers.tools.measuring.counters import SHAPES, SMALL_SHAPES

pytestmark = pytest.mark.usefixtures("on_the_simulator")

RECORDED = recordings.of_architecture("counters", devices.DEFAULT)
ROWS = [row for recording in RECORDED for row in recording["rows"]]
IDS = [f"{row['kernel']}-{row['M']}x{row['N']}x{row['K']}" for row in ROWS]
SMALL = [index for index, row in enumerate(ROWS) if (row["M"], row["N"], row["K"]) in SMALL_SHAPES]
SPECIAL = [index for index in SMALL if ROWS[index]["kernel"] in {kernel.name for kernel in SPECIALISTS}]
BY_TIME = {
    "reduce_scatter"
}  # whose blocks look whether others have arrived: how often, and who adds what, time decides
# Of kernels for special shapes the assembler merges accesses that PTX leaves apart.
COMMON = [index for index in SMALL if index not in SPECIAL]
small_launches = pytest.mark.parametrize("index", COMMON, ids=[IDS[index] for index in COMMON])
HOPPER = LIMITS["sm_90"]
CARVE_OUTS = [kib * 1024 for kib in (8, 16, 32, 64, 100, 132, 164, 196, 228)]  # CUDA guide, CC 9.0; 0 fits no block

LOADED_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
# What PTX already decides. How many instructions there are, and how shared loads are merged, the assembler decides.
DECIDED_IN_PTX = (
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    LOADED_SECTORS,
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
)


class Simulated(NamedTuple):
    """What is compared of a launch: a recording holds all its addresses."""

    counters: dict[str, int]
    tags: dict[str, int]  # by "ld" and "st"
    loads_of_b: int


@functools.lru_cache(maxsize=2)
def loaded(name, params):
    """The launcher of one kernel, prepared once for its shapes, which follow each other."""
    return run.load(get(name).replace(**dict(params)))


@functools.cache
def simulated(index):
    """One recorded launch, simulated at PTX level."""
    row = ROWS[index]
    M, N, K = row["M"], row["N"], row["K"]
    A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K))
    launch = loaded(row["kernel"], tuple(row["params"].items()))
    with gpusim.record(level="ptx", checks=False) as recording:  # for stream_k that needs half a gigabyte
        launch(M, N, K, 1.25, A, B, row["beta"], C)
    tags = {op: recording.total("tags", space="global", op=op) for op in ("ld", "st")}
    return Simulated(dict(recording.counters), tags, recording.total("requests", space="global", op="ld", array="B"))


def test_every_ladder_and_special_shape_kernel_was_profiled():
    profiled = {(row["kernel"], row["M"], row["N"], row["K"]) for row in ROWS}
    wanted = {(kernel.name, *shape) for kernel in LADDER + SPECIALISTS for shape in SHAPES}
    assert not wanted - profiled, "run `python -m helpers.tools.measuring record --suite counters` on a GPU"


def split_look_ups(index):
    """At most so many sectors and lines of global loads does a GPU look up beyond those that are simulated.

    Where static shared memory pushes the dynamic off the 128-byte lines, the 16 bytes a lane that an asynchronous copy
    of B writes lie in five lines instead of four, and the GPU looks up apart what goes to different ones.
    """
    row = ROWS[index]
    if row["counters"]["launch__shared_mem_per_block_static"] % 128 == 0 or row["N"] % 4 != 0:
        return 0
    return 4 * simulated(index).loads_of_b


@small_launches
def test_simulated_traffic_and_arithmetic_are_nsight_computes(index):
    counted = {name: ROWS[index]["counters"][name] for name in DECIDED_IN_PTX}
    here = {name: simulated(index).counters.get(name, 0) for name in DECIDED_IN_PTX}
    assert 0 <= counted[LOADED_SECTORS] - here.pop(LOADED_SECTORS) <= split_look_ups(index)
    assert here == {name: counted[name] for name in here}


@pytest.mark.parametrize(
    "index",
    [index for index in SPECIAL if ROWS[index]["kernel"] not in BY_TIME],
    ids=[IDS[index] for index in SPECIAL if ROWS[index]["kernel"] not in BY_TIME],
)
def test_special_kernels_count_what_nsight_compute_does(index):
    row = ROWS[index]
    M, N, K = row["M"], row["N"], row["K"]
    A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K))
    launch = loaded(row["kernel"], tuple(row["params"].items()))
    with gpusim.record(level="sass", checks=False) as recording:
        launch(M, N, K, 1.25, A, B, row["beta"], C)
    names = {name for name in row["counters"] if not name.startswith(("launch__", "sm__"))} & {*recording.counters}
    assert {*DECIDED_IN_PTX} <= names
    # Copies past the L1 look up sectors again where they write into one more line of shared memory.
    again = {name for name in names if "global_op_ld" in name and "requests" not in name}
    assert all(row["counters"][name] >= recording.counters[name] for name in again)
    names -= again if row["kernel"] == "rank_k" else set()
    different = {
        name: (recording.counters[name], row["counters"][name])
        for name in names
        if recording.counters[name] != row["counters"][name]
    }
    assert not different


@small_launches
def test_simulated_lines_are_nsight_computes_tag_look_ups(index):
    counted = ROWS[index]["counters"]
    for op in ("ld", "st"):
        more = counted[f"l1tex__t_set_accesses_pipe_lsu_mem_global_op_{op}.sum"] - simulated(index).tags[op]
        assert 0 <= more <= (split_look_ups(index) if op == "ld" else 0)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_occupancy_limits_are_nsight_computes(row):
    counted = row["counters"]
    threads = get(row["kernel"]).replace(**row["params"]).threads
    shared = counted["launch__shared_mem_per_block_static"] + counted["launch__shared_mem_per_block_dynamic"]
    result = occupancy(HOPPER, threads, counted["launch__registers_per_thread"], shared)
    for ours, theirs in (("blocks", "blocks"), ("warps", "warps"), ("registers", "registers")):
        assert result.limits[ours] == counted[f"launch__occupancy_limit_{theirs}"]
    assert 100 * result.fraction == pytest.approx(counted["sm__maximum_warps_per_active_cycle_pct"])
    by_carve_out = {
        carve_out: occupancy(
            HOPPER, threads, counted["launch__registers_per_thread"], shared, shared_capacity=carve_out
        ).limits["shared"]
        for carve_out in CARVE_OUTS
        if carve_out >= result.shared_bytes_per_block
    }
    assert counted["launch__occupancy_limit_shared_mem"] in by_carve_out.values()
