// One tile, many products: C = epilogue(alpha * A * B + beta * C). The loop is the ladder's; a tile says how it copies,
// loads and multiplies, a batch which problem a block works at, and steps what becomes of the sums.

template <class X> __device__ __forceinline__ X scaled(X alpha, X sum, X beta, X old) { return alpha * sum + beta * old; }
__device__ __forceinline__ int scaled(int alpha, int sum, int beta, int old) {   // modulo 2^32, as cuBLAS's integers are
    return unsigned(alpha) * sum + unsigned(beta) * old;
}

// A tile of C: of which problem, and where in it. tiles: along k, at least one
template <class Problem> struct Work {
    Problem problem;
    Place place;
    int row, col, tiles;
};

// Tile number `number` of all, by groups of rows of tiles, of which the last may be smaller. False where there is none
template <class Tile, class Batch, class Parameters, class Problem>
__device__ __forceinline__ bool find_work(const Parameters &p, unsigned number, Work<Problem> &work) {
    constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::BK;
    constexpr unsigned GROUP = 8;   // rows of tiles that blocks take together
    Problem &problem = work.problem = p.problem;
    if (!Batch::find(p, problem, number, work.place)) return false;
    const unsigned across = (problem.N + BN - 1) / BN, down = (problem.M + BM - 1) / BM;
    const unsigned group = number / (GROUP * across) * GROUP, in_group = number - group * across;
    const unsigned group_rows = min(GROUP, down - group);
    work.row = (group + in_group % group_rows) * BM;
    work.col = in_group / group_rows * BN;
    work.tiles = problem.K / BK + (problem.K % BK != 0);
    if (Tile::STAYS) work.tiles = max(work.tiles, 1);   // of K = 0 a tile of zeros
    return true;
}

// Store PASSES times four neighbours of a row. of(pass, four, row, col): those of a thread, and where they begin. With
// beta = 0 C may hold NaN or nothing yet, so it is not read
template <class Tile, int UNROLLED, class Output, class... Steps, class Parameters, class Problem, class Of>
__device__ __forceinline__ void write(const Parameters &p, const Work<Problem> &work, Of of) {
    typedef typename Output::Format Format;
    typedef typename Output::Stored Stored;
    typedef typename Format::Sum X;   // what the epilogue computes in
    const Problem &problem = work.problem;
    constexpr int PASSES = Tile::BM * Tile::BN / (4 * Tile::THREADS), GROUPS = PASSES < 4 ? PASSES : 4;
    static_assert(PASSES >= 1 && PASSES % GROUPS == 0 && Tile::BM * Tile::BN % (4 * Tile::THREADS) == 0,
                  "every thread writes the same number of times four neighbours of a row");
    const X alpha = X(p.alpha), beta = X(p.beta);
    #pragma unroll (UNROLLED)
    for (int first = 0; first < PASSES; first += GROUPS) {
        Sums<X, GROUPS> s;
        s.batch = work.place.batch;
        s.inner = p.problem.inner;
        Stored *to[GROUPS];
        X old[GROUPS][4] = {};
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
            typename Tile::Sum four[4];
            int r, c;
            of(first + g, four, r, c);
            r += work.row;
            s.col[g] = work.col + c;
            s.valid[g] = r < problem.M ? problem.N - s.col[g] : 0;
            s.row[g] = work.place.first_row + r;
            to[g] = problem.C.first + r * problem.C.row_step + s.col[g] * problem.C.col_step;
            if (p.beta != 0) read4<Format>(old[g], to[g], problem.C.col_step, s.valid[g], Output::WIDE);
            for (int n = 0; n < 4; ++n) s.x[g][n] = scaled(alpha, X(four[n]), beta, old[g][n]);
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

template <class Tile, class Batch, class Output, class... Steps>
__global__ void __launch_bounds__(Tile::THREADS, Tile::BLOCKS)
gemm(const __grid_constant__ Parameters<typename Tile::PanelA, typename Tile::PanelB, Output, sizeof...(Steps)> p) {
    typedef typename Tile::Sum Sum;
    typedef typename Tile::Stage Stage;
    constexpr int BN = Tile::BN, BK = Tile::BK, STAGES = Tile::STAGES, STEPS = Tile::STEPS;
    static_assert(Tile::THREADS <= 1024, "a block has at most 1024 threads");
    extern __shared__ uint4 shared[];
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)

    // 1. Which tile of C? And which is copied, which in a block that stays becomes the next one before that is multiplied
    Work<Problem<typename Tile::PanelA, typename Tile::PanelB, Output>> work, copied;
    unsigned number = blockIdx.x, copied_number = number;
    int copied_tiles = 0;
    if (!find_work<Tile, Batch>(p, number, work)) return;
    copied = work;

    // 2. The pipeline runs AHEAD tiles ahead: one fewer where warps meet within a tile, and some still read the one before
    // while others copy. Every round commits a group, maybe empty: waiting counts groups
    constexpr int AHEAD = Tile::MEET == STEPS - 1 ? STAGES - 1 : STAGES - 2;
    constexpr int PARTS = Tile::COPY_PARTS;
    static_assert(AHEAD >= 1, "STAGES must be at least 2, or 3 where warps meet within a tile");
    Tile tile;
    int stage = 0, vacant;   // the stage to multiply, and the one to copy into
    auto meet = [&] {   // the next tiles are whole, and every thread has read those before: they may be overwritten
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");   // all but the newest AHEAD - 1 groups
        asm volatile("bar.sync 1, %0;" ::"n"(Tile::THREADS) : "memory");   // a number: two kinds of warps come to it
    };
    auto copy_ahead = [&](int round, int part = 0, int parts = 1) {
        const int k_tile = Tile::STAYS ? copied_tiles : round + AHEAD;
        if (Tile::COPIES_ZEROS || round < 0 || k_tile < copied.tiles)
            tile.copy(stages[vacant], copied.problem, copied.row, copied.col, k_tile * BK, part, parts);
        if (part + 1 < parts) return;
        asm volatile("cp.async.commit_group;");
        if (!Tile::STAYS || ++copied_tiles < copied.tiles) return;
        copied_tiles = 0;
        copied_number += gridDim.x;
        if (copied_number >= p.works || !find_work<Tile, Batch>(p, copied_number, copied)) copied.problem.K = 0;   // zeros
    };
    #pragma unroll 1
    for (vacant = 0; vacant < AHEAD; ++vacant) copy_ahead(vacant - AHEAD);
    meet();
    const int warp = threadIdx.x / 32;
    bool loaded = false;   // whether the first fragments are
    while (true) {
        const bool outside = work.row + warp / (BN / Tile::WN) * Tile::WM >= work.problem.M ||
                             work.col + warp % (BN / Tile::WN) * Tile::WN >= work.problem.N;
        if (outside) {   // a warp none of whose sums is in C copies for the others
            #pragma unroll 1
            for (int round = 0; round < work.tiles; ++round) {
                copy_ahead(round);
                meet();
                vacant = vacant + 1 < STAGES ? vacant + 1 : 0;
                if (Tile::STAYS) stage = stage + 1 < STAGES ? stage + 1 : 0;
            }
            loaded = false;
        } else {
            if (!loaded) tile.load(stages[stage], 0);
            #pragma unroll 1
            for (int round = 0; round < work.tiles; ++round) {
                if (PARTS == 0) copy_ahead(round);
                #pragma unroll
                for (int step = 0; step < STEPS; ++step) {
                    if (step == Tile::MEET) {
                        meet();
                        vacant = vacant + 1 < STAGES ? vacant + 1 : 0;
                    }
                    if (step + 1 == STEPS) stage = stage + 1 < STAGES ? stage + 1 : 0;
                    if (!Tile::IN_PLACE) tile.load(stages[stage], (step + 1) % STEPS);   // of the very last tile the last load serves no product
                    if (step < PARTS) copy_ahead(round, step, PARTS);
                    tile.multiply(step, stages[stage], (step + 1) % STEPS);
                    tile.fold(work.problem, work.row, work.col, round * BK + (step + 1) * (BK / STEPS));
                }
            }
            loaded = true;
        }

        // 3. Write. Sums that lie scattered go to where the tiles were, and come back row by row, whatever the tile's order was
        if constexpr (Tile::STAYS) {
            if (!outside)
                write<Tile, 16, Output, Steps...>(p, work, [&](int pass, Sum (&four)[4], int &r, int &c) {
                    tile.sums_of(pass, four, r, c);
                });
            number += gridDim.x;
            if (number >= p.works || !find_work<Tile, Batch>(p, number, work)) break;
            tile.clear();
        } else {
            asm volatile("cp.async.wait_all;" ::: "memory");   // zeros past the last tile may still be on their way
            auto sums = reinterpret_cast<Sum *>(shared);   // (row, col), PITCH from row to row
            __syncthreads();   // every thread has read the last tiles before any thread stores its sums over them
            tile.store(sums);
            __syncthreads();   // the sums are whole before any thread reads what others stored
            write<Tile, 1, Output, Steps...>(p, work, [&](int pass, Sum (&four)[4], int &r, int &c) {
                const int i = 4 * (pass * Tile::THREADS + threadIdx.x);
                r = i / BN;
                c = i % BN;
                for (int n = 0; n < 4; ++n) four[n] = sums[r * Tile::PITCH + c + (Tile::EXCHANGED ? n ^ 1 : n)];
            });
            return;
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");   // zeros past the last tile may still be on their way
}
