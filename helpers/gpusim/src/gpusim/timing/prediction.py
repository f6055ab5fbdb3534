"""The time of a launch: blocks on one SM, cycle by cycle, and from there to all of them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_double, c_int32, c_int64
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusim.devices import SCHEDULERS
from gpusim.engine.memory import product
from gpusim.timing import binding
from gpusim.timing.machine import Machine
from gpusim.timing.machine_code import UNITS
from gpusim.timing.ranges import Range
from gpusim.timing.trace import Trace

# Why a warp does not issue, in the names of Nsight Compute's smsp__average_warps_issue_stalled_*: `enum Reason`, sm.c.
STALLS = (
    "selected", "wait", "long_scoreboard", "short_scoreboard", "barrier", "mio_throttle", "lg_throttle",
    "math_pipe_throttle", "dispatch_stall", "not_selected", "no_instruction", "branch_resolving",
)  # fmt: skip
CLOSED = "dispatch_stall"  # a warp is ready, and the way into the core is not
WAVES = 3  # of blocks that are simulated at least; the others follow from them
MOST_WAVES = 15  # of short blocks: those that begin together drift apart until some load while others compute
SHORT = 400_000  # warp instructions that more than WAVES may take
FEWEST_BLOCKS = 12
BUDGET = 1_500_000  # warp instructions of a simulation, about a quarter of a second: of longer loops a part is left out
FEWEST_REPETITIONS = 24  # of a loop that is left out in part
SHORTER = 2.5  # of such a launch a second simulation is that much shorter, which tells what a repetition costs
EVENT = np.dtype([*((name, "i4") for name in ("warp", "block", "pc", "reason")), ("issued", "f8"), ("ready", "f8")])

WHAT = {
    "fp32": "the FP32 pipe: an FMA is issued in {:.0%} of the cycles",
    "issue": "the schedulers: an instruction is issued in {:.0%} of the cycles",
    "alu": "the integer pipe (ALU), busy in {:.0%} of the cycles",
    "fp64": "the FP64 pipe, busy in {:.0%} of the cycles",
    "xu": "the unit of special functions (XU), busy in {:.0%} of the cycles",
    "tensor": "the tensor cores, busy in {:.0%} of the cycles",
    "shared": "the data path of shared memory and L1, busy in {:.0%} of the cycles",
    "l2": "the bandwidth of L2, of which {:.0%} is used",
    "dram": "the bandwidth of DRAM, of which {:.0%} is used",
    "store": "the way of stores and atomics to L2, busy in {:.0%} of the cycles",
    "latency": "latency: no unit is busy in more than {:.0%} of the cycles",
    "launch": "the launch itself: {:.0%} of the time passes before and after the kernel's own work",
}
WORTH_SAYING = 0.005  # of the time, which is a percent when it is rounded
BUSY = 0.7  # from here on a unit names the kind of a launch; below, it is latency
FULL = 0.9  # from here on that unit is called the limit; below, it is only the busiest
# Nsight Compute's titles of them, in the order of a bar: global memory, shared memory, other warps, the core.
TITLES: Mapping[str, str] = {
    "long_scoreboard": "Long Scoreboard",
    "lg_throttle": "LG Throttle",
    "short_scoreboard": "Short Scoreboard",
    "mio_throttle": "MIO Throttle",
    "barrier": "Barrier",
    "dispatch_stall": "Dispatch Stall",
    "math_pipe_throttle": "Math Pipe Throttle",
    "wait": "Wait",
    "no_instruction": "No Instruction",
    "branch_resolving": "Branch Resolving",
}
LAUNCH = "the launch begins or ends"
READY = "a warp is ready, and nothing is issued because the way into the core is closed"
WAITS = {
    "long_scoreboard": "data from global or local memory",
    "short_scoreboard": "data from shared memory, or a special function",
    "barrier": "the other warps at a barrier",
    "mio_throttle": "a place in the queue to shared memory",
    "lg_throttle": "a place in the queue to global memory",
    "math_pipe_throttle": "a busy arithmetic pipe",
    "not_selected": "their turn",
    "no_instruction": "instructions to be fetched",
    "branch_resolving": "the target of a branch",
    "wait": "the fixed latency of the instruction before",
}


@dataclass(frozen=True, eq=False)
class Simulated:
    """One run of sm.c.  block_end: when each of its blocks ended.  by_instruction: (instruction, 2, reason), cycles
    that warps spent before it, and those of them in which their scheduler issued nothing."""

    result: binding.Result
    block_end: np.ndarray
    by_instruction: np.ndarray


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a launch would take.

    cycles: of the SM clock, without what every launch costs.  ms: with it.  range: how far it may be off, from the
    errors for launches with such a limiter; of kernels that the model had not seen, unless this is one of the course's.
    cold: whether L2 holds nothing of the launch at first, and dirty lines of another program, as where the course
    measures.  in_vain: whether a warm one was asked for, which cannot hold the launch's arrays and so is as good as
    cold.  kind: of the limiter, a key of `WHAT`; busy: of that unit.
    seen: whether the model was built on the kernel.
    stalls: warps that wait, by reason, for each instruction that is issued.
    simulated: the first `blocks` of the `wanted` blocks that an SM executes.
    """

    trace: Trace
    machine: Machine
    cycles: float
    cold: bool
    kind: str
    busy: float
    simulated: Simulated
    blocks: int
    wanted: float
    in_vain: bool = False
    seen: bool = False

    @cached_property
    def all_blocks(self) -> Simulated:
        """What all blocks of an SM come to: further waves are like the last one that was simulated. Its `block_end`
        holds the last end alone."""
        resident = self.trace.blocks
        fewer = max(resident, round(self.blocks * 2 / 3 / resident) * resident)
        if self.wanted <= self.blocks or fewer >= self.blocks:
            return self.simulated
        short = _first(self.trace, self.machine, fewer, self.cold, True)[0]
        times = (self.wanted - self.blocks) / (self.blocks - fewer)
        ends = (np.array([run.block_end.max()]) for run in (short, self.simulated))
        return _beyond(short, self.simulated, times, _further(*ends, times))

    @property
    def ms(self) -> float:
        return self._ms(self.cycles)

    def _ms(self, cycles: float) -> float:
        return (self.machine.constants["floor_us"] + cycles / self.machine.constants["clock_mhz"]) / 1e3

    @cached_property
    def range(self) -> Range:
        return self.machine.range_of(self.kind, self.seen)

    @property
    def range_ms(self) -> tuple[float, float]:
        return self.ms / self.range.factor, self.ms * self.range.factor

    @property
    def gpu(self) -> str:
        return self.machine.device.name

    @property
    def label(self) -> str:
        """The label beside every number of it."""
        return f"predicted for {self.gpu}"

    @property
    def cache(self) -> str:
        """Which L2 the time is for."""
        if self.in_vain:
            return "with a cold L2, for a warm one does not hold the launch's arrays"
        if self.cold:
            return "with a cold L2, full of another program's dirty lines"
        return "with a warm L2, which holds the launch's arrays"

    @cached_property
    def units(self) -> Mapping[str, float]:
        """How busy each unit of an SM and its share of L2 and DRAM are while the kernel runs, 0 … 1; keys of `WHAT`."""
        return {name: min(busy, 1.0) for name, busy in _busy(self.simulated.result, self.machine).items()}

    @cached_property
    def stalls(self) -> Mapping[str, float]:
        issued = max(self.all_blocks.result.instructions, 1)
        return {name: self.all_blocks.result.stalls[number] / issued for number, name in enumerate(STALLS)}

    @property
    def _fills_a_unit(self) -> bool:
        return self.kind not in ("latency", "launch") and self.busy >= FULL

    @property
    def _name(self) -> str:
        return "limit" if self._fills_a_unit or self.kind in ("latency", "launch") else "busiest part"

    @property
    def limiter_in_short(self) -> str:
        """'the busiest part is the FP32 pipe': which unit, without its number."""
        return f"the {self._name} is {re.split('[:,]', WHAT[self.kind])[0]}"

    @property
    def limiter(self) -> str:
        """What the time is limited by, or which unit is the busiest, with its number; and in which part of the time
        nothing is issued, and why, where no unit is the limit or most schedulers have no warp."""
        sentence = f"The {self._name} is {WHAT[self.kind].format(self.busy)}."
        most = max(TITLES, key=self.time.__getitem__)
        cause = max(self.empty, key=self.empty.__getitem__)
        if self.empty[cause] > self.time[most] and cause != LAUNCH:
            empty = f"In {self.time['empty']:.0%} of the time a scheduler has no warp, above all because {cause}."
            return f"{sentence} {empty}"
        if not self._fills_a_unit and self.time[most] >= WORTH_SAYING:
            why = f"nothing is issued because the warps wait for {WAITS[most]}" if most != CLOSED else READY
            sentence += f" In {self.time[most]:.0%} of the time {why} ({TITLES[most]})."
        return sentence

    @cached_property
    def time(self) -> Mapping[str, float]:
        """Where the time of the launch goes, one in sum, the mean over all schedulers of the GPU: "selected", in which
        an instruction is issued; by reason, in which none is; "empty", in which there is no warp."""
        active = 1 - sum(self.empty.values())
        instructions = self.trace.warp_instructions / self.trace.blocks * product(self.trace.grid)
        issued = min(instructions / self.machine.device.sms / SCHEDULERS / self._whole, active)
        lost = sum(self.lost.values()) or 1.0
        waits = {name: (active - issued) * share / lost for name, share in self.lost.items()}
        return {"selected": issued, **waits, "empty": 1 - active}

    @cached_property
    def empty(self) -> Mapping[str, float]:
        """Parts of the time in which a scheduler has no warp, by their cause, a sentence's part."""
        blocks, sms = product(self.trace.grid), self.machine.device.sms
        warps = min(self.trace.blocks, -(-blocks // sms)) * self.trace.occupancy.warps_per_block
        kernel = self.cycles / self._whole
        with_block, with_warp = min(1.0, blocks / sms), min(1.0, warps / SCHEDULERS)
        causes = {
            LAUNCH: 1 - kernel,
            f"the grid has only {_counted(blocks, 'block')} for {sms} SMs": kernel * (1 - with_block),
            f"an SM holds only {_counted(warps, 'warp')} for {SCHEDULERS} schedulers":
                kernel * with_block * (1 - with_warp),
        }  # fmt: skip
        return {cause: part for cause, part in causes.items() if part > 0}

    @property
    def _whole(self) -> float:
        """Cycles of the launch, with what every launch costs."""
        return self.machine.constants["floor_us"] * self.machine.constants["clock_mhz"] + self.cycles

    @cached_property
    def lost(self) -> Mapping[str, float]:
        """By reason, the share of a scheduler's cycles in which nothing is issued for it, while the SM has blocks.

        A wait costs nothing while other warps issue. So the cycles without an instruction are shared out by what warps
        wait for in them, and those in which only the way into the core is closed are Dispatch Stall.
        """
        rest, waiting = self._idle
        return {
            name: rest * waiting[number] if name != CLOSED else self._closed for number, name in enumerate(STALLS)
            if name in TITLES
        }  # fmt: skip

    @property
    def _cycles(self) -> float:
        """Of all schedulers, while the SM had blocks."""
        return SCHEDULERS * max(float(self.all_blocks.block_end.max(initial=0)), 1.0)

    @property
    def _closed(self) -> float:
        return self.all_blocks.result.closed / self._cycles

    @property
    def _idle(self) -> tuple[float, np.ndarray]:
        """(share of the cycles in which every warp waits, the share of each reason in them, one in sum)."""
        result = self.all_blocks.result
        waiting = np.array(
            [result.lost[n] if name in TITLES and name != CLOSED else 0 for n, name in enumerate(STALLS)]
        )
        rest = max(0.0, 1 - result.instructions / self._cycles - self._closed)
        return rest, waiting / max(float(waiting.sum()), 1e-9)

    def by_line(self) -> dict[int, dict[str, float]]:
        """By source line, the share of the schedulers' cycles that it takes: "selected", in which its instructions are
        issued, and by reason, in which nothing is issued because warps wait before them (see `lost`)."""
        spent, idle = self.all_blocks.by_instruction[:, 0], self.all_blocks.by_instruction[:, 1]
        result = self.all_blocks.result
        cost = np.zeros_like(spent)
        for number, name in enumerate(STALLS):
            if name == "selected":
                cost[:, number] = spent[:, number] / self._cycles
            elif name == CLOSED:
                cost[:, number] = self._closed * spent[:, number] / max(float(spent[:, number].sum()), 1e-9)
            elif name in TITLES:
                share = self._idle[0] * self._idle[1][number]
                cost[:, number] = share * idle[:, number] / max(result.lost[number], 1e-9)
        lines: dict[int, np.ndarray] = {}
        for instruction, row in zip(self.trace.program.instructions, cost, strict=True):
            lines[instruction.line] = lines.get(instruction.line, 0) + row
        return {line: dict(zip(STALLS, row.tolist(), strict=True)) for line, row in sorted(lines.items())}

    def timeline(self, issues: int = 200_000) -> np.ndarray:
        """The first instructions that the SM issues, in order, a structured array: warp, block, pc (index of the
        instruction), reason (of `STALLS`, what the warp waited for before), issued and ready (cycles)."""
        events = np.zeros(issues, EVENT)
        count = _simulate(self.trace, self.machine, self.trace.blocks, 1.0, self.cold, True, events)[1]
        return events[:count]

    def __str__(self) -> str:
        low, high = self.range_ms
        return (
            f"{self.trace.program.name}: {self.ms:.4g} ms ({low:.4g} to {high:.4g}), {self.label} {self.cache}. "
            f"{self.limiter} {self.range.reason}"
        )


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def predict(trace: Trace, machine: Machine, cold: bool = True) -> Prediction:
    """The time of a traced launch on a GPU."""
    device = machine.device
    # What a launch leaves in L2 helps the next only if all of it fits: otherwise the last bytes drive out the first.
    # What SMs of both halves of the GPU ask for is in both halves of L2.
    in_vain = not cold and sum(stop - start for _, start, stop in trace.arrays) > device.l2_bytes / 2
    cold = cold or in_vain
    blocks_in_all = product(trace.grid)
    on_one = -(-blocks_in_all // device.sms)
    resident = trace.blocks
    waves = int(SHORT / max(trace.warp_instructions, 1))
    most = max(min(max(waves, WAVES), MOST_WAVES), -(-FEWEST_BLOCKS // resident)) * resident
    if trace.warp_instructions / resident * most > 8 * BUDGET:
        most = 2 * resident  # long blocks: what the first wave costs beside the others hardly counts
    blocks = min(on_one, most)
    whole, is_part = _first(trace, machine, blocks, cold, blocks < on_one)
    cycles = whole.result.cycles + _per_block(whole, resident) * (on_one - blocks)
    if is_part and cold:
        cycles += _evictions(whole, machine, on_one / blocks, trace)
    kind, busy = _limiter(whole.result, machine, cycles)
    return Prediction(trace, machine, cycles, cold, kind, busy, whole, blocks, on_one, in_vain)


def _first(trace: Trace, machine: Machine, blocks: int, cold: bool, is_part: bool) -> tuple[Simulated, bool]:
    """The first blocks of an SM. is_part: there are more; returned as True too if loops are left out in part."""
    instructions = trace.warp_instructions / trace.blocks * blocks
    fraction = BUDGET / max(instructions, 1) if trace.longest_loop else 1.0
    if fraction < 1:
        fraction = min(1.0, max(fraction, FEWEST_REPETITIONS / trace.longest_loop))
    is_part = is_part or fraction < 1
    fractions = (fraction / SHORTER, fraction) if fraction < 1 else (1.0,)
    with ThreadPoolExecutor(len(fractions)) as pool:  # at once: sm.c only reads the trace, and holds no lock
        runs = list(
            pool.map(lambda fraction: _simulate(trace, machine, blocks, fraction, cold, not is_part)[0], fractions)
        )
    return (runs[0] if len(runs) == 1 else _extended(runs[0], runs[1], instructions)), is_part


def _extended(short: Simulated, longer: Simulated, instructions: float) -> Simulated:
    """What a run with all repetitions of a loop comes to: each that `longer` has beyond `short` costs the same.

    instructions: that are issued then.
    """
    steps = longer.result.instructions - short.result.instructions
    if steps <= 0:
        return longer
    times = (instructions - longer.result.instructions) / steps
    return _beyond(short, longer, times, _further(short.block_end, longer.block_end, times))


def _beyond(short: Simulated, longer: Simulated, times: float, block_end: np.ndarray) -> Simulated:
    """What `longer` comes to with so many times more of what it has beyond `short`."""
    result = binding.Result()
    for name, kind in binding.Result._fields_:
        value = _further(*(np.array(getattr(run.result, name)) for run in (short, longer)), times)
        setattr(result, name, float(value) if kind is c_double else kind(*value))
    return Simulated(result, block_end, _further(short.by_instruction, longer.by_instruction, times))


def _further(first: np.ndarray, other: np.ndarray, times: float) -> np.ndarray:
    return np.maximum(other + times * (other - first), 0)


def _per_block(run: Simulated, resident: int) -> float:
    """Cycles that one more block takes: from the end of an early wave, the first of three and the fifth of 15, to that
    of the last."""
    ends = np.sort(run.block_end)
    first, last = min(max(1, len(ends) // resident // 3) * resident, len(ends)) - 1, len(ends) - 1
    return float((ends[last] - ends[first]) / (last - first) if last > first else ends[last] / len(ends))


def _evictions(run: Simulated, machine: Machine, scale: float, trace: Trace) -> float:
    """Cycles by which dirty lines of another program slow down a launch that is simulated in part: they are written
    back once, however long it runs."""
    k, result = machine.constants, run.result
    sms = min(machine.device.sms, product(trace.grid))
    fetched = result.dram_sectors * 32 * sms * scale
    busy = min(1.0, result.dram_busy / max(result.cycles, 1))
    return (k["evict_factor"] - 1) * min(fetched, k["evict_bytes"]) / k["dram_gpu"] * busy


def _busy(result: binding.Result, machine: Machine) -> dict[str, float]:
    """How busy each unit is, 0 … 1, by its key in `WHAT`."""
    k, whole = machine.constants, max(result.cycles, 1)
    unit = {name: result.unit[number] / 4 for number, name in enumerate(UNITS)}
    return {
        "fp32": (unit["fma"] + unit["heavy"] * (k["heavy_interval"] - 1)) / whole,
        "alu": unit["alu"] * k["alu_interval"] / whole,
        "fp64": unit["fp64"] * k["fp64_interval"] / whole,
        "xu": unit["xu"] * k["xu_interval"] / whole,
        "tensor": unit["tensor"] * k["tensor_interval"] / whole,
        "shared": result.lsu_cycles / whole,
        "l2": result.l2_busy / whole,
        "dram": result.dram_busy / whole,
        "store": result.store_busy / whole,
        "issue": result.issue_slots / whole,
    }


def _limiter(result: binding.Result, machine: Machine, cycles: float) -> tuple[str, float]:
    """(what limits, how busy it is)."""
    k, busy = machine.constants, _busy(result, machine)
    name = max(busy, key=busy.__getitem__)
    if name == "issue" and busy["fp32"] > 0.85 * busy["issue"]:
        name = "fp32"
    floor = k["floor_us"] / (k["floor_us"] + cycles / k["clock_mhz"])
    if floor > 0.5:
        return "launch", floor
    return (name, min(busy[name], 1.0)) if busy[name] >= BUSY else ("latency", busy[name])


def _simulate(
    trace: Trace,
    machine: Machine,
    blocks: int,
    fraction: float,
    cold: bool,
    evict: bool,
    events: np.ndarray | None = None,
) -> tuple[Simulated, int]:
    """Execute blocks of a trace on one SM; (what came of it, number of events)."""
    starts, stops = trace.basic_blocks
    code, arrays = trace.instructions, len(trace.arrays)
    array_start = np.array([start for _, start, _ in trace.arrays] + [0], np.int64)
    array_stop = np.array([stop for _, _, stop in trace.arrays] + [0], np.int64)
    sharing = np.array([*trace.sharing, 1.0])
    # A sector that is written in part is read from DRAM before, also if other warps write the rest of it soon after;
    # one alone in its line costs more, both ways.
    alone = machine.constants["dram_alone"]
    written = np.array([
        1 + part - one_wave + (2 * alone - 1) * one_wave + begun + (alone - 1) * begun_alone
        for part, one_wave, begun, begun_alone in (*trace.in_part, (0, 0, 0, 0))
    ])  # fmt: skip
    sms = min(machine.device.sms, product(trace.grid))

    def at(array: np.ndarray, kind: type) -> ctypes._Pointer:
        return array.ctypes.data_as(ctypes.POINTER(kind))

    job = binding.Job(
        len(code), len(starts), arrays, blocks, trace.blocks, code, at(starts, c_int32), at(stops, c_int32),
        at(array_start, c_int64), at(array_stop, c_int64), at(sharing, c_double),
        at(written, c_double),
        max(1.0, product(trace.grid) / (sms * trace.blocks)), fraction, int(cold), 1,
    )  # fmt: skip
    constants = binding.machine(_of_one_sm(machine, trace, sms, evict))
    result, ends = binding.Result(), np.zeros(blocks)
    by_instruction = np.zeros((len(code), 2, binding.REASONS))
    log, room = (None, 0) if events is None else (events.ctypes.data, len(events))
    logged = binding.library().simulate(
        trace.handle, constants, ctypes.byref(job), ctypes.byref(result), ends.ctypes.data,
        by_instruction.ctypes.data, log, room,
    )  # fmt: skip
    return Simulated(result, ends, by_instruction), logged


def _of_one_sm(machine: Machine, trace: Trace, sms: int, evict: bool) -> dict[str, float]:
    """The constants for one of `sms` SMs that share L2 and DRAM."""
    k, device = dict(machine.constants), machine.device
    k["l2_bytes_per_cycle"] = min(k["l2_sm"], k["l2_gpu"] / sms)
    k["l2_request"] = max(k["l2_request_sm"], k["l2_request_gpu"] * sms)
    k["l2_bytes"] = device.l2_bytes / 2  # what SMs of both halves of the GPU ask for is in both halves of L2
    k["dram_bytes_per_cycle"] = min(k["l2_sm"], k["dram_gpu"] / sms)
    k["store_bytes_per_cycle"] = min(k["store_sm"], k["store_gpu"] / sms)
    k["store_packet"] = max(k["store_packet_sm"], k["store_packet_gpu"] * sms)
    k["atomic_bytes_per_cycle"] = min(k["atomic_sm"], k["atomic_gpu"] / sms)
    k["atomic_packet"] = max(k["atomic_packet_sm"], k["atomic_packet_gpu"] * sms)
    k["block_interval"] = max(k["block_interval_sm"], k["block_interval_gpu"] * sms)
    # L1 is what the shared memory of the blocks leaves: the driver takes the smallest carve-out that holds them.
    needed = trace.occupancy.shared_bytes_per_block * trace.blocks
    carved = next((size for size in device.carve_outs if size >= needed), device.shared_bytes_per_sm)
    k["l1_bytes"] = max(k["l1_and_shared_bytes"] - carved, 8 * 1024)
    k["sms"] = sms
    if not evict:
        k["evict_factor"] = 1.0
    return k
