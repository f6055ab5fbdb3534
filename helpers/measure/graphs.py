"""How long small launches take: many of them in one CUDA graph, the graphs of the rivals replayed in turns.

A launch costs the host some microseconds, as long as a small multiplication takes. Inside a graph it costs nearly
nothing, so that kernels are compared and not their launches. CuPy refuses to call cuBLAS while a graph is captured, so
that cuBLAS is called here through its C interface, with CuPy's handle. Needs a GPU, and Linux.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from ctypes import CDLL, byref, c_char_p, c_float, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from helpers.measure.timing import MAX_ROUNDS, MIN_ROUNDS, WARM_UP_S

LAUNCHES = 20  # of a graph
SETS = 3  # of inputs and outputs, which the launches of a graph use in turn
# The size that cuBLAS's documentation recommends for Hopper ("cublasSetWorkspace"); with memory of its own, cuBLAS does
# not put allocations into the graph, which would cost it time.
WORKSPACE_BYTES = 32 * 2**20

Launch = Callable[..., None]  # (M, N, K, alpha, A, B, beta, C)


class NoCublas(Exception):
    """cuBLAS's C interface was not found or refused a call; the message says what, and what to try."""


def interleave_graphs(launches: Sequence[Callable[[int], None]], stream: Any, budget_s: float = 1.0) -> np.ndarray:
    """Milliseconds of one launch of each rival, (rounds, len(launches)): every round replays each graph once.

    launches: each is called with the number of a set, 0 … SETS - 1, and launches on the current stream once.  stream:
    what is captured and replayed on, not the null stream.  `budget_s`, in seconds, decides the number of rounds.
    Replays are queued without waiting for one another, so that the GPU never waits for the host in between. Inputs of
    small shapes stay in the L2: this is the time of a launch in a sequence, where `interleave` gives that of a first.
    """
    import cupy

    with stream:
        for launch in launches:  # the first call compiles and loads, which a capture does not allow
            launch(0)
        stream.synchronize()
        graphs = [_captured(launch, stream) for launch in launches]

    def replay_each() -> None:
        for graph in graphs:
            graph.launch(stream)

    replay_each()
    stream.synchronize()
    start = time.perf_counter()
    replay_each()
    stream.synchronize()
    round_s = time.perf_counter() - start
    rounds = int(np.clip(budget_s / max(round_s, 1e-6), MIN_ROUNDS, MAX_ROUNDS))

    warm_until = time.perf_counter() + WARM_UP_S
    while time.perf_counter() < warm_until:
        replay_each()
        stream.synchronize()

    turns = [(turn, which) for turn in range(rounds) for which in np.roll(np.arange(len(graphs)), turn)]
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in turns]
    replay_each()  # keeps the GPU busy while the first of those that count are queued
    for (_, which), (begin, end) in zip(turns, events, strict=True):
        begin.record(stream)
        graphs[which].launch(stream)
        end.record(stream)
    stream.synchronize()
    milliseconds = np.empty((rounds, len(graphs)))
    for place, (begin, end) in zip(turns, events, strict=True):
        milliseconds[place] = cupy.cuda.get_elapsed_time(begin, end) / LAUNCHES
    return milliseconds


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

    handle = cupy.cuda.device.get_cublas_handle()  # loads the library, too
    library = CDLL(library_path(Path("/proc/self/maps")))
    workspace = cupy.empty(WORKSPACE_BYTES, np.uint8)
    cupy.cuda.Device().synchronize()
    check(library, "cublasSetStream_v2", c_void_p(handle), c_void_p(stream.ptr))
    try:
        check(
            library, "cublasSetWorkspace_v2", c_void_p(handle), c_void_p(workspace.data.ptr), c_size_t(WORKSPACE_BYTES)
        )
        yield sgemm(library, handle)
    finally:
        cupy.cuda.Device().synchronize()
        # cuBLAS's own stream again, and with it its own workspace
        check(library, "cublasSetStream_v2", c_void_p(handle), c_void_p(0))


def sgemm(library: Any, handle: int) -> Launch:
    """`launch(M, N, K, alpha, A, B, beta, C)` by cublasSgemm_v2: row-major C = alpha·A·B + beta·C.

    cuBLAS takes matrices column by column, and so read, our arrays are Aᵀ, Bᵀ and Cᵀ: it computes Cᵀ = Bᵀ·Aᵀ.
    """

    def launch(M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
        check(
            library,
            "cublasSgemm_v2",
            c_void_p(handle),
            *(c_int(0), c_int(0)),  # CUBLAS_OP_N: as they are
            *(c_int(N), c_int(M), c_int(K)),
            byref(c_float(alpha)),
            *(c_void_p(B.data.ptr), c_int(N)),  # where, and the distance of its columns
            *(c_void_p(A.data.ptr), c_int(K)),
            byref(c_float(beta)),
            *(c_void_p(C.data.ptr), c_int(N)),
        )

    return launch


def check(library: Any, function: str, *arguments: Any) -> None:
    """Call a function of cuBLAS. NoCublas, with the function and cuBLAS's word for the status, if it fails."""
    try:
        status = getattr(library, function)(*arguments)
    except AttributeError as error:
        raise NoCublas(f"The cuBLAS that CuPy has loaded has no {function} ({error}): install a newer one.") from error
    if status != 0:
        library.cublasGetStatusString.restype = c_char_p
        word = library.cublasGetStatusString(c_int(status)).decode()
        raise NoCublas(
            f"cuBLAS's {function} answered {word} ({status}). If memory is short, end other programs on this GPU; if "
            "the status says that it is not supported or not initialised, install a cuBLAS that fits the driver."
        )


def library_path(maps: Path) -> str:
    """The file of the cuBLAS that this process has loaded, from a list such as /proc/self/maps. NoCublas if none is."""
    try:
        lines = maps.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NoCublas(
            f"The loaded libraries cannot be listed ({error}): shapes as small as this are timed on Linux only."
        ) from error
    for line in lines:
        fields = line.split(maxsplit=5)  # addresses, permissions, offset, device, inode, file
        if len(fields) == 6 and Path(fields[5]).name.startswith("libcublas.so"):
            return fields[5]
    raise NoCublas(
        "No libcublas.so is among the libraries that this process has loaded, although CuPy has made a cuBLAS handle. "
        'Install cuBLAS as a library of its own: `pip install -e ".[gpu]"`, or the CUDA toolkit.'
    )
