// TF32: the same for float32 matrices, of whose elements the tensor core reads the first 19 bits. ldmatrix moves 32-bit
// elements, too, but cannot transpose them. So C's transpose is computed, which is B's times A's: a lane then holds two
// columns of B in registers that follow each other, and one load of 8 bytes fetches both.

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

// x rounded to TF32's 10 bits of fraction, ties away from zero: half of the last one is added, and the tensor core cuts
// the rest. cvt.rna.tf32 gives the same in twice as many instructions
__device__ __forceinline__ unsigned to_tf32(float x) {
    const bool finite = fabsf(x) < __int_as_float(0x7f800000);   // a NaN's bits might overflow
    return __float_as_uint(x) + (finite ? 0x1000 : 0);
}

// d (16, 8) += b (16, 8) * a (8, 8) by the whole warp: of C, B and A the transposes
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&b)[4], const unsigned a0, const unsigned a1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(a0), "r"(a1));
}

// Load four neighbours of C, of which the first `valid` exist; the others become 0
__device__ __forceinline__ float4 load4(const float *from, int valid, bool aligned) {
    if (aligned) return valid > 0 ? *reinterpret_cast<const float4 *>(from) : float4{};   // then all four exist, or none
    return {valid > 0 ? from[0] : 0, valid > 1 ? from[1] : 0, valid > 2 ? from[2] : 0, valid > 3 ? from[3] : 0};
}

// Store those of four neighbours that exist
__device__ __forceinline__ void store4(float *to, float4 x, int valid, bool aligned) {
    if (aligned) {
        if (valid > 0) *reinterpret_cast<float4 *>(to) = x;
    } else {
        if (valid > 0) to[0] = x.x;
        if (valid > 1) to[1] = x.y;
        if (valid > 2) to[2] = x.z;
        if (valid > 3) to[3] = x.w;
    }
}

// A condition as a type: code for which it is known when it is compiled has no branch that asks
template <bool VALUE> struct Known { static constexpr bool value = VALUE; };

template <int ROUND, int BM, int BN, int BK, int WM, int WN, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(32 * (BM / WM) * (BN / WN), BLOCKS)
hgemm_tf32(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
           const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    constexpr int A_CHUNKS = BK / 4, B_CHUNKS = BN / 4;   // chunks of four floats in a row of a tile
    constexpr int A_LINE = A_CHUNKS < 8 ? 8 / A_CHUNKS : 1;   // rows of the A tile that fill the 32 banks once
    constexpr int A_ROWS = THREADS / A_CHUNKS, B_ROWS = THREADS / B_CHUNKS;   // rows that all threads copy in one pass
    constexpr int MI = WM / 8, NI = WN / 16;              // products of a warp down and along its tile
    constexpr int PAD = 4;                                // 4 floats: two rows on, a strip's banks are others
    constexpr unsigned GROUP = 8;                         // rows of tiles that blocks take together
    static_assert(ROUND == 0 || ROUND == 1, "ROUND must be 1 to round elements to TF32, or 0 to let the hardware cut");
    static_assert(BM >= 16 && BN >= 32 && WM >= 16 && WN >= 16, "BM, WM and WN must be at least 16, and BN 32");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16: two products down, and one along");
    static_assert(BK == 16 || BK == 32, "BK must be 16 or 32: two or four steps of 8");
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
    static_assert(BM / WM * 16 * 4 * (BN + PAD) <= STAGES * 4 * BK * (BM + BN),
                  "16 rows of C for each warp down must fit in the shared memory of the stages");

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
    int b_lane[2];   // (tile of 16 columns % 2): the place of row lane % 4, columns lane / 4 * 2 and the next
    for (int j = 0; j < 2; ++j) b_lane[j] = b_place(lane % 4, col / 4 + j * 4 + lane / 8) + lane / 4 % 2 * 2;
    unsigned a_frag[2][MI / 2][4], b_frag[2][NI][4];   // (k / 8 % 2, tile of 16 rows or columns, register)
    auto load_fragments = [&](Stage &from, int k) {
        #pragma unroll
        for (int i = 0; i < MI / 2; ++i)   // registers 0 and 1: a tile of 8 rows; 2 and 3: the next one
            load_matrices(a_frag[k / 8 % 2][i],
                          &from.As[a_place(row + i * 16 + lane / 16 * 8 + lane % 8, k / 4 + lane / 8 % 2)]);
        #pragma unroll
        for (int j = 0; j < NI; ++j)
            #pragma unroll
            for (int n = 0; n < 2; ++n) {   // rows lane % 4 and + 4
                const auto two = *reinterpret_cast<const uint2 *>(&from.Bs[b_lane[j % 2] + (k + n * 4) * BN + j / 2 * 32]);
                b_frag[k / 8 % 2][j][n * 2] = two.x, b_frag[k / 8 % 2][j][n * 2 + 1] = two.y;
            }
    };
    float acc[MI][NI][4] = {};   // (tile of 8 rows, tile of 16 columns, register)
    auto multiply_fragments = [&](int k) {
        unsigned (&a)[MI / 2][4] = a_frag[k / 8 % 2], (&b)[NI][4] = b_frag[k / 8 % 2];
        if constexpr (ROUND) {
            #pragma unroll
            for (int n = 0; n < 2 * MI; ++n) a[n / 4][n % 4] = to_tf32(__uint_as_float(a[n / 4][n % 4]));
            #pragma unroll
            for (int n = 0; n < 4 * NI; ++n) b[n / 4][n % 4] = to_tf32(__uint_as_float(b[n / 4][n % 4]));
        }
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < NI; ++n) {
                const int j = i % 2 ? NI - 1 - n : n;   // there and back: where it turns, b's registers are read again
                multiply(acc[i][j], b[j], a[i / 2][i % 2 * 2], a[i / 2][i % 2 * 2 + 1]);
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
            for (int k = 0; k < BK; k += 8) {
                if (k + 8 < BK) load_fragments(stages[stage], k + 8);
                if (k + 8 < BK) multiply_fragments(k);
            }
            copy_tiles(stages[vacant], (tile + STAGES - 1) * BK, is_aligned);
            asm volatile("cp.async.commit_group;");
            vacant = stage;
            stage = stage + 1 < STAGES ? stage + 1 : 0;
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            __syncthreads();   // the next tiles are whole, and every thread has read these: they may be overwritten
            load_fragments(stages[stage], 0);
            multiply_fragments(BK - 8);
        }
        asm volatile("cp.async.wait_all;" ::: "memory");   // zeros past the last tile may still be on their way
    };
    if (aligned) multiply_all(Known<true>{});
    else multiply_all(Known<false>{});

    // 5. Stage: 16 rows of each warp at a time go to where the tiles were, and come back row by row, so that a warp reads
    // and writes whole lines of C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    auto strip = reinterpret_cast<float (*)[BN + PAD]>(shared);   // (row, col)
    const bool C_aligned = N % 4 == 0 && reinterpret_cast<size_t>(C) % 16 == 0;
    constexpr int PASSES = 16 * WN / 32 / 4;
    #pragma unroll
    for (int i = 0; i < MI; i += 2) {   // two tiles of 8 rows
        auto each = [&](auto use) {
            #pragma unroll
            for (int pass = 0; pass < PASSES; ++pass) {
                const int place = (pass * THREADS + threadIdx.x) * 4, in_strip = place / BN, c = place % BN;
                const int r = tile_row + in_strip / 16 * WM + i * 8 + in_strip % 16;
                use(pass, &C[size_t(r) * N + tile_col + c], r < M ? N - tile_col - c : 0, &strip[in_strip][c]);
            }
        };
        float4 old[PASSES] = {};   // read before the barriers, so that they wait for memory meanwhile
        if (beta != 0.0f)
            each([&](int pass, const float *from, int valid, const float *) { old[pass] = load4(from, valid, C_aligned); });
        __syncthreads();   // every thread has read the last tiles, or the strip before this one
        #pragma unroll
        for (int n = 0; n < 4 * NI; ++n) {   // n % 2: rows lane % 4 * 2 and the next; n / 2 % 2: the tile
            const float (&sums)[4] = acc[i + n / 2 % 2][n / 4];   // registers 0 and 1: a column's; 2 and 3: the next one's
            const int r = row / WM * 16 + n / 2 % 2 * 8 + lane % 4 * 2 + n % 2;
            *reinterpret_cast<float2 *>(&strip[r][col + n / 4 * 16 + lane / 4 * 2]) = {sums[n % 2], sums[n % 2 + 2]};
        }
        __syncthreads();   // the strip is whole before any thread reads what others stored
        each([&](int pass, float *to, int valid, const float *sums) {
            const float4 sum = *reinterpret_cast<const float4 *>(sums);
            store4(to, {alpha * sum.x + beta * old[pass].x, alpha * sum.y + beta * old[pass].y,
                        alpha * sum.z + beta * old[pass].z, alpha * sum.w + beta * old[pass].w}, valid, C_aligned);
        });
    }
}
