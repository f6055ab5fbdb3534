// Rasterized: blocks start in the order of their number, and those that run together now form a compact patch of C, not
// a few long rows of tiles. They share more of A and B in the L2 cache. An H200 is about one per cent faster for it;
// at 2048, where its L2 cache holds all three matrices, Nsight Compute finds the same traffic of DRAM in either order.

// What a kernel is compiled for: sgemm_rasterized<Params{.BM = 128, .BN = 256, ...}>
struct Params {
    int BM, BN, BK;   // a block's tile of C, and the k of a tile of A or B
    int WM, WN;       // a warp's tile of C
    int TM, TN;       // the sums of a thread
    int STAGES;       // tiles of A, and of B, that a block holds at a time
    int BLOCKS;       // that an SM has room for
};

// The four neighbours in memory that start at `first`, as one float4
__device__ __forceinline__ float4 &as_float4(float &first) { return reinterpret_cast<float4 &>(first); }

// Whether every row of a matrix with `columns` columns starts at a multiple of 16 bytes
__device__ __forceinline__ bool rows_aligned(const float *matrix, int columns) {
    return reinterpret_cast<size_t>(matrix) % 16 == 0 && columns % 4 == 0;
}

// Start the copy of one float from global to shared memory, or of a 0 if the matrix has no such element
__device__ __forceinline__ void copy_async(float *shared, const float *global, bool valid) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"(unsigned(__cvta_generic_to_shared(shared))), "l"(global), "r"(valid ? 4 : 0)   // bytes to read
                 : "memory");
}

// The same for four floats, which start at a multiple of 16 bytes. cg: past the L1 cache, where nobody finds them again
__device__ __forceinline__ void copy4_async(float *shared, const float *global, bool valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(unsigned(__cvta_generic_to_shared(shared))), "l"(global), "r"(valid ? 16 : 0)   // bytes to read
                 : "memory");
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

template <Params P>
__global__ void __launch_bounds__(32 * (P.BM / P.WM) * (P.BN / P.WN), P.BLOCKS)
sgemm_rasterized(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                 const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, STAGES = P.STAGES,
                  BLOCKS = P.BLOCKS;
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    constexpr int PAD = 4;                        // floats
    constexpr int LANES_Y = WM / TM;              // lanes of a warp down its tile
    constexpr int LANES_X = WN / TN;              // lanes of a warp along its tile
    constexpr int ROW_STRIDE = 4 * LANES_Y;       // rows from one group of four to the thread's next
    constexpr int COL_STRIDE = 4 * LANES_X;       // columns from one group of four to the thread's next
    constexpr int A_ROWS = THREADS / BK;          // rows of the A tile that the block loads in one pass
    constexpr int B_ROWS = THREADS / BN;          // rows of the B tile that the block loads in one pass, by floats
    constexpr int B4_ROWS = 4 * THREADS / BN;     // and by four floats
    constexpr int PASSES = TM * TN / 4;           // float4s of C that a thread writes
    constexpr int BATCH = PASSES < 8 ? PASSES : 8;   // of which it loads so many at a time
    constexpr unsigned GROUP = 8;                 // rows of tiles that blocks take together, tile column by tile column
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && WM >= 1 && WN >= 1 && TM >= 1 && TN >= 1,
                  "BM, BN, BK, WM, WN, TM and TN must be at least 1");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % TM == 0 && WN % TN == 0, "WM must be a multiple of TM, and WN of TN");
    static_assert(LANES_Y * LANES_X == 32, "(WM / TM) * (WN / TN) must be 32, the lanes of a warp");
    static_assert(LANES_X % 2 == 0, "WN / TN must be even, because the lanes zigzag over two columns of threads");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4, the floats of a float4");
    static_assert(BK % 2 == 0, "BK must be even, because the fragments of even and odd k take turns");
    static_assert(STAGES >= 2, "STAGES must be at least 2: one to multiply, one to copy into");
    static_assert(THREADS <= 1024,
                  "THREADS = 32 * (BM / WM) * (BN / WN) must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(THREADS % BK == 0 && BM % A_ROWS == 0,
                  "THREADS must be a multiple of BK, and BM of THREADS / BK, to load As in whole passes");
    static_assert(THREADS % BN == 0 && BK % B_ROWS == 0,
                  "THREADS must be a multiple of BN, and BK of THREADS / BN, to load Bs in whole passes");
    static_assert((4 * THREADS) % BN == 0 && BK % B4_ROWS == 0,
                  "4 * THREADS must be a multiple of BN, and BK of 4 * THREADS / BN, to load Bs in whole passes");
    static_assert(STAGES * 4 * BK * (BM + PAD + BN) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");
    static_assert(4 * BM * BN <= 232448, "the tile of C must fit in 232448 bytes, too");
    static_assert(PASSES % BATCH == 0, "TM * TN / 4 must be a multiple of 8, or at most 8, for whole batches of C");

    struct Stage {
        float As[BK][BM + PAD];   // A tile, transposed: (k, row)
        float Bs[BK][BN];         // B tile: (k, col)
    };
    extern __shared__ float4 shared[];   // dynamic, because STAGES tiles may need more than 48 KB
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)

    // 1. Which tile of C is the block's? The last group of rows may have fewer than GROUP
    const unsigned number = blockIdx.y * gridDim.x + blockIdx.x, group = number / (GROUP * gridDim.x) * GROUP;
    const unsigned in_group = number - group * gridDim.x, group_rows = min(GROUP, gridDim.y - group);
    const unsigned tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;

    // 2. Which TM x TN elements of the block's tile are mine to compute, and which elements of As and Bs to load?
    __builtin_assume(threadIdx.x < THREADS);   // the compiler then drops the guards that no thread needs
    const bool B_aligned = rows_aligned(B, N);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned lane_y = lane / 2 % LANES_Y, lane_x = lane / 2 / LANES_Y * 2 + lane % 2;
    const unsigned row = warp / (BN / WN) * WM + lane_y * 4, col = warp % (BN / WN) * WN + lane_x * 4;
    const unsigned a_row = threadIdx.x / BK, a_k = threadIdx.x % BK;
    const unsigned b_k = B_aligned ? threadIdx.x / (BN / 4) : threadIdx.x / BN;
    const unsigned b_col = B_aligned ? threadIdx.x % (BN / 4) * 4 : threadIdx.x % BN;
    A += size_t(tile_row + a_row) * K + a_k;   // size_t, because a matrix may have more than 2^31 elements
    B += size_t(b_k) * N + tile_col + b_col;

    // 3. The parts: copy the next tiles, of which the first `depth` k exist; what lies outside the matrix becomes 0
    auto copy_tiles = [&](Stage &to, unsigned depth) {
        for (int y = 0; y < BM; y += A_ROWS)
            copy_async(&to.As[a_k][a_row + y], &A[size_t(y) * K], tile_row + a_row + y < M && a_k < depth);
        if (B_aligned) {   // then N is a multiple of 4, and four neighbours are inside the matrix together
            for (int k = 0; k < BK; k += B4_ROWS)
                copy4_async(&to.Bs[b_k + k][b_col], &B[size_t(k) * N], b_k + k < depth && tile_col + b_col < N);
        } else {
            for (int k = 0; k < BK; k += B_ROWS)
                copy_async(&to.Bs[b_k + k][b_col], &B[size_t(k) * N], b_k + k < depth && tile_col + b_col < N);
        }
        A += depth;
        B += size_t(depth) * N;
    };
    float a_frag[2][TM], b_frag[2][TN];   // (k % 2, row or col)
    auto load_fragments = [&](Stage &from, int k) {
        for (int y = 0; y < TM; y += 4) as_float4(a_frag[k % 2][y]) = as_float4(from.As[k][row + y / 4 * ROW_STRIDE]);
        for (int x = 0; x < TN; x += 4) as_float4(b_frag[k % 2][x]) = as_float4(from.Bs[k][col + x / 4 * COL_STRIDE]);
    };
    float acc[TM][TN] = {};   // (row, col)
    auto multiply_fragments = [&](int k) {
        for (int y = 0; y < TM; ++y)
            for (int i = 0; i < TN; ++i) {
                const int x = y % 2 == 0 ? i : TN - 1 - i;
                acc[y][x] += a_frag[k % 2][y] * b_frag[k % 2][x];
            }
    };
    auto multiply_tiles = [&](Stage &from) {   // all but the last k
        #pragma unroll
        for (int k = 0; k < BK - 1; ++k) {
            load_fragments(from, k + 1);
            multiply_fragments(k);
        }
    };

    // 4. The pipeline runs STAGES - 1 tiles ahead. If BK does not divide K, the first tile is the short one, so that
    // copies in the loop need not ask where K ends. Every round commits a group, maybe empty: waiting counts groups.
    const unsigned tiles = K / BK + (K % BK != 0);   // rounded up
    copy_tiles(stages[0], K - (tiles - 1) * BK);
    asm volatile("cp.async.commit_group;");
    for (unsigned next = 1; next < STAGES - 1; ++next) {
        if (next < tiles) copy_tiles(stages[next], BK);
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");   // all but the newest STAGES - 2 groups
    __syncthreads();   // the first tiles are whole before any thread reads what others copied
    load_fragments(stages[0], 0);
    unsigned stage = 0, vacant = STAGES - 1;   // the stage to multiply, and the one to copy into
    for (unsigned tile = 1; tile < tiles; ++tile) {
        if (tile + STAGES - 2 < tiles) copy_tiles(stages[vacant], BK);
        asm volatile("cp.async.commit_group;");
        multiply_tiles(stages[stage]);
        vacant = stage;
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();   // the next tiles are whole, and every thread has read these: they may be overwritten
        load_fragments(stages[stage], 0);
        multiply_fragments(BK - 1);
    }
    multiply_tiles(stages[stage]);
    multiply_fragments(BK - 1);

    // 5. Stage: the threads' sums go to where the tiles were, and come back row by row
    auto sums = reinterpret_cast<float (*)[BN]>(shared);   // (row, col)
    __syncthreads();   // every thread has read the last tiles before any thread stores its sums over them
    #pragma unroll
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; x += 4)
            as_float4(sums[row + y % 4 + y / 4 * ROW_STRIDE][col + x / 4 * COL_STRIDE]) = as_float4(acc[y][x]);
    __syncthreads();   // the sums are whole before any thread reads what others stored

    // 6. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    const bool C_aligned = rows_aligned(C, N);
    #pragma unroll 1   // BATCH passes a round keep enough loads in flight; more code would only have to be fetched
    for (int first = 0; first < PASSES; first += BATCH) {
        float4 old[BATCH];   // (pass)
        #pragma unroll
        for (int pass = 0; pass < BATCH; ++pass) {
            const unsigned i = 4 * ((first + pass) * THREADS + threadIdx.x);
            const unsigned r = tile_row + i / BN, c = tile_col + i % BN;
            const int valid = r < M ? int(N - c) : 0;
            old[pass] = load4(&C[size_t(r) * N + c], beta == 0.0f ? 0 : valid, C_aligned);
        }
        #pragma unroll
        for (int pass = 0; pass < BATCH; ++pass) {
            const unsigned i = 4 * ((first + pass) * THREADS + threadIdx.x);
            const unsigned r = tile_row + i / BN, c = tile_col + i % BN;
            const int valid = r < M ? int(N - c) : 0;
            const float4 sum = as_float4(sums[i / BN][i % BN]);
            store4(&C[size_t(r) * N + c], {alpha * sum.x + beta * old[pass].x, alpha * sum.y + beta * old[pass].y,
                   alpha * sum.z + beta * old[pass].z, alpha * sum.w + beta * old[pass].w}, valid, C_aligned);
        }
    }
}
