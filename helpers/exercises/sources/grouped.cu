#include "family/tile.cuh"   // T, product

// Rows offsets[e] to offsets[e + 1] - 1 of A belong to expert e: C = A * B[e] there.
// A: (rows, K), B: (experts, K, N), C: (rows, N). An expert may have no rows.
// blockIdx.y counts the tiles of all experts, one after the other; the grid has more blocks than there are tiles.
extern "C" __global__ void gemm_grouped(int experts, const int *offsets, int N, int K,
                                        const float *A, const float *B, float *C) {
    // 1. Which expert does tile number blockIdx.y belong to, and which of its tiles is it?
    //    A block that finds none is done.
    // 2. The first row of the tile, and how many rows of the expert there are from it on.
    // 3. The sum, by product(rows, cols, K, A, lda, B, ldb) with the expert's B. Store what is the expert's.
    // <solution>
    int expert = 0, tile = blockIdx.y;
    while (expert < experts) {
        const int tiles = (offsets[expert + 1] - offsets[expert] + T - 1) / T;
        if (tile < tiles) break;
        tile -= tiles;
        ++expert;
    }
    if (expert == experts) return;
    const int first_row = offsets[expert] + tile * T, rows = offsets[expert + 1] - first_row;
    const int first_col = blockIdx.x * T;
    const int row = first_row + threadIdx.y, col = first_col + threadIdx.x;
    const float *b = B + expert * K * N + first_col;
    const float sum = product(rows, N - first_col, K, A + first_row * K, K, b, N);
    if (threadIdx.y < rows && col < N) C[row * N + col] = sum;
    // <starter>
    // <end>
}
