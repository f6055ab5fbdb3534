// Step 1 of notebook 17: the two smallest of a patch.
#include "pair.cuh"

// Does element w at place `from` come before element v at place `at`? NaN comes before nothing.
__device__ bool before(float w, int from, float v, int at) { return w < v || (w == v && from < at); }

// If w is among the two smallest, two has it afterwards.
__device__ void take(Two &two, float w, int from) {
    if (before(w, from, two.value[0], two.place[0])) {
        two.value[1] = two.value[0];
        two.place[1] = two.place[0];
        two.value[0] = w;
        two.place[0] = from;
    } else if (before(w, from, two.value[1], two.place[1])) {
        two.value[1] = w;
        two.place[1] = from;
    }
}

// The two smallest of my patch.
__device__ Two of_patch(int M, int N, const float (&acc)[TM][TN]) {
    const int first_row = blockIdx.y * BM + threadIdx.x / 16 * TM, first_col = blockIdx.x * BN + threadIdx.x % 16 * TN;
    Two two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) {
            const int row = first_row + y, col = first_col + x;
            if (row < M && col < N) take(two, acc[y][x], row * N + col);
        }
    return two;
}
