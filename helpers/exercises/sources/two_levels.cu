#define THREADS 256
#define WARPS (THREADS / 32)
#define FULL 0xffffffffu

// The sum of the v of all lanes, in lane 0.
__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(FULL, v, offset);
    return v;
}

// The blocks share x: each adds up its elements, however many, and stores the sum in its element of parts.
extern "C" __global__ void block_sums(int n, const float *x, float *parts) {   // x: (n), parts: (blocks)
    __shared__ float of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // 1. Add up my elements in a register. The first one is that of my number in the launch, the next is as many
    //    elements further as the launch has threads.
    // 2. Add up the warp by warp_sum. One lane stores its sum in of_warp.
    // 3. When all warps have stored: the first warp adds up of_warp by warp_sum, and one lane stores the block's sum.
    // <solution>
    float v = 0.0f;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) v += x[i];
    v = warp_sum(v);
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < WARPS ? of_warp[lane] : 0.0f;
        v = warp_sum(v);
        if (lane == 0) parts[blockIdx.x] = v;
    }
    // <starter>
    // <end>
}
