// Vectorized with inline PTX: the loads are written as the instructions they should be, not left to the compiler. Those
// from global memory also take the read-only path (.nc) and ask the L2 cache to fetch 128 bytes at a time (L2::128B).

// The four neighbours in memory that start at `first`, as one float4
__device__ __forceinline__ float4 &as_float4(float &first) { return reinterpret_cast<float4 &>(first); }

// Whether every row of a matrix with `columns` columns starts at a multiple of 16 bytes
__device__ __forceinline__ bool rows_aligned(const float *matrix, int columns) {
    return reinterpret_cast<size_t>(matrix) % 16 == 0 && columns % 4 == 0;
}

// Four neighbours of a row in global memory, of which the first `valid` are inside the matrix; the others read as 0.
__device__ __forceinline__ float4 load4(const float *p, int valid, bool aligned) {
    if (aligned && valid >= 4) return *reinterpret_cast<const float4 *>(p);
    return {valid > 0 ? p[0] : 0.0f, valid > 1 ? p[1] : 0.0f, valid > 2 ? p[2] : 0.0f, valid > 3 ? p[3] : 0.0f};
}

// The same for a matrix that nobody writes while the kernel runs: A and B, not C
__device__ __forceinline__ float4 load4_read_only(const float *p, int valid, bool aligned) {
    if (!aligned || valid < 4) return load4(p, valid, false);
    float4 v;
    asm volatile("ld.global.nc.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p));
    return v;
}

// Four neighbours in shared memory that start at `first`. "memory" keeps the load on its side of the barriers.
__device__ __forceinline__ float4 load4_shared(const float &first) {
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(unsigned(__cvta_generic_to_shared(&first)))
                 : "memory");
    return v;
}

__device__ __forceinline__ void store4(float *p, float4 v, int valid, bool aligned) {
    if (aligned && valid >= 4) {
        *reinterpret_cast<float4 *>(p) = v;
    } else {
        if (valid > 0) p[0] = v.x;
        if (valid > 1) p[1] = v.y;
        if (valid > 2) p[2] = v.z;
        if (valid > 3) p[3] = v.w;
    }
}

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__(BM / TM * (BN / TN))
sgemm_vectorized_ptx(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                     const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = BM / TM * (BN / TN);
    constexpr int PAD = 4;                        // floats
    constexpr int GROUP_STRIDE = 4 * (BN / TN);   // columns from one group of four to the thread's next
    constexpr int A_ROWS = 4 * THREADS / BK;      // rows of the A tile that the block loads in one pass
    constexpr int B_ROWS = 4 * THREADS / BN;      // rows of the B tile that the block loads in one pass
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && TM >= 1 && TN >= 1, "BM, BN, BK, TM and TN must be at least 1");
    static_assert(BM % TM == 0 && BN % TN == 0, "BM must be a multiple of TM, and BN of TN");
    static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                  "BK, TM and TN must be multiples of 4, the floats of a float4");
    static_assert(THREADS <= 1024, "THREADS = (BM / TM) * (BN / TN) must be at most 1024, the most a block can have");
    static_assert((4 * THREADS) % BK == 0 && BM % A_ROWS == 0,
                  "4 * THREADS must be a multiple of BK, and BM of 4 * THREADS / BK, to load As in whole passes");
    static_assert((4 * THREADS) % BN == 0 && BK % B_ROWS == 0,
                  "4 * THREADS must be a multiple of BN, and BK of 4 * THREADS / BN, to load Bs in whole passes");
    static_assert(4 * BK * (BM + PAD + BN) <= 49152, "As and Bs must fit in 49152 bytes of static shared memory");

    __shared__ alignas(16) float As[BK][BM + PAD];   // A tile, transposed: (k, row)
    __shared__ alignas(16) float Bs[BK][BN];         // B tile: (k, col)

    // 1. Which TM x TN elements of the block's tile are mine to compute, and which elements of As and Bs to load?
    const bool A_aligned = rows_aligned(A, K), B_aligned = rows_aligned(B, N);
    const unsigned tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const unsigned row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * 4;
    const unsigned a_row = threadIdx.x / (BK / 4), a_k = threadIdx.x % (BK / 4) * 4;
    const unsigned b_k = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    A += size_t(tile_row + a_row) * K + a_k;   // size_t, because a matrix may have more than 2^31 elements
    B += size_t(b_k) * N + tile_col + b_col;

    float acc[TM][TN] = {};   // (row, col)
    for (unsigned k0 = 0; k0 < K; k0 += BK) {
        // 2. Load the tiles; what lies outside the matrix is 0 and adds nothing to the sum
        float4 a_next[BM / A_ROWS], b_next[BK / B_ROWS];   // (pass): on the way from global to shared memory
        for (int y = 0; y < BM; y += A_ROWS) {
            const int valid = tile_row + a_row + y < M ? int(K - k0 - a_k) : 0;
            a_next[y / A_ROWS] = load4_read_only(&A[size_t(y) * K], valid, A_aligned);
        }
        for (int k = 0; k < BK; k += B_ROWS) {
            const int valid = k0 + b_k + k < K ? int(N - tile_col - b_col) : 0;
            b_next[k / B_ROWS] = load4_read_only(&B[size_t(k) * N], valid, B_aligned);
        }
        for (int y = 0; y < BM; y += A_ROWS) {
            As[a_k + 0][a_row + y] = a_next[y / A_ROWS].x;
            As[a_k + 1][a_row + y] = a_next[y / A_ROWS].y;
            As[a_k + 2][a_row + y] = a_next[y / A_ROWS].z;
            As[a_k + 3][a_row + y] = a_next[y / A_ROWS].w;
        }
        for (int k = 0; k < BK; k += B_ROWS) as_float4(Bs[b_k + k][b_col]) = b_next[k / B_ROWS];
        A += BK;
        B += size_t(BK) * N;
        __syncthreads();   // the tiles are whole before any thread reads what others loaded

        // 3. Multiply
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a_frag[TM], b_frag[TN];
            for (int y = 0; y < TM; y += 4) as_float4(a_frag[y]) = load4_shared(As[k][row + y]);
            for (int x = 0; x < TN; x += 4) as_float4(b_frag[x]) = load4_shared(Bs[k][col + x / 4 * GROUP_STRIDE]);
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) acc[y][x] += a_frag[y] * b_frag[x];
        }
        __syncthreads();   // every thread has read the tiles before any thread loads the next ones over them
    }

    // 4. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    const bool C_aligned = rows_aligned(C, N);
    #pragma unroll
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; x += 4) {
            const unsigned r = tile_row + row + y, c = tile_col + col + x / 4 * GROUP_STRIDE;
            const int valid = r < M ? int(N - c) : 0;
            float *p = &C[size_t(r) * N + c];
            const float4 old = load4(p, beta == 0.0f ? 0 : valid, C_aligned);
            store4(p, {alpha * acc[y][x + 0] + beta * old.x, alpha * acc[y][x + 1] + beta * old.y,
                       alpha * acc[y][x + 2] + beta * old.z, alpha * acc[y][x + 3] + beta * old.w}, valid, C_aligned);
        }
}
