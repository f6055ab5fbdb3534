// Numbers of 16 and 8 bits, and attention of halves on tensor cores.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <mma.h>

#define EACH const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int to = i;
#define PUT(value) out[to] = value, to += n;

extern "C" __global__ void half_scalars(const __half *a, const __half *b, __half *out, int n) {
    EACH const __half x = a[i], y = b[i];
    PUT(__hadd(x, y)) PUT(__hsub(x, y)) PUT(__hmul(x, y)) PUT(__hfma(x, y, x)) PUT(__hneg(x)) PUT(__habs(x)) PUT(__hmin(x, y)) PUT(__hmax(x, y))
    PUT(x < y ? x : __float2half(7.f)) PUT(__float2half(__half2float(x) * 3.f)) PUT(__hadd_rn(x, __hmul_rn(y, x))) PUT(__hdiv(x, y)) PUT(hsqrt(__habs(x)))
    PUT(hexp(x)) PUT(hlog(__habs(x))) PUT(hfloor(x)) PUT(hrint(x)) PUT(__int2half_rn(__half2int_rz(x))) PUT(__hmax(x, __float2half(0.f)))
    PUT(__hmin(__hneg(x), y)) PUT(__hmax(__habs(x), __hneg(y)))
}
extern "C" __global__ void half_pairs(const __half2 *a, const __half2 *b, __half2 *out, int n) {
    EACH const __half2 x = a[i], y = b[i];
    PUT(__hadd2(x, y)) PUT(__hfma2(x, y, y)) PUT(__hmul2(__low2half2(x), __high2half2(y))) PUT(__lowhigh2highlow(x)) PUT(__hmin2(__hneg2(x), y))
    PUT(__hmax2(__habs2(x), y)) PUT(__hgt2(x, y)) PUT(__heq2(x, x)) PUT(__hle2(x, y)) PUT(__halves2half2(__low2half(y), __high2half(x)))
    PUT(__float22half2_rn(make_float2(__low2float(x) * 2, __high2float(x) - 1))) PUT(__hmax2(x, __float2half2_rn(0.f))) PUT(h2exp(x)) PUT(__h2div(x, y))
    PUT(__hfma2_relu(x, y, y))
}
extern "C" __global__ void bfloat_scalars(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out, int n) {
    EACH const __nv_bfloat16 x = a[i], y = b[i];
    PUT(__hadd(x, y)) PUT(__hmul(x, y)) PUT(__hfma(x, y, x)) PUT(__hmin(x, y)) PUT(__hmax(__hneg(x), y)) PUT(x < y ? x : y) PUT(__float2bfloat16(__bfloat162float(x) / 3.f))
    PUT(x - y) PUT(__hmax(x, __float2bfloat16(0.f))) PUT(__habs(x))
}
extern "C" __global__ void bfloat_pairs(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out, int n) {
    EACH const __nv_bfloat162 x = a[i], y = b[i];
    PUT(__hadd2(x, y)) PUT(__hfma2(x, y, x)) PUT(__hmin2(x, __hneg2(y))) PUT(__hmax2(__habs2(x), y)) PUT(__floats2bfloat162_rn(__high2float(x), __low2float(y))) PUT(__hgt2(x, y))
}
extern "C" __global__ void relu_of_nan(const __half2 *x, __half2 *out) { out[threadIdx.x] = __hfma2_relu(x[threadIdx.x], __float2half2_rn(1.f), __float2half2_rn(0.f)); }
extern "C" __global__ void half_vectors(const float4 *x, float4 *y, int n) {
    EACH
    float4 v = x[i];
    __half2 *h = reinterpret_cast<__half2 *>(&v);
    for (int k = 0; k < 4; ++k) h[k] = __hfma2(h[k], __float2half2_rn(2.f), __float2half2_rn(1.f));
    y[i] = v;
}
extern "C" __global__ void half_softmax(const __half *x, __half *y, int columns) {
    const __half *row = x + blockIdx.x * columns;
    float largest = -1e30f, sum = 0;
    for (int c = threadIdx.x; c < columns; c += 32) largest = fmaxf(largest, __half2float(row[c]));
    for (int d = 16; d; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    for (int c = threadIdx.x; c < columns; c += 32) sum += expf(__half2float(row[c]) - largest);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int c = threadIdx.x; c < columns; c += 32) y[blockIdx.x * columns + c] = __float2half(expf(__half2float(row[c]) - largest) / sum);
}
extern "C" __global__ void to_and_from_8_bits(const float *x, unsigned char *a, unsigned char *b, float *back, int n) {
    EACH
    const __nv_fp8_e4m3 p(x[i]); const __nv_fp8_e5m2 q(x[i]);
    a[i] = p.__x, b[i] = q.__x;
    back[i] = float(p), back[n + i] = float(q), back[2 * n + i] = __half2float(__half(__nv_fp8_e4m3(__float2half(x[i]))));
}
// One warp, 16 queries, keys 16 at a time, d = 16: scores and sums on tensor cores, softmax in registers.
extern "C" __global__ void attention_of_halves(const __half *Q, const __half *K, const __half *V, float *O, int n) {
    __shared__ float scores[16][16], sums[16][16];
    __shared__ __half p[16][16];
    __shared__ float largest[16], total[16];
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> q, weights;
    fragment<matrix_b, 16, 16, 16, __half, col_major> k;
    fragment<matrix_b, 16, 16, 16, __half, row_major> v;
    fragment<accumulator, 16, 16, 16, float> c;
    const int lane = threadIdx.x;
    load_matrix_sync(q, Q + blockIdx.x * 256, 16);
    if (lane < 16) { largest[lane] = -1e30f, total[lane] = 0; for (int j = 0; j < 16; ++j) sums[lane][j] = 0; }
    __syncwarp();
    for (int first = 0; first < n; first += 16) {
        load_matrix_sync(k, K + first * 16, 16);
        fill_fragment(c, 0.f);
        mma_sync(c, q, k, c);
        store_matrix_sync(&scores[0][0], c, 16, mem_row_major);
        __syncwarp();
        if (lane < 16) {
            float highest = largest[lane];
            for (int j = 0; j < 16; ++j) highest = fmaxf(highest, scores[lane][j] * 0.25f);
            const float correction = __expf(largest[lane] - highest);
            total[lane] *= correction;
            for (int j = 0; j < 16; ++j) {
                const float e = __expf(scores[lane][j] * 0.25f - highest);
                total[lane] += e, p[lane][j] = __float2half(e), sums[lane][j] *= correction;
            }
            largest[lane] = highest;
        }
        __syncwarp();
        load_matrix_sync(weights, &p[0][0], 16);
        load_matrix_sync(v, V + first * 16, 16);
        load_matrix_sync(c, &sums[0][0], 16, mem_row_major);
        mma_sync(c, weights, v, c);
        __syncwarp();
        store_matrix_sync(&sums[0][0], c, 16, mem_row_major);
        __syncwarp();
    }
    if (lane < 16) for (int j = 0; j < 16; ++j) O[(blockIdx.x * 16 + lane) * 16 + j] = sums[lane][j] / total[lane];
}
