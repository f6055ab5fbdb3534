"""CuPy's `RawModule` without a GPU: compile, check the call, execute, write the results into the caller's arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from helpers import compiler, devices
from helpers.compiler import CompiledKernel, Parameter
from helpers.simulator.cuda import levels
from helpers.simulator.engine.ir import Program
from helpers.simulator.engine.memory import GlobalMemory, product
from helpers.simulator.engine.observers import Observer, together
from helpers.simulator.engine.printf import OUTPUT_LIMIT
from helpers.simulator.engine.run import Launch, Prepared
from helpers.simulator.errors import ArgumentError, KernelError, LaunchError, SimulatorError
from helpers.simulator.recording import sampling
from helpers.simulator.recording.block_by_block import BlockRecorder
from helpers.simulator.recording.questions import Recording
from helpers.simulator.recording.recorded import LaunchFacts
from helpers.simulator.recording.recorder import LaunchRecorder
from helpers.simulator.recording.unique_sectors import SectorObserver
from helpers.simulator.sanitizer import pointers
from helpers.simulator.sanitizer.checks import Checker, Report, error_for
from helpers.simulator.sanitizer.pointers import Pointers
from helpers.simulator.sanitizer.shared_arrays import SharedNames
from helpers.simulator.sanitizer.shared_checks import Patterns

DEFAULT_ARCH = "sm_90"
DEFAULT_MAX_INSTRUCTIONS = 1_000_000
SAMPLED_MAX_INSTRUCTIONS = 64_000_000  # big problems have long loops
SAMPLED = "sampled"
SCALARS = {
    "bool": np.bool_, "char": np.int8, "signed char": np.int8, "unsigned char": np.uint8, "short": np.int16,
    "unsigned short": np.uint16, "int": np.int32, "unsigned int": np.uint32, "unsigned": np.uint32, "long": np.int64,
    "unsigned long": np.uint64, "long long": np.int64, "unsigned long long": np.uint64, "size_t": np.uint64,
    "int8_t": np.int8, "uint8_t": np.uint8, "int16_t": np.int16, "uint16_t": np.uint16, "int32_t": np.int32,
    "uint32_t": np.uint32, "int64_t": np.int64, "uint64_t": np.uint64, "ptrdiff_t": np.int64,
    "float": np.float32, "double": np.float64, "__half": np.float16, "half": np.float16,
}  # fmt: skip


CHECKS = ("raise", "report", "off")


@dataclass(frozen=True)
class _Settings:
    """What `record` and `sanitize` chose for the launches inside them."""

    recording: Recording | None = None
    level: str = levels.AUTO
    blocks: tuple[tuple[int, int, int], ...] | None = ()
    only_traced: bool = False
    sampled: bool = False
    unique_sectors: bool = False
    max_instructions: int = DEFAULT_MAX_INSTRUCTIONS
    checks: str = "raise"
    reports: list[Report] | None = None


_settings: ContextVar[_Settings] = ContextVar("simulator_settings", default=_Settings())  # noqa: B039 (frozen)


@contextmanager
def record(
    level: str = levels.AUTO,
    blocks: Iterable[Sequence[int]] | str = ((0, 0, 0),),
    *,
    only_traced: bool = False,
    unique_sectors: bool = False,
    max_instructions: int | None = None,
    checks: bool | str | None = None,
) -> Iterator[Recording]:
    """Record every launch inside the `with`.

    Args:
        level: "auto", the machine code that the hardware runs, and PTX, the compiler's intermediate language, only
            where the machine code cannot be executed here; "sass" or "ptx" insist on one. `Recording.level` says which
            it was, and `Recording.note` why PTX was taken.
        blocks: the blocks whose addresses are kept for `Recording.requests`, as (x,), (x, y) or (x, y, z); "all" keeps
            everything (much memory). Counters always cover all blocks that are executed. "sampled" is for problems that
            are too big to execute: some blocks of every kind are executed, and counted for all of their kind
            (`helpers.simulator.recording.sampling`); no addresses are kept, and the other blocks write nothing.
            SimulatorError if blocks do not behave alike, or meet at variables of the module.
            `Recording.sampled` says what was done.
        only_traced: execute nothing but `blocks`. The rest of C stays as it was, and counters are theirs alone.
        unique_sectors: also find out which sectors of global memory are touched, for `Recording.unique_sectors`.
        max_instructions: how many instructions a thread may execute before the kernel is taken for an infinite loop; by
            default as outside (`sanitize`), which is a million, and 64 million in a sampled launch.
        checks: what the sanitizer does, as for `sanitize`; True means "raise" and False "off". By default as outside.
    """
    levels.checked(level)
    sampled = isinstance(blocks, str) and blocks == SAMPLED
    if sampled:
        wanted: tuple | None = ()
        if only_traced:
            raise SimulatorError('blocks="sampled" chooses the blocks to execute itself: leave out only_traced.')
    elif isinstance(blocks, str):
        if blocks != "all":
            raise SimulatorError(f"blocks={blocks!r}: name blocks as [(x, y), …], or say 'all' or 'sampled'.")
        wanted = None
    else:
        wanted = tuple(tuple((*(int(i) for i in block), 0, 0)[:3]) for block in blocks)
    recording = Recording(level)
    outside = _settings.get()
    mode = outside.checks if checks is None else _mode(checks)
    if max_instructions is None:
        max_instructions = outside.max_instructions
        if sampled and max_instructions == DEFAULT_MAX_INSTRUCTIONS:
            max_instructions = SAMPLED_MAX_INSTRUCTIONS
    settings = _Settings(
        recording, level, wanted, only_traced, sampled, unique_sectors, max_instructions, mode, outside.reports
    )
    token = _settings.set(settings)
    try:
        yield recording
    finally:
        _settings.reset(token)


@contextmanager
def sanitize(checks: bool | str = "raise", *, max_instructions: int | None = None) -> Iterator[list[Report]]:
    """Choose what the sanitizer does in the launches inside the `with`; yields the list of their reports.

    Args: `checks` is "raise" (also True; the default everywhere): after a launch with a hazard, raise RaceError,
    UninitializedRead or AsyncCopyError, with the results in the arrays; "report": only add to the list of reports;
    "off" (also False): do not look. `max_instructions`: how many instructions a thread may execute before the kernel is
    taken for an infinite loop; by default as outside.
    """
    reports: list[Report] = []
    outside = _settings.get()
    most = outside.max_instructions if max_instructions is None else max_instructions
    token = _settings.set(replace(outside, checks=_mode(checks), reports=reports, max_instructions=most))
    try:
        yield reports
    finally:
        _settings.reset(token)


def _mode(checks: bool | str) -> str:
    mode = {True: "raise", False: "off"}.get(checks, checks)
    if mode not in CHECKS:
        raise SimulatorError(f"checks={checks!r}: choose True ('raise'), 'report' or False ('off').")
    return mode


class RawModule:
    """CUDA C++ compiled for `arch` and executed on the CPU; the face of `cupy.RawModule`.

    Args: `code` is the source, `options` are the compiler's, `name_expressions` the template instantiations that
    `get_function` will be asked for, `arch` the architecture to compile for ("sm_90").
    Raises CompileError with the compiler's message, the source line and a caret.
    """

    def __init__(
        self,
        *,
        code: str,
        options: Sequence[str] = (),
        name_expressions: Iterable[str] | None = None,
        backend: str = "nvrtc",
        arch: str = DEFAULT_ARCH,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code
        self.options = tuple(options)
        self.name_expressions = None if name_expressions is None else tuple(name_expressions)
        self.backend = backend
        self.arch = arch
        self._headers = headers
        self._kernels: dict[str, Kernel] = {}
        if self.name_expressions:
            self._compile(self.name_expressions)

    def _compile(self, entries: Sequence[str]) -> None:
        compiled = compiler.compile_module(
            self.code, entries, arch=self.arch, options=self.options, headers=self._headers
        )
        for entry, kernel in compiled.items():
            self._kernels[entry] = Kernel(kernel)

    def compile(self) -> None:
        """Compile now (as CuPy's method does), every kernel that the source names if no instantiations were given."""
        if not self._kernels:
            self._compile([name for name in compiler.kernel_names(self.code) if "<" not in name])

    def get_function(self, name: str) -> "Kernel":
        """The kernel `name`: a plain name, or one of the name expressions."""
        if name not in self._kernels:
            if self.name_expressions is not None and name not in self.name_expressions and "<" in name:
                raise SimulatorError(
                    f"{name} is not among name_expressions={list(self.name_expressions)}: name it there, "
                    "so that the compiler instantiates the template."
                )
            self._compile([name])
        return self._kernels[name]


class Kernel:
    """A compiled kernel; calling it launches it, as a function of `cupy.RawModule` does."""

    def __init__(self, compiled: CompiledKernel) -> None:
        self.compiled = compiled
        self.name = compiled.entry
        self._forms = levels.Forms(compiled)
        self.max_dynamic_shared_size_bytes = 48 * 1024 - compiled.shared_bytes
        self._patterns: dict[tuple, Patterns] = {}

    @property
    def num_regs(self) -> int:
        """Registers a thread."""
        return self.compiled.registers

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block, bytes."""
        return self.compiled.shared_bytes

    @property
    def local_size_bytes(self) -> int:
        """Local memory of a thread, bytes."""
        return self.compiled.local_bytes

    @property
    def max_threads_per_block(self) -> int:
        """The largest block that registers and `__launch_bounds__` allow."""
        return self.compiled.max_threads_per_block or 1024

    def prepared(self, level: str) -> Prepared:
        """The kernel ready to run at one of `levels.LEVELS`."""
        return self._forms.at(level)[0]

    def __call__(
        self, grid: int | Sequence[int], block: int | Sequence[int], args: Sequence, *, shared_mem: int = 0, stream=None
    ) -> None:
        """Launch: run all threads of all blocks and write the results into the arrays of `args`.

        Args: `grid` and `block` up to three sizes; `args` as CuPy takes them: NumPy scalars or Python ints for scalars,
        contiguous arrays for pointers; `shared_mem` bytes of dynamic shared memory.
        Raises LaunchError, ArgumentError, or what goes wrong in the kernel (helpers.simulator.errors).
        """
        settings = _settings.get()
        grid, block = _as_sizes(grid), _as_sizes(block)
        self._check_launch(grid, block, shared_mem)
        grid, block = ((*(int(size) for size in sizes), 1, 1)[:3] for sizes in (grid, block))
        if settings.sampled:
            self._check_that_blocks_do_not_meet()
        prepared, note = self._forms.at(settings.level)
        program = prepared.program
        level = program.level
        memory = GlobalMemory()
        parameters = _pack_arguments(self.name, program.parameters, args, memory)
        variables = self._place_variables(program, memory)
        executed = traced = None
        recording = settings.recording
        if recording is not None and settings.blocks is not None:
            traced = frozenset(_block_number(b, grid, self.name) for b in settings.blocks)
            if settings.only_traced:
                executed = np.array(sorted(traced), np.int64)
        count = product(grid) if executed is None else len(executed)
        written, names = self._pointers.written, self._shared_names(program)
        checker = None
        if settings.checks != "off":
            patterns = self._patterns.get((level, block, shared_mem))
            checker = Checker(program, grid, block, memory, written, names, patterns)
        sectors = SectorObserver() if recording is not None and settings.unique_sectors else None

        def bind(wave) -> None:
            wave.parameters = parameters
            wave.call_parameters = {}
            for slot, address in variables:
                wave.registers[slot] = np.int64(address)
            if program.start is not None:
                program.start(wave)

        def launch(memory_: GlobalMemory, observer: Observer | None, blocks: np.ndarray | None) -> Launch:
            made = Launch(
                prepared, grid, block, program.dynamic_shared_offset + shared_mem, memory_, bind, observer,
                settings.max_instructions, blocks, names,
            )  # fmt: skip
            made.output_left = OUTPUT_LIMIT
            return made

        recorded = None
        try:
            if recording is None:
                launch(memory, checker, None).run()
            elif settings.sampled:
                recorded = sampling.execute(
                    launch, memory, grid, product(block),
                    partial(BlockRecorder, program, self._facts(grid, block, shared_mem, count)),
                    (checker, sectors), written,
                )  # fmt: skip
            else:
                recorder = LaunchRecorder(program, self._facts(grid, block, shared_mem, count), traced)
                launch(memory, together(recorder, checker, sectors), executed).run()
                recorded = recorder.finish()
                if sectors is not None:
                    recorded.unique = sectors.finish(whole=executed is None)
        except KernelError as error:
            for finding in checker.finish().findings if checker is not None else ():
                error.add_note(f"Before that: {finding.message}")
            raise
        if recorded is not None:
            recorded.compiled = self.compiled
            recorded.note = note
            recording.launches.append(recorded)
        if checker is not None:
            # One geometry is remembered, the last one.
            self._patterns = {(level, block, shared_mem): checker.shared.patterns}
            report = checker.finish()
            if recorded is not None and recorded.sampling is not None:
                report = replace(report, notes=(*report.notes, str(recorded.sampling)))
            _tell(report, settings)

    def _check_that_blocks_do_not_meet(self) -> None:
        """SimulatorError if blocks meet at variables of the module, as those do that share the work for a tile.

        Who comes last does more than the others, and what is there to do depends on all of them. (An array that the
        caller passes is rather a result, such as a histogram: `RecordedLaunch.sampling` says that it is incomplete.)
        """
        if updated := " and ".join(self._pointers.updated):
            raise SimulatorError(
                f"{self.name} cannot be sampled: its blocks meet at {updated}, which they update "
                "atomically, so that what a block does depends on the others. Record a smaller problem, whole: leave "
                'out blocks="sampled".'
            )

    def _facts(self, grid: tuple, block: tuple, shared_mem: int, executed: int) -> LaunchFacts:
        compiled = self.compiled
        return LaunchFacts(
            self.name, grid, block, compiled.shared_bytes + shared_mem, compiled.registers, executed, shared_mem,
            compiled.arch, compiled.compiler_version, compiled.options,
        )  # fmt: skip

    @cached_property
    def _pointers(self) -> Pointers:
        return pointers.find(self.compiled)

    def _shared_names(self, program: Program) -> SharedNames:
        """The names of its shared memory."""
        found = self._pointers
        return SharedNames(found.shared_arrays, found.used_by(program), self.compiled.source, self.name)

    def _check_launch(self, grid, block, shared_mem: int) -> None:
        problem = devices.launch_problem(
            devices.limits_for(self.compiled.arch),
            grid,
            block,
            self.compiled.shared_bytes + shared_mem,
            self.compiled.registers,
            max_threads=self.compiled.max_threads_per_block,
        )
        if problem is None and shared_mem > self.max_dynamic_shared_size_bytes:
            problem = (
                f"{shared_mem} bytes of dynamic shared memory are more than the {self.max_dynamic_shared_size_bytes} "
                "that this kernel may use; allow more first: kernel.max_dynamic_shared_size_bytes = bytes"
            )
        if problem is not None:
            raise LaunchError(f"{self.name} was not launched: {problem}.")

    @cached_property
    def _variable_storage(self) -> dict[str, np.ndarray]:
        """Module variables (`__device__`, `__constant__`) by name; both levels share them while the kernel lives."""
        return {}

    def _place_variables(self, program: Program, memory: GlobalMemory) -> list[tuple[int, int]]:
        """Put the module's variables into global memory; returns (register slot, address)."""
        placed = []
        for name, (variable, slot) in program.global_variables.items():
            if slot is not None:
                if name not in self._variable_storage:
                    data = variable.data if variable.data is not None else bytes(variable.bytes_)
                    words = variable.align >= 4 and len(data) % 4 == 0
                    self._variable_storage[name] = np.frombuffer(bytearray(data), np.uint32 if words else np.uint8)
                address = memory.add(self._variable_storage[name], name)
                memory.find(address).name = pointers.name_in_source(name)
                placed.append((slot, address))
        return placed


def _tell(report: Report, settings: _Settings) -> None:
    """Hand a report over to whoever asked for it; raise if there is something to raise."""
    if settings.recording is not None:
        settings.recording.reports.append(report)
    if settings.reports is not None:
        settings.reports.append(report)
    if settings.checks == "raise" and report.findings:
        raise error_for(report)


def _as_sizes(sizes):
    """A single number stands for the x dimension, as in CuPy."""
    return (sizes,) if isinstance(sizes, int | np.integer) else sizes


def _block_number(block: tuple[int, int, int], grid: tuple[int, int, int], kernel: str) -> int:
    if any(not 0 <= index < size for index, size in zip(block, grid, strict=True)):
        raise SimulatorError(f"record(blocks=…) names block {block}, but {kernel} was launched with grid {grid}.")
    return block[0] + grid[0] * (block[1] + grid[1] * block[2])


def _pack_arguments(kernel: str, parameters: Sequence[Parameter], args: Sequence, memory: GlobalMemory) -> bytes:
    """The launch's parameter block; ArgumentError in a sentence if an argument does not fit its parameter."""
    if not isinstance(args, Sequence) or isinstance(args, str):
        raise ArgumentError(
            f"{kernel} takes its arguments as one tuple: kernel(grid, block, (…,)); found {type(args).__name__}."
        )
    if len(args) != len(parameters):
        wanted = ", ".join(f"{p.type} {p.name}" for p in parameters)
        raise ArgumentError(f"{kernel} takes {len(parameters)} arguments ({wanted}), but {len(args)} were given.")
    packed = bytearray(max((p.offset + p.size for p in parameters), default=0))
    for position, (parameter, argument) in enumerate(zip(parameters, args, strict=True), 1):
        place = f"Argument {position} of {kernel} ({parameter.type} {parameter.name})"
        packed[parameter.offset : parameter.offset + parameter.size] = _argument_bytes(
            place, parameter, argument, memory
        )
    return bytes(packed)


def _argument_bytes(place: str, parameter: Parameter, argument, memory: GlobalMemory) -> bytes:
    if isinstance(argument, np.ndarray) and (argument.ndim > 0 or parameter.is_pointer):
        if not parameter.is_pointer and parameter.type in SCALARS:
            raise ArgumentError(f"{place} is one number, but an array of shape {argument.shape} was given.")
        if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
            raise ArgumentError(
                f"{place} is an array whose elements do not lie side by side (shape {argument.shape}, strides "
                f"{argument.strides} bytes); a kernel gets only a pointer. Pass numpy.ascontiguousarray(…)."
            )
        expected = SCALARS.get(parameter.type.replace("const", "").replace("volatile", "").replace("*", "").strip())
        if expected is not None:
            given, wanted = argument.dtype, np.dtype(expected)
            # Integers of one size may stand for each other, and unsigned ones for the bits of floats.
            mixed = (given.kind in "fc") != (wanted.kind in "fc") and given.kind != "u"
            if given.itemsize != wanted.itemsize or mixed:
                raise ArgumentError(
                    f"{place} is an array of {given.name}, but the kernel reads it as {wanted.name}. "
                    f"Convert it: x.astype(numpy.{wanted.name})."
                )
        return int(memory.add(argument, parameter.name)).to_bytes(8, "little")
    if parameter.is_pointer:
        if argument is None or (isinstance(argument, int | np.integer) and int(argument) == 0):
            return bytes(8)
        raise ArgumentError(f"{place} is a pointer: pass an array, not {_describe(argument)}.")
    expected = SCALARS.get(parameter.type.replace("const", "").strip())
    value = argument[()] if isinstance(argument, np.ndarray) else argument
    if expected is None:
        if isinstance(value, np.generic) and value.dtype.itemsize == parameter.size:
            return value.tobytes()
        raise ArgumentError(
            f"{place} needs a NumPy scalar of {parameter.size} bytes (for a struct, of a structured dtype); "
            f"found {_describe(argument)}."
        )
    dtype = np.dtype(expected)
    if dtype.kind == "f":
        if isinstance(value, np.generic) and value.dtype == dtype:
            return value.tobytes()
        if isinstance(value, float) and not isinstance(value, np.generic) and dtype == np.float64:
            return np.float64(value).tobytes()
        raise ArgumentError(
            f"{place} got {_describe(argument)}, whose bytes are not those of a {parameter.type}. "
            f"Pass numpy.{dtype.name}({value!r})."
            if not isinstance(value, np.generic)
            else f"{place} got {_describe(argument)}, whose bytes are not those of a {parameter.type}. "
            f"Pass numpy.{dtype.name}({value.item()!r})."
        )
    if not isinstance(value, int | np.integer | np.bool_):
        raise ArgumentError(f"{place} got {_describe(argument)}; pass numpy.{dtype.name}(…).")
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
        raise ArgumentError(f"{place} got {int(value)}, which does not fit into {dtype.name}.")
    return dtype.type(value).tobytes()


def _describe(argument) -> str:
    """An argument in words: its type and, for a number, its value."""
    if isinstance(argument, np.generic):
        return f"numpy.{argument.dtype.name}({argument.item()!r})"
    if isinstance(argument, int | float):
        return f"the Python {type(argument).__name__} {argument!r} (CuPy passes it as 8 bytes)"
    return f"a {type(argument).__name__}"
