#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define TN 8

// The kernel of notebook 08 with patches of 8 x 8. A block has 8 x 8 threads, and an SM few warps: while they wait for a
// tile, no warp multiplies.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    // <solution>
    __shared__ alignas(16) float As[2][BK][BM + 4];   // A tiles, transposed and padded: (buffer, k, row)
    __shared__ alignas(16) float Bs[2][BK][BN + 4];   // B tiles, padded: (buffer, k, col)
    // <starter>
    __shared__ alignas(16) float As[BK][BM + 4];   // A tile, transposed and padded: (k, row)
    __shared__ alignas(16) float Bs[BK][BN + 4];   // B tile, padded: (k, col)
    // <end>
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;   // 0 ... 63
    const int row = threadIdx.y * TM;
    const int left = threadIdx.x * 4, right = left + BN / 2;

    float sums[TM][TN] = {};   // columns 0 ... 3 are those of the left group, 4 ... 7 those of the right one
    // <solution>
    float next_a[BM * BK / 64], next_b[BK * BN / 64];   // my elements of the next tiles, on their way
    for (int i = thread; i < BM * BK; i += 64) As[0][i % BK][i / BK] = A[(tile_row + i / BK) * K + i % BK];
    for (int i = thread; i < BK * BN; i += 64) Bs[0][i / BN][i % BN] = B[(i / BN) * N + tile_col + i % BN];
    __syncthreads();
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int k1 = k0 + BK;
        if (k1 < K)
            for (int n = 0; n < BM * BK / 64; ++n) {   // both tiles have as many elements
                const int i = thread + 64 * n;
                next_a[n] = A[(tile_row + i / BK) * K + k1 + i % BK];
                next_b[n] = B[(k1 + i / BN) * N + tile_col + i % BN];
            }
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[now][k][row + i];
            for (int j = 0; j < 4; ++j) {
                b[j] = Bs[now][k][left + j];
                b[4 + j] = Bs[now][k][right + j];
            }
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        if (k1 < K)
            for (int n = 0; n < BM * BK / 64; ++n) {
                const int i = thread + 64 * n;
                As[1 - now][i % BK][i / BK] = next_a[n];
                Bs[1 - now][i / BN][i % BN] = next_b[n];
            }
        __syncthreads();
        now = 1 - now;
    }
    // <starter>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 64) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 64) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
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
        __syncthreads();
    }
    // <end>

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < 4; ++j) {
            C[(tile_row + row + i) * N + tile_col + left + j] = sums[i][j];
            C[(tile_row + row + i) * N + tile_col + right + j] = sums[i][4 + j];
        }
}
