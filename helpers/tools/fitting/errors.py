"""How far predictions are from what was measured, and what was fitted: `… errors`, `… fit`.

Fitting sees the ladder at the sizes that `LADDER_SIZES` names and the halves of both series of workloads that are for
it. Everything else that was recorded is only compared: the ladder at other sizes and shapes, the suites of tiles and
block shapes, and the other halves of the workloads.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import gpusim
from gemm_kernels import get
from gpusim import constants as files, devices
from gpusim.constants import FITTED as KEPT
from gpusim.timing import tags
from gpusim.timing.machine import Machine, machine, unfitted
from gpusim.timing.prediction import Prediction, predict as predict_trace
from gpusim.timing.series import CALIBRATION, FURTHER, HELD_BACK, LEARNT, SUITE, VALIDATION
from gpusim.timing.trace import Trace
from helpers import cycles, recordings, run
from helpers.tools.measuring.calibrate import PITCH
from helpers.tools.measuring.workloads import Workload, of_series

LEARNT_ON = "NVIDIA H100 80GB HBM3"  # the second series was measured there
LADDER_SIZES = (128, 256, 512, 1024)  # that constants are fitted to
STATES = "states"
SETS = (
    *("ladder, fitted sizes", "ladder, other sizes", "other shapes", "tiles", "block shapes"),
    *(CALIBRATION, HELD_BACK, LEARNT, VALIDATION),
)
SUITE_OF = {
    "tiles": "tiles", "block shapes": "blocks", "other shapes": "shapes",
    CALIBRATION: SUITE, HELD_BACK: SUITE, LEARNT: FURTHER, VALIDATION: FURTHER,
}  # the ladder's otherwise  # fmt: skip
EACH = 24  # launches of the larger suites that are compared, drawn from a fixed seed

# What is fitted: physical quantities that no microbenchmark gives alone. Where each is believed to lie before launches
# are looked at, from microbenchmarks as far as they tell, and by how much it may well be off.
BELIEVED: Mapping[str, tuple[float, float]] = {
    "constant_first": (1500, 500),
    "code_first": (150, 100),
    "code_next": (20, 10),
    "evict_latency": (50, 50),
    "dram_batch": (250, 80),  # of the three launches of `probes` whose loads wait for one another, as the next
    "dirty_batch": (500, 150),
    "dram_scatter": (1.5, 0.2),
    "l2_request_gpu": (0.015, 0.002),
    "store_packet_gpu": (0.026, 0.005),
    "partial_store": (1.1, 0.1),
    "store_ahead": (200, 80),
    "write_ahead": (900, 400),
    "write_conflict": (0.8, 0.3),
    "l1_fill": (0.5, 0.1),  # of the loads of a line that miss L1
    "l1_mixing": (1.0, 0.2),  # 0.7 to 1.3 of loads of which each other one misses, as far as they wait for nothing else
    "block_turnaround": (345, 80),
    "atomic_float": (2.4, 0.3),
}
CERTAINTIES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # what a step away from what is believed has to gain
FURTHEST = 2  # such steps
FOLDS = 5


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
        with gpusim.capture() as caught:
            kernel(case.launch.grid, case.launch.block, case.launch.arguments())
        return cycles.traced(caught[0])
    return cycles.traced(case.launch)


def cases(which: str, gpu: str = devices.DEFAULT.name) -> list[Case]:
    """The launches of one of SETS."""
    if which in (CALIBRATION, HELD_BACK, LEARNT, VALIDATION):
        series = SUITE_OF[which]
        rows = {row["name"]: row["time"][0] for row in recordings.raw(gpu, series)["rows"]}
        return [
            Case(workload.name, rows[workload.name], workload)
            for workload in of_series(series)
            if workload.half == which
        ]
    suite = SUITE_OF.get(which, "ladder")
    rows = [row for row in recordings.load(gpu, suite)]
    if suite == "ladder":
        rows = [row for row in rows if (row.M in LADDER_SIZES) == (which == SETS[0])]
    elif len(rows) > EACH:
        rows = random.Random(2026).sample(rows, EACH)
    cases = []
    for row in rows:
        kernel = get(row.kernel).replace(**row.params)
        cases.append(Case(f"{row.kernel} {row.M}×{row.N}×{row.K}", row.median_ms, kernel.launch(row.M, row.N, row.K)))
    return cases


def sets_of(gpu: str = devices.DEFAULT.name) -> list[str]:
    """Those of SETS that were measured on a GPU."""
    return [name for name in SETS if recordings.path(gpu, SUITE_OF.get(name, "ladder")).exists()]


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
    which: Iterable[str], gpu: str = devices.DEFAULT.name
) -> Iterator[tuple[str, list[tuple[Case, Prediction]]]]:
    """Every launch of each set with its prediction."""
    known = machine(gpu)
    for name in which:
        yield name, [(case, predict_trace(case.trace, known)) for case in cases(name, gpu)]


def stalls(gpu: str = devices.DEFAULT.name, sizes: tuple[int, ...] = (1024, 2048)) -> list[dict[str, Any]]:
    """Of the ladder's launches: Nsight Compute's stall reasons beside the predicted ones, per issued instruction."""
    rows = []
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
        rows.append(
            {
                "kernel": row["kernel"], "size": row["size"], "measured": theirs, "predicted": ours,
                "largest": (max(theirs, key=theirs.__getitem__), max(ours, key=ours.__getitem__)),
                "distance": float(np.abs(a - b).sum() / 2),
            }
        )  # fmt: skip
    return rows


def choices(of: Iterable[tuple[Case, Prediction]], pairs: int = 200) -> tuple[int, int]:
    """(right, all) of random pairs of launches of one problem, whose times differ by more than 5 %: is their order?"""
    by_shape: dict[tuple[int, ...], list[tuple[float, float]]] = {}
    for case, prediction in of:
        by_shape.setdefault(case.launch.shape, []).append((case.ms, prediction.ms))
    draw = random.Random(2026)
    possible = [
        (earlier, other)
        for launches in by_shape.values()
        for number, earlier in enumerate(launches)
        for other in launches[:number]
        if max(earlier[0], other[0]) > 1.05 * min(earlier[0], other[0])
    ]
    chosen = draw.sample(possible, min(pairs, len(possible)))
    return sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in chosen), len(chosen)


def fit(gpu: str = devices.DEFAULT.name, learnt_on: str = LEARNT_ON, report=print) -> dict[str, float]:
    """The constants of BELIEVED that make errors small, for launches that constants may be fitted to.

    How each constant changes the time of each launch is found by one more prediction; then changes add up, nearly. How
    much a step away from what is believed has to gain is chosen by leaving out a fifth of the kernels in turn: so what
    a few kernels ask for and others do not is not followed. learnt_on: the GPU on which LEARNT was measured.
    """
    of = [(SETS[0], gpu), (CALIBRATION, gpu), (CALIBRATION, learnt_on), (LEARNT, learnt_on)]
    return fitted([(cases(which, where), where) for which, where in of], report)


def with_constants(gpu: str, constants: Mapping[str, float]) -> Machine:
    """A GPU as its microbenchmarks tell, with other constants."""
    known = unfitted(gpu)
    return replace(known, constants={**known.constants, **tag_banks(gpu), **constants})


def fitted(of: Sequence[tuple[Sequence[Case], str]], report=print) -> dict[str, float]:
    """The same for sets of launches with the GPU that each was measured on."""
    believed = {name: value for name, (value, _) in BELIEVED.items()}

    def logs(constants: Mapping[str, float]) -> np.ndarray:
        machines = [with_constants(gpu, constants) for _, gpu in of]
        return np.concatenate([np.log(ratios(some, known)) for (some, _), known in zip(of, machines, strict=True)])

    start = logs(believed)
    slopes = np.empty((len(BELIEVED), len(start)))
    for number, (name, (value, step)) in enumerate(BELIEVED.items()):
        slopes[number] = logs({**believed, name: value + step}) - start
        report(f"{name}: {np.abs(slopes[number]).mean():.4f} for a step")
    kernels = np.array([f"{number} {case.name.split()[0]}" for number, (some, _) in enumerate(of) for case in some])
    names, which, count = np.unique(kernels, return_inverse=True, return_counts=True)
    sets = np.array([name.split()[0] for name in names])
    weight = np.array([1 / np.sum(sets == subset) for subset in sets])[which] / count[which] / len(of)
    fold = np.random.default_rng(16).permutation(len(names))[which] % FOLDS

    def left_out(certainty: float) -> float:
        total = 0.0
        for out in range(FOLDS):
            steps = _steps(start, slopes, np.where(fold == out, 0, weight), certainty)
            total += float(weight[fold == out] @ _capped(start + steps @ slopes)[fold == out])
        return total

    tried = {certainty: left_out(certainty) for certainty in CERTAINTIES}
    best = min(tried, key=tried.__getitem__)
    steps = _steps(start, slopes, weight, best)
    report(f"errors of kernels left out, by certainty: {tried}; before: {weight @ _capped(start):.4f}")
    report(f"of all: {weight @ _capped(start + steps @ slopes):.4f} if changes add up")
    return {
        name: round(value + float(step) * size, 6)
        for step, (name, (value, size)) in zip(steps, BELIEVED.items(), strict=True)
    }


def _capped(errors: np.ndarray) -> np.ndarray:
    return np.minimum(np.abs(errors), 0.4)  # one that is far off has another cause


def _steps(start: np.ndarray, slopes: np.ndarray, weight: np.ndarray, certainty: float) -> np.ndarray:
    """How many steps each constant is from what is believed: errors and squared steps are small in sum."""
    steps, places = np.zeros(len(slopes)), np.linspace(-FURTHEST, FURTHEST, 41)
    for _ in range(12):
        before = steps.copy()
        for number, slope in enumerate(slopes):
            rest = start + steps @ slopes - steps[number] * slope
            costs = _capped(rest + places[:, None] * slope) @ weight + certainty * places**2
            steps[number] = places[np.argmin(costs)]
        if np.array_equal(before, steps):
            break
    return steps


@cache
def tag_banks(gpu: str = devices.DEFAULT.name) -> Mapping[str, float]:
    """The constants that say in which bank of L1 a line's tag lies; see `tags`. None where no pitch was measured."""
    pitches = {
        name: cost for name, cost in recordings.raw(gpu, recordings.MACHINE)["measured"].items() if PITCH in name
    }
    if not pitches:
        return {}
    masks = tags.banks({int(name.removeprefix(PITCH)): cost for name, cost in pitches.items()})
    return {f"tag_bank_{bit}": mask for bit, mask in enumerate(masks)}


def constants_changed() -> None:
    """Forget the constants that were read."""
    files.cache_clear()
    machine.cache_clear()


def keep(constants: Mapping[str, float], gpu: str = devices.DEFAULT.name, folder: Path = recordings.FOLDER) -> Path:
    """Write what was fitted; `record` then measures the errors anew."""
    file = recordings.path(gpu, KEPT, folder)
    fitted_to = [SETS[0], CALIBRATION, LEARNT]
    recordings.write(
        file, {"gpu": gpu, "fitted_to": fitted_to, "constants": dict(constants), "launches": [], "errors": []}
    )
    constants_changed()
    return file


def record(gpu: str = devices.DEFAULT.name, folder: Path = recordings.FOLDER, report=print) -> Path:
    """Compare all sets, and keep the errors; the ranges of predictions follow from them (`gpusim.timing.ranges`)."""
    rows, launches, order = [], [], [0, 0]
    for name, pairs in compare(sets_of(gpu), gpu):
        measured, predicted = (np.array(values) for values in zip(*((c.ms, p.ms) for c, p in pairs), strict=True))
        rows.append(asdict(row_of(name, measured, predicted)))
        report(rows[-1])
        for case, prediction in pairs:
            launches.append([name, case.name, round(case.ms, 6), round(prediction.ms, 6), prediction.kind])
        if name not in (CALIBRATION, HELD_BACK, LEARNT, VALIDATION):
            order = [sum(pair) for pair in zip(order, choices(pairs), strict=True)]
    file = recordings.path(gpu, KEPT, folder)
    kept = {**recordings.read(file), "order": order, "errors": rows, "launches": launches}
    recordings.write(file, kept)
    constants_changed()
    return file


def table(gpu: str = devices.DEFAULT.name, worst: int = 3) -> str:
    """The recorded errors of each set as text, with the launches that are furthest off. NoRecording."""
    kept = recordings.raw(gpu, KEPT)
    lines = [f"{'set':24}{'launches':>9}{'median':>9}{'p90':>9}{'bias':>9}{'rank':>8}"]
    for row in (Row(**row) for row in kept["errors"]):
        lines.append(f"{row.name:24}{row.launches:9}{row.median:9.1%}{row.p90:9.1%}{row.bias:+9.1%}{row.rank:8.3f}")
    right, all_ = kept["order"]
    if all_:
        lines.append(
            f"two launches of one problem that differ by more than 5 %: the order is right in {right} of {all_}"
        )
    lines.append("furthest off:")
    for name in SETS:
        of_set = [row for row in kept["launches"] if row[0] == name]
        for _, launch, ms, predicted, _ in sorted(of_set, key=lambda row: -abs(np.log(row[3] / row[2])))[:worst]:
            lines.append(f"  {name}: {launch}, {ms:.4g} ms, predicted {predicted:.4g} ({predicted / ms - 1:+.0%})")
    return "\n".join(lines)


def stall_table(gpu: str = devices.DEFAULT.name) -> str:
    """Nsight Compute's stall reasons beside the predicted ones, as text."""
    rows = stalls(gpu)
    same = sum(row["largest"][0] == row["largest"][1] for row in rows)
    distance = float(np.median([row["distance"] for row in rows]))
    lines = [f"largest reason the same: {same} of {len(rows)}; half the L1 distance, median: {distance:.2f}"]
    for row in rows:
        pairs = sorted(row["measured"], key=lambda name: -row["measured"][name])[:5]
        text = ", ".join(f"{name} {row['measured'][name]:.2f}/{row['predicted'][name]:.2f}" for name in pairs)
        lines.append(f"{row['kernel']:16}{row['size']:5}  {row['distance']:.2f}  {text}")
    return "\n".join(lines)
