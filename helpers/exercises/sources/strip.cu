#define BM 32   // rows of a block's tile of C
#define BN 32   // columns of it, and threads of a block along x
#define BK 8    // k of a tile, and threads of a block along y
#define TM 4    // elements of C that a thread computes, one below the other

// A block of 32 x 8 threads computes a 32 x 32 tile of C;
// thread (x, y) computes rows 4 * y ... 4 * y + 3 of column x.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BM][BK];   // A tile: (row, k)
    __shared__ float Bs[BK][BN];   // B tile: (k, col)
    const int x = threadIdx.x, y = threadIdx.y;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = y * BN + x;                      // 0 ... 255, to share out the A tile
    const int a_row = thread / BK, a_k = thread % BK;   // my element of it

    float sums[TM] = {};   // (row)

    // For each tile along k:
    //   1. load my element of each tile;   2. wait;
    //   3. for each k of the tile: read the element of Bs once, use it for all TM sums;   4. wait.
    // <solution>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k][x];
            for (int i = 0; i < TM; ++i) sums[i] += As[y * TM + i][k] * b;
        }
        __syncthreads();
    }
    // <starter>
    // <rows_apart>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k][x];
            for (int i = 0; i < TM; ++i) sums[i] += As[y + i][k] * b;
        }
        __syncthreads();
    }
    // <one_sum>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k][x];
            for (int i = 0; i < TM; ++i) sums[0] += As[y * TM + i][k] * b;
        }
        __syncthreads();
    }
    // <same_row>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k][x];
            for (int i = 0; i < TM; ++i) sums[i] += As[y * TM][k] * b;
        }
        __syncthreads();
    }
    // <b_from_row>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            for (int i = 0; i < TM; ++i) sums[i] += As[y * TM + i][k] * Bs[y][x];
        }
        __syncthreads();
    }
    // <too_few_k>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < TM; ++k) {
            const float b = Bs[k][x];
            for (int i = 0; i < TM; ++i) sums[i] += As[y * TM + i][k] * b;
        }
        __syncthreads();
    }
    // <no_second_barrier>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + a_row) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k][x];
            for (int i = 0; i < TM; ++i) sums[i] += As[y * TM + i][k] * b;
        }
    }
    // <one_row_loaded>
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = A[(tile_row + y) * K + k0 + a_k];
        Bs[y][x] = B[(k0 + y) * N + tile_col + x];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k][x];
            for (int i = 0; i < TM; ++i) sums[i] += As[y * TM + i][k] * b;
        }
        __syncthreads();
    }
    // <end>

    // 5. Store the TM sums, one below the other.
    // <solution>
    for (int i = 0; i < TM; ++i) C[(tile_row + y * TM + i) * N + tile_col + x] = sums[i];
    // <starter>
    // <stores_apart>
    for (int i = 0; i < TM; ++i) C[(tile_row + y + i * BK) * N + tile_col + x] = sums[i];
    // <stores_one>
    C[(tile_row + y * TM) * N + tile_col + x] = sums[0];
    // <stores_along>
    for (int i = 0; i < TM; ++i) C[(tile_row + y) * N + tile_col + x * TM + i] = sums[i];
    // <end>
}
