"""Floating-point operations by name: what NumPy does not answer as a GPU does, and what is not modelled."""

import numpy as np
import pytest

from gpusim.arithmetic import atomics, comparisons, integer
from gpusim.arithmetic.conversions import conversion
from gpusim.arithmetic.operations import operation
from gpusim.engine import accesses
from gpusim.errors import Unknown

ZEROS = np.array([0.0, -0.0, 0.0, -0.0])


def test_of_two_zeros_of_float64_the_negative_one_is_the_smaller():
    other = ZEROS[[1, 0, 0, 1]]
    assert np.signbit(operation("min", (), "f64")(ZEROS, other)).tolist() == [True, True, False, True]
    assert np.signbit(operation("max", (), "f64")(ZEROS, other)).tolist() == [False, False, False, True]
    assert np.signbit(operation("min", (), "f64")(np.float64(0.0), np.float64(-0.0)))
    assert not np.signbit(operation("max", (), "f64")(np.float64(-0.0), np.float64(0.0)))


def test_a_nan_of_float64_gives_way_to_a_number():
    a, b = np.array([np.nan, 3.0, np.nan]), np.array([2.0, np.nan, np.nan])
    for name in ("min", "max"):
        np.testing.assert_array_equal(operation(name, (), "f64")(a, b), [2.0, 3.0, np.nan])


def test_relu_makes_negative_numbers_zero_and_keeps_nan():
    with np.errstate(all="ignore"):
        a, one, zero = np.array([np.inf, -2.0, 2.0, -0.0], np.float16), np.float16(1), np.float16(0)
        product = operation("fma", ("rn", "relu"), "f16")(a, np.array([0, 1, 1, 1], np.float16), zero)
        assert product.view(np.uint16).tolist() == [0x7FFF, 0, 0x4000, 0]
        brains = np.array([0x7FC0, 0xC000, 0x4000, 0x8000], np.uint16)  # NaN, -2, 2, -0
        assert operation("fma", ("rn", "relu"), "bf16")(brains, np.uint16(0x3F80), np.uint16(0)).tolist() == [
            0x7FFF, 0, 0x4000, 0,
        ]  # fmt: skip
        assert operation("add", (), "f16")(one, one) == 2


def test_relu_of_a_conversion_makes_negative_numbers_zero_and_keeps_nan():
    a = np.array([-2.5, -0.0, np.nan, 2.5, -np.inf], np.float32)
    assert conversion("f16", "f32", ("rn", "relu"))(a).view(np.uint16).tolist() == [0, 0, 0x7FFF, 0x4100, 0]
    assert conversion("bf16", "f32", ("rn", "relu"))(a).tolist() == [0, 0, 0x7FFF, 0x4020, 0]


def test_ftz_of_a_half_is_the_sum_with_a_negative_zero():
    bits = np.array([0x0001, 0x8001, 0x7C01, 0x3C00, 0x0400, 0x8000], np.uint16)
    with np.errstate(all="ignore"):
        negated = operation("neg", ("ftz",), "f16")(bits.view(np.float16)).view(np.uint16)
    assert negated.tolist() == [0x8000, 0, 0x7FFF, 0xBC00, 0x8400, 0]
    assert operation("abs", ("ftz",), "f16x2")(np.array([0xBC008001], np.uint32)).tolist() == [0x3C000000]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 33])
def test_a_signaling_nan_gives_way_to_a_number_in_arrays_of_every_length(count):
    signaling = np.full(count, 0x7F800001, np.uint32).view(np.float32)
    number = np.full(count, -3, np.float32)
    for name in ("min", "max"):
        for operands in ((signaling, number), (number, signaling)):
            assert (operation(name, (), "f32")(*operands) == -3).all()


def test_a_nan_of_float64_is_handed_on_quiet_the_second_operand_first():
    first, second = (np.array([bits], np.uint64).view(np.float64) for bits in (0x7FF0000000000001, 0xFFF8000000000002))
    with np.errstate(all="ignore"):
        for name in ("add", "sub", "mul"):
            assert operation(name, (), "f64")(first, second).view(np.uint64).tolist() == [0xFFF8000000000002]
            assert operation(name, ("rz",), "f64")(first, 1.0).view(np.uint64).tolist() == [0x7FF8000000000001]


@pytest.mark.parametrize(
    ("name", "modifiers", "type_"),
    [("rsqrt", ("rz",), "f64"), ("rcp", ("approx",), "f64"), ("fma", ("approx", "ftz"), "f64"),
     ("min", ("xorsign", "abs"), "f32"), ("rcp", (), "f16"), ("mul", ("ftz",), "bf16"),
     ("frob", (), "f32"), ("add", (), "e4m3")],
)  # fmt: skip
def test_what_is_not_modelled_is_said(name, modifiers, type_):
    with pytest.raises(Unknown):
        operation(name, modifiers, type_)


@pytest.mark.parametrize(
    ("to", "origin", "modifiers"),
    [("e4m3x2", "f32", ()), ("f64", "f32", ("relu",)), ("f16", "f32", ("sat",)), ("bf16", "e4m3x2", ()),
     ("f32", "f16", ("rni",))],
)  # fmt: skip
def test_a_conversion_that_is_not_modelled_is_said(to, origin, modifiers):
    with pytest.raises(Unknown):
        conversion(to, origin, modifiers)


def test_comparisons_tell_ordered_from_unordered():
    a, b = np.array([1.0, np.nan, 2.0]), np.array([2.0, 1.0, 2.0])
    assert comparisons.FLOAT["ne"](a, b).tolist() == [True, False, False]
    assert comparisons.FLOAT["neu"](a, b).tolist() == [True, True, False]
    assert comparisons.FLOAT["geu"](a, b).tolist() == [False, True, True]
    assert comparisons.FLOAT["nan"](a, b).tolist() == [False, True, False]


def test_the_choice_of_all_threads_is_the_operand_itself():
    a, b = np.arange(3), np.zeros(3, int)
    assert comparisons.select(np.True_, a, b) is a
    assert comparisons.select(np.array([True, False, True]), a, b).tolist() == [0, 0, 2]


def test_a_dot_product_of_bytes_takes_the_sign_of_each_side():
    assert integer.dot4(np.uint32(0x01020304), np.uint32(0x01010101), np.uint32(5), (True, True)) == 15
    a = np.array([-1, 2], np.int32)  # four bytes of 255 or -1; a 2
    assert integer.dot4(a, np.int32(0x01FF01FF), np.int32(5), (False, True)).tolist() == [5, 3]
    assert integer.dot4(a, np.int32(0x01FF01FF), np.int32(5), (True, False)).tolist() == [-507, 515]


def test_the_reciprocal_of_a_float64_is_of_its_upper_half():
    x = np.array([3.0, -0.0, 2.0**-1030, 2.0**1023, np.inf])
    with np.errstate(all="ignore"):
        found = operation("rcp", ("approx", "ftz"), "f64")(x)
        root = operation("rsqrt", ("approx", "ftz"), "f64")(np.float64(4.0))
    assert found.view(np.uint64).tolist() == [
        0x3FD5555500000000, 0xFFF0000000000000, 0x7FF0000000000000, 0, 0,
    ]  # fmt: skip
    assert root == 0.5


def test_float64_sums_that_cancel_are_negative_zero_only_when_rounded_down():
    one, infinite = np.float64(1), np.float64(np.inf)
    with np.errstate(all="ignore"):
        for rounding in ("rz", "rm", "rp"):
            total = operation("add", (rounding,), "f64")(one, -one)
            assert total == 0 and np.signbit(total) == (rounding == "rm")
            largest = np.finfo(np.float64).max
            assert operation("fma", (rounding,), "f64")(-largest, np.float64(2), infinite) == infinite


def one_after_the_other(view, index, operands, apply):
    old = []
    for cell, *lane in zip(index, *operands, strict=True):
        old.append(view[cell])
        view[cell : cell + 1] = apply(view[cell : cell + 1], *(np.array([value]) for value in lane))
    return np.array(old, view.dtype)


@pytest.mark.parametrize(
    ("name", "type_", "dtype"),
    [
        *((name, "s32", np.int32) for name in ("add", "min", "max", "and", "or", "xor", "inc", "exch", "cas")),
        *((name, "u64", np.uint64) for name in ("add", "min", "max")), ("add", "f32", np.float32),
        ("add", "f64", np.float64), ("add", "f16", np.float16),
    ],
)  # fmt: skip
def test_atomics_of_many_lanes_are_as_one_after_another(name, type_, dtype):
    rng = np.random.default_rng(7)
    for cells in (1, 3, 40):
        for flushes in (False, True) if type_ == "f32" else (False,):
            bits = rng.integers(0, 256, 100 * np.dtype(dtype).itemsize, np.uint8).view(dtype)
            values = bits if np.dtype(dtype).kind in "iu" else rng.standard_normal(100).astype(dtype)
            if flushes:
                values[::9] = 1e-40  # subnormal
            index, apply = rng.integers(0, cells, 100), atomics.update(name, type_, flushes)
            one, other = (values[:cells].copy() for _ in range(2))
            operands = [rng.choice(values[:4], 100), rng.choice(values[:4], 100)] if name == "cas" else [values]
            with np.errstate(all="ignore"):
                expected = one_after_the_other(one, index, operands, apply)
                found = accesses._in_lane_order(other, index, operands, apply)
            assert found.tobytes() == expected.tobytes() and one.tobytes() == other.tobytes()
