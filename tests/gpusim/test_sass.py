"""Kernels at SASS level: the same bits as at PTX level, on all architecture families; sentences for what is unknown."""

import dataclasses
import functools
import hashlib
import re

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gemm_kernels.architecture import refused
from gpusim import compiler, devices, errors
from gpusim.compiler import sass
from gpusim.isa.sass import opcodes
from tests.gemm_kernels import test_beyond, test_numeric
from tests.gpusim import kernel_launches, sass_goldens

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
FAMILIES = ("sm_75", "sm_80", "sm_90")  # for sm_86 and sm_89 a kernel of the ladder has the instructions of sm_80
# What sm_75 has not: asynchronous copies, bfloat16, reductions of a warp.
SINCE_AMPERE = frozenset(("products", "reduction"))
# The PTX level computes the special functions correctly rounded, the hardware and the SASS level do not.
APPROXIMATE = frozenset(("softmax", "fast_math"))


@functools.lru_cache(maxsize=2)  # a prepared kernel takes up to 30 MB: those of one file at a time
def module(file: str, entries: tuple[str, ...], arch: str) -> gpusim.RawModule:
    source = kernel_launches.source_of(file)
    return gpusim.RawModule(code=source, options=kernel_launches.OPTIONS, name_expressions=entries, arch=arch)


def kernel_of(launch: kernel_launches.Launch, arch: str) -> gpusim.Kernel:
    """A kernel of the ladder by itself, as it comes with the project; any other with all of its file."""
    together = (launch.entry,) if launch.file.startswith("ladder/") else entries_of(launch.file)
    return module(launch.file, together, arch).get_function(launch.entry)


def entries_of(file: str) -> tuple[str, ...]:
    return tuple(sorted({launch.entry for launch in kernel_launches.ordinary() if launch.file == file}))


def results(launch: kernel_launches.Launch, arch: str, level: str) -> list:
    """The arguments after the launch."""
    kernel = kernel_of(launch, arch)
    kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
    arguments = launch.make_arguments()
    with gpusim.record(level=level, checks="off"):
        kernel(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    return arguments


def runs_on(launch: kernel_launches.Launch, arch: str) -> bool:
    """Whether an architecture has what a launch needs."""
    old = arch == "sm_75" and (launch.file in SINCE_AMPERE or refused(launch.source, arch) != "")
    old |= int(arch.removeprefix("sm_")) < 90 and "__cluster_dims__" in launch.source
    return not old and launch.shared_bytes <= devices.limits_for(arch).shared_bytes_per_block_optin


def code_of(kernel: gpusim.Kernel, level: str) -> str:
    """What is executed, without the name of the architecture: many architectures share it.

    The PTX of a matrix product keeps the name, because each generation of tensor cores adds in its own way.
    """
    if level == "sass":
        return sass_goldens.record.code_digest(kernel.compiled)
    ptx = kernel.compiled.ptx
    return hashlib.sha256((ptx if "mma." in ptx else re.sub(r"(?m)^\.target .*$", "", ptx)).encode()).hexdigest()


BITS: dict[tuple[str, str, str], list[bytes]] = {}


def bits_after(launch: kernel_launches.Launch, arch: str, level: str) -> list[bytes]:
    """The arguments' bytes after the launch; code that was executed for another architecture is not executed again."""
    key = (launch.name, level, code_of(kernel_of(launch, arch), level))
    if key not in BITS:
        BITS[key] = [np.asarray(argument).tobytes() for argument in results(launch, arch, level)]
    return BITS[key]


def assert_levels_agree(launch: kernel_launches.Launch, arch: str) -> None:
    assert bits_after(launch, arch, "ptx") == bits_after(launch, arch, "sass")


def of_the_ladder() -> tuple[kernel_launches.Launch, ...]:
    """Launches of the ladder and of what comes after it, with small tiles: large ones have the same instructions, more
    of each. (Kernels whose blocks share tiles are in `kernel_launches.sharing`.)"""
    kernels = [test_numeric.smaller(name) for name in test_numeric.NAMES if name not in kernel_launches.SHARING]
    kernels += [get(name, **test_beyond.SMALL) for name in ("pinned", "unmerged")]
    return tuple(kernel_launches.product(kernel, 33, 65, 17) for kernel in kernels)


# In whose code for sm_80 are loads of constant data that no other launch of these tests has.
ON_EACH = ("ladder/shared_memory", "ladder/vectorized_ptx")


def in_turns() -> list[tuple[kernel_launches.Launch, str]]:
    """The ladder on sm_90, and on one of the older families, which kernels take in turns where they run on both."""
    pairs = []
    for number, launch in enumerate(of_the_ladder()):
        *older, newest = (arch for arch in FAMILIES if runs_on(launch, arch))
        if older and launch.file not in ON_EACH:
            older = [older[number % len(older)]]
        pairs += [(launch, arch) for arch in (*older, newest)]
    return pairs


@pytest.mark.parametrize(
    ("launch", "arch"), [pytest.param(launch, arch, id=f"{launch.file}-{arch}") for launch, arch in in_turns()]
)
def test_the_ladder_gives_the_bits_of_the_ptx_level(launch, arch):
    assert_levels_agree(launch, arch)


@pytest.mark.table(keep=4)
@pytest.mark.parametrize(
    ("launch", "arch"),
    [
        pytest.param(launch, arch, id=f"{launch.name}-{arch}")
        for arch in FAMILIES
        for launch in kernel_launches.sharing()
        if runs_on(launch, arch)
    ],
)
def test_blocks_that_share_tiles_give_the_bits_of_the_ptx_level(launch, arch):
    assert_levels_agree(launch, arch)


def is_one_of_many(launch: kernel_launches.Launch) -> bool:
    """Whether other launches run the same kernel with nothing but other addresses."""
    return launch.entry.startswith("shared_skew") and launch.name.split()[1] not in ("0", "1", "17")


@pytest.mark.parametrize(
    ("launch", "arch"),
    [
        pytest.param(launch, arch, id=f"{launch.name}-{arch}")
        for arch in FAMILIES
        for launch in kernel_launches.ordinary()
        if runs_on(launch, arch) and launch.entry not in APPROXIMATE and not is_one_of_many(launch)
    ],
)
def test_ordinary_kernels_give_the_bits_of_the_ptx_level(launch, arch):
    assert_levels_agree(launch, arch)


def test_what_only_machine_code_knows_says_so_at_the_ptx_level():
    source = """extern "C" __global__ void kernel(unsigned long long *x) {
        asm volatile("{.reg .b128 v; mov.b128 v, {%0, %1}; mov.b128 {%1, %0}, v;}" : "+l"(x[0]), "+l"(x[1]));
    }"""
    kernel, x = gpusim.RawModule(code=source).get_function("kernel"), np.array([7, 9], np.uint64)
    with (
        pytest.raises(errors.UnsupportedInstruction, match='line 2.*leave out level="ptx"') as caught,
        gpusim.record(level="ptx"),
    ):
        kernel((1,), (1,), (x,))
    assert caught.value.__suppress_context__  # no KeyError of the simulator's own before it
    kernel((1,), (1,), (x,))  # takes the machine code of its own accord
    assert x.tolist() == [9, 7]


def test_softmax_agrees_within_the_ulps_of_the_special_functions():
    launch = next(launch for launch in kernel_launches.ordinary() if launch.name == "softmax")
    ptx, machine = (results(launch, "sm_90", level)[1] for level in ("ptx", "sass"))
    np.testing.assert_allclose(machine, ptx, rtol=1e-6)


# ---- what is no arithmetic


def run(source: str, *arguments, grid=1, block=32, arch="sm_90", name="kernel") -> None:
    kernel = gpusim.RawModule(code=source, arch=arch).get_function(name)
    with gpusim.record(level="sass", checks="off"):
        kernel((grid,), (block,), arguments)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_generic_pointers_lead_to_shared_local_and_global_memory(arch):
    source = """
    __device__ __noinline__ float twice(const float *p, int i) { return p[i] * 2.0f; }
    extern "C" __global__ void kernel(float *out, int k) {
        __shared__ float s[32];
        float l[32];
        s[threadIdx.x] = threadIdx.x;
        for (int i = 0; i < 32; ++i) l[i] = i * k;
        __syncthreads();
        const float *p = k == 1 ? s : k == 2 ? l : out + 32;
        out[threadIdx.x] = twice(p, threadIdx.x ^ 1);
    }"""
    i = np.arange(32, dtype=np.float32)
    neighbours = np.arange(32) ^ 1
    for k, expected in ((1, i), (2, 2 * i), (3, 100 + i)):
        out = np.concatenate([np.zeros(32, np.float32), 100 + i])
        run(source, out, np.int32(k), arch=arch)
        np.testing.assert_array_equal(out[:32], 2 * expected[neighbours])


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_variables_of_the_module_keep_their_values(arch):
    source = """
    __device__ int counter = 5;
    __device__ float table[4] = {1, 2, 3, 4};
    __constant__ float weights[4] = {10, 20, 30, 40};
    extern "C" __global__ void kernel(float *out, int k) {
        out[threadIdx.x] = table[k] + weights[threadIdx.x % 4] + weights[2];
        table[k] = out[threadIdx.x];
        if (threadIdx.x == 0) out[0] = atomicAdd(&counter, 1);
    }"""
    kernel = gpusim.RawModule(code=source, arch=arch).get_function("kernel")
    out = np.zeros(4, np.float32)
    for first in (5, 6):
        with gpusim.record(level="sass", checks="off"):
            kernel((1,), (4,), (out, np.int32(1)))
        assert out[0] == first
    np.testing.assert_array_equal(out[1:], [72 + 50, 72 + 60, 72 + 70])


def test_printf_prints_its_arguments(capsys):
    source = r"""extern "C" __global__ void kernel(float x) {
        if (threadIdx.x < 2) printf("%d: %.2f %s\n", threadIdx.x, x * 2, "fast");
    }"""
    run(source, np.float32(1.5))
    assert capsys.readouterr().out == "0: 3.00 fast\n1: 3.00 fast\n"


def test_an_assertion_that_fails_names_its_line():
    source = """extern "C" __global__ void kernel(int k) {
        assert(k != 5);
    }"""
    run(source, np.int32(4))
    with pytest.raises(gpusim.SimulatorError, match="line 2"):
        run(source, np.int32(5))


def test_a_trap_stops_the_kernel():
    with pytest.raises(gpusim.SimulatorError, match="line 2"):
        run('extern "C" __global__ void kernel(int k) {\n if (k == 1) __trap(); \n}', np.int32(1))


# ---- calls of functions

CALLS = {
    "a function": """
    __device__ __noinline__ int twice(int x) { return 2 * x; }
    extern "C" __global__ void kernel(int *out) {
        out[threadIdx.x] = twice(threadIdx.x);
    }""",
    "itself": """
    __device__ int count(int n) { return n < 1 ? 0 : n < 2 ? 2 : count(n - 1) + 2 * (count(n - 2) == 2 * n - 4); }
    extern "C" __global__ void kernel(int *out) {
        out[threadIdx.x] = count(threadIdx.x);
    }""",
    "through a pointer": """
    __device__ int even(int x) { return 2 * x; }
    __device__ int odd(int x) { return x + x; }
    __device__ int (*functions[2])(int) = {even, odd};
    extern "C" __global__ void kernel(int *out) {
        out[threadIdx.x] = functions[threadIdx.x % 2](threadIdx.x);
    }""",
}


@pytest.mark.parametrize("arch", ("sm_80", "sm_90"))
@pytest.mark.parametrize("source", CALLS.values(), ids=CALLS)
def test_functions_are_called(source, arch):
    out = np.zeros(12, np.int32)
    run(source, out, block=12, arch=arch)
    np.testing.assert_array_equal(out, 2 * np.arange(12))


def test_a_recursion_without_end_runs_out_of_its_stack():
    source = """
    __device__ int deeper(int n) { return n < 0 ? 0 : 1 + deeper(n + 1) * n; }
    extern "C" __global__ void kernel(int *out) { out[0] = deeper(3); }"""
    with pytest.raises(errors.OutOfBounds, match="local memory.*1024 bytes.*\n.*line 2(.|\n)*does that end"):
        run(source, np.zeros(1, np.int32), block=1)


# ---- forms that were met in other kernels


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ("float", "double"))
def test_atomic_sums_of_floats_in_shared_memory_come_to_an_end(dtype, arch):
    source = f"""extern "C" __global__ void kernel({dtype} *x) {{
        __shared__ {dtype} sums[2];
        if (threadIdx.x < 2) sums[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(&sums[threadIdx.x % 2], x[threadIdx.x]);
        __syncthreads();
        if (threadIdx.x < 2) x[threadIdx.x] = sums[threadIdx.x];
    }}"""
    x = np.arange(64).astype(np.float32 if dtype == "float" else np.float64)
    run(source, x, block=64, arch=arch)
    assert x[:2].tolist() == [sum(range(0, 64, 2)), sum(range(1, 64, 2))]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_infinity_may_be_chosen_in_float64(arch):
    source = """extern "C" __global__ void kernel(double *x) {
        double infinity = __longlong_as_double(0x7ff0000000000000LL);
        x[threadIdx.x] = x[threadIdx.x] > 3.5 ? infinity : x[threadIdx.x];
    }"""
    x = np.arange(6, dtype=np.float64)
    run(source, x, block=6, arch=arch)
    assert x.tolist() == [0, 1, 2, 3, np.inf, np.inf]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_switch_goes_to_each_of_its_cases(arch):
    source = """extern "C" __global__ void kernel(float *x, int first) {
        float a = x[threadIdx.x], b = x[threadIdx.x + 32], c = 7;
        switch (first + threadIdx.x % 8) {
            case 0: c = a + b; break;
            case 1: c = a - b; break;
            case 2: c = a * b; break;
            case 3: c = a / b; break;
            case 5: c = fminf(a, b); break;
        }
        x[threadIdx.x] = c;
    }"""
    x = np.arange(1, 65, dtype=np.float32)
    a, b = x[:32].copy(), x[32:]
    run(source, x, np.int32(-1), arch=arch)
    cases = [a + b, a - b, a * b, a / b, 7 + 0 * a, np.minimum(a, b)]
    case = np.arange(32) % 8 - 1
    expected = [cases[k][i] if 0 <= k < 6 else 7 for i, k in enumerate(case)]
    np.testing.assert_allclose(x[:32], expected, rtol=1e-6)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_kernel_without_parameters_runs(arch, capsys):
    run('extern "C" __global__ void kernel() { printf("%d of %d\\n", threadIdx.x, blockDim.x); }', block=2, arch=arch)
    assert capsys.readouterr().out == "0 of 2\n1 of 2\n"


def run_at_both_levels(source: str, *arguments: np.ndarray, arch: str, block=32) -> list[np.ndarray]:
    """The arguments after the launch, which must be the same at both levels."""
    results = []
    for level in ("ptx", "sass"):
        results.append([np.array(argument) for argument in arguments])
        with gpusim.record(level=level, checks="off"):
            gpusim.RawModule(code=source, arch=arch).get_function("kernel")((1,), (block,), tuple(results[-1]))
    assert [x.tobytes() for x in results[0]] == [x.tobytes() for x in results[1]]
    return results[1]


@pytest.mark.parametrize("arch", ("sm_80", "sm_90"))
@pytest.mark.parametrize("size", (4, 8, 16))
def test_asynchronous_copies_of_a_part_fill_the_rest_with_zeros(size, arch):
    words = size // 4
    source = f"""extern "C" __global__ void kernel(const float *x, float *y) {{
        __shared__ __align__(16) float s[32 * {words}];
        unsigned to = __cvta_generic_to_shared(s + {words} * threadIdx.x);
        asm volatile("cp.async.ca.shared.global [%0], [%1], {size}, %2;"
                     :: "r"(to), "l"(x + {words} * threadIdx.x), "r"(4 * (threadIdx.x % {words + 1})));
        asm volatile("cp.async.wait_all;");
        __syncthreads();
        for (int i = 0; i < {words}; ++i) y[{words} * threadIdx.x + i] = s[{words} * threadIdx.x + i];
    }}"""
    x = np.arange(1, 32 * words + 1, dtype=np.float32)
    _, y = run_at_both_levels(source, x, np.zeros_like(x), arch=arch)
    given = np.arange(32)[:, None] % (words + 1) > np.arange(words)
    np.testing.assert_array_equal(y.reshape(32, words), np.where(given, x.reshape(32, words), 0))


VECTORS = """extern "C" __global__ void kernel(const int *x, int *y) {{
    int i = threadIdx.x, a = x[i], b = x[i + 32], c = x[i + 64], r;
    asm("{} %0, %1, %2{};" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    y[i] = r;
}}"""


@pytest.mark.parametrize(
    ("instruction", "since"),
    [(f"dp2a.{part}.{a}32.{b}32", 75) for part in ("lo", "hi") for a in "us" for b in "us"]
    + [(f"dp4a.{a}32.{b}32", 75) for a in "us" for b in "us"]
    + [(f"{name}.{type_}16x2", 90) for name in ("add", "min", "max") for type_ in "us"],
)
def test_arithmetic_on_register_parts_gives_the_bits_of_ptx(instruction, since):
    source = VECTORS.format(instruction, ", %3" if instruction.startswith("dp") else "")
    x = np.random.default_rng(3).integers(-(2**31), 2**31, 96, dtype=np.int32)
    for arch in ("sm_75", "sm_90"):
        if int(arch[3:]) >= since:
            run_at_both_levels(source, x, np.zeros(32, np.int32), arch=arch)


def test_a_sum_of_halves_and_the_larger_half_are_one_instruction():
    source = """extern "C" __global__ void kernel(const int *x, int *y) {
        int i = threadIdx.x, r;
        asm("add.s16x2 %0, %1, %2;" : "=r"(r) : "r"(x[i]), "r"(x[i + 32]));
        asm("max.s16x2 %0, %1, %2;" : "=r"(r) : "r"(r), "r"(x[i + 64]));
        y[i] = r;
    }"""
    x = np.random.default_rng(4).integers(-(2**31), 2**31, 96, dtype=np.int32)
    run_at_both_levels(source, x, np.zeros(32, np.int32), arch="sm_90")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_constants_of_bytes_and_halves_are_read(arch):
    source = """__constant__ unsigned char octets[8] = {1, 2, 250};
    __constant__ short halves[8] = {-1, 2, -300};
    extern "C" __global__ void kernel(int *y) {
        y[threadIdx.x] = octets[2] + 1000 * halves[2] + octets[threadIdx.x % 3] + halves[blockIdx.x];
    }"""
    y = np.zeros(3, np.int32)
    run(source, y, block=3, arch=arch)
    assert y.tolist() == [250 - 300_000 + octet - 1 for octet in (1, 2, 250)]


@pytest.mark.parametrize("type_", ("f16x2", "bf16x2"))
def test_atomics_on_two_halves_add_numbers(type_):
    source = f"""extern "C" __global__ void kernel(unsigned *x) {{
        unsigned old;
        asm volatile("red.global.add.noftz.{type_} [%0], %1;" :: "l"(x), "r"(x[2]));
        asm volatile("atom.global.add.noftz.{type_} %0, [%1], %2;" : "=r"(old) : "l"(x + 1), "r"(x[2]));
        x[threadIdx.x + 3] = old;
    }}"""
    one_bits, two_bits = (0x3C00, 0x4000) if type_ == "f16x2" else (0x3F80, 0x4000)
    x = np.zeros(7, np.uint32)
    x[:3] = two_bits << 16, one_bits, one_bits << 16 | two_bits
    (x,) = run_at_both_levels(source, x, arch="sm_90", block=4)
    four, eight, six, nine = (0x4400, 0x4800, 0x4600, 0x4880) if type_ == "f16x2" else (0x4080, 0x4100, 0x40C0, 0x4110)
    assert [hex(word) for word in x[:2]] == [hex(six << 16 | eight), hex(four << 16 | nine)]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_matrix_is_transposed_across_the_lanes_of_a_warp(arch):
    source = """extern "C" __global__ void kernel(unsigned *x) {
        unsigned r;
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(x[threadIdx.x]));
        x[threadIdx.x] = r;
    }"""
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8)
    x = matrix.copy().view(np.uint32).reshape(32)
    run(source, x, arch=arch)
    np.testing.assert_array_equal(x.view(np.uint16).reshape(8, 8), matrix.T)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_barrier_counts_the_threads_of_its_block(arch):
    source = """extern "C" __global__ void kernel(const int *x, int *y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (threadIdx.x >= 70) return;
        int all = __syncthreads_and(x[i] > 0), count = 0;
        for (int k = 0; k < 3; ++k) count = 100 * count + __syncthreads_count(x[i] > k);
        y[i] = 10 * count + 2 * all + (__syncthreads_or(x[i] > 6) != 0);
    }"""
    x = np.random.default_rng(2).integers(0, 6, (3, 80), dtype=np.int32)
    x[1, :70] += 1
    x[2, 69] = 7
    y = np.zeros_like(x)
    run(source, x, y, grid=3, block=80, arch=arch)
    for row, result in zip(x[:, :70], y, strict=True):
        a, b, c = ((row > k).sum() for k in range(3))
        assert set(result[:70].tolist()) == {10 * (10_000 * a + 100 * b + c) + 2 * (row > 0).all() + (row > 6).any()}


# ---- what is unknown

THREE = 'extern "C" __global__ void kernel(int *p) { *p = 3; }'


def runs_at_ptx_level(arch: str) -> bool:
    out = np.zeros(1, np.int32)
    with gpusim.record(level="ptx"):
        gpusim.RawModule(code=THREE, arch=arch).get_function("kernel")((1,), (1,), (out,))
    return out[0] == 3


def test_unknown_architecture_names_a_way_out_and_ptx_goes_on():
    with pytest.raises(errors.UnsupportedInstruction) as caught:
        run(THREE, np.zeros(1, np.int32), arch="sm_70")
    assert "sm_70" in str(caught.value) and 'arch="sm_90"' in str(caught.value)
    assert 'leave out level="sass"' in str(caught.value)
    assert runs_at_ptx_level("sm_70")


def test_an_unknown_instruction_is_named_with_its_line():
    source = """extern "C" __global__ void kernel(int *out) {
        asm volatile("mov.u32 %0, %%pm0;" : "=r"(out[0]));
    }"""
    with pytest.raises(errors.UnsupportedInstruction, match=r"CS2R.*line 2 of your source"):
        run(source, np.zeros(1, np.int32))


def test_opcode_without_a_row_is_called_not_modelled():
    source = """extern "C" __global__ void kernel(int *x) {
        asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%0, {%1}];" :: "l"(x), "r"(0));
    }"""
    expected = r"`UTMAPF\.L2.*` \(line 2 of your source\) is not modelled by the simulator: the opcode UTMAPF\."
    with pytest.raises(errors.UnsupportedInstruction, match=expected):
        run(source, np.zeros(1, np.int32))


def test_a_mistake_in_a_decoding_is_not_reported_as_a_limit(monkeypatch, prepared_afresh):
    def mistaken(t, s):
        raise KeyError("a mistake")

    row = dataclasses.replace(opcodes.OPCODES["STG"], decode=mistaken)
    monkeypatch.setitem(opcodes.OPCODES, "STG", row)
    with pytest.raises(KeyError, match="a mistake"):
        run(THREE, np.zeros(1, np.int32))


def test_unreachable_unknown_instruction_does_not_matter():
    source = """extern "C" __global__ void kernel(long long *out) {
        if (threadIdx.x > 5000) return;
        out[0] = 7;
    }"""
    out = np.zeros(1, np.int64)
    run(source, out)
    assert out[0] == 7


def test_missing_nvdisasm_is_named_and_ptx_goes_on(no_machine_code):
    with pytest.raises(compiler.NvdisasmMissing, match=r'nvdisasm.*is not installed.*leave out level="sass"'):
        run(THREE, np.zeros(1, np.int32))
    assert runs_at_ptx_level("sm_90")


# ---- text


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("R5.reuse", sass.Register("R", 5)),
        ("-|R5|", sass.Register("R", 5, negated=True, absolute=True)),
        ("RZ", sass.Register("R", None)),
        ("!UP3", sass.Register("UP", 3, negated=True)),
        ("~R4", sass.Register("R", 4, inverted=True)),
        ("R7.H0_H0", sass.Register("R", 7, modifiers=("H0_H0",))),
        ("-0x10", sass.Immediate("-0x10")),
        ("-QNAN", sass.Immediate("-QNAN")),
        ("c[0x0][0x160]", sass.Constant(0, 0x160)),
        ("-c[0x3][R0+0x10]", sass.Constant(3, 0x10, sass.Register("R", 0), negated=True)),
        ("[R2.64+0x10]", sass.Address((sass.Register("R", 2, modifiers=("64",)),), 16)),
        ("desc[UR4][R2.64+-0x8]", sass.Address((sass.Register("R", 2, modifiers=("64",)),), -8)),
        ("[UR4+R3.X4+0x80]", sass.Address((sass.Register("UR", 4), sass.Register("R", 3, modifiers=("X4",))), 128)),
        ("SR_TID.X", sass.Special("SR_TID.X")),
        ("`(.L_x_1)", sass.Label(".L_x_1")),
    ],
)
def test_operands_are_read(text, operand):
    assert sass.parse_operand(text) == operand


def test_statement_has_guard_modifiers_and_lines_of_its_calls():
    text = """.text.kernel:
	//## File "head.cuh", line 90 inlined at "k.cu", line 2
	//## File "k.cu", line 2 inlined at "k.cu", line 7
	//## File "k.cu", line 7
        /*0010*/              @!P1 LEA.HI.X R9, R14, R9.reuse, -R25, 0x2, P2 ;
.L_x_3:
        /*0020*/                   BRX R4 -0x30 (*"BRANCH_TARGETS .L_x_3, .L_x_4"*);
"""
    function = sass.parse(text, "k.cu")
    lea, branch = function.statements
    assert (lea.address, lea.base, lea.line, lea.called_from) == (16, "LEA", 2, (7,))
    assert lea.guard == sass.Register("P", 1, negated=True)
    assert lea.has("X") and not lea.has("U32") and len(lea.operands) == 6
    assert branch.text == "BRX R4 -0x30"
    assert function.labels == {".text.kernel": 0, ".L_x_3": 1}


@pytest.mark.parametrize("text", ["@@", "32@lo((ax + .L_x_0@srel))", "[R2+@]", "c[0x0][R1+R2]", "-[R3]"])
def test_an_operand_that_is_not_read_is_kept_as_it_stands(text):
    assert sass.parse_operand(text) == sass.Name(text)
    (statement,) = sass.parse(f"        /*0000*/                   FADD R0, R1, {text} ;", "k.cu").statements
    assert statement.operands[-1] == sass.Name(text)
