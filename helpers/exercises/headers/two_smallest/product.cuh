// The multiplication of notebook 17.
#define BM 32                // rows of the block's tile of C
#define BN 64
#define BK 8
#define TM 4                 // rows of a thread's patch
#define TN 4
#define THREADS 128          // of a block, 16 of them along a row of the tile

// The block's tile of C = A * B as in notebook 06: acc becomes my patch of TM x TN elements.
__device__ void multiply(int M, int N, int K, const float *A, const float *B, float (&acc)[TM][TN]) {
    __shared__ float As[BK][BM], Bs[BK][BN];   // A tile, transposed: (k, row); B tile: (k, col)
    const int t = threadIdx.x;
    for (int first = 0; first < K; first += BK) {
        for (int i = 0; i < BM * BK / THREADS; ++i) {
            const int e = i * THREADS + t;
            const int row = blockIdx.y * BM + e / BK, k = first + e % BK;
            As[e % BK][e / BK] = row < M && k < K ? A[row * K + k] : 0.0f;
        }
        for (int i = 0; i < BK * BN / THREADS; ++i) {
            const int e = i * THREADS + t;
            const int k = first + e / BN, col = blockIdx.x * BN + e % BN;
            Bs[e / BN][e % BN] = k < K && col < N ? B[k * N + col] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) acc[y][x] += As[k][t / 16 * TM + y] * Bs[k][t % 16 * TN + x];
        __syncthreads();
    }
}
