"""One launch from the call to its results: geometry, memory, observers, and what is made of their events."""

from __future__ import annotations

import operator
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gpusim import devices
from gpusim.checks.checks import WARNINGS, Checker, FoundEnough, Report, error_for
from gpusim.checks.shared_checks import Patterns
from gpusim.counters.recorded import Captured, LaunchFacts, RecordedLaunch
from gpusim.counters.recorder import LaunchRecorder
from gpusim.cupy.arguments import pack_arguments
from gpusim.cupy.settings import Settings
from gpusim.engine import clusters, compiled
from gpusim.engine.memory import GlobalMemory, product
from gpusim.engine.observers import together
from gpusim.engine.printf import Held, Output
from gpusim.engine.run import Launch, Prepared
from gpusim.errors import (
    BarrierWarning,
    ExchangeApart,
    KernelError,
    LaunchError,
    OutOfBounds,
    SimulatorError,
    UnprovenAccess,
    UnsupportedInstruction,
)
from gpusim.occupancy import occupancy
from gpusim.symbols.constant_arrays import NO_CONSTANTS

if TYPE_CHECKING:
    from gpusim.cupy.raw_module import Kernel


A_MOMENT = 4096  # instructions
A_WHILE = 200_000
FEW_THREADS = 1 << 11  # of the first blocks, and of the last ones, that are executed at PTX level, too
MOST_BLOCKS_OF_CLUSTER = 8  # of any kernel; some GPUs take more of one that was allowed to (cudaFuncAttribute…)
MOST_THREADS = 1 << 30  # in a launch: for each, with checks, some bytes of address space are asked for
CONSTANTS = "the __constant__ variables"
GRID_BARRIER_WORDS = 2  # cooperative_groups' grid_workspace: its size, and the barrier that `grid.sync()` counts in


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a kernel is launched: sizes (x, y, z), and the bytes of dynamic shared memory that a block gets."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_mem: int


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the sanitizer found out in a kernel's last launch; it holds in the next one of that level and geometry."""

    level: str
    block: tuple[int, int, int]
    shared_mem: int
    patterns: Patterns


def checked(kernel: Kernel, grid: int | Sequence[int], block: int | Sequence[int], shared_mem: int) -> Geometry:
    """The geometry of a launch of `kernel`; LaunchError with a sentence if a GPU would refuse it."""
    try:
        shared_mem = operator.index(shared_mem)
    except TypeError:
        raise LaunchError(
            f"{kernel.name} was not launched: shared_mem is {shared_mem!r}, of type {type(shared_mem).__name__}; "
            "expected a whole number of bytes, such as shared_mem=4 * 256."
        ) from None
    grid, block = _as_sizes(grid), _as_sizes(block)
    compiled = kernel.compiled
    try:
        limits = devices.limits_for(compiled.arch)
    except devices.UnknownDevice as error:
        raise LaunchError(
            f"{kernel.name} was not launched: it was compiled for {compiled.arch}, and {error} Compile it for one of "
            f'these: RawModule(…, arch="{devices.DEFAULT.arch}").'
        ) from None
    problem = devices.launch_problem(
        limits, grid, block, compiled.shared_bytes + shared_mem, compiled.registers,
        max_threads=compiled.max_threads_per_block,
    )  # fmt: skip
    if problem is None and shared_mem < 0:
        problem = f"shared_mem is {shared_mem}; expected 0 bytes or more"
    if problem is None and shared_mem > kernel.max_dynamic_shared_size_bytes:
        problem = (
            f"{shared_mem} bytes of dynamic shared memory are more than the {kernel.max_dynamic_shared_size_bytes} "
            "that this kernel may use; allow more first: kernel.max_dynamic_shared_size_bytes = bytes"
        )
    if problem is not None:
        raise LaunchError(f"{kernel.name} was not launched: {problem}.")
    grid, block = ((*(int(size) for size in sizes), 1, 1)[:3] for sizes in (grid, block))
    threads = product(grid) * product(block)
    if threads > MOST_THREADS:
        raise LaunchError(
            f"{kernel.name} was not launched: a grid of {grid} blocks of {block} threads has {threads:,} threads, "
            f"which a GPU would take; the simulator executes each of them, and takes at most {MOST_THREADS:,}. Try a "
            "smaller problem, or let each thread work on several elements, in a loop."
        )
    if compiled.cluster is not None:
        _check_cluster(kernel.name, grid, compiled.cluster)
    return Geometry(grid, block, shared_mem)


def _check_cluster(name: str, grid: tuple[int, int, int], cluster: tuple[int, int, int]) -> None:
    """LaunchError if the blocks of a grid cannot form such clusters."""
    if product(cluster) > MOST_BLOCKS_OF_CLUSTER:
        raise LaunchError(
            f"{name} was not launched: its clusters of {cluster} have {product(cluster)} blocks, and a GPU takes at "
            f"most {MOST_BLOCKS_OF_CLUSTER}. Give __cluster_dims__ smaller numbers."
        )
    if any(blocks % size for blocks, size in zip(grid, cluster, strict=True)):
        raise LaunchError(
            f"{name} was not launched: a grid of {grid} blocks cannot be divided into clusters of {cluster}. Launch a "
            "multiple in each direction, and let blocks that have nothing to do go along to cluster.sync()."
        )


def launch(kernel: Kernel, geometry: Geometry, args: Sequence, settings: Settings) -> None:
    """Run a kernel; what was recorded and what the sanitizer found go where `settings` says."""
    while True:
        try:
            _launch(kernel, geometry, args, settings)
            return
        except UnprovenAccess as access:
            try:
                _decide(kernel, geometry, args, settings, access)
            except SimulatorError as error:
                _clear_frames(error)
                raise
        except SimulatorError as error:
            _clear_frames(error)
            raise


def _clear_frames(error: BaseException | None) -> None:
    """Leave of the frames of an error only their lines: callers keep errors, IPython the last one, and with the
    variables of its frames that would keep all memory of the launch."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _decide(kernel: Kernel, geometry: Geometry, args: Sequence, settings: Settings, access: UnprovenAccess) -> None:
    """Find out by the PTX whether an access of the machine code belongs to the array of its place in the source.

    Where the launch goes outside that array at that line at the level of PTX, too, it does, and where it comes to its
    end it does not. Raises OutOfBounds if it goes outside anything else: that is wrong, whichever level says so. What
    the PTX cannot be asked about belongs to the array if it has the addresses that the PTX computes there.
    """
    index, forms = access.instruction, kernel.forms
    array, line = kernel.shared_names("sass").used[index], forms.sass.program.instructions[index].line
    try:
        run = _launch_of(kernel, kernel.forms.ptx, geometry, args, settings.max_instructions)
        if settings.only_traced:
            alone = np.array([access.block], np.int64)
            run = replace(run, only_blocks=clusters.whole(run.grid, run.cluster, alone))
        _try(kernel, replace(run, output=Output(0)))
    except OutOfBounds as error:
        if (error.array, error.line) != (array.symbol, line):
            raise
        forms.prove(index)
    except (KernelError, UnsupportedInstruction):
        (forms.prove if forms.has_address_of_its_array(index) else forms.refute)(index)
    else:
        forms.refute(index)


def _try(kernel: Kernel, run: Launch) -> None:
    """Run a launch, and leave the arrays as they were. Raises what goes wrong, but for hazards."""
    written = kernel.pointers.written
    try:
        with compiled.unchanged(run, written):
            if not compiled.execute(run, False, frozenset(), written, _held_together(kernel, run), False):
                run.run()
    finally:
        run.global_memory.put_back()


def _launch(kernel: Kernel, geometry: Geometry, args: Sequence, settings: Settings) -> None:
    """As `launch`. Raises UnprovenAccess, with the arrays as they were."""
    # Where the order of atomic operations counts, they are executed before the compiler has merged those of a warp.
    prepared, note = kernel.forms.at("ptx" if settings.reverse_atomics else settings.level)
    program, run = prepared.program, _launch_of(kernel, prepared, geometry, args, settings.max_instructions)
    run = replace(run, reverse_atomics=settings.reverse_atomics)
    memory = run.global_memory
    if kernel.cooperative:
        _check_that_all_blocks_fit(kernel, run)
    if settings.captured is not None:
        settings.captured.append(_captured(kernel, run, geometry.shared_mem))
        return
    checker = None
    if settings.checks != "off":
        checker = _checker(kernel, run, settings, _learnt(kernel.learnt, program.level, geometry))
        computed = program.level == "sass" and kernel.forms.has_computed_masks
        if (computed or any(kernel.forms.never_set)) and not kernel.cooperative:
            _check_at_ptx_level(kernel, geometry, args, settings, checker)
    try:
        if settings.recording is None:
            if not _compiled(kernel, run, checker, False, frozenset()):
                _in_numpy(kernel, replace(run, observers=together(checker)))
        else:
            settings.recording.launches.append(_recorded(kernel, geometry, run, checker, settings, note))
    except FoundEnough:
        pass  # the report says what
    except KernelError as error:
        for finding in checker.finish().findings if checker is not None else ():
            error.add_note(f"Before that: {finding.message}")
        raise
    finally:
        memory.put_back()
    if checker is not None:
        kernel.learnt = Learnt(program.level, geometry.block, geometry.shared_mem, checker.shared.first)
        _tell(checker.finish(), settings)


def _launch_of(kernel: Kernel, prepared: Prepared, geometry: Geometry, args: Sequence, most: int) -> Launch:
    """A launch of a kernel at one of its levels, with these arguments in memory. most: instructions of a thread."""
    kernel.variables.prepare(prepared.program, args, kernel.pointers.written)
    memory = GlobalMemory(prepared.program)
    parameters = pack_arguments(kernel.compiled, args, memory)
    return _executable(kernel, prepared, geometry, memory, parameters, most)


def _executable(
    kernel: Kernel, prepared: Prepared, geometry: Geometry, memory: GlobalMemory, parameters: bytes, most: int
) -> Launch:
    """A launch whose arguments are in memory, with what else the kernel needs there. most: instructions of a thread."""
    program = prepared.program
    run = Launch(
        prepared,
        geometry.grid,
        geometry.block,
        program.dynamic_shared_offset + geometry.shared_mem,
        memory,
        parameters,
        kernel.variables.link(program, memory),
        most,
        kernel.shared_names(program.level),
        kernel.forms.local_arrays(program.level),
        kernel.forms.constant_arrays if program.level == "sass" else NO_CONSTANTS,
        kernel.forms.named_lanes(program.level),
        memory.add(np.zeros(GRID_BARRIER_WORDS, np.uint32), "the grid's barrier") if kernel.cooperative else None,
        memory.add(np.frombuffer(parameters, np.uint8), "the parameters") if _may_point_to_them(kernel) else None,
        memory.add(np.zeros(program.constant_bytes, np.uint8), CONSTANTS) if program.constant_bytes else None,
    )
    if run.constants_at is not None:
        memory.find(run.constants_at).bytes_[:] = np.frombuffer(program.banks(run)[3], np.uint8)
    return run


def again(kernel: Kernel, captured: Captured) -> Captured:
    """A captured launch with another kernel in place of its own, on the same memory, but for the module's variables,
    which are as the other kernel's module begins with. SimulatorError if its parameters differ, or it cannot be
    launched so."""
    run = captured.run
    if kernel.compiled.parameters != captured.compiled.parameters:
        raise SimulatorError(f"{kernel.name} does not have the parameters of {captured.compiled.entry}.")
    kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, captured.shared_mem)
    geometry = checked(kernel, run.grid, run.block, captured.shared_mem)
    prepared, _ = kernel.forms.at("sass")
    kernel.variables.prepare(prepared.program, (), kernel.pointers.written)
    launched = _executable(kernel, prepared, geometry, run.global_memory, run.parameters, run.max_instructions)
    return _captured(kernel, launched, captured.shared_mem)


def _captured(kernel: Kernel, run: Launch, shared_mem: int) -> Captured:
    """A launch for others to execute, in which an access is held to its own __shared__ array only where an earlier
    launch has proven that it belongs to it (`_decide`), else to shared memory as a whole.

    So an index that runs from one array into another may be missed: of 49 overruns that were planted in random kernels
    (seeds 500000 to 500059 of `tests.gpusim.random_kernels`, sm_90) a launch finds all, a captured one 20.
    """
    return Captured(replace(run, shared_names=run.shared_names.proven()), kernel.compiled, shared_mem)


def _checker(
    kernel: Kernel,
    run: Launch,
    settings: Settings,
    patterns: Patterns | None = None,
    unset: Collection[int] = (),
    folded: Collection[int] = (),
) -> Checker:
    """The sanitizer of a launch."""
    return Checker(
        run.program, run.grid, run.block, run.global_memory, kernel.pointers.written, run.shared_names, patterns,
        run.named_lanes, settings.checks != "raise", unset, folded,
    )  # fmt: skip


def _check_at_ptx_level(
    kernel: Kernel, geometry: Geometry, args: Sequence, settings: Settings, checker: Checker
) -> None:
    """Add to the findings of a launch what only the PTX shows: masks that ptxas trusts, variables that are never set.

    It is executed, too, by some blocks, the first and the last ones, and changes nothing.
    """
    try:
        prepared = kernel.forms.ptx
    except UnsupportedInstruction:
        return
    few = replace(settings, max_instructions=min(settings.max_instructions, A_WHILE))
    if kernel.forms.has_computed_masks:  # whether all lanes have voted shows only at the end
        few = replace(few, checks="report")
    run = _launch_of(kernel, prepared, geometry, args, few.max_instructions)
    numbers = np.arange(product(run.grid), dtype=np.int64)
    half = -(-FEW_THREADS // run.threads)
    numbers = np.union1d(numbers[:half], numbers[-half:])
    if run.blocks_of_cluster > 1:
        numbers = clusters.whole(run.grid, run.cluster, numbers)
    run = replace(run, only_blocks=numbers)
    trial = _checker(kernel, run, few, None, *kernel.forms.never_set)
    apart = False
    with suppress(KernelError, FoundEnough), compiled.unchanged(run, kernel.pointers.written):
        try:
            replace(run, observers=together(trial)).run()
        except ExchangeApart:
            apart = True
    run.global_memory.put_back()
    checker.take_from(trial, votes_are_whole=not apart)


def _may_point_to_them(kernel: Kernel) -> bool:
    """Whether functions may be given pointers to parameters, as the language allows of `__grid_constant__` ones."""
    return "__grid_constant__" in kernel.compiled.source


def _recorded(
    kernel: Kernel, geometry: Geometry, run: Launch, checker: Checker | None, settings: Settings, note: str
) -> RecordedLaunch:
    """Run the launch, or a part of it, and count."""
    captured = Captured(run, kernel.compiled, geometry.shared_mem)
    code, traced, executed = kernel.compiled, None, None
    if settings.blocks is not None:
        traced = frozenset(_block_number(block, run.grid, kernel.name) for block in settings.blocks)
        executed = np.array(sorted(traced), np.int64) if settings.only_traced else None
        if executed is not None and run.blocks_of_cluster > 1:  # none goes on without the others
            executed = clusters.whole(run.grid, run.cluster, executed)
    facts = LaunchFacts(
        kernel.name, run.grid, run.block, code.shared_bytes + geometry.shared_mem, code.registers,
        product(run.grid) if executed is None else len(executed), geometry.shared_mem, code.arch,
        code.compiler_version, code.options, note,
    )  # fmt: skip
    if executed is not None:
        run = replace(run, only_blocks=executed)
    if done := _compiled(kernel, run, checker, True, traced):
        return RecordedLaunch(
            run.program, facts, traced, done.block_warps, done.block_lanes, done.guarded_lanes, done.counts,
            done.traces, captured,
        )  # fmt: skip
    recorder = LaunchRecorder(run.program, facts, traced)
    _in_numpy(kernel, replace(run, observers=together(recorder, checker)))
    return recorder.finish(captured)


def _in_numpy(kernel: Kernel, run: Launch) -> None:
    """Run a launch in NumPy. Raises UnprovenAccess, with the arrays as they were and nothing printed."""
    if not run.shared_names.unproven:
        run.run()
        return
    output = Held()
    try:
        with compiled.kept(run, kernel.pointers.written) as put_back, _doubting(run, put_back):
            replace(run, output=output).run()
    except UnprovenAccess:
        output.texts.clear()
        raise
    finally:
        output.release()


@contextmanager
def _doubting(run: Launch, put_back: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Turn OutOfBounds into UnprovenAccess where it is not known whether the access belongs to the array."""
    try:
        yield
    except OutOfBounds as error:
        if error.instruction not in run.shared_names.unproven:
            raise
        put_back()
        x, y, z = error.block
        raise UnprovenAccess(error.instruction, x + run.grid[0] * (y + run.grid[1] * z)) from None


def _compiled(
    kernel: Kernel, run: Launch, checker: Checker | None, counting: bool, traced: frozenset[int] | None
) -> compiled.Result | None:
    """What a launch did, executed by the compiled engine; None if it has to be executed by the one in NumPy."""
    written, at_once = kernel.pointers.written, _held_together(kernel, run)
    result = compiled.execute(run, counting, traced, written, at_once, checker is not None)
    if result is None and checker is not None and (endless := compiled.never_ends(run, written, at_once)):
        # The engine in NumPy would take minutes to its limit; what it finds in a moment is most likely the cause.
        with suppress(KernelError):
            _in_numpy(kernel, replace(run, observers=together(checker), max_instructions=A_MOMENT))
        raise endless
    if result is not None and checker is not None:
        checker.counts = result.checked
        for block, threads in result.apart:
            checker.findings.warps_apart(block, threads)
    return result


def _held_together(kernel: Kernel, run: Launch) -> int:
    """How many blocks the device holds at once: so many can wait for each other."""
    return _blocks_of_device(kernel.compiled.arch, run.threads, kernel.compiled.registers, run.shared_bytes)


@lru_cache(maxsize=64)
def _blocks_of_device(arch: str, threads: int, registers: int, shared_bytes: int) -> int:
    sms = 1
    with suppress(devices.UnknownDevice):
        sms = devices.for_arch(arch).sms
    return sms * max(1, occupancy(devices.limits_for(arch), threads, registers, shared_bytes).blocks)


def _check_that_all_blocks_fit(kernel: Kernel, run: Launch) -> None:
    """LaunchError if the device cannot hold all blocks of a cooperative launch at once."""
    blocks, most = product(run.grid), _held_together(kernel, run)
    if blocks > most:
        raise LaunchError(
            f"{kernel.name} was not launched: in a cooperative launch all blocks must be on the GPU at once, and of "
            f"these it holds {most}, not {blocks}. Launch at most {most}, and let each do more of the work in a loop."
        )


def _learnt(learnt: Learnt | None, level: str, geometry: Geometry) -> Patterns | None:
    """What the last launch taught, if it was of this level and geometry."""
    if learnt is None or (learnt.level, learnt.block, learnt.shared_mem) != (
        level,
        geometry.block,
        geometry.shared_mem,
    ):
        return None
    return learnt.patterns


def _tell(report: Report, settings: Settings) -> None:
    """Hand a report over to the caller; raise if there is something to raise."""
    if settings.recording is not None:
        settings.recording.reports.append(report)
    if settings.reports is not None:
        settings.reports.append(report)
    if settings.checks != "raise":
        return
    if any(finding.kind not in WARNINGS for finding in report.findings):
        raise error_for(report)
    for finding in report.findings:
        warnings.warn(finding.message, BarrierWarning, stacklevel=4)


def _as_sizes(sizes):
    """A single number stands for the x dimension, as in CuPy."""
    return (sizes,) if isinstance(sizes, int | np.integer) else sizes


def _block_number(block: tuple[int, int, int], grid: tuple[int, int, int], kernel: str) -> int:
    if any(not 0 <= index < size for index, size in zip(block, grid, strict=True)):
        raise SimulatorError(f"record(blocks=…) names block {block}, but {kernel} was launched with grid {grid}.")
    return block[0] + grid[0] * (block[1] + grid[1] * block[2])
