// Kernels without a mistake, close to one: none may be blamed.

// Many threads write the same value into one word.
extern "C" __global__ void same_value(int n, const int *x, int *any, int *y) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 2) {
        found = 1;
        *any = 1;
    }
    if (i < n && x[i] > 5) found = 1;   // in another statement
    __syncthreads();
    if (i < n) y[i] = found;
}

// A tree whose last steps are one warp's, with __syncwarp() between them.
extern "C" __global__ void tree_with_syncwarp(const float *x, float *sum) {
    __shared__ float partial[128];
    partial[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    for (int stride = 64; stride >= 32; stride /= 2) {
        if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        for (int stride = 16; stride > 0; stride /= 2) {
            float other = 0.0f;
            if (threadIdx.x < stride) other = partial[threadIdx.x + stride];
            __syncwarp();
            if (threadIdx.x < stride) partial[threadIdx.x] += other;
            __syncwarp();
        }
    }
    if (threadIdx.x == 0) sum[blockIdx.x] = partial[0];
}

// One step of a tree by shuffles, one value a warp through shared memory.
extern "C" __global__ void sum_by_shuffles(int n, const float *x, float *sum) {
    __shared__ float of_warp[32];
    float value = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
        if (threadIdx.x == 0) atomicAdd(sum, value);
    }
}

// A histogram with atomics in shared and in global memory.
extern "C" __global__ void histogram(int n, const int *bin, int *counts) {
    __shared__ int mine[32];
    if (threadIdx.x < 32) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[bin[i]], 1);
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

// A scan with two buffers, one barrier a step.
extern "C" __global__ void scan(const int *x, int *y) {
    __shared__ int data[2][64];
    int now = 0;
    data[0][threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        int value = data[now][threadIdx.x];
        if (threadIdx.x >= step) value += data[now][threadIdx.x - step];
        data[1 - now][threadIdx.x] = value;
        now = 1 - now;
        __syncthreads();
    }
    y[blockIdx.x * 64 + threadIdx.x] = data[now][threadIdx.x];
}

// The block that comes last adds up what the others wrote, with a fence between data and counter (CUDA guide, 'Memory
// Fence Functions').
extern "C" __global__ void last_block_sums(const float *x, float *partial, unsigned *arrived, float *sum) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = x[blockIdx.x] * x[blockIdx.x];
        __threadfence();
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        float total = 0.0f;
        for (int block = 0; block < gridDim.x; ++block) total += partial[block];
        if (threadIdx.x == 0) *sum = total;
    }
}

// Neighbouring bytes and halves of one word belong to different threads.
extern "C" __global__ void bytes_and_halves(const unsigned char *x, unsigned char *y, short *z) {
    __shared__ unsigned char text[64];
    __shared__ short halves[64];
    text[threadIdx.x] = x[threadIdx.x];
    halves[threadIdx.x] = x[threadIdx.x] * 3;
    __syncthreads();
    y[threadIdx.x] = text[63 - threadIdx.x];
    z[threadIdx.x] = halves[63 - threadIdx.x];
}

// Whole blocks return before the barrier; the others all reach it.
extern "C" __global__ void whole_blocks_return(int n, const float *x, float *y) {
    __shared__ float tile[64];
    if (blockIdx.x * 64 >= n) return;
    tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}

// Threads that leave need not wait: some of a warp, a whole warp, those that go around an `if` to the end, and a warp
// that goes around it and on. (compute-sanitizer's synccheck has nothing against any of them.)
extern "C" __global__ void return_before_barrier(int n, const float *x, float *y) {
    __shared__ float tile[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    tile[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = tile[0];
}

extern "C" __global__ void warp_returns_before_barrier(const float *x, float *y) {
    __shared__ float tile[64];
    if (threadIdx.x >= 64) return;
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void barrier_before_the_end(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 16) {
        __syncthreads();
        y[threadIdx.x] = tile[threadIdx.x + 1];
    }
}

extern "C" __global__ void barrier_for_one_warp(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    float value = 0.0f;
    if (threadIdx.x < 32) {
        __syncthreads();
        value = tile[threadIdx.x ^ 1];
    }
    y[threadIdx.x] = value;
}

// The number of rounds differs from block to block, and so does the number of barriers.
extern "C" __global__ void uneven_blocks(const float *x, float *y) {
    __shared__ float tile[64];
    float sum = 0.0f;
    for (int round = 0; round <= blockIdx.x; ++round) {
        tile[threadIdx.x] = x[round * 64 + threadIdx.x];
        __syncthreads();
        sum += tile[63 - threadIdx.x] + tile[(threadIdx.x + 1) % 64];
        __syncthreads();
    }
    y[blockIdx.x * 64 + threadIdx.x] = sum;
}

// Each thread keeps its own column of shared memory: no barrier is needed.
extern "C" __global__ void private_columns(int n, const int *x, int *y) {
    __shared__ int counts[8][64];
    for (int k = 0; k < 8; ++k) counts[k][threadIdx.x] = 0;
    for (int i = 0; i < n; ++i) counts[x[i * 64 + threadIdx.x] & 7][threadIdx.x]++;
    for (int k = 0; k < 8; ++k) y[k * 64 + threadIdx.x] = counts[k][threadIdx.x];
}

// x = a x + y in place, in a loop over the grid.
extern "C" __global__ void in_place(int n, float a, float *x, const float *y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = a * x[i] + y[i];
}

// Three tiles on their way by cp.async; the loop ends with empty groups.
extern "C" __global__ void three_stages(int tiles, const float *x, float *y) {
    __shared__ float tile[3][64];
    auto copy = [&](int t) {
        if (t < tiles)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                         :: "r"(unsigned(__cvta_generic_to_shared(&tile[t % 3][threadIdx.x]))),
                            "l"(&x[t * 64 + threadIdx.x]) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    copy(0);
    copy(1);
    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        copy(t + 2);
        for (int k = 0; k < 64; ++k) sum += tile[t % 3][k];
    }
    y[threadIdx.x] = sum;
}

// A lock-free maximum: compare and swap until it fits.
extern "C" __global__ void maximum(int n, const float *x, int *best) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int old = atomicAdd(best, 0);
    while (__int_as_float(old) < x[i]) {
        const int before = atomicCAS(best, old, __float_as_int(x[i]));
        if (before == old) break;
        old = before;
    }
}

// A warp turns its 32 x 32 tile around with __syncwarp() alone.
extern "C" __global__ void warp_transpose(const float *in, float *out) {
    __shared__ float tile[2][32][33];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int row = 0; row < 32; ++row) tile[warp][row][lane] = in[(blockIdx.x * 2 + warp) * 1024 + row * 32 + lane];
    __syncwarp();
    for (int row = 0; row < 32; ++row) out[(blockIdx.x * 2 + warp) * 1024 + row * 32 + lane] = tile[warp][lane][row];
}

// The output is allocated and never read before it is written.
extern "C" __global__ void write_then_read(int n, const float *x, float *scratch, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scratch[i] = sqrtf(x[i]);
        y[i] = scratch[i] * scratch[i];
    }
}

// What lies beyond the end is zero in the tile.
extern "C" __global__ void tile_with_zeros(int n, const float *x, float *sums) {
    __shared__ float tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k) sum += tile[k];
        sums[blockIdx.x] = sum;
    }
}

// Dynamic shared memory cut into two arrays of different types.
extern "C" __global__ void two_in_one(int n, const float *x, const int *key, float *y) {
    extern __shared__ float values[];
    int *keys = reinterpret_cast<int *>(values + n);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        values[i] = x[i];
        keys[i] = key[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[keys[i]] = values[i];
}
