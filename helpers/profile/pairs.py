"""Pairs of examples, slow and mended: `python -m helpers.profile.pairs` times them on the GPU at hand.

The times are kept in recordings/<gpu>/causes.json; tests hold against them what the page says.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.compiler.signature import signatures
from helpers import gpu, recordings, run
from helpers.measure.provenance import provenance
from helpers.measure.timing import WRITE, interleave
from helpers.profile.arguments import argument
from helpers.recordings.measurement import Timing

FOLDER = Path(__file__).parent / "examples"
SUITE = "causes"


@dataclass(frozen=True)
class Example:
    """One launch of an example. shared: bytes of dynamic shared memory."""

    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[str, ...]
    shared: int = 0

    @property
    def source(self) -> str:
        return (FOLDER / self.file).read_text(encoding="utf-8")

    def arguments(self) -> list[np.generic | np.ndarray]:
        """What the kernel is launched with, on the host, as the command `helpers.profile` fills it."""
        kernel = run.simulated(self.source, self.kernel).compiled
        return [
            argument(kernel, parameter, given) for parameter, given in zip(kernel.parameters, self.args, strict=True)
        ]


@dataclass(frozen=True)
class Pair:
    """The same work with a cause of slowness and without it. rule: of the cause; line: where it is, 0 for all."""

    rule: str
    line: int
    slow: Example
    mended: Example


def pairs() -> tuple[Pair, ...]:
    """All that `examples/pairs.toml` has."""
    rows = tomllib.loads((FOLDER / "pairs.toml").read_text(encoding="utf-8"))["pair"]
    return tuple(
        Pair(row["rule"], row["line"], _example(row, row["slow"]), _example(row, row["slow"] | row["mended"]))
        for row in rows
    )


def _example(row: Mapping[str, Any], launch: Mapping[str, Any]) -> Example:
    return Example(
        launch["file"], row["kernel"], tuple(launch["grid"]), tuple(launch["block"]), tuple(row["args"]),
        launch.get("shared", 0),
    )  # fmt: skip


def record(folder: Path = recordings.FOLDER, budget_s: float = 0.2) -> Path:
    """Time the launches of each pair in turns, with a cold L2, and write the file. Needs a GPU. budget_s: seconds for
    each pair. `difference` is how far their results are apart, of the largest element."""
    rows = [_row(pair, budget_s) for pair in pairs()]
    file = recordings.path(gpu.name(), SUITE, folder)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "rows": rows})
    return file


def _row(pair: Pair, budget_s: float) -> dict[str, Any]:
    launches, results = zip(*(_loaded(program) for program in (pair.slow, pair.mended)), strict=True)
    for launch in launches:
        launch()
    first, second = (gpu.asnumpy(result).astype(float) for result in results)
    difference = float(np.abs(first - second).max() / np.abs(second).max())
    times = [Timing.of(column) for column in interleave(launches, budget_s, flush=WRITE).T]
    row = [[time.median_ms, time.lower_ms, time.upper_ms, time.repeats] for time in times]
    return {"rule": pair.rule, "slow": row[0], "mended": row[1], "difference": difference}


def _loaded(example: Example) -> tuple[Callable[[], None], Any]:
    """(a function that launches it, the array that it writes to)."""
    function = run.function(example.source, example.kernel)
    args = [gpu.asarray(value) if isinstance(value, np.ndarray) else value for value in example.arguments()]
    (signature,) = (candidate for candidate in signatures(example.source) if candidate.name == example.kernel)
    written = next(
        arg
        for arg, parameter in zip(args, signature.parameters, strict=True)
        if "*" in parameter.type and "const" not in parameter.type
    )
    return partial(run.call, function, example.grid, example.block, args, example.shared), written


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m helpers.profile.pairs", description=__doc__)
    parser.add_argument("--folder", type=Path, default=recordings.FOLDER, help="where to write")
    parser.add_argument("--budget", type=float, default=0.2, help="seconds of timing a pair (default 0.2)")
    options = parser.parse_args(arguments)
    if gpu.backend() != "gpu":
        print(f"Timing needs a GPU. {gpu.reason()}", file=sys.stderr)
        return 2
    print(record(options.folder, options.budget))
    return 0


if __name__ == "__main__":
    sys.exit(main())
