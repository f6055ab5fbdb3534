// Rank-k update: with few k, little is multiplied for each element of C that is read and written, and a pipeline has nothing to
// hide behind. A block copies all that it needs of A and B at once, loads its C while the copies are under way, waits once,
// multiplies and is done: little code, which has to be fetched, too.

__device__ __forceinline__ unsigned shared_address(const float &element) {
    return unsigned(__cvta_generic_to_shared(&element));
}

// Start the copy of WIDTH neighbours from global to shared memory, of which only the first `there` exist: zeros for the others
template <int WIDTH>
__device__ __forceinline__ void copy_async(float &shared, const float *global, int there) {
    if constexpr (WIDTH == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(shared_address(shared)), "l"(global), "r"(4 * there) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     :: "r"(shared_address(shared)), "l"(global), "r"(4 * there) : "memory");
}

// How many floats lie between the multiple of 16 bytes before p and p
__device__ __forceinline__ int floats_behind_16_bytes(const float *p) {
    return reinterpret_cast<size_t>(p) / sizeof(float) % 4;
}

// A number that the compiler knows, as an argument
template <int VALUE> struct Width { static constexpr int value = VALUE; };

template <int BM, int BN, int BK, int TM, int TN, int BLOCKS>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), BLOCKS)
sgemm_rank_k(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
             const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = (BM / TM) * (BN / TN);
    constexpr int LANES = BN / TN;   // threads along a row of the tile
    constexpr int PAD = 4;           // floats
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && TM >= 1 && TN >= 1, "BM, BN, BK, TM and TN must be at least 1");
    static_assert(BM % TM == 0 && BN % TN == 0, "BM must be a multiple of TM, and BN of TN");
    static_assert(BK % 4 == 0, "BK must be a multiple of 4, the floats of a float4");
    static_assert(BN % 4 == 0, "BN must be a multiple of 4, the floats that one copy moves");
    static_assert(THREADS % 32 == 0, "THREADS = (BM / TM) * (BN / TN) must be a multiple of 32, the lanes of a warp");
    static_assert(THREADS <= 1024, "THREADS = (BM / TM) * (BN / TN) must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(4 * (BM * (BK + PAD) + BK * (BN + PAD)) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");
    extern __shared__ float4 tiles[];
    auto As = reinterpret_cast<float (*)[BK + PAD]>(tiles);          // (row, k)
    auto Bs = reinterpret_cast<float (*)[BN + PAD]>(&As[BM][0]);     // (k, col), each row as far behind 16 bytes as in B

    // 1. Which tile of C is the block's, and which elements are mine? Neighbouring threads have neighbouring columns
    const unsigned tiles_across = (N - 1) / BN + 1, thread = threadIdx.x;
    const unsigned tile_row = blockIdx.x / tiles_across * BM, tile_col = blockIdx.x % tiles_across * BN;
    const unsigned own_row = thread / LANES * TM, own_col = thread % LANES;   // my other columns are LANES apart
    A += size_t(tile_row) * K;
    const int rows = min(BM, M - tile_row);
    auto start_of_row = [&](int k) { return &B[size_t(k) * N + tile_col]; };

    // 2. Copy so many k of all rows of A and all columns of B. Rows of A are copied four floats at a time if they all start at
    // 16 bytes. Those of B always are: each copy starts at 16 bytes, up to three floats before the tile
    auto copy_a = [&](auto width, int k_begin, int depth) {
        constexpr int WIDTH = width.value, ALONG = 16 / WIDTH;   // copies along a row at a time
        #pragma unroll 1
        for (int row = thread / ALONG; row < BM; row += THREADS / ALONG) {
            const float *from = &A[size_t(row) * K + k_begin];
            #pragma unroll
            for (int i = 0; i < (BK + 15) / 16; ++i) {
                const int k = i * 16 + thread % ALONG * WIDTH;
                if (k < (depth + 3) / 4 * 4) copy_async<WIDTH>(As[row][k], from + k, row < rows && k < depth ? WIDTH : 0);
            }
        }
    };
    auto copy = [&](int k_begin, int depth) {
        constexpr int ALONG = (BN + PAD) / 4;
        const float *end = &B[size_t(K) * N];
        #pragma unroll 1
        for (int i = thread; i < (depth + 3) / 4 * 4 * ALONG; i += THREADS) {
            const int k = i / ALONG, col = i % ALONG * 4;
            const float *first = start_of_row(k_begin + k), *from = first - floats_behind_16_bytes(first) + col;
            if (k >= depth) copy_async<4>(Bs[k][col], B, 0);
            else if (from >= B && from + 4 <= end) copy_async<4>(Bs[k][col], from, 4);
            else   // at the beginning or the end of a B that does not begin or end at 16 bytes
                for (int x = 0; x < 4; ++x) copy_async<1>(Bs[k][col + x], from + x, B <= from + x && from + x < end);
        }
        if (K % 4 == 0 && floats_behind_16_bytes(A) == 0) copy_a(Width<4>(), k_begin, depth);
        else copy_a(Width<1>(), k_begin, depth);
    };

    // 3. Load my elements of C behind the first copies (beta == 0: C may hold NaN or nothing yet, so it is not read), wait for
    // all of it, and multiply four k at a time: what is there beyond the last one is zeros
    float old[TM][TN] = {}, acc[TM][TN] = {};
    C += size_t(tile_row + own_row) * N + tile_col + own_col;
    auto exists = [&](int y, int x) { return int(own_row) + y < rows && tile_col + own_col + x * LANES < N; };
    for (int k_begin = 0; k_begin < K; k_begin += BK) {
        const int depth = min(BK, K - k_begin);
        if (k_begin != 0) __syncthreads();   // all threads have read the last ones before these are copied over them
        copy(k_begin, depth);
        if (k_begin == 0 && beta != 0.0f)
            #pragma unroll
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x)
                    if (exists(y, x)) old[y][x] = C[size_t(y) * N + x * LANES];
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();   // what all threads copied is there
        unsigned behind = floats_behind_16_bytes(start_of_row(k_begin));   // 16 bytes does a row of the tile start
        #pragma unroll 1
        for (int k = 0; k < depth; k += 4) {
            float a[TM][4];   // (row, k)
            for (int y = 0; y < TM; ++y) reinterpret_cast<float4 &>(a[y]) = reinterpret_cast<float4 &>(As[own_row + y][k]);
            for (int i = 0; i < 4; ++i, behind = (behind + N) % 4) {
                float b[TN];
                for (int x = 0; x < TN; ++x) b[x] = Bs[k + i][behind + own_col + x * LANES];
                for (int y = 0; y < TM; ++y)
                    for (int x = 0; x < TN; ++x) acc[y][x] += a[y][i] * b[x];
            }
        }
    }

    // 4. Write C = alpha * A * B + beta * C
    #pragma unroll
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x)
            if (exists(y, x)) C[size_t(y) * N + x * LANES] = alpha * acc[y][x] + beta * old[y][x];
}
