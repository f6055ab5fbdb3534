#define BM 64   // rows of a block's tile of C
#define BN 64   // columns of it
#define BK 8    // k of a tile
#define TM 4    // rows and
#define TN 4    // columns of a thread's patch of C

// A block of 16 x 16 threads computes a 64 x 64 tile of C;
// thread (x, y) computes a 4 x 4 patch of it.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BM][BK];   // A tile: (row, k)
    __shared__ float Bs[BK][BN];   // B tile: (k, col)

    // 1. The first row and column of my patch inside the tile, and where the tile begins in C.
    // <solution>
    const int row = threadIdx.y * TM, col = threadIdx.x * TN;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    // <starter>
    // <patches_overlap>
    const int row = threadIdx.y, col = threadIdx.x;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    // <end>

    // For each tile along k:
    //   2. load: a tile has 512 elements for 256 threads, so two of A and two of B for each;
    //   3. wait;
    //   4. for each k: TM floats of As, TN floats of Bs into registers; then TM * TN products;
    //   5. wait.
    // <solution>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i / BK][i % BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    // <starter>
    // <half_loaded>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[thread / BK][thread % BK] = A[(tile_row + thread / BK) * K + k0 + thread % BK];
        Bs[thread / BN][thread % BN] = B[(k0 + thread / BN) * N + tile_col + thread % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    // <no_second_barrier>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i / BK][i % BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
    }
    // <diagonal_alone>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i / BK][i % BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < TM; ++i) sums[i][i] += As[row + i][k] * Bs[k][col + i];
        __syncthreads();
    }
    // <widths_swapped>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i % BM][i / BM] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    // <b_at_row>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i / BK][i % BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][row + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    // <no_fragments>
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i / BK][i % BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j)
                for (int k = 0; k < BK; ++k)
                    sums[i][j] += ((volatile float *)As)[(row + i) * BK + k] * ((volatile float *)Bs)[k * BN + col + j];
        __syncthreads();
    }
    // <end>

    // 6. Store the patch.
    // <solution>
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) C[(tile_row + row + i) * N + tile_col + col + j] = sums[i][j];
    // <starter>
    // <stores_traded>
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) C[(tile_row + row + j) * N + tile_col + col + i] = sums[i][j];
    // <end>
}
