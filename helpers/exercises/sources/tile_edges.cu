#define T 16

extern "C" __global__ void sgemm_edges(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                       const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[T][T];   // A tile: (row, k)
    __shared__ float Bs[T][T];   // B tile: (k, col)

    const int y = threadIdx.y, x = threadIdx.x;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * T + x;

    float acc = 0.0f;
    // <starter, solution>
    for (int k0 = 0; k0 < K; k0 += T) {
    // <whole_tiles_only>
    for (int k0 = 0; k0 + T <= K; k0 += T) {
    // <end>
        // 1. Load one element of each tile
        // <starter>
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        // <solution>
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f;
        // <k_unguarded>
        As[y][x] = row < M ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = col < N ? B[(k0 + y) * N + col] : 0.0f;
        // <only_k_guarded>
        As[y][x] = k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K ? B[(k0 + y) * N + col] : 0.0f;
        // <nothing_instead>
        if (row < M && k0 + x < K) As[y][x] = A[row * K + k0 + x];
        if (k0 + y < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        // <traded_k>
        As[y][x] = row < M && k0 + y < K ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = k0 + x < K && col < N ? B[(k0 + y) * N + col] : 0.0f;
        // <ones>
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 1.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 1.0f;
        // <end>
        __syncthreads();

        // 2. Multiply
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
        __syncthreads();
    }

    // 3. Write C = alpha * A * B + beta * C
    // <starter, store_unguarded>
    C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
    // <solution>
    if (row < M && col < N) C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
    // <one_short>
    if (row < M - 1 && col < N - 1) C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
    // <end>
}
