"""Rows of further kernels: PMPP's chapters, samples, GPU puzzles, networks, libcudacxx, and C++ as people write it."""

import hashlib
import math

import numpy as np

from tests.gpusim.foreign.halves import brain, once, wide
from tests.gpusim.foreign.rows import right

I32, U32, U64, F16, F32, F64 = np.int32, np.uint32, np.uint64, np.float16, np.float32, np.float64


@right("pmpp_coarsened_product")
def _(run, rng):
    a, b = rng.integers(-9, 9, (13, 21)).astype(F32), rng.integers(-9, 9, (21, 41)).astype(F32)
    c = np.zeros((13, 41), F32)
    run("coarsened", (2, 2), (8, 8), a, b, c, I32(13), I32(41), I32(21))
    assert (c == a @ b).all()


@right("pmpp_merge_by_co_ranks")
def _(run, rng):
    a, b = np.sort(rng.integers(0, 60, 83)).astype(I32), np.sort(rng.integers(0, 60, 50)).astype(I32)
    out = np.zeros(133, I32)
    run("merges", 1, 32, a, I32(83), b, I32(50), out, I32(5))
    assert out.tolist() == sorted([*a.tolist(), *b.tolist()])


@right("pmpp_stencil_in_registers")
def _(run, rng):
    n = 11
    x = rng.integers(-9, 9, (n, n, n)).astype(F32)
    out, p = np.zeros_like(x), np.pad(x, 1)
    run("seven_points", (2, 2), (8, 8), x, out, I32(n))
    around = p[:-2, 1:-1, 1:-1] + p[2:, 1:-1, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 2:, 1:-1]
    assert (out == 6 * x - around - p[1:-1, 1:-1, :-2] - p[1:-1, 1:-1, 2:]).all()


@right("pmpp_queue_of_a_block")
def _(run, rng):
    n = 80
    targets = [rng.integers(0, n, 3) for _ in range(n)]
    starts, edges = np.arange(0, 3 * n + 1, 3).astype(I32), np.concatenate(targets).astype(I32)
    levels, queue, level = np.full(n, -1, I32), np.array([7], I32), 0
    levels[7] = 0
    while len(queue):
        level += 1
        following, count = np.zeros(n, I32), np.zeros(1, I32)
        run("queue_of_block", 2, 32, starts, edges, levels, queue, I32(len(queue)), following, count, I32(level))
        queue = following[: count[0]].copy()
    wanted, reached = {7: 0}, [7]
    for v in reached:
        for to in targets[v].tolist():
            if to not in wanted:
                wanted[to] = wanted[v] + 1
                reached.append(to)
    assert levels.tolist() == [wanted.get(v, -1) for v in range(n)]


@right("pmpp_potential_of_atoms")
def _(run, rng):
    atoms = rng.uniform(0.5, 3, (16, 4)).astype(F32)
    run.fill("atoms", atoms)
    grid = rng.normal(size=(10, 19)).astype(F32)
    y, x = np.indices(grid.shape)
    apart = np.sqrt(
        (x[..., None] * 0.25 - atoms[:11, 0]) ** 2 + (y[..., None] * 0.25 - atoms[:11, 1]) ** 2 + atoms[:11, 2] ** 2.0
    )
    wanted = grid + (atoms[:11, 3] / apart).sum(axis=2)
    run("potential", (2, 2), (16, 8), grid, I32(19), I32(10), F32(0.25), I32(11))
    assert np.allclose(grid, wanted, rtol=1e-5)


@right("pmpp_spmv_coo", "pmpp_spmv_jds")
def _(run, rng):
    rows, columns = 37, 50
    dense = np.where(rng.random((rows, columns)) < rng.random((rows, 1)) / 2, rng.integers(-9, 9, (rows, columns)), 0)
    x, wanted = rng.integers(-9, 9, columns).astype(F32), None
    wanted = dense @ x
    row, column = np.nonzero(dense)
    mixed = rng.permutation(len(row))
    y = np.zeros(rows, F32)
    values = dense[row, column].astype(F32)
    run(
        "spmv_coo",
        -(-len(row) // 64),
        64,
        row[mixed].astype(I32),
        column[mixed].astype(I32),
        values[mixed],
        x,
        y,
        I32(len(row)),
    )
    assert y.tolist() == wanted.tolist()
    lengths = (dense != 0).sum(axis=1)
    order = np.argsort(-lengths, kind="stable")
    diagonals, flat, data = [], [], []
    for d in range(lengths.max()):
        diagonals.append(len(flat))
        for r in order:
            if lengths[r] > d:
                flat.append(np.flatnonzero(dense[r])[d])
                data.append(dense[r, flat[-1]])
    y = np.full(rows, -1, F32)
    arrays = (
        order.astype(I32),
        np.array(diagonals, I32),
        lengths[order].astype(I32),
        np.array(flat, I32),
        np.array(data, F32),
    )
    run("spmv_jds", 2, 32, *arrays, x, y, I32(rows))
    assert y.tolist() == wanted.tolist()


@right("sample_sobel")
def _(run, rng):
    image = rng.integers(0, 256, (17, 30))
    out = np.zeros((17, 30), np.uint8)
    run("sobel", (2, 3), (16, 8), image.astype(np.uint8), out, I32(30), I32(17))
    p = image
    h = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    v = p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:] - p[2:, :-2] - 2 * p[2:, 1:-1] - p[2:, 2:]
    assert (out[1:-1, 1:-1] == np.minimum(abs(h) + abs(v), 255)).all() and not out[0].any()


@right("sample_black_scholes")
def _(run, rng):
    n = 50
    s, k, t = rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)
    call, put = np.zeros(n), np.zeros(n)
    run("options", 2, 32, s, k, t, call, put, F64(0.02), F64(0.3), I32(n))
    d1 = (np.log(s / k) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    d2, e = d1 - 0.3 * np.sqrt(t), np.exp(-0.02 * t)
    cdf = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))
    assert np.allclose(call, s * cdf(d1) - k * e * cdf(d2), atol=1e-12)
    assert np.allclose(put, k * e * cdf(-d2) - s * cdf(-d1), atol=1e-12)


@right("sample_haar_wavelets")
def _(run, rng):
    x = rng.integers(-64, 64, 64).astype(F32)
    wanted, part = [], x.astype(F64)
    while len(part) > 1:
        wanted, part = [*((part[::2] - part[1::2]) / 2), *wanted], (part[::2] + part[1::2]) / 2
    run("haar", 1, 64, x, shared_mem=256)
    assert x.tolist() == [*part, *wanted]


@right("puzzle_broadcast", "puzzle_pooling")
def _(run, rng):
    a, b, out = rng.integers(-9, 9, 11).astype(F32), rng.integers(-9, 9, 13).astype(F32), np.zeros((11, 13), F32)
    run("outer_sum", (2, 2), (8, 8), a, b, out, I32(11), I32(13))
    assert (out == a[:, None] + b).all()
    x, pooled = rng.integers(-9, 9, 70).astype(F32), np.zeros(70, F32)
    run("pools", 3, 32, x, pooled, I32(70))
    assert pooled.tolist() == (x + np.r_[0, x[:-1]] + np.r_[0, 0, x[:-2]]).tolist()


@right("network_gelu_and_gradient")
def _(run, rng):
    x, up = rng.normal(0, 2, (2, 90)).astype(F32)
    y, down = np.zeros(90, F32), np.zeros(90, F32)
    run("gelu", 3, 32, x, up, y, down, I32(90))
    v, c = x.astype(F64), math.sqrt(2 / math.pi)
    t = np.tanh(c * (v + 0.044715 * v**3))
    assert np.allclose(y, 0.5 * v * (1 + t), atol=2e-6)
    assert np.allclose(down, up * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * c * (1 + 3 * 0.044715 * v * v)), atol=5e-6)


@right("network_adam")
def _(run, rng):
    n = 70
    w, g, m = rng.normal(size=(3, n)).astype(F32)
    v = rng.random(n).astype(F32)
    before = [a.astype(F64) for a in (w, g, m, v)]
    run("adam", 3, 32, w, g, m, v, F32(0.01), F32(0.9), F32(0.999), F32(0.1), F32(0.001), F32(0.02), I32(n))
    w0, g0, m0, v0 = before
    m1, v1 = 0.9 * m0 + 0.1 * g0, 0.999 * v0 + 0.001 * g0 * g0
    assert np.allclose(m, m1, atol=1e-6) and np.allclose(v, v1, atol=1e-6)
    assert np.allclose(w, w0 - 0.01 * (m1 / 0.1 / (np.sqrt(v1 / 0.001) + 1e-8) + 0.02 * w0), atol=2e-6)


@right("network_cross_entropy")
def _(run, rng):
    logits, labels = rng.normal(0, 4, (5, 130)).astype(F32), rng.integers(0, 130, 5)
    losses, gradient = np.zeros(5, F32), np.zeros((5, 130), F32)
    run("cross_entropy", 5, 64, logits, labels.astype(I32), losses, gradient, I32(130))
    powers = np.exp(logits.astype(F64))
    p = powers / powers.sum(axis=1, keepdims=True)
    assert np.allclose(losses, -np.log(p[np.arange(5), labels]), atol=1e-5)
    p[np.arange(5), labels] -= 1
    assert np.allclose(gradient, p, atol=1e-6)


@right("network_embedding_gradient")
def _(run, rng):
    tokens, up, table = rng.integers(0, 6, 20), rng.integers(-9, 9, (20, 9)).astype(F32), np.zeros((6, 9), F32)
    run("embedding_gradient", 3, 64, tokens.astype(I32), up, table, I32(20), I32(9))
    assert table.tolist() == [up[tokens == t].sum(axis=0).tolist() for t in range(6)]


@right("network_rope")
def _(run, rng):
    x = (rng.normal(size=(7, 3, 16)) + 1j * rng.normal(size=(7, 3, 16))).astype(np.complex64)
    turned = x * np.exp(1j * np.arange(7)[:, None, None] * 10000.0 ** (-np.arange(16) / 16))
    run("rope", 7, (16, 3), x, I32(3), I32(16), F32(10000))
    assert np.abs(x - turned).max() < 2e-6


@right("network_rms_norm_of_bf16")
def _(run, rng):
    x, gain = brain(rng.normal(size=(3, 100))), brain(rng.normal(size=100))
    y = np.zeros((3, 100), np.uint16)
    run("rms_norm", 3, 32, x, gain, y, I32(50))
    v = wide(x)
    wanted = v / np.sqrt((v * v).mean(axis=1, keepdims=True) + 1e-6) * wide(gain)
    assert (np.abs(wide(y) - wanted) <= np.abs(wanted) * 2.0**-8 * 1.001).all()


@right("network_im2col")
def _(run, rng):
    image = rng.normal(size=(3, 9, 11)).astype(F32)
    out_h, out_w = (9 + 2 - 3) // 2 + 1, (11 + 2 - 3) // 2 + 1
    columns = np.zeros((27, out_h * out_w), F32)
    run("im2col", 2, 64, image, columns, *map(I32, (3, 9, 11, 3, 1, 2, out_h, out_w)))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2))[
        :, ::2, ::2
    ]
    assert columns.tolist() == windows.transpose(0, 3, 4, 1, 2).reshape(27, -1).tolist()


@right("network_max_pool_with_places")
def _(run, rng):
    x, y, where = rng.integers(-9, 9, (10, 18)).astype(F32), np.zeros((5, 9), F32), np.zeros((5, 9), np.uint8)
    run("max_pool", (2, 1), (8, 8), x, y, where, I32(10), I32(18))
    fours = x.reshape(5, 2, 9, 2).transpose(0, 2, 1, 3).reshape(5, 9, 4)
    assert (y == fours.max(axis=2)).all() and (where == fours.argmax(axis=2)).all()


@right("network_top_k")
def _(run, rng):
    x, values, places = rng.integers(-50, 50, (4, 100)).astype(F32), np.zeros((4, 3), F32), np.zeros((4, 3), I32)
    run("top_3", 4, 32, x, values, places, I32(100))
    order = np.argsort(-x, axis=1, kind="stable")[:, :3]
    assert places.tolist() == order.tolist() and values.tolist() == np.take_along_axis(x, order, 1).tolist()


@right("network_quantised_rows", "network_weights_of_4_bits")
def _(run, rng):
    x, q, scales = rng.normal(size=(3, 90)).astype(F32), np.zeros((3, 90), np.int8), np.zeros(3, F32)
    run("quantises", 3, 64, x, q, scales, I32(90))
    wanted = np.abs(x).max(axis=1) / F32(127)
    assert np.allclose(scales, wanted, rtol=2e-7)
    assert q.tolist() == np.clip(np.rint(x / scales[:, None]), -127, 127).astype(int).tolist()
    packed, halves, out = rng.integers(0, 2**32, 20).astype(U32), rng.random(10).astype(F16), np.zeros(160, F16)
    run("four_bits", 1, 32, packed, halves, out, I32(20), I32(16))
    nibbles = (packed[:, None] >> (4 * np.arange(8, dtype=U32)) & 15).astype(int).ravel() - 8
    assert out.tolist() == once(nibbles * np.repeat(halves, 16).astype(F64)).tolist()


@right("modern_cpp")
def _(run, rng):
    n = 50
    x, out = rng.integers(1, 2**32, n).astype(U32) >> rng.integers(0, 31, n).astype(U32), np.zeros(n, I32)
    run("modern", 2, 32, x, out, I32(n))
    for i, v in enumerate(x.tolist()):
        squares = sum(k * k for k in range(1, i % 4 + 2))
        assert out[i] == 3 * i + 6 + 8000 + 2 * v.bit_count() + i + squares * 100000 + 32 - v.bit_length()


@right("groups_by_ranks")
def _(run, rng):
    x, out = rng.integers(-9, 9, 96).astype(I32), np.zeros(96, I32)
    run("by_ranks", 2, 48, x, out, I32(96))
    fours = x.reshape(-1, 4)
    wanted = fours.sum(axis=1) * 4 + (fours > 7).any(axis=1) * 2 + (fours > -7).all(axis=1)
    assert out.tolist() == np.repeat(wanted, 4).tolist()


@right("aggregated_by_match")
def _(run, rng):
    keys, counts = rng.integers(0, 7, 150).astype(I32), np.zeros(7, I32)
    run("counts_by_match", 3, 64, keys, counts, I32(150))
    assert counts.tolist() == np.bincount(keys, minlength=7).tolist()


@right("warp_sorts_pairs")
def _(run, rng):
    keys, order = rng.integers(0, 9, 32).astype(I32), np.zeros(32, I32)
    run("sorts_pairs", 1, 32, keys, order)
    assert order.tolist() == np.argsort(keys, kind="stable").tolist()


@right("segmented_scan")
def _(run, rng):
    x, heads, out = rng.integers(-9, 9, 128).astype(I32), (rng.random(128) < 0.1).astype(I32), np.zeros(128, I32)
    run("scans_segments", 1, 128, x, heads, out)
    sums = []
    for v, head in zip(x.tolist(), heads.tolist(), strict=True):
        sums.append(v if head or not sums else sums[-1] + v)
    assert out.tolist() == sums


@right("life_on_bits")
def _(run, rng):
    n = 40
    rows, out = rng.integers(0, 2**32, n).astype(U32), np.zeros(n, U32)
    run("life_on_bits", 2, 32, rows, out, I32(n))
    cells = np.array([[row >> b & 1 for b in range(32)] for row in rows.tolist()])
    p = np.pad(cells, 1)
    around = sum(p[1 + a : 1 + a + n, 1 + b : 33 + b] for a in (-1, 0, 1) for b in (-1, 0, 1)) - cells
    following = (around == 3) | (cells == 1) & (around == 2)
    assert out.tolist() == [sum(1 << b for b in range(32) if row[b]) for row in following]


@right("pcg_random_numbers")
def _(run, rng):
    out = np.zeros((64, 4), U32)
    run("random_numbers", 2, 32, out, I32(64), U64(2**63 + 12345))
    for i in range(64):
        state = 2**63 + 12345 + i
        for k in range(4):
            word, turn = (state >> 18 ^ state) >> 27 & 0xFFFFFFFF, state >> 59
            assert out[i, k] == (word >> turn | word << (32 - turn)) & 0xFFFFFFFF
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64


@right("primes_by_miller_and_rabin")
def _(run, rng):
    n = np.r_[np.arange(60), rng.integers(2**20, 2**31, 40), [2**31 - 1, 46337**2, 65537, 3215031751 - 2]].astype(U64)
    out = np.zeros(len(n), I32)
    run("primes", 4, 32, n, out, I32(len(n)))
    assert out.tolist() == [v > 1 and all(v % d for d in range(2, math.isqrt(v) + 1)) for v in n.tolist()]


@right("finds_words")
def _(run, rng):
    text = bytes(rng.choice(list(b"ab"), 200).tolist())
    places, count = np.zeros(200, I32), np.zeros(1, I32)
    run(
        "finds",
        4,
        64,
        np.frombuffer(text, np.int8).copy(),
        I32(200),
        np.frombuffer(b"abba", np.int8).copy(),
        I32(4),
        places,
        count,
    )
    assert sorted(places[: count[0]].tolist()) == [i for i in range(197) if text[i : i + 4] == b"abba"]


@right("sha_256")
def _(run, rng):
    texts = [rng.bytes(int(size)) for size in rng.integers(0, 56, 16)]
    blocks = b"".join(t + b"\x80" + bytes(55 - len(t)) + (8 * len(t)).to_bytes(8, "big") for t in texts)
    digest = np.zeros((16, 8), U32)
    run("sha_256", 1, 16, np.frombuffer(blocks, U32).copy(), digest)
    assert [row.astype(">u4").tobytes() for row in digest] == [hashlib.sha256(t).digest() for t in texts]


@right("cholesky", "tridiagonal_batch")
def _(run, rng):
    n = 13
    m = rng.normal(size=(n, n))
    a = m @ m.T + n * np.eye(n)
    factor = a.copy()
    run("cholesky", 1, 32, factor, I32(n))
    assert np.allclose(np.tril(factor), np.linalg.cholesky(a), rtol=1e-12)
    sub, over, d = rng.normal(size=(3, 20, 11))
    main, x = rng.normal(size=(20, 11)) + 5, np.zeros((20, 11))
    run("tridiagonal", 1, 20, sub, main, over, d, x, I32(11))
    for i in range(20):
        matrix = np.diag(main[i]) + np.diag(sub[i, 1:], -1) + np.diag(over[i, :-1], 1)
        assert np.allclose(matrix @ x[i], d[i], atol=1e-10)


@right("wmma_linear_relu", "wmma_of_bytes")
def _(run, rng):
    x, w = rng.integers(-3, 4, (16, 48)).astype(F16), rng.integers(-3, 4, (32, 48)).astype(F16)
    bias, y = rng.integers(-9, 9, 32).astype(F16), np.zeros((16, 32), F16)
    run("linear_relu", 2, 32, x, w, bias, y, I32(48))
    assert y.tolist() == np.maximum(x.astype(F64) @ w.T.astype(F64) + bias, 0).tolist()
    a, b, c = *rng.integers(-128, 128, (2, 16, 16)).astype(np.int8), np.zeros((16, 16), I32)
    run("linear_of_bytes", 1, 32, a, b, c)
    assert (c == a.astype(int) @ b.astype(int)).all()


@right("strange_but_legal")
def _(run, rng):
    n = 150
    x, out = rng.integers(-(2**15), 2**15, n).astype(np.int16), np.zeros(n, np.int64)
    run("legal", 2, 32, x, out, np.int64(n))
    for i in range(n):
        kept, p, v, k = int(x[n - 1 - i]), int(x[i] if i & 1 else x[n - 1 - i]), 0, 0
        while True:
            v, k = v * 3 + p - kept, k + 1
            if v > 1000000 or not k < (i & 7):
                break
        assert out[i] == v << (i & 31)


@right("mixed_widths")
def _(run, rng):
    n = 60
    octets, out = rng.integers(0, 256, (n, 2)).astype(np.uint8), np.zeros(n)
    run("mixed_widths", 2, 32, octets, out, I32(n))
    flat, h = octets.reshape(-1), octets.view(np.uint16).reshape(-1)
    f = (h & 0x7BFF).view(F16).astype(F64)
    leading = np.array([32 - int(v).bit_length() for v in h])
    assert out.tolist() == (f * flat[:n].view(np.int8) + (h >> 3) - leading).tolist()
