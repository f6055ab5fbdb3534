// 3xTF32: an element is the sum of two TF32 numbers, what rounding keeps and what it drops. Three products of the four
// give float32's error; the sum of each tile's BK k is added by the CUDA cores, which round where a tensor core only cuts:
// with a BK of 32 more is cut than float32 rounds where K is small. And no sum is longer than it must be: every RUN of k is
// summed from zero, and these sums are added to one another. An infinity becomes NaN, because its rest is NaN.

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

// x as the sum of two TF32 numbers, the rounded one and the rest. Of an infinity or NaN the rest is NaN
__device__ __forceinline__ void split(unsigned &x, unsigned &rest) {
    const float whole = __uint_as_float(x);
    x = x + 0x1000 & 0xffffe000;   // half of the last bit is added and the others are cut: ties away from zero
    rest = __float_as_uint(whole - __uint_as_float(x));
}

// d (16, 8) += a (16, 8) * b (8, 8) by the whole warp
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A condition as a type: code for which it is known when it is compiled has no branch that asks
template <bool VALUE> struct Known { static constexpr bool value = VALUE; };

template <int BM, int BN, int BK, int WM, int WN, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(32 * (BM / WM) * (BN / WN), BLOCKS)
hgemm_tf32x3(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
             const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    constexpr int A_CHUNKS = BK / 4, B_CHUNKS = BN / 4;   // chunks of four floats in a row of a tile
    constexpr int A_LINE = A_CHUNKS < 8 ? 8 / A_CHUNKS : 1;   // rows of the A tile that fill the 32 banks once
    constexpr int A_ROWS = THREADS / A_CHUNKS, B_ROWS = THREADS / B_CHUNKS;   // rows that all threads copy in one pass
    constexpr int MI = WM / 16, NI = WN / 8;              // products of a warp down and along its tile
    constexpr unsigned GROUP = 8;                         // rows of tiles that blocks take together
    constexpr int RUN = 256;                              // k that are summed from zero
    static_assert(BM >= 16 && BN >= 32 && WM >= 16 && WN >= 16, "BM, WM and WN must be at least 16, and BN 32");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 16 == 0 && WN % 32 == 0, "WM must be a multiple of 16, and WN of 32, four products along");
    static_assert(BK == 16 || BK == 32, "BK must be 16 or 32: two or four steps of 8");
    static_assert(BN % 32 == 0, "BN must be a multiple of 32, the floats in 32 banks, for the swizzle");
    static_assert(STAGES >= 2, "STAGES must be at least 2: one to multiply, one to copy into");
    static_assert(THREADS <= 1024, "THREADS = 32 * (BM / WM) * (BN / WN) must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_CHUNKS % THREADS == 0,
                  "THREADS must divide BM * BK / 4 and BK * BN / 4, to load the tiles in whole passes");
    static_assert(A_ROWS % 8 == 0 && B_ROWS % 4 == 0, "THREADS must be a multiple of BK and of BN, for the swizzle to repeat");
    static_assert(STAGES * 4 * BK * (BM + BN) + 4 * BM * BN <= 232448,
                  "As, Bs and the sums must fit in 232448 bytes, the most shared memory a block of any GPU can have");

    struct Stage {
        float As[BM * BK];   // A tile: (row, k), its chunks permuted
        float Bs[BK * BN];   // B tile: (k, col), its chunks permuted
    };
    extern __shared__ uint4 shared[];
    auto stages = reinterpret_cast<Stage *>(shared);   // (stage)
    auto runs = reinterpret_cast<float4 (*)[THREADS]>(stages + STAGES);   // the sum of all runs: (product, thread)

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
    unsigned a_frag[2][MI][4], b_frag[2][NI][2];   // (k / 8 % 2, tile of 16 rows or 8 columns, register)
    auto load_fragments = [&](Stage &from, int k) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            load_matrices(a_frag[k / 8 % 2][i], &from.As[a_place(row + i * 16 + lane % 16, k / 4 + lane / 16)]);
        #pragma unroll
        for (int j = 0; j < NI; j += 4)
            #pragma unroll
            for (int n = 0; n < 2; ++n) {   // rows lane % 4 and + 4
                const auto four = *reinterpret_cast<const uint4 *>(&from.Bs[b_lane + (k + n * 4) * BN + j * 8]);
                b_frag[k / 8 % 2][j][n] = four.x, b_frag[k / 8 % 2][j + 1][n] = four.y;
                b_frag[k / 8 % 2][j + 2][n] = four.z, b_frag[k / 8 % 2][j + 3][n] = four.w;
            }
    };
    float acc[MI][NI][4] = {}, sum[MI][NI][4] = {};   // (tile of 16 rows, tile of 8 columns, register)
    auto multiply_fragments = [&](int k) {
        unsigned (&a)[MI][4] = a_frag[k / 8 % 2], (&b)[NI][2] = b_frag[k / 8 % 2];
        unsigned a_rest[MI][4], b_rest[NI][2];   // what rounding dropped
        #pragma unroll
        for (int n = 0; n < 2 * NI; ++n) split(b[n / 2][n % 2], b_rest[n / 2][n % 2]);
        #pragma unroll
        for (int n = 0; n < 4 * MI; ++n) split(a[n / 4][n % 4], a_rest[n / 4][n % 4]);
        #pragma unroll
        for (int part = 0; part < 3; ++part)   // small products before large ones: fewer bits are cut
            #pragma unroll
            for (int n = 0; n < MI * NI; ++n) {
                const int i = n / NI, j = n % NI;
                multiply(sum[i][j], part == 0 ? a_rest[i] : a[i], part == 1 ? b_rest[j] : b[j]);
            }
    };
    auto add_sums = [&] {   // by the CUDA cores, which round
        #pragma unroll
        for (int n = 0; n < 4 * MI * NI; ++n) {
            float &one = sum[n / (4 * NI)][n / 4 % NI][n % 4];
            acc[n / (4 * NI)][n / 4 % NI][n % 4] += one;
            one = 0.0f;
        }
    };
    auto add_run = [&](bool first) {   // to the runs before it; each thread reads and writes what is its own
        #pragma unroll
        for (int n = 0; n < MI * NI; ++n) {
            float (&run)[4] = acc[n / NI][n % NI];
            const float4 before = first ? float4{} : runs[n][threadIdx.x];
            runs[n][threadIdx.x] = {before.x + run[0], before.y + run[1], before.z + run[2], before.w + run[3]};
            run[0] = run[1] = run[2] = run[3] = 0.0f;
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
            if (tile && tile % (RUN / BK) == 0) add_run(tile == RUN / BK);
            #pragma unroll
            for (int k = 0; k < BK; k += 8) {
                if (k + 8 < BK) load_fragments(stages[stage], k + 8);
                if (k == 0) {
                    copy_tiles(stages[vacant], (tile + STAGES - 1) * BK, is_aligned);
                    asm volatile("cp.async.commit_group;");
                }
                if (k + 8 < BK) multiply_fragments(k);
            }
            vacant = stage;
            stage = stage + 1 < STAGES ? stage + 1 : 0;
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            __syncthreads();   // the next tiles are whole, and every thread has read these: they may be overwritten
            load_fragments(stages[stage], 0);
            multiply_fragments(BK - 8);
            add_sums();
        }
        asm volatile("cp.async.wait_all;" ::: "memory");   // zeros past the last tile may still be on their way
        if (tiles > RUN / BK) {
            #pragma unroll
            for (int n = 0; n < MI * NI; ++n) {
                const float4 before = runs[n][threadIdx.x];
                float (&run)[4] = acc[n / NI][n % NI];
                run[0] += before.x, run[1] += before.y, run[2] += before.z, run[3] += before.w;
            }
        }
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
