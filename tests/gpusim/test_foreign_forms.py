"""What kernels from elsewhere contain, and was refused or blamed once: both levels give what the manuals say."""

from fractions import Fraction

import numpy as np
import pytest

import gpusim
from gpusim.errors import UnsupportedInstruction
from gpusim.symbols import pointers


def run(level, source, *arrays, threads=32):
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((1,), (threads,), arrays)


def test_four_numbers_of_8_bits_are_packed_as_each_of_them_alone(level):
    source = """
    #include <cuda_fp8.h>
    extern "C" __global__ void kernel(const float4* x, unsigned* four, uchar4* alone) {
        const float4 v = x[threadIdx.x];
        four[threadIdx.x] = __nv_fp8x4_e4m3(v).__x;
        alone[threadIdx.x] = make_uchar4(__nv_fp8_e4m3(v.x).__x, __nv_fp8_e4m3(v.y).__x, __nv_fp8_e4m3(v.z).__x,
                                         __nv_fp8_e4m3(v.w).__x);
    }"""
    x = (np.random.default_rng(1).standard_normal((32, 4)) * [1, 20, 0.01, 400]).astype(np.float32)
    four, alone = np.zeros(32, np.uint32), np.zeros((32, 4), np.uint8)
    run(level, source, x, four, alone)
    assert four.view(np.uint8).reshape(32, 4).tolist() == alone.tolist()
    assert len(np.unique(alone)) > 40


def test_the_lowest_lane_that_is_there_is_elected(level):
    source = """
    extern "C" __global__ void kernel(unsigned* number, unsigned* chosen) {
        if (threadIdx.x % 32 < 5) return;
        asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffe0; selp.u32 %1, 1, 0, p;}"
                     : "=r"(number[threadIdx.x]), "=r"(chosen[threadIdx.x]));
    }"""
    number, chosen = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    run(level, source, number, chosen, threads=64)
    assert number.reshape(2, 32).tolist() == [[0] * 5 + [5] * 27] * 2
    assert np.flatnonzero(chosen).tolist() == [5, 37]


def test_the_nth_bit_that_is_set_is_found_upward_and_downward(level):
    source = """
    extern "C" __global__ void kernel(const unsigned* mask, const unsigned* base, const int* offset, unsigned* place) {
        const int i = threadIdx.x;
        place[i] = __fns(mask[i], base[i], offset[i]);
    }"""
    rng = np.random.default_rng(2)
    masks, bases = rng.integers(0, 2**32, 256, dtype=np.uint32), rng.integers(0, 32, 256, dtype=np.uint32)
    offsets = rng.integers(-9, 10, 256).astype(np.int32)
    places = np.zeros(256, np.uint32)
    run(level, source, masks, bases, offsets, places, threads=256)
    expected = []
    for mask, base, offset in zip(masks.tolist(), bases.tolist(), offsets.tolist(), strict=True):
        order = range(base, 32) if offset > 0 else range(base, -1, -1) if offset < 0 else [base]
        bits_set = [bit for bit in order if mask >> bit & 1]
        wanted = max(abs(offset), 1)
        expected.append(bits_set[wanted - 1] if len(bits_set) >= wanted else 2**32 - 1)
    assert places.tolist() == expected


def test_double_quotients_and_roots_round_as_asked(level):
    source = """
    extern "C" __global__ void kernel(const double* a, const double* b, double* out) {
        const int i = threadIdx.x;
        out[i] = __ddiv_ru(a[i], b[i]), out[64 + i] = __ddiv_rd(a[i], b[i]), out[128 + i] = __ddiv_rz(a[i], b[i]);
        out[192 + i] = __dsqrt_ru(fabs(a[i])), out[256 + i] = __dsqrt_rd(fabs(a[i]));
        out[320 + i] = __drcp_ru(b[i]), out[384 + i] = __drcp_rz(b[i]);
    }"""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(64) * 10.0 ** rng.integers(-200, 100, 64) for _ in range(2))
    a[:6], b[:4] = (0.0, 4.0, -9.0, 1e-310, np.inf, 1.0), (3.0, 2.0, 3.0, 1.0)
    out = np.zeros((7, 64))
    run(level, source, a, b, out, threads=64)
    finite = np.isfinite(a)
    for i in np.flatnonzero(finite):
        exact, inverse, size = Fraction(a[i]) / Fraction(b[i]), 1 / Fraction(b[i]), abs(Fraction(a[i]))
        up, down, zero, root_up, root_down, inverse_up, inverse_zero = out[:, i]
        below = np.nextafter(up, -np.inf)
        assert Fraction(up) >= exact >= Fraction(down) and (Fraction(below) < exact)
        assert zero == (down if exact > 0 else up)
        assert Fraction(root_up) ** 2 >= size >= Fraction(root_down) ** 2
        assert root_up in (root_down, np.nextafter(root_down, np.inf))
        assert Fraction(inverse_up) >= inverse and abs(Fraction(inverse_zero)) <= abs(inverse)
    assert out[0, 4] in (np.inf, -np.inf) and out[3, 4] == np.inf


WMMA = """
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
extern "C" __global__ void kernel(const float* x, float* out) {
    __shared__ __half s[256]; __shared__ float o[256];
    for (int i = threadIdx.x; i < 256; i += 32) s[i] = __float2half(x[i]);
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    BODY
}"""


def test_matrix_loaded_on_another_arrays_line_is_not_reported(level):
    body = """wmma::load_matrix_sync(a, s, 16); wmma::load_matrix_sync(b, s, 16); wmma::mma_sync(c, a, b, c); \
wmma::store_matrix_sync(o, c, 16, wmma::mem_row_major); __syncwarp(); \
for (int i = threadIdx.x; i < 256; i += 32) out[i] = o[i];"""
    x = np.random.default_rng(4).integers(-4, 5, (16, 16)).astype(np.float32)
    out = np.full((16, 16), np.nan, np.float32)
    run(level, WMMA.replace("BODY", body.replace("\\\n", " ")), x, out)
    assert (out == x @ x).all()


def test_an_array_that_matrices_are_stored_to_counts_as_written():
    body = "wmma::load_matrix_sync(a, s, 16); wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);"
    kernel = gpusim.RawModule(code=WMMA.replace("BODY", body)).get_function("kernel")
    assert pointers.find(kernel.compiled).written == {"out"}


def test_tiles_of_two_warps_are_refused_other_kernels_run():
    source = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void wide(unsigned* out) {
        __shared__ cg::block_tile_memory<64> memory;
        const auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
        out[threadIdx.x] = cg::reduce(tile, threadIdx.x, cg::plus<unsigned>());
    }
    extern "C" __global__ void narrow(unsigned* out) {
        const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
        out[threadIdx.x] = cg::reduce(tile, threadIdx.x, cg::plus<unsigned>());
    }"""
    module, out = gpusim.RawModule(code=source), np.zeros(64, np.uint32)
    module.compile()
    with pytest.raises(UnsupportedInstruction, match=r"tiles of more than 32 threads") as refused:
        module.get_function("wide")((1,), (64,), (out,))
    assert "leave out" not in str(refused.value)
    module.get_function("narrow")((1,), (64,), (out,))
    assert out.tolist() == [sum(range(32))] * 32 + [sum(range(32, 64))] * 32


def test_proxy_fences_leave_values_and_predicates_unchanged(level):
    """The machine code of one for another name of the same memory saves all uniform predicates, and restores them."""
    source = """
    extern "C" __global__ void kernel(const float* x, float* y, int n) {
        __shared__ float s[32];
        const bool many = n > 7;
        s[threadIdx.x] = x[threadIdx.x];
        asm volatile("fence.proxy.async;");
        asm volatile("fence.proxy.alias;");
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("fence.proxy.async.global;");
        __syncthreads();
        y[threadIdx.x] = many ? s[31 - threadIdx.x] : 0.0f;
    }"""
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    for n, expected in ((8, x[::-1]), (7, 0 * x)):
        run(level, source, x, y, np.int32(n))
        assert np.array_equal(y, expected)


def test_functions_take_references_to_grid_constants(level):
    source = """
    struct Filter { float weights[5]; int shift; char last; };
    __device__ __noinline__ float picked(const Filter &f, int k) { return f.weights[k] + f.shift; }
    extern "C" __global__ void kernel(int a, float *x, const __grid_constant__ Filter f,
                                      const __grid_constant__ Filter g) {
        x[threadIdx.x] += picked(f, a) * 100 + picked(g, threadIdx.x % 5);
    }"""
    filter_ = np.dtype([("weights", np.float32, 5), ("shift", np.int32), ("last", np.int8)], align=True)
    f, g = (np.array((np.arange(1, 6) * by, shift, 0), filter_)[()] for by, shift in ((1, 3), (10, 7)))
    x = np.zeros(64, np.float32)
    run(level, source, np.int32(2), x, f, g, threads=64)
    assert x.tolist() == [600 + 10 * (t % 5 + 1) + 7 for t in range(64)]
    x[:] = 0
    run(level, source, np.int32(2), x, f.reshape(1), g.reshape(()), threads=64)  # as CuPy takes a struct
    assert x.tolist() == [600 + 10 * (t % 5 + 1) + 7 for t in range(64)]


def test_minima_and_maxima_may_be_limited_to_non_negative(level):
    source = """
    extern "C" __global__ void kernel(const int* x, const int* y, int (*o)[32]) {
        const int t = threadIdx.x, a = x[t], b = y[t];
        o[0][t] = __vimax_s32_relu(a, b);
        o[1][t] = __vimin3_s32_relu(a, b, 9);
        o[2][t] = __viaddmin_s32_relu(a, b, 7);
        o[3][t] = __vimax_s16x2_relu(a, b);
        o[4][t] = __vimin_s16x2_relu(a, b);
    }"""
    x, y = np.random.default_rng(2).integers(-(2**30), 2**30, (2, 32)).astype(np.int32)
    o = np.zeros((5, 32), np.int32)
    run(level, source, x, y, o)
    halves = x.view(np.int16), y.view(np.int16)
    expected = (
        np.maximum(x, y), np.minimum(np.minimum(x, y), 9), np.minimum(x + y, 7),
        np.maximum(*halves), np.minimum(*halves),
    )  # fmt: skip
    assert o.tolist() == [np.maximum(values, 0).view(np.int32).tolist() for values in expected]
