"""How long small launches take: many of them in one CUDA graph, the graphs of the rivals replayed in turns.

A launch costs the host some microseconds, as long as a small multiplication takes. Inside a graph it costs nearly
nothing, so that kernels are compared and not their launches. CuPy refuses to call cuBLAS while a graph is captured, so
that its library is called here through ctypes. Needs a GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_float, c_size_t, c_void_p
from functools import partial
from typing import Any

import numpy as np

from helpers.measure.timing import WARM_UP_S, take_turns
from helpers.tools.measuring.cublaslt import NoCublasLt, library

LAUNCHES = 20  # of a graph
SETS = 3  # of inputs and outputs, which the launches of a graph use in turn
# The size that cuBLAS's documentation recommends for Hopper ("cublasSetWorkspace"); with memory of its own, cuBLAS does
# not put allocations into the graph, which would cost it time.
WORKSPACE_BYTES = 32 * 2**20

Launch = Callable[..., None]  # (M, N, K, alpha, A, B, beta, C)


class NoCublas(Exception):
    """cuBLAS could not be loaded or refused a call; the message says what, and what to try."""


def interleave_graphs(
    launches: Sequence[Callable[[int], None]], stream: Any, budget_s: float = 1.0, warm_up_s: float = WARM_UP_S
) -> np.ndarray:
    """Milliseconds of one launch of each rival, (rounds, len(launches)): every round replays each graph once.

    launches: each is called with the number of a set, 0 … SETS - 1, and launches on the current stream once.  stream:
    what is captured and replayed on, not the null stream.  `budget_s`, in seconds, decides the number of rounds.
    Replays are queued without waiting for one another, so that the GPU never waits for the host in between. Inputs of
    small shapes stay in the L2: this is the time of a launch in a sequence, where `interleave` gives that of a first.
    """
    with stream:
        for launch in launches:  # the first call compiles and loads, which a capture does not allow
            launch(0)
        stream.synchronize()
        graphs = [_captured(launch, stream) for launch in launches]
    replays = [partial(graph.launch, stream) for graph in graphs]
    return take_turns(replays, stream, budget_s, warm_up_s=warm_up_s) / LAUNCHES


def _captured(launch: Callable[[int], None], stream: Any) -> Any:
    """A graph of LAUNCHES launches in a row."""
    stream.begin_capture()
    try:
        for turn in range(LAUNCHES):
            launch(turn % SETS)
    except BaseException:
        with contextlib.suppress(Exception):  # the first error tells more than that of the broken capture
            stream.end_capture()
        raise
    return stream.end_capture()


@contextlib.contextmanager
def cublas_on(stream: Any) -> Iterator[Launch]:
    """Inside `with`, cuBLAS's float32 SGEMM on this stream, called as the ladder's kernels are; it can be captured.

    NoCublas, with a sentence, if the library is not found or refuses a call.
    """
    import cupy

    cublas = Cublas()
    workspace = cupy.empty(WORKSPACE_BYTES, np.uint8)
    cupy.cuda.Device().synchronize()
    try:
        cublas("SetStream", c_void_p(stream.ptr))
        cublas("SetWorkspace", c_void_p(workspace.data.ptr), c_size_t(workspace.nbytes))
        yield partial(sgemm, cublas)
    finally:
        cupy.cuda.Device().synchronize()  # the workspace is in use until then
        cublas("Destroy")


class Cublas:
    """A handle of the cuBLAS that CuPy has loaded. `cublas("SetStream", …)` calls a function with it.

    NoCublas, with a sentence, if the library is not there or refuses a call.
    """

    def __init__(self) -> None:
        try:
            self.library = library("libcublas.so")
        except (NoCublasLt, OSError) as error:
            raise NoCublas(f"cuBLAS could not be loaded: {error}") from error
        self.handle = c_void_p()
        self("Create", at=byref(self.handle))

    def __call__(self, name: str, *arguments: Any, at: Any = None) -> None:
        status = getattr(self.library, f"cublas{name}_v2")(at or self.handle, *arguments)
        if status:
            raise NoCublas(
                f"cuBLAS refused cublas{name} with status {status} of cublasStatus_t. If memory is short, end other "
                "programs on this GPU; if something is not supported or initialised, install a cuBLAS that fits the "
                "driver."
            )


def sgemm(cublas: Cublas, M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
    """Row-major C = alpha·A·B + beta·C by cublasSgemm.

    cuBLAS takes matrices column by column, and so read, our arrays are Aᵀ, Bᵀ and Cᵀ: it computes Cᵀ = Bᵀ·Aᵀ.
    """
    a, b, c = (c_void_p(matrix.data.ptr) for matrix in (A, B, C))
    as_they_are = 0  # CUBLAS_OP_N
    factor, other = c_float(alpha), c_float(beta)  # read before the call returns, also while a graph is captured
    cublas("Sgemm", as_they_are, as_they_are, N, M, K, byref(factor), b, N, a, K, byref(other), c, N)
