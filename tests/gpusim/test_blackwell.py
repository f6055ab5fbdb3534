"""Machine code of Blackwell, for data centres and GeForce: no GPU was at hand; it is held against Hopper's and PTX."""

import numpy as np
import pytest

import gpusim
from gemm_kernels import ladder, tensor
from gpusim import compiler
from gpusim.engine import compiled
from gpusim.isa.sass import opcodes
from helpers import run
from tests.gpusim import architectures, kernel_launches, random_programs

# One for each kind of load, of copy and of meeting; `python -m tests.gpusim.architectures` tries all kernels.
KERNELS = (
    ("naive", "sm_120"), ("block_tile_2d", "sm_100"), ("vectorized_ptx", "sm_120"), ("sliced_k", "sm_120"),
    ("matrix_vector", "sm_100"), ("clustered", "sm_120"), ("rank_k", "sm_120"),
)  # fmt: skip
# What the compiler cannot change: bytes and products; where it moves a load out of a branch, not the instructions.
COUNTERS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_inst_executed_op_global_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_inst_executed_op_ldgsts.sum",
)
OF_TILES = ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")


def multiplied(kernel, arch, level="sass"):
    """(C, the recording, the compiled kernel); nothing is contracted that the source does not."""
    M, N, K = {"matrix_vector": (70, 1, 37)}.get(kernel.name, (70, 66, 37))
    launch = kernel.launch(M, N, K)
    random = np.random.default_rng(7)
    A, B, C = (random.uniform(-1, 1, shape).astype(np.float32) for shape in ((M, K), (K, N), (M, N)))
    module = gpusim.RawModule(
        code=launch.source, options=(*launch.options, "-fmad=false"), name_expressions=[launch.entry], arch=arch
    )
    kernel = module.get_function(launch.entry)
    with gpusim.record(level=level, checks="raise" if arch != "sm_90" else "off") as recording:
        run.start(kernel, launch, A, B, C, 1.5, 0.5)
    return C, recording, kernel


@pytest.mark.table(keep=2)
@pytest.mark.parametrize(("name", "arch"), KERNELS)
def test_course_kernels_give_the_bits_and_counts_of_hopper(name, arch):
    kernel = ladder.get(name)
    hopper, expected, _ = multiplied(kernel, "sm_90")
    blackwell, recording, function = multiplied(kernel, arch)
    assert hopper.any() and blackwell.tobytes() == hopper.tobytes()
    counters = COUNTERS if name == "matrix_vector" else (*COUNTERS, *OF_TILES)
    counted, expected = (
        {each: recording.counters.get(each) for each in counters} for recording in (recording, expected)
    )
    assert counted == expected
    assert any(counted.values())
    assert function.forms.at("sass")[0].machine is not None, "only the engine in NumPy can execute it"


def test_the_levels_agree_and_so_do_the_other_architectures():
    kernel = ladder.get("vectorized")
    how = (("sm_120", "sass"), ("sm_120", "ptx"), ("sm_121",), ("sm_103",))
    assert len({multiplied(kernel, *each)[0].tobytes() for each in how}) == 1


def test_tensor_cores_of_a_geforce_give_the_bits_of_hopper_s():
    launch = kernel_launches.of_tensors(tensor.get("mma"), 17, 24, 40)
    assert len({architectures.multiplied(launch, arch, "sass") for arch in ("sm_90", "sm_120")}) == 1


@pytest.mark.parametrize("seed", range(7000000, 7000003))
def test_random_programs_give_the_same_bits_at_both_levels(seed, monkeypatch):
    monkeypatch.setattr(random_programs, "architecture", lambda seed: "sm_100" if seed % 3 else "sm_120")
    assert random_programs.disagreement(seed) == ""


@pytest.mark.parametrize("engine", ("compiled", "NumPy"))
def test_branch_out_of_a_barrier_without_break_delays_no_warp(engine, monkeypatch):
    if engine == "NumPy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    monkeypatch.setattr(random_programs, "architecture", lambda seed: "sm_120")
    assert random_programs.disagreement(5000017) == ""  # a `switch` whose default ptxas joins with that of another one


BANK = """
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(int *y, int n) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ int s[4];
    int own[4];
    for (int i = 0; i < 4; ++i) own[i] = y[i] + i, s[i] = y[i] + 2 * i;
    __syncthreads();
    int *place = n > 5 ? s : own;
    int *out = y + 4 + 16 * blockIdx.x;
    if (threadIdx.x || threadIdx.y || threadIdx.z) return;
    out[0] = blockDim.x, out[1] = blockDim.y, out[2] = blockDim.z;
    out[3] = gridDim.x, out[4] = gridDim.y, out[5] = gridDim.z;
    out[6] = cluster.dim_blocks().x, out[7] = cluster.num_blocks(), out[8] = cluster.block_rank();
    out[9] = cluster.block_index().x, out[10] = place[n % 4];
}"""


@pytest.mark.parametrize("n", (2, 7))
def test_constant_bank_zero_describes_the_launch_as_hoppers_does(n):
    results = []
    for arch in ("sm_90", "sm_100", "sm_120"):
        y = np.zeros(4 + 16 * 24, np.int32)
        with gpusim.record(level="sass", checks="off"):
            kernel = gpusim.RawModule(code=BANK, arch=arch).get_function("kernel")
            kernel((4, 3, 2), (8, 4, 2), (y, np.int32(n)))
        results.append(y)
    assert results[0].tolist() == results[1].tolist() == results[2].tolist()
    block = results[1][4:15].tolist()
    assert (block[:8], block[10]) == ([8, 4, 2, 4, 3, 2, 2, 2], n % 4 if n < 5 else 2 * (n % 4))


def test_a_recording_says_that_no_such_gpu_has_confirmed_it():
    _, recording, _ = multiplied(ladder.get("naive"), "sm_100")
    assert (recording.level, "not held against such a GPU" in recording.note) == ("sass", True)
    assert [family.name for family in opcodes.FAMILIES if not family.seen] == ["Blackwell"]
    assert multiplied(ladder.get("naive"), "sm_90")[1].note is None


MIXED = """
#define WIDE(type) asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32." type " %0, l; cvt.f32." type " %1, h;}" \\
                       : "=f"(a), "=f"(b) : "r"(u))
#define ADD(op, type) asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; " op "." type " %0, h, %2;}" : "=f"(r) : "r"(u), "f"(c))
#define FMA(op, type) asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; " op "." type " %0, l, h, %2;}" \\
                          : "=f"(r) : "r"(u), "f"(c))
#define ONE(op) asm(op " %0, %1, %2;" : "=f"(s) : "f"(b), "f"(c))
#define THREE(op) asm(op " %0, %1, %2, %3;" : "=f"(s) : "f"(a), "f"(b), "f"(c))
#define KEEP(n) mixed[32 * n + t] = r, apart[32 * n + t] = s
extern "C" __global__ void kernel(const unsigned *x, const float *y, float *mixed, float *apart) {
    const int t = threadIdx.x;
    const unsigned u = x[t];
    const float c = y[t];
    float a, b, r, s;
    WIDE("f16");
    ADD("add.f32", "f16"); ONE("add.rn.f32"); KEEP(0);
    ADD("sub.rz.f32", "f16"); ONE("sub.rz.f32"); KEEP(1);
    FMA("fma.rp.f32", "f16"); THREE("fma.rp.f32"); KEEP(2);
    WIDE("bf16");
    ADD("add.rm.sat.f32", "bf16"); ONE("add.rm.sat.f32"); KEEP(3);
    FMA("fma.rn.f32", "bf16"); THREE("fma.rn.f32"); KEEP(4);
}"""


def test_mixed_sum_has_the_bits_of_widening_first(level):
    draw = np.random.default_rng(7)
    x, y = draw.integers(0, 2**32, 32, np.uint32), draw.standard_normal(32).astype(np.float32)
    x[:3], y[:3] = [0x0001_8000, 0x7C00_FC00, 0x7E01_0001], [1e-41, -np.inf, 3e38]
    mixed, apart = np.zeros((2, 160), np.float32)
    with gpusim.record(level=level) as recording:
        kernel = gpusim.RawModule(code=MIXED, arch="sm_100").get_function("kernel")
        kernel((1,), (32,), (x, y, mixed, apart))
    opcodes = [row.opcode.split(".")[0] for row in recording.by_instruction()]
    assert level == "ptx" or (opcodes.count("FHADD"), opcodes.count("FHFMA")) == (3, 2)
    assert mixed.view(np.uint32).tolist() == apart.view(np.uint32).tolist()
    assert len(np.unique(mixed.view(np.uint32))) > 100


# By one instruction two float32: c in pairs, in turn and doubled, and for each its two instructions of one number.
IN_PAIRS = """
typedef unsigned long long Pair;
__device__ Pair pair(float low, float high) { return (Pair)__float_as_uint(high) << 32 | __float_as_uint(low); }
__device__ float2 both(Pair p) { return make_float2(__uint_as_float(p), __uint_as_float(p >> 32)); }
#define ASM2(name, r, x, y) asm(name "x2 %0, %1, %2;" : "=l"(r) : "l"(x), "l"(y))
#define ASM3(r, x, y, z) asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(r) : "l"(x), "l"(y), "l"(z))
#define ONE2(name, r, x, y) asm(name " %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y))
#define ONE3(r, x, y, z) asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z))
#define KEEP(n) pairs[32 * n + t] = both(r), single[32 * n + t] = one
extern "C" __global__ void kernel(const float2 *x, float2 *pairs, float2 *single, float2 s) {
    const int t = threadIdx.x;
    const float2 a = x[t], b = x[t ^ 5];
    const Pair p = pair(a.x, a.y), q = pair(b.x, b.y);
    Pair r;
    float2 one;
    ASM3(r, p, pair(b.y, b.x), pair(s.x, s.y));
    ONE3(one.x, a.x, b.y, s.x); ONE3(one.y, a.y, b.x, s.y); KEEP(0);
    ASM3(r, pair(a.x, a.x), q, pair(1.5f, 1.5f));
    ONE3(one.x, a.x, b.x, 1.5f); ONE3(one.y, a.x, b.y, 1.5f); KEEP(1);
    ASM2("sub.rz.f32", r, p, q);
    ONE2("sub.rz.f32", one.x, a.x, b.x); ONE2("sub.rz.f32", one.y, a.y, b.y); KEEP(2);
    ASM2("mul.rp.f32", r, p, pair(3, 3));
    ONE2("mul.rp.f32", one.x, a.x, 3.0f); ONE2("mul.rp.f32", one.y, a.y, 3.0f); KEEP(3);
    ASM2("add.rn.ftz.f32", r, p, pair(s.y, s.x));
    ONE2("add.rn.ftz.f32", one.x, a.x, s.y); ONE2("add.rn.ftz.f32", one.y, a.y, s.x); KEEP(4);
}"""


@pytest.mark.parametrize("arch", ("sm_100", "sm_120"))
def test_paired_float32_instruction_computes_as_two_instructions(arch, level):
    x = np.random.default_rng(3).standard_normal((32, 2)).astype(np.float32)
    x[:4] = [[1e-41, 3e-39], [-0.0, 1e38], [np.inf, 1e-45], [3e38, -3e38]]
    pairs, single = np.zeros((2, 160, 2), np.float32)
    with gpusim.record(level=level):
        kernel = gpusim.RawModule(code=IN_PAIRS, arch=arch).get_function("kernel")
        kernel((1,), (32,), (x, pairs, single, np.array([1e-40, -7.5], np.float32).view(np.complex64)[0]))
    assert pairs.view(np.uint32).tolist() == single.view(np.uint32).tolist()
    assert np.count_nonzero(pairs) > 300


@pytest.mark.parametrize("arch", ("sm_100", "sm_120"))
def test_product_of_bits_counts_common_or_differing_bits(arch, level):
    source = """extern "C" __global__ void kernel(const unsigned *A, const unsigned *B, int *C, int *D) {
        const int t = threadIdx.x, at = t / 4 * 8 + t % 4 * 2;
        unsigned a[4], b[2];
        int c[4] = {}, d[4] = {};
        for (int k = 0; k < 4; ++k) a[k] = A[(t / 4 + k % 2 * 8) * 8 + t % 4 + k / 2 * 4];
        for (int k = 0; k < 2; ++k) b[k] = B[t / 4 * 8 + t % 4 + k * 4];
        PRODUCT(c, and); PRODUCT(d, xor);
        for (int k = 0; k < 4; ++k) C[at + k / 2 * 64 + k % 2] = c[k], D[at + k / 2 * 64 + k % 2] = d[k];
    }"""
    product = """#define PRODUCT(c, op) asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32." #op ".popc " \\
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \\
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) \\
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
    """
    rng = np.random.default_rng(8)
    A, B = rng.integers(0, 2**32, (16, 8), np.uint32), rng.integers(0, 2**32, (8, 8), np.uint32)
    C, D = np.zeros((2, 16, 8), np.int32)
    with gpusim.record(level=level):
        gpusim.RawModule(code=product + source, arch=arch).get_function("kernel")((1,), (32,), (A, B, C, D))
    rows, columns = A[:, None], B[None]
    assert C.tolist() == np.bitwise_count(rows & columns).sum(2).tolist()
    assert D.tolist() == np.bitwise_count(rows ^ columns).sum(2).tolist()


def test_a_uniform_number_of_8_bits_is_packed_as_any_other(level):
    source = """
    #include <cuda_fp8.h>
    extern "C" __global__ void kernel(float x, float4 *o) {
        o[threadIdx.x] = float4(__nv_fp8x4_e4m3(make_float4(x, 1, 2, -3)));
    }"""
    kernel = gpusim.RawModule(code=source, arch="sm_120").get_function("kernel")
    o = np.zeros((8, 4), np.float32)
    with gpusim.record(level=level):
        kernel((1,), (8,), (np.float32(17.2), o))
    assert "UF2FP" in compiler.disassemble(kernel.compiled)
    assert o.tolist() == [[18, 1, 2, -3]] * 8
