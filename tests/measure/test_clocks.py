"""The recording of the wrong clocks: every wrong number beside the right one of the same launch."""

import pytest

from gpusim import devices
from helpers.measure import clocks
from helpers.measure.clocks import COLD, KERNEL, NO_SYNC, RIGHT, WARM, ZEROS, Clocked
from helpers.recordings.measurement import Timing
from helpers.recordings.rows import from_row, to_row

PEAK = devices.DEFAULT.peak_fp32_gflops


def test_every_wrong_clock_has_its_right_twin_at_the_same_shape():
    pairs = clocks.pairs()
    assert [wrong.clock for wrong, _ in pairs] == [NO_SYNC, COLD, WARM, ZEROS, ZEROS]
    for wrong, right in pairs:
        assert (right.clock, right.what, right.shape, right.twin) == (RIGHT, wrong.what, wrong.shape, wrong.clock)


def test_only_the_clock_that_does_not_wait_exceeds_the_peak():
    for _, right in clocks.pairs():
        assert right.gflops < PEAK or "FP16" in right.what
    wrong, _ = clocks.pair(NO_SYNC)
    assert wrong.gflops > 50 * PEAK


def test_zeros_speed_up_tensor_cores_but_not_our_kernel():
    wrong, right = clocks.pair(ZEROS, KERNEL)
    assert wrong.gflops == pytest.approx(right.gflops, rel=0.01) and wrong.clock_mhz == right.clock_mhz
    wrong, right = clocks.pair(ZEROS, "cuBLAS, FP16")
    assert wrong.gflops > 1.1 * right.gflops and wrong.clock_mhz > right.clock_mhz


def test_a_row_comes_back_from_the_file_as_it_was():
    measurement = Clocked(RIGHT, COLD, KERNEL, (1, 2, 3), Timing(1.5, 1.0, 2.0, 7), 1980)
    assert from_row(Clocked, to_row(measurement)) == measurement


def test_the_label_is_that_of_recorded_numbers():
    assert clocks.recorded_label() == "recorded on NVIDIA H200"
