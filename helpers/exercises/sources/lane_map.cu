// One warp computes a tile of 16 x 32 elements; each lane a patch of 4 x 4, so that the lanes are 4 down and 8 across.
extern "C" __global__ void sgemm_lane_map(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                          const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    __shared__ alignas(16) float As[8][16];   // A tile, transposed: (k, row)
    __shared__ alignas(16) float Bs[8][32];   // B tile: (k, col)

    // 1. Which patch is mine? lane_y is 0 ... 3, lane_x is 0 ... 7
    const int lane = threadIdx.x;
    // <starter>
    const int lane_y = lane / 8, lane_x = lane % 8;
    // <solution>
    const int lane_y = lane / 2 % 4, lane_x = lane / 8 * 2 + lane % 2;
    // <by_columns>
    const int lane_y = lane % 4, lane_x = lane / 4;
    // <rotated>
    const int lane_y = lane / 8, lane_x = (lane + lane / 8) % 8;
    // <four_rows>
    const int lane_y = lane / 4 % 4, lane_x = lane % 4 + lane / 16 * 4;
    // <not_all>
    const int lane_y = lane / 2 % 4, lane_x = lane / 8 + lane % 2;
    // <traded>
    const int lane_y = lane % 8, lane_x = lane / 8;
    // <end>
    const int row = lane_y * 4, col = lane_x * 4;
    const int tile_row = blockIdx.y * 16, tile_col = blockIdx.x * 32;

    float acc[4][4] = {};   // (row, col)
    for (int k0 = 0; k0 < K; k0 += 8) {
        // 2. Load the tiles
        for (int i = lane; i < 16 * 8; i += 32) {
            const int r = tile_row + i / 8, k = k0 + i % 8;
            As[i % 8][i / 8] = r < M && k < K ? A[r * K + k] : 0.0f;
        }
        for (int i = lane; i < 8 * 32; i += 32) {
            const int k = k0 + i / 32, c = tile_col + i % 32;
            Bs[i / 32][i % 32] = k < K && c < N ? B[k * N + c] : 0.0f;
        }
        __syncthreads();

        // 3. Multiply: two 128-bit loads for 16 FMAs
        for (int k = 0; k < 8; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&As[k][row]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][col]);
            const float a_frag[4] = {a.x, a.y, a.z, a.w}, b_frag[4] = {b.x, b.y, b.z, b.w};
            for (int y = 0; y < 4; ++y)
                for (int x = 0; x < 4; ++x) acc[y][x] += a_frag[y] * b_frag[x];
        }
        __syncthreads();
    }

    // 4. Write C = alpha * A * B + beta * C
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x) {
            const int r = tile_row + row + y, c = tile_col + col + x;
            if (r < M && c < N) C[r * N + c] = alpha * acc[y][x] + (beta == 0.0f ? 0.0f : beta * C[r * N + c]);
        }
}
