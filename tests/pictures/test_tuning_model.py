"""Predictions about a configuration, against hand sums and against the compiler."""

import pytest

from gemm_kernels import get
from gpusim import compiler, devices
from helpers.pictures.tuning.model import OTHER_REGISTERS, CannotRun, predict

H200 = devices.get("H200")
KERNEL = get("warptiled").replace(BM=128, BN=128, BK=8, WM=64, WN=32, TM=8, TN=8, STAGES=2, BLOCKS=1)


def test_the_numbers_of_one_configuration_by_hand():
    prediction = predict(H200, KERNEL)
    assert prediction.registers == 8 * 8 + 2 * (8 + 8) + OTHER_REGISTERS
    assert prediction.intensity == 2 * 128 * 128 * 8 / (4 * 8 * (128 + 128)) == 32
    assert prediction.floats_a_fma == (64 + 32) / (64 * 32)
    assert (prediction.limiter, prediction.occupancy) == ("registers", 1 * 8 / 64)


def test_launch_bounds_take_registers_away():
    prediction = predict(H200, KERNEL.replace(BLOCKS=4))
    assert prediction.registers == 65536 // (4 * 256) and prediction.spills
    assert prediction.limiter == "spills"
    assert not predict(H200, KERNEL.replace(BLOCKS=2)).spills
    assert predict(H200, KERNEL.replace(BLOCKS=2)).registers == 128


def test_many_stages_make_shared_memory_the_limit():
    prediction = predict(H200, KERNEL.replace(BK=32, STAGES=4, BLOCKS=2))
    assert prediction.result.limits["shared"] == 1 < prediction.result.limits["registers"]
    assert prediction.limiter == "shared"
    assert predict(devices.get("RTX A6000"), KERNEL.replace(BK=32, STAGES=4)).limiter == "nothing fits"


def test_gpu_lacking_an_instruction_gets_no_prediction():
    with pytest.raises(CannotRun, match="^warptiled does not run on sm_75, because it uses cp.async, which needs"):
        predict(devices.get("Tesla T4"), get("warptiled"))


@pytest.mark.parametrize(
    "params",
    [{}, {"BLOCKS": 2}, {"TM": 4, "TN": 16, "WM": 32, "WN": 64}, {"BM": 64, "BN": 64, "WM": 32, "TN": 4}],
)
def test_the_compiler_takes_about_as_many_registers(params):
    kernel = KERNEL.replace(**params)
    compiled = compiler.compile(kernel.source, kernel.entry, options=kernel.launch(64, 64, 64).options)
    assert predict(H200, kernel).registers == pytest.approx(compiled.registers, abs=16)
