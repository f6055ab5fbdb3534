#include "family/tile.cuh"   // T, product

// 32 bits that look like chance, and depend on these two numbers alone.
__device__ unsigned chance(unsigned counter, unsigned seed) {
    unsigned x = counter * 0x9E3779B9u + seed;
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

// C = A * B, of whose elements a share of limit / 2^32 is zero, and the others are times `kept`.
// A: (M, K), B: (K, N), C: (M, N)
extern "C" __global__ void gemm_dropout(int M, int N, int K, unsigned seed, unsigned limit,
                                        float kept, const float *A, const float *B, float *C) {
    const int first_row = blockIdx.y * T, first_col = blockIdx.x * T;
    const int row = first_row + threadIdx.y, col = first_col + threadIdx.x;
    const float sum = product(M - first_row, N - first_col, K, A + first_row * K, K, B + first_col, N);
    // 1. The counter is the number of my element of C, counted row by row.
    // 2. Where its chance is below limit, the element is 0.
    // <solution>
    const unsigned counter = row * N + col;
    if (row < M && col < N) C[row * N + col] = chance(counter, seed) < limit ? 0.0f : sum * kept;
    // <starter>
    // <end>
}
