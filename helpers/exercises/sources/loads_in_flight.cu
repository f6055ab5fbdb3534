#define T 16

extern "C" __global__ void sgemm_in_flight(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                           const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[T][T];   // A tile: (row, k)
    __shared__ float Bs[T][T];   // B tile: (k, col)

    const int y = threadIdx.y, x = threadIdx.x;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    auto a_at = [&](int k0) { return row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f; };
    auto b_at = [&](int k0) { return k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0.0f; };

    float acc = 0.0f;
    // <starter>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = a_at(k0);
        Bs[y][x] = b_at(k0);
        __syncthreads();
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <solution>
    float a_next = a_at(0), b_next = b_at(0);   // on the way to the tiles
    // <end>
    // <starter>
    // <solution>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = a_next;
        Bs[y][x] = b_next;
        __syncthreads();
    // <no_first_barrier>
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = a_next;
        Bs[y][x] = b_next;
    // <end>
    // <starter>
    // <solution>
        a_next = a_at(k0 + T);
        b_next = b_at(k0 + T);
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
    // <same_tile_again>
        a_next = a_at(k0);
        b_next = b_at(k0);
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
    // <only_A>
        a_next = a_at(k0 + T);
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
    // <after_multiplying>
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
    // <B_forgotten>
        a_next = a_at(k0 + T);
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
    // <end>
    // <starter>
    // <solution>
        __syncthreads();
    }
    // <only_A>
        __syncthreads();
        b_next = b_at(k0 + T);
    }
    // <after_multiplying>
        __syncthreads();
        a_next = a_at(k0 + T);
        b_next = b_at(k0 + T);
    }
    // <one_barrier>
    }
    // <end>

    if (row < M && col < N) C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
