"""CUDA kernels made up from a seed whose threads have several arrays, in structs, scopes and functions that are called,
and pointers to them.

All indices are inside, and every element is written before it is read: so both levels must give the same, and nothing
may be found. With `beyond` one more index leaves its array. The tests try some; as many others as you like:

    python -m tests.gpusim.random_local_arrays FIRST_SEED COUNT [sm_120]

names those of which something is found, and says of how many the index that leaves its array is not.
"""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass

import numpy as np

SIZES = (4, 8, 12, 16, 20, 32, 64, 100)
INDICES = ("i", "j", "t", "n", "w", "x[t]", "i * n", "t ^ i", "w + t", "i * 3 + j", "n * n", "i >> 1")
OPTIONS = ((), (), (), ("-G",), ("--maxrregcount=32",), ("--ptxas-options=-O1",))
N, W = 5, 3  # what is passed for n and w

FUNCTIONS = """
struct Pair { int first[12]; int second[20]; };
template <class T> __device__ int look(const T *p, int i) {
return p[i];
}
template <class T> __device__ INLINED void move(T *p, const T *q, int i, int j) {
p[i] = look(q, j);
}
__device__ __noinline__ void raise(int *p, int count, int w) {
for (int i = 0; i < count; ++i) p[i] += i * w;
}
"""


@dataclass(frozen=True)
class Array:
    """What is indexed, `a` or `p.first`, and its type and size; `declared`, if it is an array of its own."""

    name: str
    type: str
    size: int
    declared: bool = True


class Writer:
    """Writes a program, one statement a line, all of `s` and of arrays that are set."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.functions: list[str] = []  # that may be called
        self.recurses = False

    def name(self) -> str:
        self.names += 1
        return f"a{self.names}"

    def element(self, array: Array) -> str:
        index, way = self.random.choice(INDICES), self.random.randrange(3)
        if way == 0:
            return f"{array.name}[max(0, min({array.size - 1}, {index}))]"
        power_of_two = not array.size & (array.size - 1)
        index = f"({index}) & {array.size - 1}" if power_of_two else f"unsigned({index}) % {array.size}u"
        return f"{array.name}[{index}]"

    def value(self, arrays: list[Array]) -> str:
        first, other = (self.element(self.random.choice(arrays)) for _ in range(2))
        return self.random.choice((first, other, f"({first} - {other})", f"{first} * n", "w + j", "x[t]", "i * t", "s"))

    def store(self, arrays: list[Array]) -> str:
        return f"{self.element(self.random.choice(arrays))} {self.random.choice(('=', '+='))} {self.value(arrays)};"

    def pointer(self, arrays: list[Array]) -> str:
        first, other = (self.random.choice([each for each in arrays if each.type == "int"]) for _ in range(2))
        least = Array("p", "int", min(first.size, other.size))
        start = self.random.randrange(first.size)
        to, of = (self.element(each)[len(each.name) + 1 : -1] for each in (first, other))
        return self.random.choice((
            f"{{ int *p = n & 4 ? {first.name} : {other.name}; {self.element(least)} += {self.value(arrays)}; }}",
            f"for (int *p = {first.name} + {first.size}; p-- > {first.name};) *p += w;",
            f"for (int *p = {first.name}; p < {first.name} + {first.size}; ++p) s += *p;",
            f"raise({first.name} + {start}, {first.size - start}, w);",
            f"move({first.name}, {other.name}, {to}, {of});",
            f"s += look({first.name}, {to}) - look({other.name}, {of});",
            f"memcpy({first.name}, {other.name}, {4 * least.size});" if first != other else f"s -= {first.name}[0];",
            *(f"s += {self.called()}({first.name}, x, t, n, w);" for _ in self.functions),
        ))  # fmt: skip

    def called(self) -> str:
        first, other = (self.random.choice(self.functions) for _ in range(2))
        return first if self.random.random() < 0.8 else f"(x[t] & 1 ? {first} : {other})"

    def function(self, beyond: bool) -> str:
        """A function that is called, which has arrays of its own and one that it is given."""
        name = f"f{len(self.functions)}"
        given = Array("q", "int", min(SIZES), False)
        body, arrays = self.block([given], 1)
        body += self.beyond(arrays) if beyond else []
        if self.random.random() < 0.5 and sum(each.size for each in arrays) < 80:  # its stack is small
            self.recurses = True
            body.append(f"if (n > 4) s += {name}({self.random.choice(arrays[:1]).name}, x, t, n - 1, w);")
        self.functions.append(name)
        head = f"__device__ __noinline__ int {name}(int *q, const int *x, int t, int n, int w) {{"
        return "\n".join((head, "const int i = 1, j = 2;\nint s = 0;", *body, "return s;", "}"))

    def beyond(self, arrays: list[Array]) -> list[str]:
        """An index that leaves an array, and one more that does not."""
        # Of integers sizes are multiples of 16 bytes, as arrays are aligned: nothing is left free behind one.
        array = self.random.choice([each for each in arrays if each.declared and each.type == "int"])
        index = self.random.choice((f"w + {array.size - W}", f"n + {array.size + 1 - N}", "SIZE + x[0] * n"))
        element = f"{array.name}[{index.replace('SIZE', str(array.size))}]"
        return [
            self.random.choice((f"{element} = n * t;", f"s += {element};")),
            f"s += {array.name}[unsigned(x[t]) % {array.size}u];",
        ]

    def declaration(self, of_integers: bool) -> tuple[str, list[Array]]:
        name, size = self.name(), self.random.choice(SIZES)
        if not of_integers and self.random.random() < 0.2:
            members = Array(f"{name}.first", "int", 12, False), Array(f"{name}.second", "int", 20, False)
            return f"Pair {name};", [*members]
        type_ = "int" if of_integers else self.random.choice(("int", "short", "char"))
        return f"{type_} {name}[{size}];", [Array(name, type_, size)]

    def block(self, known: list[Array], depth: int) -> tuple[list[str], list[Array]]:
        """Statements, and the arrays that are known behind them."""
        lines: list[str] = []
        arrays = list(known)
        begins = len(known) < 2  # a function, which has an array of integers
        for number in range(self.random.randint(1, 3) + begins):
            declared, new = self.declaration(of_integers=begins and not number)
            lines.append(declared)
            for each in new:
                whole = f"for (int k = 0; k < {each.size}; ++k) {each.name}[k] = k * n - w;"
                lines.append(self.random.choice((whole, f"memset({each.name}, 1, sizeof {each.name});")))
            arrays += new
        for _ in range(self.random.randint(2, 6)):
            kind = self.random.random()
            if kind < 0.3:
                lines.append(self.store(arrays))
            elif kind < 0.5:
                lines.append(f"s += {self.value(arrays)};")
            elif kind < 0.7:
                lines.append(self.pointer(arrays))
            elif kind < 0.85:
                rounds = self.random.choice(("n", "8", "40", "w"))
                inside = [self.random.choice((self.store(arrays), f"s += {self.value(arrays)};")) for _ in range(2)]
                lines += [f"for (int i = 0; i < {rounds}; ++i) {{", *inside, "}"]
            elif kind < 0.93:
                stores = self.store(arrays), self.store(arrays)
                lines.append(f"if ({self.value(arrays)} > w) {{ {stores[0]} }} else {{ {stores[1]} }}")
            elif depth:
                lines += ["{", *self.block(arrays, depth - 1)[0], "}"]
        return lines, arrays

    def program(self, beyond: bool, called: bool = False) -> str:
        """The text; with `beyond` one index leaves its array, in a function that is called if that is asked for."""
        functions = [self.function(beyond and called) for _ in range(self.random.randint(int(called), 2))]
        body, arrays = self.block([], 2)
        body += [f"s += {name}({arrays[0].name}, x, t, n, w);" for name in self.functions[:1] if called]
        body += self.beyond(arrays) if beyond and not called else []
        inlined = self.random.choice(("", "__forceinline__", "__noinline__"))
        head = 'extern "C" __global__ void kernel(unsigned *o, const int *x, int n, int w) {'
        start = "const int t = threadIdx.x, i = 1, j = 2;\nint s = 0;"
        return "\n".join(
            (FUNCTIONS.replace("INLINED", inlined), *functions, head, start, *body, "o[t] = s;", "}")
        )  # fmt: skip


def outcome(
    seed: int, level: str, beyond: bool = False, arch: str = "sm_90", called: bool = False
) -> tuple[str, bytes]:
    """(what is found in the program of a seed, "" if that is nothing; its results)."""
    import gpusim

    writer = Writer(seed)
    source = writer.program(beyond, called)
    options = () if writer.recurses else OPTIONS[seed % len(OPTIONS)]  # with -G frames are too large for the stack
    kernel = gpusim.RawModule(code=source, options=options, arch=arch).get_function("kernel")
    o, x = np.zeros(32, np.uint32), np.arange(32, dtype=np.int32) * 7 % 64
    try:
        with gpusim.record(level=level, checks="raise"):
            kernel((1,), (32,), (o, x, np.int32(N), np.int32(W)))
    except gpusim.SimulatorError as error:
        return f"{type(error).__name__}: {error}", b""
    return "", o.tobytes()


def main(first: int, count: int, arch: str = "sm_90") -> None:
    """Try the programs of some seeds."""
    missed = {(level, called): 0 for called in (False, True) for level in ("sass", "ptx")}
    for seed in range(first, first + count):
        results = {False: set(), True: set()}
        for level, called in missed:
            what, result = outcome(seed, level, False, arch, called)
            results[called].add(result)
            if what:
                print(f"seed {seed}, {level}, {called}: {what}", flush=True)
            missed[level, called] += not outcome(seed, level, True, arch, called)[0].startswith("OutOfBounds")
        if any(len(each) > 1 for each in results.values()):
            print(f"seed {seed}: the levels disagree", flush=True)
    for (level, called), number in missed.items():
        where = "a function that is called" if called else "the kernel"
        print(f"of {count} not found beyond its array in {where}: {number} ({level})")


if __name__ == "__main__":
    os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
