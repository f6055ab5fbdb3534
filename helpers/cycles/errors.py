"""How far predictions are from what was measured, and what was fitted: `python -m helpers.cycles errors`, `… fit`.

Fitting sees the ladder at the sizes that `LADDER_SIZES` names and the half of the workloads that is for calibration.
Everything else that was recorded is only compared: the ladder at other sizes and shapes, the suites of tiles and block
shapes, and the other half of the workloads.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import get
from helpers import cycles, devices, run, simulator
from helpers.cycles import tags
from helpers.cycles.machine import MEASURED, SUITE, Machine, machine
from helpers.cycles.prediction import Prediction
from helpers.cycles.prediction import predict as predict_trace
from helpers.cycles.trace import Trace
from helpers.measure import recordings
from helpers.measure.calibrate import PITCH
from helpers.measure.workloads import CALIBRATION, HELD_BACK, Workload, workloads

LADDER_SIZES = (128, 256, 512, 1024)  # that constants are fitted to
STATES = "states"
SETS = ("ladder, fitted sizes", "ladder, other sizes", "other shapes", "tiles", "block shapes", CALIBRATION, HELD_BACK)
EACH = 24  # launches of the larger suites that are compared, drawn from a fixed seed

# What is fitted, and the values that are tried: all are physical quantities that no microbenchmark gives alone.
TRIED: Mapping[str, tuple[float, ...]] = {
    "constant_first": (850, 1200, 1500, 1800, 2100),
    "code_first": (100, 150, 200, 300, 600),
    "code_next": (3, 10, 20, 36, 50),
    "evict_latency": (0, 100, 200, 300, 450),
    "dram_latency": (560, 610, 650, 700),
    "dram_spread": (0, 40, 80, 130),
    "dram_scatter": (1, 1.2, 1.4, 1.7),
    "l2_spread": (10, 30, 45),
    "partial_store": (1, 1.1, 1.25, 1.5),
    "store_packet_gpu": (0.01, 0.013, 0.016, 0.02, 0.025, 0.03),
    "store_ahead": (100, 200, 400),
    "write_back": (0.5, 0.8, 1),
    "write_ahead": (500, 1500, 4000),
    "write_conflict": (0.4, 0.6, 0.8, 1.2, 1.55),
    "l1_fill": (0.25, 0.5),  # 1 is refuted by the block shapes: 5.3 % instead of 2.2
    "l1_in_flight": (512, 1024, 2048),
    "block_turnaround": (100, 300, 500, 800),
    "branch": (3, 6, 9, 12),
    "atomic_same": (2.5, 3, 3.5),
}


@dataclass(frozen=True, eq=False)
class Case:
    """One launch whose time is known.  trace: made when it is first asked for."""

    name: str
    ms: float
    launch: Any

    @property
    def trace(self) -> Trace:
        return _trace(self)


@lru_cache(maxsize=256)
def _trace(case: Case) -> Trace:
    if isinstance(case.launch, Workload):
        kernel = run.simulated(case.launch.source, case.launch.kernel)
        with simulator.capture() as caught:
            kernel(case.launch.grid, case.launch.block, case.launch.arguments())
        return cycles.traced(caught[0])
    return cycles.traced(case.launch)


def cases(which: str, gpu: str = devices.DEFAULT.name) -> list[Case]:
    """The launches of one of SETS."""
    if which in (CALIBRATION, HELD_BACK):
        rows = {row["name"]: row["time"][0] for row in recordings.raw(gpu, "workloads")["rows"]}
        return [Case(one.name, rows[one.name], one) for one in workloads() if one.half == which]
    suite = {"tiles": "tiles", "block shapes": "blocks", "other shapes": "shapes"}.get(which, "ladder")
    rows = [row for row in recordings.load(gpu, suite)]
    if suite == "ladder":
        rows = [row for row in rows if (row.M in LADDER_SIZES) == (which == SETS[0])]
    elif len(rows) > EACH:
        rows = random.Random(2026).sample(rows, EACH)
    found = []
    for row in rows:
        kernel = get(row.kernel).replace(**row.params)
        found.append(Case(f"{row.kernel} {row.M}×{row.N}×{row.K}", row.median_ms, kernel.launch(row.M, row.N, row.K)))
    return found


def ratios(of: Iterable[Case], with_: Machine) -> np.ndarray:
    """Predicted over measured time of each."""
    return np.array([predict_trace(case.trace, with_).ms / case.ms for case in of])


@dataclass(frozen=True)
class Row:
    """The errors of a set of launches: as fractions of the measured time; rank: Spearman's correlation."""

    name: str
    launches: int
    median: float
    p90: float
    bias: float
    rank: float


def row_of(name: str, measured: np.ndarray, predicted: np.ndarray) -> Row:
    """The errors of predictions, milliseconds both."""
    error = predicted / measured - 1
    order = np.corrcoef(np.argsort(np.argsort(measured)), np.argsort(np.argsort(predicted)))[0, 1]
    high = float(np.percentile(np.abs(error), 90))
    return Row(name, len(error), float(np.median(np.abs(error))), high, float(np.median(error)), float(order))


def compare(
    which: Iterable[str] = SETS, gpu: str = devices.DEFAULT.name
) -> Iterator[tuple[str, list[tuple[Case, Prediction]]]]:
    """Every launch of each set with its prediction."""
    known = machine(gpu)
    for name in which:
        yield name, [(case, predict_trace(case.trace, known)) for case in cases(name, gpu)]


def stalls(gpu: str = devices.DEFAULT.name, sizes: tuple[int, ...] = (1024, 2048)) -> list[dict[str, Any]]:
    """Of the ladder's launches: Nsight Compute's stall reasons beside the predicted ones, per issued instruction."""
    found = []
    for row in recordings.raw(gpu, STATES)["rows"]:
        if row["size"] not in sizes:
            continue
        kernel = get(row["kernel"]).replace(**row["params"])
        prediction = cycles.predict(kernel.launch(*(row["size"],) * 3), gpu)
        names = [name for name in cycles.STALLS if name not in ("selected",)]
        theirs = {
            name: row["metrics"][f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"] for name in names
        }
        ours = {name: prediction.stalls[name] for name in names}
        a, b = (np.array(list(values.values())) / sum(values.values()) for values in (theirs, ours))
        found.append(
            {
                "kernel": row["kernel"], "size": row["size"], "measured": theirs, "predicted": ours,
                "largest": (max(theirs, key=theirs.__getitem__), max(ours, key=ours.__getitem__)),
                "distance": float(np.abs(a - b).sum() / 2),
            }
        )  # fmt: skip
    return found


def choices(of: Iterable[tuple[Case, Prediction]], pairs: int = 200) -> tuple[int, int]:
    """(right, all) of random pairs of launches of one problem, whose times differ by more than 5 %: is their order?"""
    by_shape: dict[tuple[int, ...], list[tuple[float, float]]] = {}
    for case, prediction in of:
        by_shape.setdefault(case.launch.shape, []).append((case.ms, prediction.ms))
    draw = random.Random(2026)
    possible = [
        (one, other)
        for launches in by_shape.values()
        for number, one in enumerate(launches)
        for other in launches[:number]
        if max(one[0], other[0]) > 1.05 * min(one[0], other[0])
    ]
    chosen = draw.sample(possible, min(pairs, len(possible)))
    return sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in chosen), len(chosen)


def fit(gpu: str = devices.DEFAULT.name, rounds: int = 2, report=print) -> dict[str, float]:
    """The constants of TRIED that make the errors on the calibration sets smallest, one after the other.

    Another value is kept if the kernels as a whole agree on it (`gain`): one that a few of them ask for is not known.
    """
    of = [cases(CALIBRATION, gpu), cases(SETS[0], gpu)]
    known = machine(gpu)

    def costs(constants: Mapping[str, float]) -> list[np.ndarray]:
        changed = replace(known, constants=constants)
        return [by_kernel(some, np.abs(np.log(ratios(some, changed)))) for some in of]

    best = dict(known.constants)
    least = costs(best)
    report(f"start: {sum(each.mean() for each in least):.4f}")
    for _ in range(rounds):
        for name, values in TRIED.items():
            for value in values:
                if value != best[name]:
                    now = costs({**best, name: value})
                    gained, uncertain = gain(least, now)
                    if gained > uncertain:
                        best[name], least = value, now
                        report(f"{name} = {value}: {sum(each.mean() for each in least):.4f}")
    return {name: best[name] for name in TRIED} | tag_banks(gpu)


def by_kernel(of: Iterable[Case], errors: np.ndarray) -> np.ndarray:
    """The mean error of each kernel, so that one with many sizes counts once; an error counts as 0.4 at most."""
    found: dict[str, list[float]] = {}
    for case, error in zip(of, np.minimum(errors, 0.4), strict=True):
        found.setdefault(case.name.split()[0], []).append(error)
    return np.array([np.mean(each) for each in found.values()])


def gain(before: Iterable[np.ndarray], after: Iterable[np.ndarray]) -> tuple[float, float]:
    """By how much the mean errors of the kernels of all sets became smaller together, and its standard error."""
    less = [old - new for old, new in zip(before, after, strict=True)]
    uncertain = sum(each.var(ddof=1) / len(each) for each in less)
    return float(sum(each.mean() for each in less)), float(uncertain**0.5)


def tag_banks(gpu: str = devices.DEFAULT.name) -> dict[str, float]:
    """The constants that say in which bank of L1 a line's tag lies; see `tags`. None where no pitch was measured."""
    found = {name: cost for name, cost in recordings.raw(gpu, MEASURED)["measured"].items() if PITCH in name}
    if not found:
        return {}
    masks = tags.banks({int(name.removeprefix(PITCH)): cost for name, cost in found.items()})
    return {f"tag_bank_{bit}": mask for bit, mask in enumerate(masks)}


def keep(constants: Mapping[str, float], gpu: str = devices.DEFAULT.name, folder: Path = recordings.FOLDER) -> Path:
    """Write what was fitted; `record` then measures the errors anew."""
    file = recordings.path(gpu, SUITE, folder)
    fitted_to = [SETS[0], CALIBRATION]
    recordings.write(
        file, {"gpu": gpu, "fitted_to": fitted_to, "constants": dict(constants), "launches": [], "errors": []}
    )
    machine.cache_clear()
    return file


def record(gpu: str = devices.DEFAULT.name, folder: Path = recordings.FOLDER, report=print) -> Path:
    """Compare all sets, and keep the errors; the ranges of predictions follow from them (`helpers.cycles.ranges`)."""
    rows, launches, order = [], [], [0, 0]
    for name, pairs in compare(SETS, gpu):
        measured, predicted = (np.array(values) for values in zip(*((c.ms, p.ms) for c, p in pairs), strict=True))
        rows.append(asdict(row_of(name, measured, predicted)))
        report(rows[-1])
        for case, prediction in pairs:
            launches.append([name, case.name, round(case.ms, 6), round(prediction.ms, 6), prediction.kind])
        if name not in (CALIBRATION, HELD_BACK):
            order = [sum(pair) for pair in zip(order, choices(pairs), strict=True)]
    file = recordings.path(gpu, SUITE, folder)
    kept = {**recordings.read(file), "order": order, "errors": rows, "launches": launches}
    recordings.write(file, kept)
    machine.cache_clear()
    return file


def table(gpu: str = devices.DEFAULT.name, worst: int = 3) -> str:
    """The recorded errors of each set as text, with the launches that are furthest off. NoRecording."""
    kept = recordings.raw(gpu, SUITE)
    lines = [f"{'set':24}{'launches':>9}{'median':>9}{'p90':>9}{'bias':>9}{'rank':>8}"]
    for row in (Row(**row) for row in kept["errors"]):
        lines.append(f"{row.name:24}{row.launches:9}{row.median:9.1%}{row.p90:9.1%}{row.bias:+9.1%}{row.rank:8.3f}")
    right, all_ = kept["order"]
    lines.append(f"two launches of one problem that differ by more than 5 %: the order is right for {right} of {all_}")
    lines.append("furthest off:")
    for name in SETS:
        of_set = [row for row in kept["launches"] if row[0] == name]
        for _, launch, ms, predicted, _ in sorted(of_set, key=lambda row: -abs(np.log(row[3] / row[2])))[:worst]:
            lines.append(f"  {name}: {launch}, {ms:.4g} ms, predicted {predicted:.4g} ({predicted / ms - 1:+.0%})")
    return "\n".join(lines)


def stall_table(gpu: str = devices.DEFAULT.name) -> str:
    """Nsight Compute's stall reasons beside the predicted ones, as text."""
    rows = stalls(gpu)
    same = sum(one["largest"][0] == one["largest"][1] for one in rows)
    distance = float(np.median([one["distance"] for one in rows]))
    lines = [f"largest reason the same: {same} of {len(rows)}; half the L1 distance, median: {distance:.2f}"]
    for one in rows:
        pairs = sorted(one["measured"], key=lambda name: -one["measured"][name])[:5]
        text = ", ".join(f"{name} {one['measured'][name]:.2f}/{one['predicted'][name]:.2f}" for name in pairs)
        lines.append(f"{one['kernel']:16}{one['size']:5}  {one['distance']:.2f}  {text}")
    return "\n".join(lines)
