// Scans, sorts and histograms.

// Kogge and Stone's scan: in warps by shuffles, and of the warps' sums by the first warp.
extern "C" __global__ void scan_by_warps(const int *x, int *y, int n) {
    __shared__ int sums[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int value = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const int left = __shfl_up_sync(0xffffffffu, value, d);
        if (lane >= d) value += left;
    }
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            const int left = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d) sum += left;
        }
        sums[lane] = sum;
    }
    __syncthreads();
    if (warp > 0) value += sums[warp - 1];
    if (i < n) y[i] = value;
}

// One pass: a block publishes its sum, looks back over its predecessors, and publishes its prefix.
extern "C" __global__ void scan_looking_back(const int *x, int *y, unsigned *states, volatile int *sums,
                                             volatile int *prefixes, unsigned *next, int n) {
    __shared__ int s[128], tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    const int i = tile * 128 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        const int left = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
        __syncthreads();
        s[threadIdx.x] += left;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        const int own = s[127];
        int sum = 0;
        if (tile > 0) {
            sums[tile] = own;
            __threadfence();
            atomicExch(&states[tile], 1);
            for (int k = tile - 1;; --k) {
                unsigned state;
                while ((state = atomicAdd(&states[k], 0)) == 0) { }
                __threadfence();
                sum += state == 2 ? prefixes[k] : sums[k];
                if (state == 2) break;
            }
        }
        prefixes[tile] = sum + own;
        __threadfence();
        atomicExch(&states[tile], 2);
        before = sum;
    }
    __syncthreads();
    if (i < n) y[i] = s[threadIdx.x] + before;
}

// A radix sort of one block, bit by bit: zeros to the left, ones to the right, in their order.
extern "C" __global__ void radix_by_bits(unsigned *keys, int bits) {
    __shared__ unsigned s[256];
    __shared__ int ones[256];
    const int t = threadIdx.x;
    s[t] = keys[t];
    for (int bit = 0; bit < bits; ++bit) {
        __syncthreads();
        const unsigned key = s[t];
        const int one = key >> bit & 1;
        ones[t] = one;
        for (int d = 1; d < 256; d *= 2) {
            __syncthreads();
            const int left = t >= d ? ones[t - d] : 0;
            __syncthreads();
            ones[t] += left;
        }
        __syncthreads();
        const int zeros = 256 - ones[255];
        const int to = one ? zeros + ones[t] - 1 : t - ones[t];
        __syncthreads();
        s[to] = key;
    }
    __syncthreads();
    keys[t] = s[t];
}

// One digit of four bits of a radix sort over many blocks: counts, and then places by ranks among equals.
extern "C" __global__ void radix_counts(const unsigned *keys, int *counts, int n, int shift) {
    __shared__ int s[16];
    if (threadIdx.x < 16) s[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&s[keys[i] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void radix_places(const unsigned *keys, const int *firsts, unsigned *out, int n, int shift) {
    __shared__ int by_warp[8][16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane < 16) by_warp[warp][lane] = 0;
    __syncwarp();
    const unsigned key = i < n ? keys[i] : 0, digit = i < n ? key >> shift & 15 : 16;
    const unsigned equals = __match_any_sync(0xffffffffu, digit);
    const int rank = __popc(equals & (1u << lane) - 1);
    if (rank == 0 && digit < 16) by_warp[warp][digit] = __popc(equals);
    __syncthreads();
    if (i < n) {
        int at = firsts[digit * gridDim.x + blockIdx.x] + rank;
        for (int w = 0; w < warp; ++w) at += by_warp[w][digit];
        out[at] = key;
    }
}

extern "C" __global__ void bitonic(int *x) {
    __shared__ int s[512];
    const int t = threadIdx.x;
    s[t] = x[t];
    for (int size = 2; size <= 512; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            const int other = t ^ step;
            if (other > t) {
                const bool up = (t & size) == 0;
                const int a = s[t], b = s[other];
                if (a > b == up) { s[t] = b; s[other] = a; }
            }
        }
    __syncthreads();
    x[t] = s[t];
}

// Batcher's sorting network of odd and even merges, by the lanes of a warp.
extern "C" __global__ void odd_even_merges(float *x) {
    const int lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i];
    for (int p = 1; p < 32; p *= 2)
        for (int k = p; k > 0; k /= 2) {
            const int low = lane - k, high = lane + k;
            const bool first = lane >= k % p && (lane - k % p) % (2 * k) < k && lane / (2 * p) == high / (2 * p);
            const bool second = low >= k % p && (low - k % p) % (2 * k) < k && low / (2 * p) == lane / (2 * p);
            const float above = __shfl_down_sync(~0u, value, k), below = __shfl_up_sync(~0u, value, k);
            if (first && high < 32) value = fminf(value, above);
            else if (second) value = fmaxf(value, below);
        }
    x[i] = value;
}

extern "C" __global__ void merge_pairs(const int *in, int *out, int n, int run) {
    const int first = 2 * run * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= n) return;
    const int middle = min(first + run, n), end = min(first + 2 * run, n);
    int a = first, b = middle;
    for (int k = first; k < end; ++k) out[k] = b >= end || a < middle && in[a] <= in[b] ? in[a++] : in[b++];
}

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins, int n) {
    __shared__ unsigned own[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) if (own[b]) atomicAdd(&bins[b], own[b]);
}
extern "C" __global__ void histogram_of_vectors(const uchar4 *x, unsigned *bins, int n) {
    __shared__ unsigned own[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        const uchar4 v = x[i];
        atomicAdd(&own[v.x], 1u), atomicAdd(&own[v.y], 1u), atomicAdd(&own[v.z], 1u), atomicAdd(&own[v.w], 1u);
    }
    const unsigned char *bytes = (const unsigned char *)x;
    if (blockIdx.x == 0 && threadIdx.x < n % 4) atomicAdd(&own[bytes[n / 4 * 4 + threadIdx.x]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], own[b]);
}
