#define BM 64
#define BN 32
#define BK 8
#define WM 16   // a warp's tile of C
#define WN 16
#define TM 4    // a thread's patch of the warp's tile: 4 x 8 lanes
#define TN 2

extern "C" __global__ void sgemm_warp_place(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                            const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ float As[BK][BM];   // A tile, transposed: (k, row)
    __shared__ float Bs[BK][BN];   // B tile: (k, col)

    // 1. Which warp's tile is mine, and which patch of it?
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // <starter>
    const int warp_row = warp % (BM / WM), warp_col = warp % (BN / WN);
    // <solution>
    const int warp_row = warp / (BN / WN), warp_col = warp % (BN / WN);
    // <rows_of_four>
    const int warp_row = warp / (BM / WM), warp_col = warp % (BM / WM);
    // <end>
    // <starter, solution>
    const int lane_row = lane / (WN / TN), lane_col = lane % (WN / TN);
    // <lanes_by_rows>
    const int lane_row = lane / (WM / TM), lane_col = lane % (WM / TM);
    // <end>
    // <starter, solution>
    const int row = warp_row * WM + lane_row * TM, col = warp_col * WN + lane_col * TN;
    // <warp_not_scaled>
    const int row = warp_row + lane_row * TM, col = warp_col + lane_col * TN;
    // <lane_not_scaled>
    const int row = warp_row * WM + lane_row, col = warp_col * WN + lane_col;
    // <sizes_traded>
    const int row = warp_row * WM + lane_row * TN, col = warp_col * WN + lane_col * TM;
    // <end>
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;

    float acc[TM][TN] = {};   // (row, col)
    for (int k0 = 0; k0 < K; k0 += BK) {
        // 2. Load the tiles, 256 elements in each pass
        for (int i = threadIdx.x; i < BM * BK; i += 256) {
            const int r = tile_row + i / BK, k = k0 + i % BK;
            As[i % BK][i / BK] = r < M && k < K ? A[r * K + k] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += 256) {
            const int k = k0 + i / BN, c = tile_col + i % BN;
            Bs[i / BN][i % BN] = k < K && c < N ? B[k * N + c] : 0.0f;
        }
        __syncthreads();

        // 3. Multiply
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) acc[y][x] += As[k][row + y] * Bs[k][col + x];
        __syncthreads();
    }

    // 4. Write C = alpha * A * B + beta * C
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) {
            const int r = tile_row + row + y, c = tile_col + col + x;
            if (r < M && c < N) C[r * N + c] = alpha * acc[y][x] + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
        }
}
