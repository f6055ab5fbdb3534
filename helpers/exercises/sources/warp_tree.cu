#define FULL 0xffffffffu   // the mask: all 32 lanes take part

// A block is one warp. Each warp adds up 32 elements of x, and stores their sum in its element of parts.
extern "C" __global__ void warp_sums(int n, const float *x, float *parts) {   // x: (n), parts: (warps)
    const int lane = threadIdx.x;
    const int i = blockIdx.x * 32 + lane;

    // 1. My element of x in a register, v. Where there is none, what does not change a sum. All lanes go on.
    // 2. offset is 16, 8, 4, 2, 1: add the v of lane + offset to mine, __shfl_down_sync(FULL, v, offset).
    // 3. Which lane has the sum? It stores it.
    // <solution>
    float v = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(FULL, v, offset);
    if (lane == 0) parts[blockIdx.x] = v;
    // <starter>
    // <end>
}
