"""What instructions of PTX make of NaN and of two zeros."""

import numpy as np

from tests.gpusim.instructions import computed


def test_relu_makes_negative_numbers_zero_and_keeps_nan():
    a, b = np.array([np.inf, -2.0, 2.0, -0.0], np.float16), np.array([0, 1, 1, 1], np.float16)
    product = computed("fma.rn.relu.f16", np.float16, a, b, np.float16(0))
    assert product.view(np.uint16).tolist() == [0x7FFF, 0, 0x4000, 0]
    brains = np.array([0x7FC0, 0xC000, 0x4000, 0x8000], np.uint16)  # NaN, -2, 2, -0
    product = computed("fma.rn.relu.bf16", np.uint16, brains, np.uint16(0x3F80), np.uint16(0))
    assert product.tolist() == [0x7FFF, 0, 0x4000, 0]


def test_of_two_zeros_of_float64_the_negative_one_is_the_smaller():
    zeros = np.array([0.0, -0.0, 0.0, -0.0])
    other = zeros[[1, 0, 0, 1]]
    assert np.signbit(computed("min.f64", np.float64, zeros, other)).tolist() == [True, True, False, True]
    assert np.signbit(computed("max.f64", np.float64, zeros, other)).tolist() == [False, False, False, True]
