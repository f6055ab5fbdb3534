"""What a sceptical reader objects to the comparison with cuBLAS, and what was measured about it (notebook 14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusim import devices
from helpers import recordings
from helpers.measure.conditions import (
    CLASSES,
    CUBLAS,
    FASTEST,
    LARGE,
    LAST,
    LAYOUTS,
    ODD,
    OLD_C,
    SMALL,
    SUITE,
    UNSEEN,
    USUAL,
    VECTOR,
    WARM,
    WRITTEN,
    ZEROS,
)  # fmt: skip
from helpers.pictures import theme
from helpers.pictures.tables import Table
from helpers.recordings.measurement import geometric_mean, recorded_on
from helpers.recordings.suites import ALGORITHMS, EVERY, NAMED


@dataclass(frozen=True)
class Ratios:
    """cuBLAS's time over ours at each shape of a class, under one condition: above 1 ours is faster."""

    each: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The geometric mean."""
        return geometric_mean(self.each)

    @property
    def faster(self) -> int:
        """At how many shapes ours is faster."""
        return sum(ratio > 1 for ratio in self.each)


@dataclass(frozen=True)
class AtWork:
    """A kernel that was launched for seconds without a pause, or in bursts."""

    tflops: float
    mhz: float
    watts: float

    @property
    def per_joule(self) -> float:
        """GFLOP for each joule."""
        return 1e3 * self.tflops / self.watts


def ratios(group: str, condition: str = USUAL, kernel: str = FASTEST, gpu: str = devices.DEFAULT.name) -> Ratios:
    """Those of a class of shapes. NoRecording, in a sentence, if nothing was recorded on this GPU."""
    times: dict[tuple[int, ...], dict[str, float]] = {}
    for row in recordings.raw(gpu, SUITE)["rows"]:
        if (row["group"], row["condition"]) == (group, condition):
            times.setdefault((row["M"], row["N"], row["K"]), {})[row["kernel"]] = row["median_ms"]
    return Ratios(tuple(row[CUBLAS] / row[kernel] for row in times.values() if kernel in row))


def at_work(kernel: str, way: str, data: str = USUAL, gpu: str = devices.DEFAULT.name) -> AtWork:
    """A kernel at 8192³. way: "burst" or "sustained".  data: USUAL, which is random numbers, or ZEROS."""
    row = next(
        row for row in recordings.raw(gpu, SUITE)["at_work"]
        if (row["kernel"], row["way"], row["data"]) == (kernel, way, data)
    )  # fmt: skip
    return AtWork(2e-9 * row["size"] ** 3 / row["ms"], row["mhz"], row["watts"])


def layouts(gpu: str = devices.DEFAULT.name) -> Mapping[tuple[str, str], float]:
    """(kernel, layout) -> TFLOPS at the largest size."""
    rows = recordings.raw(gpu, SUITE)["layouts"]
    size = max(row["size"] for row in rows)
    return {(row["kernel"], row["layout"]): 2e-9 * size**3 / row["median_ms"] for row in rows if row["size"] == size}


def table(gpu: str = devices.DEFAULT.name) -> Table:
    """The objections, each with its answer, all numbers from one run."""
    answers = (
        ("You chose the shapes.", _unseen(gpu)),
        ("One mean hides the small ones.", _classes(gpu)),
        ("The L2 was flushed.", _flushed(gpu)),
        ("A burst, on what data?", _sustained(gpu)),
        ("β is 0.", f"With β = 0.5 the large ones are at {ratios(LARGE, OLD_C, gpu=gpu).mean:.2f}."),
        ("One layout.", _layouts(gpu)),
        ("cuBLAS guesses.", _guesses(gpu)),
        ("Its kernels are old.", "Some are: step 3 prints their names."),
    )
    return Table(
        ("objection", "what was measured"), answers,
        f"How many times as fast as cuBLAS fastest(M, N, K) is, geometric means ({recorded_on(gpu)}, in one run, one "
        "launch at a time; A and B random, β = 0, the L2 filled by reading, unless it is said)",
        words=frozenset({0, 1}),
    )  # fmt: skip


def _unseen(gpu: str) -> str:
    unseen = ratios(UNSEEN, gpu=gpu)
    return (
        f"At {len(unseen.each)} random ones, drawn once, which are in no table above and by which nothing is chosen, "
        f"it is {unseen.mean:.2f}: faster at {unseen.faster}, at worst {min(unseen.each):.2f}."
    )


def _classes(gpu: str) -> str:
    words = {LARGE: "large shapes", ODD: "large with odd rows", SMALL: "up to 1000³", VECTOR: "one row"}
    both = [
        f"{words[group]} {ratios(group, gpu=gpu).mean:.2f} ({ratios(group, kernel=LAST, gpu=gpu).mean:.2f})"
        for group in words
    ]
    return f"{'; '.join(both)}. In brackets the ladder's {LAST}."


def best_algorithms(gpu: str = devices.DEFAULT.name) -> Ratios:
    """The time of the fastest of all of cuBLASLt's algorithms over ours, at each large square."""
    rows = [row for row in recordings.raw(gpu, ALGORITHMS)["rows"] if (row["M"], row["N"], row["K"]) in CLASSES[LARGE]]
    times = [{name: row[name]["median_ms"] for name in (CUBLAS, NAMED, EVERY, FASTEST)} for row in rows]
    return Ratios(tuple(min(row.values()) / ours for row in times if (ours := row.pop(FASTEST))))


def _guesses(gpu: str) -> str:
    rows, best = recordings.raw(gpu, ALGORITHMS)["rows"], best_algorithms(gpu)
    return (
        f"cuBLASLt names at most {max(row['named'] for row in rows)} of up to {max(row['accepted'] for row in rows)} "
        f"algorithms for a shape. By the fastest of all, found by trying each, it is {best.mean:.2f} at the large ones."
    )


def _flushed(gpu: str) -> str:
    read, written = (row["median_ms"] for row in recordings.raw(gpu, SUITE)["roofs"])
    groups = ((LARGE, "large"), (SMALL, "small"), (VECTOR, "one row"))
    filled, warm = (
        ", ".join(f"{words} {ratios(group, condition, gpu=gpu).mean:.2f}" for group, words in groups)
        for condition in (WRITTEN, WARM)
    )
    return (
        f"Filled by writing: {filled}. Memory then takes the lines back meanwhile, and reads 64 MiB in "
        f"{1e3 * written:.1f} µs instead of {1e3 * read:.1f}. Warm: {warm}."
    )


def _sustained(gpu: str) -> str:
    ours, theirs = (at_work(kernel, "sustained", gpu=gpu) for kernel in (FASTEST, CUBLAS))
    burst, zeros = at_work(FASTEST, "burst", gpu=gpu), at_work(FASTEST, "sustained", ZEROS, gpu)
    return (
        f"8192³ for two seconds without a pause: {ours.tflops:.1f} TFLOPS at {theme.thousands(ours.mhz)} MHz and "
        f"{ours.watts:.0f} W, cuBLAS {theirs.tflops:.1f} at {theme.thousands(theirs.mhz)} MHz and "
        f"{theirs.watts:.0f} W: {ours.tflops / theirs.tflops:.2f}, and {ours.per_joule:.0f} GFLOP per "
        f"joule against {theirs.per_joule:.0f}. "
        f"In a burst {burst.tflops:.1f}, on zeros {zeros.tflops:.1f} TFLOPS."
    )


def _layouts(gpu: str) -> str:
    times = layouts(gpu)
    best = max(LAYOUTS, key=lambda letters: times[CUBLAS, letters])
    return (
        f"Yes, row by row (NN). cuBLAS is fastest with {best}, {times[CUBLAS, best]:.1f} TFLOPS at 8192³, with NN "
        f"{times[CUBLAS, 'NN']:.1f}; fastest has {times[FASTEST, 'NN']:.1f}."
    )
