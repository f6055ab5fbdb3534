#define BM 64
#define BN 32
#define BK 8
#define TM 4
#define TN 4

// Where row `row` of the A tile is kept in row k of As
__device__ int place(int k, int row) {
    // <starter, padded>
    return row;
    // <solution>
    return row ^ (4 * k);
    // <by_one>
    return row ^ k;
    // <by_eight>
    return row ^ (8 * k);
    // <same_for_all_k>
    return row ^ 4;
    // <folded>
    return row & ~(4 * k);
    // <added>
    return row + 4 * k;
    // <end>
}

extern "C" __global__ void sgemm_swizzle(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                         const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    // <starter, solution>
    __shared__ float As[BK][BM];   // A tile, transposed: (k, place of row)
    // <padded>
    __shared__ float As[BK][BM + 4];   // A tile, transposed: (k, place of row)
    // <end>
    __shared__ float Bs[BK][BN];   // B tile: (k, col)

    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;

    float acc[TM][TN] = {};   // (row, col)
    for (int k0 = 0; k0 < K; k0 += BK) {
        // 1. Load the tiles, 128 elements in each pass: lanes with neighbouring k store to neighbouring rows of As
        for (int i = threadIdx.x; i < BM * BK; i += 128) {
            const int r = tile_row + i / BK, k = k0 + i % BK;
            As[i % BK][place(i % BK, i / BK)] = r < M && k < K ? A[r * K + k] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += 128) {
            const int k = k0 + i / BN, c = tile_col + i % BN;
            Bs[i / BN][i % BN] = k < K && c < N ? B[k * N + c] : 0.0f;
        }
        __syncthreads();

        // 2. Multiply
        for (int k = 0; k < BK; ++k) {
            float a_frag[TM], b_frag[TN];
            // <starter, solution>
            for (int y = 0; y < TM; ++y) a_frag[y] = As[k][place(k, row + y)];
            // <store_only>
            for (int y = 0; y < TM; ++y) a_frag[y] = As[k][row + y];
            // <end>
            for (int x = 0; x < TN; ++x) b_frag[x] = Bs[k][col + x];
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) acc[y][x] += a_frag[y] * b_frag[x];
        }
        __syncthreads();
    }

    // 3. Write C = alpha * A * B + beta * C
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) {
            const int r = tile_row + row + y, c = tile_col + col + x;
            if (r < M && c < N) C[r * N + c] = alpha * acc[y][x] + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
        }
}
