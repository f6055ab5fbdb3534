#include "family/tile.cuh"   // T, product

// C[p] = A[p] * B[p] for all products p < count. A: (M, K), B: (K, N), C: (M, N), rows without gaps;
// matrix p begins p * step_a floats behind A, p * step_b behind B, p * step_c behind C.
// The grid's z is shorter than count where there are many products: then a block computes several.
extern "C" __global__ void gemm_batch(int count, int M, int N, int K,
                                      const float *A, long long step_a,
                                      const float *B, long long step_b,
                                      float *C, long long step_c) {
    // 1. The first row and column of my tile, and my own.
    // 2. For each product of mine, the first one is blockIdx.z: where do its matrices begin, and where
    //    does my tile begin in them? Its sum is product(rows left, columns left, K, A, lda, B, ldb).
    // 3. Store it, if my element lies in C.
    // <solution>
    const int first_row = blockIdx.y * T, first_col = blockIdx.x * T;
    const int row = first_row + threadIdx.y, col = first_col + threadIdx.x;
    for (int p = blockIdx.z; p < count; p += gridDim.z) {
        const float *a = A + p * step_a + first_row * K;
        const float *b = B + p * step_b + first_col;
        const float sum = product(M - first_row, N - first_col, K, a, K, b, N);
        if (row < M && col < N) C[p * step_c + row * N + col] = sum;
    }
    // <starter>
    // <end>
}
