// Step 3 of notebook 17: the two smallest of a block.
#include "lanes.cuh"

// The two smallest of what the threads of a block have, in thread 0. All threads must call it.
__device__ void take_warps(Two &two) {
    __shared__ Two of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    take_lanes(two);
    __syncthreads();   // of an earlier call, too
    if (lane == 0) of_warp[warp] = two;
    __syncthreads();
    if (warp > 0) return;
    two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};
    if (lane < WARPS) two = of_warp[lane];
    take_lanes(two);
}
