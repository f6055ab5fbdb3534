"""What an NVIDIA GPU answered to the launches of `kernel_launches`, and the simulator's answers beside it.

The recording is made by goldens/record.py, which runs on the GPU the very machine code that is executed here.
"""

import functools
from dataclasses import dataclass

import numpy as np

import gpusim
from tests.gpusim import kernel_launches
from tests.gpusim.goldens import record
from tests.gpusim.kernel_launches import Launch

ARCH = record.ARCH
EVERYTHING = "every counter"
# How far a result of the hardware may be from the correct value y: (relative, absolute), relative * |y| + absolute.
# PTX ISA, the floating-point instructions with .approx; CUDA guide, 'Intrinsic Functions' (for LG2: absolute near 1,
# 2 ulp elsewhere)
MAX_ERROR = {
    "RCP": (2**-23, 0), "RSQ": (2**-22.9, 0), "SQRT": (2**-23, 0), "EX2": (2**-22, 0), "LG2": (2**-22, 2**-22),
    "SIN": (0, 2**-20.5), "COS": (0, 2**-20.5), "TANH": (2**-11, 0),
}  # fmt: skip
INSTRUCTIONS, PATCHED = "smsp__inst_executed.sum", "smsp__sass_inst_executed.sum"
# The counters that one launch's machine code and arguments do not decide, and why. Results are compared all the same.
_RETRIES = "how often a compare-and-swap fails depends on which warp comes first"
_MEETING = "groups of a diverged warp that come to a BSYNC within a few cycles of each other execute it as one"
_TWO_NUMBERS = f"the GPU gives two numbers, {INSTRUCTIONS} of its own counter and {PATCHED}; the other one is equal"
_OFF_THE_LINES = (
    "copies past the L1 (LDGSTS.BYPASS) look up more sectors where they write into one more line of shared memory, "
    "which a static variable has moved; the rule is not modelled"
)
_LOOKED_UP = tuple(f"l1tex__t_{what}_pipe_lsu_mem_global_op_ld.sum" for what in ("sectors", "set_accesses"))
_RECIPROCAL = "the remainder's estimate is MUFU.RCP, known to 1 ulp: a thread more or less corrects it"
_OF_DIVERGED_WARPS = (
    INSTRUCTIONS,
    PATCHED,
    "smsp__sass_inst_executed_op_branch.sum",
    "smsp__inst_executed_pipe_xu.sum",
)
NOT_DECIDED = {
    "histogram_extremes": ((EVERYTHING,), _RETRIES),
    "mandelbrot": ((INSTRUCTIONS, PATCHED), _MEETING),
    "branches": ((INSTRUCTIONS, PATCHED), _MEETING),
    "nested_loops": ((INSTRUCTIONS, PATCHED), _MEETING),
    "spmv_scalar": ((PATCHED,), _TWO_NUMBERS),
    "unstructured": ((INSTRUCTIONS,), _TWO_NUMBERS),
    "conditions": ((INSTRUCTIONS,), _TWO_NUMBERS),
    **{
        f"{name} {size}": (_LOOKED_UP, _OFF_THE_LINES)
        for name in ("stream_k", "even_shares", "whole_first", "two_versions", "tall_patches", "persistent")
        for size in ("128x128x128", "256x256x256")
    },
    "even_shares 100x90x77": (_OF_DIVERGED_WARPS, _MEETING),  # they add parts where C ends within a warp
    "even_shares 33x257x65": (_OF_DIVERGED_WARPS, _MEETING),
    "divide_floats": (
        (
            INSTRUCTIONS,
            PATCHED,
            "smsp__sass_inst_executed_op_branch.sum",
            "smsp__sass_thread_inst_executed.sum",
            "smsp__sass_thread_inst_executed_pred_on.sum",
            *(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("fadd", "fp32", "integer")),
            "smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.sum",
        ),
        _RECIPROCAL,
    ),
}


@functools.cache
def tensor_goldens() -> dict[str, dict]:
    """The recorded launches for tensor cores by name."""
    return {row["name"]: row for row in record.read(record.TENSOR_GOLDENS)["launches"]}


# Counters that were not asked for when the older launches were recorded.
_ASKED_LATER = "smsp__inst_executed_pipe_tensor_op_"


@functools.cache
def goldens() -> dict[str, dict]:
    """The recorded launches by name."""
    return {row["name"]: row for row in record.read(record.GOLDENS)["launches"]}


@functools.cache
def _entries(file: str) -> tuple[str, ...]:
    """The kernels of a file that launches were recorded of."""
    return tuple(sorted({launch.entry for launch in record.every_launch() if launch.file == file}))


@functools.cache
def _module(file: str, entries: tuple[str, ...]) -> gpusim.RawModule:
    source = kernel_launches.source_of(file)
    return gpusim.RawModule(code=source, options=kernel_launches.OPTIONS, name_expressions=entries, arch=ARCH)


def kernel_of(launch: Launch) -> gpusim.Kernel:
    """The kernel of a launch: of the ladder of tensor cores by itself, as other tests compile it, any other with all of
    its file."""
    alone = launch.file.startswith("tensor/")
    kernel = _module(launch.file, (launch.entry,) if alone else _entries(launch.file)).get_function(launch.entry)
    kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, launch.shared_bytes)
    return kernel


@dataclass(frozen=True)
class Comparison:
    """How many counters were compared, how many bytes of results, the counters that differ and a sentence for each of
    them and for whatever else does."""

    counters: int
    result_bytes: int
    wrong: tuple[str, ...]
    differences: tuple[str, ...]


def compare(launch: Launch, golden: dict, excluded: tuple[str, ...] = ()) -> Comparison:
    """Run a launch at SASS level with full recording, and hold its results and its counters, all that are not excluded,
    against the GPU's."""
    kernel = kernel_of(launch)
    arguments = launch.make_arguments()
    before = [record.digest(argument) for argument in arguments]
    with gpusim.record(level="sass", checks="off") as recording:
        kernel(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    counters = recording.counters
    recorded = golden["counters"]
    missing = {name for name in counters if name.startswith(_ASKED_LATER) and name not in recorded}
    compared = [] if EVERYTHING in excluded else [name for name in counters if name not in {*excluded, *missing}]
    # Nsight Compute prints percentages with two decimals.
    wrong = tuple(name for name in compared if recorded.get(name) != round(counters[name], 2))
    differences = [
        f"{name}: the simulator counts {counters[name]}, the GPU {recorded.get(name, 'nothing')}" for name in wrong
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
    return Comparison(len(compared), result_bytes, wrong, tuple(differences))


def was_recorded(kernel: gpusim.Kernel, golden: dict) -> bool:
    """Whether a kernel has the machine code that was recorded."""
    if "code_sha256" not in golden:  # recorded when the text was told apart, for which nvdisasm has to start
        return record.sass_digest(kernel.compiled) == golden["sass_sha256"]
    return record.code_digest(kernel.compiled) == golden["code_sha256"]


def compare_with_recorded(
    launch: Launch, recorded: dict[str, dict], again: str, excluded: tuple[str, ...] = ()
) -> Comparison:
    """Fail unless this very machine code was recorded and all its counters, but for the excluded ones, and all results
    are the GPU's; `again` says how to record."""
    golden = recorded.get(launch.name)
    assert golden is not None, f"not recorded; {again}"
    assert was_recorded(kernel_of(launch), golden), f"other machine code; {again}"
    comparison = compare(launch, golden, excluded)
    assert comparison.differences == ()
    assert comparison.result_bytes > 0
    return comparison


def not_decided(launch: Launch) -> tuple[str, ...]:
    """The counters of a launch that cannot be compared."""
    return NOT_DECIDED[launch.name][0] if launch.name in NOT_DECIDED else ()


def summary() -> str:
    """How many launches, counters and bytes of results are the GPU's, and what is not, a line each."""
    launches, lines = record.all_launches(), []
    equal = counters = result_bytes = 0
    for launch in launches:
        golden = goldens().get(launch.name)
        if golden is None or not was_recorded(kernel_of(launch), golden):
            lines.append(f"{launch.name}: not recorded with this machine code")
            continue
        comparison = compare(launch, golden, not_decided(launch))
        equal += not comparison.differences
        counters += comparison.counters - len(comparison.wrong)
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
    rows = []
    for function, (here, there) in zip(launch.approximate, planes, strict=True):
        (relative, absolute), steps = MAX_ERROR[function], 1 if several else 4
        here, there = here.astype(np.float64), there.astype(np.float64)
        allowed = steps * (relative * np.abs(here) + absolute + 2.0**-24 * np.abs(here))
        wrong = ~((np.abs(here - there) <= allowed) | (here == there) | (np.isnan(here) & np.isnan(there)))
        if wrong.any():
            worst = float((np.abs(here - there) / allowed)[wrong].max())
            rows.append(f"{function}: {wrong.sum()} results, up to {worst:.2f} times the bound away from the GPU's")
    return rows
