"""The constants of a GPU: the model reproduces the microbenchmarks, and a fit keeps what the kernels agree on."""

import numpy as np
import pytest

import gpusim
from gpusim import devices
from helpers import cycles, recordings, run
from helpers.tools.fitting import errors
from helpers.tools.measuring.calibrate import COPIES, _loops

CHAINS = ("fma_chain", "imad_chain", "ex2_chain", "shuffle_chain", "redux_chain", "lds_chase", "lds64_chase",
          "lds128_chase", "ldg_ca_chase", "ldc_chase", "atoms_chase", "bar")  # fmt: skip
LOOPS = {loop.name: loop for loop, _ in _loops()}


def predicted_cycles(loop, rounds):
    arguments = (np.zeros(64, np.uint64), np.zeros(64, np.int32), np.zeros(1 << 12, np.int32))
    numbers = (np.int32(value) for value in (rounds, 1, 0))
    with gpusim.capture() as caught:
        run.simulated(loop.source, f"loop_{loop.name}")((1,), (32,), (*arguments, *numbers), shared_mem=32768)
    return cycles.predict(caught[0]).simulated.result.cycles


@pytest.mark.parametrize("name", CHAINS)
def test_chain_takes_as_long_in_the_model_as_on_its_gpu(name):
    measured = recordings.raw(devices.DEFAULT.name, recordings.MACHINE)["measured"]
    gpu = measured.get(f"{name} 1×32 /1") or measured[f"{name} all×32 /1"]
    of_loop = (predicted_cycles(LOOPS[name], 6) - predicted_cycles(LOOPS[name], 2)) / (4 * COPIES)
    assert of_loop == pytest.approx(gpu, rel=0.06 if name == "bar" else 0.02)


@pytest.mark.parametrize(("name", "instruction"), [("lds128_chase", "LDS.128"), ("lds64_chase", "LDS.64")])
def test_a_chain_of_wide_loads_stays_a_chain_of_wide_loads(name, instruction):
    with gpusim.capture() as caught:
        data = (np.zeros(64, np.uint64), np.zeros(64, np.int32), np.zeros(1 << 12, np.int32))
        values = (np.int32(1), np.int32(1), np.int32(0))
        run.simulated(LOOPS[name].source, f"loop_{name}")((1,), (32,), (*data, *values), shared_mem=32768)
    code = [each.text for each in cycles.predict(caught[0]).trace.program.instructions]
    assert sum(instruction in text for text in code) == COPIES


class Case:
    """A launch whose time depends on some constants, to powers, and that is `off` where they are as believed."""

    def __init__(self, name, off, **powers):
        self.name, self.off, self.powers = name, off, powers

    def error(self, constants):
        return self.off + sum(p * (constants[name] / errors.BELIEVED[name][0] - 1) for name, p in self.powers.items())


@pytest.fixture
def fitted(monkeypatch):
    """What `errors.fitted` finds for launches that are told."""

    def of(*launches):
        monkeypatch.setattr(errors, "with_constants", lambda gpu, constants: constants)
        monkeypatch.setattr(errors, "ratios", lambda some, known: np.exp([case.error(known) for case in some]))
        return errors.fitted([(launches, devices.DEFAULT.name)], report=lambda text: None)

    return of


def cases(kernel, off, count=1, **powers):
    return [Case(f"{kernel} {size}", off, **powers) for size in range(count)]


def test_what_all_kernels_ask_for_is_fitted_and_the_rest_is_kept(fitted):
    fit = fitted(*(case for number in range(20) for case in cases(f"kernel{number}", -0.2, write_ahead=1)))
    assert fit["write_ahead"] == pytest.approx(errors.BELIEVED["write_ahead"][0] * 1.2, rel=0.03)
    assert all(fit[name] == value for name, (value, _) in errors.BELIEVED.items() if name != "write_ahead")


def test_a_kernel_with_many_sizes_counts_once(fitted):
    others = [case for number in range(3) for case in cases(f"kernel{number}", 0.2, write_ahead=1)]
    fit = fitted(*others, *cases("many", -0.2, count=30, write_ahead=1))
    assert fit["write_ahead"] < errors.BELIEVED["write_ahead"][0]


def test_what_only_one_of_many_kernels_asks_for_is_not_followed(fitted):
    """It helps none of the kernels that are left out in turn."""
    others = [
        case for number in range(30) for case in cases(f"kernel{number}", 0.01 * (-1) ** number, write_ahead=0.001)
    ]
    fit = fitted(*others, *cases("single", -0.03, write_ahead=0.01))
    assert fit["write_ahead"] == errors.BELIEVED["write_ahead"][0]
