// Barriers that not all threads reach. `BUG(kernel)` marks them.

// Half of the block waits in one branch, half in the other.
extern "C" __global__ void barrier_in_both_branches(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x % 2 == 0) {
        __syncthreads();                                                 // BUG(barrier_in_both_branches)
        y[threadIdx.x] = tile[63 - threadIdx.x];
    } else {
        y[threadIdx.x] = 0.0f;
        __syncthreads();                                                 // BUG(barrier_in_both_branches)
        y[threadIdx.x] += tile[threadIdx.x - 1];
    }
}

// The same by whole warps.
extern "C" __global__ void barrier_by_warps(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 32) {
        __syncthreads();                                                 // BUG(barrier_by_warps)
        y[threadIdx.x] = tile[63 - threadIdx.x];
    } else {
        y[threadIdx.x] = 1.0f;
        __syncthreads();                                                 // BUG(barrier_by_warps)
        y[threadIdx.x] += tile[63 - threadIdx.x];
    }
}

// Thread t goes round t + 1 times, and waits each time.
extern "C" __global__ void barrier_in_uneven_loop(int *rounds) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int i = 0; i <= threadIdx.x; ++i) {
        atomicAdd(&count, 1);
        __syncthreads();                                                 // BUG(barrier_in_uneven_loop)
    }
    rounds[threadIdx.x] = count;
}

// The other threads of the warp go around the barrier, and on.
extern "C" __global__ void barrier_in_branch(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    float value = 0.0f;
    if (threadIdx.x % 32 < 16) {
        __syncthreads();                                                 // BUG(barrier_in_branch)
        value = tile[threadIdx.x + 1];
    }
    y[threadIdx.x] = value;
}
