#define T 16

// Tiles at the edges stick out of the matrices;
// all threads of a block load, and all of them reach the barriers.
extern "C" __global__ void sgemm_edges(int M, int N, int K, float alpha, const float *A,
                                       const float *B, float beta, float *C) {
    __shared__ float As[T][T];   // A tile: (row, k)
    __shared__ float Bs[T][T];   // B tile: (k, col)

    // 1. My place in the tile, and my row and column of C.
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * T + x;

    // For each tile along k, also for the last one, which may stick out:
    //   2. load into the tiles; what lies outside the matrices becomes 0,   3. wait,
    //   4. multiply row y of As with column x of Bs,                        5. wait.
    // <solution>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (row < M && k0 + x < K) As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = 0.0f;
        if (k0 + y < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <starter, unguarded>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <k_unguarded>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (row < M) As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = 0.0f;
        if (col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <only_k_guarded>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (k0 + x < K) As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = 0.0f;
        if (k0 + y < K) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <nothing_instead>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        if (row < M && k0 + x < K) As[y][x] = A[row * K + k0 + x];
        if (k0 + y < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <traded_k>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (row < M && k0 + y < K) As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = 0.0f;
        if (k0 + x < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <ones>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 1.0f;
        if (row < M && k0 + x < K) As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = 1.0f;
        if (k0 + y < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <whole_tiles_only>
    float sum = 0.0f;
    for (int k0 = 0; k0 + T <= K; k0 += T) {
        As[y][x] = 0.0f;
        if (row < M && k0 + x < K) As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = 0.0f;
        if (k0 + y < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <returns_early>
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (row < M && k0 + x < K) As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = 0.0f;
        if (k0 + y < K && col < N) Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <end>

    // 6. If my element lies in C: C = alpha * sum + beta * C.
    //    Where beta is 0, the old C is not read.
    // <solution>
    if (row >= M || col >= N) return;
    float old = 0.0f;
    if (beta != 0.0f) old = C[row * N + col];
    C[row * N + col] = alpha * sum + beta * old;
    // <starter>
    C[row * N + col] = sum;
    // <store_unguarded>
    float old = 0.0f;
    if (beta != 0.0f) old = C[row * N + col];
    C[row * N + col] = alpha * sum + beta * old;
    // <one_short>
    if (row >= M - 1 || col >= N - 1) return;
    float old = 0.0f;
    if (beta != 0.0f) old = C[row * N + col];
    C[row * N + col] = alpha * sum + beta * old;
    // <reads_always>
    if (row >= M || col >= N) return;
    C[row * N + col] = alpha * sum + beta * C[row * N + col];
    // <end>
}
