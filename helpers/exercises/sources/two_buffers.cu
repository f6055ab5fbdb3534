#define T 16

extern "C" __global__ void sgemm_two_buffers(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                             const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[2][T][T];   // A tiles: (buffer, row, k)
    __shared__ float Bs[2][T][T];   // B tiles: (buffer, k, col)

    const int y = threadIdx.y, x = threadIdx.x;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    auto load = [&](int buffer, int k0) {   // what lies outside the matrices becomes 0
        As[buffer][y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        Bs[buffer][y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f;
    };

    float acc = 0.0f;
    int buffer = 0;   // the tiles that are multiplied in this round
    // <starter, solution>
    load(buffer, 0);
    // <first_not_loaded>
    // <end>
    // <starter, solution>
    __syncthreads();
    // <first_not_awaited>
    // <end>
    for (int k0 = 0; k0 < K; k0 += T) {
        // 1. Load the next tiles while these are multiplied
        // <starter>
        load(buffer, k0 + T);
        // <solution>
        load(1 - buffer, k0 + T);
        // <same_tile_again>
        load(1 - buffer, k0);
        // <end>

        // 2. Multiply
        for (int k = 0; k < T; ++k) acc += As[buffer][y][k] * Bs[buffer][k][x];

        // 3. Change buffers
        // <starter, solution>
        __syncthreads();
        // <two_barriers>
        __syncthreads();
        __syncthreads();
        // <nobody_waits>
        // <end>
        // <starter, solution>
        buffer = 1 - buffer;
        // <never_changed>
        // <end>
    }

    if (row < M && col < N) C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
