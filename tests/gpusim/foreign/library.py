"""Rows of CUDA's C++ library, and of functions of bits, divisions and formats."""

import numpy as np

from tests.gpusim.foreign.rows import right

I32, U32, F64, I64 = np.int32, np.uint32, np.float64, np.int64


@right("library_latch")
def _(run, rng):
    x, out = rng.integers(-99, 99, 64).astype(I32), np.zeros(64, I32)
    run("at_a_latch", 1, 64, x, out)
    assert out.tolist() == x[::-1].tolist()


@right("library_semaphore")
def _(run, rng):
    most, inside = np.zeros(1, I32), np.zeros(1, I32)
    run("by_a_semaphore", 1, 256, most, inside)
    assert most[0] in (1, 2) and inside[0] == 0


@right("library_pipeline_of_a_block")
def _(run, rng):
    x = rng.integers(-99, 99, (5, 64)).astype(I32)
    out = np.zeros_like(x)
    run("through_a_pipeline", 1, 64, x, out, I32(5))
    assert (out == x[:, ::-1] * np.arange(1, 6)[:, None]).all()


@right("library_optional_span_tuple_variant")
def _(run, rng):
    x, out, t = rng.permutation(40)[:20].astype(I32), np.zeros(64, I32), np.arange(64)
    run("standard_types", 1, 64, x, out, I32(20))
    areas = np.where(t % 3 == 0, 2 * t, t * t)
    assert (out == np.where(np.isin(t, x), t, -1) * 1000 + t + 100000 * areas).all()


@right("printf_formats")
def _(run, rng):
    n = 1234
    wanted = f"[{n:5d}|{n:<5d}|{n:05d}|{n:+d}|{n:x}|{n:#X}|{n:o}|m|ab|cd    |{n / 3:6.2f}|{n / 3:e}|{n / 3e9:g}|"
    wanted += f"{n * 1e-9:G}|%|{n << 35}|{2**64 - 1 - n}]"
    wanted += f"[{70000 + n - 2**16}|{2**16 - n}|-46|d2|{4 * n}|   1234|abc|0x1.8p-2]"
    assert run.printed("formats", 1, 32, I32(n)) == wanted


@right("half_softmax_of_rows")
def _(run, rng):
    x = rng.normal(0, 2, (3, 77)).astype(np.float16)
    y, powers = np.zeros_like(x), np.exp(x.astype(F64) - x.max(axis=1, keepdims=True))
    run("softmax_of_halves", 3, 32, x, y, I32(77))
    assert np.allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=5e-3, atol=1e-4)


def signed(value: int, bits: int = 32) -> int:
    """The low bits of a number as one with a sign."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@right("intrinsics_of_bits")
def _(run, rng):
    a, b = rng.integers(0, 2**32, (2, 128)).astype(U32)
    a[:4], b[:4] = (0, 2**32 - 1, 1 << 31, 1), (0, 2**32 - 1, 1 << 31, 2**31 - 1)
    out = np.zeros((13, 128), U32)
    run("bits", 1, 128, a, b, out, I32(128))
    for t, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        both, X, Y = y << 32 | x, x.to_bytes(4, "little"), y.to_bytes(4, "little")
        pairs = list(zip(X, Y, strict=True))
        wanted = (
            both << min(x & 63, 32) >> 32,
            both >> min(y & 63, 32),
            int.from_bytes(bytes((X + Y)[y >> 7 + 4 * k & 7] for k in range(4)), "little"),
            int.from_bytes(bytes(abs(signed(p, 8) - signed(q, 8)) for p, q in pairs), "little"),
            int.from_bytes(bytes(min(p + q, 255) for p, q in pairs), "little"),
            0xFFFF * (x & 0xFFFF > y & 0xFFFF) | 0xFFFF0000 * (x >> 16 > y >> 16),
            sum(signed(p, 8) * signed(q, 8) for p, q in pairs) + x,
            signed(x, 16) * signed(Y[0], 8) + signed(x >> 16, 16) * signed(Y[1], 8) + 7,
            abs(x - y) + 9,
            x + y >> 1,
            x + y + 1 >> 1,
            signed(x, 24) * signed(y, 24),
            (x & 0xFFFFFF) * (y & 0xFFFFFF),
        )
        assert out[:, t].tolist() == [value % 2**32 for value in wanted]


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def rest(x: int, y: int) -> int:
    return x - quotient(x, y) * y


@right("divisions_by_all_kinds_of_numbers")
def _(run, rng):
    n = 256
    a = rng.integers(-(2**31), 2**31, n).astype(I32)
    b = rng.integers(-(2**63), 2**63 - 1, n) >> rng.integers(0, 60, n)
    out = np.zeros((15, n), I64)
    run("divides", 2, 128, a, b, out, I32(n))
    for i in range(n):
        x, y, p, q = int(a[i]), int(a[i ^ 3]) | 1, int(b[i]), int(b[i ^ 5]) | 1
        assert out[:, i].tolist() == [
            quotient(x, 7), rest(x, 7), quotient(x, -13), rest(x, 1000003), quotient(x, 2), rest(x, 8),
            signed(quotient(x, y)), rest(x, y), quotient(p, 10), rest(p, 10), signed(quotient(p, q), 64), rest(p, q),
            rest(quotient(p, 60), 24), rest(signed(x, 8), 5), (x & 0xFFFF) // 3,
        ]  # fmt: skip
