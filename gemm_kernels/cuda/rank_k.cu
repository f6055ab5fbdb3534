// Rank-k update: with few k, little is multiplied for each element of C that is read and written, and a pipeline has
// nothing to hide behind. A block copies all that it needs of A and B at once, waits once, multiplies and is done. Every
// instruction counts, because there are few FMAs to pay for it.

__device__ __forceinline__ unsigned shared_address(const float &element) {
    return unsigned(__cvta_generic_to_shared(&element));
}

// Start the copy of WIDTH neighbours from global to shared memory
template <int WIDTH>
__device__ __forceinline__ void copy_async(float &shared, const float *global) {
    if constexpr (WIDTH == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(shared_address(shared)), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :: "r"(shared_address(shared)), "l"(global) : "memory");
}

template <int WIDTH>
__device__ __forceinline__ void move(float &to, const float &from) {   // WIDTH neighbours, by one instruction
    if constexpr (WIDTH == 4) reinterpret_cast<float4 &>(to) = reinterpret_cast<const float4 &>(from);
    else if constexpr (WIDTH == 2) reinterpret_cast<float2 &>(to) = reinterpret_cast<const float2 &>(from);
    else to = from;
}

constexpr int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }   // the greatest

// WIDTH: floats of a row of B or C that are moved at a time
template <int BM, int BN, int BK, int TM, int TN, int WIDTH>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C) {
    constexpr int THREADS = (BM / TM) * (BN / TN);
    constexpr int PAD = 4;                                       // floats
    constexpr int ROW_STRIDE = 4 * BM / TM;                      // from four rows of a thread to its next four
    constexpr int TOGETHER = common_divisor(TN, 4);              // columns of a thread that are neighbours
    constexpr int COL_STRIDE = TOGETHER * BN / TN;               // from so many columns to its next ones
    constexpr int A_LANES = 8;                                   // threads along a row of A: a sector
    constexpr int LANES = common_divisor(BN / WIDTH, THREADS);   // threads along a row of B and of C
    constexpr int ROWS = THREADS / LANES;                        // rows of them that the block moves at a time
    constexpr int PIECES = BN / (LANES * WIDTH);                 // of WIDTH floats, of such a row for each thread
    constexpr int BATCH = 16 / WIDTH < PIECES ? 1 : 16 / WIDTH / PIECES;   // rows of C that a thread loads at once
    extern __shared__ float4 shared[];
    auto As = reinterpret_cast<float (*)[BM + PAD]>(shared);   // (k, row)
    auto Bs = reinterpret_cast<float (*)[BN]>(&As[BK][0]);     // (k, col)
    auto sums = reinterpret_cast<float (*)[BN]>(shared);       // (row, col), where the tiles were

    // 1. Which tile of C is the block's, which of its elements do I multiply, and which do I move?
    const unsigned tiles_across = (N - 1) / BN + 1, thread = threadIdx.x;
    const unsigned tile_row = blockIdx.x / tiles_across * BM, tile_col = blockIdx.x % tiles_across * BN;
    const int rows = min(BM, M - tile_row), cols = min(BN, N - tile_col);
    const unsigned own_row = thread / (BN / TN) * 4, own_col = thread % (BN / TN) * TOGETHER;
    const int lane_row = thread / LANES, lane_col = thread % LANES * WIDTH;
    A += size_t(tile_row) * K;
    B += tile_col;
    C += size_t(tile_row) * N + tile_col;

    // 2. Copy so many k of the tiles. What is beyond an edge is copied from the edge: it ends in no element of C
    auto copy = [&](int k_begin, int depth) {
        const int own_k = thread % A_LANES;
        #pragma unroll 1
        for (int row = thread / A_LANES; row < BM; row += THREADS / A_LANES) {
            const float *from = &A[size_t(min(row, rows - 1)) * K + k_begin + own_k];
            float *to = &As[own_k][row];
            #pragma unroll
            for (int k = 0; k < BK; k += A_LANES)
                if (own_k + k < depth) copy_async<1>(to[k * (BM + PAD)], from + k);
        }
        #pragma unroll 2
        for (int k = lane_row; k < depth; k += ROWS)
            for (int col = lane_col; col < BN; col += LANES * WIDTH)
                copy_async<WIDTH>(Bs[k][col], &B[size_t(k_begin + k) * N + min(col, cols - WIDTH)]);
    };

    // 3. Copy, wait for all of it, and multiply
    float acc[TM][TN] = {};
    #pragma unroll 1
    for (int k_begin = 0; k_begin < K; k_begin += BK) {
        const int depth = min(BK, K - k_begin);
        if (k_begin != 0) __syncthreads();   // all threads have read the last ones before these are copied over them
        copy(k_begin, depth);
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();   // what all threads copied is there
        #pragma unroll 4
        for (int k = 0; k < depth; ++k) {
            float a[TM], b[TN];
            for (int y = 0; y < TM; y += 4) move<4>(a[y], As[k][own_row + y / 4 * ROW_STRIDE]);
            for (int x = 0; x < TN; x += TOGETHER)
                move<TOGETHER>(b[x], Bs[k][own_col + x / TOGETHER * COL_STRIDE]);
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) acc[y][x] += a[y] * b[x];
        }
    }

    // 4. The sums pass through shared memory, so that neighbouring threads read and write neighbours in C
    __syncthreads();   // all threads have read the tiles before sums are stored in their place
    #pragma unroll
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; x += TOGETHER)
            move<TOGETHER>(sums[own_row + y / 4 * ROW_STRIDE + y % 4][own_col + x / TOGETHER * COL_STRIDE], acc[y][x]);
    __syncthreads();   // the sums of all threads are there

    // 5. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    #pragma unroll 1
    for (int first = lane_row; first < rows; first += ROWS * BATCH) {
        float old[BATCH][PIECES][WIDTH] = {};
        auto row = [&](int i) { return first + i * ROWS; };
        auto col = [&](int piece) { return lane_col + piece * LANES * WIDTH; };
        auto exists = [&](int i, int piece) { return row(i) < rows && col(piece) < cols; };
        #pragma unroll
        for (int i = 0; i < BATCH; ++i)
            for (int piece = 0; piece < PIECES; ++piece)
                if (beta != 0.0f && exists(i, piece))
                    move<WIDTH>(old[i][piece][0], C[size_t(row(i)) * N + col(piece)]);
        #pragma unroll
        for (int i = 0; i < BATCH; ++i)
            for (int piece = 0; piece < PIECES; ++piece)
                if (exists(i, piece)) {
                    float sum[WIDTH];
                    move<WIDTH>(sum[0], sums[row(i)][col(piece)]);
                    for (int x = 0; x < WIDTH; ++x) sum[x] = alpha * sum[x] + beta * old[i][piece][x];
                    move<WIDTH>(C[size_t(row(i)) * N + col(piece)], sum[0]);
                }
    }
}

template <int BM, int BN, int BK, int TM, int TN, int BLOCKS>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), BLOCKS)
sgemm_rank_k(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
             const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    constexpr int THREADS = (BM / TM) * (BN / TN);
    constexpr int PAD = 4;   // floats
    static_assert(BM >= 1 && BN >= 1 && BK >= 1 && TM >= 1 && TN >= 1, "BM, BN, BK, TM and TN must be at least 1");
    static_assert(BM % TM == 0 && BN % TN == 0, "BM must be a multiple of TM, and BN of TN");
    static_assert(TM % 4 == 0 && BN % 4 == 0, "TM and BN must be multiples of 4, the floats of a float4");
    static_assert(THREADS % 32 == 0, "THREADS = (BM / TM) * (BN / TN) must be a multiple of 32, the lanes of a warp");
    static_assert(THREADS <= 1024, "THREADS = (BM / TM) * (BN / TN) must be at most 1024, the most a block can have");
    static_assert(BLOCKS >= 1 && BLOCKS * THREADS <= 2048,
                  "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold");
    static_assert(4 * BK * (BM + PAD + BN) <= 232448,
                  "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have");
    static_assert(4 * BM * BN <= 232448, "the sums must fit in 232448 bytes, too");
    // Two versions of everything, so that nothing has to ask whether rows of B and C start at 16 bytes
    if (N % 4 == 0 && reinterpret_cast<size_t>(B) % 16 == 0 && reinterpret_cast<size_t>(C) % 16 == 0)
        work<BM, BN, BK, TM, TN, 4>(M, N, K, alpha, A, B, beta, C);
    else work<BM, BN, BK, TM, TN, 1>(M, N, K, alpha, A, B, beta, C);
}
