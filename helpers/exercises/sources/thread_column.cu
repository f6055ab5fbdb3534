#define BM 32
#define BN 32
#define BK 8
#define TM 4   // rows of C that a thread computes, all in one column

extern "C" __global__ void sgemm_column(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                        const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[BM][BK];   // A tile: (row, k)
    __shared__ float Bs[BK][BN];   // B tile: (k, col)

    const int row = threadIdx.x / BN * TM, col = threadIdx.x % BN;    // mine in C's tile
    const int a_row = threadIdx.x / BK, a_k = threadIdx.x % BK;       // what I load of A's tile
    const int b_k = threadIdx.x / BN, b_col = threadIdx.x % BN;       // what I load of B's tile
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;

    // <starter>
    for (int y = 0; y < TM; ++y) {
        float acc = 0.0f;
        for (int k0 = 0; k0 < K; k0 += BK) {
            As[a_row][a_k] = tile_row + a_row < M && k0 + a_k < K ? A[(tile_row + a_row) * K + k0 + a_k] : 0.0f;
            Bs[b_k][b_col] = k0 + b_k < K && tile_col + b_col < N ? B[(k0 + b_k) * N + tile_col + b_col] : 0.0f;
            __syncthreads();
            for (int k = 0; k < BK; ++k) acc += As[row + y][k] * Bs[k][col];
            __syncthreads();
        }
        const int r = tile_row + row + y, c = tile_col + col;
        if (r < M && c < N) C[r * N + c] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
    }
    // <solution>
    float acc[TM] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[a_row][a_k] = tile_row + a_row < M && k0 + a_k < K ? A[(tile_row + a_row) * K + k0 + a_k] : 0.0f;
        Bs[b_k][b_col] = k0 + b_k < K && tile_col + b_col < N ? B[(k0 + b_k) * N + tile_col + b_col] : 0.0f;
        __syncthreads();
    // <end>
    // <starter>
    // <solution>
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y) acc[y] += As[row + y][k] * Bs[k][col];
    // <one_row_of_A>
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y) acc[y] += As[row][k] * Bs[k][col];
    // <one_sum>
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y) acc[0] += As[row + y][k] * Bs[k][col];
    // <rows_apart>
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y) acc[y] += As[row / TM + y * (BM / TM)][k] * Bs[k][col];
    // <end>
    // <starter>
    // <solution>
        __syncthreads();
    }
    // <one_barrier>
    }
    // <end>
    // <starter>
    // <solution>
    for (int y = 0; y < TM; ++y) {
        const int r = tile_row + row + y, c = tile_col + col;
        if (r < M && c < N) C[r * N + c] = alpha * acc[y] + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
    }
    // <one_element_stored>
    const int r = tile_row + row, c = tile_col + col;
    if (r < M && c < N) C[r * N + c] = alpha * acc[0] + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
    // <guard_of_first_row>
    if (tile_row + row >= M || tile_col + col >= N) return;
    for (int y = 0; y < TM; ++y) {
        const int r = tile_row + row + y, c = tile_col + col;
        C[r * N + c] = alpha * acc[y] + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
    }
    // <end>
}
