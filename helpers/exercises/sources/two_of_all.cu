#include "two_smallest/warps.cuh"    // of step 3: take_warps

// value, place: (2), the two smallest elements of C. parts: (blocks). *arrived is 0 before the first launch.
extern "C" __global__ void __launch_bounds__(THREADS)
two_smallest(int M, int N, int K, const float *A, const float *B,
             Two *parts, unsigned *arrived, float *value, int *place) {
    float acc[TM][TN] = {};   // my patch of C
    multiply(M, N, K, A, B, acc);
    Two two = of_patch(M, N, acc);
    take_warps(two);
    __shared__ bool last;
    const int blocks = gridDim.x * gridDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;

    // 1. Thread 0 stores the pair of its block in parts, and counts the block in, with a fence on each side.
    // 2. The blocks that are not the last are done.
    // 3. The threads of the last block share out all parts, and take them. Then the block takes its warps once more.
    // 4. Thread 0 leaves the result as number 0, and *arrived as the next launch wants to find it.
    // <solution>
    if (threadIdx.x == 0) {
        parts[block] = two;
        __threadfence();
        last = atomicAdd(arrived, 1) == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};
    for (int b = threadIdx.x; b < blocks; b += THREADS)
        for (int e = 0; e < 2; ++e) take(two, parts[b].value[e], parts[b].place[e]);
    take_warps(two);
    if (threadIdx.x == 0) {
        leave(two, 0, value, place);
        *arrived = 0;
    }
    // <starter>
    // <end>
}
