"""How fast is this kernel? Measured here if there is a GPU, else read from a recording, and always labelled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gemm_kernels import Kernel, at_shape
from gpusim import devices
from helpers import gpu, recordings
from helpers.measure.bench import bench, bench_together
from helpers.recordings.measurement import Measurement


@dataclass(frozen=True)
class Performance:
    """measurement: what is known, or None.  sentence: it in words with its label, or why there is nothing."""

    measurement: Measurement | None
    sentence: str


def performance(
    kernel: Kernel, M: int, N: int, K: int, *, recorded_on: str = devices.DEFAULT.name, budget_s: float = 0.3
) -> Performance:
    """This kernel's speed at (M, N, K): measured now on a GPU, without one the recorded shape nearest to it."""
    if gpu.backend() == "gpu":
        measurement = bench(at_shape(kernel, M, N, K, gpu.name()), M, N, K, budget_s=budget_s)
        return Performance(measurement, _sentence(measurement))
    try:
        exact = recordings.find(kernel, M, N, K, recorded_on)
        measurement = exact or recordings.nearest(kernel, M, N, K, recorded_on)
    except recordings.NoRecording as error:
        return Performance(None, str(error))
    if measurement is None:
        params = ", ".join(f"{name}={value}" for name, value in kernel.params.items())
        return Performance(
            None, f"{kernel.name} ({params}) was not recorded on {recorded_on}, and there is no GPU here."
        )
    sentence = _sentence(measurement)
    if exact is None:
        sentence += f"; {M}×{N}×{K} itself was not recorded, this is the nearest shape that was"
    return Performance(measurement, sentence)


def one_run(
    kernels: Iterable[Kernel], M: int, N: int, K: int, *, recorded_on: str = devices.DEFAULT.name
) -> list[Measurement]:
    """The speeds of several kernels at one shape, to be compared with each other: timed in turns now, or as recorded.

    NoRecording where one was not recorded. If a kernel is refused, the error that refused it.
    """
    if gpu.backend() != "gpu":
        return [recordings.gflops(kernel, M, N, K, recorded_on) for kernel in kernels]
    timed, refused = bench_together([at_shape(kernel, M, N, K, gpu.name()) for kernel in kernels], M, N, K)
    if refused:
        raise refused[0].error
    return timed


def _sentence(measurement: Measurement) -> str:
    return (
        f"{measurement.kernel} at {measurement.M}×{measurement.N}×{measurement.K}: {measurement.gflops:,.0f} GFLOPS, "
        f"{measurement.of_cublas:.1%} of cuBLAS, {measurement.label}"
    )
