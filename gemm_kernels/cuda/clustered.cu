// Clustered: with many k and a small C the k of a tile are shared out, here among the blocks of a thread block cluster, which
// run at the same time and reach each other's shared memory. They add their sums there: no workspace, no counter, and no way
// to the L2 cache and back.

#include "moves.cuh"
#include "copies.cuh"

// What a kernel is compiled for: sgemm_clustered<Params{.BM = 128, .BN = 256, ...}>
struct Params {
    int BM, BN, BK;   // a block's tile of C, and the k of a tile of A or B
    int WM, WN;       // a warp's tile of C
    int TM, TN;       // the sums of a thread
    int SLICES;       // parts of a tile's k, each with warps of its own
    int STAGES;       // tiles of A, and of B, that a block holds at a time
    int BLOCKS;       // that an SM has room for
    int CLUSTER;      // blocks that share the k of a tile
};

// Four floats of another block's shared memory that lie where `address` is in one's own: of the block with that rank in the
// cluster
__device__ __forceinline__ void load_of_block(float (&to)[4], unsigned address, unsigned rank) {
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(address)
                 : "memory");
}

// Wait for all threads of the cluster: what they wrote is there for all
__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The work of a block. WIDTH: floats of B that one copy moves, and of C that one instruction writes: 4 or 2 if every row
// starts at a multiple of so many, else 1
template <Params P, int WIDTH>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C) {
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, CLUSTER = P.CLUSTER;
    constexpr int WARPS = (BM / WM) * (BN / WN);  // of a slice: together they own the tile of C
    constexpr int THREADS = 32 * WARPS * SLICES;
    constexpr int SLICE_K = BK / SLICES;          // k of a tile that are a slice's
    constexpr int AHEAD = STAGES - 2;             // tiles that the copies run ahead
    // Are the copies of a round spread over the first half of its k? Narrow ones are many. Measured: worth it with few sums
    // for each thread, or with few copies of B; otherwise the compiler gathers loads and copies, and the FMAs wait for both
    constexpr bool SPREAD = WIDTH < 4 && (TM * TN <= 96 || (SLICES <= 2 && BM >= BN));
    constexpr int COPY_PARTS = SPREAD ? SLICE_K / 2 : 1;
    constexpr bool ASKS = WIDTH == 1 || SPREAD;   // Does every round ask whether there is more to copy?
    constexpr int PAD = 4;                        // floats
    constexpr int LANES_Y = WM / TM;              // lanes of a warp down its tile
    constexpr int LANES_X = WN / TN;              // lanes of a warp along its tile
    // Loads that return one at a time are worth twice the wavefronts where a thread has many sums for each load; with few,
    // the wavefronts of shared memory would be the limit
    constexpr bool ZIGZAG = TM * TN < 64;
    constexpr int ROW_STRIDE = 4 * LANES_Y;       // rows from one group of four to the thread's next
    constexpr int COL_STRIDE = 4 * LANES_X;       // columns from one group of four to the thread's next
    constexpr int TEAMS = power_in(BK / 8, power_in(THREADS / 32, 32));   // of warps, along the k of the A tile
    constexpr int A_ROWS = THREADS / 8 / TEAMS;   // rows of the A tile that the block loads in one pass
    constexpr int B_LANES = power_in(BN / WIDTH, 32);   // lanes along a row of the B tile
    constexpr int B_ROWS = THREADS / B_LANES;     // rows of the B tile that the block loads in one pass
    constexpr int A_COPIES = ((BM - 1) / A_ROWS + 1) * (BK / 8 / TEAMS);   // that a thread starts, of a tile of A,
    constexpr int COPIES = A_COPIES + ((BK - 1) / B_ROWS + 1) * (BN / WIDTH / B_LANES);   // and of both tiles
    constexpr int SHARE = BM / CLUSTER * BN / 4;             // float4s of the tile that the block adds up and writes
    constexpr int PIECES = (SHARE - 1) / THREADS + 1;        // of which a thread has so many
    constexpr unsigned GROUP = 8;                 // rows of tiles that blocks take together, tile column by tile column

    struct Stage {
        float As[BK][BM + PAD];   // A tile, transposed: (k, row)
        float Bs[BK][BN];         // B tile: (k, col)
    };
    extern __shared__ float4 shared[];   // dynamic, because STAGES tiles may need more than 48 KB
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)
    auto sums = reinterpret_cast<float (*)[BM][BN + PAD]>(shared);   // (slice, row, col)

    // 1. Which TM x TN elements of a tile are mine to compute, and which elements of As and Bs to load?
    __builtin_assume(threadIdx.x < THREADS);   // the compiler then drops the guards that no thread needs
    const unsigned slice = threadIdx.x / 32 / WARPS, warp = threadIdx.x / 32 % WARPS, lane = threadIdx.x % 32;
    const unsigned lane_y = lane_down<LANES_X, ZIGZAG>(lane), lane_x = lane_along<LANES_X, ZIGZAG>(lane);
    const unsigned row = warp / (BN / WN) * WM + lane_y * 4, col = warp % (BN / WN) * WN + lane_x * 4;
    const unsigned a_row = threadIdx.x / 32 / TEAMS * 4 + lane / 8, a_k = threadIdx.x / 32 % TEAMS * 8 + lane % 8;
    const unsigned b_k = threadIdx.x / B_LANES, b_col = threadIdx.x % B_LANES * WIDTH;

    // 2. A tile is `rounds` rounds of BK, of which the block has an equal share. The last group of rows may have fewer tiles
    const unsigned tiles_x = (N - 1) / BN + 1, tiles_y = (M - 1) / BM + 1, rounds = (K - 1) / BK + 1;
    const unsigned tile = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER;
    const unsigned first_round = rank * rounds / CLUSTER, count = (rank + 1) * rounds / CLUSTER - first_round;
    const unsigned group = tile / (GROUP * tiles_x) * GROUP, group_rows = min(GROUP, tiles_y - group);
    const unsigned in_group = tile - group * tiles_x;
    const unsigned tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;

    // 3. The parts: copy the next tiles, of which all k exist or the first few; what lies outside becomes 0
    const unsigned k_first = first_round == 0 ? 0 : K - (rounds - first_round) * BK;   // a tile's short round is its first
    const float *a = A + size_t(tile_row + a_row) * K + k_first + a_k;   // size_t: there may be more than 2^31
    const float *b = B + size_t(k_first + b_k) * N + tile_col + b_col;
    auto copy_tiles = [&](Stage &to, auto depth, int part = 0, int parts = 1) {   // or one of so many parts of them
        const int rows_left = depth.of(M - tile_row - a_row), cols_left = depth.of(N - tile_col - b_col);   // from mine on
        int copies = 0;
        #pragma unroll
        for (int y = 0; y < BM; y += A_ROWS)
            #pragma unroll
            for (int k = 0; k < BK; k += 8 * TEAMS) {
                if (copies++ * parts / COPIES != part) continue;
                if (BM % A_ROWS != 0 && a_row + y >= BM) continue;   // there are more threads than elements
                copy_async<1>(to.As[a_k + k][a_row + y], &a[size_t(y) * K + k],
                              y < rows_left && (decltype(depth)::every || a_k + k < depth.count));
            }
        #pragma unroll
        for (int k = 0; k < BK; k += B_ROWS)
            #pragma unroll
            for (int x = 0; x < BN; x += B_LANES * WIDTH) {
                if (copies++ * parts / COPIES != part) continue;
                if (BK % B_ROWS != 0 && b_k + k >= BK) continue;
                copy_async<WIDTH>(to.Bs[b_k + k][b_col + x], &b[size_t(k) * N + x],
                                  x < cols_left && (decltype(depth)::every || b_k + k < depth.count));
            }
        if (part + 1 < parts) return;
        a += depth.count;
        b += size_t(depth.count) * N;
    };
    unsigned a_now = shared_address(stages[0].As[slice * SLICE_K][row]);   // where the fragments come from: bytes
    unsigned b_now = shared_address(stages[0].Bs[slice * SLICE_K][col]);
    float a_frag[2][TM], b_frag[2][TN];   // (k % 2, row or col)
    auto load_fragments = [&](int k) {    // b first: in the other order FMAs wait for their registers a sixth longer
        for (int x = 0; x < TN; x += 4) load_now(&b_frag[k % 2][x], b_now + 4 * (k * BN + x / 4 * COL_STRIDE));
        for (int y = 0; y < TM; y += 4)
            load_now(&a_frag[k % 2][y], a_now + 4 * (k * (BM + PAD) + y / 4 * ROW_STRIDE));
    };
    float acc[TM][TN] = {};   // (row, col)
    auto multiply_fragments = [&](int k) {
        for (int y = 0; y < TM; ++y)
            for (int i = 0; i < TN; ++i) {
                const int x = y % 2 == 0 ? i : TN - 1 - i;
                acc[y][x] += a_frag[k % 2][y] * b_frag[k % 2][x];
            }
    };
    unsigned stage = 0, vacant = AHEAD;   // the stage to multiply, and the one to copy into
    int to_next = 0;                      // bytes from that stage to the next one
    auto round = [&](bool more) {         // Are there more tiles to copy?
        auto copy = [&](int part) {
            if constexpr (ASKS) copy_tiles(stages[vacant], AllIf<BK>{more}, part, COPY_PARTS);
            else if (more) copy_tiles(stages[vacant], All<BK>());
        };
        if (!SPREAD) copy(0);
        #pragma unroll
        for (int k = 0; k < SLICE_K; ++k) {
            if (k == (SPREAD ? SLICE_K / 2 : 0)) asm volatile("cp.async.commit_group;");
            if (k == SLICE_K / 2) {
                // The next tiles are whole, and every thread has read those before these: they may be overwritten
                asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
                __syncthreads();
                vacant = vacant + 1 < STAGES ? vacant + 1 : 0;
                to_next = stage + 1 < STAGES ? int(sizeof(Stage)) : -int(sizeof(Stage)) * (STAGES - 1);
                stage = stage + 1 < STAGES ? stage + 1 : 0;
            }
            if (k + 1 == SLICE_K) a_now += to_next, b_now += to_next;
            load_fragments((k + 1) % SLICE_K);   // of the last tiles the last loads serve nobody
            if (SPREAD && k < COPY_PARTS) copy(k);   // after the loads: the compiler lets none of them pass a copy
            multiply_fragments(k);
        }
    };

    // 4. The pipeline runs AHEAD tiles ahead. Every round commits a group, maybe empty: waiting counts groups
    copy_tiles(stages[0], Some{first_round == 0 ? K - (rounds - 1) * BK : BK});
    asm volatile("cp.async.commit_group;");
    #pragma unroll 1
    for (unsigned i = 1; i < AHEAD; ++i) {
        if (i < count) copy_tiles(stages[i], All<BK>());
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");   // all but the newest AHEAD - 1 groups
    __syncthreads();   // the first tiles are whole before any thread reads what others copied
    load_fragments(0);
    unsigned done = 0;   // rounds
    if (!ASKS) {   // a loop that need not ask, and a short one without copies, whose code must be fetched, too
        #pragma unroll 1
        for (; done + AHEAD < count; ++done) round(true);
    }
    #pragma unroll 1
    for (; done < count; ++done) round(ASKS && done + AHEAD < count);

    // 5. Stage: the threads' sums go to where the tiles were, and there the slices' are added
    asm volatile("cp.async.wait_group 0;" ::: "memory");   // copies of what is not there write zeros
    __syncthreads();   // every thread has read the last tiles before any thread stores its sums over them
    // Neighbours change places: a float4 is four registers in a row, of which even and odd ones lie in two banks. The sum at x
    // then lies in the other bank than the b at x, and an FMA reads both at once.
    #pragma unroll
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; x += 4)
            as_float4(sums[slice][row + y % 4 + y / 4 * ROW_STRIDE][col + x / 4 * COL_STRIDE]) =
                {acc[y][x + 1], acc[y][x], acc[y][x + 3], acc[y][x + 2]};
    __syncthreads();   // the sums are whole before any thread reads what others stored
    #pragma unroll 1
    for (int i = 4 * threadIdx.x; i < BM * BN; i += 4 * THREADS) {
        float4 sum = as_float4(sums[0][i / BN][i % BN]);
        #pragma unroll
        for (int s = 1; s < SLICES; ++s) {   // always in this order: the same bits every time
            const float4 part = as_float4(sums[s][i / BN][i % BN]);
            sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
        }
        as_float4(sums[0][i / BN][i % BN]) = {sum.y, sum.x, sum.w, sum.z};   // and back to their places
    }

    // 6. Of the tile's rows each block adds up its own, over all blocks, and writes C = alpha * A * B + beta * C (beta == 0: C
    // may hold NaN or nothing yet, so it is not read)
    float old[PIECES][4] = {};   // (piece, col)
    auto row_of = [&](int piece) { return rank * (BM / CLUSTER) + (piece * THREADS + threadIdx.x) / (BN / 4); };
    auto col_of = [&](int piece) { return (piece * THREADS + threadIdx.x) % (BN / 4) * 4; };
    auto exists = [&](int piece, int x) {
        const bool own = SHARE % THREADS == 0 || piece * THREADS + threadIdx.x < SHARE;
        return own && tile_row + row_of(piece) < M && tile_col + col_of(piece) + x < N;
    };
    auto place = [&](int piece, int x) { return &C[size_t(tile_row + row_of(piece)) * N + tile_col + col_of(piece) + x]; };
    if (beta != 0.0f)
        #pragma unroll
        for (int piece = 0; piece < PIECES; ++piece)
            for (int x = 0; x < 4; x += WIDTH)
                if (exists(piece, x)) load(reinterpret_cast<float (&)[WIDTH]>(old[piece][x]), place(piece, x));
    sync_cluster();   // all blocks' sums are there
    #pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
        if (!exists(piece, 0)) continue;
        float part[CLUSTER][4];   // (block, col)
        #pragma unroll
        for (int block = 0; block < CLUSTER; ++block)
            load_of_block(part[block], shared_address(sums[0][row_of(piece)][col_of(piece)]), block);
        #pragma unroll
        for (int x = 0; x < 4; ++x) {
            float sum = part[0][x];
            for (int block = 1; block < CLUSTER; ++block) sum += part[block][x];   // in the order of k
            part[0][x] = alpha * sum + beta * old[piece][x];
        }
        for (int x = 0; x < 4; x += WIDTH)
            if (exists(piece, x)) store(place(piece, x), reinterpret_cast<float (&)[WIDTH]>(part[0][x]));
    }
    sync_cluster();   // no block ends before all have read its sums
}

template <Params P, int WIDEST = 4>
__global__ void __cluster_dims__(P.CLUSTER) __launch_bounds__(32 * (P.BM / P.WM) * (P.BN / P.WN) * P.SLICES, P.BLOCKS)
sgemm_clustered(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, BLOCKS = P.BLOCKS, CLUSTER = P.CLUSTER;
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN) * SLICES;
    constexpr int PAD = 4;                        // floats
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && WM >= 1 && WN >= 1 && TM >= 1 && TN >= 1 && SLICES >= 1,
                  "BM, BN, BK, WM, WN, TM, TN and SLICES must be at least 1");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % TM == 0 && WN % TN == 0, "WM must be a multiple of TM, and WN of TN");
    static_assert(WM / TM * (WN / TN) == 32, "(WM / TM) * (WN / TN) must be 32, the lanes of a warp");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4, the floats of a float4");
    static_assert(BK % 8 == 0, "BK must be a multiple of 8, the floats of a sector, so that lanes can share one");
    static_assert(BK % (2 * SLICES) == 0,
                  "BK must be a multiple of 2 * SLICES: in a slice, too, the fragments of even and odd k take turns");
    static_assert(STAGES >= 3, "STAGES must be at least 3: to multiply, for those who still read, to copy into");
    static_assert(THREADS <= 1024,
                  "THREADS = 32 * (BM / WM) * (BN / WN) * SLICES must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(CLUSTER == 2 || CLUSTER == 4 || CLUSTER == 8,
                  "CLUSTER must be 2, 4 or 8, the most blocks that every GPU with clusters runs together");
    static_assert(BM % CLUSTER == 0, "BM must be a multiple of CLUSTER, so that each block has equally many rows to write");
    static_assert(STAGES * 4 * BK * (BM + PAD + BN) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");
    static_assert(4 * SLICES * BM * (BN + PAD) <= 232448, "a tile of sums for each slice must fit in 232448 bytes, too");

    // Versions of everything, so that no loop has to ask how rows are aligned. None is wider than WIDEST: code that lies far
    // behind the entry comes from DRAM while warps wait for it
    if (WIDEST >= 4 && rows_aligned<4>(B, N) && rows_aligned<4>(C, N))
        work<P, 4>(M, N, K, alpha, A, B, beta, C);
    else if (WIDEST >= 2 && rows_aligned<2>(B, N) && rows_aligned<2>(C, N))
        work<P, 2>(M, N, K, alpha, A, B, beta, C);
    else
        work<P, 1>(M, N, K, alpha, A, B, beta, C);
}
