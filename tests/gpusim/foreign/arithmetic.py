"""Rows of arithmetic."""

import math
from fractions import Fraction

import numpy as np

from tests.gpusim.foreign.rows import right

I32, U32, F32, F64, I64, U64 = np.int32, np.uint32, np.float32, np.float64, np.int64, np.uint64


def apply(functions, *columns):
    """Rows of results of scalar functions."""
    return [
        [function(*row) for row in zip(*(column.tolist() for column in columns), strict=True)] for function in functions
    ]


def wrapped(number, bits):
    """A whole number as signed bits."""
    number %= 1 << bits
    return number - (number >> bits - 1 << bits)


FUNCTIONS = [
    lambda x, y, p: math.exp(x), lambda x, y, p: math.log(p), lambda x, y, p: math.sin(x), lambda x, y, p: math.cos(x),
    lambda x, y, p: math.tan(x), lambda x, y, p: p**y, lambda x, y, p: math.atan2(x, y), lambda x, y, p: math.sqrt(p),
    lambda x, y, p: math.copysign(abs(x) ** (1 / 3), x), lambda x, y, p: math.gamma(p), lambda x, y, p: math.lgamma(p),
    lambda x, y, p: math.erf(x), lambda x, y, p: math.erfc(x), lambda x, y, p: math.hypot(x, y),
    lambda x, y, p: math.fmod(x, y), lambda x, y, p: math.asin(x / 30), lambda x, y, p: math.sinh(x),
    lambda x, y, p: math.tanh(x), lambda x, y, p: math.log2(p), lambda x, y, p: math.expm1(x),
    lambda x, y, p: math.log1p(p), lambda x, y, p: 1 / math.sqrt(p), lambda x, y, p: math.floor(x),
    lambda x, y, p: math.remainder(x, y), lambda x, y, p: math.acosh(1 + p),
]  # fmt: skip


@right("double_math")
def _(run, rng):
    x, y = rng.uniform(-20, 20, (2, 64))
    out = np.zeros((len(FUNCTIONS), 64))
    run("functions_of_doubles", 2, 32, x, y, out, I32(64))
    wanted = np.array(apply(FUNCTIONS, x, y, np.abs(x) + 0.125))
    np.testing.assert_allclose(out, wanted, rtol=3e-14, atol=1e-15)  # the guide allows 10 ulp for tgamma


@right("float_math_all")
def _(run, rng):
    x, y = rng.uniform(-20, 20, (2, 64)).astype(F32)
    out = np.zeros((len(FUNCTIONS), 64), F32)
    run("functions_of_floats", 2, 32, x, y, out, I32(64))
    wanted = np.array(apply(FUNCTIONS, *(a.astype(F64) for a in (x, y, np.abs(x) + F32(0.125)))))
    wanted[15] = np.arcsin((x / F32(30)).astype(F64))
    wanted[24] = np.arccosh((F32(1) + (np.abs(x) + F32(0.125))).astype(F64))
    # By the guide up to 4 ulp, 11 of tgammaf; lgammaf is near its zeros as exact as its terms.
    np.testing.assert_allclose(out, wanted, rtol=1.4e-6, atol=1e-6)


@right("fast_math_intrinsics")
def _(run, rng):
    x, y = rng.uniform(-3, 3, (2, 64)).astype(F32)
    out = np.zeros((13, 64), F32)
    run("fast_functions", 2, 32, x, y, out, I32(64))
    functions = [
        lambda x, y, p: math.exp(x), lambda x, y, p: math.log(p), lambda x, y, p: math.sin(x),
        lambda x, y, p: math.cos(x), lambda x, y, p: p**y, lambda x, y, p: x / y, lambda x, y, p: 10 ** (x / 8),
        lambda x, y, p: math.log2(p), lambda x, y, p: 1 / y, lambda x, y, p: math.sqrt(p),
        lambda x, y, p: 1 / math.sqrt(p), lambda x, y, p: min(max(x, 0), 1), lambda x, y, p: x * y + p,
    ]  # fmt: skip
    wanted = np.array(apply(functions, *(a.astype(F64) for a in (x, y, np.abs(x) + F32(0.125)))))
    # Absolute errors of 2^-21.4 and less are the guide's for sines, cosines and logarithms.
    np.testing.assert_allclose(out, wanted, rtol=2e-6, atol=4.5e-7)
    assert np.array_equal(out[9], wanted[9].astype(F32)) and np.array_equal(out[11:], wanted[11:].astype(F32))


def _limits(run, rng):
    x = np.array([-800, -5.5, -1, 0.5, 2, 3, 3.5, 9, 9.5, 100, 171, 172, 310, 709, 710, 711, 1100])
    out = np.zeros((10, len(x)))
    run("limits_of_doubles", 1, 32, x, out, I32(len(x)))

    def limited(function):
        def value(x):
            try:
                return function(x)
            except OverflowError:
                return math.copysign(math.inf, x) if function is math.sinh else math.inf
            except ValueError:
                return math.nan

        return value

    wanted = apply(
        [limited(f) for f in (lambda x: 2.0**x, lambda x: 10.0**x, math.sinh, math.cosh, math.expm1, math.gamma)], x
    )
    np.testing.assert_allclose(out[:6], wanted, rtol=1e-13)
    assert out[6].tolist() == [math.inf if v > 3 else v for v in x]
    assert out[7].tolist() == [-math.inf if v > 3 else v for v in x]
    assert (out[8] == 0).all() and np.signbit(out[8]).all()
    assert out[9].tolist() == [math.inf if v < 0 or v > 9 else v * v for v in x]


right("double_select_inf", "double_bounds_inf_out_of_range", "double_overflow_functions", "double_mask_select_inf_min")(
    _limits
)


@right("fp64_subnormal_nan_minmax")
def _(run, rng):
    values = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, math.inf, -math.inf, math.nan, 2e-308])
    a, b = (part.reshape(-1) for part in np.meshgrid(values, values))
    out = np.zeros((4, 100))
    run("smaller_and_larger", 4, 32, a, b, out, I32(100))
    for k in range(100):
        x, y = a[k], b[k]
        if math.isnan(x) or math.isnan(y):
            number = y if math.isnan(x) else x
            low = high = number
        else:
            low, high = sorted((x, y), key=lambda v: (v, math.copysign(1, v)))
        for result, expected in ((out[0, k], low), (out[1, k], high)):
            assert np.array_equal([result], [expected], equal_nan=True)
            assert math.isnan(expected) or np.signbit(result) == np.signbit(expected)
        assert np.array_equal(out[3, k], x if x < y else y, equal_nan=True)


@right("double_masked_softmax_neg_inf")
def _(run, rng):
    x, keep, y = rng.normal(0, 5, 50), (rng.random(50) < 0.5).astype(I32), np.zeros(50)
    run("masked_softmax", 1, 64, x, keep, y, I32(50))
    powers = np.exp(x - x.max()) * keep
    np.testing.assert_allclose(y, powers / powers.sum(), rtol=1e-13)


@right("float_special_values", "float_nan_payload_select", "float_nan_constant_isnan")
def _(run, rng):
    values = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3e38, 1e-30], F32)
    a, b = (part.reshape(-1).copy() for part in np.meshgrid(values, values))
    n = len(a)
    out = np.zeros((9, n), U32)
    run("special_floats", 3, 32, a, b, out, I32(n))
    with np.errstate(all="ignore"):
        for row, exact in ((0, a + b), (1, a * b), (2, a / b)):
            exact = np.where(np.abs(exact) < np.finfo(F32).tiny, np.copysign(F32(0), exact), exact)  # flushed
            want = np.where(np.isnan(exact), U32(0x7FFFFFFF), exact.view(U32))
            assert out[row].tolist() == want.tolist(), row
    assert out[3].tolist() == [
        int(np.isnan(x)) + 2 * int(np.isinf(y)) + 4 * int(np.signbit(x)) for x, y in zip(a, b, strict=True)
    ]
    assert out[4].tolist() == np.isfinite(a).astype(int).tolist()
    assert out[5].tolist() == ((a < b) + 2 * (a == b) + 4 * (a != b) + 8 * (a >= b)).tolist()
    assert out[6].tolist() == ((a.view(U32) & 0x7FFFFFFF) | (b.view(U32) & 0x80000000)).tolist()
    assert out[7].tolist() == np.where(np.isnan(a), U32(0x7FC01234), a.view(U32)).tolist()
    assert (out[8] == 2).all()


@right("float_int_conversions")
def _(run, rng):
    x = np.r_[rng.uniform(-3e9, 3e9, 40), rng.uniform(-9, 9, 40), [0.5, 1.5, -2.5, 1e20, -1e20, np.nan]].astype(F32)
    d = np.r_[rng.uniform(-1e10, 1e10, 40), rng.uniform(-300, 300, 40), [2.5, -3.5, 1e300, -1e300, np.nan, 0.1]]
    n = len(x)
    out = np.zeros((16, n), I64)
    run("conversions", 3, 32, x, d, out, I32(n))

    def whole(value, bits, rounded=math.trunc, signed=True, nan=0):
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return (
            nan
            if math.isnan(value)
            else low
            if value < low
            else high
            if value > high
            else min(max(rounded(value), low), high)
        )

    def as_int(value):
        return int(np.array(value, F32).view(I32))

    def nearest(value):
        with np.errstate(over="ignore"):
            return as_int(F32(value)) if not math.isnan(value) else None  # which NaN, an H200 was asked elsewhere

    def cut(value):
        if math.isnan(value):
            return None
        if abs(value) > 3.5e38:
            return as_int(math.copysign(3.4028234663852886e38, value))
        result = F32(value)
        return as_int(np.nextafter(result, F32(0)) if abs(float(result)) > abs(value) else result)

    low64 = -(1 << 63)
    for i, (a, b) in enumerate(zip(x.astype(F64).tolist(), d.tolist(), strict=True)):
        away = whole(a, 64, lambda v: math.floor(abs(v) + 0.5) * (1 if v > 0 else -1), nan=low64)
        wanted = [
            whole(a, 32), whole(a, 32, signed=False), whole(a, 64, nan=low64), whole(a, 32, round),
            whole(a, 32, math.ceil), whole(a, 32, math.floor), wrapped(whole(a, 32), 16), whole(b, 32, round,
            nan=-(1 << 31)),
            whole(b, 64, nan=low64), nearest(b), None, as_int(F32(whole(b, 64, nan=low64))),
            wrapped(whole(b, 32, nan=-(1 << 31)), 8), whole(b, 64, round, nan=low64), away, cut(b),
        ]  # fmt: skip
        for row, want in enumerate(wanted):
            if want is not None:
                assert out[row, i] == want, (row, a, b)
        if not math.isnan(a):
            assert out[10, i] == np.array(a).view(I64)


@right("int64_ops")
def _(run, rng):
    a, b = (rng.integers(-(2**63), 2**63 - 1, 64) >> rng.integers(0, 60, 64) for _ in range(2))
    a[:3], b[:4] = (-(2**63), 2**63 - 1, -1), (3, -(2**63), 7, 1)
    b[b == 0] = 5
    out = np.zeros((18, 64), I64)
    run("integers_of_64_bits", 2, 32, a, b, out, I32(64))
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        u, v, by = x % 2**64, y % 2**64, y & 63
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        wanted = [x + y, x * y, quotient, x - quotient * y, u // v, u % v, x >> by, u >> by, x << by, min(x, y),
                  max(u, v),
                  x * y >> 64, u * v >> 64, u.bit_count(), 64 - u.bit_length(), (u & -u).bit_length(),
                  int(f"{u:064b}"[::-1], 2), abs(x)]  # fmt: skip
        assert out[:, i].tolist() == [wrapped(value, 64) for value in wanted]


@right("int32_ops", "min_int_div_minus1")
def _(run, rng):
    a, b = (rng.integers(-(2**31), 2**31, 96) >> rng.integers(0, 30, 96) for _ in range(2))
    a[:4], b[:4] = (-(2**31), 2**31 - 1, -1, -(2**31)), (-1, -(2**31), 7, 3)
    b[b == 0] = 11
    out = np.zeros((21, 96), I32)
    run("integers_of_32_bits", 3, 32, a.astype(I32), b.astype(I32), out, I32(96))
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        u, v = x % 2**32, y % 2**32
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        octets = [u >> 8 * k & 255 for k in range(4)] + [v >> 8 * k & 255 for k in range(4)]
        wanted = [quotient, x - quotient * y, u // v, u % v, x * y >> 32, u * v >> 32, u.bit_count(),
                  32 - u.bit_length(),
                  (u & -u).bit_length(), int(f"{u:032b}"[::-1], 2),
                  octets[5] | octets[1] << 8 | octets[7] << 16 | octets[3] << 24, abs(x - y) + 7, x + y >> 1,
                  x + y + 1 >> 1,
                  min(max(x, -100), y), x >> (y & 31), u << (v & 31), abs(x), ((v << 32 | u) << 9) >> 32,
                  (x & y) ^ (~x | 0x5A5A), (x & 0xFFFF) * (y & 0xFFF)]  # fmt: skip
        assert out[:, i].tolist() == [wrapped(value, 32) for value in wanted], i


@right("int32_without_16x2")
def _(run, rng):
    a, b = rng.integers(-(2**15), 2**15, (2, 64))
    out = np.zeros((6, 64), np.int16)
    run("pairs_of_shorts", 2, 32, a.astype(np.int16), b.astype(np.int16), out, I32(64))
    lowered = np.minimum((a + 5 + 2**15) % 2**16 - 2**15, b)
    wanted = [a + b, np.maximum(a, b), lowered, -a, a * b, np.abs(a)]
    assert out.tolist() == np.array(wanted).astype(np.int16).tolist()


@right("video_simd_intrinsics")
def _(run, rng):
    a, b = rng.integers(0, 2**32, (2, 64)).astype(U32)
    out = np.zeros((8, 64), U32)
    run("pairs_in_words", 2, 32, a, b, out, I32(64))

    def parts(words, dtype):
        return words.view(dtype).reshape(64, -1).astype(int)

    def packed(values, dtype):
        return np.ascontiguousarray(values.astype(dtype)).view(U32).reshape(-1).tolist()

    shorts, octets = [parts(x, np.int16) for x in (a, b)], [parts(x, np.uint8) for x in (a, b)]
    signed, words = [parts(x, np.int8) for x in (a, b)], [parts(x, np.uint16) for x in (a, b)]
    assert out[0].tolist() == packed(shorts[0] + shorts[1], np.int16)
    assert out[1].tolist() == packed(np.maximum(*shorts), np.int16)
    assert out[2].tolist() == packed(np.minimum(*words), np.uint16)
    assert out[3].tolist() == packed(np.clip(signed[0] - signed[1], -128, 127), np.int8)
    assert out[4].tolist() == packed((octets[0] + octets[1] + 1) // 2, np.uint8)
    assert out[5].tolist() == packed(np.where(octets[0] > octets[1], 255, 0), np.uint8)
    assert out[6].tolist() == np.abs(octets[0] - octets[1]).sum(axis=1).tolist()
    assert out[7].tolist() == packed(np.abs(shorts[0] - shorts[1]), np.uint16)


@right("bool_char_short_arrays")
def _(run, rng):
    p, a, b, c = (
        rng.random(64) < 0.5,
        rng.integers(-128, 128, 64),
        rng.integers(-(2**15), 2**15, 64),
        rng.integers(0, 256, 64),
    )
    out = np.zeros((6, 64), I32)
    run("small_types", 2, 32, p, a.astype(np.int8), b.astype(np.int16), c.astype(np.uint8), out, I32(64))
    assert out.tolist() == [
        np.where(p, a * b, b - c).tolist(), (c * b + a * b[::-1]).tolist(), (~p + 2 * (a > 0)).tolist(),
        (c * c[::-1] + a).tolist(), ((c + a) % 256).tolist(), (b << 3).astype(np.int16).tolist(),
    ]  # fmt: skip


@right("byte_times_short_arithmetic_IDP2A")
def _(run, rng):
    a, w = rng.integers(0, 256, (64, 2)), rng.integers(0, 2**16, 2)
    out = np.zeros((2, 64), I32)
    run("bytes_by_shorts", 2, 32, a.astype(np.uint8), w.astype(np.uint16), out, I32(64))
    assert out.tolist() == [(a @ w).tolist(), (a @ w + np.arange(64)).tolist()]


@right("rgb_to_gray_uchar")
def _(run, rng):
    rgb, gray = rng.integers(0, 256, (11, 21, 3)).astype(np.uint8), np.zeros((11, 21), np.uint8)
    run("rgb_to_gray", (2, 2), (16, 8), rgb, gray, I32(21), I32(11))
    exact = rgb.astype(F64) @ np.array([0.21, 0.71, 0.07])
    near = np.abs(exact - np.rint(exact)) < 1e-4  # where rounding of floats may decide which whole number it is
    assert (np.abs(gray - exact) <= 1 + 1e-4).all() and (gray == np.floor(exact))[~near].all()


@right("box_blur_uchar_avg")
def _(run, rng):
    image = rng.integers(0, 256, (14, 19))
    out = np.zeros((14, 19), np.uint8)
    run("blur", (2, 2), (16, 8), image.astype(np.uint8), out, I32(19), I32(14))
    wanted = [[int(image[max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3].mean()) for x in range(19)] for y in range(14)]
    assert out.tolist() == wanted


@right("inline_ptx_bits")
def _(run, rng):
    a, b = rng.integers(0, 2**32, (2, 64)).astype(U32)
    a[0], b[1] = 0, 31
    b[::3] %= 32
    out = np.zeros((9, 64), U32)
    run("bits_in_ptx", 2, 32, a, b, out, I32(64))
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        both, mask = y << 32 | x, (1 << 13) - 1 << 7
        position, length = x & 63, y & 63
        clamped = min(position, 32), min(length, 32)
        wide = y % 32
        octets = [x >> 8 * k & 255 for k in range(4)] + [y >> 8 * k & 255 for k in range(4)]
        forward = sum(octets[(i % 4) + k] << 8 * k for k in range(4))
        by = min(length, 32)
        wanted = [x >> 5 & 0x7FF, wrapped(x >> 20 & 0x1FF, 9), y & ~mask | x << 7 & mask,
                  x & y | y & x >> 3 | x & x >> 3, wrapped(x % (1 << wide), wide) if wide else 0,
                  ((1 << clamped[1]) - 1 << clamped[0]), x.bit_length() - 1, forward, (both << by) >> 32]  # fmt: skip
        assert out[:, i].tolist() == [value % 2**32 for value in wanted], i


@right("shift_amounts_ptx")
def _(run, rng):
    a, by = (
        rng.integers(0, 2**32, 96).astype(U32),
        np.r_[0, 31, 32, 33, 2**31, 2**32 - 1, rng.integers(0, 70, 90)].astype(U32),
    )
    out = np.zeros((4, 96), U32)
    run("shifts_in_ptx", 3, 32, a, by, out, I32(96))
    for i, (x, s) in enumerate(zip(a.tolist(), by.tolist(), strict=True)):
        few, both = min(s, 32), (~x % 2**32) << 32 | x
        wanted = [x << few, x >> few, wrapped(x, 32) >> few, both >> s % 32]
        assert out[:, i].tolist() == [value % 2**32 for value in wanted]


@right("video_simd_ptx")
def _(run, rng):
    a, b = rng.integers(0, 2**32, (2, 64)).astype(U32)
    out = np.zeros((3, 64), U32)
    run("video_in_ptx", 2, 32, a, b, out, I32(64))
    octets = [x.view(np.uint8).reshape(64, 4).astype(int) for x in (a, b)]
    shorts = [x.view(np.int16).reshape(64, 2) for x in (a, b)]
    assert out[0].tolist() == np.minimum(octets[0] + octets[1], 255).astype(np.uint8).view(U32).reshape(-1).tolist()
    assert out[1].tolist() == (np.abs(octets[0] - octets[1]).sum(axis=1) + np.arange(64)).tolist()
    assert out[2].tolist() == np.maximum(*shorts).view(U32).reshape(-1).tolist()


def whole_numbers(words):
    """Of rows of words of 32 bits, little end first."""
    return [int.from_bytes(row.tobytes(), "little") for row in words]


@right("add_carry_ptx_bigint")
def _(run, rng):
    a, b = rng.integers(0, 2**32, (2, 64, 4)).astype(U32)
    a[:9], b[5:15] = 2**32 - 1, 2**32 - 1
    out = np.zeros((2, 64, 4), U32)
    run("carries", 2, 32, a, b, out, I32(64))
    pairs = list(zip(whole_numbers(a), whole_numbers(b), strict=True))
    assert whole_numbers(out[0]) == [(x + y) % 2**128 for x, y in pairs]
    assert whole_numbers(out[1]) == [(x - y) % 2**128 for x, y in pairs]


@right("madc_bigmul")
def _(run, rng):
    a, b = rng.integers(0, 2**32, (2, 64, 2)).astype(U32)
    a[:9], b[5:15] = 2**32 - 1, 2**32 - 1
    out = np.zeros((64, 4), U32)
    run("long_product", 2, 32, a, b, out, I32(64))
    assert whole_numbers(out) == [x * y for x, y in zip(whole_numbers(a), whole_numbers(b), strict=True)]


@right("int128")
def _(run, rng):
    code = """extern "C" __global__ void wide(const long long *a, const long long *b, ulonglong2 *out, int n) {
        const int i = threadIdx.x;
        const __int128 x = (__int128)a[i] * b[i] + a[n - 1 - i], y = (__int128)b[i] << 40 | 12345;
        const __int128 values[6] = {x + y, x - y, x / b[i], x % b[i], x >> 7, x * 3 - (x < y)};
        for (int k = 0; k < 6; ++k) out[n * k + i] =
            {(unsigned long long)values[k], (unsigned long long)(values[k] >> 64)};
    }"""
    a, b = rng.integers(-(2**63), 2**63 - 1, (2, 32))
    out = np.zeros((6, 32, 2), U64)
    run.once(code, "wide", 1, 32, a, b, out, I32(32), options=("--device-int128",))
    for i in range(32):
        p, q = int(a[i]), int(b[i])
        x, y = p * q + int(a[31 - i]), q << 40 | 12345
        quotient = abs(x) // abs(q) * (1 if (x < 0) == (q < 0) else -1)
        wanted = [x + y, x - y, quotient, x - quotient * q, x >> 7, x * 3 - (x < y)]
        assert whole_numbers(out[:, i]) == [value % 2**128 for value in wanted]


@right("fp64_rounding_intrinsics")
def _(run, rng):
    a = rng.normal(size=64) * 10.0 ** rng.integers(-3, 9, 64)
    out = np.zeros((6, 64))
    run("halves_of_doubles", 2, 32, a, out, I32(64))
    bits = a.view(I64)
    assert out[0].view(I64).tolist() == (bits ^ 1).tolist() and out[1].view(I64).tolist() == (bits + 3).tolist()
    for i, x in enumerate(map(Fraction, a)):
        for row, exact, down, up in (
            (2, x + Fraction(1e-17), False, True), (3, x * Fraction(0.1), True, False),
            (5, x * x + Fraction(0.3), True, False),
        ):  # fmt: skip
            result = out[row, i]
            assert not up or Fraction(np.nextafter(result, -np.inf)) < exact <= Fraction(result)
            assert not down or Fraction(result) <= exact < Fraction(np.nextafter(result, np.inf))
    assert out[4].tolist() == (a / 3).tolist()
