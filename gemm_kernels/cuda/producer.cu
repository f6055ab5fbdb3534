// Producer: persistent, but warps of their own start all copies, ahead of the warps that multiply and beyond the end of a
// tile. Barriers in shared memory say which stages are full and which are vacant. Everything exists three times: for rows of
// B and C that all start at multiples of 16 bytes, of 8, and for others. For compute capability 9.0 and later.

#include "moves.cuh"
#include "scheduler.cuh"
#include "barriers.cuh"

// What a kernel is compiled for: sgemm_producer<Params{.BM = 128, .BN = 256, ...}>
struct Params {
    int BM, BN, BK;   // a block's tile of C, and the k of a tile of A or B
    int WM, WN;       // a warp's tile of C
    int TM, TN;       // the sums of a thread
    int SLICES;       // parts of a tile's k, each with warps of its own
    int STAGES;       // tiles of A, and of B, that a block holds at a time
    int PRODUCERS;    // warps that copy
    int BLOCKS;       // that an SM has room for
    int WORKERS;      // blocks that share out tiles; 0: one for every tile
};

constexpr int STRIP_ROOM = 16384;   // floats of shared memory that sums pass through, for all blocks of an SM

// Which k of a tile are to be copied: all, which the compiler then knows, or the first few
template <int BK>
struct All {
    static constexpr bool every = true;
    static constexpr unsigned count = BK;
};
struct Some {
    static constexpr bool every = false;
    unsigned count;
};

// The work of a block. WIDTH: floats of B that one copy moves, and of C that one instruction writes: 4 or 2 if every row
// starts at a multiple of so many, else 1
template <Params P, int WIDTH>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C, float *workspace) {
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, PRODUCERS = P.PRODUCERS, BLOCKS = P.BLOCKS, WORKERS = P.WORKERS;
    constexpr int WARPS = (BM / WM) * (BN / WN);  // of a slice: together they own the tile of C
    constexpr int THREADS = 32 * WARPS * SLICES;  // that multiply
    constexpr int COPIERS = 32 * PRODUCERS;       // threads
    constexpr int SLICE_K = BK / SLICES;          // k of a tile that are a slice's
    constexpr int PAD = 4;                        // floats
    constexpr int LANES_Y = WM / TM;              // lanes of a warp down its tile
    constexpr int LANES_X = WN / TN;              // lanes of a warp along its tile
    // Loads that return one at a time are worth twice the wavefronts where a thread has many sums for each load; with few,
    // the wavefronts of shared memory would be the limit
    constexpr bool ZIGZAG = TM * TN < 64;
    constexpr int ROW_STRIDE = 4 * LANES_Y;       // rows from one group of four to the thread's next
    constexpr int COL_STRIDE = 4 * LANES_X;       // columns from one group of four to the thread's next
    constexpr int A_ROWS = COPIERS / 8;           // rows of the A tile that are copied in one pass
    constexpr int A_PASSES = (BM - 1) / A_ROWS + 1;
    constexpr int B_LANES = power_in(BN / WIDTH, 32);   // lanes along a row of the B tile
    constexpr int B_ROWS = COPIERS / B_LANES;     // rows of the B tile that are copied in one pass
    constexpr int LANE_ROW = SLICES * WARPS * LANES_Y * (WN + (LANES_Y > 1 ? 16 : 0));   // floats: each thread stages a row
    constexpr int STRIP = rows_of(TM, STRIP_ROOM / BLOCKS / LANE_ROW);   // rows that it does stage at a time
    constexpr int STRIP_PAD = pad_of(STRIP * WN, rows_of_eight<LANES_X, ZIGZAG>());
    constexpr int STRIP_FLOATS = STRIP * WN + STRIP_PAD;   // that lanes with the same lane_y stage
    constexpr int STRIP_ROWS = STRIP * LANES_Y;   // rows of a warp that are
    constexpr int STRIP_LANES = power_in(WN / WIDTH, 32);   // lanes along a row of a strip on its way out
    constexpr int PIECES = WN / WIDTH / STRIP_LANES;        // of WIDTH floats, of such a row for each lane
    constexpr int ROWS_NOW = 32 / STRIP_LANES;              // rows that a warp takes at a time
    constexpr int PASSES = (STRIP_ROWS - 1) / (ROWS_NOW * SLICES) + 1;
    constexpr int ROOM = clamped(65536 / (BLOCKS * (THREADS + COPIERS)), 255) - TM * TN;   // registers beside the sums
    constexpr int NARROW = ROOM >= 150 ? 4 / WIDTH : ROOM >= 90 && WIDTH == 1 ? 2 : 1;   // narrow pieces for a wide one
    constexpr int MOST = (TM * TN > 64 && ROOM < 80 ? 2 : TM * TN > 128 ? 4 : 8) * NARROW;  // pieces loaded at a time
    constexpr int BATCH = clamped(MOST / PIECES, PASSES);   // passes at a time
    constexpr int PART_PIECES = (BM * BN / 4 - 1) / THREADS + 1;   // of four floats, of a tile for each thread
    constexpr int AT_ONCE = clamped(PART_PIECES, 4);               // of which it adds so many at a time, of so many parts
    constexpr int PARTS = (BLOCKS * THREADS > 512 ? 8 : 16) / AT_ONCE;
    constexpr unsigned FEW = PARTS > 8 ? PARTS : 8;   // parts that are added at once, without groups
    constexpr unsigned GROUP = 8;                 // rows of tiles that blocks take together, tile column by tile column

    struct Stage {
        float As[BK][BM + PAD];   // A tile, transposed: (k, row)
        float Bs[BK][BN];         // B tile: (k, col)
        unsigned long long full, vacant;   // barriers: it has been copied, it has been multiplied
    };
    extern __shared__ float4 shared[];   // dynamic, because STAGES tiles may need more than 48 KB
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)
    // Sums have a place of their own on their way out: copies of the next tile arrive meanwhile. (slice, warp, lane_y, float)
    auto strips = reinterpret_cast<float (*)[WARPS][LANES_Y][STRIP_FLOATS]>(stages + STAGES);
    // For tiles that blocks share: a block's first and second part, and how many parts of a group, and groups of a tile,
    // are there, which is 0 between launches
    auto parts = reinterpret_cast<float (*)[BM * BN]>(workspace);
    auto arrived = reinterpret_cast<unsigned (*)[WORKERS ? 2 * WORKERS : 1]>(&parts[2 * WORKERS]);
    __shared__ bool last;   // Is the block the last to bring its part?
    const unsigned begin_at = unsigned(__cvta_generic_to_shared(shared));
    constexpr unsigned FULL = 4 * BK * (BM + PAD + BN), VACANT = FULL + 8;   // bytes from the start of a stage

    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; ++i) {
            init_barrier(begin_at + i * sizeof(Stage) + FULL, COPIERS);
            init_barrier(begin_at + i * sizeof(Stage) + VACANT, WARPS * SLICES);
        }
    __syncthreads();

    // 1. A tile is `rounds` rounds of BK. What is next?
    const unsigned tiles_x = (N - 1) / BN + 1, tiles_y = (M - 1) / BM + 1, rounds = (K - 1) / BK + 1;
    Scheduler<(WORKERS > 0)> scheduler(tiles_x * tiles_y, rounds);
    Work mine;
    unsigned at = begin_at, odd = 0;   // where the stage is that comes next; how often all have come, modulo 2
    auto advance = [&] {
        const bool wrap = at == begin_at + (STAGES - 1) * unsigned(sizeof(Stage));
        const int to_next = wrap ? -(STAGES - 1) * int(sizeof(Stage)) : int(sizeof(Stage));
        at += to_next;
        odd ^= wrap;
        return to_next;
    };
    unsigned tile_row, tile_col;
    auto next = [&] {
        if (!scheduler.next(mine)) return false;
        // The last group of rows of tiles may have fewer than GROUP
        const unsigned group = mine.tile / (GROUP * tiles_x) * GROUP, group_rows = min(GROUP, tiles_y - group);
        const unsigned in_group = mine.tile - group * tiles_x;
        tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;
        return true;
    };

    // 2. The warps that copy: whatever comes next, as soon as there is a vacant stage
    const unsigned own = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);   // warp: so the compiler knows that its lanes agree
    if (own >= WARPS * SLICES) {
        const unsigned copier = threadIdx.x - THREADS;
        const unsigned a_row = copier / 8, a_k = copier % 8, b_k = copier / B_LANES, b_col = copier % B_LANES * WIDTH;
        const unsigned a_to = 4 * (a_k * (BM + PAD) + a_row), b_to = 4 * (BK * (BM + PAD) + b_k * BN + b_col);   // bytes
        while (next()) {
            // A tile's short round is its first. For rows that do not exist the last one is copied: its sums are not written
            const unsigned k_first = mine.first == 0 ? 0 : K - (rounds - mine.first) * BK;
            const float *a[A_PASSES];
            for (int i = 0; i < A_PASSES; ++i)
                a[i] = A + size_t(min(tile_row + a_row + i * A_ROWS, M - 1)) * K + k_first + a_k;
            const float *b = B + size_t(k_first + b_k) * N + tile_col + b_col;
            const int cols_left = N - tile_col - b_col;   // from mine on
            auto copy_tiles = [&](auto depth) {
                wait(at + VACANT, odd ^ 1);
                #pragma unroll
                for (int i = 0; i < A_PASSES; ++i) {
                    #pragma unroll
                    for (int k = 0; k < BK; k += 8)
                        if (BM % A_ROWS == 0 || a_row + i * A_ROWS < BM)
                            copy_async<1>(at + a_to + 4 * (k * (BM + PAD) + i * A_ROWS), a[i] + k,
                                          decltype(depth)::every || a_k + k < depth.count);
                    a[i] += depth.count;
                }
                #pragma unroll
                for (int k = 0; k < BK; k += B_ROWS)
                    #pragma unroll
                    for (int x = 0; x < BN; x += B_LANES * WIDTH)
                        if (BK % B_ROWS == 0 || b_k + k < BK)
                            copy_async<WIDTH>(at + b_to + 4 * (k * BN + x), &b[size_t(k) * N + x],
                                              x < cols_left && (decltype(depth)::every || b_k + k < depth.count));
                b += size_t(depth.count) * N;
                arrive_with_copies(at + FULL);
                advance();
            };
            copy_tiles(Some{mine.first == 0 ? K - (rounds - 1) * BK : BK});
            #pragma unroll 2
            for (unsigned i = 1; i < mine.count; ++i) copy_tiles(All<BK>());
            if (!WORKERS) break;
        }
        return;
    }

    // 3. The others: which TM x TN elements of a tile are mine to compute, and where do their fragments lie?
    __builtin_assume(threadIdx.x < THREADS);   // the compiler then drops the guards that no thread needs
    const unsigned slice = own / WARPS, warp = own % WARPS, lane = threadIdx.x % 32;
    const unsigned lane_y = lane_down<LANES_X, ZIGZAG>(lane), lane_x = lane_along<LANES_X, ZIGZAG>(lane);
    const unsigned row = warp / (BN / WN) * WM + lane_y * 4, col = warp % (BN / WN) * WN + lane_x * 4;
    unsigned a_now = shared_address(stages[0].As[slice * SLICE_K][row]);   // where the fragments come from: bytes
    unsigned b_now = shared_address(stages[0].Bs[slice * SLICE_K][col]);
    const bool speaks = lane == 0;   // for its warp
    while (next()) {
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

        // 4. Multiply: when a round is half done, the next stage must be full. The last one loads its first fragments again, so
        // that there is one loop: beside another one, the compiler moves the sums to where FMAs ask one bank for two of them
        wait(at + FULL, odd);
        load_fragments(0);
        int to_next = 0;   // bytes
        #pragma unroll 1
        for (unsigned done = 1; done <= mine.count; ++done) {
            #pragma unroll
            for (int k = 0; k < SLICE_K; ++k) {
                if (k == SLICE_K / 2) {
                    to_next = done < mine.count ? advance() : 0;
                    wait(at + FULL, odd);
                }
                if (k + 1 == SLICE_K) {
                    __syncwarp();   // my warp has read its part of the stage
                    if (speaks && to_next != 0) arrive(at - to_next + VACANT);
                    a_now += to_next, b_now += to_next;
                }
                load_fragments((k + 1) % SLICE_K);
                multiply_fragments(k);
            }
        }
        __syncwarp();
        if (speaks) arrive(at + VACANT);
        to_next = advance();
        a_now += to_next, b_now += to_next;

        // 5. Stage: the sums pass, strip by strip, through shared memory, and come back row by row, on their way to C or, of a
        // part, to the workspace
        const unsigned thread = thread_again(), own_slice = thread / 32 / WARPS, own_warp = thread / 32 % WARPS;
        const unsigned own_lane = thread % 32;
        const unsigned own_y = lane_down<LANES_X, ZIGZAG>(own_lane), own_x = lane_along<LANES_X, ZIGZAG>(own_lane);
        __builtin_assume(thread < THREADS);
        const unsigned warp_row = own_warp / (BN / WN) * WM, warp_col = own_warp % (BN / WN) * WN;
        const unsigned strip_col = own_lane % STRIP_LANES * WIDTH;
        auto strip_row = [&](unsigned y) { return warp_row + y / 4 * ROW_STRIDE + y % 4; };   // of a thread's row y
        const bool partial = WORKERS && mine.count < rounds;
        const unsigned slot = 2 * blockIdx.x + (scheduler.next_round - mine.count > scheduler.first_round(blockIdx.x));
        float *to = partial ? parts[slot] : C + size_t(tile_row) * N + tile_col;
        const unsigned row_length = partial ? BN : N;
        const unsigned rows = partial ? BM : min(BM, M - tile_row), cols = partial ? BN : min(BN, N - tile_col);
        const float scale = partial ? 1.0f : alpha, keep = partial ? 0.0f : beta;
        #pragma unroll 1   // code that runs once for a tile must be fetched each time, and warps wait for it
        for (int strip = 0; strip < TM / STRIP; ++strip) {
            // Neighbours change places: a float4 is four registers in a row, of which even and odd ones lie in two banks.
            // The sum at x then lies in the other bank than the b at x, and an FMA reads both at once.
            #pragma unroll
            for (int y = 0; y < TM; ++y) {
                if (y / STRIP != strip) continue;   // registers have no address: each row asks whether its strip is now
                for (int x = 0; x < TN; x += 4)
                    as_float4(strips[own_slice][own_warp][own_y][y % STRIP * WN + own_x * 4 + x / 4 * COL_STRIDE]) =
                        {acc[y][x + 1], acc[y][x], acc[y][x + 3], acc[y][x + 2]};
            }
            if (SLICES > 1) sync_consumers<THREADS>();   // the sums are whole before any thread reads what others stored
            else __syncwarp();                           // a warp reads its own
            #pragma unroll 1
            for (int first = 0; first < PASSES; first += BATCH) {
                float old[BATCH][PIECES][WIDTH];   // (pass, piece, col). beta == 0: C may hold NaN or nothing yet
                #pragma unroll
                for (int pass = 0; pass < BATCH; ++pass) {
                    const unsigned y = ((first + pass) * SLICES + own_slice) * ROWS_NOW + own_lane / STRIP_LANES;
                    const unsigned r = strip_row(strip * STRIP + y % STRIP) + y / STRIP * 4;
                    const bool there = keep != 0.0f && y < STRIP_ROWS && r < rows;
                    for (int i = 0; i < PIECES; ++i) {
                        for (int x = 0; x < WIDTH; ++x) old[pass][i][x] = 0.0f;
                        const unsigned c = warp_col + strip_col + i * STRIP_LANES * WIDTH;
                        if (there && c < cols) load(old[pass][i], &to[size_t(r) * row_length + c]);
                    }
                }
                #pragma unroll
                for (int pass = 0; pass < BATCH; ++pass) {
                    const unsigned y = ((first + pass) * SLICES + own_slice) * ROWS_NOW + own_lane / STRIP_LANES;
                    const unsigned r = strip_row(strip * STRIP + y % STRIP) + y / STRIP * 4;
                    if (y >= STRIP_ROWS || r >= rows) continue;   // with many slices some have none
                    for (int i = 0; i < PIECES; ++i) {
                        const unsigned col_here = strip_col + i * STRIP_LANES * WIDTH, c = warp_col + col_here;
                        float sum[WIDTH];
                        for (int s = 0; s < SLICES; ++s) {   // always in this order: the same bits every time
                            float part[WIDTH];
                            const unsigned place = y % STRIP * WN + (WIDTH == 1 ? col_here ^ 1 : col_here);
                            load(part, &strips[s][own_warp][y / STRIP][place]);
                            for (int x = 0; x < WIDTH; ++x) {   // and back to its place
                                const float own = part[WIDTH == 1 ? x : x ^ 1];
                                sum[x] = s == 0 ? own : sum[x] + own;
                            }
                        }
                        for (int x = 0; x < WIDTH; ++x) sum[x] = scale * sum[x] + keep * old[pass][i][x];
                        if (c < cols) store(&to[size_t(r) * row_length + c], sum);
                    }
                }
            }
            if (SLICES > 1) sync_consumers<THREADS>();   // the strip is read before any thread stores the next one over it
            else __syncwarp();
        }
        if (!WORKERS) return;

        // 6. Of a tile that blocks share, the one that brings the last part adds them all, in their order. Many parts are
        // added by groups first, each by the block that brings its last: one block alone would be reading for long
        if (partial) {
            const unsigned first_block = scheduler.owner(mine.tile * rounds);
            const unsigned last_block = scheduler.owner(mine.tile * rounds + rounds - 1);
            const bool second = scheduler.first_round(first_block) < mine.tile * rounds;   // it began in the tile before
            auto part_of = [&](unsigned block) { return 2 * block + (block == first_block && second); };
            const unsigned count = last_block - first_block + 1, group = parts_of_a_group(count, FEW);
            unsigned begin = first_block + (blockIdx.x - first_block) / group * group, step = 1;
            unsigned end = min(begin + group - 1, last_block);
            while (true) {
                const bool whole = begin == first_block && end == last_block;
                __threadfence();   // my sums are there for all before I count as arrived
                sync_consumers<THREADS>();
                if (thread == 0) {
                    unsigned &there = arrived[step > 1][part_of(begin)];
                    last = atomicAdd(&there, 1) == (end - begin) / step;
                    if (last) there = 0;
                }
                sync_consumers<THREADS>();
                if (!last) break;
                __threadfence();   // and theirs for me
                #pragma unroll 1
                for (unsigned i = 4 * thread; i < BM * BN; i += 4 * AT_ONCE * THREADS) {
                    float sum[AT_ONCE][4] = {}, old[AT_ONCE][4] = {};
                    auto at = [&](int piece) { return i + 4 * piece * THREADS; };   // in the tile
                    auto place = [&](int piece, int x) {
                        return &C[size_t(tile_row + at(piece) / BN) * N + tile_col + at(piece) % BN + x];
                    };
                    auto inside = [&](int piece, int x) {
                        return at(piece) < BM * BN && tile_row + at(piece) / BN < M && tile_col + at(piece) % BN + x < N;
                    };
                    for (int piece = 0; piece < AT_ONCE; ++piece)
                        for (int x = 0; x < 4; x += WIDTH)
                            if (whole && beta != 0.0f && inside(piece, x))
                                load(reinterpret_cast<float (&)[WIDTH]>(old[piece][x]), place(piece, x));
                    #pragma unroll 1
                    for (unsigned block = begin; block <= end; block += PARTS * step) {
                        float part[PARTS][AT_ONCE][4] = {};
                        #pragma unroll
                        for (int j = 0; j < PARTS; ++j)
                            for (int piece = 0; piece < AT_ONCE; ++piece)
                                if (block + j * step <= end && at(piece) < BM * BN)
                                    load_fresh(part[j][piece], &parts[part_of(block + j * step)][at(piece)]);
                        #pragma unroll
                        for (int j = 0; j < PARTS; ++j)
                            for (int piece = 0; piece < AT_ONCE; ++piece)
                                for (int x = 0; x < 4; ++x) sum[piece][x] += part[j][piece][x];
                    }
                    for (int piece = 0; piece < AT_ONCE; ++piece) {
                        if (!whole && at(piece) < BM * BN) store(&parts[part_of(begin)][at(piece)], sum[piece]);
                        for (int x = 0; x < 4; ++x) sum[piece][x] = alpha * sum[piece][x] + beta * old[piece][x];
                        for (int x = 0; x < 4; x += WIDTH)
                            if (whole && inside(piece, x))
                                store(place(piece, x), reinterpret_cast<float (&)[WIDTH]>(sum[piece][x]));
                    }
                }
                if (whole) break;
                begin = first_block, end = last_block, step = group;
            }
        }
    }
}

template <Params P>
__global__ void __launch_bounds__(32 * ((P.BM / P.WM) * (P.BN / P.WN) * P.SLICES + P.PRODUCERS), P.BLOCKS)
sgemm_producer(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
               const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
               float *workspace) {                                 // 2 * WORKERS * (BM * BN + 2) floats, 0 at first
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, PRODUCERS = P.PRODUCERS, BLOCKS = P.BLOCKS, WORKERS = P.WORKERS;
    constexpr int CONSUMERS = (BM / WM) * (BN / WN) * SLICES;   // warps
    constexpr int LANES_Y = WM / TM;                            // lanes of a warp down its tile
    constexpr int PAD = 4, LANE_PAD = LANES_Y > 1 ? 16 : 0;   // floats
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && WM >= 1 && WN >= 1 && TM >= 1 && TN >= 1 && SLICES >= 1,
                  "BM, BN, BK, WM, WN, TM, TN and SLICES must be at least 1");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % TM == 0 && WN % TN == 0, "WM must be a multiple of TM, and WN of TN");
    static_assert(WM / TM * (WN / TN) == 32, "(WM / TM) * (WN / TN) must be 32, the lanes of a warp");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4, the floats of a float4");
    static_assert(BK % 8 == 0, "BK must be a multiple of 8, the floats of a sector, so that lanes can share one");
    static_assert(BK % (2 * SLICES) == 0,
                  "BK must be a multiple of 2 * SLICES: in a slice, too, the fragments of even and odd k take turns");
    static_assert(STAGES >= 2, "STAGES must be at least 2: to multiply, and to copy into");
    static_assert(PRODUCERS >= 1, "PRODUCERS must be at least 1: somebody must copy");
    static_assert(32 * (CONSUMERS + PRODUCERS) <= 1024,
                  "32 * ((BM / WM) * (BN / WN) * SLICES + PRODUCERS) must be at most 1024, the most threads a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * 32 * (CONSUMERS + PRODUCERS) <= 2048,
                  "BLOCKS must be at least 1, and so many blocks have at most 2048 threads, the most an SM can hold");
    static_assert(WORKERS >= 0, "WORKERS must be at least 0, which is a block for every tile");
    static_assert(STAGES * (4 * BK * (BM + PAD + BN) + 16) + 4 * CONSUMERS * LANES_Y * (WN + LANE_PAD) <= 232432,
                  "As and Bs and a row of sums of each thread must fit in 232432 bytes, the most shared memory a block of any "
                  "GPU can have, less 16");

    // Versions of everything, so that no loop has to ask how rows are aligned
    if (rows_aligned<4>(B, N) && rows_aligned<4>(C, N))
        work<P, 4>(M, N, K, alpha, A, B, beta, C, workspace);
    else if (rows_aligned<2>(B, N) && rows_aligned<2>(C, N))
        work<P, 2>(M, N, K, alpha, A, B, beta, C, workspace);
    else
        work<P, 1>(M, N, K, alpha, A, B, beta, C, workspace);
}
