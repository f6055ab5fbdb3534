"""Timing on the GPU, recordings of it, and reading them back.

`problem` makes the inputs that everybody multiplies, `verify` compares a result with float64, `bench` times a kernel
beside cuBLAS, `performance` answers "how fast?" with a number measured here or recorded on a GPU, `tuning` searches
parameters, `fastest_suite` compares the fastest kernel of each shape with cuBLAS (`recordings.fastest()` reads that
back), `correctness` tries to find kernels wrong. Command line: `python -m helpers.tools.measuring bench`, `record`,
`tune`.
"""

from helpers import modules_of
from helpers.measure.bench import NoGpu, bench, bench_together
from helpers.measure.performance import Performance, one_run, performance
from helpers.measure.problem import ALPHA, BETA, Reference, WrongResult, problem, tolerance, verify
from helpers.recordings.measurement import MEASURED, SIMULATED, Measurement, Timing, geometric_mean, recorded_on

__all__ = [
    "ALPHA",
    "BETA",
    "MEASURED",
    "SIMULATED",
    "Measurement",
    "NoGpu",
    "Performance",
    "Reference",
    "Timing",
    "WrongResult",
    "bench",
    "bench_together",
    "geometric_mean",
    "one_run",
    "performance",
    "problem",
    "recorded_on",
    "tolerance",
    "verify",
]

__getattr__ = modules_of(__name__)
