// Pinned: a thread loads its fragments where the code says, and not later, where the compiler would move the loads to save
// registers. Warps meet in the middle of a tile: then every one of them can load the first fragments of the next in time.

// What a kernel is compiled for: sgemm_pinned<Params{.BM = 128, .BN = 256, ...}>
struct Params {
    int BM, BN, BK;   // a block's tile of C, and the k of a tile of A or B
    int WM, WN;       // a warp's tile of C
    int TM, TN;       // the sums of a thread
    int SLICES;       // parts of a tile's k, each with warps of its own
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

// Four floats of shared memory, loaded here: volatile, or the compiler would load them just before their use; memory, or it
// could move the load across a barrier
__device__ __forceinline__ void load_now(float *fragment, const float &first) {
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(fragment[0]), "=f"(fragment[1]), "=f"(fragment[2]), "=f"(fragment[3])
                 : "r"(unsigned(__cvta_generic_to_shared(&first)))
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
__global__ void __launch_bounds__(32 * (P.BM / P.WM) * (P.BN / P.WN) * P.SLICES, P.BLOCKS)
sgemm_pinned(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
             const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, BLOCKS = P.BLOCKS;
    constexpr int WARPS = (BM / WM) * (BN / WN);  // of a slice: together they own the tile of C
    constexpr int THREADS = 32 * WARPS * SLICES;
    constexpr int SLICE_K = BK / SLICES;          // k of a tile that are a slice's
    constexpr int AHEAD = STAGES - 2;             // tiles that the copies run ahead
    constexpr int PAD = 4;                        // floats
    constexpr int LANES_Y = WM / TM;              // lanes of a warp down its tile
    constexpr int LANES_X = WN / TN;              // lanes of a warp along its tile
    constexpr int ROW_STRIDE = 4 * LANES_Y;       // rows from one group of four to the thread's next
    constexpr int COL_STRIDE = 4 * LANES_X;       // columns from one group of four to the thread's next
    constexpr int A_ROWS = THREADS / BK;          // rows of the A tile that the block loads in one pass
    constexpr int B_ROWS = THREADS / BN;          // rows of the B tile that the block loads in one pass, by floats
    constexpr int B4_ROWS = 4 * THREADS / BN;     // and by four floats
    constexpr int PASSES = TM * TN / 4 < SLICES ? 1 : TM * TN / 4 / SLICES;   // float4s of C that a thread writes
    constexpr int BATCH = PASSES < 8 ? PASSES : 8;   // of which it loads so many at a time
    constexpr unsigned GROUP = 8;                 // rows of tiles that blocks take together, tile column by tile column
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && WM >= 1 && WN >= 1 && TM >= 1 && TN >= 1 && SLICES >= 1,
                  "BM, BN, BK, WM, WN, TM, TN and SLICES must be at least 1");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % TM == 0 && WN % TN == 0, "WM must be a multiple of TM, and WN of TN");
    static_assert(LANES_Y * LANES_X == 32, "(WM / TM) * (WN / TN) must be 32, the lanes of a warp");
    static_assert(LANES_X % 2 == 0, "WN / TN must be even, because the lanes zigzag over two columns of threads");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4, the floats of a float4");
    static_assert(BK % 8 == 0, "BK must be a multiple of 8, the floats of a sector, so that lanes can share one");
    static_assert(BK % (2 * SLICES) == 0,
                  "BK must be a multiple of 2 * SLICES: in a slice, too, the fragments of even and odd k take turns");
    static_assert(STAGES >= 3, "STAGES must be at least 3: to multiply, for those who still read, to copy into");
    static_assert(THREADS <= 1024,
                  "THREADS = 32 * (BM / WM) * (BN / WN) * SLICES must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert((THREADS / 32) % (BK / 8) == 0 && BM % A_ROWS == 0,
                  "THREADS / 32 must be a multiple of BK / 8, and BM of THREADS / BK, to load As in whole passes");
    static_assert(THREADS % BN == 0 && BK % B_ROWS == 0,
                  "THREADS must be a multiple of BN, and BK of THREADS / BN, to load Bs in whole passes");
    static_assert((4 * THREADS) % BN == 0 && BK % B4_ROWS == 0,
                  "4 * THREADS must be a multiple of BN, and BK of 4 * THREADS / BN, to load Bs in whole passes");
    static_assert(STAGES * 4 * BK * (BM + PAD + BN) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");
    static_assert(4 * SLICES * BM * BN <= 232448, "a tile of C for each slice must fit in 232448 bytes, too");
    static_assert(TM * TN / 4 % SLICES == 0 || SLICES % (TM * TN / 4) == 0,
                  "TM * TN / 4 must be a multiple of SLICES, or SLICES of TM * TN / 4, to write C in whole passes");
    static_assert(PASSES % BATCH == 0,
                  "TM * TN / 4 / SLICES must be a multiple of 8, or at most 8, for whole batches of C");

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
    const unsigned slice = threadIdx.x / 32 / WARPS, warp = threadIdx.x / 32 % WARPS, lane = threadIdx.x % 32;
    const unsigned lane_y = lane / 2 % LANES_Y, lane_x = lane / 2 / LANES_Y * 2 + lane % 2;
    const unsigned row = warp / (BN / WN) * WM + lane_y * 4, col = warp % (BN / WN) * WN + lane_x * 4;
    const unsigned a_row = threadIdx.x / 32 / (BK / 8) * 4 + lane / 8;   // a warp copies 4 rows x 8 k to 32 banks; if
    const unsigned a_k = threadIdx.x / 32 % (BK / 8) * 8 + lane % 8;     // 32 divides K, it reads them from only 8
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
        const int own_k = slice * SLICE_K + k;
        for (int x = 0; x < TN; x += 4) load_now(&b_frag[k % 2][x], from.Bs[own_k][col + x / 4 * COL_STRIDE]);
        for (int y = 0; y < TM; y += 4) load_now(&a_frag[k % 2][y], from.As[own_k][row + y / 4 * ROW_STRIDE]);
    };
    float acc[TM][TN] = {};   // (row, col)
    auto multiply_fragments = [&](int k) {
        for (int y = 0; y < TM; ++y)
            for (int i = 0; i < TN; ++i) {
                const int x = y % 2 == 0 ? i : TN - 1 - i;
                acc[y][x] += a_frag[k % 2][y] * b_frag[k % 2][x];
            }
    };
    // 4. The pipeline runs AHEAD tiles ahead. If BK does not divide K, the first tile is the short one, so that copies in
    // the loop need not ask where K ends. Every round commits a group, maybe empty: waiting counts groups.
    const unsigned tiles = K / BK + (K % BK != 0);   // rounded up
    copy_tiles(stages[0], K - (tiles - 1) * BK);
    asm volatile("cp.async.commit_group;");
    for (unsigned next = 1; next < AHEAD; ++next) {
        if (next < tiles) copy_tiles(stages[next], BK);
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");   // all but the newest AHEAD - 1 groups
    __syncthreads();   // the first tiles are whole before any thread reads what others copied
    load_fragments(stages[0], 0);
    unsigned stage = 0, vacant = AHEAD;   // the stage to multiply, and the one to copy into
    auto round = [&](bool more) {   // of the tiles to copy?
        if (more) copy_tiles(stages[vacant], BK);
        asm volatile("cp.async.commit_group;");
        #pragma unroll
        for (int k = 0; k < SLICE_K; ++k) {
            if (k == SLICE_K / 2) {
                // The next tiles are whole, and every thread has read those before these: they may be overwritten
                asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
                __syncthreads();
                vacant = vacant + 1 < STAGES ? vacant + 1 : 0;
            }
            if (k + 1 == SLICE_K) stage = stage + 1 < STAGES ? stage + 1 : 0;
            load_fragments(stages[stage], (k + 1) % SLICE_K);   // of the last tiles the last loads serve nobody
            multiply_fragments(k);
        }
    };
    unsigned done = 0;   // two loops, so that none has to ask
    #pragma unroll 1
    for (; done + AHEAD < tiles; ++done) round(true);
    #pragma unroll 1
    for (; done < tiles; ++done) round(false);

    // 5. Stage: the threads' sums go to where the tiles were, and come back row by row
    auto sums = reinterpret_cast<float (*)[BM][BN]>(shared);   // (slice, row, col)
    __syncthreads();   // every thread has read the last tiles before any thread stores its sums over them
    #pragma unroll
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; x += 4)
            as_float4(sums[slice][row + y % 4 + y / 4 * ROW_STRIDE][col + x / 4 * COL_STRIDE]) = as_float4(acc[y][x]);
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
            const int valid = i < BM * BN && r < M ? int(N - c) : 0;   // with many slices there is not one for each
            old[pass] = load4(&C[size_t(r) * N + c], beta == 0.0f ? 0 : valid, C_aligned);
        }
        #pragma unroll
        for (int pass = 0; pass < BATCH; ++pass) {
            const unsigned i = 4 * ((first + pass) * THREADS + threadIdx.x);
            const unsigned r = tile_row + i / BN, c = tile_col + i % BN;
            const int valid = i < BM * BN && r < M ? int(N - c) : 0;
            if (valid <= 0) continue;
            float4 sum = as_float4(sums[0][i / BN][i % BN]);
            for (int s = 1; s < SLICES; ++s) {   // always in this order: the same bits every time
                const float4 part = as_float4(sums[s][i / BN][i % BN]);
                sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
            }
            store4(&C[size_t(r) * N + c], {alpha * sum.x + beta * old[pass].x, alpha * sum.y + beta * old[pass].y,
                   alpha * sum.z + beta * old[pass].z, alpha * sum.w + beta * old[pass].w}, valid, C_aligned);
        }
    }
}
