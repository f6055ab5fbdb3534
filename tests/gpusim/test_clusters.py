"""Clusters of blocks: ranks and sizes, the barrier in two halves, and the shared memory of other blocks."""

import functools

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled
from helpers import cycles
from tests.gpusim import kernel_launches
from tests.gpusim.goldens import record
from tests.gpusim.sass_goldens import compare_with_recorded, kernel_of

LAUNCHES = {launch.name: launch for launch in kernel_launches.clusters()}
HEAD = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
"""


AGAIN = "record again on a GPU, with the commands of tests/gpusim/goldens/record.py and `clusters`"


@functools.cache
def cluster_goldens() -> dict[str, dict]:
    """The recorded launches of clusters by name."""
    return {row["name"]: row for row in record.read(record.CLUSTER_GOLDENS)["launches"]}


@pytest.fixture(params=["machine code", "machine code in NumPy", "PTX"])
def level(request, monkeypatch):
    """Either level, and of machine code either engine."""
    if request.param == "machine code in NumPy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    return "ptx" if request.param == "PTX" else "sass"


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_counters_and_results_of_clusters_are_the_gpus(launch):
    assert compare_with_recorded(launch, cluster_goldens(), AGAIN).counters > 105


def test_every_launch_of_clusters_was_recorded_and_no_other():
    assert [*cluster_goldens()] == [*LAUNCHES], AGAIN


def test_accesses_to_other_blocks_are_counted_apart():
    counters = cluster_goldens()["cluster_gemm"]["counters"]
    # Of 16 elements of a tile's column 8 lie in the other block; each block reads them for 3 tiles, in 8 warps.
    assert counters["smsp__sass_inst_executed_op_dshared_ld.sum"] == 12 * 3 * 8 * 8
    assert counters["smsp__sass_inst_executed_op_dshared.sum"] < counters["smsp__sass_inst_executed_op_shared.sum"]


def run(name: str, level: str, checks: str = "raise") -> list[np.ndarray]:
    """The arguments of a launch after it."""
    launch, kernel = LAUNCHES[name], kernel_of(LAUNCHES[name])
    arguments = launch.make_arguments()
    with gpusim.record(level=level, checks=checks):
        kernel(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    return arguments


def test_blocks_read_what_their_neighbours_stored(level):
    x, out = run("neighbours", level)
    x, blocks = x.reshape(3, 4, 96), np.arange(4)
    np.testing.assert_array_equal(out.reshape(3, 4, 96), x[:, blocks - 1] + 10 * x + 100 * x[:, (blocks + 1) % 4, ::-1])


@pytest.mark.parametrize("blocks", [2, 4])
def test_a_histogram_is_spread_over_the_blocks_of_a_cluster(blocks, level):
    x, bins, *_ = run(f"cluster_histogram<{blocks}>", level)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=len(bins)))


def test_blocks_share_the_tiles_of_a_matrix(level):
    A, B, C, *_ = run("cluster_gemm", level)
    np.testing.assert_allclose(C, A.astype(np.float64) @ B.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_arriving_and_waiting_may_lie_apart(level):
    x, out, rounds = run("arrive_and_wait", level)
    value, between = x.reshape(3, 2, 64).astype(np.int64), np.zeros((3, 2, 64), np.int64)
    wrapped = lambda numbers: numbers.astype(np.uint32).view(np.int32).astype(np.int64)  # noqa: E731
    for number in range(rounds):
        for i in range(3 + 5):
            more = 3 + np.arange(6).reshape(3, 2, 1) > i
            between = np.where(more, wrapped(between * 5 + value + i), between)
        value = wrapped(np.roll(value[:, ::-1], number, axis=2) * 3 + number)
    np.testing.assert_array_equal(out.reshape(3, 2, 64), value ^ between)


def test_threads_that_have_left_count_as_arrived(level):
    x, out = run("ring", level)
    steps = np.arange(1, 9)
    ranks = (np.arange(8)[:, None] - 1 - np.arange(8)) % 8  # of those that have held it, the newest first
    added = (steps[::-1] * (1 + ranks)).sum(axis=1)
    np.testing.assert_array_equal(out.reshape(2, 8, 40), x.reshape(2, 8, 40) + added[:, None])


@pytest.mark.parametrize("name", [name for name in LAUNCHES if name.startswith("far_accesses")])
def test_accesses_of_every_width_reach_another_block(name, level):
    x, out, stride, by = run(name, level)
    x, thread = x.reshape(4, 256, -1), np.arange(64)
    expected = np.zeros((4, 64, x.shape[2]), x.dtype)
    for block in range(4):
        expected[block][thread * 9 % 64] = x[block][(thread * stride + by) % 256]
    np.testing.assert_array_equal(out.reshape(expected.shape), expected)


@pytest.mark.parametrize("size", [(2, 1, 1), (2, 2, 1), (2, 1, 3), (3, 1, 1), (1, 5, 1), (7, 1, 1), (8, 1, 1)])
def test_a_block_knows_its_place_in_the_cluster(size, level):
    name = f"cluster_shape<{', '.join(map(str, size))}>"
    (out,), launch = run(name, level), LAUNCHES[name]
    for number, row in enumerate(out.tolist()):
        block = [number // np.prod(launch.grid[:axis], dtype=int) % launch.grid[axis] for axis in range(3)]
        index = [coordinate % each for coordinate, each in zip(block, size, strict=True)]
        rank, blocks = index[0] + size[0] * (index[1] + size[1] * index[2]), int(np.prod(size))
        assert row[:2] == [rank, blocks]
        assert row[2:8] == [*index, *size]
        assert row[8:14] == [*(a // b for a, b in zip(block + list(launch.grid), size * 2, strict=True))]
        assert row[14:16] == [rank, blocks]
        assert row[16] == index[0] + 100 * index[1] + 10000 * index[2]
        assert row[17] == size[0] + 100 * size[1] + 10000 * size[2]
        assert row[18:20] == [rank, blocks * int(np.prod(launch.block))]


def launched(
    body: str, grid: int = 2, block: int = 32, dims: str = "__cluster_dims__(2, 1, 1)", checks: str = "raise",
    level: str = "sass",
):  # fmt: skip
    """What blocks of a kernel write into `out`; `s` lies in shared memory, `c` is the cluster."""
    source = f"""{HEAD}extern "C" __global__ void {dims} kernel(int *out) {{
        __shared__ int s[32];
        const cg::cluster_group c = cg::this_cluster();
        s[threadIdx.x % 32] = 100 * blockIdx.x + threadIdx.x;
        {body}
    }}"""
    out = np.full(grid * block, -1, np.int32)
    with gpusim.record(level=level, checks=checks):
        gpusim.RawModule(code=source, arch="sm_90").get_function("kernel")((grid,), (block,), (out,))
    return out


def test_a_rank_that_the_cluster_has_not_is_out_of_bounds():
    with pytest.raises(errors.OutOfBounds, match=r"rank 5 of its cluster, which has 2 blocks") as caught:
        launched("c.sync();\n out[threadIdx.x] = c.map_shared_rank(s, 5)[threadIdx.x]; c.sync();")
    assert "num_blocks()" in str(caught.value) and caught.value.line == 8


def test_index_beyond_another_blocks_shared_memory_is_found():
    with pytest.raises(errors.OutOfBounds, match=r"byte 4000 of the shared memory of rank 1, which has 128 bytes"):
        launched("c.sync(); out[threadIdx.x] = c.map_shared_rank(s, c.block_rank() ^ 1)[1000]; c.sync();")


def test_a_block_that_has_ended_takes_its_shared_memory_along():
    body = """if (c.block_rank() == 1) return;
        for (int i = 0; i < 3000 && s[0] >= 0; ++i) s[threadIdx.x] ^= i & 1;
        out[threadIdx.x] = c.map_shared_rank(s, 1)[threadIdx.x];"""
    with pytest.raises(errors.OutOfBounds, match=r"block \(1, 0, 0\), which has ended") as caught:
        launched(body, checks="off")
    assert "cluster.sync() before the end" in str(caught.value)


def test_a_barrier_that_a_block_does_not_reach_is_named():
    with pytest.raises(errors.BarrierError, match=r"waits for ever at the barrier of its cluster") as caught:
        launched("c.sync(); if (blockIdx.x == 0 || threadIdx.x < 32) c.sync(); else __syncthreads();", block=64)
    assert "thread (32, 0, 0) of block (1, 0, 0) and 31 more threads have not arrived" in str(caught.value)


def test_waiting_without_having_arrived_is_an_error():
    with pytest.raises(errors.BarrierError, match="without having arrived"):
        launched('asm volatile("barrier.cluster.wait;" ::: "memory"); out[threadIdx.x] = 1;')


def test_arriving_twice_is_an_error():
    body = 'asm volatile("barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");'
    with pytest.raises(errors.BarrierError, match="twice without waiting"):
        launched(body)


def test_a_grid_that_is_no_multiple_of_the_cluster_is_refused():
    with pytest.raises(errors.LaunchError, match=r"\(3, 1, 1\) blocks cannot be divided into clusters of \(2, 1, 1\)"):
        launched("out[0] = 1;", grid=3)


def test_a_cluster_of_more_than_8_blocks_is_refused():
    with pytest.raises(errors.LaunchError, match=r"has|have 9 blocks, and a GPU takes at most 8"):
        launched("out[0] = 1;", grid=9, dims="__cluster_dims__(9)")


def test_without_clusters_rank_0_is_the_blocks_own_shared_memory(level):
    out = launched("out[32 * blockIdx.x + threadIdx.x] = c.map_shared_rank(s, 0)[threadIdx.x];", dims="", level=level)
    np.testing.assert_array_equal(out.reshape(2, 32), 100 * np.arange(2)[:, None] + np.arange(32))


def test_without_clusters_there_is_no_rank_1(level):
    with pytest.raises(errors.OutOfBounds, match=r"rank 1 of its cluster, which has one block") as caught:
        launched("out[threadIdx.x] = c.map_shared_rank(s, 1)[threadIdx.x];", dims="", level=level)
    assert "__cluster_dims__(2)" in str(caught.value)


def test_reading_another_blocks_store_without_barrier_is_a_race(level):
    body = "__syncthreads();\n out[threadIdx.x] = c.map_shared_rank(s, c.block_rank() ^ 1)[threadIdx.x]; c.sync();"
    with pytest.raises(errors.RaceError, match="race in shared memory between blocks of a cluster") as caught:
        launched(body, level=level)
    assert "Put cluster.sync() between the two accesses" in str(caught.value)
    assert {6, 8} == set(caught.value.lines)
    assert caught.value.report.findings[0].block != caught.value.report.findings[0].other_block


def test_arriving_without_waiting_orders_nothing(level):
    body = """c.barrier_arrive();
        out[threadIdx.x] = c.map_shared_rank(s, c.block_rank() ^ 1)[threadIdx.x];
        asm volatile("barrier.cluster.wait;" ::: "memory");
        c.sync();"""
    with pytest.raises(errors.RaceError, match="between blocks of a cluster"):
        launched(body, level=level)


def test_reading_unwritten_cluster_memory_names_its_block(level):
    body = "__shared__ int t[32]; c.sync();\n out[threadIdx.x] = c.map_shared_rank(t, c.block_rank() ^ 1)[0]; c.sync();"
    with pytest.raises(errors.UninitializedRead, match=r"t\[0\] of block \(1, 0, 0\), which no thread has written"):
        launched(body, level=level)


def test_what_another_block_stores_is_written(level):
    body = """__shared__ int t[32];
        c.map_shared_rank(t, c.block_rank() ^ 1)[threadIdx.x] = 7 + c.block_rank();
        c.sync();
        out[32 * blockIdx.x + threadIdx.x] = t[31 - threadIdx.x];"""
    # A block must be there before others store into its shared memory.
    out = launched("c.sync();" + body, level=level)
    np.testing.assert_array_equal(out.reshape(2, 32), [[8] * 32, [7] * 32])


def test_block_may_not_end_while_another_may_still_reach_into_it(level):
    body = "c.sync();\n out[threadIdx.x] = c.map_shared_rank(s, c.block_rank() ^ 1)[threadIdx.x];"
    with pytest.raises((errors.RaceError, errors.OutOfBounds), match=r"ended") as caught:
        launched(body, level=level)
    assert "cluster.sync()" in str(caught.value)


def test_cluster_barrier_orders_global_memory(level):
    body = """out[32 * blockIdx.x + threadIdx.x] = blockIdx.x;
        c.sync();
        s[threadIdx.x] = out[32 * (blockIdx.x ^ 1) + threadIdx.x];
        c.sync();
        out[32 * blockIdx.x + threadIdx.x] = 10 + s[threadIdx.x];"""
    np.testing.assert_array_equal(launched(body, level=level).reshape(2, 32)[:, 0], [11, 10])


def test_sums_in_another_block_of_every_type_are_whole(level):
    body = """__shared__ unsigned long long wide; __shared__ float real; __shared__ int most;
        if (threadIdx.x == 0) wide = 5, real = 0, most = -1;
        c.sync();
        const int other = c.block_rank() ^ 1;
        atomicAdd(c.map_shared_rank(&wide, other), 1ull << 33);
        atomicAdd(c.map_shared_rank(&real, other), 1.0f + threadIdx.x);
        atomicMax(c.map_shared_rank(&most, other), threadIdx.x);
        c.sync();
        out[32 * blockIdx.x + threadIdx.x] = threadIdx.x == 0 ? wide >> 32 : threadIdx.x == 1 ? real : most;"""
    np.testing.assert_array_equal(launched(body, level=level).reshape(2, 32)[:, :3], [[64, 528, 31]] * 2)


def test_the_largest_of_64_bits_in_another_block_may_be_lost():
    # ptxas makes of it a load and a store; an H200 counts no atomic operation in such a kernel.
    body = """__shared__ unsigned long long most;
        if (threadIdx.x == 0) most = 0;
        c.sync();
        if (threadIdx.x % 16 == 0) atomicMax(c.map_shared_rank(&most, 0), 1ull + threadIdx.x);
        c.sync();
        out[32 * blockIdx.x + threadIdx.x] = int(most);"""
    with pytest.raises(errors.RaceError, match="between blocks of a cluster"):
        launched(body)


def test_atomic_64_bit_sum_gives_the_old_value_everywhere(level):
    body = """__shared__ unsigned long long own;
        if (threadIdx.x == 0) own = 5;
        __syncthreads();
        if (threadIdx.x > 1) return;
        unsigned long long *sum = threadIdx.x == 0 ? &own : (unsigned long long *)(out + 32);
        const unsigned long long old = atomicAdd(sum, 3ull);
        out[threadIdx.x] = old >> 32 * threadIdx.x;
        out[threadIdx.x + 8] = *sum;"""
    out = launched(body, grid=1, block=64, dims="", level=level)
    np.testing.assert_array_equal(out[[0, 1, 8, 9]], [5, -1, 8, 2])


def test_blocks_arrive_at_an_mbarrier_of_another_one(level):
    body = """__shared__ unsigned long long b;
        __shared__ int v[32];
        const unsigned own = (unsigned)__cvta_generic_to_shared(&b);
        unsigned there, done = 0;
        if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(own) : "memory");
        v[threadIdx.x] = 0;
        c.sync();
        c.map_shared_rank(v, c.block_rank() ^ 1)[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(c.block_rank() ^ 1));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                         " selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(own) : "memory");
        out[32 * blockIdx.x + threadIdx.x] = v[31 - threadIdx.x];
        c.sync();"""
    # Four blocks, as on an H200.
    expected = [[100 * other + 31 - thread for thread in range(32)] for other in (1, 0, 3, 2)]
    np.testing.assert_array_equal(launched(body, grid=4, level=level).reshape(4, 32), expected)


def test_no_time_is_predicted_for_a_kernel_of_clusters():
    launch = LAUNCHES["neighbours"]
    with gpusim.record(level="sass") as recording:
        kernel_of(launch)(launch.grid, launch.block, tuple(launch.make_arguments()))
    with pytest.raises(gpusim.SimulatorError, match="neighbours cannot be predicted: .* clusters"):
        cycles.predict(recording)


def test_traced_blocks_bring_their_cluster_along():
    launch = LAUNCHES["neighbours"]
    arguments = launch.make_arguments()
    with gpusim.record(blocks=[(5, 0, 0)], only_traced=True) as recording:
        kernel_of(launch)(launch.grid, launch.block, tuple(arguments))
    assert recording.launches[0].facts.executed_blocks == 4
    np.testing.assert_array_equal(np.flatnonzero(arguments[1].any(axis=1)), [4, 5, 6, 7])
