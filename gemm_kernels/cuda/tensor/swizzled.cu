// Swizzled: an exclusive or permutes the chunks of 16 bytes in a row, and ldmatrix has no bank conflicts.

typedef unsigned short Element;   // a float16 or bfloat16 as bits: only the tensor core looks inside

// Copy eight elements to shared memory, of which the first `valid` exist; the others become 0
__device__ __forceinline__ void copy8(Element *shared, const Element *global, int valid, bool aligned) {
    if (aligned) {   // then all eight exist, or none
        *reinterpret_cast<uint4 *>(shared) = valid > 0 ? *reinterpret_cast<const uint4 *>(global) : uint4{0, 0, 0, 0};
    } else {
        unsigned pairs[4];
        for (int i = 0; i < 4; ++i) {
            const unsigned low = 2 * i < valid ? global[2 * i] : 0, high = 2 * i + 1 < valid ? global[2 * i + 1] : 0;
            pairs[i] = low | high << 16;
        }
        *reinterpret_cast<uint4 *>(shared) = {pairs[0], pairs[1], pairs[2], pairs[3]};
    }
}

// Four 8 x 8 matrices; this lane names the row at `shared` and receives two neighbours of each matrix
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const Element *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared)))
                 : "memory");
}

// The same, each matrix transposed: this lane receives two neighbours of a column
__device__ __forceinline__ void load_transposed(unsigned (&r)[4], const Element *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared)))
                 : "memory");
}

// d (16, 8) += a (16, 16) * b (16, 8) by the whole warp
template <int BF16>
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned b0, const unsigned b1) {
    if constexpr (BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A condition as a type: code for which it is known when it is compiled has no branch that asks
template <bool VALUE> struct Known { static constexpr bool value = VALUE; };

template <int BF16, int BM, int BN, int BK, int WM, int WN>
__global__ void __launch_bounds__(32 * (BM / WM) * (BN / WN))
hgemm_swizzled(int M, int N, int K, float alpha, const Element *A,   // A: (M, K), row-major
               const Element *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    constexpr int A_CHUNKS = BK / 8, B_CHUNKS = BN / 8;   // chunks of eight elements in a row of a tile
    constexpr int A_LINE = A_CHUNKS < 8 ? 8 / A_CHUNKS : 1;   // rows of the A tile that fill the 32 banks once
    constexpr int MI = WM / 16, NI = WN / 8;              // products of a warp down and along its tile
    static_assert(BF16 == 0 || BF16 == 1, "BF16 must be 0 for float16 or 1 for bfloat16");
    static_assert(BM >= 16 && BN >= 64 && WM >= 16 && WN >= 16, "BM, WM and WN must be at least 16, and BN 64");
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16, what ldmatrix loads at a time");
    static_assert(BK == 16 || BK == 32 || BK == 64, "BK must be 16, 32 or 64: one, two or four steps of 16");
    static_assert(BN % 64 == 0, "BN must be a multiple of 64, the elements in 32 banks, for the swizzle");
    static_assert(THREADS <= 1024, "THREADS = 32 * (BM / WM) * (BN / WN) must be at most 1024, the most a block can have");
    static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_CHUNKS % THREADS == 0,
                  "THREADS must divide BM * BK / 8 and BK * BN / 8, to load the tiles in whole passes");
    static_assert(2 * BK * (BM + BN) <= 49152, "As and Bs must fit in 49152 bytes of static shared memory");

    __shared__ __align__(16) Element As[BM * BK];   // A tile: (row, k), its chunks permuted
    __shared__ __align__(16) Element Bs[BK * BN];   // B tile: (k, col), its chunks permuted

    // 1. Which tile of C is the block's?
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;

    // 2. Which part of the tile is my warp's?
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM, col = warp % (BN / WN) * WN;
    const bool aligned = K % 8 == 0 && N % 8 == 0 && (reinterpret_cast<size_t>(A) | reinterpret_cast<size_t>(B)) % 16 == 0;

    // 3. The parts. An exclusive or spreads the chunks of a column over the banks
    auto a_place = [](int r, int chunk) { return (r * A_CHUNKS + (chunk ^ r / A_LINE % (8 / A_LINE))) * 8; };
    auto b_place = [](int k, int chunk) { return (k * B_CHUNKS + (chunk ^ k % 8)) * 8; };
    auto copy_tiles = [&](int first_k) {
        #pragma unroll
        for (int i = 0; i < BM * A_CHUNKS / THREADS; ++i) {
            const int n = i * THREADS + threadIdx.x, r = n / A_CHUNKS, chunk = n % A_CHUNKS, k = first_k + chunk * 8;
            copy8(&As[a_place(r, chunk)], &A[size_t(tile_row + r) * K + k], tile_row + r < M ? K - k : 0,
                  aligned);
        }
        #pragma unroll
        for (int i = 0; i < BK * B_CHUNKS / THREADS; ++i) {
            const int n = i * THREADS + threadIdx.x, k = n / B_CHUNKS, chunk = n % B_CHUNKS, c = tile_col + chunk * 8;
            copy8(&Bs[b_place(k, chunk)], &B[size_t(first_k + k) * N + c], first_k + k < K ? N - c : 0,
                  aligned);
        }
    };
    unsigned a_frag[MI][4], b_frag[NI / 2][4];   // (tile of 16 rows or columns, register)
    auto load_fragments = [&](int k) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            load_matrices(a_frag[i], &As[a_place(row + i * 16 + lane % 16, k / 8 + lane / 16)]);
        #pragma unroll
        for (int j = 0; j < NI / 2; ++j)
            load_transposed(b_frag[j], &Bs[b_place(k + lane % 16, (col + j * 16) / 8 + lane / 16)]);
    };
    float acc[MI][NI][4] = {};   // (tile of 16 rows, tile of 8 columns, register)
    auto multiply_fragments = [&]() {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j)
                multiply<BF16>(acc[i][j], a_frag[i], b_frag[j / 2][j % 2 * 2], b_frag[j / 2][j % 2 * 2 + 1]);
    };

    // 4. Tile after tile: load, wait, multiply, wait
    for (int first_k = 0; first_k < K; first_k += BK) {
        copy_tiles(first_k);
        __syncthreads();   // the tiles are whole before any thread reads what others stored
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            load_fragments(k);
            multiply_fragments();
        }
        __syncthreads();   // every thread has read the tiles before any thread stores the next ones over them
    }

    // 5. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read). All that 16 rows
    // hold is read before any of it is written, so that the reads wait for memory together
    auto write = [&](auto in_pairs) {
        constexpr bool PAIRS = decltype(in_pairs)::value;
        #pragma unroll
        for (int i = 0; i < MI; ++i) {
            auto each = [&](auto use) {
                #pragma unroll
                for (int n = 0; n < 2 * NI; ++n) {   // n % 2: rows lane / 4 and + 8
                    const int r = tile_row + row + i * 16 + n % 2 * 8 + lane / 4, c = tile_col + col + n / 2 * 8 + lane % 4 * 2;
                    if (r < M && c < N) use(n, &C[size_t(r) * N + c], c + 1 < N);
                }
            };
            float2 old[2 * NI] = {};
            if (beta != 0.0f)
                each([&](int n, const float *from, bool both) {
                    if constexpr (PAIRS) old[n] = *reinterpret_cast<const float2 *>(from);
                    else old[n] = {from[0], both ? from[1] : 0.0f};
                });
            each([&](int n, float *to, bool both) {
                const float x = alpha * acc[i][n / 2][n % 2 * 2] + beta * old[n].x;
                const float y = alpha * acc[i][n / 2][n % 2 * 2 + 1] + beta * old[n].y;
                if constexpr (PAIRS) *reinterpret_cast<float2 *>(to) = {x, y};
                else {
                    to[0] = x;
                    if (both) to[1] = y;
                }
            });
        }
    };
    if (N % 2 == 0 && reinterpret_cast<size_t>(C) % 8 == 0) write(Known<true>{});
    else write(Known<false>{});
}
