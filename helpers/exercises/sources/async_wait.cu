#define T 16

// Start the copy of one float from global to shared memory, or of a 0 if there is no such element
__device__ void copy_async(float *shared, const float *global, bool valid) {
    // <starter, solution>
    const int bytes = valid ? 4 : 0;   // that are read; the rest of the 4 bytes becomes 0
    // <reads_beyond>
    const int bytes = 4;
    // <end>
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(unsigned(__cvta_generic_to_shared(shared))), "l"(global), "r"(bytes) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }   // what was started is a group
template <int N> __device__ void wait() {   // until at most the N newest groups are under way
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}

extern "C" __global__ void sgemm_async(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                       const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[2][T][T];   // A tiles: (buffer, row, k)
    __shared__ float Bs[2][T][T];   // B tiles: (buffer, k, col)

    const int y = threadIdx.y, x = threadIdx.x;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    auto start = [&](int buffer, int k0) {
        const bool in_A = row < M && k0 + x < K, in_B = k0 + y < K && col < N;
        copy_async(&As[buffer][y][x], in_A ? &A[row * K + k0 + x] : A, in_A);
        copy_async(&Bs[buffer][y][x], in_B ? &B[(k0 + y) * N + col] : B, in_B);
        // <starter, solution>
        commit();
        // <never_committed>
        // <end>
    };

    float acc = 0.0f;
    start(0, 0);
    for (int tile = 0; tile * T < K; ++tile) {
        // 1. Start the copies of the next tiles, then wait for these
        start((tile + 1) % 2, (tile + 1) * T);
        // <starter>
        wait<2>();
        // <solution>
        wait<1>();
        // <never_waits>
        // <end>
        // <starter, solution>
        __syncthreads();
        // <own_copies_only>
        // <end>

        // 2. Multiply
        for (int k = 0; k < T; ++k) acc += As[tile % 2][y][k] * Bs[tile % 2][k][x];
        // <starter, solution>
        __syncthreads();
        // <overwritten>
        // <end>
    }
    // <starter, solution>
    wait<0>();   // no copy may be under way when the block ends
    // <left_over>
    // <end>

    if (row < M && col < N) C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
