"""The four wrong clocks of notebook 13: what does each of them say of a kernel? The recording answers."""

from __future__ import annotations

from functools import partial

from helpers.exercises.framework.predict import Prediction, predict
from helpers.measure import clocks
from helpers.measure.clocks import COLD, KERNEL, NO_SYNC, WARM, ZEROS, Clocked
from helpers.pictures import bars, theme

TENSOR_CORES = "cuBLAS, FP16"
FAR, LITTLE, RIGHT, SLOW = "more than 50 times too fast", "a little too fast", "as fast as it is", "too slow"
SAME = 0.02  # a difference of less than two per cent is none


def verdict(factor: float) -> str:
    """How a speed that is measured `factor` times too high is called in the options."""
    if factor > 50:
        return FAR
    if factor > 1 + SAME:
        return LITTLE
    return RIGHT if factor >= 1 - SAME else SLOW


def factor(wrong: Clocked, right: Clocked) -> float:
    """How many times as fast as it is the wrong clock lets a launch look."""
    return right.time.median_ms / wrong.time.median_ms


def _numbers(wrong: Clocked, right: Clocked) -> str:
    """'15.7 µs instead of 17.8 µs'"""
    return " instead of ".join(f"{theme.thousands(1000 * clocked.time.median_ms, 1)} µs" for clocked in (wrong, right))


def predict_unsynchronised() -> Prediction:
    """The wall clock around a launch that no thread waits for."""
    wrong, right = clocks.pair(NO_SYNC)
    return _asked(
        "The wall clock around the launch, without waiting for the GPU. The kernel seems to be",
        {
            FAR: f"A launch only puts work into a queue: {_numbers(wrong, right)}. What was timed is Python.",
            LITTLE: "That would be so if the call waited for most of the kernel. It waits for nothing.",
            RIGHT: "The call returns as soon as the launch is in the queue, long before the kernel ends.",
            SLOW: "The overhead of Python is in this number, but the kernel is not.",
        },
        wrong,
        right,
    )


def predict_cold() -> Prediction:
    """The first launch of a module on an idle GPU."""
    wrong, right = clocks.pair(COLD)
    return _asked(
        "The first launch only, on a GPU that had nothing to do, with waiting. The kernel seems to be",
        {
            FAR: "Nothing that happens at the first launch saves time.",
            LITTLE: "What happens at the first launch comes in addition to the kernel.",
            RIGHT: "It would be if nothing but the kernel were timed.",
            SLOW: f"{_numbers(wrong, right)}. More is timed than the kernel: its launch from Python and the wait, "
            "the loading of its machine code, and perhaps a clock that an idle GPU has lowered. This clock cannot tell "
            "them apart.",
        },
        wrong,
        right,
    )


def predict_warm() -> Prediction:
    """The same launch again and again, when all its data fit into the L2 cache."""
    wrong, right = clocks.pair(WARM)
    M, N, K = wrong.shape
    return _asked(
        f"A row of {K} floats times a matrix of {K} × {N}, again and again on the same data, with two events around "
        "each launch. The kernel seems to be",
        {
            FAR: "The L2 cache is faster than main memory, but not by such a factor.",
            LITTLE: f"{_numbers(wrong, right)}. The matrix is still in the L2 cache when the next launch reads it. In "
            "a program, other data would have come between.",
            RIGHT: "For large squares it is nearly so, because they are limited by arithmetic. Here each float of the "
            "matrix serves a single multiplication.",
            SLOW: "Data that are in the cache already cannot be slower to get.",
        },
        wrong,
        right,
    )


def predict_zeros() -> Prediction:
    """Matrices of zeros in place of random ones, for a kernel whose clock depends on them."""
    wrong, right = clocks.pair(ZEROS, TENSOR_CORES)
    kernels, its_right = clocks.pair(ZEROS, KERNEL)
    return _asked(
        f"All elements of A and B are 0, M = N = K = {wrong.shape[0]}, floats of 16 bits, timed with all care. cuBLAS "
        "seems to be",
        {
            FAR: "A GPU makes every multiplication, whatever the numbers are.",
            LITTLE: f"{_numbers(wrong, right)}, and a clock of {wrong.clock_mhz} in place of {right.clock_mhz} MHz: "
            "most likely because bits that never change take less power.",
            RIGHT: f"So it is with {KERNEL}: {_numbers(kernels, its_right)}, and a clock of {kernels.clock_mhz} MHz in "
            "both cases. Do not rely on it.",
            SLOW: "Bits that never change take less power, not more.",
        },
        wrong,
        right,
    )


def _asked(question: str, reasons: dict[str, str], wrong: Clocked, right: Clocked) -> Prediction:
    return predict(f"{question} …", reasons, verdict(factor(wrong, right)), picture=partial(_picture, wrong, right))


def _picture(wrong: Clocked, right: Clocked) -> theme.Figure:
    M, N, K = wrong.shape
    return bars.gflops_figure(
        [bars.Bar(wrong.clock, wrong.gflops, theme.TROUBLE), bars.Bar("the right clock", right.gflops)],
        title=f"{wrong.what}, {M} × {N} × {K}: one launch by two clocks",
        source=clocks.recorded_label(),
    )
