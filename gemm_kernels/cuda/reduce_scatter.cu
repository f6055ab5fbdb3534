// Reduce-scatter: with many k and a small C, blocks share the k of all tiles. Of such a tile every block brings a part to the
// workspace, and then each adds a stretch of it, over all parts: they end together, and none adds alone while others are gone.

#include "moves.cuh"
#include "copies.cuh"
#include "shared_tiles.cuh"

// What a kernel is compiled for: sgemm_reduce_scatter<Params{.BM = 128, .BN = 256, ...}>
struct Params {
    int BM, BN, BK;   // a block's tile of C, and the k of a tile of A or B
    int WM, WN;       // a warp's tile of C
    int TM, TN;       // the sums of a thread
    int SLICES;       // parts of a tile's k, each with warps of its own
    int STAGES;       // tiles of A, and of B, that a block holds at a time
    int BLOCKS;       // that an SM has room for
    int WORKERS;      // blocks that share out tiles; 0: one for every tile
};

// The work of a block. WIDTH: floats of B that one copy moves, and of C that one instruction writes: 4 or 2 if every row
// starts at a multiple of so many, else 1
template <Params P, int WIDTH>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C, float *workspace) {
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, BLOCKS = P.BLOCKS, WORKERS = P.WORKERS;
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
    constexpr int SUMS = BM * BN / 4;             // float4s of a tile
    constexpr int PIECES = (SUMS - 1) / THREADS + 1;   // of which a thread has so many,
    constexpr int BATCH = clamped(PIECES, 8);          // so many at a time
    constexpr int AT_ONCE = BLOCKS * THREADS > 512 ? 8 : BLOCKS * THREADS > 256 ? 16 : 24;   // parts loaded at a time
    constexpr unsigned GONE = 65536;              // what a block that has gone counts for among those that have arrived
    constexpr unsigned PATIENCE = 200;            // times that a block looks whether all have arrived
    constexpr unsigned GROUP = 8;                 // rows of tiles that blocks take together, tile column by tile column

    struct Stage {
        float As[BK][BM + PAD];   // A tile, transposed: (k, row)
        float Bs[BK][BN];         // B tile: (k, col)
    };
    extern __shared__ float4 shared[];   // dynamic, because STAGES tiles may need more than 48 KB
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)
    auto sums = reinterpret_cast<float (*)[BM][BN + PAD]>(shared);   // (slice, row, col)
    // For tiles that blocks share: a block's first and second part, and by the place of a tile's first part how many blocks
    // have arrived with theirs (and GONE times how many of those have gone), and how many have seen that all are there. 0
    // between launches
    auto parts = reinterpret_cast<float4 (*)[SUMS]>(workspace);
    auto arrived = reinterpret_cast<unsigned (*)[2]>(&parts[2 * WORKERS]);
    __shared__ Shared shared_tiles[2];

    // 1. Which TM x TN elements of a tile are mine to compute, and which elements of As and Bs to load?
    __builtin_assume(threadIdx.x < THREADS);   // the compiler then drops the guards that no thread needs
    const unsigned slice = threadIdx.x / 32 / WARPS, warp = threadIdx.x / 32 % WARPS, lane = threadIdx.x % 32;
    const unsigned lane_y = lane_down<LANES_X, ZIGZAG>(lane), lane_x = lane_along<LANES_X, ZIGZAG>(lane);
    const unsigned row = warp / (BN / WN) * WM + lane_y * 4, col = warp % (BN / WN) * WN + lane_x * 4;
    const unsigned a_row = threadIdx.x / 32 / TEAMS * 4 + lane / 8, a_k = threadIdx.x / 32 % TEAMS * 8 + lane % 8;
    const unsigned b_k = threadIdx.x / B_LANES, b_col = threadIdx.x % B_LANES * WIDTH;

    // 2. A tile is `rounds` rounds of BK. What is next?
    const unsigned tiles_x = (N - 1) / BN + 1, tiles_y = (M - 1) / BM + 1, rounds = (K - 1) / BK + 1;
    Scheduler<(WORKERS > 0)> scheduler(tiles_x * tiles_y, rounds);
    const unsigned first_tile = scheduler.next_round / rounds;   // of the shared ones, if I have any
    unsigned shares = 0;   // 1, if others share my first tile, and 2, if they do my last one
    Work mine;
    while (scheduler.next(mine)) {
        // The last group of rows of tiles may have fewer than GROUP
        const unsigned group = mine.tile / (GROUP * tiles_x) * GROUP, group_rows = min(GROUP, tiles_y - group);
        const unsigned in_group = mine.tile - group * tiles_x;
        const unsigned tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;

        // 3. The parts: copy the next tiles, of which all k exist or the first few; what lies outside becomes 0
        const unsigned k_first = mine.first == 0 ? 0 : K - (rounds - mine.first) * BK;   // a tile's short round is its first
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
        copy_tiles(stages[0], Some{mine.first == 0 ? K - (rounds - 1) * BK : BK});
        asm volatile("cp.async.commit_group;");
        #pragma unroll 1
        for (unsigned i = 1; i < AHEAD; ++i) {
            if (i < mine.count) copy_tiles(stages[i], All<BK>());
            asm volatile("cp.async.commit_group;");
        }
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");   // all but the newest AHEAD - 1 groups
        __syncthreads();   // the first tiles are whole before any thread reads what others copied
        load_fragments(0);
        unsigned done = 0;   // rounds
        if (!ASKS) {   // a loop that need not ask, and a short one without copies, whose code must be fetched, too
            #pragma unroll 1
            for (; done + AHEAD < mine.count; ++done) round(true);
        }
        #pragma unroll 1
        for (; done < mine.count; ++done) round(ASKS && done + AHEAD < mine.count);

        // 5. Stage: the threads' sums go to where the tiles were, and come back row by row, the slices' added up, on their way
        // to C (beta == 0: C may hold NaN or nothing yet, so it is not read) or, of a tile that others share, to the workspace
        const bool partial = WORKERS && mine.count < rounds;
        asm volatile("cp.async.wait_group 0;" ::: "memory");   // copies of what is not there write zeros
        __syncthreads();   // every thread has read the last tiles before any thread stores its sums over them
        // Neighbours change places: a float4 is four registers in a row, of which even and odd ones lie in two banks. The sum
        // at x then lies in the other bank than the b at x, and an FMA reads both at once.
        #pragma unroll
        for (int y = 0; y < TM; ++y)
            for (int x = 0; x < TN; x += 4)
                as_float4(sums[slice][row + y % 4 + y / 4 * ROW_STRIDE][col + x / 4 * COL_STRIDE]) =
                    {acc[y][x + 1], acc[y][x], acc[y][x + 3], acc[y][x + 2]};
        __syncthreads();   // the sums are whole before any thread reads what others stored
        auto index_of = [&](int piece) { return piece * THREADS + threadIdx.x; };   // of a float4 of the tile
        auto row_of = [&](int piece) { return index_of(piece) / (BN / 4); };
        auto col_of = [&](int piece) { return index_of(piece) % (BN / 4) * 4; };
        auto exists = [&](int piece, int x) {
            const bool own = SUMS % (BATCH * THREADS) == 0 || index_of(piece) < SUMS;
            return own && (partial || (tile_row + row_of(piece) < M && tile_col + col_of(piece) + x < N));
        };
        auto place = [&](int piece, int x) {
            return &C[size_t(tile_row + row_of(piece)) * N + tile_col + col_of(piece) + x];
        };
        float old[BATCH][4] = {};   // (piece, col)
        auto load_old = [&](int first) {
            if (partial || beta == 0.0f) return;
            #pragma unroll
            for (int i = 0; i < BATCH; ++i)
                for (int x = 0; x < 4; x += WIDTH)
                    if (exists(first + i, x)) load(reinterpret_cast<float (&)[WIDTH]>(old[i][x]), place(first + i, x));
        };
        load_old(0);
        #pragma unroll 1
        for (int first = 0; first < PIECES; first += BATCH) {
            #pragma unroll
            for (int i = 0; i < BATCH; ++i) {
                const int piece = first + i;
                if (!exists(piece, 0)) continue;
                float sum[4];
                #pragma unroll
                for (int s = 0; s < SLICES; ++s) {   // always in this order: the same bits every time
                    float own[4];
                    load(own, &sums[s][row_of(piece)][col_of(piece)]);
                    for (int x = 0; x < 4; ++x) sum[x] = s == 0 ? own[x ^ 1] : sum[x] + own[x ^ 1];   // back to its place
                }
                if (partial) {
                    store(&parts[2 * blockIdx.x + (mine.tile > first_tile)][index_of(piece)].x, sum);
                    continue;
                }
                for (int x = 0; x < 4; ++x) sum[x] = alpha * sum[x] + beta * old[i][x];
                for (int x = 0; x < 4; x += WIDTH)
                    if (exists(piece, x)) store(place(piece, x), reinterpret_cast<float (&)[WIDTH]>(sum[x]));
            }
            if (first + BATCH < PIECES) load_old(first + BATCH);
        }
        if (partial) {
            const unsigned tile_round = mine.tile * rounds;   // its first one
            unsigned first_part = 0, sharers = 1;
            if (threadIdx.x == 0) {
                const unsigned block = scheduler.owner(tile_round);
                first_part = 2 * block + (scheduler.first_round(block) < tile_round);   // it may have begun in the tile before
                sharers = scheduler.owner(tile_round + rounds - 1) - block + 1;
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                __threadfence();   // my sums are there for all before I count as arrived
                const unsigned turn = atomicAdd(&arrived[first_part][0], 1);
                const unsigned most = (SUMS - 1) / sharers + 1;   // float4s that a block adds
                const unsigned teams = teams_of(THREADS / most, (sharers - 1) / 8 + 1), ahead = turn % GONE;
                shared_tiles[mine.tile > first_tile] = {
                    sharers, first_part, tile_row, tile_col, teams, turn, ahead * SUMS / sharers,
                    (ahead + 1) * SUMS / sharers, 0};
            }
            shares |= mine.tile > first_tile ? 2 : 1;
        }
        if (!WORKERS) return;
        __syncthreads();   // every thread has read the sums before the next tiles are copied over them
    }

    // 6. Of a tile that blocks share each adds a stretch, over all parts, in their order, as soon as all are there. Nobody
    // waits for long, as not all may be on the GPU: who has gone is counted, and then the last to arrive adds everything
    #pragma unroll 1
    for (int which = 0; which < 2; ++which) {
        if ((shares >> which & 1) == 0) continue;
        Shared &tile = shared_tiles[which];
        const unsigned sharers = tile.sharers;
        auto &counters = arrived[tile.first_part];
        if (threadIdx.x == 0) {
            unsigned there = tile.turn + 1, patience = PATIENCE;
            while (there % GONE < sharers) {
                if (patience == 0 && atomicCAS(&counters[0], there, there + GONE) == there) break;
                if (patience > 0) --patience;
                there = fresh(counters[0]);
            }
            __threadfence();   // and theirs for me
            if (there % GONE < sharers) tile.end = tile.begin;   // I have gone
            else tile.stay = sharers - there / GONE;
            if (there > sharers) {   // others have gone
                tile.begin = 0;
                tile.end = tile.turn % GONE + 1 == sharers ? SUMS : 0;
            }
        }
        __syncthreads();
        // If there are more threads than sums, teams of them add some of the parts each, and the first one adds those sums
        const unsigned lanes = THREADS / tile.teams, team = threadIdx.x / lanes;
        const unsigned parts_of_team = (sharers - 1) / tile.teams + 1;
        const unsigned first = team * parts_of_team, end = min(first + parts_of_team, sharers);
        auto place_of = [&](unsigned block) {   // of its part: the second one of the first block, perhaps
            return block == 0 ? tile.first_part : tile.first_part / 2 * 2 + 2 * block;
        };
        auto team_sums = reinterpret_cast<float4 *>(shared);   // (team, lane)
        #pragma unroll 1
        for (unsigned begin = tile.begin; begin < tile.end; begin += lanes) {
            const unsigned i = begin + threadIdx.x % lanes;
            const unsigned r = tile.row + i / (BN / 4), c = tile.col + i % (BN / 4) * 4;
            const unsigned columns = i < tile.end && r < M && c < N ? N - c : 0;   // that exist, from mine on
            float sum[4] = {}, old[4] = {};
            if (beta != 0.0f && team == 0)
                for (int x = 0; x < 4; x += WIDTH)
                    if (x < columns) load(reinterpret_cast<float (&)[WIDTH]>(old[x]), &C[size_t(r) * N + c + x]);
            #pragma unroll 1
            for (unsigned block = first; block < end; block += AT_ONCE) {
                float part[AT_ONCE][4] = {};
                #pragma unroll
                for (int j = 0; j < AT_ONCE; ++j)
                    if (block + j < end && columns > 0) load_fresh(part[j], &parts[place_of(block + j)][i].x);
                #pragma unroll
                for (int j = 0; j < AT_ONCE; ++j)
                    for (int x = 0; x < 4; ++x) sum[x] += part[j][x];
            }
            if (tile.teams > 1) {
                store(&team_sums[threadIdx.x].x, sum);
                __syncthreads();   // all teams' sums are there
                if (team == 0)
                    #pragma unroll 1
                    for (unsigned other = 1; other < tile.teams; ++other) {
                        float more[4];
                        load(more, &team_sums[other * lanes + threadIdx.x].x);
                        for (int x = 0; x < 4; ++x) sum[x] += more[x];
                    }
            }
            for (int x = 0; x < 4; ++x) sum[x] = alpha * sum[x] + beta * old[x];
            for (int x = 0; x < 4; x += WIDTH)
                if (x < columns && team == 0)
                    store(&C[size_t(r) * N + c + x], reinterpret_cast<float (&)[WIDTH]>(sum[x]));
            if (tile.teams > 1) __syncthreads();   // and read before the next ones are stored over them
        }
        if (threadIdx.x == THREADS - 1 && tile.stay > 0 && atomicAdd(&counters[1], 1) + 1 == tile.stay)
            atomicExch(&counters[0], 0), atomicExch(&counters[1], 0);   // nobody will look again
    }
}

template <Params P, int WIDEST = 4>
__global__ void __launch_bounds__(32 * (P.BM / P.WM) * (P.BN / P.WN) * P.SLICES, P.BLOCKS)
sgemm_reduce_scatter(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                     const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
                     float *workspace) {                                 // 2 * WORKERS * (BM * BN + 2) floats, 0 at first
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, BLOCKS = P.BLOCKS, WORKERS = P.WORKERS;
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
    static_assert(WORKERS >= 0 && WORKERS < 65536,
                  "WORKERS must be at least 0, which is a block for every tile, and below 65536, to be counted in 16 bits");
    static_assert(STAGES * 4 * BK * (BM + PAD + BN) <= 232320,
                  "As and Bs must fit in 232320 bytes, the most shared memory a block of any GPU can have, less 128");
    static_assert(4 * SLICES * BM * (BN + PAD) <= 232320, "a tile of sums for each slice must fit in 232320 bytes, too");

    // Versions of everything, so that no loop has to ask how rows are aligned. None is wider than WIDEST: code that lies far
    // behind the entry comes from DRAM while warps wait for it
    if (WIDEST >= 4 && rows_aligned<4>(B, N) && rows_aligned<4>(C, N))
        work<P, 4>(M, N, K, alpha, A, B, beta, C, workspace);
    else if (WIDEST >= 2 && rows_aligned<2>(B, N) && rows_aligned<2>(C, N))
        work<P, 2>(M, N, K, alpha, A, B, beta, C, workspace);
    else
        work<P, 1>(M, N, K, alpha, A, B, beta, C, workspace);
}
