"""Numbers to reach: what the memory system counted in a recorded launch, and what the compiler made of the kernel."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from gpusim import Recording, devices
from gpusim.compiler import CompileError
from gpusim.devices import WARP
from gpusim.errors import SimulatorError, StepLimitExceeded
from gpusim.native import NoLibrary
from gpusim.occupancy import Occupancy, occupancy
from helpers import cycles
from helpers.exercises.framework import trial
from helpers.exercises.framework.judge import BARRIERS, Goal, Judged
from helpers.exercises.framework.problems import Case, Problem
from helpers.pictures import theme
from helpers.pictures.bank_board.facts import shared_accesses
from helpers.pictures.order.facts import events_of, reads_before_stores
from helpers.run import simulated

if TYPE_CHECKING:
    from gpusim import Kernel
    from gpusim.counters.recorded import RecordedLaunch
    from gpusim.counters.trace import Trace

DEVICE = devices.DEFAULT
FLOAT_BYTES = 4


def sectors_a_load(at_most: float) -> Goal:
    """32-byte sectors of a global load, the mean over the launch."""
    return Goal("sectors per load request", lambda j: _ratio(j, "sectors", "global", "ld"), at_most, digits=1)


def load_requests(at_most: int, parameter: int | None = None, name: str = "") -> Goal:
    """Requests of warps that load from global memory; with `parameter`, from that one (counted from 0), our `name`."""

    def measure(j: Judged) -> float:
        array = None if parameter is None else j.kernel.compiled.parameters[parameter].name
        return j.recording.total("requests", "global", "ld", array)

    return Goal(f"load requests to {name}" if name else "load requests", measure, at_most)


def store_requests(at_most: int) -> Goal:
    """Requests of warps that store to global memory."""
    return Goal("store requests", lambda j: j.recording.total("requests", "global", "st"), at_most)


def store_sectors(at_most: int) -> Goal:
    """32-byte sectors of global memory that are stored to."""
    return Goal("sectors stored", lambda j: j.recording.total("sectors", "global", "st"), at_most)


def load_sectors(at_most: int) -> Goal:
    """32-byte sectors of global memory that are loaded."""
    return Goal("sectors loaded", lambda j: j.recording.total("sectors", "global", "ld"), at_most)


def global_atomics(at_most: int) -> Goal:
    """Requests of warps that update global memory by atomics."""

    def updates(j: Judged, space: str) -> float:
        return sum(j.recording.total("requests", space, op) for op in ("red", "atom"))

    def explain(j: Judged) -> str:
        shared = updates(j, "shared")
        return "" if shared else "Right, but all atomics go to global memory, and none to shared memory."

    return Goal("atomic requests to global memory", lambda j: updates(j, "global"), at_most, explain=explain)


def no_atomics(why: str, parameter: int | None = None, name: str = "") -> Goal:
    """Instructions of warps that update global or shared memory by atomics: none. why: what they would do.

    parameter: that of the only array that counts, from 0; None for all.  name: ours of it.
    """

    def measure(j: Judged) -> int:
        array = None if parameter is None else j.kernel.compiled.parameters[parameter].name
        launch = j.all_blocks().launches[-1]
        return sum(
            array in (None, trace.array) and _is_atomic_function(launch.program.instructions[trace.instruction].opcode)
            for trace in launch.traces
        )

    return Goal(f"atomic updates of {name}" if name else "atomic updates", measure, 0, explain=lambda _: why)


def _is_atomic_function(opcode: str) -> bool:
    """Whether an instruction is one of CUDA's atomic functions; to come to an mbarrier is none."""
    return opcode.lower().startswith(("atom", "red"))


def multiplications(at_most: int, why: str) -> Goal:
    """Instructions of warps that multiply and add floats. why: what makes them more."""
    return Goal("multiplications by warps", _fmas, at_most, explain=lambda _: why)


def floats_loaded(at_most: int) -> Goal:
    """Floats that the threads ask global memory for, each as often as a thread asks for it."""

    def measure(j: Judged) -> float:
        return sum(len(trial.elements(trace)) for trace in _global_loads(j))

    def explain(j: Judged) -> str:
        read = any(j.recording.total("requests", "shared", op) for op in ("ld", "ldsm"))
        return "" if read else "The compiled kernel never reads shared memory."

    return Goal(FLOATS_LOADED, measure, at_most, explain=explain)


FLOATS_LOADED = "floats loaded from global memory"
TRIED = 10  # random inputs


def places_loaded(at_most: int, why: str, parameter: int | None = None, name: str = "") -> Goal:
    """Different addresses of global and shared memory from which one thread loads: the most of any thread. With
    `parameter`, those of that one (counted from 0), our `name`. why: what a thread should do."""

    def measure(j: Judged) -> int:
        array = None if parameter is None else j.kernel.compiled.parameters[parameter].name
        loaded: dict[tuple[tuple[int, int, int], int], set[tuple[str, int]]] = {}  # by block and thread
        for trace in j.all_blocks().launches[-1].traces:
            if trace.op == "ld" and trace.space in ("global", "shared") and array in (None, trace.array):
                threads = range(j.threads) if trace.active is None else np.flatnonzero(trace.active).tolist()
                for thread in threads:
                    places = loaded.setdefault((trace.block, thread), set())
                    places.add((trace.space, int(trace.addresses[thread])))
        return max(map(len, loaded.values()), default=0)

    of_name = f" of {name}" if name else ""
    return Goal(f"different addresses{of_name} from which one thread loads", measure, at_most, explain=lambda _: why)


def waiting_blocks(problem: Problem, case: Case) -> Goal:
    """Blocks, by their numbers, that do not end where no other block is: they wait for blocks that a GPU may begin only
    when they have ended."""

    @lru_cache(maxsize=1)  # asked for the number, and again for the sentence
    def waiting(kernel: Kernel) -> list[int]:
        return [block for block in range(math.prod(problem.prepare(case).grid)) if not ends_alone(kernel, block)]

    def ends_alone(kernel: Kernel, block: int) -> bool:
        setup = problem.prepare(case)
        try:
            trial.record(kernel, setup, blocks=(devices.unravel(block, (*setup.grid, 1)[:2]),), only_traced=True)
        except StepLimitExceeded:
            return False
        return True

    def explain(j: Judged) -> str:
        numbers = waiting(j.kernel)
        wait = "block {} waits" if len(numbers) == 1 else "blocks {} wait"
        return (
            f"Right here, but {wait.format(theme.runs(numbers))} for blocks that need not have begun: a GPU may run "
            "one block after the other. The block that arrives last does the rest, and no block waits."
        )

    return Goal(
        "blocks that wait for others", lambda j: len(waiting(j.kernel)), 0, explain=explain,
        detail=lambda j: tuple(waiting(j.kernel)),
    )  # fmt: skip


def in_any_order(problem: Problem, case: Case, summed: int) -> Goal:
    """Elements of the output that are others where the atomic operations that threads make at the same time come in the
    opposite order. summed: the parameter, from 0, that holds random floats then, so that sums are rounded: in another
    order about half of them get other bits."""

    def output(j: Judged, seed: int, *, opposite: bool) -> np.ndarray:
        setup = problem.prepare(case)
        floats = setup.args[summed]
        floats[...] = np.random.default_rng(seed).standard_normal(floats.shape, np.float32)
        trial.launch_in_order(j.kernel, setup, opposite=opposite)
        return setup.left(setup.args)

    def others(j: Judged) -> int:
        pairs = ((output(j, seed, opposite=False), output(j, seed, opposite=True)) for seed in range(TRIED))
        return next(filter(None, (int((~trial.same(*pair)).sum()) for pair in pairs)), 0)

    why = "Right here, but where the atomic operations of the threads come in the opposite order, other numbers are "
    why += "stored: CUDA promises no order."
    what = "elements that depend on which atomic operation comes first"
    return Goal(what, others, 0, explain=lambda _: why)


def loaded(j: Judged) -> dict[int, Counter[int]]:
    """The floats that each line of a launch loads from each parameter, which is named by its number."""
    numbers = {parameter.name: number for number, parameter in enumerate(j.kernel.compiled.parameters)}
    instructions, floats = j.all_blocks().launches[-1].program.instructions, {}
    for trace in _global_loads(j):
        if trace.array in numbers:  # and not memory of the kernel's own, from malloc or __device__
            line = instructions[trace.instruction].line
            floats.setdefault(numbers[trace.array], Counter())[line] += len(trial.elements(trace))
    return floats


def _global_loads(j: Judged) -> Iterator[Trace]:
    """The loads from global memory of all blocks of a launch."""
    traces = j.all_blocks().launches[-1].traces
    return (trace for trace in traces if (trace.space, trace.op) == ("global", "ld"))


def stored_once(at_most: float = 1) -> Goal:
    """Stores of threads for each element of the output: one, where every element is one thread's."""

    def stores(j: Judged) -> np.ndarray:
        places = [trace.base // FLOAT_BYTES + trial.elements(trace) for trace in _writes(j.all_blocks())]
        return np.unique(np.concatenate(places), return_counts=True)[1]

    def explain(j: Judged) -> str:
        often = stores(j)
        what = "every element is written" if (often == often[0]).all() else "elements are written up to"
        return f"Right, but in the launch that is counted {what} {often.max()} times: each should be stored once."

    return Goal("stores per element", lambda j: float(stores(j).mean()), at_most, digits=1, explain=explain)


def neighbours_read(at_most: int) -> Goal:
    """The longest run of neighbouring floats in shared memory that thread (0, 0) of block (0, 0, 0) reads."""

    def measure(j: Judged) -> float:
        reads = [
            trace.addresses[0] + np.arange(0, trace.width, FLOAT_BYTES)
            for trace in j.recording.launches[-1].traces
            if trace.space == "shared" and trace.op == "ld" and (trace.active is None or trace.active[0])
        ]
        floats = np.unique(np.concatenate([[-FLOAT_BYTES], *reads]) // FLOAT_BYTES)[1:]
        runs = np.split(floats, np.flatnonzero(np.diff(floats) != 1) + 1)
        return max(len(run) for run in runs)

    return Goal("neighbouring floats of the tiles are read by thread (0, 0)", measure, at_most)


def conflicts(op: str | None = None, at_most: int = 0) -> Goal:
    """Wavefronts of shared memory beyond the fewest that one without shared addresses needs, for each instruction: what
    lanes gain in one by reading the same addresses makes up for no conflict in another."""
    what = {"ld": " of loads", "ldsm": " of ldmatrix", "st": " of stores", None: ""}[op]
    return Goal(
        f"wavefronts{what} lost to bank conflicts",
        lambda j: sum(
            max(0, access.total("wavefronts", "shared", op) - access.total("ideal_wavefronts", "shared", op))
            for access in j.recording.by_instruction()
        ),
        at_most,
        explain=lambda j: _most_conflicts(j, op),
    )


def _most_conflicts(j: Judged, op: str | None) -> str:
    """The request of warp 0 of block (0, 0, 0) that loses most wavefronts."""
    requests = [(line, access) for line, access in shared_accesses(j.recording) if op in (None, access.op)]
    line, worst = max(requests, key=lambda pair: pair[1].wavefronts - pair[1].needed, default=(0, None))
    if worst is None or worst.wavefronts == worst.needed:  # then another warp loses them
        return ""
    met = _lanes_that_meet(worst.address // FLOAT_BYTES, worst.active, WARP * FLOAT_BYTES // worst.width)
    apart = f" The words of lanes {met[0]} and {met[1]} lie {met[2]} apart, a multiple of 32." if met else ""
    text = next((row.text for row in j.recording.by_line() if row.line == line), "")
    of_loop = re.match(r"\s*(for|while)\s*\([^\[\]]*\)\s*{?\s*$", text)  # to which compilers count merged stores
    where = "" if of_loop else f"In line {line} "
    lanes = f"{where}lanes want different words of one bank"
    return (
        f"{lanes[0].upper()}{lanes[1:]}: a request of warp 0 takes {worst.wavefronts} "
        f"wavefronts where {worst.needed} would do.{apart}"
    )


def _lanes_that_meet(words: np.ndarray, active: np.ndarray, together: int) -> tuple[int, int, int] | None:
    """The first two lanes that want different words of one bank, and how far apart; None if there are none.

    words: the first of each lane.  together: so many neighbouring lanes are served at once.
    """
    for first, second in combinations(np.flatnonzero(active).tolist(), 2):
        apart = abs(int(words[second] - words[first]))
        if first // together == second // together and apart and apart % WARP == 0:
            return first, second, apart
    return None


def loads_without_ldmatrix(at_most: int = 0) -> Goal:
    """Requests of warps that load from shared memory, each lane its own word."""
    return Goal(
        "loads from shared memory without ldmatrix", lambda j: j.recording.total("requests", "shared", "ld"), at_most
    )


def products_by_tensor_cores(opcode: str) -> Goal:
    """Instructions by which tensor cores multiply, of warps: HMMA of floats with fewer bits, DMMA of doubles."""
    return Goal(
        "products by tensor cores", lambda j: j.recording.instructions(opcode), 1, at_least=True,
        explain=lambda _: f"Right, but no {opcode} was executed, the tensor cores' instruction for such products: the "
        "task is to let them multiply.",
    )  # fmt: skip


def load_wavefronts(at_most: int) -> Goal:
    """Wavefronts of loads from shared memory."""
    return Goal("wavefronts of loads", lambda j: j.recording.total("wavefronts", "shared", "ld"), at_most)


def merged_loads(at_most: int = 0) -> Goal:
    """128-bit loads from shared memory by warp 0 of block (0, 0, 0) that are merged: fewer than four wavefronts."""

    def measure(j: Judged) -> float:
        loads = (access for _, access in shared_accesses(j.recording) if access.op == "ld" and access.width == 16)
        return sum(access.needed < access.usual for access in loads)

    return Goal("merged loads of warp 0", measure, at_most, explain=_merged)


def _merged(j: Judged) -> str:
    """The first merged load of warp 0 of block (0, 0, 0): in which half of the warp, and who reads the same there."""
    for line, access in shared_accesses(j.recording):
        if access.op != "ld" or access.width != 16 or access.needed == access.usual:
            continue
        for bit in (1, 2):
            same = access.address == access.address[np.arange(WARP) ^ bit]
            halves = [half.all() for half in np.split(same, 2)]
            if any(halves):
                first, last = (0 if halves[0] else WARP // 2), (WARP if halves[1] else WARP // 2) - 1
                return (
                    f"The load in line {line} is merged for lanes {first} to {last}: each lane i of them reads what "
                    f"lane i ^ {bit} reads. In each half of the warp some lanes must read something else."
                )
    return ""


def shared_loads_per_fma(at_most: float) -> Goal:
    """Load requests to shared memory for each warp-wide FMA."""
    return Goal(
        "shared loads per FMA",
        lambda j: j.recording.total("requests", "shared", "ld") / _fmas(j),
        at_most,
        digits=2,
    )


def occupied(at_least: float) -> Goal:
    """Theoretical occupancy on an H200."""

    def explain(j: Judged) -> str:
        fitting = _fitting(j)
        needed = -(-int(at_least * fitting.max_warps) // fitting.warps_per_block)
        return f"{what_fits(fitting)}, and {needed} are needed."

    return Goal(
        f"occupancy on an {DEVICE.short}", lambda j: _fitting(j).fraction, at_least, at_least=True, percent=True,
        explain=explain, limits_room=True,
    )  # fmt: skip


def shared_bytes(at_most: int) -> Goal:
    """Shared memory of a block."""
    return Goal("bytes of shared memory per block", lambda j: j.kernel.shared_size_bytes + j.shared_bytes, at_most,
                limits_room=True)  # fmt: skip


def barriers(at_most: int) -> Goal:
    """__syncthreads() that the blocks of a launch pass."""
    return Goal(BARRIERS, lambda j: j.barriers, at_most)


def ordered_by_count(shared: int, counted: int, name: str) -> Goal:
    """Accesses of an array by which a block may miss what others stored before they counted, by atomic operations on
    another one: a strong store (a plain one is a race) or a load without a fence between it and the count. Behind the
    count an atomic operation that acquires will do, too.

    shared, counted: the numbers of the parameters, from 0.  name: ours of the array that is shared.
    """

    def unordered(j: Judged) -> tuple[set[int], set[int]]:
        names = [parameter.name for parameter in j.kernel.compiled.parameters]
        launch = j.all_blocks().launches[-1]
        code = launch.program.instructions
        accesses = {(trace.instruction, trace.op, trace.array) for trace in launch.traces if trace.space == "global"}
        counts = {at for at, op, array in accesses if op in ("atom", "red") and array == names[counted]}
        stores, loads = (
            {at for at, op, array in accesses if (op, array) == (what, names[shared])} for what in ("st", "ld")
        )
        fences = {i.index for i in code if i.opcode.lower().startswith(FENCES) and ".cta" not in i.opcode.lower()}
        emptied = {i.index for i in code if i.opcode.startswith(EMPTIES_L1)}
        first = min(counts, default=len(code))  # those behind it set it back
        nexts = {at: min((count for count in counts if count > at), default=at) for at in stores if code[at].strong}
        early = {at for at, count in nexts.items() if at < count and not any(at < fence < count for fence in fences)}
        late = {at for at in loads if not code[at].strong and first < at and not any(first < e < at for e in emptied)}
        return early, late | constant(j) & loads

    def constant(j: Judged) -> set[int]:
        """The loads for which memory is constant as long as the kernel runs (PTX ISA, 'ld.global.nc')."""
        code = j.all_blocks().launches[-1].program.instructions
        return {i.index for i in code if {"CONSTANT", "nc"} & {*i.opcode.split(".")}}

    def explain(j: Judged) -> str:
        early, late = unordered(j)
        if late & constant(j):
            why = (
                f"{name} is loaded as what no thread stores to while the kernel runs (by __ldg(), or for a pointer to "
            )
            why += "const with __restrict__), and blocks of this kernel do store to it"
        elif early:
            why = f"no __threadfence() lies between the store to {name} and the count, and volatile is none: the count "
            why += "may be seen before what was stored"
        else:
            why = "no __threadfence() lies between the count and the loads behind it, which may then find of "
            why += f"{name} what their SM loaded earlier. One belongs behind the count, too"
        return f"Right here, but a GPU does not promise it: {why}."

    label = f"accesses by which a block may miss what others stored to {name} before they counted"
    counts = lambda j: tuple(map(len, unordered(j)))  # noqa: E731
    return Goal(label, lambda j: sum(counts(j)), 0, explain=explain, detail=counts)


FENCES = ("membar", "fence")
EMPTIES_L1 = ("CCTL.IVALL", "fence", "membar")


def reads_before_store(at_least: int, tile_bytes: int) -> Goal:
    """Reads from shared memory between a load and the store of its value, the mean over all rounds but the first."""

    def measure(j: Judged) -> float:
        counts = reads_before_stores(events_of(j.recording, tile_bytes))
        return sum(counts) / max(1, len(counts))

    def explain(j: Judged) -> str:
        reads = theme.number(measure(j)) if measure(j) else "no"
        return (
            f"Right, but in the machine code {reads} reads from shared memory lie between a load and the store of its "
            "value. A thread waits for the value where it is stored: if that is behind the products, they are done "
            "meanwhile."
        )

    return Goal("reads between a load and its store, on average", measure, at_least, at_least=True, explain=explain)


def rows_and_columns_of_tiles(blocks: int, tile: tuple[int, int], at_most: int) -> Goal:
    """Different rows and columns of tiles of C, (rows, columns) of elements each, that the first blocks store to.

    Blocks start in the order of their number, x first.
    """

    def order(j: Judged) -> tuple[tuple[int, ...], ...]:
        """(y, x of a block, row, column of a tile that it stores to), sorted."""
        stored = set()
        for launch, trace in _writes_of(j.all_blocks(), blocks):
            x, y, _ = trace.block
            stored |= {(y, x, *element) for element in np.transpose(_written(trace, launch, tile)).tolist()}
        return tuple(sorted(stored))

    def rows_and_columns(j: Judged) -> list[set[int]]:
        places = order(j)
        return [{element[axis] for element in places} for axis in (2, 3)]

    def explain(j: Judged) -> str:
        rows, columns = map(theme.runs, rows_and_columns(j))
        return f"Right, but the first {blocks} blocks take tiles of rows {rows} and columns {columns}."

    return Goal(
        f"rows and columns of tiles for the first {blocks} blocks", lambda j: sum(map(len, rows_and_columns(j))),
        at_most, explain=explain, detail=order,
    )  # fmt: skip


def rows_and_columns_of_a_warp(tile: tuple[int, int], at_most: int) -> Goal:
    """Different rows and columns of C that warp 0 of block (0, 0, 0) stores to: the floats that it needs at each k.

    tile: rows and columns of C that a block computes.
    """

    def measure(j: Judged) -> float:
        return sum(map(len, _rows_and_columns(j, tile)))

    return Goal("rows and columns of C for warp 0", measure, at_most)


def strip_of_a_thread(tile: tuple[int, int], at_least: int) -> Goal:
    """Elements of C, one directly below the other, that thread (0, 0) of block (0, 0, 0) stores.

    tile: rows and columns of C that a block computes.
    """

    def measure(j: Judged) -> float:
        below: dict[tuple[int, int], int] = {}  # (row, column) -> elements of its column down to this row
        for element in sorted(_elements(j, tile, slice(1))):
            below[element] = 1 + below.get((element[0] - 1, element[1]), 0)
        return max(below.values(), default=0)

    return Goal("elements of thread (0, 0) lie one below the other", measure, at_least, at_least=True)


def neighbours_of_a_warp(tile: tuple[int, int], at_least: int) -> Goal:
    """Lanes of warp 0 of block (0, 0, 0) that store beside the lane before them, in the same row of its tile.

    tile: rows and columns of C that a block computes.
    """

    def measure(j: Judged) -> float:
        own = {(row, column) for row in range(tile[0]) for column in range(tile[1])}
        stored = [_elements(j, tile, slice(lane, lane + 1)) & own for lane in range(WARP)]
        beside = [{(row, column + step) for row, column in elements for step in (-1, 1)} for elements in stored]
        return sum(bool(before & elements) for before, elements in zip(beside, stored[1:], strict=False))

    return Goal("pairs of neighbouring threads in warp 0 have neighbouring columns", measure, at_least, at_least=True)


def predicted_us(
    predict: Callable[[str, tuple[int, ...]], cycles.Prediction], block: tuple[int, ...], at_most: float, size: str
) -> Goal:
    """The predicted time of a launch, in microseconds. predict: (source, block) -> the prediction.  size: in words."""

    def measure(j: Judged) -> float:
        try:
            return predict(j.kernel.compiled.source, block).ms * 1e3
        except NoLibrary as missing:
            raise SimulatorError(str(missing)) from None

    return Goal(f"µs for {size}, predicted for an {DEVICE.short}", measure, at_most, predicted=True)


def at_most_us(problem: Problem, at_most: float) -> Goal:
    """The predicted time of a multiplication at M = N = K = 2048, where the course compares its kernels."""
    from helpers.exercises.framework import speed

    def measure(j: Judged) -> float:
        ms = speed.predicted_ms(j.kernel, problem)
        if ms is None:
            raise SimulatorError("The time of this kernel cannot be predicted.")
        return ms * 1e3

    size = f"M = N = K = {speed.SIDE}"
    return Goal(f"µs for {size}, predicted for an {DEVICE.short}", measure, at_most, predicted=True)


def right_with(problem: Problem) -> Goal:
    """How many shapes another instantiation of the template is right for. problem: with its entry."""

    def explain(j: Judged) -> str:
        message = _refusal(j.kernel.compiled.source, problem.entry)
        rule = re.search(r'static assertion failed with "(.*)"|static assertion failed\n *\d+ \| *(.*)', message)
        stated = rule and (rule[1] or rule[2])
        return f"{problem.entry} can work, and your rule “{stated}” refuses it." if stated else ""

    return Goal(
        f"shapes of {len(problem.cases)} are right with {problem.entry}",
        lambda j: _right(j.kernel.compiled.source, problem),
        len(problem.cases),
        at_least=True,
        explain=explain,
        detail=lambda j: tuple(outcome.signature for outcome in _outcomes(j.kernel.compiled.source, problem)),
    )


def _right(source: str, problem: Problem) -> int:
    return sum(outcome.passed for outcome in _outcomes(source, problem))


def _outcomes(source: str, problem: Problem) -> list[trial.Outcome]:
    """What the shapes come to; none of an instantiation that does not compile."""
    try:
        kernel = simulated(source, problem.entry)
        return [trial.run(kernel, problem, case) for case in problem.cases]
    except (CompileError, SimulatorError):
        return []


def refused(impossible: Mapping[str, str]) -> Goal:
    """How many instantiations that cannot work the compiler refuses, as a static_assert makes it do.

    impossible: entry -> why it cannot work, for a source that has no rule against it.
    """

    def accepted(j: Judged) -> list[str]:
        return [entry for entry in impossible if not _refusal(j.kernel.compiled.source, entry)]

    def explain(j: Judged) -> str:
        return " ".join(f"No rule refuses {entry}: {impossible[entry]}." for entry in accepted(j))

    count = len(impossible)
    return Goal(
        f"of {count} impossible settings are refused by the compiler", lambda j: count - len(accepted(j)), count,
        at_least=True, explain=explain, detail=lambda j: tuple(accepted(j)),
    )  # fmt: skip


def _refusal(source: str, entry: str) -> str:
    """What the compiler has against an instantiation, "" if it accepts it."""
    try:
        simulated(source, entry)
    except (CompileError, SimulatorError) as error:
        return str(error)
    return ""


def copies_under_way(at_least: float) -> Goal:
    """Groups of asynchronous copies that no thread has waited for yet, the mean over all reads from shared memory.

    Groups are counted in the order of the machine code, which in a loop is the order of each iteration: what follows
    the first wait is gone through twice, because an iteration begins with the groups that the one before has left. A
    group without a copy in it is none. A wait in the loop that is executed less often than another one is left out:
    that is how the last iterations wait, in which nothing is left to copy.
    """

    def measure(j: Judged) -> float:
        code = j.recording.by_instruction()
        waits = [n for n, each in enumerate(code) if each.opcode.startswith("DEPBAR") and each.predicated_on]
        usual = max((code[n].predicated_on for n in waits), default=0)
        groups: list[bool] = []  # those under way, the oldest first: whether copies are in them
        started, branched, in_loop, reads, under_way = False, False, False, 0, 0
        for instruction in [*code, *code[waits[0] :]] if waits else code:
            in_loop = in_loop or WARP * instruction.warps >= usual
            if instruction.opcode.startswith("LDGSTS"):
                started = True
            elif instruction.opcode.startswith("BRA"):  # behind it may be the copies of a group
                branched = True
            elif instruction.opcode.startswith("LDGDEPBAR") and instruction.predicated_on:
                groups, started, branched = [*groups, started or branched], False, False
            elif instruction.opcode.startswith("DEPBAR") and instruction.predicated_on:
                if in_loop and instruction.predicated_on < usual:
                    continue
                groups = groups[max(0, len(groups) - _pending(instruction.text)) :]
            elif instruction.opcode.startswith("LDS") and instruction.predicated_on:
                reads += instruction.warps
                under_way += instruction.warps * (sum(groups) + started)
        return under_way / max(1, reads)

    return Goal("groups of copies under way during the products", measure, at_least, at_least=True, digits=1)


def _pending(text: str) -> int:
    """How many groups DEPBAR leaves under way: 1 for 'DEPBAR.LE SB0, 0x1', 0 for a form that waits for all."""
    match = re.search(r"SB0, (0x[0-9a-f]+)", text)
    return int(match[1], 16) if match else 0


def _writes(recording: Recording) -> Iterator[Trace]:
    """The stores to global memory of a launch, and the atomic operations on the same arrays; on any if none stores."""
    traces = [trace for trace in recording.launches[-1].traces if trace.space == "global" and trace.op != "ld"]
    stored = {trace.base for trace in traces if trace.op == "st"}
    return (trace for trace in traces if not stored or trace.base in stored)


def _writes_of(recording: Recording, blocks: int) -> Iterator[tuple[RecordedLaunch, Trace]]:
    """The stores to global memory by the blocks with the lowest numbers."""
    launch = recording.launches[-1]
    across = launch.facts.grid[0]
    for trace in _writes(recording):
        x, y, _ = trace.block
        if x + across * y < blocks:
            yield launch, trace


def _rows_and_columns(j: Judged, tile: tuple[int, int]) -> tuple[set[int], set[int]]:
    """Rows, and columns, of C that warp 0 of block (0, 0, 0) stores to. tile: of a block."""
    elements = _elements(j, tile, slice(WARP))
    return {row for row, _ in elements}, {column for _, column in elements}


def _elements(j: Judged, tile: tuple[int, int], threads: slice) -> set[tuple[int, int]]:
    """Rows and columns of the elements of C that these threads of block (0, 0, 0) store to. tile: of a block."""
    elements: set[tuple[int, int]] = set()
    for launch, trace in _writes_of(j.recording, 1):
        rows, columns = _written(trace, launch, (1, 1), tile, threads)
        elements.update(zip(rows.tolist(), columns.tolist(), strict=True))
    return elements


def _written(
    trace: Trace,
    launch: RecordedLaunch,
    unit: tuple[int, int],
    tile: tuple[int, int] | None = None,
    threads: slice = slice(None),
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns, in units of so many elements, of what these threads of a block store in a row-major C.

    tile: of a block; None: the unit. C is as wide as the grid's tiles.
    """
    active = None if trace.active is None else trace.active[threads]
    elements = trial.elements(replace(trace, addresses=trace.addresses[threads], active=active))
    width = launch.facts.grid[0] * (tile or unit)[1]
    return elements // width // unit[0], elements % width // unit[1]


def _ratio(j: Judged, quantity: str, space: str, op: str) -> float:
    return j.recording.total(quantity, space, op) / max(1, j.recording.total("requests", space, op))


def _fmas(j: Judged) -> float:
    """Warp instructions that add a product to a sum, of float or of double; where there are none, those that multiply
    floats."""
    opcodes = ("fma.rn",) if j.recording.level == "ptx" else ("FFMA", *DOUBLES)
    return sum(map(j.recording.instructions, opcodes)) or max(1, j.recording.instructions("FMUL"))


DOUBLES = ("DFMA", "DADD")  # a product of floats that is added to a double takes DADD


def in_double(j: Judged) -> bool:
    """Whether a kernel adds in double, 64 bits each."""
    return any(j.recording.instructions(opcode) for opcode in DOUBLES)


def what_fits(fitting: Occupancy) -> str:
    """'A block takes 33 792 of the 233 472 bytes of shared memory, so 6 blocks of 2 warps fit', on an SM of DEVICE"""
    takes = {
        "shared": f"A block takes {theme.thousands(fitting.shared_bytes_per_block)} of the "
        f"{theme.thousands(DEVICE.shared_bytes_per_sm)} bytes of shared memory",
        "registers": f"A warp takes {theme.thousands(fitting.registers_per_warp)} of the "
        f"{theme.thousands(DEVICE.registers_per_sm)} registers",
        "warps": f"A block takes {fitting.warps_per_block} of the {fitting.max_warps} warps",
        "blocks": f"The SM has {DEVICE.blocks_per_sm} block slots",
    }[fitting.limiters[0]]
    blocks, warps = theme.plural(fitting.blocks, "block"), theme.plural(fitting.warps_per_block, "warp")
    return f"{takes}, so {blocks} of {warps} fit"


def _fitting(j: Judged) -> Occupancy:
    return occupancy(DEVICE, j.threads, j.kernel.num_regs, j.kernel.shared_size_bytes + j.shared_bytes)
