#include "two_smallest/lanes.cuh"    // of step 2: take_lanes

// The two smallest of what the threads of a block have, in thread 0. All threads must call it.
__device__ void take_warps(Two &two) {
    __shared__ Two of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // 1. Each warp takes its lanes. One lane of it stores the pair in of_warp.
    // 2. When all have stored: the first warp takes of_warp, a lane for each. What does a lane have that finds none?
    // <solution>
    take_lanes(two);
    if (lane == 0) of_warp[warp] = two;
    __syncthreads();
    if (warp > 0) return;
    two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};
    if (lane < WARPS) two = of_warp[lane];
    take_lanes(two);
    // <starter>
    // <end>
}

// value, place: (blocks, 2), of every block the two smallest of its tile.
extern "C" __global__ void __launch_bounds__(THREADS)
two_of_blocks(int M, int N, int K, const float *A, const float *B,
              float *value, int *place) {
    float acc[TM][TN] = {};   // my patch of C
    multiply(M, N, K, A, B, acc);
    Two two = of_patch(M, N, acc);
    take_warps(two);
    // 3. One thread leaves the two smallest of the block, as number blockIdx.y * gridDim.x + blockIdx.x.
    // <solution>
    if (threadIdx.x == 0) leave(two, blockIdx.y * gridDim.x + blockIdx.x, value, place);
    // <starter>
    // <end>
}
