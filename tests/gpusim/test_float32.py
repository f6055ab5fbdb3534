"""Sums that break shortcuts against exact integer arithmetic, and approximations against the manual.

What a GPU answered for every form of an instruction, on operands of every kind, is in test_instruction_goldens.py.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import gpusim
from gpusim.arithmetic import float32
from gpusim.engine import compiled
from tests.gpusim.instructions import computed

F32, F64 = np.float32, np.float64
NAN_BITS = 0x7FFFFFFF
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 1.5, 3.0, -(2.0**-126), 2.0**-149, -(2.0**-149), 2.0**-126 - 2.0**-149, 2.0**-75, 2.0**64]
    + [2.0**128 - 2.0**104, -(2.0**128 - 2.0**104), 2.0**103, 1 + 2.0**-23, 1 - 2.0**-24, np.inf, -np.inf, np.nan],
    F32,
)


@pytest.fixture(autouse=True)
def quiet():
    """What the module asks of its callers."""
    with np.errstate(all="ignore"):
        yield


def of_float(opcode: str, *operands):
    """An instruction of float32 numbers."""
    return computed(f"{opcode}.f32", F32, *(np.asarray(operand, F32) for operand in operands))


def to_tf32(a, rounding: str = "rna"):
    return computed(f"cvt.{rounding}.tf32.f32", F32, a)


def bits(values):
    return np.asarray(values, F32).view(np.uint32)


def bits_of(*values):
    return [NAN_BITS if math.isnan(value) else int(bits(value)) for value in values]


def assert_same_bits(result, expected, *operands):
    result, expected = np.atleast_1d(bits(result)), np.atleast_1d(np.asarray(expected, np.uint32))
    wrong = np.flatnonzero(result != expected)
    if wrong.size:
        lane = wrong[0]
        inputs = [float(np.ravel(operand)[lane]).hex() for operand in operands]
        pytest.fail(
            f"{wrong.size} of {result.size} differ; first: {inputs} -> {result[lane]:#x}, expected {expected[lane]:#x}"
        )


# ---- the reference: Python's integers, in units of 2^-298 (no product of two float32 numbers is finer) ------------

UNIT = 298


def units(value, power):
    """A finite float as an integer number of 2^-power."""
    numerator, denominator = float(value).as_integer_ratio()
    return numerator * ((1 << power) // denominator)


def rounded_bits(exact, mode, zero_is_negative, unit=UNIT):
    """The float32 bits of exact * 2^-unit, rounded as `mode` says."""
    if exact == 0:
        return 0x80000000 if zero_is_negative else 0
    sign, size = (0x80000000, -exact) if exact < 0 else (0, exact)
    step = max(size.bit_length() - 24, unit - 149)  # the last place is 2^(step - unit)
    kept, rest, half = size >> step, size & ((1 << step) - 1), 1 << (step - 1)
    if mode == "rn":
        kept += rest > half or (rest == half and kept & 1)
    elif rest:
        kept += {"rz": False, "rm": exact < 0, "rp": exact > 0}[mode]
    exponent = step - (unit - 149)
    encoded = kept + (exponent << 23) if kept else 0  # a carry out of the fraction moves the exponent by itself
    if encoded >= 0x7F800000:
        to_infinity = mode == "rn" or mode == ("rm" if exact < 0 else "rp")
        encoded = 0x7F800000 if to_infinity else 0x7F7FFFFF
    return sign | encoded


def reference_fma(a, b, c, mode):
    result = []
    for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
        if math.isfinite(x) and math.isfinite(y) and math.isfinite(z):
            exact = units(x, 149) * units(y, 149) + (units(z, 149) << 149)
            negative_product = math.copysign(1, x) * math.copysign(1, y) < 0
            both_zero = x * y == 0 and z == 0 and (x == 0 or y == 0)
            agree = negative_product == (math.copysign(1, z) < 0)
            negative_zero = negative_product if both_zero and agree else mode == "rm"
            result.append(rounded_bits(exact, mode, negative_zero))
        else:
            product = x * y if not (math.isfinite(x) and math.isfinite(y)) else 0.0
            total = product + z
            result.append(NAN_BITS if math.isnan(total) else int(bits(total)))
    return np.array(result, np.uint32)


# ---- operands that break shortcuts --------------------------------------------------------------------------------


def random_bits(count, rng):
    return rng.integers(0, 1 << 32, count, np.uint32).view(F32)


def random_scales(count, rng):
    return np.ldexp(rng.standard_normal(count), rng.integers(-140, 100, count)).astype(F32)


def half_way_sums(count, rng):
    """a * b lies exactly between two float32 numbers and c, far smaller, decides: float64 forgets it."""
    a, b = (2 * rng.integers(1 << 11, 1 << 12, count) + 1 for _ in range(2))
    shift = rng.integers(-30, 30, (2, count))
    sign = rng.choice([-1, 1], (3, count))
    c = np.ldexp(1.0 + rng.random(count), rng.integers(-149, -40, count))
    return (
        np.ldexp(sign[0] * a, shift[0]).astype(F32),
        np.ldexp(sign[1] * b, shift[1]).astype(F32),
        (sign[2] * c).astype(F32),
    )


def cancelling_sums(count, rng):
    """c is -a * b to within a few places, so that what is left is the rounding of the product."""
    a, b = rng.standard_normal((2, count)).astype(F32)
    nearby = ((-(a * b)).view(np.int32) + rng.integers(-2, 3, count, np.int32)).view(F32)
    return a, b, nearby


def subnormal_sums(count, rng):
    """Results below 2^-126: a * b is within 2^-40 of half the smallest subnormal, which float64 forgets beside c."""
    wiggle = rng.integers(-8, 9, count) * 2.0**-23
    scale = rng.integers(-80, -70, count)
    a = np.ldexp(1 + wiggle, scale).astype(F32)
    b = (rng.choice([-1, 1], count) * np.ldexp(1 - wiggle, rng.choice([-150, -150, -149, -151], count) - scale)).astype(
        F32
    )
    c = (rng.choice([-1, 1], count) * np.ldexp(rng.random(count) + 1, rng.integers(-149, -126, count))).astype(F32)
    return a, b, c


def sums_near_overflow(count, rng):
    """Around 2^128 - 2^103, where rounding to nearest turns to infinity."""
    largest = np.full(count, 2.0**128 - 2.0**104, F32)
    b = rng.choice(np.array([1, -1, 1 - 2.0**-24, 1 + 2.0**-23], F32), count)
    near_half = (np.full(count, 2.0**103, F32).view(np.int32) + rng.integers(-2, 3, count, np.int32)).view(F32)
    return largest, b, near_half * rng.choice(np.array([1, -1], F32), count)


def fma_operands(count, seed):
    rng = np.random.default_rng(seed)
    parts = [
        tuple(random_bits(count, rng) for _ in range(3)),
        tuple(random_scales(count, rng) for _ in range(3)),
        half_way_sums(count, rng),
        cancelling_sums(count, rng),
        subnormal_sums(count, rng),
        sums_near_overflow(count // 4, rng),
        tuple(np.array(column, F32) for column in zip(*itertools.product(SPECIAL, repeat=3), strict=True)),
    ]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


# ---- add, multiply, divide ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "count"), [("rn", 18000), ("rz", 3000), ("rm", 3000), ("rp", 3000)])
def test_fma_rounds_the_exact_sum_once(mode, count):
    a, b, c = fma_operands(count, seed=7)
    assert_same_bits(of_float(f"fma.{mode}", a, b, c), reference_fma(a, b, c, mode), a, b, c)


def test_chosen_operands_break_the_shortcut_through_float64():
    for operands in (half_way_sums, subnormal_sums):
        a, b, c = operands(2000, np.random.default_rng(1))
        shortcut = (a.astype(F64) * b + c).astype(F32)
        assert np.count_nonzero(bits(shortcut) != reference_fma(a, b, c, "rn")) > 200


def test_one_doubtful_lane_alone_is_noticed():
    """In a large array some other lane may lead to the careful way; here each lane has to find it for itself."""
    a, b, c = (operand[::60] for operand in fma_operands(4000, seed=12))
    # 8384513 * 8392705 is 2^46 + 1: just below the tie under 2^-126; float64 takes it for a tie
    edge = (8384513 * 2.0**-98, -8392705 * 2.0**-98, 2.0**-126)
    a, b, c = (np.append(operand, F32(x)) for operand, x in zip((a, b, c), edge, strict=True))
    alone = [of_float("fma.rn", x, y, z) for x, y, z in zip(a, b, c, strict=True)]
    assert all(isinstance(result, np.float32) for result in alone)
    assert_same_bits(np.array(alone), reference_fma(a, b, c, "rn"), a, b, c)
    assert alone[-1] == F32(2.0**-126 - 2.0**-149)


# ---- longer and shorter formats -----------------------------------------------------------------------------------


def reference_fma64(a, b, c):
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else (a * b + c if a == 0 or b == 0 else 0.0)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def test_float64_fma_rounds_the_exact_sum_once():
    rng = np.random.default_rng(11)
    count = 1500
    wild = rng.integers(0, 1 << 64, (3, count), np.uint64).view(F64)
    mild = np.ldexp(rng.standard_normal((3, count)), rng.integers(-200, 200, (3, count)))
    a, b = rng.standard_normal((2, count))
    nearby = ((-(a * b)).view(np.int64) + rng.integers(-2, 3, count)).view(F64)
    odd = 2.0 * rng.integers(1 << 25, 1 << 26, (2, count)) + 1  # products of 53 or 54 bits: exactly half-way
    tiny = np.ldexp(rng.choice([-1.0, 1.0], count), rng.integers(-300, -1, count))
    small = np.ldexp(rng.standard_normal((2, count)), rng.integers(-545, -530, (2, count)))
    special = np.array(list(itertools.product(SPECIAL.astype(F64), [1e308, -1e308, 5e-324, 0.0, -0.0], SPECIAL))).T
    parts = [wild, mild, [a, b, nearby], [*odd, tiny], [*small, np.ldexp(tiny, -760)], special]
    a, b, c = (np.concatenate(column) for column in zip(*parts, strict=True))
    result = computed("fma.rn.f64", F64, a, b, c)
    expected = np.array([reference_fma64(*lane) for lane in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)])
    same = (result.view(np.int64) == expected.view(np.int64)) | (np.isnan(result) & np.isnan(expected))
    assert same.all(), [(a[i].hex(), b[i].hex(), c[i].hex()) for i in np.flatnonzero(~same)[:3]]
    assert np.count_nonzero(result != a * b + c) > count  # two roundings would be wrong in many lanes


def test_sum_rounded_to_odd_rounds_correctly_to_shorter_formats():
    a, b, c = F32(1 + 2.0**-8), F32(1), F32(2.0**-100)  # just above the tie between two bfloat16 numbers
    odd = float32.fma_to_odd(a, b, c)
    assert odd > 1 + 2.0**-8
    assert float32.fma_to_odd(a, b, -c) < 1 + 2.0**-8
    assert float32.fma_to_odd(a, b, F32(0)) == 1 + 2.0**-8


def test_tf32_rounds_ties_away_or_to_even():
    tie = F32(1 + 2.0**-11)
    assert to_tf32(tie) == 1 + 2.0**-10
    assert to_tf32(tie, "rn") == 1
    assert to_tf32(F32(1 + 3 * 2.0**-11), "rn") == 1 + 2.0**-9
    assert to_tf32(-tie, "rz") == -1
    assert to_tf32(F32(np.inf)) == np.inf
    assert_same_bits(to_tf32(np.uint32(0x7FC01FFF).view(F32)), [0x7FC00000])
    assert_same_bits(to_tf32(F32(np.nan), "rn"), [0x7FFFE000])


# ---- approximations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "special", "results"),
    [
        ("rcp.approx", [-np.inf, -0.0, 0.0, np.inf, np.nan], [-0.0, -np.inf, np.inf, 0.0, np.nan]),
        ("sqrt.approx", [-np.inf, -1, -0.0, 0.0, np.inf, np.nan], [np.nan, np.nan, -0.0, 0.0, np.inf, np.nan]),
        ("rsqrt.approx", [-np.inf, -1, -0.0, 0.0, np.inf, np.nan], [np.nan, np.nan, -np.inf, np.inf, 0.0, np.nan]),
        ("lg2.approx", [-np.inf, -1, -0.0, 0.0, np.inf, np.nan], [np.nan, np.nan, -np.inf, -np.inf, np.inf, np.nan]),
        ("ex2.approx", [-np.inf, -0.0, 0.0, np.inf, np.nan], [0.0, 1.0, 1.0, np.inf, np.nan]),
        ("tanh.approx", [-np.inf, -0.0, 0.0, np.inf, np.nan], [-1.0, -0.0, 0.0, 1.0, np.nan]),
    ],
)
def test_special_function_unit_gives_the_manuals_special_values(function, special, results):
    assert_same_bits(of_float(function, np.array(special, F32)), bits_of(*results), special)


@pytest.mark.parametrize(
    ("function", "reference", "low", "high"),
    [
        ("rcp.approx", lambda x: 1 / x, 1e-30, 1e30),
        ("sqrt.approx", math.sqrt, 1e-40, 1e38),
        ("rsqrt.approx", lambda x: 1 / math.sqrt(x), 1e-40, 1e38),
        ("lg2.approx", math.log2, 1e-40, 1e38),
        ("ex2.approx", lambda x: 2.0**x, -126, 127),
        ("tanh.approx", math.tanh, -10, 10),
    ],
)
def test_approximations_are_the_nearest_float32(function, reference, low, high):
    a = np.random.default_rng(9).uniform(low, high, 2000).astype(F32)
    expected = np.array([reference(x) for x in a.tolist()]).astype(F32)
    assert_same_bits(of_float(function, a), bits(expected), a)


def test_approximate_quotient_loses_divisors_above_2_to_the_126():
    a = np.array([3, -3, 3, np.inf, 3, 1], F32)
    b = np.array([2.0**127, 2.0**127, -(2.0**127), 2.0**127, np.inf, 2.0**126], F32)
    quotient = of_float("div.approx", a, b)
    assert_same_bits(quotient, bits_of(0.0, -0.0, -0.0, np.nan, 0.0, 2.0**-126), a, b)
    assert of_float("div.full", F32(3), F32(2.0**127)) == F32(3 * 2.0**-127)


def test_sine_and_cosine_of_nan_and_infinity_follow_the_manual():
    a = np.array([-np.inf, -0.0, 0.0, np.inf, np.nan], F32)
    assert_same_bits(of_float("sin.approx", a), bits_of(np.nan, -0.0, 0.0, np.nan, np.nan), a)
    assert_same_bits(of_float("cos.approx", a), bits_of(np.nan, 1.0, 1.0, np.nan, np.nan), a)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_and_cosines_are_as_near_as_the_ptx_manual_says(name):
    for reach, error in ((2 * np.pi, 2**-20.5), (100 * np.pi, 2**-14.7)):
        a = np.random.default_rng(9).uniform(-reach, reach, 2000).astype(F32)
        exact = getattr(np, name)(a.astype(np.float64))
        assert np.abs(of_float(f"{name}.approx", a) - exact).max() < error


# What the special function unit is for, in PTX and by the names of C; X and Y are the operands.
APPROXIMATE = {
    **{f"{name}.approx{ftz}.f32": f'asm("{name}.approx{ftz}.f32 %0, %1;" : "=f"(r) : "f"(X));'
       for name in ("sin", "cos", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh")
       for ftz in ("", ".ftz") if (name, ftz) != ("tanh", ".ftz")},
    **{f"div.{kind}.f32": f'asm("div.{kind}.f32 %0, %1, %2;" : "=f"(r) : "f"(X), "f"(Y));'
       for kind in ("approx", "approx.ftz", "full", "full.ftz", "rn", "rn.ftz")},
    **{f"{name}()": f"r = {name}(X);"
       for name in ("__sinf", "__cosf", "__tanf", "__logf", "__log2f", "__log10f", "__expf", "__exp10f")},
    **{f"{name}()": f"r = {name}(X, Y);" for name in ("__fdividef", "__powf")},
}  # fmt: skip


@cache
def approximations():
    kernels = (
        f"""extern "C" __global__ void kernel{number}(const float *x, const float *y, float *out, int n) {{
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t < n) {{ float r; {code.replace("X", "x[t]").replace("Y", "y[t]")} out[t] = r; }} }}"""
        for number, code in enumerate(APPROXIMATE.values())
    )
    module = gpusim.RawModule(code="".join(kernels), options=("--ftz=false",))
    module.compile()
    return module


@cache
def operands():
    """Pairs of float32: all of what is special, and at random."""
    special = [0, 1, 0x3FFFFF, 0x400000, 0x7FFFFF, 0x800000, 0x800001, 0x1000000, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF,
               0x3F800000, 0x3F800001, 0x40490FDB, 0x42FC0000, 0x42FC0001, 0x42FF0000, 0x43000000, 0x43150000,
               0x43160000, 0x7E7FFFFF, 0x7E800000, 0x7E800001, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001,
               0x7FC00000]  # fmt: skip
    special = np.array([sign | bits for bits in special for sign in (0, 1 << 31)], np.uint32)
    rng = np.random.default_rng(17)
    random = rng.integers(0, 1 << 32, (2, 3000), np.uint32)
    near = (rng.normal(0, 1, (2, 3000)) * rng.choice([1e-3, 1, 10, 130], 3000)).astype(F32).view(np.uint32)
    pairs = [np.stack([np.repeat(special, len(special)), np.tile(special, len(special))]), random, near]
    return np.concatenate(pairs, axis=1).view(F32)


@pytest.mark.parametrize("number", range(len(APPROXIMATE)), ids=list(APPROXIMATE))
def test_approximation_has_the_same_bits_in_ptx_and_machine_code(number):
    x, y = operands()
    results = {}
    for level in ("ptx", "sass"):
        out = results[level] = np.zeros_like(x)
        with gpusim.record(level=level):
            kernel = approximations().get_function(f"kernel{number}")
            kernel((-(-len(x) // 256),), (256,), (x, y, out, np.int32(len(x))))
    assert_same_bits(results["ptx"], bits(results["sass"]), x, y)


def test_subnormal_made_of_integer_bits_is_flushed_beside_others(level, monkeypatch):
    monkeypatch.setattr(compiled, "library", lambda: None)
    source = """extern "C" __global__ void add(const unsigned *bits, const float *p, float *out) {
        unsigned t = threadIdx.x;
        float q;
        if (t & 1u) q = __uint_as_float(bits[t] & 0x3fffffffu);
        else { out[t + 32] = 1.0f; q = float(int(bits[t] << (t & 7u))); }
        out[t] = __fadd_rz(p[t], q);
    }"""
    bits, p, out = np.full(32, 26, np.uint32), np.linspace(-2, -1, 32, dtype=np.float32), np.zeros(64, np.float32)
    kernel = gpusim.RawModule(code=source, options=("--ftz=true",)).get_function("add")
    with gpusim.record(level=level):
        kernel((1,), (32,), (bits, p, out))
    assert out[1:32:2].tolist() == p[1::2].tolist()
