"""Rows of asynchronous copies, cooperative groups, barriers and atomics of libcudacxx, CUB and cuRAND."""

import numpy as np

from tests.gpusim.foreign.rows import held, right

I32, U32, F32, F64 = np.int32, np.uint32, np.float32, np.float64


@right("cp_async_4_8_16")
def _(run, rng):
    x, out = rng.normal(size=64).astype(F32), np.zeros((3, 64), F32)
    run("copies_of_every_size", 1, 64, x, out, I32(41))
    assert out.tolist() == [x[::-1].tolist(), np.where(np.arange(64) < 41, x, 0)[::-1].tolist(), x[::-1].tolist()]


@right("pipeline_primitives_memcpy_async")
def _(run, rng):
    x, sums = rng.integers(-99, 99, (5, 64)).astype(F32), np.zeros(64, F32)
    run("two_stages", 1, 64, x, sums, I32(5))
    assert sums.tolist() == (x[:, ::-1] * np.arange(1, 6)[:, None]).sum(axis=0).tolist()


@right("cg_thread_block_tile_reduce", "cg_scan")
def _(run, rng):
    n = 192
    x, out = rng.integers(-99, 99, n).astype(I32), np.zeros((6, n), I32)
    run("tiles", 2, 96, x, out, I32(n))
    i, warps, eights = np.arange(n), x.reshape(-1, 32), x.reshape(-1, 8)
    assert out[0].tolist() == np.repeat(warps.sum(axis=1), 32).tolist()
    assert out[1].tolist() == np.repeat(eights.max(axis=1), 8).tolist()
    down = np.where(i % 8 < 6, np.roll(x, -2), x)
    assert out[2].tolist() == (down + 1000 * (i // 8 % 4) + 100000 * 3).tolist()
    assert out[3].tolist() == np.cumsum(warps, axis=1).ravel().tolist()
    assert out[4].tolist() == (np.cumsum(eights, axis=1) - eights).ravel().tolist()
    for k in range(n):
        warp = warps[k // 32]
        ballot = sum(1 << j for j in range(32) if warp[j] > 0)
        match = sum(1 << j for j in range(32) if warp[j] & 3 == x[k] & 3)
        assert int(out[5, k]) % 2**32 == ballot ^ match


@right("cg_coalesced_threads")
def _(run, rng):
    x, out, count = rng.integers(-9, 9, 150).astype(I32), np.zeros(150, I32), np.zeros(1, I32)
    run("coalesced", 2, 96, x, out, count, I32(150))
    assert sorted(out[: count[0]].tolist()) == sorted(x[x > 0].tolist())


@right("cg_labeled_binary_partition")
def _(run, rng):
    n = 96
    x, out = rng.integers(-9, 9, n).astype(I32), np.zeros((3, n), I32)
    run("partitions", 1, n, x, out, I32(n))
    for i in range(n):
        warp = range(i // 32 * 32, i // 32 * 32 + 32)
        same = [j for j in warp if x[j] & 3 == x[i] & 3]
        half = [j for j in warp if (x[j] > 0) == (x[i] > 0)]
        assert out[:, i].tolist() == [x[same].sum(), same.index(i), len(half) * 100 + half.index(i)]


@right("cg_memcpy_async")
def _(run, rng):
    x, out = rng.integers(-99, 99, (2, 96)).astype(I32), np.zeros((2, 96), I32)
    run("copies_of_groups", 2, 64, x, out, I32(192))
    assert (out == x[:, ::-1]).all()


held("cg_grid_sync", "test_cooperative.py::test_all_blocks_see_what_all_wrote_before_they_met")


@right("cuda_barrier_libcudacxx")
def _(run, rng):
    x, out = rng.integers(-99, 99, (3, 64)).astype(I32), np.zeros((3, 64), I32)
    run("arrives", 1, 64, x, out)
    assert (out == x[:, ::-1]).all()


@right("cuda_atomic_ref")
def _(run, rng):
    x, cells = rng.integers(-99, 99, 128).astype(I32), np.array([5, -1000, 3], I32)
    run("references", 2, 64, x, cells)
    turns = 3
    for _ in range(128):
        turns = turns * 2 % 1000003 + 1
    assert cells.tolist() == [5 + x.sum(), x.max(), turns]


@right("cuda_atomic_release_acquire")
def _(run, rng):
    data, flag, o = np.zeros(1, I32), np.zeros(1, I32), np.zeros(1, I32)
    run("releases_by_libcudacxx", 2, 32, data, flag, o)
    assert o[0] == 43


held("mbarrier_ptx", "test_mbarrier.py::test_some_arrive_and_others_wait_for_the_parity_of_a_phase",
     "test_mbarrier.py::test_thread_arrives_for_many_and_the_state_counts_missing")  # fmt: skip
held("cluster_dsmem cluster_ptx_ctarank", "test_clusters.py::test_blocks_read_what_their_neighbours_stored",
     "test_clusters.py::test_a_block_knows_its_place_in_the_cluster")  # fmt: skip
TEXTURES = "test_textures.py::test_the_texture_unit_answers_what_the_gpu_answered"
held("textures_tex2D tex1Dfetch", TEXTURES, "test_textures.py::test_every_call_reads_textures_as_on_the_gpu")
held("surface", "test_textures.py::test_kernels_read_and_write_surfaces_as_on_the_gpu")


@right("barriers_of_producers_and_consumers")
def _(run, rng):
    x, out = rng.random(5 * 96).astype(np.float32), np.zeros(5 * 96, np.float32)
    run("two_kinds_of_warps", 1, 128, x, out, I32(5), I32(96), shared_mem=4 * 2 * 96)
    assert (out.reshape(5, 96) == x.reshape(5, 96)[:, ::-1]).all()


CUB = """#include <cub/cub.cuh>
extern "C" __global__ void sorts(const unsigned *x, unsigned *y, int *sums, int *scanned) {
    using Sort = cub::BlockRadixSort<unsigned, 64, 4>;
    using Sum = cub::BlockReduce<int, 64>;
    using Scan = cub::BlockScan<int, 64>;
    __shared__ union { typename Sort::TempStorage sort;
        typename Sum::TempStorage sum; typename Scan::TempStorage scan; } s;
    unsigned keys[4];
    cub::LoadDirectBlocked(threadIdx.x, x, keys);
    const int own = (int)(keys[0] % 1000) - 500;
    Sort(s.sort).Sort(keys);
    cub::StoreDirectBlocked(threadIdx.x, y, keys);
    __syncthreads();
    const int sum = Sum(s.sum).Sum(own), most = (__syncthreads(), Sum(s.sum).Reduce(own, cub::Max()));
    if (threadIdx.x == 0) sums[0] = sum, sums[1] = most;
    __syncthreads();
    Scan(s.scan).ExclusiveSum(own, scanned[threadIdx.x]);
}"""


@right("cub_block_reduce", "cub_radix_sort")
def _(run, rng):
    x, y, sums, scanned = (
        rng.integers(0, 2**32, 256).astype(U32),
        np.zeros(256, U32),
        np.zeros(2, I32),
        np.zeros(64, I32),
    )
    run.once(CUB, "sorts", 1, 64, x, y, sums, scanned)
    own = x[::4].astype(int) % 1000 - 500
    assert y.tolist() == np.sort(x).tolist() and sums.tolist() == [own.sum(), own.max()]
    assert scanned.tolist() == (np.cumsum(own) - own).tolist()
