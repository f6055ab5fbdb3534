// The kernel shared_memory as it was recorded: with loads that the compiler moves ahead of a barrier. The ladder has it
// without them since, and helpers/recordings holds its counters.
// Shared memory: a block loads T x T tiles of A and B once, and its T * T threads read each element T times from there.
// Traffic from global memory falls by the factor T.
template <int T>
__global__ void __launch_bounds__(T * T)
sgemm_shared_memory(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                    const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    static_assert(T >= 1, "T must be at least 1");
    static_assert(T * T <= 1024, "T * T must be at most 1024, the most threads a block can have");

    __shared__ float As[T][T];   // A tile: (row, k)
    __shared__ float Bs[T][T];   // B tile: (k, col)

    // 1. Which element of C is mine to compute, and which elements of A and B to load?
    const unsigned y = threadIdx.y, x = threadIdx.x;
    const unsigned row = blockIdx.y * T + y;
    const unsigned col = blockIdx.x * T + x;
    A += size_t(row) * K + x;   // size_t, because row * K may not fit in 32 bits
    B += size_t(y) * N + col;

    float acc = 0.0f;
    #pragma unroll 8   // tiles a round, so that the compiler has a next load to move ahead of the barrier
    for (int left = K; left > 0; left -= T) {   // of the K products, those still to add
        // 2. Load one element of each tile; what lies outside the matrix is 0 and adds nothing to the sum. __ldg: nobody
        //    writes A or B meanwhile, so that the compiler may move a load ahead of the barrier above it, and it does
        As[y][x] = row < M && x < left ? __ldg(A) : 0.0f;
        Bs[y][x] = y < left && col < N ? __ldg(B) : 0.0f;
        A += T;
        B += size_t(T) * N;
        __syncthreads();   // the tiles are whole before any thread reads what others loaded

        // 3. Multiply: T products from shared memory
        for (int k = 0; k < T; ++k) acc += As[y][k] * Bs[k][x];
        __syncthreads();   // every thread has read the tiles before any thread loads the next ones over them
    }

    // 4. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    if (row >= M || col >= N) return;   // not earlier: every thread of the block must load, and reach the barriers
    C += size_t(row) * N + col;
    *C = alpha * acc + (beta == 0.0f ? 0.0f : beta * *C);
}
