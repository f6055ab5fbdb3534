"""What an NVIDIA GPU answered to the launches of `kernel_launches`, and the simulator's answers beside it.

The recording is made by tests/goldens/record.py, which runs on the GPU the very machine code that is executed here.
"""

import functools
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import kernel_launches
import numpy as np
from kernel_launches import Launch

from helpers import simulator
from helpers.simulator.special_functions import MAX_ERROR

FOLDER = Path(__file__).parent / "goldens"
RECORDING = FOLDER / "sm_90.json"
ARCH = "sm_90"
EVERYTHING = "every counter"
# The counters that one launch's machine code and arguments do not decide, and why. Results are compared all the same.
_MEETING = "groups of a diverged warp that come to a BSYNC within a few cycles of each other execute it as one"
_RETRIES = "how often a compare-and-swap fails depends on which warp comes first"
_RECIPROCAL = "the remainder's estimate is MUFU.RCP, known to 1 ulp: a thread more or less corrects it"
NOT_DECIDED = {
    "histogram_extremes": ((EVERYTHING,), _RETRIES),
    **dict.fromkeys(
        ("mandelbrot", "branches", "nested_loops", "spmv_scalar", "unstructured", "conditions"),
        (("smsp__inst_executed.sum", "smsp__sass_inst_executed.sum"), _MEETING),
    ),
    "divide_floats": (
        (
            "smsp__sass_thread_inst_executed.sum",
            "smsp__sass_thread_inst_executed_pred_on.sum",
            *(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("fadd", "fp32", "integer", "control")),
            "smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.sum",
        ),
        _RECIPROCAL,
    ),
}


def _recorder():
    """tests/goldens/record.py as a module."""
    specification = importlib.util.spec_from_file_location("goldens_record", FOLDER / "record.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


record = _recorder()


@functools.cache
def goldens() -> dict[str, dict]:
    """The recorded launches by name."""
    return {row["name"]: row for row in json.loads(RECORDING.read_text(encoding="utf-8"))["launches"]}


@functools.cache
def _module(file: str) -> simulator.RawModule:
    entries = sorted({launch.entry for launch in record.all_launches() if launch.file == file})
    return simulator.RawModule(code=kernel_launches.source_of(file), name_expressions=entries, arch=ARCH)


def kernel_of(launch: Launch) -> simulator.Kernel:
    """The kernel of a launch, compiled as for the recording."""
    kernel = _module(launch.file).get_function(launch.entry)
    kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, launch.shared_bytes)
    return kernel


@dataclass(frozen=True)
class Comparison:
    """How many counters were equal, how many bytes of results, and a sentence for everything that was not."""

    counters: int
    result_bytes: int
    differences: tuple[str, ...]


def compare(launch: Launch, golden: dict) -> Comparison:
    """Run a launch at SASS level with full recording, and hold its counters and results against the GPU's."""
    kernel = kernel_of(launch)
    arguments = launch.make_arguments()
    before = [record.digest(argument) for argument in arguments]
    with simulator.record(level="sass", checks="off") as recording:
        kernel(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    counters = recording.counters
    excluded, _ = NOT_DECIDED.get(launch.name, ((), ""))
    compared = [] if EVERYTHING in excluded else [name for name in counters if name not in excluded]
    differences = [
        f"{name}: the simulator counts {counters[name]}, the GPU {golden['counters'].get(name, 'nothing')}"
        for name in compared
        if golden["counters"].get(name) != counters[name]
    ]
    changed = {str(n) for n, old in enumerate(before) if record.digest(arguments[n]) != old}
    if changed != set(golden["results_sha256"]):
        differences.append(f"the simulator changes arguments {changed}, the GPU {set(golden['results_sha256'])}")
    result_bytes = 0
    for number, digest in golden["results_sha256"].items():
        result = arguments[int(number)]
        result_bytes += result.nbytes
        if launch.approximate:
            differences += _beyond_bounds(launch, result, record.unpacked(golden["results"][number], result))
        elif record.digest(result) != digest:
            differences.append(f"argument {number} has other bytes than the GPU's")
    return Comparison(len(compared) - len(differences), result_bytes, tuple(differences))


def summary() -> str:
    """How many launches, counters and bytes of results are the GPU's, and what is not, a line each."""
    launches, lines = record.all_launches(), []
    equal = counters = result_bytes = 0
    for launch in launches:
        golden = goldens().get(launch.name)
        if golden is None or record.sass_digest(kernel_of(launch).compiled) != golden["sass_sha256"]:
            lines.append(f"{launch.name}: not recorded with this machine code")
            continue
        comparison = compare(launch, golden)
        equal += not comparison.differences
        counters += comparison.counters
        result_bytes += comparison.result_bytes
        lines += [f"{launch.name}: {text}" for text in comparison.differences]
    first = f"{equal} of {len(launches)} launches equal: {counters} counters, {result_bytes} bytes of results"
    return "\n".join([first, *lines])


def _beyond_bounds(launch: Launch, simulated: np.ndarray, recorded: np.ndarray) -> list[str]:
    """What is farther from the GPU's than the bound of the special function allows.

    A plane holds the results of one function, and the simulator's are correctly rounded: half an ulp is theirs. A
    result of several steps (softmax: a power, a sum of such powers, a quotient) may take each step's error.
    """
    several = len(launch.approximate) > 1
    planes = zip(simulated, recorded, strict=True) if several else [(simulated, recorded)]
    found = []
    for function, (here, there) in zip(launch.approximate, planes, strict=True):
        bound, steps = MAX_ERROR[function], 1 if several else 4
        here, there = here.astype(np.float64), there.astype(np.float64)
        allowed = steps * (bound.relative * np.abs(here) + bound.absolute + 2.0**-24 * np.abs(here))
        wrong = ~((np.abs(here - there) <= allowed) | (here == there) | (np.isnan(here) & np.isnan(there)))
        if wrong.any():
            worst = float((np.abs(here - there) / allowed)[wrong].max())
            found.append(f"{function}: {wrong.sum()} results, up to {worst:.2f} times the bound away from the GPU's")
    return found
