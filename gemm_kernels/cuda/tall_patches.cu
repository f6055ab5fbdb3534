// Tall patches: a thread has 24 x 8 sums, so that a load from shared memory feeds more FMAs. They fit if little else stays in
// registers: addresses of fragments move on by a constant, a full tile is copied without asking for its depth, and which thread
// this is is asked again behind the loop.

// What a kernel is compiled for: sgemm_tall_patches<Params{.BM = 128, .BN = 256, ...}>
struct Params {
    int BM, BN, BK;   // a block's tile of C, and the k of a tile of A or B
    int WM, WN;       // a warp's tile of C
    int TM, TN;       // the sums of a thread
    int SLICES;       // parts of a tile's k, each with warps of its own
    int STAGES;       // tiles of A, and of B, that a block holds at a time
    int BLOCKS;       // that an SM has room for
    int WORKERS;      // blocks that share out tiles
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

__device__ __forceinline__ unsigned shared_address(const float &element) {
    return unsigned(__cvta_generic_to_shared(&element));
}

// Four floats of shared memory, loaded here: volatile, or the compiler would load them just before their use; memory, or it
// could move the load across a barrier
__device__ __forceinline__ void load_now(float *fragment, unsigned address) {
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(fragment[0]), "=f"(fragment[1]), "=f"(fragment[2]), "=f"(fragment[3])
                 : "r"(address)
                 : "memory");
}

// Which thread of its block this is, asked again: what follows from it need not stay in registers since it was last asked
__device__ __forceinline__ unsigned thread_again() {
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
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

constexpr int min_of(int a, int b) { return a < b ? a : b; }

// The largest power of two that divides n and is not above `most`, or 1
constexpr int rows_of(int n, int most) { return most < 2 || n % 2 != 0 ? 1 : 2 * rows_of(n / 2, most / 2); }

// A part of a product that one block computes: the tile, and which of its rounds of BK
struct Work {
    unsigned tile, first, count;
};

// Deals out the work. The first tiles are shared: of the rounds of all of them, which are counted tile after tile, every block
// takes an equal share in a row. They are as many as would make an incomplete turn, and a turn more if those are few. All
// other tiles go to the blocks whole, in turns
struct Scheduler {
    unsigned rounds, tiles;          // of a tile; of C
    unsigned share, larger;          // rounds of a block's share; so many of the first blocks have one more
    unsigned next_round, end_round;  // of my share
    unsigned next_tile;              // of mine that are whole

    __device__ __forceinline__ Scheduler(unsigned tiles, unsigned rounds) : rounds(rounds), tiles(tiles) {
        unsigned shared = tiles % gridDim.x;
        if (0 < shared && 2 * shared < gridDim.x && gridDim.x < tiles) shared += gridDim.x;
        share = shared * rounds / gridDim.x, larger = shared * rounds % gridDim.x;
        next_round = first_round(blockIdx.x), end_round = first_round(blockIdx.x + 1), next_tile = shared + blockIdx.x;
    }

    // The first round of a block's share, and the block in whose share a round is
    __device__ __forceinline__ unsigned first_round(unsigned block) const { return block * share + min(block, larger); }
    __device__ __forceinline__ unsigned owner(unsigned round) const {
        return round < larger * (share + 1) ? round / (share + 1) : larger + (round - larger * (share + 1)) / share;
    }

    // Whether there is more to do for this block, and what
    __device__ __forceinline__ bool next(Work &work) {
        work.tile = next_round / rounds, work.first = next_round % rounds;
        work.count = min(rounds - work.first, end_round - next_round);
        next_round += work.count;
        if (work.count > 0) return true;
        work = {next_tile, 0, rounds};
        next_tile += gridDim.x;
        return work.tile < tiles;
    }
};

// Which of the two versions: 4 if every row of B and of C starts at a multiple of 16 bytes, or 1
template <int WIDTH>
struct Version {
    static constexpr int width = WIDTH;
};

// How many k of a tile are to be copied: all, which the compiler then knows, or the first few
template <int BK>
struct All {
    static constexpr bool every = true;
    static constexpr unsigned count = BK;
};
struct Some {
    static constexpr bool every = false;
    unsigned count;
};

template <Params P>
__global__ void __launch_bounds__(32 * (P.BM / P.WM) * (P.BN / P.WN) * P.SLICES, P.BLOCKS)
sgemm_tall_patches(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                   const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
                   float *workspace) {                                 // 2 * WORKERS * (BM * BN + 1) floats, 0 at first
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, BLOCKS = P.BLOCKS, WORKERS = P.WORKERS;
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
    constexpr int ROW_PAD = 16;                   // floats: half of the banks from one lane's row to the next one's
    constexpr int LANE_ROW = 4 * SLICES * WARPS * LANES_Y * (WN + ROW_PAD);   // bytes, if each thread stages a row
    constexpr int STRIP = rows_of(TM, 16384 / LANE_ROW);   // rows that it stages at a time: of 16 KB, if not one alone
    constexpr int STRIP_ROWS = STRIP * LANES_Y;            // rows of a warp that are
    constexpr int PASSES = (STRIP_ROWS * WN / 4 - 1) / (32 * SLICES) + 1;   // float4s of C that a thread writes at a time
    constexpr unsigned GROUP = 8;                 // rows of tiles that blocks take together, tile column by tile column
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && WM >= 1 && WN >= 1 && TM >= 1 && TN >= 1 && SLICES >= 1,
                  "BM, BN, BK, WM, WN, TM, TN and SLICES must be at least 1");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % TM == 0 && WN % TN == 0, "WM must be a multiple of TM, and WN of TN");
    static_assert(LANES_Y * LANES_X == 32, "(WM / TM) * (WN / TN) must be 32, the lanes of a warp");
    static_assert(LANES_Y % 2 == 0 && LANES_X % 4 == 0,
                  "WM / TM must be even and WN / TN a multiple of 4, so that neighbouring lanes differ in both");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4, the floats of a float4");
    static_assert(BK % 8 == 0, "BK must be a multiple of 8, the floats of a sector, so that lanes can share one");
    static_assert(BK % (2 * SLICES) == 0,
                  "BK must be a multiple of 2 * SLICES: in a slice, too, the fragments of even and odd k take turns");
    static_assert(STAGES >= 3, "STAGES must be at least 3: to multiply, for those who still read, to copy into");
    static_assert(THREADS <= 1024,
                  "THREADS = 32 * (BM / WM) * (BN / WN) * SLICES must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(WORKERS >= 1, "WORKERS must be at least 1: so many blocks share out the work");
    static_assert((THREADS / 32) % (BK / 8) == 0 && BM % A_ROWS == 0,
                  "THREADS / 32 must be a multiple of BK / 8, and BM of THREADS / BK, to load As in whole passes");
    static_assert(BN % 256 == 0 || 256 % BN == 0, "BN must be a multiple of 256, or 256 of BN");
    static_assert(BN >= 256 || BK % (4 * THREADS / BN) == 0,
                  "BK must be a multiple of 4 * THREADS / BN, to load Bs in whole passes");
    static_assert(BN < 256 || BK % (THREADS / 64) == 0,
                  "BK must be a multiple of THREADS / 64, to load Bs in whole passes");
    static_assert(STAGES * 4 * BK * (BM + PAD + BN) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");
    static_assert(4 * SLICES * (BM / WM) * (BN / WN) * (WM / TM) * (WN + 16) <= 232448,
                  "a row of sums of each thread must fit in 232448 bytes, too");

    struct Stage {
        float As[BK][BM + PAD];   // A tile, transposed: (k, row)
        float Bs[BK][BN];         // B tile: (k, col)
    };
    extern __shared__ float4 shared[];   // dynamic, because STAGES tiles may need more than 48 KB
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)
    auto parts = reinterpret_cast<float (*)[BM * BN]>(workspace);         // a block's second part and its first one
    auto arrived = reinterpret_cast<unsigned *>(&parts[2 * WORKERS]);     // how many parts of a tile are there
    __shared__ bool last;   // Is the block the last to bring its part?

    auto down = [](unsigned lane) { return lane / 4 % LANES_Y ^ (lane ^ lane / 2) % 2; };   // where a lane stands among
    auto along = [](unsigned lane) { return lane % 4 + lane / 4 / LANES_Y * 4; };           // those of its warp
    auto compute = [&](auto version) {
        constexpr int WIDTH = decltype(version)::width;         // floats of B that one copy moves
        constexpr bool ALIGNED = WIDTH == 4;
        constexpr int B_LANES = min_of(BN / WIDTH, 64);         // threads along a row of the B tile
        constexpr int B_ROWS = THREADS / B_LANES;               // rows of it that the block loads in one pass
        // 1. Which TM x TN elements of a tile are mine to compute, and which elements of As and Bs to load?
        __builtin_assume(threadIdx.x < THREADS);   // the compiler then drops the guards that no thread needs
        const unsigned slice = threadIdx.x / 32 / WARPS, warp = threadIdx.x / 32 % WARPS, lane = threadIdx.x % 32;
        const unsigned lane_y = down(lane), lane_x = along(lane);
        const unsigned row = warp / (BN / WN) * WM + lane_y * 4, col = warp % (BN / WN) * WN + lane_x * 4;
        const unsigned a_row = threadIdx.x / 32 / (BK / 8) * 4 + lane / 8;   // a warp copies 4 rows x 8 k to 32 banks; if
        const unsigned a_k = threadIdx.x / 32 % (BK / 8) * 8 + lane % 8;     // 32 divides K, it reads them from only 8
        const unsigned b_k = threadIdx.x / B_LANES, b_col = threadIdx.x % B_LANES * WIDTH;

        // 2. Which tile is next, and which of its rounds? Tiles are counted group by group, of GROUP rows of tiles or of the
        // rest, column by column
        const unsigned tiles_x = (N - 1) / BN + 1, tiles_y = (M - 1) / BM + 1, rounds = (K - 1) / BK + 1;
        Scheduler scheduler(tiles_x * tiles_y, rounds);
        Work mine;
        while (scheduler.next(mine)) {
            const unsigned group = mine.tile / (GROUP * tiles_x) * GROUP, group_rows = min(GROUP, tiles_y - group);
            const unsigned in_group = mine.tile - group * tiles_x;
            const unsigned tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;
            const unsigned k_first = mine.first == 0 ? 0 : K - (rounds - mine.first) * BK;   // a tile's short round is its first
            const float *a = A + size_t(tile_row + a_row) * K + k_first + a_k;   // size_t: there may be more than 2^31
            const float *b = B + size_t(k_first + b_k) * N + tile_col + b_col;

            // 3. The parts: copy the next tiles, of which the first `depth` k exist; what lies outside the matrix becomes 0
            auto copy_tiles = [&](Stage &to, auto depth) {
                const int rows_left = M - tile_row - a_row, cols_left = N - tile_col - b_col;   // from my first one on
                for (int y = 0; y < BM; y += A_ROWS)
                    copy_async(&to.As[a_k][a_row + y], &a[size_t(y) * K], y < rows_left && (depth.every || a_k < depth.count));
                for (int k = 0; k < BK; k += B_ROWS)
                    for (int x = 0; x < BN; x += B_LANES * WIDTH) {   // N is a multiple of WIDTH: all are inside, or none
                        const bool valid = x < cols_left && (depth.every || b_k + k < depth.count);
                        if constexpr (ALIGNED) copy4_async(&to.Bs[b_k + k][b_col + x], &b[size_t(k) * N + x], valid);
                        else copy_async(&to.Bs[b_k + k][b_col + x], &b[size_t(k) * N + x], valid);
                    }
                a += depth.count;
                b += size_t(depth.count) * N;
            };
            unsigned a_now = shared_address(stages[0].As[slice * SLICE_K][row]);   // where the fragments come from: bytes
            unsigned b_now = shared_address(stages[0].Bs[slice * SLICE_K][col]);
            float a_frag[2][TM], b_frag[2][TN];   // (k % 2, row or col)
            auto load_fragments = [&](int k) {
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
            // 4. The pipeline runs AHEAD tiles ahead. If BK does not divide K, the first tile is the short one, so that copies
            // in the loop need not ask where K ends. Every round commits a group, maybe empty: waiting counts groups.
            const unsigned tiles = mine.count;
            copy_tiles(stages[0], Some{mine.first == 0 ? K - (rounds - 1) * BK : BK});
            asm volatile("cp.async.commit_group;");
            #pragma unroll 1
            for (unsigned next = 1; next < AHEAD; ++next) {
                if (next < tiles) copy_tiles(stages[next], All<BK>());
                asm volatile("cp.async.commit_group;");
            }
            asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");   // all but the newest AHEAD - 1 groups
            __syncthreads();   // the first tiles are whole before any thread reads what others copied
            load_fragments(0);
            unsigned stage = 0, vacant = AHEAD;   // the stage to multiply, and the one to copy into
            int to_next = 0;                      // bytes from that stage to the next one
            auto round = [&](bool more) {   // of the tiles to copy?
                if (more) copy_tiles(stages[vacant], All<BK>());
                asm volatile("cp.async.commit_group;");
                #pragma unroll
                for (int k = 0; k < SLICE_K; ++k) {
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
                    multiply_fragments(k);
                }
            };
            unsigned done = 0;   // two loops, so that none has to ask
            #pragma unroll 1
            for (; done + AHEAD < tiles; ++done) round(true);
            #pragma unroll 1
            for (; done < tiles; ++done) round(false);

            // 5. Stage: the threads' sums go, strip by strip, to where the tiles were, and a warp reads its own back row by row
            const unsigned thread = thread_again(), slice = thread / 32 / WARPS, warp = thread / 32 % WARPS, lane = thread % 32;
            const unsigned lane_y = down(lane), lane_x = along(lane);
            auto strips = reinterpret_cast<float (*)[WARPS][STRIP_ROWS][WN + ROW_PAD]>(shared);   // (slice, warp, row, col)
            const bool partial = mine.count < rounds;
            auto part_of = [&](unsigned block) { return 2 * block + (scheduler.first_round(block) < mine.tile * rounds); };
            float *to = partial ? parts[part_of(blockIdx.x)] : C + size_t(tile_row) * N + tile_col;
            const unsigned row_length = partial ? BN : N;
            const int rows = partial ? BM : M - tile_row, cols = partial ? BN : N - tile_col;
            const float scale = partial ? 1.0f : alpha, keep = partial ? 0.0f : beta;
            const bool aligned = ALIGNED || partial;
            #pragma unroll   // registers have no address: the compiler must know which sums are in a strip
            for (int first = 0; first < TM; first += STRIP) {
                __syncthreads();   // every thread has read the last tiles, or the last strip, before any stores over them
                for (int y = 0; y < STRIP; ++y)
                    for (int x = 0; x < TN; x += 4)
                        as_float4(strips[slice][warp][y * LANES_Y + lane_y][lane_x * 4 + x / 4 * COL_STRIDE]) =
                            {acc[first + y][x + 1], acc[first + y][x], acc[first + y][x + 3], acc[first + y][x + 2]};
                __syncthreads();   // the sums are whole before any thread reads what others stored

                // 6. Write C = alpha * A * B + beta * C, or a part of A * B: row y of a strip, from column x on
                auto y = [&](int pass) { return ((pass * SLICES + slice) * 32 + lane) / (WN / 4); };
                auto x = [&](int pass) { return ((pass * SLICES + slice) * 32 + lane) % (WN / 4) * 4; };
                auto r = [&](int pass) {
                    const unsigned own = first + y(pass) / LANES_Y, line = y(pass) % LANES_Y;   // row of a thread, line of lanes
                    return warp / (BN / WN) * WM + own / 4 * ROW_STRIDE + line * 4 + own % 4;
                };
                auto c = [&](int pass) { return warp % (BN / WN) * WN + x(pass); };
                auto valid = [&](int pass) { return y(pass) < STRIP_ROWS && int(r(pass)) < rows ? cols - int(c(pass)) : 0; };
                float4 old[PASSES];   // (pass)
                for (int pass = 0; pass < PASSES; ++pass)
                    old[pass] = load4(&to[size_t(r(pass)) * row_length + c(pass)], keep == 0.0f ? 0 : valid(pass), aligned);
                for (int pass = 0; pass < PASSES; ++pass) {
                    if (valid(pass) <= 0) continue;
                    float4 sum = as_float4(strips[0][warp][y(pass)][x(pass)]);
                    for (int s = 1; s < SLICES; ++s) {   // always in this order: the same bits every time
                        const float4 part = as_float4(strips[s][warp][y(pass)][x(pass)]);
                        sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
                    }
                    sum = {sum.y, sum.x, sum.w, sum.z};   // back to their places
                    sum = {scale * sum.x + keep * old[pass].x, scale * sum.y + keep * old[pass].y,
                           scale * sum.z + keep * old[pass].z, scale * sum.w + keep * old[pass].w};
                    store4(&to[size_t(r(pass)) * row_length + c(pass)], sum, valid(pass), aligned);
                }
            }

            // 7. The block that brings the last part of a tile adds all of them, in the order of k: the same bits every time
            if (partial) {
                const unsigned first = scheduler.owner(mine.tile * rounds), end = scheduler.owner(mine.tile * rounds + rounds - 1);
                __threadfence();   // my sums are there for all before I count as arrived
                __syncthreads();
                if (thread == 0) {
                    last = atomicAdd(&arrived[part_of(first)], 1) == end - first;
                    if (last) arrived[part_of(first)] = 0;   // as the next launch expects it
                }
                __syncthreads();
                if (last) __threadfence();   // and theirs for me
                for (int i = 4 * thread; last && i < BM * BN; i += 4 * THREADS) {
                    const int r = i / BN, c = i % BN, valid = r < int(M - tile_row) ? int(N - tile_col) - c : 0;
                    float *place = &C[size_t(tile_row + r) * N + tile_col + c];
                    float4 sum = {};
                    for (unsigned block = first; block <= end; ++block) {
                        const float4 part = __ldcg(&as_float4(parts[part_of(block)][i]));
                        sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
                    }
                    const float4 old = load4(place, beta == 0.0f ? 0 : valid, ALIGNED);
                    sum = {alpha * sum.x + beta * old.x, alpha * sum.y + beta * old.y,
                           alpha * sum.z + beta * old.z, alpha * sum.w + beta * old.w};
                    store4(place, sum, valid, ALIGNED);
                }
            }
            __syncthreads();   // every thread has read the last strip before the next tiles are copied over it
        }
    };
    if (rows_aligned(B, N) && rows_aligned(C, N)) compute(Version<4>());
    else compute(Version<1>());
}
