// BM x BN is the tile of C that a block computes, BK the depth of its tiles of A and B, TM x TN the patch of a thread.
// The block is one line of threads, one for each patch. M, N and K are multiples of BM, BN and BK.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BK][BM + 4];   // A tile, transposed and padded: (k, row)
    __shared__ float Bs[BK][BN];       // B tile: (k, col)

    // 1. Two rules, as static_assert(condition, "a sentence"): patches fill the rows of the tile, and its columns.
    // 2. How many threads has the block? A third rule: 1024 at most.
    // <solution>
    static_assert(BM % TM == 0, "BM must be a multiple of TM");
    static_assert(BN % TN == 0, "BN must be a multiple of TN");
    constexpr int THREADS = (BM / TM) * (BN / TN);
    static_assert(THREADS <= 1024, "a block has at most 1024 threads");
    // <starter>
    // <no_rules>
    constexpr int THREADS = (BM / TM) * (BN / TN);
    // <no_limit>
    static_assert(BM % TM == 0, "BM must be a multiple of TM");
    static_assert(BN % TN == 0, "BN must be a multiple of TN");
    constexpr int THREADS = (BM / TM) * (BN / TN);
    // <sixty_four>
    static_assert(BM % TM == 0, "BM must be a multiple of TM");
    static_assert(BN % TN == 0, "BN must be a multiple of TN");
    constexpr int THREADS = 64;
    static_assert((BM / TM) * (BN / TN) <= 1024, "a block has at most 1024 threads");
    // <end>

    // 3. The patches lie in rows of BN / TN. Where does mine begin inside the block's tile, and where does the tile?
    // <solution>
    const int thread = threadIdx.x;
    const int row = thread / (BN / TN) * TM;
    const int col = thread % (BN / TN) * TN;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    // <starter>
    // <patches_down>
    const int thread = threadIdx.x;
    const int row = thread / (BM / TM) * TM;
    const int col = thread % (BM / TM) * TN;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    // <rows_of_sixteen>
    const int thread = threadIdx.x;
    const int row = thread / 16 * TM;
    const int col = thread % 16 * TN;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    // <not_scaled>
    const int thread = threadIdx.x;
    const int row = thread / (BN / TN);
    const int col = thread % (BN / TN);
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    // <end>

    // For each tile along k:
    //   4. load: all threads together, however many they are;                          5. wait;
    //   6. for each k: TM floats of As[k] and TN of Bs[k], then TM * TN products;      7. wait.
    // <solution>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += THREADS) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += THREADS) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    // <starter>
    // <one_barrier>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += THREADS) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += THREADS) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
    }
    // <depth_of_eight>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += THREADS) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += THREADS) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    // <end>

    // 8. Store the patch.
    // <solution>
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) C[(tile_row + row + i) * N + tile_col + col + j] = sums[i][j];
    // <starter>
    // <four_by_four>
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) C[(tile_row + row + i) * N + tile_col + col + j] = sums[i][j];
    // <end>
}
