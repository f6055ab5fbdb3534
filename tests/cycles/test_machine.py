"""The constants of a GPU: the model reproduces the microbenchmarks, and a fit keeps what the kernels agree on."""

import numpy as np
import pytest

from helpers import cycles, devices, run, simulator
from helpers.cycles import errors
from helpers.measure import recordings
from helpers.measure.calibrate import COPIES, SUITE, _loops

CHAINS = ("fma_chain", "imad_chain", "ex2_chain", "shuffle_chain", "redux_chain", "lds_chase", "lds64_chase",
          "lds128_chase", "ldg_ca_chase", "ldc_chase", "atoms_chase", "bar")  # fmt: skip
LOOPS = {loop.name: loop for loop, _ in _loops()}


def predicted_cycles(loop, rounds):
    arguments = (np.zeros(64, np.uint64), np.zeros(64, np.int32), np.zeros(1 << 12, np.int32))
    numbers = (np.int32(value) for value in (rounds, 1, 0))
    with simulator.capture() as caught:
        run.simulated(loop.source, f"loop_{loop.name}")((1,), (32,), (*arguments, *numbers), shared_mem=32768)
    return cycles.predict(caught[0]).simulated.result.cycles


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_instructions_takes_as_long_in_the_model_as_on_the_gpu_that_gave_the_constant(name):
    measured = recordings.raw(devices.DEFAULT.name, SUITE)["measured"]
    gpu = measured.get(f"{name} 1×32 /1") or measured[f"{name} all×32 /1"]
    of_loop = (predicted_cycles(LOOPS[name], 6) - predicted_cycles(LOOPS[name], 2)) / (4 * COPIES)
    assert of_loop == pytest.approx(gpu, rel=0.06 if name == "bar" else 0.02)


@pytest.mark.parametrize(("name", "instruction"), [("lds128_chase", "LDS.128"), ("lds64_chase", "LDS.64")])
def test_a_chain_of_wide_loads_stays_a_chain_of_wide_loads(name, instruction):
    with simulator.capture() as caught:
        data = (np.zeros(64, np.uint64), np.zeros(64, np.int32), np.zeros(1 << 12, np.int32))
        values = (np.int32(1), np.int32(1), np.int32(0))
        run.simulated(LOOPS[name].source, f"loop_{name}")((1,), (32,), (*data, *values), shared_mem=32768)
    code = [each.text for each in cycles.predict(caught[0]).trace.program.instructions]
    assert sum(instruction in text for text in code) == COPIES


def test_a_kernel_with_many_sizes_counts_once():
    of = [errors.Case(f"many {size}", 1, None) for size in range(9)] + [errors.Case("single 1", 1, None)]
    assert errors.by_kernel(of, np.array([0.1] * 9 + [5.0])) == pytest.approx([0.1, 0.4])


def test_what_only_one_kernel_gains_by_is_within_the_standard_error():
    before = [np.full(8, 0.1)]
    one, all_ = np.array([0.0] + [0.1] * 7), np.array([0.08, 0.09] * 4)
    (gained, uncertain), (together, certain) = errors.gain(before, [one]), errors.gain(before, [all_])
    assert gained == pytest.approx(uncertain)
    assert together > 2 * certain
