"""Kernels as trees of statements, which are written as CUDA and executed in NumPy, without the simulator.

Expressions are texts that mean the same in both: a Python expression where `/` divides whole numbers. An index into a
shared array is written «3:t + 1»: it has a number, so that a fault can be planted there. All values are small whole
numbers, which every type holds exactly, whatever the order of a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

MOST = {"float": 1 << 24, "__half": 1 << 11, "__nv_bfloat16": 1 << 8, "signed char": 1 << 7, "short": 1 << 15}
UNSIGNED = ("unsigned", "unsigned long long")
_SITE = re.compile(r"«(\d+):([^«»]*)»")


class Rejected(Exception):
    """A kernel is not one whose result is defined, or not exactly: another one is made up."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with a kernel: an index of a site that is `shift` too large, a loop of so many rounds too many, or
    a barrier that is left out.

    `kind` is "site", "rounds" or "barrier", `number` that of the index, the loop or the barrier.
    """

    kind: str
    number: int
    shift: int = 0


class Shared(NamedTuple):
    """A variable in shared memory; () is the shape of a scalar. `fields` are those of a struct."""

    name: str
    type: str
    shape: tuple[int, ...]
    fields: tuple[str, ...] = ()

    @property
    def declaration(self) -> str:
        """As in the source."""
        return f"__shared__ {self.type} {self.name}{''.join(f'[{size}]' for size in self.shape)};"


def rendered(text: str, fault: Fault | None) -> str:
    """An expression without the marks of its sites."""

    def index(match: re.Match) -> str:
        if fault is None or (fault.kind, fault.number) != ("site", int(match[1])):
            return match[2]
        return f"({match[2]}) {'-' if fault.shift < 0 else '+'} {abs(fault.shift)}"

    while "«" in text:
        text = _SITE.sub(index, text)
    return text


@lru_cache(maxsize=1 << 12)
def _code(text: str) -> Any:
    return compile(text.replace("/", "//").replace("&&", "and"), "an expression", "eval")


class Writer:
    """The lines of a kernel."""

    def __init__(self, fault: Fault | None) -> None:
        self.fault, self.lines, self._indent = fault, [], 1

    def line(self, text: str) -> None:
        """One line, with its marks taken off."""
        self.lines.append("    " * self._indent + rendered(text, self.fault))

    def block(self, statements: Sequence[Statement]) -> None:
        """Some statements one step to the right."""
        self._indent += 1
        for statement in statements:
            statement.write(self)
        self._indent -= 1


class Statement:
    """One statement: `write` it as CUDA, `run` it for some threads of a block."""

    def write(self, writer: Writer) -> None:
        """Add its lines."""
        raise NotImplementedError

    def run(self, block: Block, threads: np.ndarray) -> None:
        """Execute it."""
        raise NotImplementedError


@dataclass
class Declare(Statement):
    """`type name = value;`, a variable of each thread."""

    type: str
    name: str
    value: str

    def write(self, writer: Writer) -> None:
        writer.line(f"{self.type} {self.name} = {self.value};")

    def run(self, block: Block, threads: np.ndarray) -> None:
        variable = block.variables[self.name] = np.zeros(block.threads, np.int64)
        variable[threads] = block.value(self.value, threads)


@dataclass
class Assign(Statement):
    """`target = value;` or `target += value;`. With a condition the value is `condition ? value : other`."""

    target: str
    value: str
    operation: str = "="
    condition: str = ""
    other: str = "0"

    def write(self, writer: Writer) -> None:
        value = f"{self.condition} ? {self.value} : {self.other}" if self.condition else self.value
        writer.line(f"{self.target} {self.operation} {value};")

    def run(self, block: Block, threads: np.ndarray) -> None:
        if self.condition:
            holds = block.holds(self.condition, threads)
            for where, text in ((threads[holds], self.value), (threads[~holds], self.other)):
                if len(where):
                    block.put(self.target, self.operation, block.value(text, where), where)
        else:
            block.put(self.target, self.operation, block.value(self.value, threads), threads)


@dataclass
class Atomic(Statement):
    """An atomic operation, "add" or "max", on a target in shared memory; `form` has the places TARGET and VALUE."""

    target: str
    value: str
    operation: str
    form: str

    def write(self, writer: Writer) -> None:
        writer.line(self.form.replace("TARGET", self.target).replace("VALUE", self.value))

    def run(self, block: Block, threads: np.ndarray) -> None:
        value = np.broadcast_to(block.value(self.value, threads), threads.shape)
        block.put(self.target, self.operation, value, threads)


@dataclass
class If(Statement):
    """`if (condition) … else …`"""

    condition: str
    then: Sequence[Statement]
    other: Sequence[Statement] = ()
    braces: bool = True

    def write(self, writer: Writer) -> None:
        opened, closed = (" {", "} ") if self.braces else ("", "")
        writer.line(f"if ({self.condition}){opened}")
        writer.block(self.then)
        if self.other:
            writer.line(f"{closed}else{opened}")
            writer.block(self.other)
        if self.braces:
            writer.line("}")

    def run(self, block: Block, threads: np.ndarray) -> None:
        holds = block.holds(self.condition, threads)
        for where, statements in ((threads[holds], self.then), (threads[~holds], self.other)):
            if len(where):
                block.run(statements, where)


@dataclass
class For(Statement):
    """`for (int name = start; name < stop; name += step)`; of a `halving` one the counter begins at stop / 2 and is
    halved until it is 0."""

    name: str
    stop: str
    body: Sequence[Statement]
    step: int = 1
    number: int = -1
    pragma: str = ""
    halving: bool = False

    def write(self, writer: Writer) -> None:
        if self.pragma:
            writer.line(self.pragma)
        name, stop = self.name, f"{self.stop}{self._more(writer.fault)}"
        step = f"++{name}" if self.step == 1 else f"{name} += {self.step}"
        head = (
            f"int {name} = {stop} / 2; {name} > 0; {name} /= 2"
            if self.halving
            else f"int {name} = 0; {name} < {stop}; {step}"
        )
        writer.line(f"for ({head}) {{")
        writer.block(self.body)
        writer.line("}")

    def _more(self, fault: Fault | None) -> str:
        is_here = fault is not None and (fault.kind, fault.number) == ("rounds", self.number)
        return f" + {fault.shift}" if is_here else ""

    def _rounds(self, stop: int) -> Iterator[int]:
        if not self.halving:
            yield from range(0, stop, self.step)
            return
        stop //= 2
        while stop:
            yield stop
            stop //= 2

    def run(self, block: Block, threads: np.ndarray) -> None:
        for value in self._rounds(int(block.value(self.stop + self._more(block.fault), threads))):
            block.variables[self.name] = value
            block.run(self.body, threads)


@dataclass
class Barrier(Statement):
    """`__syncthreads();`"""

    number: int

    def write(self, writer: Writer) -> None:
        if writer.fault is None or (writer.fault.kind, writer.fault.number) != ("barrier", self.number):
            writer.line("__syncthreads();")

    def run(self, block: Block, threads: np.ndarray) -> None:
        if block.fault is None or (block.fault.kind, block.fault.number) != ("barrier", self.number):
            block.end_epoch()


class _Elements:
    """A shared array in an expression: each index is looked up, and what is read is noted."""

    def __init__(self, memory: _Memory, threads: np.ndarray, refer: bool) -> None:
        self._memory, self._threads, self._refer = memory, threads, refer
        self._indices: list = []

    def __getitem__(self, index) -> Any:
        self._indices.append(index)
        variable = self._memory.variable
        if len(self._indices) < len(variable.shape):
            return self
        flat = 0
        for position, size in zip(self._indices, variable.shape, strict=True):
            flat = flat * size + position
        self._indices = []
        flat = np.broadcast_to(flat, self._threads.shape)
        if variable.fields:
            return _Fields(self._memory, flat, self._threads, self._refer)
        element = self._memory.inside(flat)
        return (element, 0) if self._refer else self._memory.read(element, 0, self._threads)


class _Fields:
    """An element of an array of structs."""

    def __init__(self, memory: _Memory, flat: np.ndarray, threads: np.ndarray, refer: bool) -> None:
        self._memory, self._flat, self._threads, self._refer = memory, flat, threads, refer

    def __getattr__(self, name: str) -> Any:
        element, number = self._memory.inside(self._flat), self._memory.variable.fields.index(name)
        return (element, number) if self._refer else self._memory.read(element, number, self._threads)


class _Memory:
    """A shared variable of a block, and who touched its elements since the last barrier."""

    def __init__(self, block: Block, variable: Shared) -> None:
        self.block, self.variable = block, variable
        self.values = np.zeros((max(1, len(variable.fields)), prod(variable.shape)), np.int64)
        self.written = np.zeros(self.values.shape, bool)
        self.sums = np.zeros(self.values.shape, np.int64)  # of what was added, without signs
        self.touched: list[tuple[str, int, np.ndarray, np.ndarray]] = []

    def inside(self, flat: np.ndarray) -> np.ndarray:
        """Indices, of which those outside are noted and replaced."""
        size = self.values.shape[1]
        if ((flat < 0) | (flat >= size)).any():
            self.block.left.append(self.variable.name)
            return flat % size
        return flat

    def read(self, element: np.ndarray, number: int, threads: np.ndarray) -> np.ndarray:
        """The values of some elements."""
        self.touched.append(("read", number, element, threads))
        if not self.written[number, element].all():
            self.block.unwritten = True
        return self.values[number, element]

    def put(self, element, number: int, operation: str, value, threads: np.ndarray) -> None:
        """Write to some elements."""
        value = np.broadcast_to(value, threads.shape)
        if operation == "=":
            self.values[number, element] = value
            self.written[number, element] = True
        elif operation == "+=":
            self.values[number, element] = self.read(element, number, threads) + value
        else:
            if not self.written[number, element].all():
                self.block.unwritten = True
            (np.maximum if operation == "max" else np.add).at(self.values[number], element, value)
            np.add.at(self.sums[number], element, abs(value))
        self.touched.append(("write" if operation in ("=", "+=") else "update", number, element, threads))
        largest = max(abs(self.values[number]).max(), self.sums[number].max())
        if largest > MOST.get(self.variable.type, 1 << 31):
            raise Rejected("a value that its type does not hold exactly")
        if self.variable.type in UNSIGNED and self.values[number].min() < 0:
            raise Rejected("a negative value of an unsigned type")

    def meet(self) -> tuple[bool, bool]:
        """(whether a thread writes what another one reads or updates, or two threads write one element) since the last
        barrier, which this is."""
        races = twice = False
        for number in range(len(self.values)):
            low, high = (
                {how: np.full(self.values.shape[1], first) for how in ("read", "write", "update")}
                for first in (1 << 30, -1)
            )
            for how, of, element, threads in self.touched:
                if of == number:
                    np.minimum.at(low[how], element, threads)
                    np.maximum.at(high[how], element, threads)
            write = high["write"] >= 0
            twice |= bool((low["write"] < high["write"])[write].any())
            for a, b in (("write", "read"), ("write", "update"), ("update", "read")):
                both = (high[a] >= 0) & (high[b] >= 0)
                races |= bool((both & ((low[a] != high[b]) | (high[a] != low[b]))).any())
        self.touched = []
        return races, twice


class _Names(dict):
    """What names mean in an expression; a scalar in shared memory is read when it is looked up."""

    def __init__(self, block: Block, threads: np.ndarray) -> None:
        super().__init__()
        self._block, self._threads = block, threads

    def __missing__(self, name: str) -> Any:
        block, threads = self._block, self._threads
        if name in block.memories:
            memory = block.memories[name]
            if memory.variable.shape:
                return _Elements(memory, threads, False)
            return memory.read(np.zeros(threads.shape, np.int64), 0, threads)
        value = block.variables[name]
        return value[threads] if isinstance(value, np.ndarray) and value.shape == (block.threads,) else value


@dataclass
class _Array:
    """An array of the launch."""

    values: np.ndarray

    def __getitem__(self, index) -> Any:
        if np.any((np.asarray(index) < 0) | (np.asarray(index) >= len(self.values))):
            raise Rejected("an index outside an array of the launch")
        return self.values[index]


def _same(value: Any) -> Any:
    return value


@dataclass
class Block:
    """One block that is executed: its variables, its shared memory, and what was wrong."""

    kernel: Kernel
    number: int
    fault: Fault | None
    variables: dict[str, Any] = field(default_factory=dict)
    memories: dict[str, _Memory] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)  # arrays that an access was outside of
    races: bool = False
    twice: bool = False
    unwritten: bool = False

    def __post_init__(self) -> None:
        kernel = self.kernel
        self.threads, t = kernel.threads, np.arange(kernel.threads)
        self.variables = {
            "t": t, "tx": t % 16, "ty": t // 16, "q": self.number, "n": kernel.n, "s": np.zeros(self.threads, np.int64),
            "x": _Array(kernel.x.astype(np.int64)), "w": _Array(kernel.w.astype(np.int64)), "min": np.minimum,
        }  # fmt: skip
        self.variables |= dict.fromkeys(
            ("float", "int", "double", "__half", "__nv_bfloat16", "__float2bfloat16"), _same
        )
        self.memories = {variable.name: _Memory(self, variable) for variable in kernel.shared}

    def value(self, text: str, threads: np.ndarray) -> Any:
        """What an expression is for some threads."""
        return eval(_code(rendered(text, self.fault)), {"__builtins__": {}}, _Names(self, threads))  # noqa: S307

    def holds(self, text: str, threads: np.ndarray) -> np.ndarray:
        """Where a condition holds; parts that && joins are looked at as far as those before them hold."""
        left = np.arange(len(threads))
        for part in text.split(" && "):
            holds = np.broadcast_to(self.value(part, threads[left]), left.shape) if len(left) else np.zeros(0, bool)
            left = left[holds.astype(bool)]
        return np.isin(np.arange(len(threads)), left)

    def put(self, target: str, operation: str, value: Any, threads: np.ndarray) -> None:
        """Assign to a variable of the threads, or to elements of a shared one."""
        name = re.match(r"\w+", target)[0]
        memory = self.memories.get(name)
        if memory is None:
            if operation == "+=":
                self.variables[name][threads] += value
            else:
                self.variables[name][threads] = value
        elif not memory.variable.shape:
            memory.put(np.zeros(threads.shape, np.int64), 0, operation, value, threads)
        else:
            names = _Names(self, threads)
            names[name] = _Elements(memory, threads, True)
            element, number = eval(_code(rendered(target, self.fault)), {"__builtins__": {}}, names)  # noqa: S307
            memory.put(element, number, operation, value, threads)

    def run(self, statements: Sequence[Statement], threads: np.ndarray) -> None:
        """Execute some statements."""
        for statement in statements:
            statement.run(self, threads)

    def end_epoch(self) -> None:
        """A barrier: look at what the threads did since the last one."""
        for memory in self.memories.values():
            races, twice = memory.meet()
            self.races |= races
            self.twice |= twice


@dataclass
class Result:
    """What a kernel leaves in y, and what is wrong with it."""

    y: np.ndarray
    left: list[str]
    races: bool
    twice: bool
    unwritten: bool


@dataclass
class Kernel:
    """A kernel `(const float *x, const int *w, float *y, int n)` and its launch."""

    threads: int
    blocks: int
    n: int
    x: np.ndarray
    w: np.ndarray
    shared: list[Shared]
    body: list[Statement]

    def source(self, name: str, fault: Fault | None = None) -> str:
        """Its text, without the includes."""
        writer = Writer(fault)
        for statement in self.body:
            statement.write(writer)
        structs = "".join(
            f"struct {variable.type} {{ float {variable.fields[0]}; int {variable.fields[1]}; }};\n"
            for variable in self.shared
            if variable.fields
        )
        structs = re.sub(r"struct (\w+)", rf"struct \1_{name}", structs)
        declared = "\n".join(f"    {variable.declaration}" for variable in self.shared)
        declared = re.sub(r"__shared__ (Pair\w*)", rf"__shared__ \1_{name}", declared)
        head = "const int t = threadIdx.x, tx = t % 16, ty = t / 16, q = blockIdx.x;"
        signature = f'extern "C" __global__ void {name}(const float *x, const int *w, float *y, int n)'
        return (
            f"{structs}{signature} {{\n{declared}\n    {head}\n    float s = 0;\n"
            + "\n".join(writer.lines)
            + f"\n    y[q * {self.threads} + t] = s;\n}}\n"
        )

    def run(self, fault: Fault | None = None) -> Result:
        """Execute it in NumPy. Raises Rejected if its result is not defined."""
        result = Result(np.zeros(self.blocks * self.threads, np.float32), [], False, False, False)
        for number in range(self.blocks):
            block = Block(self, number, fault)
            block.run(self.body, np.arange(self.threads))
            block.end_epoch()
            s = block.variables["s"]
            if abs(s).max() >= MOST["float"]:
                raise Rejected("a sum that a float does not hold exactly")
            result.y[number * self.threads : (number + 1) * self.threads] = s
            result.left += block.left
            result.races |= block.races
            result.twice |= block.twice
            result.unwritten |= block.unwritten
        return result
