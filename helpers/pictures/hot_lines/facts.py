"""Which floats do the lanes of a warp ask for in a line of the source? From recorded addresses, by row and column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from gemm_kernels import Launch
from gpusim import Recording, SharedNames, pointers
from gpusim.devices import FLOAT_BYTES
from helpers import run
from helpers.pictures import CannotTell

VERBS = {"ld": "load from", "st": "store to", "copy": "copy to", "atom": "atomic update of"}


@dataclass(frozen=True)
class Line:
    """A line of the source that accesses an array. number: of the line.  code: its text."""

    number: int
    op: str
    array: str
    code: str

    @property
    def label(self) -> str:
        """'line 46: load from Bs'."""
        return f"line {self.number}: {VERBS.get(self.op, self.op)} {self.array}"


@dataclass(frozen=True, eq=False)
class Asked:
    """One request. rows, columns: (active lanes,) of the first float of each lane.  lanes: their numbers.

    floats: that each of them asks for, side by side.
    """

    rows: np.ndarray
    columns: np.ndarray
    lanes: np.ndarray
    floats: int

    @cached_property
    def groups(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """(row, column) of the first float -> the lanes that ask for it, in the order of rows and columns."""
        lanes_at: dict[tuple[int, int], list[int]] = {}
        for lane, row, column in zip(self.lanes.tolist(), self.rows.tolist(), self.columns.tolist(), strict=True):
            lanes_at.setdefault((row, column), []).append(lane)
        return {start: tuple(lanes_at[start]) for start in sorted(lanes_at)}


@lru_cache(maxsize=16)
def asked(launch: Launch, warp: int = 0) -> dict[Line, tuple[Asked, ...]]:
    """Every line with which a warp of the first block accesses matrices or tiles, and its requests in their order.

    launch: a multiplication.  Raises the simulator's and the compiler's errors, and CannotTell for a warp without any.
    """
    recording = run.record(launch)
    (_, N, K), names = launch.shape, _shared_names(recording)
    widths = {"A": K, "B": N, "C": N}
    texts = {row.line: row.text.strip() for row in recording.by_line()}
    requests: dict[Line, list[Asked]] = {}
    rows = recording.requests(warp=warp)
    for row in rows[np.argsort(rows["step"], kind="stable")]:
        lanes, line = np.flatnonzero(row["active"]), int(row["line"])
        if str(row["space"]) == "global" and str(row["array"]) in widths:
            array = str(row["array"])
            index = np.stack(np.divmod(row["offset"][lanes] // FLOAT_BYTES, widths[array]), axis=1)
        elif str(row["space"]) == "shared":
            places = [names.locate(-1, int(byte)) for byte in row["address"][lanes]]
            array, index = places[0][0], np.array([(0, *location[1])[-2:] for location in places])
        else:
            continue
        request = Asked(index[:, 0], index[:, 1], lanes, max(1, int(row["width"]) // FLOAT_BYTES))
        requests.setdefault(Line(line, str(row["op"]), array, texts.get(line, "")), []).append(request)
    if not requests:
        raise CannotTell(f"Warp {warp} of {launch.name} accesses no matrix and no tile. Choose another kernel.")
    return {line: tuple(requests[line]) for line in sorted(requests, key=lambda line: (line.number, line.op))}


def _shared_names(recording: Recording) -> SharedNames:
    launch = recording.launches[-1]
    compiled = launch.captured.compiled
    return SharedNames(pointers.find(compiled).shared_arrays, {}, recording.source, launch.facts.kernel)
