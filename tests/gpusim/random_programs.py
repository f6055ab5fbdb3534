"""CUDA kernels made up from a seed: expressions, branches, loops, shared arrays, shuffles, local arrays, atomics.

Every program is defined behaviour: unsigned arithmetic wraps, divisors are not zero, shift amounts are masked, indices
are reduced, and barriers and shuffles stand where all threads pass. So PTX and SASS must give the same bits, and the
sanitizer must find nothing. The tests try some; as many others as you like:

    python tests/gpusim/random_programs.py FIRST_SEED COUNT

tries the programs of these seeds and names those on which the levels disagree; with `calls` behind that, those whose
functions are called.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

THREADS, BLOCKS = 64, 3
ARCHITECTURES = ("sm_90", "sm_80", "sm_75", "sm_86")
# Programs on which PTX level and machine code disagree, or did once: see goldens/meeting.py.
DISPUTED = (9100634, 9102508, 9102773, 9103560, 9103664, 9103941)
OPTIONS = ("--fmad=false",)  # what PTX leaves open, whether a * b + c is one rounding, is not to be compared

_INTEGER = (
    "({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} & {b})", "({a} | {b})", "({a} ^ {b})", "(~{a})",
    "({a} << ({b} & 31u))", "({a} >> ({b} & 31u))", "unsigned(int({a}) >> ({b} & 31u))", "({a} / ({b} | 1u))",
    "({a} % ({b} | 1u))", "unsigned(int({a}) / int({b} & 0xffu | 1u))", "unsigned(int({a}) % int({b} & 0x7fffu | 1u))",
    "({a} / {k}u)", "({a} % {k}u)", "unsigned(int({a}) / {k})", "unsigned(int({a}) % -{k})",
    "min({a}, {b})", "unsigned(max(int({a}), int({b})))", "unsigned(abs(int({a}) >> 1))",
    "({a} < {b} ? {c} : {a})", "(int({a}) >= int({b}) ? {a} : {c})", "({a} == {b} ? 1u : {b})",
    "unsigned(__popc({a}))", "unsigned(__clz(int({a})))", "__brev({a})", "__umulhi({a}, {b})",
    "unsigned(__mulhi(int({a}), int({b})))", "__byte_perm({a}, {b}, {c})", "__funnelshift_l({a}, {b}, {c})",
    "__funnelshift_r({a}, {b}, {c})", "unsigned(static_cast<unsigned char>({a}))", "unsigned(static_cast<short>({a}))",
    "unsigned(static_cast<unsigned long long>({a}) * {b} >> ({c} & 63u))",
    "unsigned(static_cast<long long>(int({a})) * int({b}) >> 17)",
    "unsigned(((static_cast<unsigned long long>({a}) << 32) | {b}) / ({c} | 1u))",
    "unsigned((static_cast<long long>(int({a})) << 20) % (int({b}) | 1))", "(({a} >> 3 & 31u) * {b} + {c})",
    "unsigned(__float2int_rz({f}))", "bits_of({f})", "unsigned(__float2int_rn({f} * 8.0f))",
    "unsigned({f} < {g})", "unsigned(__ffs(int({a})))", "({a} & {b} | ~{a} & {c})", "(({a} ^ {b}) & {c})",
)  # fmt: skip
_FLOAT = (
    "({f} + {g})", "({f} - {g})", "({f} * {g})", "__fmaf_rn({f}, {g}, {h})", "fminf({f}, {g})", "fmaxf({f}, {g})",
    "fabsf({f})", "(- {f})", "({f} < {g} ? {h} : {f})", "(({a} & 1u) ? {f} : {g})", "float(int({a}))", "float({a})",
    "floorf({f})", "truncf({f})", "rintf({f})", "ceilf({f})", "({f} / {g})", "sqrtf(fabsf({f}))", "with_sign({f}, {g})",
    "__uint_as_float({a} & 0x3fffffffu)", "(1.0f / {f})", "float(double({f}) * 1.1 + double({g}))",
    "float(double({f}) / (double({g}) * double({g}) + 0.5))", "__fadd_rz({f}, {g})", "__fmul_ru({f}, {g})",
)  # fmt: skip


@dataclass
class _Writer:
    random: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    integers: list[str] = field(default_factory=lambda: ["x", "y"])
    floats: list[str] = field(default_factory=lambda: ["p", "q"])
    constants: list[str] = field(default_factory=lambda: ["t"])  # may be read only
    loops: int = 0
    names: int = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def integer(self, depth: int = 2) -> str:
        """An unsigned expression."""
        if depth == 0 or self.random.random() < 0.25:
            names = [*self.integers, *self.constants]
            return self.random.choice([*names, *names, f"{self.random.getrandbits(32)}u", "3u", "0x80u"])
        return self._filled(self.random.choice(_INTEGER), depth)

    def number(self, depth: int = 2) -> str:
        """A float expression."""
        if depth == 0 or self.random.random() < 0.25:
            constant = f"{self.random.uniform(-4, 4):.6f}f"
            return self.random.choice([*self.floats, *self.floats, constant, "0.0f"])
        return self._filled(self.random.choice(_FLOAT), depth)

    def _filled(self, form: str, depth: int) -> str:
        parts = {name: self.integer(depth - 1) for name in "abc"} | {name: self.number(depth - 1) for name in "fgh"}
        return form.format(**parts, k=self.random.choice((3, 7, 10, 16, 100, 641)))

    def condition(self) -> str:
        a, b = self.integer(1), self.integer(1)
        forms = (
            f"({a} & {self.random.choice((1, 2, 4, 3))}u)", f"{a} < {b}", f"int({a}) > int({b})",
            f"{self.number(1)} < {self.number(1)}",
            f"({a} & 1u) && {b} > 77u", f"({a} & 2u) || !({b} & 4u)", "lane < 11u", "(t & 8u)",
        )  # fmt: skip
        return self.random.choice(forms)

    def new(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    # ---- statements
    def assignment(self) -> None:
        if self.random.random() < 0.6:
            target = self.random.choice(self.integers)
            self.line(f"{target} {self.random.choice(('=', '+=', '^='))} {self.integer()};")
        else:
            target = self.random.choice(self.floats)
            self.line(f"{target} = {self.number()};")

    def declaration(self) -> None:
        if self.random.random() < 0.6:
            expression, name = self.integer(3), self.new("i")
            self.line(f"unsigned {name} = {expression};")
            self.integers.append(name)
        else:
            expression, name = self.number(3), self.new("f")
            self.line(f"float {name} = {expression};")
            self.floats.append(name)

    def block(self, size: int, depth: int, in_loop: bool) -> None:
        """Statements in braces; what they declare is forgotten after them."""
        known = len(self.integers), len(self.floats)
        self.indent += 1
        for _ in range(size):
            self.statement(depth, in_loop)
        self.indent -= 1
        del self.integers[known[0] :], self.floats[known[1] :]

    def branch(self, depth: int, in_loop: bool) -> None:
        self.line(f"if ({self.condition()}) {{")
        self.block(self.random.randint(1, 3), depth - 1, in_loop)
        if self.random.random() < 0.5:
            self.line("} else {")
            self.block(self.random.randint(1, 3), depth - 1, in_loop)
        self.line("}")

    def loop(self, depth: int) -> None:
        self.loops += 1
        counter = self.new("k")
        bound = self.random.choice(("5u", "(t & 3u) + 1u", "x % 6u", "lane / 5u"))
        self.line(f"for (unsigned {counter} = 0; {counter} < {bound}; ++{counter}) {{")
        self.constants.append(counter)
        self.block(self.random.randint(1, 3), depth - 1, True)
        self.constants.remove(counter)
        self.line("}")
        self.loops -= 1

    def switch(self, depth: int, in_loop: bool) -> None:
        self.line(f"switch ({self.integer(1)} & 7u) {{")
        for case in range(self.random.randint(2, 8)):
            self.line(f"    case {case}u: {{")
            self.indent += 1
            self.block(1, 0, False)
            self.indent -= 1
            self.line("    } " + self.random.choice(("break;", "break;", "")))
        self.line(f"    default: x += {self.integer(1)};")
        self.line("}")

    def local_array(self) -> None:
        name = self.new("array")
        self.line(f"unsigned {name}[8];")
        self.line(f"for (int m = 0; m < 8; ++m) {name}[m] = {self.integer(1)} + m;")
        self.line(f"{name}[{self.integer(1)} & 7u] = {self.integer(1)};")
        self.line(f"x ^= {name}[{self.integer(1)} & 7u];")

    def statement(self, depth: int, in_loop: bool) -> None:
        kind = self.random.random()
        if kind < 0.45 or depth == 0:
            self.assignment()
        elif kind < 0.6:
            self.declaration()
        elif kind < 0.75:
            self.branch(depth, in_loop)
        elif kind < 0.85 and self.loops < 2:
            self.loop(depth)
        elif kind < 0.9:
            self.switch(depth, in_loop)
        elif kind < 0.94:
            self.local_array()
        elif in_loop:
            self.line(f"if ({self.condition()}) {self.random.choice(('break', 'continue'))};")
        else:
            self.line(f"if ({self.condition()}) out_i[at] = {self.integer(1)};")

    def exchange(self) -> None:
        """What all threads of a block do together: shared memory, shuffles, votes, atomics."""
        kind = self.random.randrange(6)
        if kind == 0:
            self.line(f"tile[threadIdx.x] = {self.integer()};")
            self.line("__syncthreads();")
            self.line(f"y += tile[({self.random.choice(('t + 1u', 't ^ 5u', '63u - t', 't * 5u'))}) & 63u];")
            self.line("__syncthreads();")
        elif kind == 1:
            self.line(f"ftile[(t * 3u) & 63u] = {self.number()};")
            self.line("__syncthreads();")
            self.line("q = ftile[t ^ 33u] + p;")
            self.line("__syncthreads();")
        elif kind == 2:
            mode = self.random.choice(("__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync"))
            self.line(f"x += {mode}(0xffffffffu, {self.integer(1)}, {self.random.choice((1, 2, 8, 16))});")
        elif kind == 3:
            self.line(f"p += __shfl_sync(0xffffffffu, {self.number(1)}, int({self.integer(1)} & 31u), 16);")
        elif kind == 4:
            self.line(f"y ^= __ballot_sync(0xffffffffu, {self.condition()});")
            self.line(f"x += __any_sync(0xffffffffu, {self.condition()}) ? 5u : 9u;")
        else:
            self.line("if (t < 8u) bins[t] = 0;")
            self.line("__syncthreads();")
            self.line(f"atomicAdd(&bins[{self.integer(1)} & 7u], {self.integer(1)});")
            self.line("__syncthreads();")
            self.line("x += bins[t & 7u];")
            self.line("__syncthreads();")


def program(seed: int) -> str:
    """The CUDA source of `kernel(const unsigned *a, const float *b, unsigned *out_i, float *out_f, int n)`."""
    return _program(seed, _Writer(random.Random(seed)), "")


def _program(seed: int, writer: _Writer, functions: str) -> str:
    for _ in range(writer.random.randint(3, 6)):
        for _ in range(writer.random.randint(1, 3)):
            writer.statement(2, False)
        writer.exchange()
    body = "\n".join(writer.lines)
    return f"""// Random program {seed}
// The sign and the other bits of a NaN are left open.
__device__ unsigned bits_of(float value) {{ return value == value ? __float_as_uint(value) : 5u; }}
__device__ float with_sign(float value, float sign) {{ return sign == sign ? copysignf(value, sign) : value; }}
{functions}
extern "C" __global__ void kernel(const unsigned *a, const float *b, unsigned *out_i, float *out_f, int n) {{
    __shared__ unsigned tile[{THREADS}], bins[8];
    __shared__ float ftile[{THREADS}];
    const unsigned t = threadIdx.x, lane = t % 32u, at = blockIdx.x * {THREADS}u + t;
    unsigned x = a[at], y = a[(at * 7u + 3u) % unsigned(n)];
    float p = b[at], q = b[(at * 5u + 1u) % unsigned(n)];
{body}
    out_i[at] = x + 3u * y;
    out_f[at] = p * 0.5f + q;
}}
"""


CALLED = 3  # functions of a program with calls
SIGNATURE = "unsigned x, float p, unsigned t, unsigned depth, unsigned *out_i, unsigned at"


class _Caller(_Writer):
    """Writes what calls functions, which call others and themselves: by name, or through a table of them."""

    depth = "2u"  # of the calls in a call that it writes

    def assignment(self) -> None:
        if self.loops or self.random.random() < 0.7:
            super().assignment()
            return
        function = self.random.choice(
            (f"called{self.random.randrange(CALLED)}", f"table[{self.integer(0)} % {CALLED}u]")
        )
        call = f"{function}({self.integer(1)}, {self.number(1)}, t, {self.depth}, out_i, at)"
        self.line(f"{self.random.choice(self.integers)} ^= {call};")


class _Called(_Caller):
    """Writes what is called: deeper than it may go it calls nobody."""

    depth = "depth - 1u"

    def line(self, text: str) -> None:
        super().line(f"if (depth) {text}" if "depth - 1u" in text else text)


def program_with_calls(seed: int) -> str:
    """The program of a seed with functions beside the kernel that are not inlined."""
    chance = random.Random(seed)
    declared = [f"__device__ __noinline__ unsigned called{number}({SIGNATURE})" for number in range(CALLED)]
    functions = []
    for head in declared:
        writer = _Called(chance)
        for _ in range(chance.randint(2, 5)):
            writer.statement(2, False)
        body = "\n".join(writer.lines)
        functions.append(
            f"{head} {{\n    unsigned y = x * 5u + t, lane = t % 32u;\n    float q = p * 0.5f;\n{body}\n"
            "    return x + 7u * y ^ bits_of(p) ^ bits_of(q);\n}"
        )
    table = ", ".join(f"called{number}" for number in range(CALLED))
    before = [
        *(f"{head};" for head in declared),
        f"__device__ unsigned (*table[])({SIGNATURE}) = {{{table}}};",
        *functions,
    ]
    return _program(seed, _Caller(chance), "\n".join(before))


def arguments(seed: int) -> list:
    """What the program of a seed is called with: numbers of all sizes, with the special ones among them."""
    rng = np.random.default_rng(seed)
    n = THREADS * BLOCKS
    whole = rng.integers(0, 2**32, n, dtype=np.uint32) >> rng.integers(0, 32, n, dtype=np.uint32)
    numbers = (rng.choice([-1.0, 1.0], n) * np.ldexp(1 + rng.random(n), rng.integers(-12, 12, n))).astype(np.float32)
    numbers[rng.integers(0, n, 6)] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    return [whole, numbers, np.zeros(n, np.uint32), np.zeros(n, np.float32), np.int32(n)]


def architecture(seed: int) -> str:
    """What the program of a seed is compiled for when its levels are compared."""
    return ARCHITECTURES[seed % len(ARCHITECTURES)]


def disagreement(seed: int, source: Callable[[int], str] = program) -> str:
    """Run the program of a seed at both levels; what they disagree on, "" if they agree."""
    import gpusim

    # Behind a call through a pointer ptxas takes a warp for whole before Hopper: nobody has asked such a GPU if it is.
    arch = architecture(seed) if source is program else "sm_90"
    kernel = gpusim.RawModule(code=source(seed), options=OPTIONS, arch=arch).get_function("kernel")
    results = {}
    for level in ("ptx", "sass"):
        results[level] = arguments(seed)
        with gpusim.record(level=level, checks="raise"):
            kernel((BLOCKS,), (THREADS,), tuple(results[level]))
    for name, number in (("out_i", 2), ("out_f", 3)):
        ptx, sass = (bits(results[level][number]) for level in ("ptx", "sass"))
        if (ptx != sass).any():
            thread = int(np.flatnonzero(ptx != sass)[0])
            difference = f"{ptx[thread]:#010x} at PTX level, {sass[thread]:#010x} as machine code of {arch}"
            return f"random program {seed}: {name}[{thread}] is {difference}, {(ptx != sass).sum()} elements differ"
    return ""


def bits(values: np.ndarray) -> np.ndarray:
    """The bits of each element, all NaN alike."""
    if values.dtype == np.float32:
        values = np.where(np.isnan(values), np.float32(np.nan), values)
    return values.view(np.uint32)


def main(first: str, count: str, *calls: str) -> None:
    """Try `count` seeds from `first` on."""
    failed, first, count = 0, int(first), int(count)
    for seed in range(first, first + count):
        try:
            text = disagreement(seed, program_with_calls if calls else program)
        except Exception as error:
            text = f"random program {seed}: {type(error).__name__}: {error}"
        if text:
            failed += 1
            print(text, flush=True)
    print(f"{count - failed} of {count} random programs agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
