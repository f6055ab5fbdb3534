"""Rows of scans, sorts and histograms."""

import numpy as np

from tests.gpusim.foreign.rows import held, right

I32, U32, F32 = np.int32, np.uint32, np.float32

held("scan_blelloch", "test_textbook_kernels.py::test_blellochs_scan")


@right("scan_koggestone_shfl_multi")
def _(run, rng):
    x, y = rng.integers(-99, 99, 500).astype(I32), np.zeros(500, I32)
    run("scan_by_warps", 3, 192, x, y, I32(500))
    assert y.tolist() == np.concatenate([np.cumsum(x[first : first + 192]) for first in (0, 192, 384)]).tolist()


@right("scan_decoupled_lookback")
def _(run, rng):
    n = 2000
    x, y = rng.integers(-999, 999, n).astype(I32), np.zeros(n, I32)
    run("scan_looking_back", 16, 128, x, y, np.zeros(16, U32), *np.zeros((2, 16), I32), np.zeros(1, U32), I32(n))
    assert y.tolist() == np.cumsum(x).tolist()


@right("radix_sort_1bit_split")
def _(run, rng):
    keys = rng.integers(0, 2**12, 256).astype(U32)
    wanted = np.sort(keys)
    run("radix_by_bits", 1, 256, keys, I32(12))
    assert keys.tolist() == wanted.tolist()


@right("radix_sort_4bit_multiblock")
def _(run, rng):
    n, blocks = 700, 3
    keys = rng.integers(0, 2**32, n).astype(U32)
    wanted = np.sort(keys)
    for shift in range(0, 32, 4):
        counts, out = np.zeros(16 * blocks, I32), np.zeros(n, U32)
        run("radix_counts", blocks, 256, keys, counts, I32(n), I32(shift))
        run("radix_places", blocks, 256, keys, (np.cumsum(counts) - counts).astype(I32), out, I32(n), I32(shift))
        keys = out
    assert keys.tolist() == wanted.tolist()


@right("bitonic_sort")
def _(run, rng):
    x = rng.integers(-500, 500, 512).astype(I32)
    wanted = np.sort(x)
    run("bitonic", 1, 512, x)
    assert x.tolist() == wanted.tolist()


@right("odd_even_mergesort_shfl")
def _(run, rng):
    x = rng.normal(size=(4, 32)).astype(F32)
    wanted = np.sort(x, axis=1)
    run("odd_even_merges", 2, 64, x)
    assert x.tolist() == wanted.tolist()


@right("merge_sort_global")
def _(run, rng):
    n, length = 150, 1
    x = rng.integers(-200, 200, n).astype(I32)
    wanted = np.sort(x)
    while length < n:
        out = np.zeros(n, I32)
        run("merge_pairs", -(-n // (2 * length) // 32) + 1, 32, x, out, I32(n), I32(length))
        x, length = out, 2 * length
    assert x.tolist() == wanted.tolist()


@right("histogram_shared_global")
def _(run, rng):
    x, bins = (rng.integers(0, 256, 1001) * rng.integers(0, 2, 1001)).astype(np.uint8), np.zeros(256, U32)
    run("histogram", 3, 96, x, bins, I32(1001))
    assert bins.tolist() == np.bincount(x, minlength=256).tolist()


@right("histogram_uchar4_vec")
def _(run, rng):
    x, bins = rng.integers(0, 99, 1003).astype(np.uint8), np.zeros(256, U32)
    padded = np.r_[x, np.full(1, 255, np.uint8)]
    run("histogram_of_vectors", 3, 96, padded, bins, I32(1003))
    assert bins.tolist() == np.bincount(x, minlength=256).tolist()
