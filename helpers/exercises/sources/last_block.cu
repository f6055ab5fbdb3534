#define THREADS 64
#define WARPS (THREADS / 32)
#define FULL 0xffffffffu

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(FULL, v, offset);
    return v;
}

// The sum of the v of all threads of the block, in thread 0. All threads must call it.
__device__ float block_sum(float v) {
    __shared__ float of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    __syncthreads();   // of an earlier call, too
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    v = lane < WARPS ? of_warp[lane] : 0.0f;
    return warp == 0 ? warp_sum(v) : v;
}

// parts: (blocks), arrived: (1), total: (1). Before the first launch *arrived and *total are 0.
extern "C" __global__ void sum(int n, const float *x, float *parts, unsigned *arrived, float *total) {
    __shared__ bool last;
    float v = 0.0f;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) v += x[i];
    v = block_sum(v);

    // 1. Thread 0 stores the sum of its block in parts, then counts the block in: atomicAdd(arrived, 1) returns how
    //    many were there before. Is this block the last? A __threadfence() on each side of the count keeps the order.
    // 2. All threads of the block must know the answer; those of the other blocks are done.
    // 3. The threads of the last block add up all parts, always in the same order. Thread 0 adds the sum
    //    to *total, and leaves *arrived as the next launch wants to find it.
    // <solution>
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = v;
        __threadfence();
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    v = 0.0f;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) v += parts[b];
    v = block_sum(v);
    if (threadIdx.x == 0) {
        *total += v;
        *arrived = 0;
    }
    // <starter>
    // <end>
}
