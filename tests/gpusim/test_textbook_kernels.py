"""Kernels of the kinds that textbooks and samples have, by the simulator and by NumPy."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gpusim

SOURCE = (Path(__file__).parent / "kernels" / "textbook.cu").read_text(encoding="utf-8")
F32, I32, U32 = np.float32, np.int32, np.uint32

# What each runs as: machine code, PTX, and the machine code for a debugger.
pytestmark = pytest.mark.parametrize("level", ("sass", "ptx", "sass -G"))


@cache
def module(*flags: str) -> gpusim.RawModule:
    """All kernels, compiled at once."""
    every = gpusim.RawModule(code=SOURCE, options=("-std=c++17", *flags))
    every.compile()
    return every


def run(level: str, name: str, grid: int, block: int, *arguments) -> None:
    level, *flags = level.split()
    with gpusim.record(level=level, checks="raise"):
        module(*flags).get_function(name)((grid,), (block,), arguments)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def test_a_fourier_transform_in_shared_memory(level, rng):
    x = (rng.normal(size=256) + 1j * rng.normal(size=256)).astype(np.complex64)
    out = np.zeros(512, F32)
    run(level, "fft_256", 1, 128, x.view(F32), out)
    assert np.allclose(out.view(np.complex64), np.fft.fft(x), atol=2e-4)


def test_blellochs_scan(level, rng):
    x, out = rng.integers(-99, 99, 256).astype(I32), np.zeros(256, I32)
    run(level, "scan_exclusive", 1, 128, x, out)
    assert (out == np.cumsum(x) - x).all()


def test_bodies_attract_each_other(level, rng):
    n = 100
    bodies, forces = rng.uniform(-1, 1, (n, 4)).astype(F32), np.zeros((n, 3), F32)
    run(level, "n_body", 2, 64, bodies, forces, I32(n))
    apart = (bodies[None, :, :3] - bodies[:, None, :3]).astype(float)
    weights = bodies[None, :, 3] / ((apart**2).sum(axis=2) + F32(0.01)) ** 1.5
    assert np.allclose(forces, (weights[..., None] * apart).sum(axis=1), atol=2e-3, rtol=1e-4)


def test_softmax_in_one_pass(level, rng):
    x, out = rng.normal(0, 9, (3, 77)).astype(F32), np.zeros((3, 77), F32)
    run(level, "softmax_online", 3, 32, x, out, I32(77))
    powers = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
    assert np.allclose(out, powers / powers.sum(axis=1, keepdims=True), atol=1e-6)


def test_a_hash_table_counts_its_keys(level, rng):
    keys = rng.integers(1, 60, 500).astype(U32)
    slots, counts = np.zeros(97, U32), np.zeros(97, U32)
    run(level, "hash_table", 4, 128, keys, slots, counts, I32(500), U32(97))
    wanted = dict(zip(*(part.tolist() for part in np.unique(keys, return_counts=True)), strict=True))
    assert {int(k): int(c) for k, c in zip(slots, counts, strict=True) if k} == wanted


def test_a_graph_is_searched_by_breadth(level, rng):
    n = 60
    edges = rng.integers(0, n, (n, 2))
    starts, targets = np.arange(0, 2 * n + 1, 2, dtype=I32), edges.reshape(-1).astype(I32)
    distances = np.full(n, -1, I32)
    distances[0] = 0
    frontier, level_of, reached = np.zeros(1, I32), {0: 0}, [0]
    for vertex in reached:
        for target in edges[vertex].tolist():
            if target not in level_of:
                level_of[target] = level_of[vertex] + 1
                reached.append(target)
    depth = 0
    while len(frontier):
        depth += 1
        following, size = np.zeros(n, I32), np.zeros(1, I32)
        arguments = (starts, targets, distances, frontier, I32(len(frontier)), following, size, I32(depth))
        run(level, "bfs_level", 1, 64, *arguments)
        frontier = following[: int(size[0])].copy()
    assert distances.tolist() == [level_of.get(vertex, -1) for vertex in range(n)]


def test_a_sparse_matrix_in_ell_form(level, rng):
    rows, width = 70, 6
    lengths = rng.integers(0, width + 1, rows)
    columns, values = rng.integers(0, rows, (width, rows)).astype(I32), rng.normal(size=(width, rows)).astype(F32)
    columns[np.arange(width)[:, None] >= lengths] = -1
    x, y = rng.normal(size=rows).astype(F32), np.zeros(rows, F32)
    run(level, "spmv_ell", 3, 32, columns, values, x, y, I32(rows), I32(width))
    assert np.allclose(y, np.where(columns >= 0, values.astype(float) * x[columns], 0).sum(axis=0), atol=1e-5)


def test_points_go_to_the_nearest_centre(level, rng):
    n, k = 300, 5
    points, centres = rng.normal(size=(n, 2)).astype(F32), rng.normal(size=(k, 2)).astype(F32)
    nearest, sums, counts = np.zeros(n, I32), np.zeros((k, 2), F32), np.zeros(k, I32)
    run(level, "k_means", 3, 128, points, centres, nearest, sums, counts, I32(n), I32(k))
    wanted = ((points[:, None].astype(float) - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == wanted).all() and (counts == np.bincount(wanted, minlength=k)).all()
    assert np.allclose(sums, [points[wanted == c].sum(axis=0, dtype=float) for c in range(k)], atol=1e-4)


def test_a_warp_sorts_by_shuffles(level, rng):
    values = rng.integers(-50, 50, (4, 32)).astype(I32)
    wanted = np.sort(values, axis=1)
    run(level, "sort_warp", 4, 32, values)
    assert (values == wanted).all()


def test_runs_are_merged_until_all_is_sorted(level, rng):
    x = rng.integers(-20, 20, 200).astype(I32)
    wanted = np.sort(x)
    for run_length in (1, 2, 4, 8, 16, 32, 64, 128):
        out = np.zeros(200, I32)
        run(level, "merge_runs", 4, 64, x, out, I32(200), I32(run_length))
        x = out
    assert (x == wanted).all()


def test_philox_gives_the_numbers_of_its_definition(level):
    out = np.zeros((64, 4), U32)
    run(level, "philox", 2, 32, out, U32(12345))
    for i in (0, 1, 63):
        c, k = [i, 0, 7, 0], [12345, 0xDEADBEEF]
        for _ in range(10):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(q >> 32) ^ c[1] ^ k[0], q % 2**32, (p >> 32) ^ c[3] ^ k[1], p % 2**32]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        assert out[i].tolist() == c


def test_blocks_take_their_work_from_a_queue(level, rng):
    lengths = rng.integers(0, 90, 23).astype(I32)
    following, results = np.zeros(1, I32), np.zeros(23, I32)
    run(level, "work_queue", 4, 64, following, lengths, results, I32(23))
    assert (results == lengths * (lengths - 1) // 2).all()
