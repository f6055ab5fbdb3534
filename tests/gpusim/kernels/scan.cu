// Prefix sums and what is built from them.

// Hillis and Steele: log2(256) rounds over shared memory, two buffers in turn
extern "C" __global__ void scan_block(const int *in, int *out, int n) {
    __shared__ int buffer[2][256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    int current = 0;
    buffer[0][threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < 256; offset *= 2) {
        int value = buffer[current][threadIdx.x];
        if (threadIdx.x >= offset) value += buffer[current][threadIdx.x - offset];
        current ^= 1;
        buffer[current][threadIdx.x] = value;
        __syncthreads();
    }
    if (i < n) out[i] = buffer[current][threadIdx.x];
}

extern "C" __global__ void scan_warp(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? in[i] : 0.0f;
    for (int offset = 1; offset < 32; offset *= 2) {
        const float below = __shfl_up_sync(0xffffffffu, value, offset);
        if (threadIdx.x % 32 >= offset) value += below;
    }
    if (i < n) out[i] = value;
}

// Keep what is positive, in order within each warp: ballot, popc, and one atomic a warp. The order of the warps in the
// output is not defined, so each warp writes to a place of its own and only the count is shared.
extern "C" __global__ void compact_warp(const int *in, int *out, int *count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = i < n ? in[i] : 0;
    const unsigned kept = __ballot_sync(0xffffffffu, value > 0);
    const unsigned below = (1u << (threadIdx.x % 32)) - 1;
    if (value > 0) out[i - threadIdx.x % 32 + __popc(kept & below)] = value;
    if (threadIdx.x % 32 == 0) atomicAdd(count, __popc(kept));
}

extern "C" __global__ void vote_flags(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = i < n ? in[i] : 0;
    int flags = __any_sync(0xffffffffu, value == 7) ? 1 : 0;
    flags |= __all_sync(0xffffffffu, value > -100) ? 2 : 0;
    flags |= __shfl_sync(0xffffffffu, value, threadIdx.x / 8 * 8, 8) > 0 ? 4 : 0;
    flags |= (__ffs(value) << 8) | (__clz(value) << 16);
    if (i < n) out[i] = flags + __brev(value);
}
