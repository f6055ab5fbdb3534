#define BM 32
#define BN 32
#define BK 8
#define TM 4   // a thread computes TM x TN elements of C
#define TN 4

extern "C" __global__ void sgemm_patch(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                       const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[BM][BK];   // A tile: (row, k)
    __shared__ float Bs[BK][BN];   // B tile: (k, col)

    // 1. My TM x TN elements of the block's tile
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;

    float acc[TM][TN] = {};   // (row, col)
    for (int k0 = 0; k0 < K; k0 += BK) {
        // 2. Load the tiles, 64 elements in each pass
        for (int i = threadIdx.x; i < BM * BK; i += 64) {
            const int r = tile_row + i / BK, k = k0 + i % BK;
            As[i / BK][i % BK] = r < M && k < K ? A[r * K + k] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += 64) {
            const int k = k0 + i / BN, c = tile_col + i % BN;
            Bs[i / BN][i % BN] = k < K && c < N ? B[k * N + c] : 0.0f;
        }
        __syncthreads();

        // 3. Multiply: the outer product of a column of As and a row of Bs
        for (int k = 0; k < BK; ++k) {
            float a_frag[TM], b_frag[TN];
            // <starter, solution>
            for (int y = 0; y < TM; ++y) a_frag[y] = As[row + y][k];
            // <a_stands_still>
            for (int y = 0; y < TM; ++y) a_frag[y] = As[row][k];
            // <end>
            // <starter>
            for (int x = 0; x < TN; ++x) b_frag[x] = Bs[k][threadIdx.x % (BN / TN) + x];
            // <solution>
            for (int x = 0; x < TN; ++x) b_frag[x] = Bs[k][col + x];
            // <columns_apart>
            for (int x = 0; x < TN; ++x) b_frag[x] = Bs[k][threadIdx.x % (BN / TN) + x * (BN / TN)];
            // <b_stands_still>
            for (int x = 0; x < TN; ++x) b_frag[x] = Bs[k][col];
            // <end>
            for (int y = 0; y < TM; ++y)
                // <starter, solution>
                for (int x = 0; x < TN; ++x) acc[y][x] += a_frag[y] * b_frag[x];
                // <traded>
                for (int x = 0; x < TN; ++x) acc[y][x] += a_frag[x] * b_frag[y];
                // <diagonal>
                for (int x = 0; x < TN; ++x) acc[y][x] += a_frag[y] * b_frag[y];
                // <replaced>
                for (int x = 0; x < TN; ++x) acc[y][x] = a_frag[y] * b_frag[x];
                // <end>
        }
        __syncthreads();
    }

    // 4. Write C = alpha * A * B + beta * C
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) {
            const int r = tile_row + row + y, c = tile_col + col + x;
            if (r < M && c < N) C[r * N + c] = alpha * acc[y][x] + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
        }
}
