// INT8: products of 8-bit integers, summed in 32 bits without any rounding. mma.sync multiplies 32 k at a time and wants
// four neighbours in k of a column in one register; ldmatrix transposes pairs of bytes, and a permutation of bytes does
// the rest. Sums, alpha and beta are integers: every result is exact modulo 2^32, as cuBLAS's is.

typedef signed char Element;

// Start the copy of 16 elements to shared memory, of which the first `valid` exist; the others become 0. Where rows do
// not begin at multiples of 16 bytes, they pass through registers instead
template <bool ALIGNED>
__device__ __forceinline__ void copy16(Element *shared, const Element *global, int valid) {
    if constexpr (ALIGNED) {   // then all 16 exist, or none
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(unsigned(__cvta_generic_to_shared(shared))), "l"(global), "r"(valid > 0 ? 16 : 0)
                     : "memory");
    } else {
        unsigned fours[4] = {};
        for (int i = 0; i < 16; ++i)
            if (i < valid) fours[i / 4] |= (global[i] & 0xff) << i % 4 * 8;
        *reinterpret_cast<uint4 *>(shared) = {fours[0], fours[1], fours[2], fours[3]};
    }
}

// Four matrices of 8 rows of 16 bytes; this lane names the row at `shared` and receives four neighbours of each matrix
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const Element *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared)))
                 : "memory");
}

// The same, each matrix transposed by pairs of bytes: this lane receives two neighbours of one row, and those of the next
__device__ __forceinline__ void load_transposed(unsigned (&r)[4], const Element *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared)))
                 : "memory");
}

// d (16, 8) += a (16, 32) * b (32, 8) by the whole warp
__device__ __forceinline__ void multiply(int (&d)[4], const unsigned (&a)[4], const unsigned b0, const unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A condition as a type: code for which it is known when it is compiled has no branch that asks
template <bool VALUE> struct Known { static constexpr bool value = VALUE; };

template <int BM, int BN, int BK, int WM, int WN, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(32 * (BM / WM) * (BN / WN), BLOCKS)
hgemm_int8(int M, int N, int K, int alpha, const Element *A,   // A: (M, K), row-major
           const Element *B, int beta, int *C) {               // B: (K, N), C: (M, N)
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    constexpr int A_CHUNKS = BK / 16, B_CHUNKS = BN / 16;   // chunks of 16 elements in a row of a tile
    constexpr int A_LINE = A_CHUNKS < 8 ? 8 / A_CHUNKS : 1;   // rows of the A tile that fill the 32 banks once
    constexpr int A_ROWS = THREADS / A_CHUNKS, B_ROWS = THREADS / B_CHUNKS;   // rows that all threads copy in one pass
    constexpr int MI = WM / 16, NI = WN / 8;              // products of a warp down and along its tile
    constexpr unsigned GROUP = 8;                         // rows of tiles that blocks take together
    static_assert(BM >= 16 && BN >= 128 && WM >= 16 && WN >= 16, "BM, WM and WN must be at least 16, and BN 128");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16, what ldmatrix loads at a time");
    static_assert(BK == 64 || BK == 128, "BK must be 64 or 128: two or four steps of 32");
    static_assert(BN % 128 == 0, "BN must be a multiple of 128, the elements in 32 banks, for the swizzle");
    static_assert(STAGES >= 2, "STAGES must be at least 2: one to multiply, one to copy into");
    static_assert(THREADS <= 1024, "THREADS = 32 * (BM / WM) * (BN / WN) must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_CHUNKS % THREADS == 0,
                  "THREADS must divide BM * BK / 16 and BK * BN / 16, to load the tiles in whole passes");
    static_assert(A_ROWS % 8 == 0 && B_ROWS % 16 == 0,
                  "THREADS must be a multiple of BK / 2 and of BN, for the swizzle to repeat");
    static_assert(STAGES * BK * (BM + BN) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");

    struct Stage {
        Element As[BM * BK];   // A tile: (row, k), its chunks permuted
        Element Bs[BK * BN];   // B tile: (k, col), its chunks permuted
    };
    extern __shared__ uint4 shared[];
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)

    // 1. Which tile of C is the block's? The last group of rows may have fewer than GROUP
    const unsigned number = blockIdx.y * gridDim.x + blockIdx.x, group = number / (GROUP * gridDim.x) * GROUP;
    const unsigned in_group = number - group * gridDim.x, group_rows = min(GROUP, gridDim.y - group);
    const int tile_row = (group + in_group % group_rows) * BM, tile_col = in_group / group_rows * BN;

    // 2. Which part of the tile is my warp's?
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM, col = warp % (BN / WN) * WN;
    const bool aligned = K % 16 == 0 && N % 16 == 0 && (reinterpret_cast<size_t>(A) | reinterpret_cast<size_t>(B)) % 16 == 0;

    // 3. The parts. An exclusive or spreads the chunks of a column over the banks
    auto a_place = [](int r, int chunk) { return (r * A_CHUNKS + (chunk ^ r / A_LINE % (8 / A_LINE))) * 16; };
    auto b_place = [](int k, int chunk) { return (k * B_CHUNKS + (chunk ^ (k % 2 + k / 4 % 4 * 2))) * 16; };
    const int a_row = threadIdx.x / A_CHUNKS, a_chunk = threadIdx.x % A_CHUNKS;   // what this thread copies first
    const int b_row = threadIdx.x / B_CHUNKS, b_chunk = threadIdx.x % B_CHUNKS;
    const int a_to = a_place(a_row, a_chunk), b_to = b_place(b_row, b_chunk);
    auto a_from = &A[size_t(tile_row + a_row) * K + a_chunk * 16], b_from = &B[size_t(b_row) * N + tile_col + b_chunk * 16];
    auto copy_tiles = [&](Stage &to, int first_k, auto is_aligned) {
        constexpr bool ALIGNED = decltype(is_aligned)::value;
        #pragma unroll
        for (int i = 0; i < BM / A_ROWS; ++i)
            copy16<ALIGNED>(&to.As[a_to + i * A_ROWS * BK], &a_from[first_k + size_t(K) * (i * A_ROWS)],
                           tile_row + a_row + i * A_ROWS < M ? K - first_k - a_chunk * 16 : 0);
        #pragma unroll
        for (int i = 0; i < BK / B_ROWS; ++i)
            copy16<ALIGNED>(&to.Bs[b_to + i * B_ROWS * BN], &b_from[size_t(N) * (first_k + i * B_ROWS)],
                           first_k + b_row + i * B_ROWS < K ? N - tile_col - b_chunk * 16 : 0);
    };
    // Which row of B this lane names: of 16, a transposed matrix takes every other pair, so that with the next matrix a
    // lane has four neighbours in k, of two columns. Even columns are one product's and odd columns the next one's
    const int b_lane = lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2;
    unsigned a_frag[2][MI][4], b_frag[2][NI][2];   // (k / 32 % 2, tile of 16 rows or 8 columns, register)
    auto load_fragments = [&](Stage &from, int k) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            load_matrices(a_frag[k / 32 % 2][i], &from.As[a_place(row + i * 16 + lane % 16, k / 16 + lane / 16)]);
        #pragma unroll
        for (int j = 0; j < NI; j += 2) {
            unsigned pairs[4];
            load_transposed(pairs, &from.Bs[b_place(k + b_lane, (col + j * 8) / 16)]);
            #pragma unroll
            for (int n = 0; n < 4; ++n)   // n % 2: which column, n / 2: the first 16 k or the others
                b_frag[k / 32 % 2][j + n % 2][n / 2] =
                    __byte_perm(pairs[n / 2 * 2], pairs[n / 2 * 2 + 1], n % 2 ? 0x7531 : 0x6420);
        }
    };
    int acc[MI][NI][4] = {};   // (tile of 16 rows, tile of 8 columns, register)
    auto multiply_fragments = [&](int k) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < NI; ++n) {
                const int j = i % 2 ? NI - 1 - n : n;   // there and back: where it turns, b's registers are read again
                multiply(acc[i][j], a_frag[k / 32 % 2][i], b_frag[k / 32 % 2][j][0], b_frag[k / 32 % 2][j][1]);
            }
    };

    // 4. The pipeline runs STAGES - 1 tiles ahead. Every round commits a group, maybe empty: waiting counts groups
    // Whether rows are aligned is asked once, not at every copy
    auto multiply_all = [&](auto is_aligned) {
        const int tiles = (K + BK - 1) / BK;
        #pragma unroll
        for (int next = 0; next < STAGES - 1; ++next) {
            copy_tiles(stages[next], next * BK, is_aligned);
            asm volatile("cp.async.commit_group;");
        }
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");   // all but the newest STAGES - 2 groups
        __syncthreads();   // the first tiles are whole before any thread reads what others copied
        load_fragments(stages[0], 0);
        int stage = 0, vacant = STAGES - 1;   // the stage to multiply, and the one to copy into
        #pragma unroll 1
        for (int tile = 0; tile < tiles; ++tile) {
            #pragma unroll
            for (int k = 0; k < BK; k += 32) {
                if (k + 32 < BK) load_fragments(stages[stage], k + 32);
                if (k == 0) {
                    copy_tiles(stages[vacant], (tile + STAGES - 1) * BK, is_aligned);
                    asm volatile("cp.async.commit_group;");
                }
                if (k + 32 < BK) multiply_fragments(k);
            }
            vacant = stage;
            stage = stage + 1 < STAGES ? stage + 1 : 0;
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            __syncthreads();   // the next tiles are whole, and every thread has read these: they may be overwritten
            load_fragments(stages[stage], 0);
            multiply_fragments(BK - 32);
        }
        asm volatile("cp.async.wait_all;" ::: "memory");   // zeros past the last tile may still be on their way
    };
    if (aligned) multiply_all(Known<true>{});
    else multiply_all(Known<false>{});

    // 5. Write C = alpha * A * B + beta * C (beta == 0: C is not read). Its integers wrap around, as unsigned ones may. All
    // that 16 rows hold is read before any of it is written, so that the reads wait for memory together
    auto write = [&](auto in_fours) {
        constexpr bool FOURS = decltype(in_fours)::value;
        #pragma unroll
        for (int i = 0; i < MI; ++i) {
            auto each = [&](auto use) {
                #pragma unroll
                for (int n = 0; n < NI; ++n) {   // n % 2: rows lane / 4 and + 8. Two products give four neighbours
                    const int r = tile_row + row + i * 16 + n % 2 * 8 + lane / 4, c = tile_col + col + n / 2 * 16 + lane % 4 * 4;
                    if (r < M && c < N) use(n, &C[size_t(r) * N + c], N - c);
                }
            };
            unsigned old[NI][4] = {};
            if (beta != 0)
                each([&](int n, const int *from, int valid) {
                    if constexpr (FOURS) *reinterpret_cast<int4 *>(old[n]) = *reinterpret_cast<const int4 *>(from);
                    else
                        for (int m = 0; m < 4; ++m) old[n][m] = m < valid ? from[m] : 0;
                });
            each([&](int n, int *to, int valid) {
                int sums[4];
                for (int m = 0; m < 4; ++m)
                    sums[m] = unsigned(alpha) * acc[i][n / 2 * 2 + m % 2][n % 2 * 2 + m / 2] + unsigned(beta) * old[n][m];
                if constexpr (FOURS) *reinterpret_cast<int4 *>(to) = {sums[0], sums[1], sums[2], sums[3]};
                else
                    for (int m = 0; m < 4; ++m)
                        if (m < valid) to[m] = sums[m];
            });
        }
    };
    if (N % 4 == 0 && reinterpret_cast<size_t>(C) % 16 == 0) write(Known<true>{});
    else write(Known<false>{});
}
