"""The roofline against numbers worked out by hand."""

import pytest

from gpusim import devices
from helpers.pictures.roofline.model import attainable_gflops, fastest_time, ridge_point

H200 = devices.get("NVIDIA H200")


def test_h200_turns_compute_bound_at_14_flop_a_byte():
    assert ridge_point(H200) == pytest.approx(66_908 / 4_800, rel=1e-3)


def test_under_the_ridge_the_roof_is_bandwidth_times_intensity():
    assert attainable_gflops(H200, 0.25) == pytest.approx(1200)


def test_over_the_ridge_the_roof_is_the_peak():
    assert attainable_gflops(H200, 1000) == H200.peak_fp32_gflops


def test_both_roofs_meet_at_the_ridge():
    assert attainable_gflops(H200, ridge_point(H200)) == pytest.approx(H200.peak_fp32_gflops)


def test_an_intensity_of_zero_is_refused():
    with pytest.raises(ValueError, match="The intensity is 0 FLOP/B"):
        attainable_gflops(H200, 0)


def test_large_square_is_compute_bound_and_vector_memory_bound():
    square = fastest_time(H200, 4096, 4096, 4096)
    assert square.compute_ms == pytest.approx(2 * 4096**3 / H200.peak_fp32_gflops / 1e6)
    assert (square.bound, square.ms) == ("compute", square.compute_ms)
    vector = fastest_time(H200, 1, 4096, 4096)
    assert vector.memory_ms == pytest.approx((4096 + 4096 * 4096 + 4096) * 4 / 4.8e9)
    assert (vector.bound, vector.ms) == ("memory", vector.memory_ms)
