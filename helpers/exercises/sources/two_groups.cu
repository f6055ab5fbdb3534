#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define TN 8

// A block of 8 x 8 threads computes a 64 x 64 tile of C. A thread computes 8 rows that are neighbours, and 8 columns in
// two groups of four, half a tile apart.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ alignas(16) float As[BK][BM + 4];   // A tile, transposed and padded: (k, row)
    __shared__ alignas(16) float Bs[BK][BN];       // B tile: (k, col)
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;   // 0 ... 63
    const int row = threadIdx.y * TM;                            // my first row in the tile

    // 1. The first column of my left group, and the first of my right one. Neighbours in x begin four columns apart.
    // <solution>
    const int left = threadIdx.x * 4, right = left + BN / 2;
    // <starter>
    // <neighbours>
    const int left = threadIdx.x * 8, right = left + 4;
    // <groups_overlap>
    const int left = threadIdx.x * 4, right = left + 4;
    // <halves>
    const int left = threadIdx.x, right = left + BN / 2;
    // <end>

    float sums[TM][TN] = {};   // columns 0 ... 3 are those of the left group, 4 ... 7 those of the right one
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 64) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 64) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        // 2. For each k: eight floats of As and twice four of Bs into registers, then 64 products.
        // <solution>
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < 4; ++j) {
                b[j] = Bs[k][left + j];
                b[4 + j] = Bs[k][right + j];
            }
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        // <starter>
        // <left_twice>
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < 4; ++j) {
                b[j] = Bs[k][left + j];
                b[4 + j] = Bs[k][left + j];
            }
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        // <b_side_by_side>
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < 4; ++j) {
                b[j] = Bs[k][left + j];
                b[4 + j] = Bs[k][left + 4 + j];
            }
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        // <a_at_column>
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][left + i];
            for (int j = 0; j < 4; ++j) {
                b[j] = Bs[k][left + j];
                b[4 + j] = Bs[k][right + j];
            }
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        // <replaced>
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < 4; ++j) {
                b[j] = Bs[k][left + j];
                b[4 + j] = Bs[k][right + j];
            }
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] = a[i] * b[j];
        }
        // <end>
        __syncthreads();
    }

    // 3. Store the patch, each group at its columns.
    // <solution>
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < 4; ++j) {
            C[(tile_row + row + i) * N + tile_col + left + j] = sums[i][j];
            C[(tile_row + row + i) * N + tile_col + right + j] = sums[i][4 + j];
        }
    // <starter>
    // <stored_side_by_side>
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < 4; ++j) {
            C[(tile_row + row + i) * N + tile_col + left + j] = sums[i][j];
            C[(tile_row + row + i) * N + tile_col + left + 4 + j] = sums[i][4 + j];
        }
    // <groups_traded>
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < 4; ++j) {
            C[(tile_row + row + i) * N + tile_col + right + j] = sums[i][j];
            C[(tile_row + row + i) * N + tile_col + left + j] = sums[i][4 + j];
        }
    // <end>
}
