"""Compare candidates for `gemm_kernels.fastest` at many shapes, and keep the choice. Needs a GPU, and SciPy to fit.

At every shape the promising candidates are verified, and timed in turns with each other and with cuBLAS: first all of
them for a short time, then those that are not far behind for longer, and small shapes in a CUDA graph, too. What was
measured goes to recordings/<gpu>/choices.json; the fastest at each shape, what a launch of each candidate costs, and
trees that say what estimates by those costs are off by, to gemm_kernels/choices/<gpu>.json.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import Kernel, by_shape, choices, get
from gemm_kernels.choices import Candidate
from gemm_kernels.trees import Tree
from helpers import gpu, recordings
from helpers.measure.bench import Refusal, accept, cublas_sgemm
from helpers.measure.problem import ALPHA, BETA, Reference, problem
from helpers.measure.provenance import code_sha256, provenance
from helpers.measure.timing import WARM_UP_S, interleave
from helpers.recordings.compared import GRAPH, way
from helpers.recordings.rows import from_row, to_row
from helpers.recordings.suites import (
    CHOICES,
    FASTEST_OTHERS,
    FASTEST_SQUARES,
    Shape,
    drawn_shape,
    shapes_like_unseen,
)
from helpers.tools.measuring import boosting, side_by_side
from helpers.tools.measuring.candidates import candidates
from helpers.tools.measuring.fastest_suite import copies_of, on_a_set, verify_and_repeat
from helpers.tools.measuring.graphs import cublas_on, interleave_graphs

MORE_SQUARES = (64, 128, 192, 320, 448, 576, 640, 896, 1152, 1280, 1408, 1792, 2000, 2304, 2560, 3584, 5120, 7168)
MORE_SHAPES = (
    # Rectangles.
    *((77, 4096, 4096), (256, 4096, 1024), (4096, 128, 512), (105, 970, 5300), (1024, 50257, 768), (3002, 1002, 502)),
    *((700, 701, 702), (1200, 1201, 401)),
    # One row or one column.
    *((1, 11008, 4096), (100, 1, 100_000), (1, 1000, 1000), (1000, 1, 1000), (1, 16384, 1024), (1, 512, 20_000)),
    *((20_000, 1, 512), (1, 4099, 1027), (1001, 1, 3001)),
    # Skinny.
    *((4096, 2, 4096), (3, 5000, 3001), (5001, 3, 3000), (4, 4096, 4096), (4096, 4, 4096), (4, 11008, 4096)),
    *((7, 3001, 2000), (3001, 7, 2001), (32, 2048, 2048), (45, 900, 2500), (50, 10_001, 63)),
    # Deep.
    *((64, 64, 16_384), (257, 129, 6000), (500, 40, 8000), (160, 60, 5700), (75, 26, 3100), (140, 135, 1600)),
)
# One row or column again: of language models (a vocabulary, one token's layers), tall, short, with odd rows.
VECTORS = (
    *((1, 151_936, 2048), (1, 50_257, 768), (1, 4096, 14_336), (1, 14_336, 4096), (1, 4096, 11_008), (1, 8192, 1024)),
    *((1, 1024, 8192), (1, 2048, 2048), (1, 768, 3072), (1, 257, 257), (1, 5003, 7001), (1, 100, 50_000)),
    *((50_257, 1, 768), (4096, 1, 14_336), (2048, 1, 2048), (257, 1, 257)),
)
RANDOM_SEED, RANDOM_COUNT = 5, 320  # and so many shapes that nobody thought of
RANDOM_SIZES, RANDOM_FLOPS = (12, 8192), (5e6, 2e11)  # of M, N, K; of 2·M·N·K
# Likewise of deep products with odd rows, of which there were too few: the estimate was wrong there most often.
ODD_DEEP_COUNT, ODD_DEEP_SIZES, ODD_DEEP_K, ODD_DEEP_FLOPS = 36, (12, 4096), (1024, 8192), (5e6, 2e10)
LIKE_UNSEEN_COUNT = 960  # and so many drawn as the suite's unseen ones are, by another seed: most have odd rows
NEAR = 1.3  # candidates within this factor of the fastest have a second, longer turn
RIVALS = 1.1  # what is added at a shape takes turns with candidates within this factor of the fastest there
FAR_WEIGHT = 0.5  # of a time that is further off than 1.5 times the fastest, when costs are fitted
FAR_TREE_WEIGHT = 0.2  # of its error, when trees are fitted
FOLDS = 5  # parts of the shapes, each of which is estimated by costs that were fitted to the others
GUESS_WEIGHT = 0.1  # of a time that was not measured, likewise
FAR_PENALTY = 1.05
NOT_FAR = 2.0  # times the fastest: what guesses are made by

Kind = tuple[bool, bool]


class NoFit(Exception):
    """Costs cannot be fitted; the message says what to install."""


class Elsewhere(Exception):
    """What another process refused a kernel for; the message is of there."""


@dataclass(frozen=True)
class Measured:
    """Medians in milliseconds at one shape; in_graph: of those that were near the fastest, if the shape is small."""

    shape: Shape
    cublas: float
    cublas_in_graph: float | None
    times: Mapping[int, float]  # candidate's number -> with a cold L2, events around the launch
    in_graph: Mapping[int, float]

    def score(self, which: int) -> float:
        """A candidate's time as a part of that of cuBLAS: in a graph, if the shape is small, as the suite times it."""
        if not self.in_graph:
            return self.times[which] / self.cublas
        return self.in_graph.get(which, math.inf) / self.cublas_in_graph

    @cached_property
    def as_the_suite_times(self) -> dict[int, float]:
        """Milliseconds of every candidate. Those that were too far behind for a graph take as much less in one, and
        FAR_PENALTY more, as the others took."""
        if not self.in_graph:
            return dict(self.times)
        gain = statistics.median(self.in_graph[candidate] / self.times[candidate] for candidate in self.in_graph)
        return {
            candidate: self.in_graph.get(candidate, FAR_PENALTY * gain * time) for candidate, time in self.times.items()
        }


def shapes() -> list[Shape]:
    """Where they are compared: the suite's own shapes, others like them, and random ones, all different."""
    cubes = [(size, size, size) for size in sorted({*FASTEST_SQUARES, *MORE_SQUARES})]
    chance = np.random.default_rng(RANDOM_SEED)
    drawn: list[Shape] = []
    while len(drawn) < RANDOM_COUNT:
        M, N, K = drawn_shape(chance, RANDOM_SIZES, RANDOM_SIZES, RANDOM_SIZES)
        N = N if len(drawn) % 2 else max(N // 4 * 4, 4)  # every other one with rows of B that begin at 16 bytes
        if RANDOM_FLOPS[0] <= 2 * M * N * K <= RANDOM_FLOPS[1]:
            drawn.append((M, N, K))
    while len(drawn) < RANDOM_COUNT + ODD_DEEP_COUNT:
        M, N, K = drawn_shape(chance, ODD_DEEP_SIZES, ODD_DEEP_SIZES, ODD_DEEP_K)
        if N % 4 and ODD_DEEP_FLOPS[0] <= 2 * M * N * K <= ODD_DEEP_FLOPS[1]:
            drawn.append((M, N, K))
    like_unseen = islice(shapes_like_unseen(chance), LIKE_UNSEEN_COUNT)
    return list(dict.fromkeys([*cubes, *FASTEST_OTHERS, *MORE_SHAPES, *drawn, *like_unseen]))


def measure(
    kernels: Sequence[Kernel], shape: Shape, which: Sequence[int], *, budget_s: float = 0.03
) -> tuple[Measured, list[Refusal]]:
    """The times of the candidates with these numbers at one shape. `budget_s` is the time in seconds that each of them
    has for its longer turn."""
    inputs = tuple(gpu.asarray(matrix) for matrix in problem(*shape))
    A, B, C = inputs
    reference = Reference.of(A, B)
    numbers = {kernels[candidate].for_rows(shape[1]): candidate for candidate in which}
    accepted, refused = accept(list(numbers), partial(_verified, reference=reference, inputs=inputs))
    launches = {numbers[accepted_kernel.kernel]: accepted_kernel.launch for accepted_kernel in accepted}
    refused = [replace(refusal, kernel=kernels[numbers[refusal.kernel]]) for refusal in refused]
    output = C.copy()

    def timed(which: Sequence[int], budget: float, warm_up_s: float = 0.0) -> list[float]:
        rivals = [*(launches[candidate] for candidate in which), cublas_sgemm]
        bound = [partial(rival, *shape, ALPHA, A, B, BETA, output) for rival in rivals]
        return _medians(interleave(bound, budget * len(rivals), warm_up_s))

    *short, cublas = timed(list(launches), budget_s / 3, WARM_UP_S)
    times = dict(zip(launches, short, strict=True))
    near = [candidate for candidate in launches if times[candidate] <= NEAR * min(short)]
    *longer, cublas = timed(near, budget_s)
    times |= zip(near, longer, strict=True)
    if way(*shape) != GRAPH:
        return Measured(shape, cublas, None, times, {}), refused
    *small, cublas_in_graph = _in_graph([launches[candidate] for candidate in near], inputs, budget_s)
    return Measured(shape, cublas, cublas_in_graph, times, dict(zip(near, small, strict=True))), refused


def measure_each(
    kernels: Sequence[Kernel],
    plan: Mapping[Shape, Sequence[int]],
    sms: int,
    gpus: Sequence[str],
    *,
    budget_s: float = 0.03,
) -> Iterator[tuple[Shape, Callable[[], tuple[Measured, list[Refusal]]]]]:
    """The shapes of a plan, each with a function that gives what `measure` does, or raises what it raised.

    gpus: those that shapes are measured on side by side, see `side_by_side`; all candidates of a shape on the same one.
    Without any it is the current GPU, and the function measures when it is called.
    """
    if not gpus:
        for shape, which in plan.items():
            yield shape, partial(measure, kernels, shape, which, budget_s=budget_s)
        return

    def of_here(future: Future) -> tuple[Measured, list[Refusal]]:
        measured, refused = future.result()
        return measured, [Refusal(kernels[which], Elsewhere(sentence)) for which, sentence in refused]

    tasks = [(sms, shape, which, budget_s) for shape, which in plan.items()]
    with closing(side_by_side.results(_measure_by_numbers, tasks, gpus)) as ended:
        for (_, shape, _, _), future in ended:
            yield shape, partial(of_here, future)


def _measure_by_numbers(
    sms: int, shape: Shape, which: Sequence[int], budget_s: float
) -> tuple[Measured, list[tuple[int, str]]]:
    """`measure` in another process: candidates go there, and refused ones come back, as their numbers."""
    kernels = _candidates(sms)
    measured, refused = measure(kernels, shape, which, budget_s=budget_s)
    return measured, [(kernels.index(refusal.kernel), str(refusal.error)) for refusal in refused]


@cache
def _candidates(sms: int) -> list[Kernel]:
    return candidates(sms)


def _verified(launch: Callable[..., None], reference: Reference, inputs: Sequence[Any]) -> float:
    return verify_and_repeat(launch, reference, *inputs)


def _medians(milliseconds: np.ndarray) -> list[float]:
    """Of each column, to four digits: there are many of them to keep."""
    return [float(f"{ms:.4g}") for ms in np.median(milliseconds, axis=0)]


def _in_graph(launches: Sequence[Callable[..., None]], inputs: Sequence[Any], budget_s: float) -> list[float]:
    import cupy

    sets = copies_of(inputs)
    stream = cupy.cuda.Stream(non_blocking=True)
    with cublas_on(stream) as cublas, stream:
        rivals = [on_a_set(launch, sets) for launch in (*launches, cublas)]
        return _medians(interleave_graphs(rivals, stream, budget_s * len(rivals), warm_up_s=0.0))


def costs(
    kernel: Kernel, which: int, measured: Sequence[Measured], sms: int, usual: Mapping[Kind, float]
) -> dict[str, float] | None:
    """Seconds for each unit of work, none of them negative, that fit a candidate's times best; relative errors count.

    Where it suits a shape and was not tried, a guess counts a little: its rough estimate (see `by_shape`), times what
    such estimates are usually off by at shapes of this kind (see `usually`), times what they are off by for this
    candidate beyond that. Without guesses a candidate that was tried at few shapes of a kind costs anything there, and
    the smallest of many estimates is the one that is most wrong.

    None for kernels that are never estimated, or were not tried.
    """
    if kernel.name not in by_shape.ESTIMATED:
        return None
    try:
        from scipy.optimize import nnls
    except ImportError as error:
        raise NoFit('Costs are fitted with SciPy: `pip install -e ".[tune]"`.') from error
    seconds, weights = {}, {}
    for row in measured:
        if which in row.times:
            times = row.as_the_suite_times
            seconds[row.shape] = times[which] / 1e3
            weights[row.shape] = FAR_WEIGHT if times[which] > 1.5 * min(times.values()) else 1.0
    if not seconds:  # it suits none of these shapes
        return None

    def usual_seconds(shape: Shape) -> float:
        return by_shape.rough_seconds(kernel, shape, sms) * usual.get(_kind(shape), 1.0)

    beyond = statistics.median(taken / usual_seconds(shape) for shape, taken in seconds.items())
    for row in measured:
        if row.shape not in seconds and by_shape.suits(kernel, row.shape):
            seconds[row.shape], weights[row.shape] = usual_seconds(row.shape) * beyond, GUESS_WEIGHT
    work = {shape: by_shape.amounts(kernel, shape, sms) for shape in seconds}
    matrix = np.array([[weights[shape] * unit / seconds[shape] for unit in work[shape].values()] for shape in seconds])
    scale = np.maximum(matrix.max(axis=0), 1e-300)  # the units differ by many orders of magnitude
    solution, _ = nnls(matrix / scale, np.array(list(weights.values())))
    names = next(iter(work.values()))
    return {name: float(f"{cost:.4g}") for name, cost in zip(names, solution / scale, strict=True) if cost > 0}


def usually(kernels: Sequence[Kernel], measured: Sequence[Measured], sms: int) -> dict[Kind, float]:
    """How many times their rough estimates the estimated candidates take, at shapes of each kind: the median of those
    that took at most NOT_FAR times as long as the fastest."""
    ratios_of: dict[Kind, list[float]] = {}
    for row in measured:
        times = row.as_the_suite_times
        for which, ms in times.items():
            if kernels[which].name in by_shape.ESTIMATED and ms < NOT_FAR * min(times.values()):
                rough = by_shape.rough_seconds(kernels[which], row.shape, sms)
                ratios_of.setdefault(_kind(row.shape), []).append(ms / 1e3 / rough)
    return {kind: statistics.median(ratios) for kind, ratios in ratios_of.items()}


def _kind(shape: Shape) -> Kind:
    """Whether not all rows of B start at 16 bytes, and whether k is short."""
    _, N, K = shape
    return N % 4 != 0, K <= by_shape.SHORT_K


def every_cost(kernels: Sequence[Kernel], measured: Sequence[Measured], sms: int) -> list[dict[str, float] | None]:
    """The `costs` of each candidate."""
    usual = usually(kernels, measured, sms)
    return [costs(kernel, which, measured, sms, usual) for which, kernel in enumerate(kernels)]


def trees(kernels: Sequence[Kernel], measured: Sequence[Measured], sms: int) -> list[Tree]:
    """What estimates are off by at shapes that costs were not fitted to, as the logarithm of a factor.

    Each shape is estimated by costs that were fitted to the shapes of the other FOLDS - 1 parts of all. All candidates
    have the same trees, so that what was measured of one counts for those that are like it.
    """
    rows: list[dict[str, float]] = []
    off, weights = [], []
    part_of = np.random.default_rng(0).integers(FOLDS, size=len(measured))
    for part in range(FOLDS):
        others = [row for row, its_part in zip(measured, part_of, strict=True) if its_part != part]
        costs_of = every_cost(kernels, others, sms)
        for row in (candidate for candidate, its_part in zip(measured, part_of, strict=True) if its_part == part):
            times = row.as_the_suite_times
            estimates = {
                which: by_shape.estimate(kernels[which], costs_of[which], row.shape, sms)
                for which in times
                if costs_of[which]
            }
            for which, seconds in estimates.items():
                ms, least = times[which], min(estimates.values())
                rows.append(by_shape.features(kernels[which], row.shape, sms, seconds, least))
                off.append(math.log(ms / 1e3 / seconds))
                weights.append(1.0 if ms <= 1.5 * min(times.values()) else FAR_TREE_WEIGHT)
    if not rows:
        return []
    return boosting.fit(list(rows[0]), np.array([list(row.values()) for row in rows]), np.array(off), np.array(weights))


def chosen(kernels: Sequence[Kernel], measured: Sequence[Measured], sms: int) -> dict[str, Any]:
    """What `gemm_kernels.fastest` reads: the candidates with their costs, what estimates by those are off by, and the
    number of the best at each shape."""
    return _parts(kernels, every_cost(kernels, measured, sms), measured) | {
        "trees": [to_row(tree) for tree in trees(kernels, measured, sms)],
        "promising_short": by_shape.PROMISING_SHORT,
    }


def rechosen(kernels: Sequence[Kernel], measured: Sequence[Measured], fitted: Sequence[Candidate]) -> dict[str, Any]:
    """The same of candidates of which the first were fitted before and the others are never estimated."""
    costs = [candidate.costs for candidate in fitted] + [None] * (len(kernels) - len(fitted))
    return _parts(kernels, costs, measured)


def _parts(
    kernels: Sequence[Kernel], costs: Sequence[Mapping[str, float] | None], measured: Sequence[Measured]
) -> dict[str, Any]:
    return {
        "candidates": [
            {"kernel": kernel.name, "params": dict(kernel.params)} | ({"seconds": dict(cost)} if cost else {})
            for kernel, cost in zip(kernels, costs, strict=True)
        ],
        "fastest": [[*row.shape, min(row.times, key=row.score)] for row in measured],
    }


def measured_before(
    kernels: Sequence[Kernel], gpu_name: str, folder: Path = recordings.FOLDER
) -> tuple[list[Measured], list[dict[str, Any]]]:
    """What was measured on this GPU with candidates that are still some, and the provenance of each of those runs.

    Of a kernel whose code has changed since the last run only those times are left that are further from the fastest
    than NEAR: the others have to be measured again.
    """
    content = recordings.raw(gpu_name, CHOICES, folder)
    last = dict(content["provenance"])
    runs = [*last.pop("earlier", []), last]
    sources = _sources(kernels)
    changed = {name for name, sha256 in last["code_sha256"].items() if sources.get(name) != sha256}
    today = {kernel.entry: which for which, kernel in enumerate(kernels)}
    numbers = {old: today[entry] for old, entry in enumerate(content["candidates"]) if entry in today}
    rows = (_renumbered(row, numbers) for row in read_measured(gpu_name, folder))
    rows = (_without_near_ones(row, {w for w in row.times if kernels[w].name in changed}) for row in rows if row.times)
    return [row for row in rows if row.times], runs


def _renumbered(row: Measured, numbers: Mapping[int, int]) -> Measured:
    """The same times, of candidates that have other numbers now; without those that have none."""
    times, in_graph = (
        {numbers[which]: ms for which, ms in ways.items() if which in numbers} for ways in (row.times, row.in_graph)
    )
    return replace(row, times=times, in_graph=in_graph)


def _without_near_ones(row: Measured, among: set[int]) -> Measured:
    """Without the times of those of these candidates that were near the fastest."""
    times = row.as_the_suite_times
    near = {which for which in among if times[which] <= NEAR * min(times.values())}
    return _renumbered(row, {which: which for which in times if which not in near})


@dataclass(frozen=True)
class Plan:
    """What to compare, see `plan` and `plan_of_vectors`.

    kernels: the candidates.  wanted: the numbers of those that are measured at each shape.
    known: what was measured before.  about: see `about`.
    fitted: the first of the candidates, where they keep the costs that they have, and the others have none.
    """

    kernels: Sequence[Kernel]
    wanted: Mapping[Shape, Sequence[int]]
    known: Mapping[Shape, Measured]
    about: Mapping[str, Any]
    fitted: Sequence[Candidate] = ()


def plan(
    shapes: Sequence[Shape], gpu_name: str, sms: int, folder: Path | None = None, gpus: Sequence[str] = ()
) -> Plan:
    """All candidates at these shapes; with a folder of recordings, what is missing there.  gpus: see `measure_each`."""
    kernels = candidates(sms)
    before, earlier = measured_before(kernels, gpu_name, folder) if folder else ([], [])
    known = {row.shape: row for row in before}
    wanted = {shape: wanting(kernels, shape, sms, known.get(shape)) for shape in shapes}
    wanted = {shape: which for shape, which in wanted.items() if which}
    return Plan(kernels, wanted, known, about(kernels, earlier, gpus))


def plan_of_vectors(gpu_name: str, sms: int, folder: Path = recordings.FOLDER) -> Plan:
    """Those candidates of the choice on this GPU, and of today, that are never estimated: they are for few rows or
    columns. They are measured at VECTORS and wherever they suit a shape that was measured before.

    This changes no fit: what is chosen for an unmeasured shape with more rows and columns than one stays.
    """
    fitted = choices.of(gpu_name, "fastest").candidates
    kernels = [get(candidate.kernel, **candidate.params) for candidate in fitted]
    today = (kernel for kernel in candidates(sms) if kernel.name not in by_shape.ESTIMATED)
    kernels += [kernel for kernel in today if kernel not in kernels]
    numbers = [which for which, kernel in enumerate(kernels) if kernel.name not in by_shape.ESTIMATED]
    known = {row.shape: row for row in read_measured(gpu_name, folder)}
    suiting = {
        shape: [which for which in numbers if by_shape.suits(kernels[which], shape)]
        for shape in dict.fromkeys([*VECTORS, *known])
    }
    last = dict(recordings.raw(gpu_name, CHOICES, folder)["provenance"])
    here = about([kernels[which] for which in numbers], [*last.pop("earlier", []), last])
    here["provenance"]["code_sha256"] = last["code_sha256"] | here["provenance"]["code_sha256"]
    return Plan(kernels, {shape: which for shape, which in suiting.items() if which}, known, here, fitted)


def wanting(kernels: Sequence[Kernel], shape: Shape, sms: int, before: Measured | None = None) -> list[int]:
    """The numbers of the candidates to measure at a shape: all that may be the fastest there, or, if something was
    measured before, those that were not, and their rivals. None of them if none is missing."""
    promising = [kernels.index(kernel) for kernel in by_shape.promising(kernels, shape, sms)]
    if before is None:
        return promising
    missing = [which for which in promising if which not in before.times]
    best = min(map(before.score, before.times))
    rivals = [which for which in before.times if before.score(which) <= RIVALS * best]
    return sorted({*missing, *rivals}) if missing else []


def added(before: Measured | None, now: Measured) -> Measured:
    """What was measured at a shape before and now. Older times count as parts of those of cuBLAS, which took turns."""
    if before is None:
        return now
    ways = [(before.cublas, before.times, now.cublas, now.times)]
    ways += [(before.cublas_in_graph, before.in_graph, now.cublas_in_graph, now.in_graph)]
    times, in_graph = (
        {which: float(f"{ms / theirs * cublas:.4g}") for which, ms in old.items()} | dict(new)
        for theirs, old, cublas, new in ways
    )
    return replace(now, times=times, in_graph=in_graph)


def about(
    kernels: Sequence[Kernel], earlier: Sequence[Mapping[str, Any]] = (), gpus: Sequence[str] = ()
) -> dict[str, Any]:
    """The GPU at hand and the provenance of what is measured on it from now on. Asked for before anything is measured:
    after a kernel's fault no question to the GPU has an answer.

    earlier: the provenance of former runs that a part of what is kept is from.  gpus: see `measure_each`.
    """
    here = provenance() | {"code_sha256": _sources(kernels)} | ({"earlier": list(earlier)} if earlier else {})
    here |= {"gpus_side_by_side": len(gpus)} if gpus else {}
    return {"gpu": gpu.name(), "provenance": here}


def keep(
    about: Mapping[str, Any],
    kernels: Sequence[Kernel],
    measured: Sequence[Measured],
    sms: int,
    folder: Path = recordings.FOLDER,
    choices_folder: Path = choices.FOLDER,
    fitted: Sequence[Candidate] = (),
) -> Path:
    """Write what was measured into the GPU's recordings, and the choice into its choices, whose file is returned.

    about: see `about`.  fitted: see `Plan`.
    """
    if not measured:
        raise ValueError("There is nothing to keep: no shape was finished.")
    rows = {"candidates": [kernel.entry for kernel in kernels], "rows": [to_row(row) for row in measured]}
    recordings.write(recordings.path(about["gpu"], CHOICES, folder), dict(about) | rows)
    parts = rechosen(kernels, measured, fitted) if fitted else chosen(kernels, measured, sms)
    return update_choices(about["gpu"], sms, choices_folder, **parts)


def _sources(kernels: Sequence[Kernel]) -> dict[str, str]:
    return {kernel.name: code_sha256(kernel) for kernel in kernels}


def update_choices(gpu_name: str, sms: int, folder: Path = choices.FOLDER, **parts: Any) -> Path:
    """Write parts of a GPU's choices (see `gemm_kernels.choices`), keeping the others. Returns the file."""
    file = choices.path(gpu_name, folder)
    old = recordings.read(file) if file.exists() else {}
    recordings.write(file, {"gpu": gpu_name, "sms": sms} | old | parts)
    return file


def read_measured(gpu_name: str, folder: Path = recordings.FOLDER) -> list[Measured]:
    """What `keep` wrote into a recording."""
    return [from_row(Measured, row) for row in recordings.raw(gpu_name, CHOICES, folder)["rows"]]
