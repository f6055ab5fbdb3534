"""The workspaces of kernels whose blocks leave each other parts of C."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class Workspaces:
    """The workspaces of a kernel whose blocks leave each other parts of C: one for each stream.

    Launches on one stream follow each other and find the zeros that the one before has left; launches on two streams
    may run at the same time and must not share a counter. A launch that failed may have left any numbers, so that its
    workspace is dropped. A captured graph keeps the workspace of the stream that it was captured on: replay it on one
    stream at a time.
    """

    def __init__(self, size: int | None) -> None:
        self._size = size
        self._of_stream: dict[int, Any] = {}

    @contextlib.contextmanager
    def current(self, stream: Callable[[], int], zeros: Callable[..., Any]) -> Iterator[tuple[Any, ...]]:
        """The arguments that follow a launch's others: the workspace of the current stream, or none.

        stream: asked for the stream's number where there is a workspace.  zeros: makes an array where C is.
        """
        if self._size is None:
            yield ()
            return
        number = stream()
        if number not in self._of_stream:
            self._of_stream[number] = zeros(max(self._size // 4, 1), np.float32)
        try:
            yield (self._of_stream[number],)
        except BaseException:
            del self._of_stream[number]
            raise
