"""The seven steps of a launch on one axis of time: what the host does, what the GPU copies and computes, and when.

    python -m helpers.measure.host_timeline     on a GPU: write recordings/<gpu>/timeline.json

Two ways of the same multiplication: everything in one stream with ordinary NumPy arrays; and the rows of A in slices,
each in a stream of its own with page-locked memory, so that copies and kernels overlap. CUDA events give the times on
the GPU; they and the host's clock begin when the GPU is idle. Each call stands in an NVTX range, which Nsight Systems
draws as a row of its own; the host's clock says where it begins and ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import get
from helpers import gpu, recordings, run
from helpers.measure.provenance import provenance

SUITE = "timeline"
SIZE, SLICES = 4096, 4
KERNEL = "warptiled"
HOST, MARKS = "host", "NVTX"
ONE_STREAM, SEVERAL_STREAMS = "one stream", "several streams"
REPEATS = 9  # of which the one with the median length is kept


@dataclass(frozen=True)
class Span:
    """Something that took time. row: who did it, HOST or a stream; MARKS for a range around a call of the host's.
    kind: allocate, copy in, kernel, copy out, call, wait or free.  start, end: milliseconds."""

    row: str
    kind: str
    start: float
    end: float


class _Clock:
    """Spans of the host, and events of streams, from one zero."""

    def __init__(self) -> None:
        import cupy
        from cupyx.profiler import time_range

        self._cupy, self._mark = cupy, time_range
        gpu.synchronize()
        self._first = cupy.cuda.Event()
        self._first.record()
        self._first.synchronize()
        self._zero = time.perf_counter()
        self._host: list[Span] = []
        self._events: list[tuple[str, str, Any, Any]] = []

    def host(self, kind: str, do: Callable[[], Any], row: str = HOST) -> Any:
        start = time.perf_counter()
        result = do()
        end = time.perf_counter()
        self._host.append(Span(row, kind, 1e3 * (start - self._zero), 1e3 * (end - self._zero)))
        return result

    def stream(self, row: str, kind: str, stream: Any, do: Callable[[], Any]) -> None:
        """Queue work on a stream between two events; the host's part and the mark around it are spans, too."""
        before, after = self._cupy.cuda.Event(), self._cupy.cuda.Event()

        def queue() -> None:
            with stream:
                before.record(stream)
                do()
                after.record(stream)

        def marked() -> None:
            with self._mark(kind):
                self.host("call", queue)

        self.host(kind, marked, MARKS)
        self._events.append((row, kind, before, after))

    def spans(self) -> list[Span]:
        gpu.synchronize()
        elapsed = self._cupy.cuda.get_elapsed_time
        spans = [
            Span(row, kind, elapsed(self._first, before), elapsed(self._first, after))
            for row, kind, before, after in self._events
        ]
        return [*self._host, *spans]


def _once(name: str) -> list[Span]:
    """The seven steps, once."""
    import cupy

    overlap = name == SEVERAL_STREAMS
    slices = SLICES if overlap else 1
    multiply = run.load(get(KERNEL))  # compiled before the clock starts
    make = _pinned if overlap else _ordinary
    A, B, C = (make(SIZE, SIZE) for _ in "ABC")
    A[:], B[:] = 1.0, 2.0
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(slices)]
    clock = _Clock()
    cupy.get_default_memory_pool().free_all_blocks()
    arrays = clock.host("allocate", lambda: [cupy.empty((SIZE, SIZE), np.float32) for _ in "ABC"])
    _queue(clock, streams, multiply, (A, B, C), arrays)
    clock.host("wait", gpu.synchronize)
    arrays.clear()
    clock.host("free", cupy.get_default_memory_pool().free_all_blocks)
    spans = clock.spans()
    if not np.all(C == 2.0 * SIZE):
        raise ValueError("The product that came back is wrong.")
    return spans


def _queue(
    clock: _Clock, streams: Sequence[Any], multiply: Any, on_host: Sequence[np.ndarray], on_gpu: Sequence[Any]
) -> None:
    """B to the GPU in the first stream; then in each stream its rows of A in, the kernel, its rows of C out."""
    import cupy

    (A, B, C), (dA, dB, dC) = on_host, on_gpu
    rows = SIZE // len(streams)
    names = [f"stream {number + 1}" for number in range(len(streams))]
    clock.stream(names[0], "copy in", streams[0], lambda: dB.set(B, streams[0]))
    ready = cupy.cuda.Event()
    ready.record(streams[0])
    for number, (row, stream) in enumerate(zip(names, streams, strict=True)):
        part = slice(number * rows, (number + 1) * rows)
        clock.stream(row, "copy in", stream, lambda part=part, stream=stream: dA[part].set(A[part], stream))
        stream.wait_event(ready)
        clock.stream(
            row, "kernel", stream,
            lambda part=part: multiply(rows, SIZE, SIZE, 1.0, dA[part], dB, 0.0, dC[part]),
        )  # fmt: skip
        clock.stream(row, "copy out", stream, lambda part=part, stream=stream: dC[part].get(stream, out=C[part],
                                                                                           blocking=False))  # fmt: skip


def _ordinary(rows: int, columns: int) -> np.ndarray:
    return np.zeros((rows, columns), np.float32)


def _pinned(rows: int, columns: int) -> np.ndarray:
    import cupyx

    return cupyx.zeros_pinned((rows, columns), np.float32)


def _median(repeats: Sequence[list[Span]]) -> list[Span]:
    lengths = [max(span.end for span in spans) for spans in repeats]
    return repeats[int(np.argsort(lengths)[len(lengths) // 2])]


def record(folder: Path = recordings.FOLDER) -> Path:
    """Both ways, each the median of REPEATS; writes timeline.json. Needs a GPU."""
    rows = []
    for name in (ONE_STREAM, SEVERAL_STREAMS):
        repeats = [_once(name) for _ in range(REPEATS + 2)][2:]
        spans = [[span.row, span.kind, round(span.start, 4), round(span.end, 4)] for span in _median(repeats)]
        rows.append({"name": name, "kernel": KERNEL, "size": SIZE, "slices": SLICES, "spans": spans})
    file = recordings.path(gpu.name(), SUITE, folder)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "rows": rows})
    return file


if __name__ == "__main__":
    print(record())
