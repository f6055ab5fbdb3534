"""What random kernels are made of: phases that load tiles, read them, add to them by atomic operations, turn them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.gpusim.random_kernels.language import (
    Assign,
    Atomic,
    Barrier,
    Declare,
    Fault,
    For,
    If,
    Kernel,
    Rejected,
    Shared,
    Statement,
)

INCLUDES_OF_HALVES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
INCLUDES = f"{INCLUDES_OF_HALVES}#include <cuda/atomic>\n"
LENGTH = 1024  # of x and w
TILES = ("float", "float", "float", "int", "short", "double", "signed char", "__half", "__nv_bfloat16")
BINS = ("int", "unsigned", "unsigned long long", "float", "double", "__half", "__nv_bfloat16")
NARROW = ("__half", "__nv_bfloat16")
SOURCES = ("x[G]", "x[G]", "w[G]", "x[G] + 1", "2 * x[G]", "x[G] * w[G]", "-x[G]", "x[G] - w[G]")
NEUTRAL = ("0", "0", "1", "-1", "2")
MOST_TRIES = 100
MOST_SHARED = 40_000  # bytes
SIZES = {"short": 2, "signed char": 1, "__half": 2, "__nv_bfloat16": 2, "double": 8, "unsigned long long": 8}


@dataclass
class Maker:
    """Makes one kernel up."""

    random: random.Random
    threads: int
    shared: list[Shared] = field(default_factory=list)
    sites: int = 0
    loops: int = 0
    barriers: int = 0
    variables: int = 0
    names: list[str] = field(
        default_factory=lambda: [
            "acc",
            "As",
            "Bs",
            "bins",
            "buffer",
            "column",
            "heap",
            "row",
            "tile",
            "total",
            "u",
            "z",
        ]
    )

    def chance(self, share: float) -> bool:
        """Whether something that happens so often happens."""
        return self.random.random() < share

    def pick(self, choices: Sequence):
        """One of several."""
        return self.random.choice(choices)

    # ---- parts
    def declare(self, type_: str, *shape: int, fields: tuple[str, ...] = ()) -> Shared:
        """A new variable in shared memory."""
        name = f"{self.pick(self.names)}{len(self.shared)}"
        self.shared.append(Shared(name, type_, shape, fields))
        return self.shared[-1]

    def site(self, index: str) -> str:
        """An index in which a fault may be planted."""
        self.sites += 1
        return f"«{self.sites - 1}:{index}»"

    def barrier(self) -> Barrier:
        """A barrier that may be left out."""
        self.barriers += 1
        return Barrier(self.barriers - 1)

    def loop(self, name: str, stop: str, body: list[Statement], step: int = 1, halving: bool = False) -> For:
        """A loop that may go on for too long."""
        self.loops += 1
        pragma = self.pick(("", "", "", "#pragma unroll", "#pragma unroll 1", "#pragma unroll 4"))
        return For(name, stop, body, step, self.loops - 1, "" if halving else pragma, halving)

    def variable(self, prefix: str) -> str:
        """A new name for a variable of the threads."""
        self.variables += 1
        return f"{prefix}{self.variables}"

    def at(self, array: Shared, index: str) -> str:
        """An element of an array of any number of dimensions, by the number that it has in all."""
        if len(array.shape) == 1:
            return f"{array.name}[{self.site(index)}]"
        columns = array.shape[1]
        return f"{array.name}[{self.site(f'({index}) / {columns}')}][{self.site(f'({index}) % {columns}')}]"

    def read(self, array: Shared, index: str) -> str:
        """The value of an element."""
        return self._as_number(array, self.at(array, index))

    def _as_number(self, array: Shared, text: str) -> str:
        return f"float({text})" if array.type in NARROW or self.chance(0.2) else text

    def put(self, array: Shared, target: str, value: str, **more) -> Assign:
        """`target = value`, in the array's type."""
        if array.type in NARROW:
            return Assign(target, f"{array.type}(float({value}))", **more)
        return Assign(target, value, **more)

    def anywhere(self, size: int, more: str = "k") -> str:
        """An index below `size` that depends on the thread and on a counter."""
        forms = (
            f"(t + {more}) % {size}", f"(t + {more}) % {size}", f"{size - 1} - (t + {more}) % {size}",
            f"(t * {self.pick((3, 5, 7))} + {more}) % {size}", f"(w[({more}) + t] + t) % {size}",
            f"(t / {self.pick((2, 4, 32))} + {more}) % {size}", f"(t % {min(size, 32)})", f"(({more}) % {size})",
        )  # fmt: skip
        return self.pick(forms)

    def one_each(self, size: int) -> str:
        """An index that no two of `size` threads have in common."""
        assert size >= self.threads
        last = size - 1
        return self.pick(
            ("t", "t", "t", f"{last} - t", f"(t + {self.pick((1, 5, 32))}) % {size}", "(t ^ 1)", "t % 32 + t / 32 * 32")
        )

    # ---- guarded loads
    def guarded(self, arrays: Sequence[tuple[Shared, str, str, str]], condition: str) -> list[Statement]:
        """(array, target, value, what it has where the condition does not hold) of each: in one of many forms."""
        form = self.random.randrange(9)
        then = [self.put(array, target, value) for array, target, value, _ in arrays]
        other = [self.put(array, target, neutral) for array, target, _, neutral in arrays]
        if self.chance(0.3):
            other.reverse()
        if form <= 1:
            return [If(condition, then, other)]
        if form == 2:
            return [
                If(condition, [first], [second], self.chance(0.5))
                for first, second in zip(
                    then, reversed(other) if other[0].target != then[0].target else other, strict=True
                )
            ]
        if form == 3:
            outer = self.pick(("t < 40", "t % 3 < 2", "q == 0", "x[t] > -1"))
            return [
                If(
                    outer,
                    [If(condition, then, other)],
                    [self.put(a, target, neutral) for a, target, _, neutral in arrays],
                )
            ]
        if form == 4 and " && " not in condition:
            return [If(f"({condition}) == 0", other, then)]
        if form == 5:
            faults = []
            for array, target, value, neutral in arrays:
                if array.type in NARROW:
                    value, neutral = f"{array.type}(float({value}))", f"{array.type}(float({neutral}))"
                elif self.chance(0.5):
                    value, neutral = f"float({value})", f"float({neutral})"
                faults.append(Assign(target, value, condition=condition, other=neutral))
            return faults
        if form == 6:
            faults = []
            for array, target, value, neutral in arrays:
                name = self.variable("v")
                faults += [
                    Declare("float", name, neutral),
                    If(condition, [Assign(name, value)], (), False),
                    self.put(array, target, name),
                ]
            return faults
        if form == 7:
            return [*other, If(condition, then)]
        some = [If(condition, [statement], (), False) for statement in then]
        return [
            each
            for pair in zip([self.put(a, target, neutral) for a, target, _, neutral in arrays], some, strict=True)
            for each in pair
        ]

    def condition(self, index: str) -> str:
        """When an element of x is loaded."""
        forms = (
            f"{index} < n",
            f"{index} < n",
            f"{index} < n && {index} % 3 != 1",
            f"{index} < n && t % 4 < 3",
            f"{index} < n && w[{index}] > 1",
        )
        return self.pick(forms)

    # ---- phases
    def tiles(self) -> list[Statement]:
        """Two or three tiles, loaded under guards and read, perhaps in a loop over tiles."""
        each = self.pick((1, 1, 2, 4))
        size = each * self.threads
        arrays = []
        for _ in range(self.random.randint(1, 3)):
            shape = (size,) if self.chance(0.6) or each == 1 else (each, self.threads)
            arrays.append(self.declare(self.pick(TILES), *shape))
        counter, inner = self.variable("k"), self.variable("i")
        in_loop, has_inner = self.chance(0.7), each > 1 or self.chance(0.4)
        i = inner if has_inner else "0"
        g = self.variable("g")
        index = f"{i} * {self.threads} + {self.one_each(self.threads)}"
        loads = [
            (array, self.at(array, index), self.pick(SOURCES).replace("G", g), self.pick(NEUTRAL)) for array in arrays
        ]
        start = f"q * 7 + {counter}" if in_loop else "q * 7"
        body: list[Statement] = [
            Declare("int", g, f"{start} + {i} * {self.threads} + t"), *self.guarded(loads, self.condition(g))
        ]  # fmt: skip
        if has_inner:
            body = [self.loop(inner, str(each), body)]
        body += [self.barrier(), *self.use(arrays), self.barrier()]
        return [self.loop(counter, "96", body, self.pick((16, 32, 48)))] if in_loop else body

    def use(self, arrays: Sequence[Shared]) -> list[Statement]:
        """Read arrays that all threads have filled."""
        j = self.variable("j")
        size = int(np.prod(arrays[0].shape))
        form = self.random.randrange(6)
        if form <= 1:
            factors = [
                self.read(array, j if n == 0 or self.chance(0.5) else f"({j} + t) % {size}")
                for n, array in enumerate(arrays)
            ]
            return [self.loop(j, str(size), [Assign("s", " * ".join((*factors, f"(({j} + t) % 3)")), "+=")])]
        if form == 2:
            return [Assign("s", self.read(array, self.anywhere(size, "3")), "+=") for array in arrays]
        if form == 3:
            both = " + ".join(self.read(array, self.anywhere(size, "5")) for array in arrays)
            return [Assign("s", both, "+=")]
        a, b = arrays[0], arrays[-1]
        every = [Assign("s", self.read(array, self.anywhere(size, "2")), "+=") for array in arrays[1:-1]]
        texts = [self.read(array, self.anywhere(size, j)) for array in (b, b, a)]
        condition = self.pick(
            (f"w[{j}] % 2 == 0", f"w[{j}] > 2", f"x[{j} + t] > 0", f"{j} % 3 == 1", f"(t + {j}) % 4 < 2")
        )
        branch = If(condition, [Assign("s", texts[1], "+=")], [Assign("s", texts[2], "+=")], self.chance(0.5))
        first = [Assign("s", texts[0], "+=")] if self.chance(0.6) else []
        return [*every, self.loop(j, self.pick(("8", "5", "16")), [*first, branch])]

    def bins(self) -> list[Statement]:
        """Atomic operations on bins or on a scalar, in one line with loads."""
        type_ = self.pick(BINS)
        is_scalar = self.chance(0.25)
        count = 1 if is_scalar else self.pick((8, 32, 64))
        bins = self.declare(type_) if is_scalar else self.declare(type_, count)
        signed = type_ not in ("unsigned", "unsigned long long")
        tile_type = self.pick(("int", "float", "short", type_ if signed else "int"))
        tile = self.declare(tile_type, self.threads)
        second = self.declare(self.pick(("int", "float", "signed char")), self.threads) if self.chance(0.3) else None
        few = type_ == "__nv_bfloat16" or tile_type == "__nv_bfloat16"
        source = (
            self.pick(("w[t] % 2", "1"))
            if few
            else self.pick(("w[t]", "w[t + 3]", "x[t] + 2", *(("x[t]",) if signed else ())))
        )
        lines: list[Statement] = []
        if is_scalar:
            lines.append(If("t == 0", [self.put(bins, bins.name, "0")], (), False))
        elif self.chance(0.5) and count <= self.threads:
            lines.append(If(f"t < {count}", [self.put(bins, self.at(bins, "t"), "0")], (), False))
        else:
            i = self.variable("i")
            lines.append(If("t == 0", [self.loop(i, str(count), [self.put(bins, self.at(bins, i), "0")])]))
        lines.append(self.put(tile, self.at(tile, self.one_each(self.threads)), source))
        if second is not None:
            lines.append(self.put(second, self.at(second, "t"), "w[t] % 3"))
        lines.append(self.barrier())
        target = (
            bins.name
            if is_scalar
            else self.at(
                bins,
                self.pick(
                    (
                        "0",
                        f"t % {count}",
                        f"(t + 1) % {count}",
                        f"w[t] % {count}",
                        f"t * 3 % {count}",
                        f"int({self.read(tile, 't')} + 4) % {count}",
                    )
                ),
            )
        )
        value = self.read(tile, self.anywhere(self.threads, "2"))
        if second is not None:
            value += f" * {self.read(second, self.anywhere(self.threads, '1'))}"
        elif self.chance(0.3) and not few:
            value += " * 2"
        if not signed and tile_type != "int" or self.chance(0.1):
            value = f"int({value})"
        value = f"{type_}(float({value}))" if type_ in NARROW else value
        operation = "max" if type_ in ("int", "unsigned", "unsigned long long") and self.chance(0.3) else "add"
        form = f"atomic{operation.title()}(&TARGET, ({type_})(VALUE));"
        if operation == "add" and self.chance(0.2) and type_ not in NARROW:
            form = f"cuda::atomic_ref<{type_}, cuda::thread_scope_block>(TARGET).fetch_add(({type_})(VALUE));"
        elif operation == "add" and self.chance(0.1) and type_ not in NARROW:
            form = f"atomicAdd_block(&TARGET, ({type_})(VALUE));"
        atomic: Statement = Atomic(target, value, operation, form)
        if self.chance(0.3):
            atomic = If(self.pick(("t % 2 == 0", "t < 50", "w[t] > 1", "t / 32 == 0")), [atomic], (), self.chance(0.5))
        if self.chance(0.2):
            atomic = self.loop(self.variable("r"), "3", [atomic])
        lines += [atomic, self.barrier()]
        lines.append(
            Assign("s", self._as_number(bins, bins.name) if is_scalar else self.read(bins, f"t % {count}"), "+=")
        )
        if self.chance(0.4):
            lines.append(Assign("s", self.read(tile, self.anywhere(self.threads, "4")), "+="))
        return [*lines, self.barrier()]

    def turned(self) -> list[Statement]:
        """Tiles of 16 × 16, padded or not, written by rows and read by columns, or multiplied."""
        rows, padding = self.threads // 16, self.pick((0, 1, 1, 4))
        square = rows == 16
        arrays = [
            self.declare(self.pick(TILES[:6]), 16 if square else rows, 16 + padding)
            for _ in range(self.random.randint(1, 2))
        ]
        a, b = arrays[0], arrays[-1]
        lines: list[Statement] = []
        for array in arrays:
            r, c = ("tx", "ty") if square and self.chance(0.4) else ("ty", "tx")
            target = f"{array.name}[{self.site(r)}][{self.site(c)}]"
            lines += self.guarded([(array, target, self.pick(SOURCES).replace("G", "t"), "0")], "t < n")
        lines.append(self.barrier())
        k = self.variable("k")
        if square and self.chance(0.6):
            product = f"{a.name}[{self.site('ty')}][{self.site(k)}] * {b.name}[{self.site(k)}][{self.site('tx')}]"
            lines.append(self.loop(k, "16", [Assign("s", product, "+=")]))
        elif square:
            for array in arrays:
                lines.append(Assign("s", f"{array.name}[{self.site('tx')}][{self.site('ty')}]", "+="))
        else:
            element_of_a = f"{a.name}[{self.site(f'{rows - 1} - ty')}][{self.site(k)}]"
            text = f"{element_of_a} + {b.name}[{self.site('ty')}][{self.site('15 - tx')}]"
            lines.append(self.loop(k, "16", [Assign("s", text, "+=")]))
        return [*lines, self.barrier()]

    def reduced(self) -> list[Statement]:
        """A tree of sums in shared memory."""
        array = self.declare(self.pick(("float", "int", "double")), self.threads)
        h = self.variable("h")
        lines: list[Statement] = [
            self.put(array, self.at(array, "t"), self.pick(("x[t]", "w[t]", "x[t + q]"))),
            self.barrier(),
        ]
        step = Assign(self.at(array, "t"), self.read(array, f"t + {h}"), "+=")
        lines.append(self.loop(h, str(self.threads), [If(f"t < {h}", [step], (), False), self.barrier()], halving=True))
        return [*lines, Assign("s", self.read(array, "0"), "+="), self.barrier()]

    def structs(self) -> list[Statement]:
        """An array of structs beside a scalar."""
        array = self.declare(f"Pair{len(self.shared)}", self.threads, fields=("v", "k"))
        scalar = self.declare(self.pick(("int", "float", "short")))
        element = lambda index: f"{array.name}[{self.site(index)}]"  # noqa: E731
        each = self.one_each(self.threads)
        values = (("v", "float", "x[t]", "0"), ("k", "int", "w[t]", "1"))
        loads = [(Shared("", type_, ()), f"{element(each)}.{name}", *of) for name, type_, *of in values]
        lines: list[Statement] = [
            *self.guarded(loads, "t < n"),
            If("t == 0", [Assign(scalar.name, "w[q + 2]")], (), False), self.barrier(),
        ]  # fmt: skip
        first, second = (element(self.anywhere(self.threads, str(n))) for n in (1, 6))
        return [*lines, Assign("s", f"{first}.v * {second}.k + {scalar.name}", "+="), self.barrier()]

    def stages(self) -> list[Statement]:
        """Two halves of an array, of which one is filled while the other is read."""
        array, beside = (
            self.declare(self.pick(TILES[:7]), 2, self.threads),
            self.declare(self.pick(TILES[:7]), self.threads),
        )
        k = self.variable("k")
        first = self.put(array, f"{array.name}[{self.site('0')}][{self.site('t')}]", "x[t]")
        following = self.put(array, f"{array.name}[{self.site(f'({k} + 1) % 2')}][{self.site('t')}]", f"x[t + {k}]")
        read = f"{array.name}[{self.site(f'{k} % 2')}][{self.site(self.anywhere(self.threads, k))}]"
        read += f" * {self.read(beside, self.anywhere(self.threads, k))}"
        body: list[Statement] = [following, Assign("s", read, "+="), self.barrier()]
        return [
            first,
            self.put(beside, self.at(beside, "t"), "w[t]"),
            self.barrier(),
            self.loop(k, "6", body),
            self.barrier(),
        ]

    def copied(self) -> list[Statement]:
        """One array copied into another on a line."""
        a, b = (self.declare(self.pick(TILES[:6]), self.threads) for _ in range(2))
        lines: list[Statement] = [self.put(a, self.at(a, self.one_each(self.threads)), "x[t] + w[t]"), self.barrier()]
        source = self.read(a, self.one_each(self.threads))
        lines += [Assign(self.at(b, self.one_each(self.threads)), source), self.barrier()]
        return [*lines, *self.use([b, a]), self.barrier()]


PHASES = ("tiles", "tiles", "tiles", "bins", "bins", "bins", "turned", "reduced", "structs", "stages", "copied")


def _tried(seed: int, attempt: int) -> tuple[Kernel, Maker]:
    rng = random.Random(f"{seed}/{attempt}")
    maker = Maker(rng, rng.choice((64, 128, 256)))
    body: list[Statement] = []
    for _ in range(rng.randint(1, 3)):
        body += getattr(maker, rng.choice(PHASES))()
    size = sum(
        SIZES.get(variable.type, 8 if variable.fields else 4) * int(np.prod(variable.shape))
        for variable in maker.shared
    )
    if size > MOST_SHARED:
        raise Rejected("more shared memory than a block has")
    rng.shuffle(maker.shared)
    values = np.random.default_rng([seed, attempt])
    x = values.integers(-2, 3, LENGTH).astype(np.float32)
    w = values.integers(0, 6, LENGTH).astype(np.int32)
    n = rng.choice((maker.threads, 100, 200, 1000))
    return Kernel(maker.threads, rng.choice((1, 1, 2)), n, x, w, maker.shared, body), maker


def right(seed: int) -> tuple[Kernel, Maker, np.ndarray]:
    """The right kernel of a seed, how it was made, and its result."""
    for attempt in range(MOST_TRIES):
        try:
            kernel, maker = _tried(seed, attempt)
            result = kernel.run()
        except Rejected:
            continue
        if not (result.left or result.races or result.twice or result.unwritten):
            return kernel, maker, result.y
    raise AssertionError(f"seed {seed} gives no right kernel in {MOST_TRIES} attempts")


def _faults(maker: Maker, rng: random.Random, threads: int) -> Iterator[Fault]:
    """Faults that may be planted, in a random order."""
    while True:
        kind = rng.choice(("site", "site", "site", "rounds", "barrier"))
        if kind == "site" and maker.sites:
            shift = rng.choice((1, 1, 1, -1, -1, 2, -3, 8, -8, threads // 2, -threads // 2, threads, -threads))
            yield Fault("site", rng.randrange(maker.sites), shift)
        elif kind == "rounds" and maker.loops:
            yield Fault("rounds", rng.randrange(maker.loops), rng.choice((1, 1, 2)))
        elif kind == "barrier":
            yield Fault("barrier", rng.randrange(maker.barriers))


def planted(seed: int) -> tuple[Kernel, Fault, str]:
    """The kernel of a seed, a fault which shows in it, and its kind.

    A fault shows if a thread goes outside an array (not only outside a row of it), or if without the barrier two
    threads touch one element, of which one writes: that is seen in NumPy.
    """
    for attempt in range(MOST_TRIES):
        kernel, maker, _ = right(seed + attempt * 1_000_003)
        faults = _faults(maker, random.Random(f"fault {seed}"), kernel.threads)
        for _ in range(MOST_TRIES):
            fault = next(faults)
            try:
                result = kernel.run(fault)
            except Rejected:
                continue
            if fault.kind == "barrier":
                if result.races:
                    return kernel, fault, "a barrier left out"
            elif result.left:
                more = (
                    "too many rounds"
                    if fault.kind == "rounds"
                    else "a negative index"
                    if fault.shift < 0
                    else "an index too large"
                )
                return kernel, fault, more
    raise AssertionError(f"no fault shows in the kernel of seed {seed}")
