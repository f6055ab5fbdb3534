"""The peaks by precision: every GPU has a row, and each number is a power of two of FLOP for an SM in a cycle."""

import math

import pytest

from gpusim import devices
from helpers import peaks

GPUS = list(devices.DEVICES.values())


@pytest.mark.parametrize("device", GPUS, ids=lambda gpu: gpu.short)
def test_every_gpu_has_peaks_with_a_source(device):
    peak = peaks.of(device)
    assert peak.source.startswith("NVIDIA ") and {"FP64", "FP32", "FP16", "INT8"} <= set(peak.tflops)
    assert list(peak.tflops) == [name for name in peaks.FORMATS if name in peak.tflops]


@pytest.mark.parametrize("device", GPUS, ids=lambda gpu: gpu.short)
def test_a_peak_is_a_power_of_two_per_sm_and_cycle(device):
    """So that a slip of a digit shows. Tensor cores may have a lower clock of their own."""
    for name, tflops in peaks.of(device).tflops.items():
        if (device.short, name) == ("H20", "FP64"):
            continue  # cut to 1 TFLOPS, whatever its units could do
        per_cycle = tflops * 1e6 / (device.sms * device.clock_mhz)
        assert per_cycle / 2 ** round(math.log2(per_cycle)) == pytest.approx(0.96, abs=0.05), (name, per_cycle)


def test_shorter_numbers_are_never_multiplied_more_slowly():
    for device in GPUS:
        tflops = peaks.of(device).tflops
        tensor = [tflops[name] for name in ("TF32", "FP16", "INT8") if name in tflops]
        assert tensor == sorted(tensor) and tflops["FP64"] <= tflops["FP32"] * 1.01


def test_a_gpu_without_a_row_is_named_with_those_that_have_one():
    other = devices.Device(**{**vars(devices.DEFAULT), "name": "NVIDIA X1"})
    with pytest.raises(devices.UnknownDevice, match="'NVIDIA X1' are not in the table. It has: NVIDIA H200"):
        peaks.of(other)


def test_a_square_of_shorter_numbers_has_more_flop_per_byte():
    assert peaks.intensity("FP32", 3, 3, 3) == pytest.approx(54 / (4 * 27))
    assert peaks.intensity("FP64", 3, 3, 3) == pytest.approx(54 / (8 * 27))
    assert peaks.intensity("FP8", 3, 3, 3) == pytest.approx(54 / (18 + 36))
