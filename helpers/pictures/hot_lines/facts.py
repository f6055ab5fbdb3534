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
        found: dict[tuple[int, int], list[int]] = {}
        for lane, row, column in zip(self.lanes.tolist(), self.rows.tolist(), self.columns.tolist(), strict=True):
            found.setdefault((row, column), []).append(lane)
        return {place: tuple(found[place]) for place in sorted(found)}


@lru_cache(maxsize=16)
def asked(launch: Launch, warp: int = 0) -> dict[Line, tuple[Asked, ...]]:
    """Every line with which a warp of the first block accesses matrices or tiles, and its requests in their order.

    launch: a multiplication.  Raises the simulator's and the compiler's errors, and CannotTell for a warp without any.
    """
    recording = run.record(launch)
    (_, N, K), names = launch.shape, _shared_names(recording)
    widths = {"A": K, "B": N, "C": N}
    texts = {one.line: one.text.strip() for one in recording.by_line()}
    found: dict[Line, list[Asked]] = {}
    rows = recording.requests(warp=warp)
    for row in rows[np.argsort(rows["step"], kind="stable")]:
        lanes, line = np.flatnonzero(row["active"]), int(row["line"])
        if str(row["space"]) == "global" and str(row["array"]) in widths:
            array = str(row["array"])
            index = np.stack(np.divmod(row["offset"][lanes] // FLOAT_BYTES, widths[array]), axis=1)
        elif str(row["space"]) == "shared":
            places = [names.place(-1, int(byte)) for byte in row["address"][lanes]]
            array, index = places[0][0], np.array([(0, *place[1])[-2:] for place in places])
        else:
            continue
        one = Asked(index[:, 0], index[:, 1], lanes, max(1, int(row["width"]) // FLOAT_BYTES))
        found.setdefault(Line(line, str(row["op"]), array, texts.get(line, "")), []).append(one)
    if not found:
        raise CannotTell(f"Warp {warp} of {launch.name} accesses no matrix and no tile. Choose another kernel.")
    return {line: tuple(found[line]) for line in sorted(found, key=lambda line: (line.number, line.op))}


def _shared_names(recording: Recording) -> SharedNames:
    launch = recording.launches[-1]
    if launch.compiled is None:
        return SharedNames()
    return SharedNames(pointers.find(launch.compiled).shared_arrays, {}, recording.source, launch.facts.kernel)
