"""Arrays that a thread has for itself: an index that leaves one of them for its neighbour is found at both levels."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.cupy import levels
from gpusim.engine import compiled
from gpusim.symbols import local_accesses
from gpusim.symbols.local_arrays import NO_ARRAYS
from tests.gpusim import random_local_arrays

I32 = np.int32
HEAD = 'extern "C" __global__ void kernel(int *o, const int *x, int n, int w) {\nconst int t = threadIdx.x;\n'
ENGINES = ("compiled", "numpy", "ptx")


@pytest.fixture(params=ENGINES)
def level(request, monkeypatch) -> str:
    """A level, and the engine that executes it."""
    if request.param == "numpy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    return "ptx" if request.param == "ptx" else "sass"


def launched(level: str, body: str, w: int, *, before: str = "", options=(), arch="sm_90", n: int = 20) -> np.ndarray:
    """The result of a kernel with a body, which begins at line 3 if nothing is before it."""
    kernel = gpusim.RawModule(code=before + HEAD + body + "\n}", options=options, arch=arch).get_function("kernel")
    o = np.zeros(32, I32)
    with gpusim.record(level=level):
        kernel((1,), (32,), (o, np.arange(32, dtype=I32), I32(n), I32(w)))
    return o


TWO = """int a[32], b[32], c[32];
for (int i = 0; i < n + 12; ++i) {
a[i] = i * w;
b[i] = i + w;
c[i] = i - w;
}
STATEMENT
int s = 0;
for (int i = 0; i < n; ++i) s += a[i] * b[n - 1 - i] + c[i];
o[t] += s;"""
# w = 5 is inside, 32 is the first element of the neighbour, -1 the last one of the other.
STATEMENTS = {
    "a store": ("b[w] = 7;", "b"),
    "a store of the first": ("a[w] = 7;", "a"),
    "a load": ("o[t] = b[w];", "b"),
    "a load of the last": ("o[t] = c[w];", "c"),
    "an update": ("b[w] += n;", "b"),
    "two loads on a line": ("o[t] = a[n] * b[w];", ""),
    "two stores on a line": ("a[n] = 3, b[w] = 4;", ""),
    "a copy": ("b[w] = a[n];", ""),
    "an index that differs from thread to thread": ("if (t < 1) b[t + w] = 7;", "b"),
    "an index with a number": ("b[w + n - 20] = a[n - 3];", ""),
    "a pointer": ("int *p = b + n; p[w - 20] = 3;", ""),
    "half of the threads": ("if (x[t] % 2 == 0) b[w] = t; else b[n] = 3;", "b"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_index_that_leaves_an_array_for_its_neighbour_is_found(name, level):
    statement, array = STATEMENTS[name]
    body = TWO.replace("STATEMENT", statement)
    launched(level, body, 5)
    for w in (32, -1) if array != "a" else (32,):  # before it there is nothing
        what = rf"outside {array}: {array}\[{w}\], but {array} has 32 elements" if array else "an array of its own"
        with pytest.raises(errors.OutOfBounds, match=what) as caught:
            launched(level, body, w)
        assert (caught.value.line, caught.value.thread) == (9, (0, 0, 0))


@pytest.mark.parametrize("name", ("a store", "a load of the last", "two loads on a line"))
def test_overrun_is_found_in_debug_code_with_generic_addresses(name, level):
    body = TWO.replace("STATEMENT", STATEMENTS[name][0])
    launched(level, body, 5, options=("-G",))
    with pytest.raises(errors.OutOfBounds, match="outside"):
        launched(level, body, 32, options=("-G",))


def test_the_compiled_engine_finds_it_by_itself(monkeypatch):
    results, execute = [], compiled.execute
    monkeypatch.setattr(compiled, "execute", lambda *args: results.append(execute(*args)) or results[-1])
    body = TWO.replace("STATEMENT", "b[w] = 7;")
    launched("sass", body, 31)
    with pytest.raises(errors.OutOfBounds):
        launched("sass", body, 32)
    assert results[0] is not None and results[1] is None


@pytest.mark.parametrize("w", (32, 40))
def test_a_loop_that_runs_too_far_is_found(w, level):
    body = TWO.replace("STATEMENT", "for (int i = 0; i <= w; ++i) a[i] = 0;")
    launched(level, body, 31)
    with pytest.raises(errors.OutOfBounds, match=r"outside a: a\[\d+\], but a has 32 elements") as caught:
        launched(level, body, w)
    assert caught.value.line == 9


def test_a_loop_of_a_fixed_number_of_rounds_is_found_too(level):
    body = TWO.replace("STATEMENT", "for (int i = 0; i <= LAST; ++i) a[i] = w;\n")
    launched(level, body.replace("LAST", "31"), 5)
    with pytest.raises(errors.OutOfBounds):
        launched(level, body.replace("LAST", "32"), 5)


def test_array_of_a_passed_pointer_is_known_if_inlined(level):
    before = "__device__ __forceinline__ int look(const int *p, int i) { return p[i]; }\n"
    body = TWO.replace("STATEMENT", "o[t] = look(b, w);\no[t] += look(a, n);")
    launched(level, body, 5, before=before)
    with pytest.raises(errors.OutOfBounds, match="outside an array of its own, which has 128 bytes: at byte 128"):
        launched(level, body, 32, before=before)


PARTS = """Pair p; int q[32];
for (int i = 0; i < n + 12; ++i) { p.a[i] = i; p.b[i] = n; q[i] = i * n; }
p.a[w] = 9;
o[t] = p.a[n] + p.b[n] + q[n];
o[t] += q[n];"""


@pytest.mark.parametrize("kind", ("struct Pair { int a[32], b[32]; };\n", "union Pair { int a[32]; int b[64]; };\n"))
def test_the_members_of_a_struct_are_one_object(kind, level):
    for w in (32, 63):
        launched(level, PARTS, w, before=kind)
    with pytest.raises(errors.OutOfBounds, match="outside an array of its own, which has 256 bytes: at byte 256"):
        launched(level, PARTS, 64, before=kind)


def test_arrays_of_two_scopes_may_share_their_bytes(level):
    body = """int s = 0;
    { int a[64]; for (int i = 0; i < 64; ++i) a[i] = i * n; s += a[n]; s += a[63 - n]; }
    { int b[32], c[32];
    for (int i = 0; i < 32; ++i) { b[i] = i * n; c[i] = s + i; }
    s += b[31 - n] + c[n];
    c[w] = 2; s += b[n] + c[n]; }
    o[t] = s;"""
    launched(level, body, 31)
    with pytest.raises(errors.OutOfBounds):
        launched(level, body, 32)


def test_pointer_to_either_of_two_arrays_must_stay_in_them(level):
    body = TWO.replace("STATEMENT", "int *p = x[n] & 1 ? a : b; p[w] = 3;")
    launched(level, body, 5)
    for w in (-33, 64):
        with pytest.raises(errors.OutOfBounds):
            launched(level, body, w)


def test_nothing_is_said_of_a_pointer_that_was_in_memory(level):
    body = TWO.replace("STATEMENT", "int *volatile kept[2]; kept[0] = a; kept[1] = b; int *p = kept[n & 1]; p[w] = 3;")
    for w in (5, 32):
        launched(level, body, w)


MANY_REGISTERS = """int a[200], b[300]; float s[64];
#pragma unroll
for (int i = 0; i < 64; ++i) s[i] = x[(i * n + t) & 31];
for (int i = 0; i < n + 12; ++i) {
a[i] = i * n;
b[i] = i + n;
#pragma unroll
for (int j = 0; j < 64; ++j) s[j] = s[j] * s[(j * 7 + 1) % 64] + a[j & i & 7];
}
float sum = 0;
#pragma unroll
for (int j = 0; j < 64; ++j) sum += s[j] * n;
a[w] = sum;
o[t] = b[n] + a[n];"""


def test_arrays_stay_separate_beside_compiler_made_local_memory(level):
    options = ("--maxrregcount=40",)
    kernel = gpusim.RawModule(code=HEAD + MANY_REGISTERS + "}", options=options).get_function("kernel")
    assert kernel.compiled.spill_store_bytes > 0
    launched(level, MANY_REGISTERS, 199, options=options)
    with pytest.raises(errors.OutOfBounds, match=r"outside a: a\[200\], but a has 200 elements"):
        launched(level, MANY_REGISTERS, 200, options=options)


MANY_FLAGS = """extern "C" __global__ void kernel(const bool *in, bool *out, int m) {
bool flag[24], was[24], any = false;
#pragma unroll
for (int i = 0; i < 24; ++i) was[i] = flag[i] = in[i * 32 + threadIdx.x];
for (int step = 0; step < m; ++step) {
any |= in[step];
#pragma unroll
for (int i = 0; i < 24; ++i) flag[i] ^= any;
}
__syncthreads();
#pragma unroll
for (int i = 0; i < 24; ++i) out[i * 32 + threadIdx.x] = was[i] ? flag[(i + 7) % 24] : flag[(i + 3) % 24];
}"""


@pytest.mark.parametrize("level", ENGINES[:2], indirect=True)
def test_flag_spilled_as_16_bits_is_refilled_as_a_word(level):
    kernel = gpusim.RawModule(code=MANY_FLAGS, options=("--maxrregcount=24",)).get_function("kernel")
    assert {"STL.S16", "LDL"} <= {i.opcode.removesuffix(".LU") for i in kernel.prepared(level).program.instructions}
    was, out = np.random.default_rng(0).random((24, 32)) < 0.5, np.zeros((24, 32), bool)
    flag = was.copy()
    for step in range(1, 4):
        flag ^= was[0, :step].any()
    with gpusim.record(level=level):
        kernel((1,), (32,), (was, out, I32(3)))
    assert out.tolist() == np.where(was, np.roll(flag, -7, axis=0), np.roll(flag, -3, axis=0)).tolist()


CALLED = """__device__ __noinline__ int sum(const int *p, int n) {
int s = 0;
for (int i = 0; i < n; ++i) s += p[i];
return s;
}
"""


def test_arrays_stay_separate_in_kernels_and_called_functions(level):
    body = TWO.replace("STATEMENT", "o[t] = sum(a + 5, n);\nb[w] = 7;")
    launched(level, body, 5, before=CALLED)
    with pytest.raises(errors.OutOfBounds, match=r"outside b: b\[32\]"):
        launched(level, body, 32, before=CALLED)
    with pytest.raises(errors.OutOfBounds, match=r"which has 128 bytes: at byte 128 of it.*another array.*\n.*line 3"):
        launched(level, body.replace("a + 5, n", "a + 20, n"), 5, before=CALLED)


def test_function_given_one_of_two_arrays_stays_within_both(level):
    body = TWO.replace("STATEMENT", "o[t] = sum(a, n) + sum(b, n + w);")
    launched(level, body, 12, before=CALLED)
    launched(level, body.replace("sum(a, n)", "sum(a, n + 20)"), 5, before=CALLED)
    with pytest.raises(errors.OutOfBounds, match=r"which has 256 bytes: at byte 256 of it"):
        launched(level, body, 13, before=CALLED)


OWN = """__device__ __noinline__ int twice(int n, int w) {
int a[16], b[16];
for (int i = 0; i < n; ++i) {
a[i & 15] = w - i;
b[i & 15] = w + i;
}
a[w] = n;
int s = 0;
for (int i = 0; i < n; ++i) s += a[i & 15] * b[(i + w) & 15];
return s;
}
__device__ __noinline__ int once(int n, int w) {
int c[8];
for (int i = 0; i < n; ++i) c[i & 7] = w * i;
c[w & 7] += n;
int s = twice(n, w + 1);
for (int i = 0; i < n; ++i) s += c[(i * w) & 7];
return s;
}
"""


@pytest.mark.parametrize("through", ("twice(n, w + 1)", "once(n, w)", "once(n, w) + once(w, 3)"))
def test_arrays_of_a_called_function_stay_separate(level, through):
    body = TWO.replace("STATEMENT", f"o[t] = {through};")
    launched(level, body, 14, before=OWN)
    with pytest.raises(errors.OutOfBounds, match=r"outside a: a\[16\], but a has 16.*another array.*\n.*line 7"):
        launched(level, body, 15, before=OWN)


def test_arrays_of_a_recursive_function_are_not_judged(level):
    deeper = """__device__ __noinline__ int deep(const int *p, int n, int w) {
int a[4], b[4];
for (int i = 0; i < 4; ++i) a[i] = p[i] + w, b[i] = p[3 - i];
a[w & 3] = n;
return (n > 0 ? deep(a, n - 1, w + 1) : 0) + b[n & 3];
}
"""
    launched(level, TWO.replace("STATEMENT", "o[t] = deep(a, w, w) - deep(b, 2, w);"), 5, before=deeper)


def test_kernel_without_local_arrays_is_not_analysed(monkeypatch, prepared_afresh):
    monkeypatch.setattr(local_accesses, "in_machine_code", lambda *_: pytest.fail("looked through"))
    launched("sass", "o[t] = x[t];", 0)
    forms = levels.forms_of(gpusim.RawModule(code=HEAD + "o[t] = x[t];}").get_function("kernel").compiled)
    assert forms.local_arrays("sass") is NO_ARRAYS


@pytest.mark.parametrize("arch", ("sm_75", "sm_80", "sm_120"))
def test_so_it_is_on_other_architectures(arch):
    body = TWO.replace("STATEMENT", "o[t] = a[n] * b[w];")
    launched("sass", body, 5, arch=arch)
    with pytest.raises(errors.OutOfBounds, match="outside an array of its own"):
        launched("sass", body, 32, arch=arch)


# ---- programs that nobody wrote

SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_indices_inside_are_accepted_and_both_levels_agree(seed):
    called = seed % 2 > 0
    (finding, result), (also_found, same) = (
        random_local_arrays.outcome(seed, level, called=called) for level in ("sass", "ptx")
    )
    assert (finding, also_found) == ("", "")
    assert result == same


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("called", (False, True))
def test_index_beyond_is_found_by_ptx_and_mostly_by_machine_code(called):
    """In machine code an array may be in registers, a line may have several that are not told apart, and functions of
    code for a debugger, and those that call themselves, keep more on the stack than arrays."""
    findings = {
        level: [random_local_arrays.outcome(seed, level, beyond=True, called=called)[0] for seed in SEEDS]
        for level in ("sass", "ptx")
    }
    number = {level: sum(what.startswith("OutOfBounds: ") for what in each) for level, each in findings.items()}
    assert number["ptx"] >= len(SEEDS) - called  # one of the functions calls itself
    assert number["sass"] >= (6 if called else 7)
