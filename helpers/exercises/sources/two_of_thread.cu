#include "two_smallest/pair.cuh"     // multiply, Two, leave

// Does element w at place `from` come before element v at place `at`? NaN comes before nothing.
__device__ bool before(float w, int from, float v, int at) {
    // 1. The smaller one; of equal ones that at the smaller place.
    // <solution>
    return w < v || (w == v && from < at);
    // <starter>
    return false;
    // <end>
}

// If w is among the two smallest, two has it afterwards.
__device__ void take(Two &two, float w, int from) {
    // 2. Is it before the first? Then the first becomes the second. Or only before the second?
    // <solution>
    if (before(w, from, two.value[0], two.place[0])) {
        two.value[1] = two.value[0];
        two.place[1] = two.place[0];
        two.value[0] = w;
        two.place[0] = from;
    } else if (before(w, from, two.value[1], two.place[1])) {
        two.value[1] = w;
        two.place[1] = from;
    }
    // <starter>
    // <end>
}

// value, place: (threads, 2), of every thread of the launch the two smallest of its patch.
extern "C" __global__ void __launch_bounds__(THREADS)
two_of_threads(int M, int N, int K, const float *A, const float *B,
               float *value, int *place) {
    float acc[TM][TN] = {};   // my patch of C
    multiply(M, N, K, A, B, acc);
    const int row = blockIdx.y * BM + threadIdx.x / 16 * TM, col = blockIdx.x * BN + threadIdx.x % 16 * TN;
    Two two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};

    // 3. acc[y][x] is C[row + y, col + x]: take it, with its place, if C has such an element.
    // <solution>
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x)
            if (row + y < M && col + x < N) take(two, acc[y][x], (row + y) * N + col + x);
    // <starter>
    // <end>
    leave(two, (blockIdx.y * gridDim.x + blockIdx.x) * THREADS + threadIdx.x, value, place);
}
