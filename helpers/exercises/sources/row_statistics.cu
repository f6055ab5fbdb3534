#define BM 32                // rows of the block's tile of C
#define BN 64
#define BK 8
#define TM 4                 // rows of a thread's patch
#define TN 4
#define THREADS 128          // of a block, 16 of them along a row of the tile
#define FULL 0xffffffffu
#define INFINITY __int_as_float(0x7f800000)

struct Soft {                // of some elements: the largest, and the sum of exp2(element - largest)
    float most, sum;
};

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

// What is true of one element more, v, or of all that other stands for.
__device__ void join(Soft &soft, Soft other) {
    // 1. The larger of the two maxima. Each sum was made with its own maximum: bring both to the larger one.
    //    -INFINITY - (-INFINITY) is NaN: where both are empty there is nothing to do.
    // <solution>
    const float most = fmaxf(soft.most, other.most);
    if (most == -INFINITY) return;
    soft.sum = soft.sum * exp2f(soft.most - most) + other.sum * exp2f(other.most - most);
    soft.most = most;
    // <starter>
    // <end>
}

// of_tile: (tiles along a row, M, 2), of each row the maximum and the sum within a tile. C is not stored.
extern "C" __global__ void __launch_bounds__(THREADS)
row_statistics(int M, int N, int K, const float *A, const float *B, float *of_tile) {
    float acc[TM][TN] = {};   // my patch of C
    multiply(M, N, K, A, B, acc);
    const int first_row = blockIdx.y * BM + threadIdx.x / 16 * TM, first_col = blockIdx.x * BN + threadIdx.x % 16 * TN;

    for (int y = 0; y < TM; ++y) {
        Soft soft = {-INFINITY, 0.0f};
        // 2. Join my elements of row y, those that C has: an element alone is its own maximum, with the sum 1.
        // 3. 16 lanes of a warp have the same rows: join theirs by __shfl_down_sync, with offsets 8, 4, 2, 1.
        // 4. One of these lanes stores both numbers, if C has the row.
        // <solution>
        for (int x = 0; x < TN; ++x)
            if (first_col + x < N) join(soft, {acc[y][x], 1.0f});
        for (int offset = 8; offset > 0; offset /= 2) {
            const float most = __shfl_down_sync(FULL, soft.most, offset);
            const float sum = __shfl_down_sync(FULL, soft.sum, offset);
            join(soft, {most, sum});
        }
        const int row = first_row + y;
        if (threadIdx.x % 16 == 0 && row < M) {
            of_tile[2 * (blockIdx.x * M + row)] = soft.most;
            of_tile[2 * (blockIdx.x * M + row) + 1] = soft.sum;
        }
        // <starter>
        // <end>
    }
}
