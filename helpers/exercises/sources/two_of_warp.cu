#include "two_smallest/patch.cuh"    // of step 1: before, take, of_patch

// The two smallest of what the lanes of a warp have, in lane 0. All lanes must call it.
__device__ void take_lanes(Two &two) {
    // 1. offset is 16, 8, 4, 2, 1: get both elements of lane + offset, values and places, by __shfl_down_sync.
    // 2. Take both. When may two change, and when not yet?
    // <solution>
    for (int offset = 16; offset > 0; offset /= 2) {
        const float v = __shfl_down_sync(FULL, two.value[0], offset);
        const float w = __shfl_down_sync(FULL, two.value[1], offset);
        const int at = __shfl_down_sync(FULL, two.place[0], offset);
        const int from = __shfl_down_sync(FULL, two.place[1], offset);
        take(two, v, at);
        take(two, w, from);
    }
    // <starter>
    // <end>
}

// value, place: (warps, 2), of every warp of the launch the two smallest of its patches.
extern "C" __global__ void __launch_bounds__(THREADS)
two_of_warps(int M, int N, int K, const float *A, const float *B,
             float *value, int *place) {
    float acc[TM][TN] = {};   // my patch of C
    multiply(M, N, K, A, B, acc);
    Two two = of_patch(M, N, acc);
    take_lanes(two);
    const int block = blockIdx.y * gridDim.x + blockIdx.x;

    // 3. One lane leaves the two smallest of its warp, as number block * WARPS + warp.
    // <solution>
    if (threadIdx.x % 32 == 0) leave(two, block * WARPS + threadIdx.x / 32, value, place);
    // <starter>
    // <end>
}
