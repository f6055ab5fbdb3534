"""Rows of numerical kernels."""

import numpy as np

from tests.gpusim.foreign.rows import held, right

I32, U32, F32, F64 = np.int32, np.uint32, np.float32, np.float64

for names, test in {
    "nbody": "bodies_attract_each_other",
    "fft_radix2_shared": "a_fourier_transform_in_shared_memory",
    "spmv_ell_scalar": "a_sparse_matrix_in_ell_form",
    "bfs_frontier": "a_graph_is_searched_by_breadth",
    "kmeans": "points_go_to_the_nearest_centre",
    "softmax_online": "softmax_in_one_pass",
    "philox4x32": "philox_gives_the_numbers_of_its_definition",
    "hash_table_cas": "a_hash_table_counts_its_keys",
}.items():
    held(names, f"test_textbook_kernels.py::test_{test}")


@right("transpose_tile")
def _(run, rng):
    x, y = rng.normal(size=(45, 70)).astype(F32), np.zeros((70, 45), F32)
    run("transpose", (3, 2), (32, 8), x, y, I32(45), I32(70))
    assert (y == x.T).all()


@right("fft_complex64_arg")
def _(run, rng):
    x = (rng.integers(-9, 9, 50) + 1j * rng.integers(-9, 9, 50)).astype(np.complex64)
    y, by = np.zeros(50, np.complex64), np.complex64(3 - 2j)
    run("scale_complex", 2, 32, x, y, by, I32(50))
    assert (y == x * by).all()


@right("mandelbrot")
def _(run, rng):
    width, height, limit = 30, 21, 60
    steps = np.zeros((height, width), I32)
    run("escape", (2, 3), (16, 8), steps, I32(width), I32(height), I32(limit))
    cx, cy = -2.0 + 3.0 * np.arange(width) / width, (-1.25 + 2.5 * np.arange(height) / height)[:, None]
    x, y, wanted = np.zeros((height, width)), np.zeros((height, width)), np.zeros((height, width), int)
    for _ in range(limit):
        inside = x * x + y * y <= 4
        wanted += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    assert (steps == wanted).all() and len(np.unique(steps)) > 10


@right("spmv_csr_vector")
def _(run, rng):
    rows, columns = 37, 90
    dense = np.where(rng.random((rows, columns)) < rng.random((rows, 1)), rng.normal(size=(rows, columns)), 0)
    row, column = np.nonzero(dense)
    starts, values = np.searchsorted(row, np.arange(rows + 1)).astype(I32), dense[row, column].astype(F32)
    x, y = rng.normal(size=columns).astype(F32), np.zeros(rows, F32)
    run("spmv_csr", 10, 128, starts, column.astype(I32), values, x, y, I32(rows))
    assert np.allclose(y, dense.astype(F32).astype(F64) @ x, atol=1e-5)


@right("rodinia_bfs_masks")
def _(run, rng):
    n = 90
    targets = [rng.integers(0, n, rng.integers(0, 4)) for _ in range(n)]
    counts = np.array([len(to) for to in targets], I32)
    nodes, edges = (
        np.stack([np.cumsum(counts) - counts, counts], axis=1).astype(I32),
        np.concatenate(targets).astype(I32),
    )
    mask, following, seen, cost = (np.zeros(n, dtype) for dtype in (bool, bool, bool, I32))
    start = max(range(n), key=lambda v: counts[v])
    cost[:], mask[start], seen[start], cost[start] = -1, True, True, 0
    more = np.ones(1, bool)
    while more[0]:
        more[0] = False
        run("visit", 3, 32, nodes, edges, mask, following, seen, cost, I32(n))
        run("advance", 3, 32, mask, following, seen, more, I32(n))
    wanted, reached = {start: 0}, [start]
    for v in reached:
        for to in targets[v].tolist():
            if to not in wanted:
                wanted[to] = wanted[v] + 1
                reached.append(to)
    assert cost.tolist() == [wanted.get(v, -1) for v in range(n)] and len(wanted) > 10


def convolved(image, weights):
    """The correlation of an image with weights, zeros around it."""
    radius = len(weights) // 2
    padded = np.pad(image.astype(F64), radius)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape)
    return (windows * weights.astype(F64)).sum(axis=(2, 3))


@right("conv2d_constant_mem")
def _(run, rng):
    image, weights = rng.normal(size=(21, 35)).astype(F32), rng.normal(size=(5, 5)).astype(F32)
    out = np.zeros_like(image)
    run.fill("filter", weights)
    run("convolve", (3, 2), (16, 16), image, out, I32(35), I32(21))
    assert np.allclose(out, convolved(image, weights), atol=1e-5)


@right("conv2d_const_init")
def _(run, rng):
    image = rng.normal(size=(13, 21)).astype(F32)
    out = np.zeros_like(image)
    run("convolve_3x3", (3, 2), (8, 8), image, out, I32(21), I32(13))
    assert np.allclose(out, convolved(image, np.array([[0, -1, 0.5], [-1.5, 5, -1], [0.25, -1, 0]])), atol=1e-5)


@right("layernorm")
def _(run, rng):
    x, gain, bias = (rng.normal(size=size).astype(F32) for size in ((3, 150), 150, 150))
    y = np.zeros_like(x)
    run("layer_norm", 3, 64, x, gain, bias, y, I32(150))
    wide = x.astype(F64)
    wanted = (wide - wide.mean(axis=1, keepdims=True)) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5) * gain + bias
    assert np.allclose(y, wanted, atol=1e-5)


@right("softmax_INFINITY_macro")
def _(run, rng):
    x, keep = rng.normal(0, 5, (4, 50)).astype(F32), (rng.random((4, 50)) < 0.6).astype(np.uint8)
    keep[3] = 0  # a row of which nothing is left
    y = np.zeros_like(x)
    run("softmax_masked", 4, 32, x, keep, y, I32(50))
    powers = np.exp(x[:3].astype(F64)) * keep[:3]
    assert np.allclose(y[:3], powers / powers.sum(axis=1, keepdims=True), atol=1e-6)
    assert np.array_equal(y[3], np.zeros(50))


@right("flash_attention_fp32")
def _(run, rng):
    q, k, v = rng.normal(size=(3, 43, 16)).astype(F32)
    out = np.zeros_like(q)
    run("attention", 2, 32, q, k, v, out, I32(43))
    scores = q.astype(F64) @ k.T.astype(F64) / 4
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert np.allclose(out, powers / powers.sum(axis=1, keepdims=True) @ v, atol=5e-6)


@right("batchnorm_train")
def _(run, rng):
    x = rng.normal(2, 3, (4, 3, 35)).astype(F32)
    y, mean, variance = np.zeros_like(x), np.zeros(3, F32), np.zeros(3, F32)
    run("batch_norm", 3, 64, x, y, mean, variance, I32(4), I32(3), I32(35))
    wide = x.astype(F64)
    middle, spread = wide.mean(axis=(0, 2)), wide.var(axis=(0, 2))
    assert np.allclose(mean, middle, rtol=1e-6) and np.allclose(variance, spread, rtol=1e-6)
    assert np.allclose(y, (wide - middle[:, None]) / np.sqrt(spread[:, None] + 1e-5), atol=1e-6)


@right("hash_table_cas64")
def _(run, rng):
    keys, values = rng.integers(1, 90, 300).astype(U32), rng.integers(0, 2**32, 300).astype(U32)
    table = np.zeros(131, np.uint64)
    run("insert", 3, 128, table, keys, values, I32(300), U32(131))
    pairs = {int(pair) >> 32: int(pair) & 0xFFFFFFFF for pair in table if pair}
    assert pairs == {int(key): int(values[keys == key].max()) for key in np.unique(keys)}


@right("dgemm_double")
def _(run, rng):
    a, b, c = rng.integers(-(2**25), 2**25, (13, 21)), rng.integers(-(2**20), 2**20, (21, 18)), np.zeros((13, 18))
    run("dgemm", (3, 2), (8, 8), a.astype(F64), b.astype(F64), c, I32(13), I32(18), I32(21))
    assert (c == a @ b).all()


@right("dp4a_gemm")
def _(run, rng):
    a, b, c = rng.integers(-128, 128, (9, 20)), rng.integers(-128, 128, (13, 20)), np.zeros((9, 13), I32)
    words = [matrix.astype(np.int8).view(I32) for matrix in (a, b)]
    run("gemm_of_bytes", (2, 2), (8, 8), *words, c, I32(9), I32(13), I32(5))
    assert (c == a @ b.T).all()
