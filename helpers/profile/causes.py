"""Causes of slowness that have a name: what proves each of them, and what to write instead.

What a cause says is counted in the machine code that the first block executes, and in a few other blocks for atomics.
Where mending it is a matter of text, such as the f behind a literal, the mended kernel is compiled, its first block
counted in the same way, and its time predicted: a cause whose counts do not fall is none, and a time is told only where
its range and that of the kernel as it stands do not overlap. How far that holds is tried with pairs of kernels whose
times were recorded (`pairs`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from gpusim import Captured, InstructionCounts, Recording, SimulatorError, compiler
from gpusim.compiler import ptx
from gpusim.compiler.ptx import Register
from gpusim.cupy.launch import again
from gpusim.devices import WARP
from gpusim.engine.memory import Untouched
from gpusim.engine.observers import Access, Handlers, Observer, together
from gpusim.occupancy import occupancy
from gpusim.symbols.local_accesses import AT_A_CONSTANT
from gpusim.symbols.local_arrays import LocalArray, declaration
from helpers import cycles, run
from helpers.cycles import Prediction

SHARE = 0.1  # of the first block's instructions, from which on a cause is worth a sentence
ATOMICS = 32  # of a block to one address, from which on they stand in each other's way
MOST_ATOMICS = 20_000  # whose addresses are looked at
ALONE = 0.5  # of a line's atomics that go to one address
LAST_WAVE = 0.1  # of the time, from which on the last wave is worth a sentence
DOUBLES = re.compile(r"D(ADD|MUL|FMA|SETP|MNMX)\b|F2F\.(F64\.F32|F32\.F64)|MUFU\.\w*64H|(I2F|F2I|FRND)\b.*F64")
LITERAL = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])")
MACRO = re.compile(r"^\s*(?:#\s*define\s+(\w+)\s+|(?:static\s+|__device__\s+)*const(?:expr)?\s+\w+\s+(\w+)\s*=)")
FAST = {name: f"__{name}f" for name in ("sin", "cos", "tan", "exp", "log", "log2", "log10", "pow")}
FUNCTION = re.compile(rf"(?<![\w.])(?:std::|::)?({'|'.join(FAST)})f?\s*\(")
MOST_LINES = 3  # with functions that are tried in another way
LESS = 1.5  # times as many instructions as in another way
MOST_FACTORS = 4  # of a power that is better written as a product
BOUNDS = re.compile(r"__launch_bounds__\s*\(")
LOCAL = re.compile(r"(LD|ST)L?\b")
ELSEWHERE = ("dram", "l2", "store", "launch")  # limits that fewer instructions do not move
DIVISIONS = {"div": "/", "rem": "%"}
OTHER_BLOCKS = 50_000  # instructions of a thread, after which other blocks are not looked at


@dataclass(frozen=True)
class Gain:
    """What the model predicts with a cause and without it, in milliseconds."""

    before_ms: float
    after_ms: float

    @property
    def factor(self) -> float:
        return self.before_ms / self.after_ms


@dataclass(frozen=True)
class Cause:
    """What makes a kernel slow.

    rule: its name.  line: where, 0 if it is the whole launch.  observation: what was counted, a sentence.
    advice: what to write instead.  gain: predicted for that; None where it is not predicted, or too small to be told
    from the model's errors.
    """

    rule: str
    line: int
    observation: str
    advice: str
    gain: Gain | None = None

    def __str__(self) -> str:
        text = f"{self.observation} {self.advice}"
        if self.gain is not None:
            text += f" Predicted with that: {self.gain.factor:.1f} times as fast."
        return text


@dataclass(frozen=True, eq=False)
class Case:
    """A launch, what its first block does, and its predicted time. counted: runs the first block of a launch."""

    captured: Captured
    recording: Recording
    prediction: Prediction
    count: Callable[[Captured], Recording]

    @property
    def source(self) -> str:
        return self.captured.compiled.source

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Those of the source, without comments and strings, at the same columns."""
        return _code(self.source)

    @cached_property
    def statements(self) -> tuple[tuple[int, int], ...]:
        """The first and the last line of each piece of the source between semicolons and braces."""
        begins, line = [], 1
        for piece in re.split(r"(?<=[;{}])", "\n".join(self.lines)):
            begin = line + piece[: len(piece) - len(piece.lstrip())].count("\n")
            line += piece.count("\n")
            begins.append((begin, line - piece[len(piece.rstrip()) :].count("\n")))
        return tuple(begins)

    @cached_property
    def warps(self) -> int:
        """Of a block."""
        return -(-self.captured.run.threads // WARP)

    @cached_property
    def rows(self) -> Sequence[InstructionCounts]:
        """What the first block executes, by instruction."""
        return self.recording.by_instruction()

    @cached_property
    def by_line(self) -> Mapping[int, float]:
        return by_line(self.rows)

    @property
    def instructions(self) -> int:
        """Warp instructions of the first block."""
        return self.recording.instructions()

    def each(self, count: float) -> str:
        """So many of a block, for each of its warps: '1,234'."""
        return f"{count / self.warps:,.0f}"

    def text(self, line: int) -> str:
        return self.lines[line - 1] if 1 <= line <= len(self.lines) else ""

    def mended(self, source: str) -> Mended | None:
        """The same launch of another source; None if it does not compile, or cannot be launched so."""
        code = self.captured.compiled
        try:
            launched = again(run.simulated(source, code.entry, code.options), self.captured)
            return Mended(launched, self.count(launched))
        except (compiler.CompilerError, SimulatorError):
            return None

    def gain(self, mended: Mended | None) -> Gain | None:
        """What the model predicts for a mended kernel, where it is faster by more than the model's errors."""
        if mended is None:
            return None
        try:
            after = cycles.predict(mended.captured, self.prediction.gpu, cold=self.prediction.cold)
        except cycles.CANNOT:
            return None
        if after.range_ms[1] >= self.prediction.range_ms[0]:
            return None
        return Gain(self.prediction.ms, after.ms)


@dataclass(frozen=True, eq=False)
class Mended:
    """A launch of a mended kernel, and what its first block does."""

    captured: Captured
    recording: Recording

    @cached_property
    def rows(self) -> Sequence[InstructionCounts]:
        return self.recording.by_instruction()


def find(
    captured: Captured, recording: Recording, prediction: Prediction, count: Callable[[Captured], Recording]
) -> tuple[Cause, ...]:
    """All causes of a launch that a rule here proves, in the order of the rules. recording: of the first block."""
    case = Case(captured, recording, prediction, count)
    return tuple(cause for rule in RULES for cause in rule(case))


def by_line(rows: Sequence[InstructionCounts]) -> dict[int, float]:
    """Warp instructions by source line; those of functions that machine code calls count for the lines of the calls."""
    warps_of: Counter[int] = Counter()
    calls: Counter[int] = Counter()
    for row in rows:
        warps_of[row.line] += row.warps
        if row.opcode.startswith("CALL") and row.line and row.warps:
            calls[row.line] += row.warps
    called = warps_of[0]
    for line, times in calls.items():
        warps_of[line] += called * times / calls.total()
    return dict(warps_of)


# ---- double literals


def double_literals(case: Case) -> Iterator[Cause]:
    """Literals without f because of which lines are carried out in FP64: they are no more once the literals have it."""
    before = _doubles(case.rows)
    literals = [(line, match) for line, text in enumerate(case.lines, 1) for match in LITERAL.finditer(text)]
    uses = {line: {use for use in _uses(case, line) if before.get(use)} for line, _ in literals}
    places = [(line, literal) for line, literal in literals if uses[line]]
    if not places:
        return
    mended = case.mended(
        _replaced(case.source, [(line, literal.span(1), f"{literal[1]}f") for line, literal in places])
    )
    after = before if mended is None else _doubles(mended.rows)
    gone = {line for line in before if not after.get(line)}
    causing = [line for line, _ in places if uses[line] & gone]
    if not causing:
        return
    lines = sorted({at for line in causing for at in (uses[line] & gone if _names(case.text(line)) else {line})})
    where = {literal[1]: line for line, literal in places if line in causing}
    listed = _listed([literal if line in lines else f"{literal} (line {line})" for literal, line in where.items()])
    what = f"the literal {listed} is a double" if len(where) == 1 else f"the literals {listed} are doubles"
    yield Cause(
        "double literal", lines[0],
        f"Line{'s' * (len(lines) > 1)} {_listed(list(map(str, lines)))}: {what}, so that "
        f"{case.each(sum(before[line] for line in gone))} of the {case.each(case.instructions)} instructions of a warp "
        "compute in FP64, or convert to it and back.",
        f"Write {_listed([f'{literal}f' for literal in where])}: then none does.", case.gain(mended),
    )  # fmt: skip


def _uses(case: Case, line: int) -> set[int]:
    """The lines at which the machine code may have what a line of the source computes: those of its statements, and
    those that use the macros and constants that it defines."""
    names = _names(case.text(line))
    lines = {other for other, text in enumerate(case.lines, 1) if names & _words(text)}
    return lines | {
        other for first, last in case.statements if first <= line <= last for other in range(first, last + 1)
    }


def _doubles(rows: Sequence[InstructionCounts]) -> dict[int, int]:
    """Warp instructions in FP64, and conversions to it and back, by line."""
    warps_of: Counter[int] = Counter()
    for row in rows:
        if row.warps and DOUBLES.match(row.opcode):
            warps_of[row.line] += row.warps
    return dict(warps_of)


def _names(text: str) -> set[str]:
    """What a line defines as a macro or a constant."""
    match = MACRO.match(text)
    return {name for name in match.groups() if name} if match else set()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


# ---- slow functions


def slow_functions(case: Case) -> Iterator[Cause]:
    """Calls of functions that take far fewer instructions in another way: powers, and those that have a fast form."""
    doubles = _doubles(case.rows)
    busiest = sorted(
        (line for line in case.by_line if FUNCTION.search(case.text(line))), key=lambda n: -case.by_line[n]
    )
    for line in busiest[:MOST_LINES]:
        before, text = case.by_line[line], case.text(line)
        for call in FUNCTION.finditer(text) if before >= SHARE * case.instructions else ():
            parts = _arguments(text, call.end())
            if parts is None:
                continue
            end, arguments = parts
            other, advice = _instead(call[1], arguments)
            if line in doubles and other.startswith("__"):
                continue  # of a double, whose digits are wanted
            mended = case.mended(_replaced(case.source, [(line, (call.start(), end), other)]))
            after = before if mended is None else by_line(mended.rows).get(line, 0)
            if before - after < SHARE * case.instructions or before < LESS * after:
                continue
            yield Cause(
                "slow function", line,
                f"Line {line}: with `{text[call.start() : end]}` a warp executes {case.each(before)} instructions "
                f"there, of {case.each(case.instructions)} in all.",
                f"{advice} Then it is {case.each(after)}.", case.gain(mended),
            )  # fmt: skip


def _instead(name: str, arguments: Sequence[str]) -> tuple[str, str]:
    """(an expression in place of a call, the advice to write it)."""
    x = arguments[0].strip()
    exponent = LITERAL.fullmatch(arguments[1].strip().rstrip("fF")) if len(arguments) > 1 else None
    if len(arguments) > 1 and (exponent or arguments[1].strip().isdigit()):
        power = float(arguments[1].strip().rstrip("fF"))
        if power == int(power) and 2 <= power <= MOST_FACTORS:
            product_ = " * ".join(["x"] * int(power))
            return (
                f"({' * '.join([f'({x})'] * int(power))})",
                f"It works by logarithms, for any exponent: write {product_}.",
            )
    fast = FAST[name]
    return f"{fast}({', '.join(arguments)})", f"Where an error in the last digits does no harm, write {fast}."


def _arguments(text: str, start: int) -> tuple[int, list[str]] | None:
    """(behind the closing bracket, the arguments) of a call whose arguments begin at `start`; None if it does not end
    in this line."""
    depth, begin, parts = 1, start, []
    for index in range(start, len(text)):
        depth += (text[index] in "([{") - (text[index] in ")]}")
        if depth == 0:
            return index + 1, [*parts, text[begin:index]]
        if text[index] == "," and depth == 1:
            parts.append(text[begin:index])
            begin = index + 1
    return None


# ---- local memory


def spills(case: Case) -> Iterator[Cause]:
    """Registers that are kept in local memory: because of `__launch_bounds__`, or because there are no more."""
    code = case.captured.compiled
    requests = _local_requests(
        case, lambda instruction: AT_A_CONSTANT.search(instruction.text) and not _array(case, instruction.index)
    )
    if not code.spill_store_bytes + code.spill_load_bytes or not requests:
        return
    total = sum(requests.values())
    (busiest, most), *_ = requests.most_common(1)
    sentence = (
        f"a thread has {code.registers} registers, and what does not fit into them is spilled to local memory (LDL, "
        f"STL): the first block's warps make {total:,} requests for that, {most:,} of them at line {busiest}."
    )
    for source, line, bounds, without in _without_bounds(case):
        mended = case.mended(source)
        if mended is None or mended.captured.compiled.spill_store_bytes:
            continue
        registers = mended.captured.compiled.registers
        fits = occupancy(case.prediction.machine.device, case.captured.run.threads, registers,
                         case.prediction.trace.shared_bytes).blocks  # fmt: skip
        yield Cause(
            "launch bounds", line, f"Line {line}: with {bounds} {sentence}",
            f"{without}: with {registers} registers nothing is spilled, and {fits} blocks fit on an SM.",
            case.gain(mended),
        )  # fmt: skip
        return
    yield Cause(
        "spills", busiest, f"Line {busiest}: {sentence}",
        "Let a thread keep fewer values at a time: smaller tiles, or loops that are not unrolled (#pragma unroll 1).",
    )  # fmt: skip


def _without_bounds(case: Case) -> Iterator[tuple[str, int, str, str]]:
    """(source, line, what is there, advice) with fewer blocks asked for, and then with no `__launch_bounds__`."""
    name = case.captured.compiled.entry.partition("<")[0].rpartition("::")[2]
    for line, text in enumerate(case.lines, 1):
        match = BOUNDS.search(text)
        parts = _arguments(text, match.end()) if match else None
        if parts is None or not re.search(rf"\b{re.escape(name)}\s*\(", " ".join(case.lines[line - 1 : line + 3])):
            continue
        end, arguments = parts
        bounds, span = text[match.start() : end], (match.start(), end)
        if len(arguments) > 1:
            fewer = f"__launch_bounds__({arguments[0].strip()})"
            yield _replaced(case.source, [(line, span, fewer)]), line, bounds, f"Write {fewer}"
        yield _replaced(case.source, [(line, span, "")]), line, bounds, "Leave it out"


def local_arrays(case: Case) -> Iterator[Cause]:
    """Arrays of a thread whose index is known only at run time."""
    program = case.captured.run.program
    indexed = _local_requests(case, lambda instruction: not AT_A_CONSTANT.search(instruction.text))
    everything = _local_requests(case, lambda instruction: True)
    if not indexed or sum(everything.values()) < SHARE * case.instructions / 2:
        return
    sectors = case.recording.total("sectors", "local")
    line, most = indexed.most_common(1)[0]
    every = case.captured.run.local_arrays.arrays
    named = {
        declared[0]: array.bytes
        for instruction in program.instructions if instruction.line == line and LOCAL.match(instruction.opcode)
        for array in (every if len(every) == 1 else (_array(case, instruction.index),)) if array is not None
        if (declared := declaration(program, instruction, array)) is not None
    }  # fmt: skip
    what = _listed([f"`{name}` ({size} bytes a thread)" for name, size in sorted(named.items())])
    what = f"{what} {'is an array' if len(named) == 1 else 'are arrays'}" if named else "an array of each thread is"
    example = next(iter(sorted(named)), "a")
    yield Cause(
        "local array", line,
        f"Line {line}: {what} in local memory (LDL, STL), for registers have no index that is known only at run time. "
        f"The first block's warps make {sum(everything.values()):,} requests there, for {sectors:,} sectors; {most:,} "
        "of them are at this line.",
        "Let loops over it have a fixed number of steps and be unrolled, so that each index is a number; or keep it in "
        f"shared memory, as {example}[index][threadIdx.x], or in __constant__ memory if it is a table.",
    )  # fmt: skip


def _local_requests(case: Case, wanted: Callable) -> Counter[int]:
    """Requests of local memory by line, of the instructions that are wanted."""
    requests_of: Counter[int] = Counter()
    for row in case.rows:
        requests = row.total("requests", "local")
        if requests and wanted(row):
            requests_of[row.line] += requests
    return requests_of


def _array(case: Case, instruction: int) -> LocalArray | None:
    return case.captured.run.local_arrays.used.get(instruction)


# ---- integer division


def integer_divisions(case: Case) -> Iterator[Cause]:
    """Divisions of integers by what is known only at run time, for which there is no instruction."""
    code = case.captured.compiled
    module = ptx.parse(code.ptx)
    operators: dict[int, set[str]] = {}
    wide: set[int] = set()
    for function in (module.functions[code.lowered_name], *module.called.values()):
        for statement in function.statements:
            if (
                statement.name in DIVISIONS
                and statement.type[0] in "su"
                and isinstance(statement.operands[2], Register)
            ):
                operators.setdefault(statement.line, set()).add(DIVISIONS[statement.name])
                wide |= {statement.line} if statement.type.endswith("64") else set()
    for line, used in sorted(operators.items()):
        count = case.by_line.get(line, 0)
        if count < SHARE * case.instructions or not any(sign in case.text(line) for sign in used):
            continue
        signs = _listed([f"`{sign}`" for sign in sorted(used)])
        elsewhere = ""
        if case.prediction.kind in ELSEWHERE:
            elsewhere = " (The limit is another one, so that the time may stay the same.)"
        yield Cause(
            "integer division", line,
            f"Line {line}: {signs} by a number that is known only at run time is a function of many instructions"
            f"{', of 64-bit integers above all' if line in wide else ''}: a warp executes {case.each(count)} of its "
            f"{case.each(case.instructions)} instructions at this line.",
            "Make the divisor a constant (a template parameter), count along with an index that starts again at 0, or "
            f"let the grid have two dimensions.{elsewhere}",
        )  # fmt: skip


# ---- atomics on one address


class _Enough(Exception):
    """So many atomic operations were looked at that the rest will be alike."""


class _Addresses(Observer):
    """Which addresses atomics go to: by instruction and space, by block, how many threads name each; of the first
    MOST_ATOMICS alone."""

    def __init__(self) -> None:
        self.by_instruction: dict[tuple[int, str], dict[int, Counter[int]]] = {}
        self._seen = 0

    def handlers(self) -> Handlers:
        return {Access: self.access}

    def access(self, event: Access) -> None:
        """Count the addresses of an atomic operation."""
        if event.op not in ("atom", "red") or event.space not in ("global", "shared"):
            return
        wave = event.wave
        addresses = np.broadcast_to(event.addresses, wave.shape)
        lanes = np.ones(wave.shape, bool) if event.mask is None else np.broadcast_to(event.mask, wave.shape)
        blocks = self.by_instruction.setdefault((wave.instruction.index, event.space), {})
        for row, block in enumerate(np.asarray(wave.block_ids).tolist()):
            values, counts = np.unique(addresses[row][lanes[row]], return_counts=True)
            blocks.setdefault(block, Counter()).update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            self._seen += int(counts.sum())
        if self._seen > MOST_ATOMICS:
            raise _Enough


def contended_atomics(case: Case) -> Iterator[Cause]:
    """Atomic operations of which most go to one address."""
    launched, program = case.captured.run, case.captured.run.program
    if not any(instruction.opcode.startswith(("ATOM", "RED")) for instruction in program.instructions):
        return
    blocks = prod(launched.grid)
    observer, is_all = _Addresses(), True
    chosen = np.unique([0, blocks // 2, blocks - 1])
    try:
        replace(
            launched, only_blocks=chosen, global_memory=Untouched(launched.global_memory),
            observers=together(observer), max_instructions=OTHER_BLOCKS,
        ).run()  # fmt: skip
    except _Enough:
        is_all = False
    except SimulatorError:
        return
    lines: dict[tuple[int, str], dict[int, Counter[int]]] = {}
    for (index, space), of_blocks in observer.by_instruction.items():
        for block, counts in of_blocks.items():
            lines.setdefault((program.instructions[index].line, space), {}).setdefault(block, Counter()).update(counts)
    for (line, space), of_blocks in sorted(lines.items()):
        both = sum(of_blocks.values(), Counter()) if space == "global" else of_blocks.get(0, Counter())
        if not both:
            continue
        address, times = both.most_common(1)[0]
        first = of_blocks.get(0, Counter())
        if times < ALONE * both.total() or first[address] < ATOMICS:
            continue
        own, every = first[address], first.total()
        part = f"{every:,}" if is_all else f"first {every:,}"
        of = f"{own:,} of the {part}" if own < every or not is_all else f"all {part}"
        text = f"Line {line}: {of} atomic operations of the first block go to one address"
        if space == "shared":
            yield Cause(
                "atomics on one address", line, f"{text} in shared memory, where they follow one another.",
                "Let each warp add among its lanes first (__shfl_down_sync, __reduce_add_sync), and one lane for all.",
            )  # fmt: skip
            continue
        if is_all and len(of_blocks) > 1 and all(counts[address] for counts in of_blocks.values()):
            text += f", as do those of the other blocks that were looked at: some {times // len(of_blocks) * blocks:,}"
        yield Cause(
            "atomics on one address", line, f"{text}, which L2 carries out one after the other.",
            "Let each block add among its threads first (__shfl_down_sync, shared memory), and one thread for all.",
        )  # fmt: skip


# ---- the last wave


def tail_waves(case: Case) -> Iterator[Cause]:
    """A last wave of few blocks that takes as long as a full one, or nearly."""
    prediction, blocks = case.prediction, prod(case.captured.run.grid)
    resident, sms = prediction.trace.occupancy.blocks, prediction.machine.device.sms
    whole, last = divmod(blocks, resident * sms)
    ends = np.sort(prediction.simulated.block_end)
    if not whole or not last or 2 * last > resident * sms or len(ends) < prediction.wanted:
        return
    share = float(1 - ends[whole * resident - 1] / ends[-1])
    if share < max(LAST_WAVE, 2 * last / blocks):
        return
    yield Cause(
        "tail wave", 0,
        f"The grid's {blocks:,} blocks are {whole} full wave{'s' * (whole > 1)} of {resident * sms:,}, and one of "
        f"{last:,}: for {share:.0%} of the predicted time only these {last:,} are left, which are "
        f"{last / blocks:.0%} of the work.",
        "Let the blocks be smaller, so that more of them fit at once, or give as many blocks as fit at once more work "
        "each (a loop over the elements with a stride of the whole grid).",
    )  # fmt: skip


RULES = (
    double_literals, slow_functions, spills, local_arrays, integer_divisions, contended_atomics, tail_waves,
)  # fmt: skip

# ---- texts

_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def _code(source: str) -> tuple[str, ...]:
    """The lines of a source with blanks in place of comments and strings."""
    return tuple(_NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source).split("\n"))


def _listed(parts: Sequence[str]) -> str:
    """'a, b and c'."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _replaced(source: str, parts: Sequence[tuple[int, tuple[int, int], str]]) -> str:
    """A source with other texts in place of parts of lines, each (line, columns [start, stop), text)."""
    lines = source.split("\n")
    for line, (start, stop), text in sorted(parts, reverse=True):
        lines[line - 1] = lines[line - 1][:start] + text + lines[line - 1][stop:]
    return "\n".join(lines)
