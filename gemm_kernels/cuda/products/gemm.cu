// One tile, many products: C = epilogue(alpha * A * B + beta * C). The loop is the ladder's; a tile says how it copies,
// loads and multiplies, a batch which problem a block works at, and steps what becomes of the sums.

template <class X> __device__ __forceinline__ X scaled(X alpha, X sum, X beta, X old) { return alpha * sum + beta * old; }
__device__ __forceinline__ int scaled(int alpha, int sum, int beta, int old) {   // modulo 2^32, as cuBLAS's integers are
    return unsigned(alpha) * sum + unsigned(beta) * old;
}

template <class Tile, class Batch, class Output, class... Steps>
__global__ void __launch_bounds__(Tile::THREADS, Tile::BLOCKS)
gemm(const __grid_constant__ Parameters<typename Tile::PanelA, typename Tile::PanelB, Output, sizeof...(Steps)> p) {
    typedef typename Tile::Sum Sum;
    typedef typename Tile::Stage Stage;
    constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::BK, STAGES = Tile::STAGES, STEPS = Tile::STEPS;
    static_assert(Tile::THREADS <= 1024, "a block has at most 1024 threads");
    constexpr unsigned GROUP = 8;   // rows of tiles that blocks take together
    extern __shared__ uint4 shared[];
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)

    // 1. Which problem, and which tile of its C? The last group of rows may have fewer than GROUP
    auto problem = p.problem;
    unsigned number = blockIdx.x;
    Place place;
    if (!Batch::find(p, problem, number, place)) return;
    const unsigned across = (problem.N + BN - 1) / BN, down = (problem.M + BM - 1) / BM;
    const unsigned group = number / (GROUP * across) * GROUP, in_group = number - group * across;
    const unsigned group_rows = min(GROUP, down - group);
    const int tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;

    // 2. The pipeline runs AHEAD tiles ahead: one fewer where warps meet within a tile, and some still read the one before
    // while others copy. Every round commits a group, maybe empty: waiting counts groups
    constexpr int AHEAD = Tile::MEET == STEPS - 1 ? STAGES - 1 : STAGES - 2;
    constexpr int PARTS = Tile::COPY_PARTS;
    static_assert(AHEAD >= 1, "STAGES must be at least 2, or 3 where warps meet within a tile");
    Tile tile;
    const int tiles = problem.K / BK + (problem.K % BK != 0);
    int stage = 0, vacant = AHEAD;   // the stage to multiply, and the one to copy into
    auto meet = [&] {   // the next tiles are whole, and every thread has read those before: they may be overwritten
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");   // all but the newest AHEAD - 1 groups
        asm volatile("bar.sync 1, %0;" ::"n"(Tile::THREADS) : "memory");   // a number: two kinds of warps come to it
    };
    #pragma unroll 1
    for (int next = 0; next < AHEAD; ++next) {
        tile.copy(stages[next], problem, tile_row, tile_col, next * BK, 0, 1);
        asm volatile("cp.async.commit_group;");
    }
    meet();
    const int warp = threadIdx.x / 32;
    const bool outside = tile_row + warp / (BN / Tile::WN) * Tile::WM >= problem.M ||
                         tile_col + warp % (BN / Tile::WN) * Tile::WN >= problem.N;
    auto copy_ahead = [&](int round, int part = 0, int parts = 1) {
        if (Tile::COPIES_ZEROS || round + AHEAD < tiles)
            tile.copy(stages[vacant], problem, tile_row, tile_col, (round + AHEAD) * BK, part, parts);
        if (part + 1 == parts) asm volatile("cp.async.commit_group;");
    };
    if (outside) {   // a warp none of whose sums is in C copies for the others
        #pragma unroll 1
        for (int round = 0; round < tiles; ++round) {
            copy_ahead(round);
            meet();
            vacant = vacant + 1 < STAGES ? vacant + 1 : 0;
        }
    } else {
        tile.load(stages[0], 0);
        #pragma unroll 1
        for (int round = 0; round < tiles; ++round) {
            if (PARTS == 0) copy_ahead(round);
            #pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                if (step == Tile::MEET) {
                    meet();
                    vacant = vacant + 1 < STAGES ? vacant + 1 : 0;
                }
                if (step + 1 == STEPS) stage = stage + 1 < STAGES ? stage + 1 : 0;
                if (!Tile::AMID) tile.load(stages[stage], (step + 1) % STEPS);   // of the last tile the last load serves no product
                if (!Tile::AMID && step < PARTS) copy_ahead(round, step, PARTS);
                tile.multiply(step, stages[stage], (step + 1) % STEPS, [&](int part, int parts) {
                    if (step < Tile::MEET) copy_ahead(round, step * parts + part, Tile::MEET * parts);
                });
                tile.fold(problem, tile_row, tile_col, round * BK + (step + 1) * (BK / STEPS));
            }
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");   // zeros past the last tile may still be on their way

    // 3. Stage: the sums go to where the tiles were, and come back row by row, whatever the tile's order was
    auto sums = reinterpret_cast<Sum *>(shared);   // (row, col), PITCH from row to row
    __syncthreads();   // every thread has read the last tiles before any thread stores its sums over them
    tile.store(sums);
    __syncthreads();   // the sums are whole before any thread reads what others stored

    // 4. Write. With beta = 0 C may hold NaN or nothing yet, so it is not read
    typedef typename Output::Format Format;
    typedef typename Output::Stored Stored;
    typedef typename Format::Sum X;   // what the epilogue computes in
    constexpr int PASSES = BM * BN / (4 * Tile::THREADS), GROUPS = PASSES < 4 ? PASSES : 4;
    static_assert(PASSES >= 1 && PASSES % GROUPS == 0 && BM * BN % (4 * Tile::THREADS) == 0,
                  "every thread writes the same number of times four neighbours of a row");
    const X alpha = X(p.alpha), beta = X(p.beta);
    #pragma unroll 1
    for (int first = 0; first < PASSES; first += GROUPS) {
        Sums<X, GROUPS> s;
        s.batch = place.batch;
        s.inner = p.problem.inner;
        Stored *to[GROUPS];
        X old[GROUPS][4] = {};
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
            const int i = 4 * ((first + g) * Tile::THREADS + threadIdx.x), r = tile_row + i / BN;
            s.col[g] = tile_col + i % BN;
            s.valid[g] = r < problem.M ? problem.N - s.col[g] : 0;
            s.row[g] = place.first_row + r;
            to[g] = problem.C.first + r * problem.C.row_step + s.col[g] * problem.C.col_step;
            if (p.beta != 0) read4<Format>(old[g], to[g], problem.C.col_step, s.valid[g], Output::WIDE);
            for (int n = 0; n < 4; ++n)
                s.x[g][n] = scaled(alpha, X(sums[i / BN * Tile::PITCH + i % BN + (Tile::EXCHANGED ? n ^ 1 : n)]), beta, old[g][n]);
        }
        int step = 0;
        (Steps::apply(s, p.beside[step++]), ...);
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
            Stored x[4];
            for (int n = 0; n < 4; ++n) x[n] = Format::write(s.x[g][n]);
            write4(to[g], x, problem.C.col_step, s.valid[g], Output::WIDE);
        }
    }
}
