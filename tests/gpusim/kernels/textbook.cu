// Kernels as textbooks and samples have them, one of each kind.

// 256 complex numbers in shared memory: bit reversal, then eight steps of butterflies.
extern "C" __global__ void fft_256(const float2 *in, float2 *out) {
    __shared__ float2 s[256];
    const int t = threadIdx.x;
    s[__brev(t) >> 24] = in[t];
    s[__brev(t + 128) >> 24] = in[t + 128];
    for (int half = 1; half < 256; half *= 2) {
        __syncthreads();
        const int low = t / half * 2 * half + t % half;
        float sine, cosine;
        sincospif(-(float)(t % half) / half, &sine, &cosine);
        const float2 a = s[low], b = s[low + half];
        const float2 c = {b.x * cosine - b.y * sine, b.x * sine + b.y * cosine};
        s[low] = {a.x + c.x, a.y + c.y};
        s[low + half] = {a.x - c.x, a.y - c.y};
    }
    __syncthreads();
    out[t] = s[t];
    out[t + 128] = s[t + 128];
}

// Blelloch's scan: up the tree and down again.
extern "C" __global__ void scan_exclusive(const int *in, int *out) {
    __shared__ int s[256];
    const int t = threadIdx.x;
    s[2 * t] = in[2 * t];
    s[2 * t + 1] = in[2 * t + 1];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        const int right = (2 * t + 2) * d - 1;
        if (right < 256) s[right] += s[right - d];
    }
    __syncthreads();
    if (t == 0) s[255] = 0;
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        const int right = (2 * t + 2) * d - 1;
        if (right < 256) {
            const int left = s[right - d];
            s[right - d] = s[right];
            s[right] += left;
        }
    }
    __syncthreads();
    out[2 * t] = s[2 * t];
    out[2 * t + 1] = s[2 * t + 1];
}

// Each thread's body against tiles of all bodies.
extern "C" __global__ void n_body(const float4 *bodies, float3 *forces, int n) {
    __shared__ float4 tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float4 me = i < n ? bodies[i] : float4{};
    float3 sum = {0, 0, 0};
    for (int first = 0; first < n; first += 64) {
        tile[threadIdx.x] = first + threadIdx.x < n ? bodies[first + threadIdx.x] : float4{};
        __syncthreads();
        for (int j = 0; j < 64; ++j) {
            const float x = tile[j].x - me.x, y = tile[j].y - me.y, z = tile[j].z - me.z;
            const float inverse = rsqrtf(x * x + y * y + z * z + 0.01f), weight = tile[j].w * inverse * inverse * inverse;
            sum.x += weight * x;
            sum.y += weight * y;
            sum.z += weight * z;
        }
        __syncthreads();
    }
    if (i < n) forces[i] = sum;
}

// One warp a row, in one pass: the maximum so far and the sum that belongs to it.
extern "C" __global__ void softmax_online(const float *in, float *out, int columns) {
    const float *row = in + blockIdx.x * columns;
    float highest = -3e38f, sum = 0;
    for (int j = threadIdx.x; j < columns; j += 32) {
        const float before = highest;
        highest = fmaxf(highest, row[j]);
        sum = sum * expf(before - highest) + expf(row[j] - highest);
    }
    for (int d = 16; d > 0; d /= 2) {
        const float other = __shfl_xor_sync(~0u, highest, d), more = __shfl_xor_sync(~0u, sum, d);
        const float both = fmaxf(highest, other);
        sum = sum * expf(highest - both) + more * expf(other - both);
        highest = both;
    }
    for (int j = threadIdx.x; j < columns; j += 32) out[blockIdx.x * columns + j] = expf(row[j] - highest) / sum;
}

// Keys find a free slot by comparing and swapping, and count how often they come.
extern "C" __global__ void hash_table(const unsigned *keys, unsigned *slots, unsigned *counts, int n, unsigned size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (unsigned slot = keys[i] * 2654435761u % size;; slot = (slot + 1) % size) {
        const unsigned before = atomicCAS(&slots[slot], 0u, keys[i]);
        if (before == 0 || before == keys[i]) {
            atomicAdd(&counts[slot], 1u);
            return;
        }
    }
}

// One level of a search by breadth: whoever reaches a vertex first puts it into the next frontier.
extern "C" __global__ void bfs_level(const int *starts, const int *targets, int *distances, const int *frontier, int size,
                                     int *next, int *next_size, int level) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    for (int edge = starts[frontier[i]]; edge < starts[frontier[i] + 1]; ++edge)
        if (atomicCAS(&distances[targets[edge]], -1, level) == -1) next[atomicAdd(next_size, 1)] = targets[edge];
}

// Columns of the rows' entries side by side, -1 where a row has no more.
extern "C" __global__ void spmv_ell(const int *columns, const float *values, const float *x, float *y, int rows, int width) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = 0; k < width; ++k) {
        const int column = columns[k * rows + row];
        if (column < 0) break;
        sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}

// Points go to the nearest of a few centres, whose sums and counts are kept in shared memory first.
extern "C" __global__ void k_means(const float2 *points, const float2 *centres, int *nearest, float *sums, int *counts,
                                   int n, int k) {
    __shared__ float x[8], y[8];
    __shared__ int count[8];
    if (threadIdx.x < k) x[threadIdx.x] = y[threadIdx.x] = 0, count[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int best = 0;
        float least = 3e38f;
        for (int c = 0; c < k; ++c) {
            const float dx = points[i].x - centres[c].x, dy = points[i].y - centres[c].y, d = dx * dx + dy * dy;
            if (d < least) least = d, best = c;
        }
        nearest[i] = best;
        atomicAdd(&x[best], points[i].x);
        atomicAdd(&y[best], points[i].y);
        atomicAdd(&count[best], 1);
    }
    __syncthreads();
    if (threadIdx.x < k) {
        atomicAdd(&sums[2 * threadIdx.x], x[threadIdx.x]);
        atomicAdd(&sums[2 * threadIdx.x + 1], y[threadIdx.x]);
        atomicAdd(&counts[threadIdx.x], count[threadIdx.x]);
    }
}

// Batcher's odd-even merge sort of a warp's values by shuffles.
extern "C" __global__ void sort_warp(int *values) {
    const int i = blockIdx.x * 32 + threadIdx.x, lane = threadIdx.x;
    int mine = values[i];
    for (int p = 1; p < 32; p *= 2)
        for (int k = p; k > 0; k /= 2) {
            const int first = k % p;
            const int lower = (lane - first) / k % 2 == 0 && lane >= first ? lane : lane - k;
            const bool paired = lower >= 0 && lower + k < 32 && lower >= first && (lower - first) / k % 2 == 0 &&
                                lower / (2 * p) == (lower + k) / (2 * p);
            const int other = __shfl_sync(~0u, mine, paired ? (lane == lower ? lane + k : lower) : lane);
            if (paired) mine = lane == lower ? min(mine, other) : max(mine, other);
        }
    values[i] = mine;
}

// Each thread looks for the place of its value in the other half of a sorted pair of runs.
extern "C" __global__ void merge_runs(const int *in, int *out, int n, int run) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int first = i / (2 * run) * 2 * run, in_left = i < first + run;
    int low = min(n, in_left ? first + run : first), high = min(n, in_left ? first + 2 * run : first + run);
    const int start = low;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (in[middle] < in[i] || (!in_left && in[middle] == in[i])) low = middle + 1;
        else high = middle;
    }
    out[first + (i - (in_left ? first : first + run)) + (low - start)] = in[i];
}

// Philox 4x32 of ten rounds: the generator of cuRAND and of PyTorch.
extern "C" __global__ void philox(uint4 *out, unsigned seed) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = {i, 0, 7, 0};
    unsigned k0 = seed, k1 = 0xdeadbeefu;
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const unsigned h0 = __umulhi(0xD2511F53u, c.x), h1 = __umulhi(0xCD9E8D57u, c.z);
        c = {h1 ^ c.y ^ k0, 0xCD9E8D57u * c.z, h0 ^ c.w ^ k1, 0xD2511F53u * c.x};
    }
    out[i] = c;
}

// Blocks that stay take one piece of work after the other from a queue, until it is empty.
extern "C" __global__ void work_queue(int *next, const int *lengths, int *results, int pieces) {
    __shared__ int piece;
    while (true) {
        if (threadIdx.x == 0) piece = atomicAdd(next, 1);
        __syncthreads();
        if (piece >= pieces) return;
        for (int j = threadIdx.x; j < lengths[piece]; j += blockDim.x) atomicAdd(&results[piece], j);
        __syncthreads();
    }
}
