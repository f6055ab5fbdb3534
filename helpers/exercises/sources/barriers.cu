#define T 16

extern "C" __global__ void sgemm_barriers(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                          const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[T][T];   // A tile: (row, k)
    __shared__ float Bs[T][T];   // B tile: (k, col)

    const int y = threadIdx.y, x = threadIdx.x;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * T + x;
    // <returns_early>
    if (row >= M || col >= N) return;
    // <solution>
    // <end>

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        // 1. Load one element of each tile; outside the matrices it is 0
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f;
        // <starter, solution, after_loop>
        __syncthreads();
        // <only_second>
        // <inside_branch>
        if (row < M && col < N) __syncthreads();
        // <only_warps>
        __syncwarp();
        // <end>

        // 2. Multiply
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
        // <solution, only_second>
        __syncthreads();
        // <only_warps>
        __syncwarp();
        // <starter, after_loop>
        // <inside_branch>
        if (row < M && col < N) __syncthreads();
        // <end>
    }
    // <after_loop>
    __syncthreads();
    // <solution>
    // <end>

    // 3. Write C = alpha * A * B + beta * C
    if (row < M && col < N) C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
