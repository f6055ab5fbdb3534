// 2-D block tile: a thread computes TM x TN elements, the outer product of TM elements of As and TN of Bs at each k.
// TM + TN loads from shared memory feed TM * TN FMAs, where the kernel before needed more than one load for each.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__(BM / TM * (BN / TN))
sgemm_block_tile_2d(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                    const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = BM / TM * (BN / TN);
    constexpr int A_ROWS = THREADS / BK;   // rows of the A tile that the block loads in one pass
    constexpr int B_ROWS = THREADS / BN;   // rows of the B tile that the block loads in one pass
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && TM >= 1 && TN >= 1, "BM, BN, BK, TM and TN must be at least 1");
    static_assert(BM % TM == 0 && BN % TN == 0, "BM must be a multiple of TM, and BN of TN");
    static_assert(THREADS <= 1024, "THREADS = (BM / TM) * (BN / TN) must be at most 1024, the most a block can have");
    static_assert(THREADS % BK == 0 && BM % A_ROWS == 0,
                  "THREADS must be a multiple of BK, and BM of THREADS / BK, to load As in whole passes");
    static_assert(THREADS % BN == 0 && BK % B_ROWS == 0,
                  "THREADS must be a multiple of BN, and BK of THREADS / BN, to load Bs in whole passes");
    static_assert(4 * BK * (BM + BN) <= 49152, "As and Bs must fit in 49152 bytes of static shared memory");

    __shared__ float As[BM][BK];   // A tile: (row, k)
    __shared__ float Bs[BK][BN];   // B tile: (k, col)

    // 1. Which TM x TN elements of the block's tile are mine to compute, and which elements of As and Bs to load?
    const unsigned tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const unsigned row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    const unsigned a_row = threadIdx.x / BK, a_k = threadIdx.x % BK;
    const unsigned b_k = threadIdx.x / BN, b_col = threadIdx.x % BN;
    A += size_t(tile_row + a_row) * K + a_k;   // size_t, because a matrix may have more than 2^31 elements
    B += size_t(b_k) * N + tile_col + b_col;

    float acc[TM][TN] = {};   // (row, col)
    for (unsigned k0 = 0; k0 < K; k0 += BK) {
        // 2. Load the tiles; what lies outside the matrix is 0 and adds nothing to the sum
        for (int y = 0; y < BM; y += A_ROWS)
            As[a_row + y][a_k] = tile_row + a_row + y < M && k0 + a_k < K ? A[size_t(y) * K] : 0.0f;
        for (int k = 0; k < BK; k += B_ROWS)
            Bs[b_k + k][b_col] = k0 + b_k + k < K && tile_col + b_col < N ? B[size_t(k) * N] : 0.0f;
        A += BK;
        B += size_t(BK) * N;
        __syncthreads();   // the tiles are whole before any thread reads what others loaded

        // 3. Multiply: the fragments stay in registers
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a_frag[TM], b_frag[TN];
            for (int y = 0; y < TM; ++y) a_frag[y] = As[row + y][k];
            for (int x = 0; x < TN; ++x) b_frag[x] = Bs[k][col + x];
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) acc[y][x] += a_frag[y] * b_frag[x];
        }
        __syncthreads();   // every thread has read the tiles before any thread loads the next ones over them
    }

    // 4. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) {
            const unsigned r = tile_row + row + y, c = tile_col + col + x;
            float &element = C[size_t(r) * N + c];
            if (r < M && c < N) element = alpha * acc[y][x] + (beta == 0.0f ? 0.0f : beta * element);
        }
}
