// BF16x3 and BF16x6: an element is the sum of PARTS bfloat16 numbers of 8 bits each, and products of parts whose places add
// up to less than PARTS are multiplied: three of 2 x 2 leave an error of 2^-16, six of 3 x 3 one as small as float32's. A
// tensor core multiplies twice as many of them at a time as of TF32 numbers. An infinity becomes NaN, because its rest is.

// Start the copy of four floats to shared memory, of which the first `valid` exist; the others become 0. Where rows do
// not begin at multiples of 16 bytes, they are copied one by one
template <bool ALIGNED>
__device__ __forceinline__ void copy4(float *shared, const float *global, int valid) {
    if constexpr (ALIGNED) {   // then all four exist, or none
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(unsigned(__cvta_generic_to_shared(shared))), "l"(global), "r"(valid > 0 ? 16 : 0)
                     : "memory");
    } else {
        for (int i = 0; i < 4; ++i)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                         :
                         : "r"(unsigned(__cvta_generic_to_shared(&shared[i]))), "l"(global + i), "r"(i < valid ? 4 : 0)
                         : "memory");
    }
}

// Four matrices of 8 x 4 floats; this lane names the row at `shared` and receives an element of each matrix
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const float *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared)))
                 : "memory");
}

// x and y as sums of PARTS bfloat16 numbers, each what rounding leaves to the next. A register holds one part of both
template <int PARTS>
__device__ __forceinline__ void split(unsigned (&parts)[PARTS], float x, float y) {
    #pragma unroll
    for (int n = 0; n < PARTS; ++n) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(parts[n]) : "f"(y), "f"(x));
        x -= __uint_as_float(parts[n] << 16);
        y -= __uint_as_float(parts[n] & 0xffff0000);
    }
}

// d (16, 8) += a (16, 16) * b (16, 8) by the whole warp
__device__ __forceinline__ void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                         unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// A condition as a type: code for which it is known when it is compiled has no branch that asks
template <bool VALUE> struct Known { static constexpr bool value = VALUE; };

template <int PARTS, int BM, int BN, int BK, int WM, int WN, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(32 * (BM / WM) * (BN / WN), BLOCKS)
hgemm_bf16_split(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                 const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    constexpr int A_CHUNKS = BK / 4, B_CHUNKS = BN / 4;   // chunks of four floats in a row of a tile
    constexpr int A_LINE = A_CHUNKS < 8 ? 8 / A_CHUNKS : 1;   // rows of the A tile that fill the 32 banks once
    constexpr int A_ROWS = THREADS / A_CHUNKS, B_ROWS = THREADS / B_CHUNKS;   // rows that all threads copy in one pass
    constexpr int MI = WM / 16, NI = WN / 8;              // products of a warp down and along its tile
    constexpr unsigned GROUP = 8;                         // rows of tiles that blocks take together
    static_assert(PARTS == 2 || PARTS == 3, "PARTS must be 2 for BF16x3 or 3 for BF16x6");
    static_assert(BM >= 16 && BN >= 32 && WM >= 16 && WN >= 16, "BM, WM and WN must be at least 16, and BN 32");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 32 == 0 && WN % 32 == 0, "WM and WN must be multiples of 32: two products down, and four along");
    static_assert(BK == 16 || BK == 32, "BK must be 16 or 32: one or two steps of 16");
    static_assert(BN % 32 == 0, "BN must be a multiple of 32, the floats in 32 banks, for the swizzle");
    static_assert(STAGES >= 2, "STAGES must be at least 2: one to multiply, one to copy into");
    static_assert(THREADS <= 1024, "THREADS = 32 * (BM / WM) * (BN / WN) must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_CHUNKS % THREADS == 0,
                  "THREADS must divide BM * BK / 4 and BK * BN / 4, to load the tiles in whole passes");
    static_assert(A_ROWS % 8 == 0 && B_ROWS % 4 == 0, "THREADS must be a multiple of BK and of BN, for the swizzle to repeat");
    static_assert(STAGES * 4 * BK * (BM + BN) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");

    struct Stage {
        float As[BM * BK];   // A tile: (row, k), its chunks permuted
        float Bs[BK * BN];   // B tile: (k, col), its chunks permuted
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
    const bool aligned = K % 4 == 0 && N % 4 == 0 && (reinterpret_cast<size_t>(A) | reinterpret_cast<size_t>(B)) % 16 == 0;

    // 3. The parts. An exclusive or spreads the chunks of a column over the banks
    auto a_place = [](int r, int chunk) { return (r * A_CHUNKS + (chunk ^ r / A_LINE % (8 / A_LINE))) * 4; };
    auto b_place = [](int k, int chunk) { return (k * B_CHUNKS + (chunk ^ k % 4 * 2)) * 4; };
    const int a_row = threadIdx.x / A_CHUNKS, a_chunk = threadIdx.x % A_CHUNKS;   // what this thread copies first
    const int b_row = threadIdx.x / B_CHUNKS, b_chunk = threadIdx.x % B_CHUNKS;
    const int a_to = a_place(a_row, a_chunk), b_to = b_place(b_row, b_chunk);
    auto a_from = &A[size_t(tile_row + a_row) * K + a_chunk * 4], b_from = &B[size_t(b_row) * N + tile_col + b_chunk * 4];
    auto copy_tiles = [&](Stage &to, int first_k, auto is_aligned) {
        constexpr bool ALIGNED = decltype(is_aligned)::value;
        #pragma unroll
        for (int i = 0; i < BM / A_ROWS; ++i)
            copy4<ALIGNED>(&to.As[a_to + i * A_ROWS * BK], &a_from[first_k + size_t(K) * (i * A_ROWS)],
                           tile_row + a_row + i * A_ROWS < M ? K - first_k - a_chunk * 4 : 0);
        #pragma unroll
        for (int i = 0; i < BK / B_ROWS; ++i)
            copy4<ALIGNED>(&to.Bs[b_to + i * B_ROWS * BN], &b_from[size_t(N) * (first_k + i * B_ROWS)],
                           first_k + b_row + i * B_ROWS < K ? N - tile_col - b_chunk * 4 : 0);
    };
    // Column c of a product's 8 is column c * 4 + j % 4 of 32: so a lane's elements of four products lie side by side
    const int b_lane = b_place(lane % 4, col / 4 + lane / 4);
    // A step has 16 k. Which of them is first is for A and B to agree on: lane % 4, + 4, + 8 and + 12 are this lane's
    unsigned a_frag[2][2][4];   // (tile of 16 rows % 2, 8 k, register): float32
    float b_frag[NI][4];        // (tile of 8 columns, 4 k)
    auto load_a = [&](Stage &from, int k, int i) {
        #pragma unroll
        for (int n = 0; n < 2; ++n)
            load_matrices(a_frag[i % 2][n], &from.As[a_place(row + i * 16 + lane % 16, k / 4 + n * 2 + lane / 16)]);
    };
    auto load_b = [&](Stage &from, int k) {
        #pragma unroll
        for (int j = 0; j < NI; j += 4)
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
                const auto four = *reinterpret_cast<const float4 *>(&from.Bs[b_lane + (k + n * 4) * BN + j * 8]);
                b_frag[j][n] = four.x, b_frag[j + 1][n] = four.y, b_frag[j + 2][n] = four.z, b_frag[j + 3][n] = four.w;
            }
    };
    unsigned b[NI][2][PARTS];    // (tile of 8 columns, register, part)
    float acc[MI][NI][4] = {};   // (tile of 16 rows, tile of 8 columns, register)
    auto split_b = [&] {
        #pragma unroll
        for (int n = 0; n < 2 * NI; ++n) split(b[n / 2][n % 2], b_frag[n / 2][n % 2 * 2], b_frag[n / 2][n % 2 * 2 + 1]);
    };
    auto multiply_row = [&](int i, const unsigned (&a)[4][PARTS]) {
        // BF16x6 is as good as float32 only if the CUDA cores, which round, add what a tensor core, which cuts, has
        // summed over 16 k
        float sum[NI][4] = {};
        auto &to = PARTS == 3 ? sum : acc[i];
        #pragma unroll
        for (int place = PARTS - 1; place >= 0; --place)   // small products before large ones: fewer bits are cut
            #pragma unroll
            for (int p = 0; p <= place; ++p)
                #pragma unroll
                for (int j = 0; j < NI; ++j)
                    multiply(to[j], a[0][p], a[1][p], a[2][p], a[3][p], b[j][0][place - p], b[j][1][place - p]);
        if constexpr (PARTS == 3) {
            #pragma unroll
            for (int n = 0; n < 4 * NI; ++n) acc[i][n / 4][n % 4] += sum[n / 4][n % 4];
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
        load_b(stages[0], 0);
        load_a(stages[0], 0, 0);
        int stage = 0, vacant = STAGES - 1;   // the stage to multiply, and the one to copy into
        #pragma unroll 1
        for (int tile = 0; tile < tiles; ++tile)
            #pragma unroll
            for (int n = 0; n < BK / 16 * MI; ++n) {   // 16 rows by 16 k
                const int k = n / MI * 16, i = n % MI;
                if (i == 0) split_b();
                unsigned a[4][PARTS];   // registers 0 and 1: rows lane / 4 and + 8, the first 8 k; 2 and 3: the others
                #pragma unroll
                for (int m = 0; m < 4; ++m) {
                    const unsigned (&eight)[4] = a_frag[i % 2][m / 2];
                    split(a[m], __uint_as_float(eight[m % 2]), __uint_as_float(eight[m % 2 + 2]));
                }
                if (i + 1 < MI)
                    load_a(stages[stage], k, i + 1);
                else {
                    if (k + 16 == BK) {
                        vacant = stage;
                        stage = stage + 1 < STAGES ? stage + 1 : 0;
                        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
                        __syncthreads();   // the next tiles are whole, and every thread has read these
                    }
                    load_b(stages[stage], (k + 16) % BK);
                    load_a(stages[stage], (k + 16) % BK, 0);
                }
                if (n == 0) {
                    copy_tiles(stages[vacant], (tile + STAGES - 1) * BK, is_aligned);
                    asm volatile("cp.async.commit_group;");
                }
                multiply_row(i, a);
            }
        asm volatile("cp.async.wait_all;" ::: "memory");   // zeros past the last tile may still be on their way
    };
    if (aligned) multiply_all(Known<true>{});
    else multiply_all(Known<false>{});

    // 5. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read). All that 16 rows
    // hold is read before any of it is written, so that the reads wait for memory together
    auto write = [&](auto in_fours) {
        constexpr bool FOURS = decltype(in_fours)::value;
        #pragma unroll
        for (int i = 0; i < MI; ++i) {
            auto each = [&](auto use) {
                #pragma unroll
                for (int n = 0; n < NI; ++n) {   // n % 2: rows lane / 4 and + 8; n / 2 % 2: the first four of 8 columns
                    const int r = tile_row + row + i * 16 + n % 2 * 8 + lane / 4;
                    const int c = tile_col + col + n / 4 * 32 + lane % 4 * 8 + n / 2 % 2 * 4;
                    if (r < M && c < N) use(n, &C[size_t(r) * N + c], N - c);
                }
            };
            float old[NI][4] = {};
            if (beta != 0.0f)
                each([&](int n, const float *from, int valid) {
                    if constexpr (FOURS) *reinterpret_cast<float4 *>(old[n]) = *reinterpret_cast<const float4 *>(from);
                    else
                        for (int m = 0; m < 4; ++m) old[n][m] = m < valid ? from[m] : 0.0f;
                });
            each([&](int n, float *to, int valid) {
                float sums[4];
                for (int m = 0; m < 4; ++m)
                    sums[m] = alpha * acc[i][n / 4 * 4 + m][n % 2 * 2 + n / 2 % 2] + beta * old[n][m];
                if constexpr (FOURS) *reinterpret_cast<float4 *>(to) = {sums[0], sums[1], sums[2], sums[3]};
                else
                    for (int m = 0; m < 4; ++m)
                        if (m < valid) to[m] = sums[m];
            });
        }
    };
    if (N % 4 == 0 && reinterpret_cast<size_t>(C) % 16 == 0) write(Known<true>{});
    else write(Known<false>{});
}
