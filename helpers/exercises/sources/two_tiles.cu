#define T 16

// A block computes T rows and 2 * T columns of C; thread (x, y) computes two elements of row y: columns x and x + T.
extern "C" __global__ void sgemm_two_tiles(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                           const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[T][T];       // A tile: (row, k)
    __shared__ float Bs[T][2 * T];   // B tile: (k, col)

    const int y = threadIdx.y, x = threadIdx.x;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * 2 * T + x;

    float acc[2] = {};
    // <starter>
    for (int half = 0; half < 2; ++half) {
        for (int k0 = 0; k0 < K; k0 += T) {
            // 1. Load
            const int c = col + half * T;
            As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
            Bs[y][x] = k0 + y < K && c < N ? B[(k0 + y) * N + c] : 0.0f;
            __syncthreads();
            // 2. Multiply
            for (int k = 0; k < T; ++k) acc[half] += As[y][k] * Bs[k][x];
            __syncthreads();
        }
    }
    // <solution>
    for (int k0 = 0; k0 < K; k0 += T) {
        // 1. Load
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        for (int half = 0; half < 2; ++half) {
            const int c = col + half * T;
            Bs[y][x + half * T] = k0 + y < K && c < N ? B[(k0 + y) * N + c] : 0.0f;
        }
        __syncthreads();
        // 2. Multiply
        for (int k = 0; k < T; ++k)
            for (int half = 0; half < 2; ++half) acc[half] += As[y][k] * Bs[k][x + half * T];
        __syncthreads();
    }
    // <same_tile_twice>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int half = 0; half < 2; ++half) acc[half] += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <second_half_unloaded>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int half = 0; half < 2; ++half) acc[half] += As[y][k] * Bs[k][x + half * T];
        __syncthreads();
    }
    // <one_guard_for_both>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        for (int half = 0; half < 2; ++half)
            Bs[y][x + half * T] = k0 + y < K && col < N ? B[(k0 + y) * N + col + half * T] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int half = 0; half < 2; ++half) acc[half] += As[y][k] * Bs[k][x + half * T];
        __syncthreads();
    }
    // <one_barrier>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        for (int half = 0; half < 2; ++half) {
            const int c = col + half * T;
            Bs[y][x + half * T] = k0 + y < K && c < N ? B[(k0 + y) * N + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int half = 0; half < 2; ++half) acc[half] += As[y][k] * Bs[k][x + half * T];
    }
    // <first_acc_twice>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        for (int half = 0; half < 2; ++half) {
            const int c = col + half * T;
            Bs[y][x + half * T] = k0 + y < K && c < N ? B[(k0 + y) * N + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int half = 0; half < 2; ++half) acc[0] += As[y][k] * Bs[k][x + half * T];
        __syncthreads();
    }
    // <end>

    // 3. Write C = alpha * A * B + beta * C
    for (int half = 0; half < 2; ++half) {
        const int c = col + half * T;
        if (row < M && c < N) C[row * N + c] = alpha * acc[half] + (beta == 0.0f ? 0.0f : beta * C[row * N + c]);
    }
}
