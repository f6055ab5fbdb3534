"""Rows of atomics, and of what the lanes of a warp and the warps of a block do together."""

from functools import reduce

import numpy as np

from tests.gpusim.foreign.rows import refused, right

I32, U32, F32, F64, U64 = np.int32, np.uint32, np.float32, np.float64, np.uint64


def words(values):
    return (np.asarray(values) % 2**32).astype(U32).tolist()


@right("atomics_int_all")
def _(run, rng):
    x = rng.integers(-(2**20), 2**20, 150).astype(I32)
    cells, unsigneds = np.array([5, 7, 2**30, -(2**30), -1, 0, 3], I32), np.array([2**32 - 1, 0, 4, 4], U32)
    wide = np.array([9, 0, 1, 2**62], U64)
    run("every_atomic", 2, 96, x, cells, unsigneds, wide, I32(150))
    v = [int(value) for value in x]
    assert cells.tolist() == [5 + sum(v), 7 - sum(v), min(v), max(v), reduce(lambda a, b: a & b,
         [w | 0xFF00 for w in v]),
                              reduce(lambda a, b: a | b, v), reduce(lambda a, b: a ^ b, v, 3)]  # fmt: skip
    up = down = 4
    for _ in v:
        up, down = (0 if up >= 10 else up + 1), (10 if down == 0 or down > 10 else down - 1)
    assert unsigneds.tolist() == [min(w % 2**32 for w in v), max(w % 2**32 for w in v), up, down]
    assert wide.tolist() == [(9 + sum(w << 20 for w in v)) % 2**64, max(w * w for w in v),
                             reduce(lambda a, b: a ^ b, [(w << 30) % 2**64 for w in v], 1),
                             min(w << 33 for w in v) % 2**64]  # fmt: skip


@right("atomicAnd_uniform_address")
def _(run, rng):
    cell, x = np.array([0xFFFFFF0F, 0], U32), rng.integers(0, 2**32, 64).astype(U32) | U32(0x00F0F00F)
    run("same_address", 1, 64, cell, x)
    assert cell.tolist() == [int(np.bitwise_and.reduce(x)) & 0xFFFFFF0F, int(np.bitwise_or.reduce(x))]


@right("atomics_returning")
def _(run, rng):
    n = 150
    keys, counts, mine = rng.integers(0, 6, n).astype(I32), np.zeros(6, I32), np.zeros(n, I32)
    swapped, old, total = np.full(n + 1, -1, I32), np.zeros(n, U64), np.zeros(1, U64)
    run("tickets", 2, 96, keys, counts, mine, swapped, old, total, I32(n))
    assert counts.tolist() == np.bincount(keys, minlength=6).tolist()
    for key in range(6):
        assert sorted(mine[keys == key].tolist()) == list(range(counts[key]))
    assert sorted(swapped.tolist()) == list(range(-1, n))
    order = np.argsort(old)
    assert old[order].tolist() == [0, *np.cumsum(order + 1)[:-1].tolist()] and total[0] == n * (n + 1) // 2


@right("atomic_scopes_block_system")
def _(run, rng):
    cells = np.zeros(9, I32)
    run("scopes", 3, 40, cells)
    assert cells.tolist() == [80, 80, 80, 360, 0, 39, 39, 39, 77]


@right("atomic_float_max_cas_loop")
def _(run, rng):
    x, cell = rng.normal(size=200).astype(F32), np.full(1, -np.inf, F32)
    run("largest", 2, 128, x, cell, I32(200))
    assert cell[0] == x.max()


@right("atomic_shared_float_double", "shared_double_atomicAdd", "shared_float_atomicAdd")
def _(run, rng):
    x, out, wide = rng.integers(-99, 99, 96).astype(F32), np.zeros(2, F32), np.zeros(4)
    run("sums_in_shared", 1, 96, x, out, wide)
    assert out.tolist() == [x.sum()] * 2 and wide.tolist() == [
        (x.astype(F64) ** 2).sum(),
        48,
        48,
        (x.astype(F64) ** 2).sum(),
    ]


@right("atomic_cas64_shared")
def _(run, rng):
    x, out = rng.integers(0, 2**32, 64).astype(U32), np.zeros(1, U64)
    run("swaps_of_64", 1, 64, x, out)
    assert out[0] == max(int(v) << 32 | i for i, v in enumerate(x))


@right("atomic_cas64_and_exch64_through_a_pointer")
def _(run, rng):
    wanted = 1
    for _ in range(64):
        wanted = (3 * wanted + 1) % 2**64
    for shared in (0, 1):
        cells, seen, left = np.array([1, 99], U64), np.zeros(64, U64), np.zeros(2, U64)
        run("swaps_where_it_points", 1, 64, cells, I32(shared), seen, left)
        assert left[0] == wanted and sorted([*seen.tolist(), int(left[1])]) == [*range(64), 99]


@right("atomic_cas16")
def _(run, rng):
    cells, x = rng.integers(0, 2**16, 4).astype(np.uint16), rng.integers(0, 2**16, 64).astype(np.uint16)
    wanted = [(int(cells[k]) + int(x[k::3].astype(int).sum())) % 2**16 for k in range(3)] + [int(cells[3])]
    run("swaps_of_16", 1, 64, cells, x)
    assert cells.tolist() == wanted


@right("atomicAdd_float2_float4", "red_vector_v4_f32")
def _(run, rng):
    four, two, old = np.zeros((4, 4), F32), np.zeros(2, F32), np.zeros((64, 4), F32)
    run("vectors", 2, 32, four, two, old)
    own = [np.arange(k, 64, 3) for k in range(3)]
    assert four.tolist() == [[len(i), i.sum(), len(i) / 2, -2 * len(i)] for i in own] + [[64, 128, 2016, -64]]
    assert two.tolist() == [2016, 64]
    for i in own:
        order = i[np.argsort(old[i, 0])]
        assert old[order, 1].tolist() == [0, *np.cumsum(order)[:-1].tolist()]


@right("half_atomicAdd", "atom_f16x2_bf16_ptx")
def _(run, rng):
    h, h2, b, b2, raw = (
        np.zeros(4, np.float16),
        np.zeros(2, np.float16),
        np.zeros(2, np.uint16),
        np.zeros(2, np.uint16),
        np.zeros(2, U32),
    )
    run("halves", 2, 24, h, h2, b, b2, raw)
    assert h.tolist() == [sum(range(k, 48, 3)) for k in range(3)] + [0] and h2.tolist() == [48, sum(range(48))]
    assert [(v << 16).view(F32) for v in np.concatenate([b, b2]).astype(U32)] == [48, 48, 48, -48]
    assert raw[:1].view(np.float16).tolist() == [48, 96] and [
        (v << 16).view(F32) for v in raw[1:].view(np.uint16).astype(U32)
    ] == [48, 96]


@right("atom_f32_global_flushes_subnormal", "atom_f32_returning_flush")
def _(run, rng):
    cells, old = np.array([1, 2, 3, 4, 5, 6, 7, 0x00800000], U32), np.full(4, 9, U32)
    run("subnormal_sums", 1, 4, cells.view(F32), old.view(F32))
    assert cells.tolist() == [0] * 7 + [0x00800000] and old.tolist() == [5, 6, 7, 0x00800000]  # what was there


@right("atomic_two_arrays_one_instruction")
def _(run, rng):
    a, b = np.zeros(1, I32), np.zeros(1, I32)
    run("either_array", 1, 50, a, b)
    assert (a[0], b[0]) == (sum(range(1, 50, 2)), sum(range(0, 50, 2)))


@refused("atomic_cas128", levels=("ptx",))
def _(run, rng):
    cell, won = np.zeros(2, U64), np.zeros(32, I32)
    if run.level == "ptx":
        return run.says("swaps_of_128", 1, 32, cell, won, text=r"mov\.b128.*not modelled")
    run("swaps_of_128", 1, 32, cell, won)
    assert won.sum() == 1 and cell.tolist() == [int(won.argmax()) + 1, 2**64 - 1]


@right("ballot_match_reduce", "ballot_no_and")
def _(run, rng):
    n = 64
    x = rng.integers(-20, 20, n).astype(I32)
    out = np.zeros((11, n), U32)
    run("votes", 1, n, x, out, I32(n))
    for w in range(0, n, 32):
        v = [int(value) for value in x[w : w + 32]]
        u = [value % 2**32 for value in v]
        ballot = sum(1 << k for k in range(32) if v[k] > 0)
        same = len({value >> 30 for value in v}) == 1
        for k in range(32):
            equals = sum(1 << j for j in range(32) if v[j] & 7 == v[k] & 7)
            wanted = [ballot, equals, sum(v), min(v), max(u), reduce(lambda a, b: a & b, u), reduce(lambda a,
                      b: a | b, u),
                      reduce(lambda a, b: a ^ b, u), 2**32 - 1 if same else 0, same,
                      (5 not in v) + 2 * (7 in v)]  # fmt: skip
            assert out[:, w + k].tolist() == words(wanted)


@right("match_all_true_and_u64")
def _(run, rng):
    x = rng.integers(0, 6, 32).astype(U64) << U64(40) | rng.integers(0, 2, 32).astype(U64)
    x[1::2] |= U64(1)
    out, same = np.zeros((3, 32), U32), np.zeros((2, 32), I32)
    run("matches_of_64", 1, 32, x, out, same, I32(32))
    for k in range(32):
        assert out[0, k] == sum(1 << j for j in range(32) if x[j] == x[k])
        evens = sum(1 << j for j in range(0, 32, 2) if int(x[j]) & 3 == int(x[k]) & 3)
        assert out[2, k] == (0xAAAAAAAA if k % 2 else evens) and same[1, k] == k % 2
    assert (out[1] == 2**32 - 1).all() and same[0].all()


@right("partial_mask_shuffles")
def _(run, rng):
    x, out = rng.integers(-99, 99, 64).astype(F32), np.zeros((2, 64), F32)
    run("parts", 1, 64, x, out, I32(64))
    for warp in (0, 1):
        v, lane = x[32 * warp : 32 * warp + 32], np.arange(32)
        low, high = np.full(16, v[:16].sum()), v[16 + (lane[16:] + 5) % 16]
        assert out[0, 32 * warp : 32 * warp + 32].tolist() == [*low, *high]
        from_ = np.where(lane % 3 == 0, (lane + 2) % 33 % 32, lane - 2)
        assert out[1, 32 * warp : 32 * warp + 32].tolist() == np.where(lane % 3 == 1, -1, v[from_]).tolist()


@right("activemask_in_divergence")
def _(run, rng):
    n = 96
    x = rng.integers(0, 8, n).astype(I32)
    out, copied, count = np.zeros(n, U32), np.zeros(n, I32), np.zeros(1, I32)
    run("active_lanes", 3, 32, x, out, I32(n))
    kinds = np.where(x & 1, 1, np.where(x & 2, 2, 0))
    for i in range(n):  # any set of lanes that took the same way, with the own one in it, is right by the guide
        alike = sum(1 << j for j in range(32) if kinds[i // 32 * 32 + j] == kinds[i])
        assert out[i] == 0 if kinds[i] == 0 else int(out[i]) >> i % 32 & 1 and int(out[i]) & ~alike == 0
    v = rng.integers(-9, 9, 90).astype(I32)
    run("compacts", 3, 32, v, copied, count, I32(90))
    assert sorted(copied[: count[0]].tolist()) == sorted(v[v > 0].tolist())


@right("cache_hints")
def _(run, rng):
    x, y, z = rng.integers(-99, 99, 64).astype(F32), np.zeros((4, 64), F32), np.zeros(64, F32)
    run("hints", 2, 32, x, y, z)
    assert (y == 6 * x + np.arange(4)[:, None]).all() and (z == x).all()


@right("inline_ptx_cache_policies", "prefetch_and_applypriority")
def _(run, rng):
    x, y = rng.integers(-99, 99, 64).astype(F32), np.zeros(64, F32)
    run("policies", 2, 32, x, y)
    assert (y == 2 * x).all()


@right("volatile")
def _(run, rng):
    x, out = rng.integers(-99, 99, 64).astype(I32), np.zeros(64, I32)
    before = x.copy()
    run("volatiles", 1, 64, x, out)
    assert (x == before[::-1] + 1).all() and (out == before).all()


@right("elect_sync")
def _(run, rng):
    out = np.zeros(64, I32)
    run("elected", 1, 64, out)
    assert np.flatnonzero(out).tolist() == [7, 39]


@right("redux_sync_inline")
def _(run, rng):
    x, out = rng.integers(0, 2**32, 64).astype(U32), np.zeros((3, 64), U32)
    run("reduces_inline", 2, 32, x, out, I32(64))
    for w in (0, 32):
        part = x[w : w + 32]
        wanted = [int(part.astype(U64).sum()) % 2**32, int(part.max()), int(np.bitwise_and.reduce(part | U32(0x10)))]
        assert out[:, w : w + 32].tolist() == [[value] * 32 for value in wanted]


@right("syncthreads_count_and_or")
def _(run, rng):
    x = rng.integers(-5, 9, (4, 80)).astype(I32)
    x[1, 7], x[3, 5] = 9, -9
    out = np.zeros((4, 3), I32)
    run("counts_at_barrier", 4, 80, x, out)
    assert out.tolist() == [[(row > 0).sum(), (row > -5).all(), (row == 9).any()] for row in x]


@right("named_barrier", "named_barrier_half_block")
def _(run, rng):
    x, out = rng.integers(-99, 99, (3, 64)).astype(I32), np.zeros((3, 64), I32)
    run("named_barriers", 1, 128, x, out)
    assert (out == 2 * x[:, ::-1]).all()
    y, z = rng.integers(-99, 99, 128).astype(I32), np.zeros(128, I32)
    run("barriers_of_halves", 1, 128, y, z)
    assert (z.reshape(2, 64) == y.reshape(2, 64)[:, ::-1]).all()
