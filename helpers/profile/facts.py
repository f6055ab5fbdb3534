"""What one page says about a launch: its predicted time and limiter, stalls, occupancy, memory, hot lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

import numpy as np

from gemm_kernels import Launch
from gpusim import Captured, Finding, Recording, Report, devices
from gpusim.checks.checks import Checker
from gpusim.counters.recorded import LaunchFacts
from gpusim.counters.recorder import LaunchRecorder
from gpusim.devices import SECTOR_BYTES, WARP
from gpusim.engine.memory import Untouched
from gpusim.engine.observers import together
from gpusim.engine.run import Launch as Execution
from gpusim.errors import StepLimitExceeded
from gpusim.timing.trace import MOST_INSTRUCTIONS
from helpers import cycles
from helpers.cycles import TITLES, Prediction
from helpers.pictures.budget import facts as budget
from helpers.pictures.budget.facts import Budget
from helpers.profile.causes import Cause, find

HOT = 8  # lines that are shown
REGION = {"global": "sectors", "local": "sectors", "shared": "wavefronts"}  # what a request costs there
OPERATIONS = {
    "ld": "loading from", "st": "storing to", "atom": "an atomic in", "red": "an atomic in", "ldsm": "loading from",
}  # fmt: skip
WHY = {
    "global": "the words that a warp asks for lie in more sectors than they would fill",
    "local": "the lanes of a warp ask for different elements of their arrays",
    "shared": "the lanes of a warp meet in the same bank",
}
BEST = {"global": "at best", "local": "at best", "shared": "without bank conflicts"}  # fewer, if merged
WASTE = 1.5  # times the cost at best, from which on the page says so
WASTES = 3  # that are shown
MOST_CHECKED = 50_000  # instructions of a thread, in more of which hazards are looked for in the first block alone


@dataclass(frozen=True)
class Access:
    """What the first block asks one space for: warp requests, what they cost, what they would cost at best.

    ideal: if no two lanes shared a word; of a line in which they do, and that costs less, its cost.
    """

    space: str
    op: str
    requests: int
    unit: str
    cost: int
    ideal: int


@dataclass(frozen=True)
class Waste:
    """The requests of one line of the first block that cost more than they would at best."""

    line: int
    access: Access

    def __str__(self) -> str:
        access = self.access
        each, best = (f"{total / access.requests:.3g}" for total in (access.cost, access.ideal))
        return (
            f"Line {self.line}: {OPERATIONS[access.op]} {access.space} memory takes {each} {access.unit} per request, "
            f"and {best} {BEST[access.space]}: {WHY[access.space]}."
        )


@dataclass(frozen=True)
class HotLine:
    """A source line: its share of the time, in which its instructions are issued or waited for while nothing is; what
    most of that time is lost for, in Nsight Compute's words, "" if none is; its machine code."""

    line: int
    text: str
    share: float
    waits_for: str
    sass: tuple[str, ...]


@dataclass(frozen=True)
class Traffic:
    """Bytes of the whole launch as the model counts them, as if all blocks did what the simulated ones do.

    stored: goes to L2, and from there to DRAM when L2 needs the room: of a small array after the launch.
    """

    asked_of_l1: float
    found_in_l1: float
    from_l2: float
    stored: float
    from_dram: float


@dataclass(frozen=True)
class Roof:
    """Operations and bytes of the whole launch as the model counts them, and the roof over their ratio."""

    gflops: float
    intensity: float
    roof_gflops: float


@dataclass(frozen=True, eq=False)
class Profile:
    """One launch on one page. times in milliseconds; cycles: where they go, in parts that add up to the time.

    units: how busy each is while the kernel runs, 0 … 1, the busiest first; keys of `timing.prediction.WHAT`.
    hazards: what the sanitizer finds in the blocks that are `checked`, races between blocks and in global memory left
    out; checked: their linear numbers.
    """

    name: str
    prediction: Prediction
    cycles: Budget
    occupancy: str
    units: Mapping[str, float]
    traffic: Traffic
    accesses: tuple[Access, ...]
    wastes: tuple[Waste, ...]
    causes: tuple[Cause, ...]
    hazards: tuple[str, ...]
    checked: tuple[int, ...]
    hot: tuple[HotLine, ...]
    roof: Roof | None

    @property
    def shares(self) -> dict[str, float]:
        """Of the time: what is issued, the reasons for which nothing is, largest first, and SMs without a warp."""
        parts = self.cycles.parts
        waits = sorted(self.cycles.waits, key=lambda wait: -parts[wait])
        return {name: parts[name] / self.cycles.total for name in ("fma", "other", *waits, "empty")}

    @property
    def looked_at(self) -> str:
        """Where hazards were looked for, a sentence."""
        blocks = prod(self.prediction.trace.grid)
        few = "the first block alone" if len(self.checked) == 1 else "the first block, one in the middle and the last"
        where = "every block" if len(self.checked) == blocks else f"{few}, of {blocks:,}"
        return f"Searched for hazards in {where}; not for races between blocks or in global memory."

    def as_json(self) -> dict[str, Any]:
        """Plain values, for scripts."""
        p = self.prediction
        return {
            "kernel": self.name, "label": p.label, "cache": "cold" if p.cold else "warm", "ms": p.ms,
            "range_ms": list(p.range_ms), "cycles": p.cycles, "limiter": p.limiter, "limited_by": p.kind,
            "time_goes_to": self.shares, "stalls": dict(p.stalls), "occupancy": self.occupancy,
            "units": dict(self.units), "traffic": asdict(self.traffic),
            "memory": [asdict(access) for access in self.accesses], "wastes": list(map(str, self.wastes)),
            "causes": [asdict(cause) for cause in self.causes],
            "hazards": list(self.hazards), "checked_blocks": list(self.checked),
            "hot_lines": [asdict(line) for line in self.hot], "roofline": asdict(self.roof) if self.roof else None,
        }  # fmt: skip


def profile(launch: Launch | Recording | Captured, device: str = devices.DEFAULT.name, *, cold: bool = True) -> Profile:
    """The page of a launch. Raises what `cycles.predict` does."""
    prediction = cycles.predict(launch, device, cold=cold)
    captured = cycles.captured(launch)
    counted, report = _first_block(captured)
    findings, others = report.findings, ()
    if not findings:
        findings, others = _other_blocks(captured, counted)
    traffic = _traffic(prediction)
    return Profile(
        name=captured.run.program.name,
        prediction=prediction,
        cycles=budget.predicted(prediction, captured.run.program.name),
        occupancy=_occupancy(prediction),
        units=_busiest_first(prediction.units),
        traffic=traffic,
        accesses=_accesses(counted),
        wastes=_wastes(counted),
        causes=find(captured, counted, prediction, _counted),
        hazards=tuple(finding.message for finding in findings),
        checked=(0, *others),
        hot=_hot(prediction),
        roof=_roof(prediction, counted, traffic),
    )


def _first_block(captured: Captured) -> tuple[Recording, Report]:
    """What block 0 does, counted, and what is wrong with it; nothing is stored."""
    checked, checker = _checked(captured, np.zeros(1, np.int64))
    recording = _recorded(captured, checked, checker)
    return recording, checker.finish()


def _counted(captured: Captured) -> Recording:
    """What block 0 does, counted alone."""
    launch = replace(
        captured.run, only_blocks=np.zeros(1, np.int64), global_memory=Untouched(captured.run.global_memory)
    )
    return _recorded(captured, launch, None)


def _recorded(captured: Captured, launch: Execution, checker: Checker | None) -> Recording:
    """A launch of one block, counted, and looked at by a checker if there is one."""
    run, compiled = captured.run, captured.compiled
    facts = LaunchFacts(
        run.program.name, run.grid, run.block, compiled.shared_bytes + captured.shared_mem, compiled.registers, 1,
        captured.shared_mem, compiled.arch, compiled.compiler_version, compiled.options,
    )  # fmt: skip
    recorder = LaunchRecorder(run.program, facts, frozenset())
    replace(launch, observers=together(recorder, checker), max_instructions=MOST_INSTRUCTIONS).run()
    recording = Recording("sass")
    recording.launches.append(recorder.finish(captured))
    return recording


def _other_blocks(captured: Captured, first: Recording) -> tuple[tuple[Finding, ...], tuple[int, ...]]:
    """What is wrong in the middle and the last block of the grid, and their numbers; of none that takes long.

    Nor of one that goes on for longer than the first, as if it waited for blocks that are not executed here.
    """
    blocks = prod(captured.run.grid)
    others = np.unique([blocks // 2, blocks - 1])
    others = others[others > 0]
    most = first.instructions()
    if not len(others) or most > MOST_CHECKED * -(-captured.run.threads // WARP):
        return (), ()
    checked, checker = _checked(captured, others)
    try:
        replace(checked, observers=together(checker), max_instructions=MOST_CHECKED).run()
    except StepLimitExceeded:
        return (), ()
    return checker.finish().findings, tuple(others.tolist())


def _checked(captured: Captured, blocks: np.ndarray) -> tuple[Execution, Checker]:
    """Some blocks of a launch, to be executed without storing, and who looks at what they do."""
    run = captured.run
    memory = Untouched(run.global_memory)
    checker = Checker(
        run.program, run.grid, run.block, memory, frozenset(), run.shared_names, named_lanes=run.named_lanes
    )
    return replace(run, only_blocks=blocks, global_memory=memory), checker


def _blocks(fit: int) -> str:
    return "1 block fits" if fit == 1 else f"{fit} blocks fit"


def _occupancy(prediction: Prediction) -> str:
    fits = prediction.trace.occupancy
    blocks = prod(prediction.trace.grid)
    on_one = prediction.trace.blocks
    text = (
        f"{_blocks(fits.blocks)} on an SM ({fits.fraction:.0%} of its warps); the next one is stopped by "
        f"{' and '.join(fits.limiters)}."
    )
    waves = blocks / (fits.blocks * prediction.machine.device.sms)
    if on_one < fits.blocks:
        text += f" The grid has so few blocks, {blocks:,}, that an SM holds at most {on_one}."
    else:
        text += f" The grid's {blocks:,} blocks are {waves:.1f} waves."
    return text


def _accesses(recording: Recording) -> tuple[Access, ...]:
    accesses, lines = [], recording.by_line()
    for space, unit in REGION.items():
        for op in ("ld", "st", "atom", "red", "ldsm"):
            requests = recording.total("requests", space, op)
            if requests:
                counts = [line.accesses[space, op] for line in lines if (space, op) in line.accesses]
                costs = [(getattr(count, unit), getattr(count, f"ideal_{unit}")) for count in counts]
                best = sum(map(min, costs))  # line by line: one that costs less must not hide what another wastes
                accesses.append(Access(space, op, requests, unit, sum(cost for cost, _ in costs), best))
    return tuple(accesses)


def _wastes(recording: Recording) -> tuple[Waste, ...]:
    wastes = []
    for line in recording.by_line():
        for (space, op), counts in line.accesses.items():
            if op in OPERATIONS and (unit := REGION.get(space)):
                cost, ideal = (getattr(counts, f"{kind}{unit}") for kind in ("", "ideal_"))
                if cost >= WASTE * ideal:
                    wastes.append(Waste(line.line, Access(space, op, counts.requests, unit, cost, ideal)))
    return tuple(sorted(wastes, key=lambda waste: waste.access.ideal - waste.access.cost)[:WASTES])


def _hot(prediction: Prediction) -> tuple[HotLine, ...]:
    program = prediction.trace.program
    shares: Mapping[int, Mapping[str, float]] = prediction.by_line()
    at_work = 1 - prediction.time["empty"]
    lines = []
    for line in sorted(shares, key=lambda line: -sum(shares[line].values()))[:HOT]:
        reasons = shares[line]
        most = max(TITLES, key=reasons.__getitem__)
        waits = TITLES[most] if reasons[most] > 0 else ""
        text = program.source_lines[line - 1].strip() if 1 <= line <= len(program.source_lines) else "(no source line)"
        sass = tuple(instruction.text for instruction in program.instructions if instruction.line == line)
        lines.append(HotLine(line, text, sum(reasons.values()) * at_work, waits, sass))
    return tuple(lines)


def _busiest_first(units: Mapping[str, float]) -> Mapping[str, float]:
    return dict(sorted(units.items(), key=lambda item: -item[1]))


def _traffic(prediction: Prediction) -> Traffic:
    result, trace = prediction.simulated.result, prediction.trace
    instructions = trace.warp_instructions / trace.blocks * prod(trace.grid)
    each = SECTOR_BYTES * instructions / max(result.instructions, 1)
    sectors = (result.l1_sectors, result.l1_hits, result.l2_sectors, result.written_sectors, result.dram_sectors)
    return Traffic(*(each * count for count in sectors))


def _roof(prediction: Prediction, counted: Recording, traffic: Traffic) -> Roof | None:
    """Of the first block, as if all did the same; None without float32 arithmetic or where DRAM plays no part."""
    counts = {kind: counted.instructions(kind, threads=True) for kind in ("FFMA", "FADD", "FMUL")}
    operations = (2 * counts["FFMA"] + counts["FADD"] + counts["FMUL"]) * prod(prediction.trace.grid)
    moved = traffic.from_dram + traffic.stored
    if not operations or not moved or not prediction.cold:
        return None
    device = prediction.machine.device
    intensity = operations / moved
    gflops = operations / prediction.ms / 1e6
    return Roof(gflops, intensity, min(device.peak_fp32_gflops, intensity * device.memory_gb_per_s))
