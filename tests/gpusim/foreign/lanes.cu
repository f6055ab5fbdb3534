// Atomics, and what the lanes of a warp do together.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#define ME const int i = blockIdx.x * blockDim.x + threadIdx.x;
#define ALL 0xffffffffu

extern "C" __global__ void every_atomic(const int *x, int *cells, unsigned *unsigneds, unsigned long long *wide, int n) {
    ME if (i >= n) return;
    atomicAdd(&cells[0], x[i]), atomicSub(&cells[1], x[i]), atomicMin(&cells[2], x[i]), atomicMax(&cells[3], x[i]);
    atomicAnd(&cells[4], x[i] | 0xff00), atomicOr(&cells[5], x[i]), atomicXor(&cells[6], x[i]);
    atomicMin(&unsigneds[0], (unsigned)x[i]), atomicMax(&unsigneds[1], (unsigned)x[i]);
    atomicInc(&unsigneds[2], 10), atomicDec(&unsigneds[3], 10);
    atomicAdd(&wide[0], (unsigned long long)(long long)x[i] << 20), atomicMax(&wide[1], (unsigned long long)x[i] * x[i]);
    atomicXor(&wide[2], (unsigned long long)x[i] << 30), atomicMin((long long *)&wide[3], (long long)x[i] << 33);
}
extern "C" __global__ void same_address(unsigned *cell, const unsigned *x) { atomicAnd(cell, x[threadIdx.x]); atomicOr(cell + 1, x[threadIdx.x]); }
extern "C" __global__ void tickets(const int *keys, int *counts, int *mine, int *swapped, unsigned long long *old, unsigned long long *sum, int n) {
    ME if (i >= n) return;
    mine[i] = atomicAdd(&counts[keys[i]], 1);
    swapped[i] = atomicExch(&swapped[n], i);
    old[i] = atomicAdd(sum, (unsigned long long)(i + 1));
}
extern "C" __global__ void scopes(int *cells) {
    atomicAdd_block(&cells[blockIdx.x], 2), atomicAdd_system(&cells[gridDim.x], 3), atomicMax_block(&cells[5 + blockIdx.x], (int)threadIdx.x);
    atomicCAS_system(&cells[8], 0, 77);
}
__device__ float atomic_max(float *cell, float value) {
    int *bits = (int *)cell, old = *bits, seen;
    do { seen = old; if (__int_as_float(seen) >= value) break; old = atomicCAS(bits, seen, __float_as_int(value)); } while (old != seen);
    return __int_as_float(old);
}
extern "C" __global__ void largest(const float *x, float *cell, int n) { ME if (i < n) atomic_max(cell, x[i]); }
extern "C" __global__ void sums_in_shared(const float *x, float *out, double *wide) {
    __shared__ float f; __shared__ double d, pairs[2];
    if (threadIdx.x == 0) f = 0, d = 0, pairs[0] = pairs[1] = 0;
    __syncthreads();
    atomicAdd(&f, x[threadIdx.x]), atomicAdd(&d, (double)x[threadIdx.x] * x[threadIdx.x]), atomicAdd(&pairs[threadIdx.x % 2], 1.0);
    __syncthreads();
    if (threadIdx.x == 0) *out = f, wide[0] = d, wide[1] = pairs[0], wide[2] = pairs[1], atomicAdd(&wide[3], d), atomicAdd(out + 1, f);
}
extern "C" __global__ void swaps_of_64(const unsigned *x, unsigned long long *out) {
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    unsigned long long old = best;
    __syncthreads();
    const unsigned long long mine = (unsigned long long)x[threadIdx.x] << 32 | threadIdx.x;
    while (mine > old) { const unsigned long long seen = atomicCAS(&best, old, mine); if (seen == old) break; old = seen; }
    __syncthreads();
    if (threadIdx.x == 0) *out = best;
}
extern "C" __global__ void swaps_of_16(unsigned short *cells, const unsigned short *x) {
    unsigned short old = *(volatile unsigned short *)&cells[threadIdx.x % 3], seen;
    do { seen = old; old = atomicCAS(&cells[threadIdx.x % 3], seen, (unsigned short)(seen + x[threadIdx.x])); } while (old != seen);
}
extern "C" __global__ void vectors(float4 *four, float2 *two, float4 *old) {
    ME
    old[i] = atomicAdd(&four[i % 3], make_float4(1, i, 0.5f, -2));
    atomicAdd(two, make_float2(i, 1));
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(four + 3), "f"(1.f), "f"(2.f), "f"((float)i), "f"(-1.f) : "memory");
}
extern "C" __global__ void halves(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2, unsigned *raw) {
    ME
    atomicAdd(&h[i % 3], __float2half(i)), atomicAdd(h2, __floats2half2_rn(1, i)), atomicAdd(&b[i % 2], __float2bfloat16(2)), atomicAdd(b2, __floats2bfloat162_rn(1, -1));
    unsigned old;
    asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(raw), "r"(0x40003c00) : "memory");
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" :: "l"(raw + 1), "r"(0x40003f80) : "memory");
}
// Subnormal sums are flushed in global memory (PTX ISA, atom), with what they return and without.
extern "C" __global__ void subnormal_sums(float *cells, float *old) { atomicAdd(&cells[threadIdx.x], __int_as_float(3)); old[threadIdx.x] = atomicAdd(&cells[4 + threadIdx.x], __int_as_float(2)); }
extern "C" __global__ void either_array(int *a, int *b) { atomicAdd(threadIdx.x & 1 ? a : b, (int)threadIdx.x); }
struct __align__(16) Wide { unsigned long long low, high; };
extern "C" __global__ void swaps_of_128(Wide *cell, int *won) {
    Wide expected = {0, 0}, mine = {threadIdx.x + 1ull, ~0ull};
    unsigned long long a, b;
    asm volatile("{.reg .b128 e, m, o; mov.b128 e, {%2, %3}; mov.b128 m, {%4, %5}; atom.global.cas.b128 o, [%6], e, m; mov.b128 {%0, %1}, o;}"
                 : "=l"(a), "=l"(b) : "l"(expected.low), "l"(expected.high), "l"(mine.low), "l"(mine.high), "l"(cell) : "memory");
    won[threadIdx.x] = a == 0 && b == 0;
}

extern "C" __global__ void votes(const int *x, unsigned *out, int n) {
    ME
    const int v = x[i];
    int same;
    out[i] = __ballot_sync(ALL, v > 0), out[n + i] = __match_any_sync(ALL, v & 7), out[2 * n + i] = __reduce_add_sync(ALL, v);
    out[3 * n + i] = __reduce_min_sync(ALL, v), out[4 * n + i] = __reduce_max_sync(ALL, (unsigned)v), out[5 * n + i] = __reduce_and_sync(ALL, v);
    out[6 * n + i] = __reduce_or_sync(ALL, v), out[7 * n + i] = __reduce_xor_sync(ALL, v), out[8 * n + i] = __match_all_sync(ALL, v >> 30, &same);
    out[9 * n + i] = same, out[10 * n + i] = __all_sync(ALL, v != 5) + 2 * __any_sync(ALL, v == 7);
}
extern "C" __global__ void matches_of_64(const unsigned long long *x, unsigned *out, int *same, int n) {
    ME
    out[i] = __match_any_sync(ALL, x[i]);
    out[n + i] = __match_all_sync(ALL, x[i] >> 60, &same[i]);
    const int odd = threadIdx.x & 1;
    if (odd) out[2 * n + i] = __match_all_sync(0xaaaaaaaau, x[i] & 1, &same[n + i]); else out[2 * n + i] = __match_any_sync(0x55555555u, x[i] & 3), same[n + i] = 0;
}
// Half a warp, and parts that are no power of two.
extern "C" __global__ void parts(const float *x, float *out, int n) {
    ME
    const int lane = threadIdx.x % 32;
    if (lane < 16) {
        float sum = x[i];
        for (int d = 8; d; d /= 2) sum += __shfl_xor_sync(0xffffu, sum, d, 16);
        out[i] = sum;
    } else {
        out[i] = __shfl_sync(0xffff0000u, x[i], 16 + (lane + 5) % 16);
    }
    const unsigned mask = __ballot_sync(ALL, lane % 3 != 1);
    out[n + i] = -1;
    if (lane % 3 != 1) out[n + i] = __shfl_sync(mask, x[i], lane % 3 == 0 ? (lane + 2) % 33 % 32 : lane - 2);
}
extern "C" __global__ void active_lanes(const int *x, unsigned *out, int n) {
    ME
    if (x[i] & 1) out[i] = __activemask();
    else if (x[i] & 2) out[i] = __activemask();
    else out[i] = 0;
}
__device__ int leader_add(int *cell) {
    const unsigned active = __activemask();
    const int lane = threadIdx.x % 32, leader = __ffs(active) - 1;
    int base;
    if (lane == leader) base = atomicAdd(cell, __popc(active));
    base = __shfl_sync(active, base, leader);
    return base + __popc(active & (1u << lane) - 1);
}
extern "C" __global__ void compacts(const int *x, int *out, int *count, int n) { ME if (i < n && x[i] > 0) out[leader_add(count)] = x[i]; }
extern "C" __global__ void hints(const float *x, float *y, float4 *z) {
    ME
    float v = __ldg(x + i) + __ldcg(x + i) + __ldca(x + i) + __ldcs(x + i) + __ldlu(x + i) + __ldcv(x + i);
    __stcg(y + i, v); 
    __stwt(y + 64 + i, v + 1); __stcs(y + 128 + i, v + 2); __stwb(y + 192 + i, v + 3);
    if (i < 16) z[i] = __ldcs((const float4 *)x + i);
}
extern "C" __global__ void policies(const float *x, float *y) {
    ME
    unsigned long long policy;
    float v, w;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(policy));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(w) : "l"(x + i));
    asm volatile("prefetch.global.L2 [%0];" :: "l"(x + i));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(x));
    asm volatile("st.global.L1::evict_first.f32 [%0], %1;" :: "l"(y + i), "f"(v + w) : "memory");
}
extern "C" __global__ void volatiles(volatile int *x, int *out) { __shared__ volatile int s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x] + 1; out[threadIdx.x] = s[threadIdx.x]; }
extern "C" __global__ void elected(int *out) {
    ME
    unsigned chosen;
    if (threadIdx.x % 32 >= 7) {
        asm volatile("{.reg .pred p; elect.sync _|p, 0xffffff80; selp.u32 %0, 1, 0, p;}" : "=r"(chosen));
        out[i] = chosen;
    }
}
extern "C" __global__ void reduces_inline(const unsigned *x, unsigned *out, int n) {
    ME
    unsigned a, b, c;
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(a) : "r"(x[i]));
    asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(b) : "r"(x[i]));
    asm volatile("redux.sync.and.b32 %0, %1, 0xffffffff;" : "=r"(c) : "r"(x[i] | 0x10));
    out[i] = a, out[n + i] = b, out[2 * n + i] = c;
}
extern "C" __global__ void counts_at_barrier(const int *x, int *out) {
    const int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    const int count = __syncthreads_count(v > 0), all = __syncthreads_and(v > -5), any = __syncthreads_or(v == 9);
    if (threadIdx.x == 0) out[3 * blockIdx.x] = count, out[3 * blockIdx.x + 1] = all != 0, out[3 * blockIdx.x + 2] = any != 0;
}
// Two warps give to two others by named barriers; then halves of the block each meet at one of their own.
extern "C" __global__ void named_barriers(const int *x, int *out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    for (int k = 0; k < 3; ++k) {
        if (t < 64) {
            s[t] = x[64 * k + t] * 2;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[64 * k + t - 64] = s[127 - t];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
}
extern "C" __global__ void barriers_of_halves(const int *x, int *out) {
    __shared__ int s[128];
    const int t = threadIdx.x, half = t / 64;
    s[t] = x[t];
    if (half == 0) asm volatile("bar.sync 1, 64;" ::: "memory"); else asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = s[64 * half + 63 - t % 64];
}
extern "C" __global__ void swaps_where_it_points(unsigned long long *cells, int shared, unsigned long long *seen, unsigned long long *left) {
    __shared__ unsigned long long own[2];
    if (threadIdx.x < 2) own[threadIdx.x] = cells[threadIdx.x];
    __syncthreads();
    unsigned long long *p = shared ? own : cells, old = *(volatile unsigned long long *)p, taken;
    while ((taken = atomicCAS(p, old, old * 3 + 1)) != old) old = taken;
    seen[threadIdx.x] = atomicExch(p + 1, threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 2) left[threadIdx.x] = p[threadIdx.x];
}
