// Ping-pong: there are two of each fragment, too. While a thread multiplies one pair, the next pair is on its way from
// shared memory to registers, also across the barrier between two tiles.

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

template <int BM, int BN, int BK, int TM, int TN, int BLOCKS>
__global__ void __launch_bounds__(BM / TM * (BN / TN), BLOCKS)
sgemm_ping_pong(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
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
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert((4 * THREADS) % BK == 0 && BM % A_ROWS == 0,
                  "4 * THREADS must be a multiple of BK, and BM of 4 * THREADS / BK, to load As in whole passes");
    static_assert((4 * THREADS) % BN == 0 && BK % B_ROWS == 0,
                  "4 * THREADS must be a multiple of BN, and BK of 4 * THREADS / BN, to load Bs in whole passes");
    static_assert(2 * 4 * BK * (BM + PAD + BN) <= 49152, "As and Bs must fit in 49152 bytes of static shared memory");

    __shared__ alignas(16) float As[2][BK][BM + PAD];   // A tiles, transposed: (buffer, k, row)
    __shared__ alignas(16) float Bs[2][BK][BN];         // B tiles: (buffer, k, col)

    // 1. Which TM x TN elements of the block's tile are mine to compute, and which elements of As and Bs to load?
    const bool A_aligned = rows_aligned(A, K), B_aligned = rows_aligned(B, N);
    const unsigned tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const unsigned row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * 4;
    const unsigned a_row = threadIdx.x / (BK / 4), a_k = threadIdx.x % (BK / 4) * 4;
    const unsigned b_k = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    A += size_t(tile_row + a_row) * K + a_k;   // size_t, because a matrix may have more than 2^31 elements
    B += size_t(b_k) * N + tile_col + b_col;

    // 2. The parts: load the tiles that start at k0; what lies outside the matrix is 0 and adds nothing to the sum
    float4 a_next[BM / A_ROWS], b_next[BK / B_ROWS];   // (pass): on the way from global to shared memory
    auto load_tiles = [&](unsigned k0) {
        for (int y = 0; y < BM; y += A_ROWS) {
            const int valid = tile_row + a_row + y < M ? int(K - k0 - a_k) : 0;
            a_next[y / A_ROWS] = load4(&A[size_t(y) * K], valid, A_aligned);
        }
        for (int k = 0; k < BK; k += B_ROWS) {
            const int valid = k0 + b_k + k < K ? int(N - tile_col - b_col) : 0;
            b_next[k / B_ROWS] = load4(&B[size_t(k) * N], valid, B_aligned);
        }
        A += BK;
        B += size_t(BK) * N;
    };
    auto store_tiles = [&](int buffer) {
        for (int y = 0; y < BM; y += A_ROWS) {
            As[buffer][a_k + 0][a_row + y] = a_next[y / A_ROWS].x;
            As[buffer][a_k + 1][a_row + y] = a_next[y / A_ROWS].y;
            As[buffer][a_k + 2][a_row + y] = a_next[y / A_ROWS].z;
            As[buffer][a_k + 3][a_row + y] = a_next[y / A_ROWS].w;
        }
        for (int k = 0; k < BK; k += B_ROWS) as_float4(Bs[buffer][b_k + k][b_col]) = b_next[k / B_ROWS];
    };
    float a_frag[2][TM], b_frag[2][TN];   // (k % 2, row or col)
    auto load_fragments = [&](int buffer, int k) {
        for (int y = 0; y < TM; y += 4) as_float4(a_frag[k % 2][y]) = as_float4(As[buffer][k][row + y]);
        for (int x = 0; x < TN; x += 4)
            as_float4(b_frag[k % 2][x]) = as_float4(Bs[buffer][k][col + x / 4 * GROUP_STRIDE]);
    };
    float acc[TM][TN] = {};   // (row, col)
    auto multiply_fragments = [&](int k) {
        for (int y = 0; y < TM; ++y)
            for (int x = 0; x < TN; ++x) acc[y][x] += a_frag[k % 2][y] * b_frag[k % 2][x];
    };
    auto multiply_tiles = [&](int buffer) {   // all but the last k
        #pragma unroll
        for (int k = 0; k < BK - 1; ++k) {
            load_fragments(buffer, k + 1);
            multiply_fragments(k);
        }
    };

    // 3. The pipeline: the loads of the next tiles are issued before the products of these, and waited for after them
    load_tiles(0);
    store_tiles(0);
    __syncthreads();   // the first tiles are whole before any thread reads what others loaded
    load_fragments(0, 0);
    int buffer = 0;
    for (unsigned k0 = BK; k0 < K; k0 += BK) {
        load_tiles(k0);
        multiply_tiles(buffer);
        buffer ^= 1;
        store_tiles(buffer);
        __syncthreads();   // the next tiles are whole, and every thread has read these: they may be overwritten
        load_fragments(buffer, 0);
        multiply_fragments(BK - 1);
    }
    multiply_tiles(buffer);
    multiply_fragments(BK - 1);

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
