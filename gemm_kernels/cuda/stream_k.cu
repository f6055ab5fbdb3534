// Stream-K: persistent blocks share out the k of the tiles that would make an incomplete last wave. And what the
// kernels before it left on the table: sums change places in pairs, so that the operands of an FMA come from both banks of
// registers. Fragments are loaded where the code says, not later. Threads meet in the middle of a tile, not at its end.

// What a kernel is compiled for: sgemm_stream_k<Params{.BM = 128, .BN = 256, ...}>
struct Params {
    int BM, BN, BK;   // a block's tile of C, and the k of a tile of A or B
    int WM, WN;       // a warp's tile of C
    int TM, TN;       // the sums of a thread
    int SLICES;       // parts of a tile's k, each with warps of its own
    int STAGES;       // tiles of A, and of B, that a block holds at a time
    int BLOCKS;       // that an SM has room for
    int WORKERS;      // blocks that share out tiles; 0: one for every tile
    int LOOPS;        // main loops: 2 where copies have one of their own, 1 that asks each time
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

// WIDTH neighbours, in global or in shared memory
template <int WIDTH>
__device__ __forceinline__ void load(float (&to)[WIDTH], const float *from) {
    if constexpr (WIDTH == 4) as_float4(to[0]) = *reinterpret_cast<const float4 *>(from);
    else to[0] = *from;
}

template <int WIDTH>
__device__ __forceinline__ void store(float *to, float (&from)[WIDTH]) {
    if constexpr (WIDTH == 4) *reinterpret_cast<float4 *>(to) = as_float4(from[0]);
    else *to = from[0];
}

// The same from the L2 cache: another SM wrote them
template <int WIDTH>
__device__ __forceinline__ void load_fresh(float (&to)[WIDTH], const float *from) {
    if constexpr (WIDTH == 4) as_float4(to[0]) = __ldcg(reinterpret_cast<const float4 *>(from));
    else to[0] = __ldcg(from);
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

// The work of a block. WIDTH: floats of B that one copy moves, and of C that one instruction writes: 4 if every row
// starts at a multiple of 16 bytes, else 1
template <Params P, int WIDTH>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C, float *workspace) {
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, WORKERS = P.WORKERS, LOOPS = P.LOOPS;
    constexpr int WARPS = (BM / WM) * (BN / WN);  // of a slice: together they own the tile of C
    constexpr int THREADS = 32 * WARPS * SLICES;
    constexpr int SLICE_K = BK / SLICES;          // k of a tile that are a slice's
    constexpr int HALF = SLICE_K / 2;
    constexpr int AHEAD = STAGES - 2;             // tiles that the copies run ahead
    constexpr bool ASKS = LOOPS == 1 || WIDTH == 1;   // Does every round ask whether there is more to copy?
    constexpr int PAD = 4;                        // floats
    constexpr int LANES_Y = WM / TM;              // lanes of a warp down its tile
    constexpr int LANES_X = WN / TN;              // lanes of a warp along its tile
    constexpr int ROW_STRIDE = 4 * LANES_Y;       // rows from one group of four to the thread's next
    constexpr int COL_STRIDE = 4 * LANES_X;       // columns from one group of four to the thread's next
    constexpr int A_TEAMS = 4 * WARPS * SLICES <= BM ? 1 : 4 * WARPS * SLICES / BM;   // of warps, along k
    constexpr int A_ROWS = 4 * WARPS * SLICES / A_TEAMS;   // rows and k of the A tile that the block loads in one pass
    constexpr int A_DEPTH = 8 * A_TEAMS;
    constexpr int B_LANES = BN < 32 * WIDTH ? BN / WIDTH : 32;   // lanes along a row of the B tile
    constexpr int B_COLS = B_LANES * WIDTH;       // columns and k of the B tile that the block loads in one pass
    constexpr int B_DEPTH = THREADS / B_LANES;
    constexpr int PASSES = TM * TN < WIDTH * SLICES ? 1 : TM * TN / WIDTH / SLICES;   // to write C, WIDTH a thread
    constexpr int MOST = WIDTH == 4 ? 8 : 16;     // passes whose loads are under way at a time, at most
    constexpr int BATCH = PASSES < MOST ? PASSES : PASSES % MOST == 0 ? MOST : MOST / 2;
    constexpr unsigned GROUP = 8;                 // rows of tiles that blocks take together, tile column by tile column

    struct Stage {
        float As[BK][BM + PAD];   // A tile, transposed: (k, row)
        float Bs[BK][BN];         // B tile: (k, col)
    };
    extern __shared__ float4 shared[];   // dynamic, because STAGES tiles may need more than 48 KB
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)
    auto sums = reinterpret_cast<float (*)[BM][BN]>(shared);   // (slice, row, col): after the tiles, in their place
    // For tiles that blocks share: the sums of a block's first and second part, and how many parts of a tile are there,
    // which is 0 between launches
    auto parts = reinterpret_cast<float (*)[BM * BN]>(workspace);
    auto arrived = reinterpret_cast<unsigned *>(&parts[2 * WORKERS]);
    __shared__ bool last;   // Is the block the last to bring its part of a tile?

    // 1. Which TM x TN elements of a tile are mine to compute, and which elements of As and Bs to load?
    __builtin_assume(threadIdx.x < THREADS);   // the compiler then drops the guards that no thread needs
    const unsigned slice = threadIdx.x / 32 / WARPS, warp = threadIdx.x / 32 % WARPS, lane = threadIdx.x % 32;
    const unsigned lane_y = lane / 2 % LANES_Y, lane_x = lane / 2 / LANES_Y * 2 + lane % 2;
    const unsigned row = warp / (BN / WN) * WM + lane_y * 4, col = warp % (BN / WN) * WN + lane_x * 4;
    const unsigned a_row = threadIdx.x / 32 / A_TEAMS * 4 + lane / 8;      // a warp copies 4 rows x 8 k to 32 banks; if
    const unsigned a_k = threadIdx.x / 32 % A_TEAMS * 8 + lane % 8;        // 32 divides K, it reads them from only 8
    const unsigned b_k = threadIdx.x / B_LANES, b_col = threadIdx.x % B_LANES * WIDTH;

    // 2. Which tiles are mine? A tile is `rounds` rounds of BK. Whole tiles are dealt out in turns; of those that would
    // make an incomplete last turn, and of a turn more if they are few, every block gets an equal share of all rounds.
    const unsigned tiles_x = (N - 1) / BN + 1, tiles_y = (M - 1) / BM + 1, tiles = tiles_x * tiles_y;
    const unsigned rounds = (K - 1) / BK + 1, blocks = gridDim.x;
    unsigned shared_tiles = WORKERS ? tiles % blocks : 0;
    if (0 < shared_tiles && 2 * shared_tiles < blocks && blocks < tiles) shared_tiles += blocks;
    const unsigned shared_rounds = shared_tiles * rounds, sharers = min(blocks, max(shared_rounds, 1));
    const unsigned share = shared_rounds / sharers, larger = shared_rounds % sharers;   // so many have a round more
    auto first_round = [&](unsigned block) { return block * share + min(block, larger); };
    auto owner = [&](unsigned round) {
        return round < larger * (share + 1) ? round / (share + 1) : larger + (round - larger * (share + 1)) / share;
    };
    unsigned whole = shared_tiles + blockIdx.x;   // my next whole tile
    const unsigned begin = first_round(min(blockIdx.x, sharers)), end = first_round(min(blockIdx.x + 1, sharers));
    for (unsigned next = begin; next < end || whole < tiles;) {
        unsigned tile = whole, first = 0, count = rounds;   // multiply `count` rounds, from `first` on
        if (WORKERS && next < end) {
            tile = next / rounds;
            first = next % rounds;
            count = min(rounds - first, end - next);
        } else {
            whole = WORKERS ? whole + blocks : tiles;
        }
        // The last group of rows of tiles may have fewer than GROUP
        const unsigned group = tile / (GROUP * tiles_x) * GROUP, group_rows = min(GROUP, tiles_y - group);
        const unsigned in_group = tile - group * tiles_x;
        const unsigned tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;

        // 3. The parts: copy the next tiles, of which the first `depth` k exist; what lies outside becomes 0
        const unsigned k_first = first == 0 ? 0 : K - (rounds - first) * BK;   // the short round is a tile's first
        const float *a = A + size_t(tile_row + a_row) * K + k_first + a_k;   // size_t: there may be more than 2^31
        const float *b = B + size_t(k_first + b_k) * N + tile_col + b_col;
        auto copy_tiles = [&](Stage &to, unsigned depth) {
            #pragma unroll
            for (int y = 0; y < BM; y += A_ROWS)
                for (int k = 0; k < BK; k += A_DEPTH) {
                    if (A_DEPTH > BK && a_k >= BK) continue;   // there are more threads than elements
                    copy_async(&to.As[a_k + k][a_row + y], &a[size_t(y) * K + k],
                               tile_row + a_row + y < M && a_k + k < depth);
                }
            #pragma unroll
            for (int k = 0; k < BK; k += B_DEPTH)
                for (int x = 0; x < BN; x += B_COLS) {
                    if (B_DEPTH > BK && b_k >= BK) continue;
                    float *shared = &to.Bs[b_k + k][b_col + x];
                    const bool valid = b_k + k < depth && tile_col + b_col + x < N;
                    if (WIDTH == 4) copy4_async(shared, &b[size_t(k) * N + x], valid);
                    else copy_async(shared, &b[size_t(k) * N + x], valid);
                }
            a += depth;
            b += size_t(depth) * N;
        };
        unsigned a_now, b_now;   // where the fragments come from: addresses in bytes
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
        auto point_at = [&](Stage &from, int k) {
            a_now = shared_address(from.As[slice * SLICE_K + k][row]);
            b_now = shared_address(from.Bs[slice * SLICE_K + k][col]);
        };
        unsigned stage = 0, vacant = AHEAD;   // the stage to multiply, and the one to copy into
        auto multiply_half = [&](Stage &next, int next_k) {   // next_k: the k after these
            #pragma unroll
            for (int k = 0; k < HALF - 1; ++k) {
                load_fragments(k + 1);
                multiply_fragments(k);
            }
            point_at(next, next_k);
            load_fragments(0);
            multiply_fragments(HALF - 1);
        };
        auto round = [&](unsigned depth) {   // of the tiles to copy, 0 if there are no more
            if (ASKS || depth > 0) copy_tiles(stages[vacant], depth);
            asm volatile("cp.async.commit_group;");
            vacant = vacant + 1 < STAGES ? vacant + 1 : 0;
            multiply_half(stages[stage], HALF);
            // The next tiles are whole, and every thread has read the tiles before these: they may be overwritten
            asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
            __syncthreads();
            stage = stage + 1 < STAGES ? stage + 1 : 0;
            multiply_half(stages[stage], 0);
        };

        // 4. The pipeline runs AHEAD tiles ahead. Every round commits a group, maybe empty: waiting counts groups
        copy_tiles(stages[0], first == 0 ? K - (rounds - 1) * BK : BK);
        asm volatile("cp.async.commit_group;");
        for (unsigned i = 1; i < AHEAD; ++i) {
            if (ASKS || i < count) copy_tiles(stages[i], i < count ? BK : 0);
            asm volatile("cp.async.commit_group;");
        }
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");   // all but the newest AHEAD - 1 groups
        __syncthreads();   // the first tiles are whole before any thread reads what others copied
        point_at(stages[0], 0);
        load_fragments(0);
        unsigned done = 0;   // rounds. The last loads, of a tile that is not there, serve nobody
        if (!ASKS) {   // a loop that need not ask, and a short one without copies, whose code must be fetched, too
            #pragma unroll 1
            for (; done + AHEAD < count; ++done) round(BK);
        }
        #pragma unroll 1
        for (; done < count; ++done) round(ASKS && done + AHEAD < count ? BK : 0);

        // 5. Stage: the threads' sums go to where the tiles were, and come back row by row. Neighbours change places:
        // a float4 is four registers in a row, of which even and odd ones lie in two banks. The sum at x then lies in
        // the other bank than the b at x, and an FMA that has a from the one before reads both at once.
        if (ASKS) asm volatile("cp.async.wait_group 0;" ::: "memory");   // copies of what is not there write zeros
        __syncthreads();   // every thread has read the last tiles before any thread stores its sums over them
        #pragma unroll
        for (int y = 0; y < TM; ++y)
            for (int x = 0; x < TN; x += 4)
                as_float4(sums[slice][row + y % 4 + y / 4 * ROW_STRIDE][col + x / 4 * COL_STRIDE]) =
                    {acc[y][x + 1], acc[y][x], acc[y][x + 3], acc[y][x + 2]};
        __syncthreads();   // the sums are whole before any thread reads what others stored
        auto sum_slices = [&](float (&sum)[WIDTH], unsigned i) {   // always in this order: the same bits every time
            for (int s = 0; s < SLICES; ++s) {
                float part[WIDTH];
                load(part, &sums[s][i / BN][WIDTH == 4 ? i % BN : i % BN ^ 1]);
                for (int x = 0; x < WIDTH; ++x) {   // and back to its place
                    const float own = part[WIDTH == 4 ? x ^ 1 : x];
                    sum[x] = s == 0 ? own : sum[x] + own;
                }
            }
        };

        // 6. A part of a tile goes to global memory. The block that brings the last one adds them all, in their order
        unsigned first_block = blockIdx.x, last_block = blockIdx.x;
        if (WORKERS && count < rounds) {
            #pragma unroll 4
            for (int pass = 0; pass < PASSES; ++pass) {
                const unsigned i = WIDTH * (pass * THREADS + threadIdx.x);
                if (i >= BM * BN) continue;   // with many slices there is not one for each thread
                float sum[WIDTH];
                sum_slices(sum, i);
                store(&parts[2 * blockIdx.x + (next > begin)][i], sum);
            }
            first_block = owner(tile * rounds);
            last_block = owner(tile * rounds + rounds - 1);
            __threadfence();   // my sums are there for all before I count as arrived
            __syncthreads();
            if (threadIdx.x == 0) {
                last = atomicAdd(&arrived[tile], 1) == last_block - first_block;
                if (last) arrived[tile] = 0;
            }
            __syncthreads();
            __threadfence();   // and theirs for me
            next += count;
            if (!last) continue;
        } else if (WORKERS && next < end) {
            next += count;
        }

        // 7. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
        #pragma unroll 1   // BATCH passes a round keep enough loads in flight; more code would only have to be fetched
        for (int first_pass = 0; first_pass < PASSES; first_pass += BATCH) {
            float old[BATCH][WIDTH], sum[BATCH][WIDTH];   // (pass, col)
            #pragma unroll
            for (int pass = 0; pass < BATCH; ++pass) {
                const unsigned i = WIDTH * ((first_pass + pass) * THREADS + threadIdx.x);
                const unsigned r = tile_row + i / BN, c = tile_col + i % BN;
                for (int x = 0; x < WIDTH; ++x) old[pass][x] = sum[pass][x] = 0.0f;
                if (beta != 0.0f && i < BM * BN && r < M && c < N) load(old[pass], &C[size_t(r) * N + c]);
                if (first_block == last_block && i < BM * BN) sum_slices(sum[pass], i);
            }
            if (WORKERS && first_block < last_block)
                for (unsigned block = first_block; block <= last_block; ++block) {
                    const bool second = first_round(block) < tile * rounds;   // the block began in the tile before
                    #pragma unroll
                    for (int pass = 0; pass < BATCH; ++pass) {
                        const unsigned i = WIDTH * ((first_pass + pass) * THREADS + threadIdx.x);
                        if (i >= BM * BN) continue;
                        float part[WIDTH];
                        load_fresh(part, &parts[2 * block + second][i]);
                        for (int x = 0; x < WIDTH; ++x) sum[pass][x] += part[x];
                    }
                }
            #pragma unroll
            for (int pass = 0; pass < BATCH; ++pass) {
                const unsigned i = WIDTH * ((first_pass + pass) * THREADS + threadIdx.x);
                const unsigned r = tile_row + i / BN, c = tile_col + i % BN;
                for (int x = 0; x < WIDTH; ++x) sum[pass][x] = alpha * sum[pass][x] + beta * old[pass][x];
                if (i < BM * BN && r < M && c < N) store(&C[size_t(r) * N + c], sum[pass]);
            }
        }
        if (!WORKERS) return;
        __syncthreads();   // every thread has read the sums before the next tiles are copied over them
    }
}

template <Params P>
__global__ void __launch_bounds__(32 * (P.BM / P.WM) * (P.BN / P.WN) * P.SLICES, P.BLOCKS)
sgemm_stream_k(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
               const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
               float *workspace) {                                 // 2 * WORKERS * (BM * BN + 1) floats, 0 at first
    constexpr int BM = P.BM, BN = P.BN, BK = P.BK, WM = P.WM, WN = P.WN, TM = P.TM, TN = P.TN, SLICES = P.SLICES,
                  STAGES = P.STAGES, BLOCKS = P.BLOCKS, WORKERS = P.WORKERS, LOOPS = P.LOOPS;
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN) * SLICES;
    constexpr int PAD = 4;                        // floats
    constexpr int A_ROWS = 4 * THREADS / 32;      // rows of the A tile that the warps load at a time, 8 k of each, and
    constexpr int A_DEPTH = A_ROWS <= BM ? 8 : 8 * A_ROWS / BM;   // k of it, if that is more than all rows
    constexpr int B4_DEPTH = THREADS / (BN < 128 ? BN / 4 : 32);   // k of the B tile that they load at a time, by four
    constexpr int B_DEPTH = THREADS / (BN < 32 ? BN : 32);         // floats and by floats
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && WM >= 1 && WN >= 1 && TM >= 1 && TN >= 1 && SLICES >= 1,
                  "BM, BN, BK, WM, WN, TM, TN and SLICES must be at least 1");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % TM == 0 && WN % TN == 0, "WM must be a multiple of TM, and WN of TN");
    static_assert(WM / TM * (WN / TN) == 32, "(WM / TM) * (WN / TN) must be 32, the lanes of a warp");
    static_assert(WN / TN % 2 == 0, "WN / TN must be even, because the lanes zigzag over two columns of threads");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "TM and TN must be multiples of 4, the floats of a float4");
    static_assert(BK % 8 == 0, "BK must be a multiple of 8, the floats of a sector, so that lanes can share one");
    static_assert(BK % (4 * SLICES) == 0,
                  "BK must be a multiple of 4 * SLICES: in half a slice, too, fragments of even and odd k take turns");
    static_assert(STAGES >= 3, "STAGES must be at least 3: to multiply, for those who still read, to copy into");
    static_assert(THREADS <= 1024,
                  "THREADS = 32 * (BM / WM) * (BN / WN) * SLICES must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(WORKERS >= 0, "WORKERS must be at least 0, which is a block for every tile");
    static_assert(LOOPS == 2 || LOOPS == 1,
                  "LOOPS must be 2, or 1 where rows of B do not begin at multiples of 16 bytes");
    static_assert((BM % A_ROWS == 0 || A_ROWS % BM == 0) && (BK % A_DEPTH == 0 || A_DEPTH % BK == 0),
                  "BM and THREADS / 8, and BK and the k that are left, must be multiples one of the other, to load As");
    static_assert((BN % 128 == 0 || 128 % BN == 0) && (BK % B4_DEPTH == 0 || B4_DEPTH % BK == 0) &&
                      (BK % B_DEPTH == 0 || B_DEPTH % BK == 0),
                  "BN and 128, and BK and the rows that THREADS load, must be multiples one of the other, to load Bs");
    static_assert(STAGES * 4 * BK * (BM + PAD + BN) <= 232432,
                  "As and Bs must fit in 232432 bytes, the most shared memory a block of any GPU can have, less 16");
    static_assert(4 * SLICES * BM * BN <= 232432, "a tile of C for each slice must fit in 232432 bytes, too");
    static_assert(TM * TN / 4 % SLICES == 0 || SLICES % (TM * TN / 4) == 0,
                  "TM * TN / 4 must be a multiple of SLICES, or SLICES of TM * TN / 4, to write C in whole passes");
    static_assert(TM * TN / 4 / SLICES <= 8 || TM * TN / 4 / SLICES % 4 == 0,
                  "TM * TN / 4 / SLICES must be a multiple of 4, or at most 8, for whole batches of C");

    // Two versions of everything, so that no loop has to ask how rows are aligned
    if (rows_aligned(B, N) && rows_aligned(C, N))
        work<P, 4>(M, N, K, alpha, A, B, beta, C, workspace);
    else
        work<P, 1>(M, N, K, alpha, A, B, beta, C, workspace);
}
