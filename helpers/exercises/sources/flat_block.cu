// Launched with blocks of 128 threads in one row; each block computes a tile of 8 rows and 16 columns of C.
extern "C" __global__ void sgemm_flat(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                      const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    // 1. Which row and which column of the tile is mine?
    // <starter>
    const int y = threadIdx.x / 8;
    const int x = threadIdx.x % 8;
    // <solution>
    const int y = threadIdx.x / 16;
    const int x = threadIdx.x % 16;
    // <traded>
    const int y = threadIdx.x % 16;
    const int x = threadIdx.x / 16;
    // <down_columns>
    const int y = threadIdx.x % 8;
    const int x = threadIdx.x / 8;
    // <mask>
    const int y = threadIdx.x / 16;
    const int x = threadIdx.x & 7;
    // <both_remainders>
    const int y = threadIdx.x % 8;
    const int x = threadIdx.x % 16;
    // <end>
    // <starter, solution>
    const int row = blockIdx.y * 8 + y;
    const int col = blockIdx.x * 16 + x;
    // <tile_not_scaled>
    const int row = blockIdx.y + y;
    const int col = blockIdx.x + x;
    // <end>
    if (row >= M || col >= N) return;

    // 2. Multiply, and write C = alpha * A * B + beta * C
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
