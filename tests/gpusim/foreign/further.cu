// More of what courses, puzzles and forums have: PMPP's chapters, samples, GPU puzzles, networks, CUB, libcudacxx.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cuda/std/bit>
namespace cg = cooperative_groups;
#define ME const int i = blockIdx.x * blockDim.x + threadIdx.x;

// PMPP: tiled product whose threads do several columns, with remainders.
#define TILE 8
extern "C" __global__ void coarsened(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, first = blockIdx.x * TILE * 3 + threadIdx.x;
    float sums[3] = {};
    for (int p = 0; p < K; p += TILE) {
        a[threadIdx.y][threadIdx.x] = row < M && p + threadIdx.x < K ? A[row * K + p + threadIdx.x] : 0.0f;
        for (int c = 0; c < 3; ++c) {
            const int column = first + c * TILE;
            b[threadIdx.y][threadIdx.x] = p + threadIdx.y < K && column < N ? B[(p + threadIdx.y) * N + column] : 0.0f;
            __syncthreads();
            for (int k = 0; k < TILE; ++k) sums[c] += a[threadIdx.y][k] * b[k][threadIdx.x];
            __syncthreads();
        }
    }
    for (int c = 0; c < 3; ++c) if (row < M && first + c * TILE < N) C[row * N + first + c * TILE] = sums[c];
}
// PMPP: a merge of two sorted arrays by the rank of each thread's first element.
__device__ int co_rank(int k, const int *a, int m, const int *b, int n) {
    int low = max(0, k - n), high = min(k, m);
    while (low < high) {
        const int i = (low + high) / 2, j = k - i;
        if (i < m && j > 0 && b[j - 1] >= a[i]) low = i + 1; else high = i;
    }
    return low;
}
extern "C" __global__ void merges(const int *a, int m, const int *b, int n, int *out, int each) {
    ME
    const int k = min(i * each, m + n), end = min(k + each, m + n);
    int p = co_rank(k, a, m, b, n), q = k - p;
    for (int at = k; at < end; ++at) out[at] = q >= n || (p < m && a[p] <= b[q]) ? a[p++] : b[q++];
}
// PMPP: a 3D stencil that marches along z with planes in registers.
extern "C" __global__ void seven_points(const float *in, float *out, int n) {
    __shared__ float plane[8][8];
    const int x = blockIdx.x * 6 + threadIdx.x - 1, y = blockIdx.y * 6 + threadIdx.y - 1;
    const bool here = x >= 0 && x < n && y >= 0 && y < n;
    float below = 0, now = here ? in[y * n + x] : 0;
    for (int z = 0; z < n; ++z) {
        const float above = here && z + 1 < n ? in[((z + 1) * n + y) * n + x] : 0;
        plane[threadIdx.y][threadIdx.x] = now;
        __syncthreads();
        if (threadIdx.x > 0 && threadIdx.x < 7 && threadIdx.y > 0 && threadIdx.y < 7 && here)
            out[(z * n + y) * n + x] = 6 * now - below - above - plane[threadIdx.y][threadIdx.x - 1] - plane[threadIdx.y][threadIdx.x + 1]
                                       - plane[threadIdx.y - 1][threadIdx.x] - plane[threadIdx.y + 1][threadIdx.x];
        __syncthreads();
        below = now, now = above;
    }
}
// PMPP: BFS with a queue of the block in shared memory that overflows into the global one.
extern "C" __global__ void queue_of_block(const int *starts, const int *edges, int *levels, const int *queue, int size, int *next, int *count, int level) {
    __shared__ int own[8], held, base;
    if (threadIdx.x == 0) held = 0;
    __syncthreads();
    ME
    if (i < size) for (int e = starts[queue[i]]; e < starts[queue[i] + 1]; ++e)
        if (atomicCAS(&levels[edges[e]], -1, level) == -1) {
            const int at = atomicAdd(&held, 1);
            if (at < 8) own[at] = edges[e]; else { atomicSub(&held, 1); next[atomicAdd(count, 1)] = edges[e]; }
        }
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(count, min(held, 8));
    __syncthreads();
    for (int k = threadIdx.x; k < min(held, 8); k += blockDim.x) next[base + k] = own[k];
}
// PMPP: electrostatic potential, atoms in constant memory; conjugate gradients' dot and update; COO and JDS.
__constant__ float4 atoms[16];
extern "C" __global__ void potential(float *grid, int width, int height, float spacing, int count) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float energy = 0;
    for (int k = 0; k < count; ++k) {
        const float dx = x * spacing - atoms[k].x, dy = y * spacing - atoms[k].y, dz = atoms[k].z;
        energy += atoms[k].w * rsqrtf(dx * dx + dy * dy + dz * dz);
    }
    grid[y * width + x] += energy;
}
extern "C" __global__ void spmv_coo(const int *rows, const int *columns, const float *values, const float *x, float *y, int n) { ME if (i < n) atomicAdd(&y[rows[i]], values[i] * x[columns[i]]); }
extern "C" __global__ void spmv_jds(const int *order, const int *diagonals, const int *lengths, const int *columns, const float *values, const float *x, float *y, int rows) {
    ME
    if (i >= rows) return;
    float sum = 0;
    for (int d = 0; d < lengths[i]; ++d) sum += values[diagonals[d] + i] * x[columns[diagonals[d] + i]];
    y[order[i]] = sum;
}
// Samples: Sobel with a sum saturated to a byte, Black and Scholes, Haar wavelets, a matrix of eigenvalue counts.
extern "C" __global__ void sobel(const unsigned char *in, unsigned char *out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const unsigned char *p = in + y * width + x;
    const int h = p[-width + 1] + 2 * p[1] + p[width + 1] - p[-width - 1] - 2 * p[-1] - p[width - 1];
    const int v = p[-width - 1] + 2 * p[-width] + p[-width + 1] - p[width - 1] - 2 * p[width] - p[width + 1];
    out[y * width + x] = (unsigned char)min(abs(h) + abs(v), 255);
}
extern "C" __global__ void options(const double *s, const double *k, const double *t, double *call, double *put, double r, double v, int n) {
    ME
    if (i >= n) return;
    const double root = sqrt(t[i]), d1 = (log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / (v * root), d2 = d1 - v * root, e = exp(-r * t[i]);
    call[i] = s[i] * normcdf(d1) - k[i] * e * normcdf(d2);
    put[i] = k[i] * e * normcdf(-d2) - s[i] * normcdf(-d1);
}
extern "C" __global__ void haar(float *x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    for (int n = blockDim.x; n > 1; n /= 2) {
        __syncthreads();
        float a = 0, b = 0;
        if (threadIdx.x < n / 2) a = s[2 * threadIdx.x], b = s[2 * threadIdx.x + 1];
        __syncthreads();
        if (threadIdx.x < n / 2) s[threadIdx.x] = (a + b) / 2, s[n / 2 + threadIdx.x] = (a - b) / 2;
    }
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x];
}
// GPU puzzles: broadcast, pooling, a convolution with shared halo, the sum of a tail.
extern "C" __global__ void outer_sum(const float *a, const float *b, float *out, int n, int m) { const int r = threadIdx.y + blockIdx.y * blockDim.y, c = threadIdx.x + blockIdx.x * blockDim.x; if (r < n && c < m) out[r * m + c] = a[r] + b[c]; }
extern "C" __global__ void pools(const float *x, float *out, int n) {
    __shared__ float s[32 + 2];
    ME
    if (i < n) s[threadIdx.x + 2] = x[i];
    if (threadIdx.x < 2) { const int left = (int)(blockIdx.x * blockDim.x) - 2 + (int)threadIdx.x; s[threadIdx.x] = left >= 0 ? x[left] : 0; }
    __syncthreads();
    if (i < n) out[i] = s[threadIdx.x] + s[threadIdx.x + 1] + s[threadIdx.x + 2];
}
// Networks: GELU and its gradient, Adam, cross entropy, embedding with atomics, RoPE, RMS norm of bf16, im2col, max pooling, attention mask, top k, group norm, quantisation.
extern "C" __global__ void gelu(const float *x, const float *up, float *y, float *down, int n) {
    ME
    if (i >= n) return;
    const float c = 0.7978845608f, cube = 0.044715f * x[i] * x[i] * x[i], t = tanhf(c * (x[i] + cube));
    y[i] = 0.5f * x[i] * (1 + t);
    down[i] = up[i] * (0.5f * (1 + t) + x[i] * 0.5f * (1 - t * t) * c * (1 + 3 * 0.044715f * x[i] * x[i]));
}
extern "C" __global__ void adam(float *w, const float *g, float *m, float *v, float rate, float b1, float b2, float c1, float c2, float decay, int n) {
    ME
    if (i >= n) return;
    m[i] = b1 * m[i] + (1 - b1) * g[i], v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
    w[i] -= rate * (m[i] / c1 / (sqrtf(v[i] / c2) + 1e-8f) + decay * w[i]);
}
extern "C" __global__ void cross_entropy(const float *logits, const int *labels, float *losses, float *gradient, int classes) {
    __shared__ float s[32];
    const float *row = logits + blockIdx.x * classes;
    float most = -3.4e38f, sum = 0;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) most = fmaxf(most, row[c]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; ++w) most = fmaxf(most, s[w]);
    __syncthreads();
    for (int c = threadIdx.x; c < classes; c += blockDim.x) sum += expf(row[c] - most);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) sum += s[w];
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + most - row[labels[blockIdx.x]];
    for (int c = threadIdx.x; c < classes; c += blockDim.x) gradient[blockIdx.x * classes + c] = expf(row[c] - most) / sum - (c == labels[blockIdx.x]);
}
extern "C" __global__ void embedding_gradient(const int *tokens, const float *up, float *table, int n, int width) { ME if (i < n * width) atomicAdd(&table[tokens[i / width] * width + i % width], up[i]); }
extern "C" __global__ void rope(float2 *x, int heads, int half, float base) {
    const int position = blockIdx.x, h = threadIdx.y, k = threadIdx.x;
    float sine, cosine;
    sincosf(position * powf(base, -(float)k / half), &sine, &cosine);
    float2 *p = x + (position * heads + h) * half + k;
    *p = make_float2(p->x * cosine - p->y * sine, p->x * sine + p->y * cosine);
}
extern "C" __global__ void rms_norm(const __nv_bfloat162 *x, const __nv_bfloat162 *gain, __nv_bfloat162 *y, int pairs) {
    float sum = 0;
    for (int k = threadIdx.x; k < pairs; k += 32) { const float2 v = __bfloat1622float2(x[blockIdx.x * pairs + k]); sum += v.x * v.x + v.y * v.y; }
    sum = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), sum, cg::plus<float>());
    const float scale = rsqrtf(sum / (2 * pairs) + 1e-6f);
    for (int k = threadIdx.x; k < pairs; k += 32) {
        const float2 v = __bfloat1622float2(x[blockIdx.x * pairs + k]), g = __bfloat1622float2(gain[k]);
        y[blockIdx.x * pairs + k] = __floats2bfloat162_rn(v.x * scale * g.x, v.y * scale * g.y);
    }
}
extern "C" __global__ void im2col(const float *image, float *columns, int channels, int height, int width, int size, int pad, int stride, int out_h, int out_w) {
    ME
    if (i >= channels * out_h * out_w) return;
    const int w = i % out_w, h = i / out_w % out_h, c = i / out_w / out_h;
    float *to = columns + (c * size * size * out_h + h) * out_w + w;
    for (int r = 0; r < size; ++r) for (int q = 0; q < size; ++q) {
        const int y = h * stride - pad + r, x = w * stride - pad + q;
        *to = y >= 0 && y < height && x >= 0 && x < width ? image[(c * height + y) * width + x] : 0;
        to += out_h * out_w;
    }
}
extern "C" __global__ void max_pool(const float *x, float *y, unsigned char *where, int height, int width) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= height / 2 || column >= width / 2) return;
    float best = -INFINITY; int at = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) { const float v = x[(2 * row + k / 2) * width + 2 * column + k % 2]; if (v > best) best = v, at = k; }
    y[row * (width / 2) + column] = best, where[row * (width / 2) + column] = at;
}
struct Best { float value; int place; };
__device__ Best better(Best a, Best b) { return a.value > b.value || (a.value == b.value && a.place < b.place) ? a : b; }
extern "C" __global__ void top_3(const float *x, float *values, int *places, int n) {
    bool taken[4] = {};
    for (int k = 0; k < 3; ++k) {
        Best best = {-INFINITY, n};
        for (int j = threadIdx.x, t = 0; j < n; j += 32, ++t) if (!taken[t]) best = better(best, {x[blockIdx.x * n + j], j});
        for (int d = 16; d; d /= 2) best = better(best, {__shfl_xor_sync(~0u, best.value, d), __shfl_xor_sync(~0u, best.place, d)});
        if (best.place % 32 == threadIdx.x) taken[best.place / 32] = true;
        if (threadIdx.x == 0) values[blockIdx.x * 3 + k] = best.value, places[blockIdx.x * 3 + k] = best.place;
    }
}
extern "C" __global__ void quantises(const float *x, signed char *q, float *scales, int n) {
    __shared__ unsigned most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x) atomicMax(&most, __float_as_uint(fabsf(x[blockIdx.x * n + k])));
    __syncthreads();
    const float scale = __uint_as_float(most) / 127.0f;
    for (int k = threadIdx.x; k < n; k += blockDim.x) q[blockIdx.x * n + k] = (signed char)max(-127, min(127, __float2int_rn(__fdiv_rn(x[blockIdx.x * n + k], scale))));
    if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}
extern "C" __global__ void four_bits(const unsigned *packed, const __half *scales, __half *out, int words, int group) {
    ME
    if (i >= words) return;
    for (int k = 0; k < 8; ++k) out[8 * i + k] = __hmul(__int2half_rn((int)(packed[i] >> 4 * k & 15) - 8), scales[(8 * i + k) / group]);
}
// libcudacxx: tuples, bits, arrays. C++: lambdas, templates, constexpr, if constexpr, fold expressions, structured bindings, range for.
template <class... Ts> __device__ auto sum_of(Ts... values) { return (values + ...); }
template <class T> __device__ int kind() { if constexpr (sizeof(T) == 8) return 8; else return 4; }
constexpr int squares_up_to(int n) { int s = 0; for (int k = 1; k <= n; ++k) s += k * k; return s; }
__constant__ int table_of_squares[4] = {squares_up_to(1), squares_up_to(2), squares_up_to(3), squares_up_to(4)};
extern "C" __global__ void modern(const unsigned *x, int *out, int n) {
    ME
    if (i >= n) return;
    cuda::std::array<int, 5> a{};
    int k = 0;
    for (int &v : a) v = i + k++;
    auto [low, high] = cuda::std::make_tuple(a[0], a[4]);
    const auto twice = [first = low](auto v) { return 2 * v + first; };
    out[i] = sum_of(low, high, a[2]) + kind<double>() * 1000 + twice(cuda::std::popcount(x[i])) + table_of_squares[i % 4] * 100000 + cuda::std::countl_zero(x[i]);
}
// Cooperative groups: a block's tiles by rank, invoke for one thread; warp aggregation by match.
extern "C" __global__ void by_ranks(const int *x, int *out, int n) {
    const auto block = cg::this_thread_block();
    const auto four = cg::tiled_partition<4>(block);
    const int v = x[block.thread_rank() + block.group_index().x * block.num_threads()];
    int sum = v;
    for (int d = four.size() / 2; d > 0; d /= 2) sum += four.shfl_xor(sum, d);
    const bool any = four.any(v > 7), all = four.all(v > -7);
    out[block.group_index().x * block.num_threads() + block.thread_rank()] = sum * 4 + any * 2 + all;
    cg::sync(block);
}
extern "C" __global__ void counts_by_match(const int *keys, int *counts, int n) {
    ME
    if (i >= n) return;
    const unsigned active = __activemask(), same = __match_any_sync(active, keys[i]);
    if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&counts[keys[i]], __popc(same));
}
// Threads of a block in two dimensions that shuffle, a warp's bitonic sort of pairs, a segmented scan, a Gray code, a game of life on bits, a maze of 64-bit shifts, random numbers, primes, strings.
extern "C" __global__ void sorts_pairs(const int *keys, int *order) {
    int key = keys[threadIdx.x], value = threadIdx.x;
    for (int size = 2; size <= 32; size *= 2) for (int step = size / 2; step; step /= 2) {
        const int other_key = __shfl_xor_sync(~0u, key, step), other_value = __shfl_xor_sync(~0u, value, step);
        const bool up = !(threadIdx.x & size), first = !(threadIdx.x & step);
        const bool less = key < other_key || (key == other_key && value < other_value);
        if (less != (up == first)) key = other_key, value = other_value;
    }
    order[threadIdx.x] = value;
}
extern "C" __global__ void scans_segments(const int *x, const int *heads, int *out) {
    __shared__ int s[128], f[128];
    const int t = threadIdx.x;
    s[t] = x[t], f[t] = heads[t];
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        const int left = t >= d && !f[t] ? s[t - d] : 0, flag = t >= d ? f[t - d] : 0;
        __syncthreads();
        s[t] += left, f[t] |= flag;
    }
    out[t] = s[t];
}
extern "C" __global__ void life_on_bits(const unsigned *rows, unsigned *out, int n) {
    ME
    if (i >= n) return;
    const unsigned long long r[3] = {i ? rows[i - 1] : 0u, rows[i], i + 1 < n ? rows[i + 1] : 0u};
    unsigned next = 0;
    for (int b = 0; b < 32; ++b) {
        int count = 0;
        for (int k = 0; k < 3; ++k) count += __popcll((r[k] << 1 >> b) & 7);
        const bool alive = r[1] >> b & 1;
        if (count == 3 || (alive && count == 4)) next |= 1u << b;
    }
    out[i] = next;
}
__device__ unsigned pcg(unsigned long long &state) { const unsigned long long old = state; state = old * 6364136223846793005ull + 1442695040888963407ull; return __funnelshift_r((unsigned)(((old >> 18) ^ old) >> 27), (unsigned)(((old >> 18) ^ old) >> 27), (unsigned)(old >> 59)); }
extern "C" __global__ void random_numbers(unsigned *out, int n, unsigned long long seed) { ME unsigned long long state = seed + i; for (int k = 0; k < 4; ++k) out[4 * i + k] = pcg(state); }
extern "C" __global__ void primes(const unsigned long long *n, int *out, int count) {
    ME
    if (i >= count) return;
    const auto power = [](unsigned long long b, unsigned long long e, unsigned long long m) { unsigned long long r = 1; for (b %= m; e; e >>= 1, b = b * b % m) if (e & 1) r = r * b % m; return r; };
    bool prime = n[i] > 1;
    for (int a : {2, 3, 5, 7}) if (n[i] % a == 0) prime = n[i] == a; 
    if (prime && n[i] > 7) for (int a : {2, 3, 5, 7}) {
        unsigned long long d = n[i] - 1; int s = 0;
        while (d % 2 == 0) d /= 2, ++s;
        unsigned long long x = power(a, d, n[i]);
        bool maybe = x == 1 || x == n[i] - 1;
        for (int r = 1; r < s && !maybe; ++r) { x = x * x % n[i]; maybe = x == n[i] - 1; }
        prime = prime && maybe;
    }
    out[i] = prime;
}
extern "C" __global__ void finds(const char *text, int length, const char *word, int size, int *places, int *count) {
    ME
    if (i + size > length) return;
    int k = 0;
    while (k < size && text[i + k] == word[k]) ++k;
    if (k == size) places[atomicAdd(count, 1)] = i;
}
extern "C" __global__ void sha_256(const unsigned *message, unsigned *digest) {
    const unsigned K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    unsigned w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const auto turn = [](unsigned x, int n) { return x >> n | x << (32 - n); };
    for (int k = 0; k < 16; ++k) w[k] = __byte_perm(message[16 * threadIdx.x + k], 0, 0x0123);
    for (int k = 16; k < 64; ++k) w[k] = w[k - 16] + (turn(w[k - 15], 7) ^ turn(w[k - 15], 18) ^ w[k - 15] >> 3) + w[k - 7] + (turn(w[k - 2], 17) ^ turn(w[k - 2], 19) ^ w[k - 2] >> 10);
    unsigned v[8];
    for (int k = 0; k < 8; ++k) v[k] = h[k];
    for (int k = 0; k < 64; ++k) {
        const unsigned t = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + (v[4] & v[5] ^ ~v[4] & v[6]) + K[k] + w[k];
        const unsigned u = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + (v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2]);
        for (int j = 7; j > 0; --j) v[j] = v[j - 1];
        v[4] += t, v[0] = t + u;
    }
    for (int k = 0; k < 8; ++k) digest[8 * threadIdx.x + k] = h[k] + v[k];
}
// A Cholesky factor of a matrix in one block, an LU solve by a warp, a QR step, a batched tridiagonal solve.
extern "C" __global__ void cholesky(double *a, int n) {
    for (int k = 0; k < n; ++k) {
        if (threadIdx.x == k) a[k * n + k] = sqrt(a[k * n + k]);
        __syncthreads();
        if (threadIdx.x > k && threadIdx.x < n) a[threadIdx.x * n + k] /= a[k * n + k];
        __syncthreads();
        for (int j = k + 1; j <= threadIdx.x && threadIdx.x < n; ++j) a[threadIdx.x * n + j] -= a[threadIdx.x * n + k] * a[j * n + k];
        __syncthreads();
    }
}
extern "C" __global__ void tridiagonal(const double *a, const double *b, const double *c, const double *d, double *x, int n) {
    ME
    double p[32], q[32];
    p[0] = c[i * n] / b[i * n], q[0] = d[i * n] / b[i * n];
    for (int k = 1; k < n; ++k) { const double m = b[i * n + k] - a[i * n + k] * p[k - 1]; p[k] = c[i * n + k] / m; q[k] = (d[i * n + k] - a[i * n + k] * q[k - 1]) / m; }
    x[i * n + n - 1] = q[n - 1];
    for (int k = n - 2; k >= 0; --k) x[i * n + k] = q[k] - p[k] * x[i * n + k + 1];
}
// wmma with an epilogue: bias and ReLU on fragments; halves in, halves out; and products of bytes.
extern "C" __global__ void linear_relu(const __half *x, const __half *w, const __half *bias, __half *y, int K) {
    using namespace nvcuda::wmma;
    __shared__ __half rows[16][16];
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;
    fragment<matrix_b, 16, 16, 16, __half, col_major> b;
    fragment<accumulator, 16, 16, 16, __half> c;
    for (int k = threadIdx.x; k < 256; k += 32) rows[k / 16][k % 16] = bias[blockIdx.x * 16 + k % 16];
    __syncwarp();
    load_matrix_sync(c, &rows[0][0], 16, mem_row_major);
    for (int k = 0; k < K; k += 16) { load_matrix_sync(a, x + k, K); load_matrix_sync(b, w + blockIdx.x * 16 * K + k, K); mma_sync(c, a, b, c); }
    for (int k = 0; k < c.num_elements; ++k) c.x[k] = __hmax(c.x[k], __float2half(0.0f));
    store_matrix_sync(y + blockIdx.x * 16, c, gridDim.x * 16, mem_row_major);
}
extern "C" __global__ void linear_of_bytes(const signed char *x, const signed char *w, int *y) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, signed char, row_major> a;
    fragment<matrix_b, 16, 16, 16, signed char, row_major> b;
    fragment<accumulator, 16, 16, 16, int> c;
    fill_fragment(c, threadIdx.y);
    load_matrix_sync(a, x, 16);
    load_matrix_sync(b, w, 16);
    mma_sync(c, a, b, c);
    store_matrix_sync(y, c, 16, mem_row_major);
}
// Strange but legal: a grid-stride loop over 64-bit indices, a do-while with a shuffle, a lane that exits in a loop, comma operators, negative strides, a volatile local, ternaries of pointers, a do-nothing block.
extern "C" __global__ void legal(const short *x, long long *out, long long n) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        volatile int kept = x[n - 1 - i];
        const short *p = i & 1 ? x + i : x + n - 1 - i;
        long long v = 0;
        int k = 0;
        do { v = v * 3 + p[0] - kept, ++k; if (v > 1000000) break; } while (k < (i & 7));
        out[i] = v << (i & 31);
    }
}
extern "C" __global__ void mixed_widths(const unsigned char *bytes, double *out, int n) {
    ME
    if (i >= n) return;
    const unsigned short h = bytes[2 * i] | bytes[2 * i + 1] << 8;
    const float f = __half2float(__ushort_as_half(h & 0x7bff));
    out[i] = (double)f * (signed char)bytes[i] + (h >> 3) - __int2double_rn(__clz(h));
}
