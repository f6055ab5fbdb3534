#define BM 64
#define BN 64
#define BK 8
#define WM 32   // a warp's tile of C: the block's 4 warps stand in 2 rows of 2
#define WN 32
#define TM 8    // a lane's patch of the warp's tile: the lanes stand in 4 rows of 8
#define TN 4

// 128 threads, 4 warps. M and N are multiples of 64, K of 8.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ alignas(16) float As[BK][BM];   // A tile, transposed: (k, row)
    __shared__ alignas(16) float Bs[BK][BN];   // B tile: (k, col)
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;

    // 1. Where does my warp's tile begin inside the block's, and where my patch inside the warp's? Give the lanes places
    //    in which neither all lanes i and i ^ 1 nor all lanes i and i ^ 2 share their row or their column.
    int row = 0, col = 0;
    // <starter>
    // <solution>
    const int lane_y = lane / 4 % 4 ^ (lane ^ lane / 2) % 2;
    const int lane_x = lane % 4 + lane / 16 * 4;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <row_by_row>
    const int lane_y = lane / 8;
    const int lane_x = lane % 8;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <column_by_column>
    const int lane_y = lane % 4;
    const int lane_x = lane / 4;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <zigzag>
    const int lane_y = lane / 2 % 4;
    const int lane_x = lane / 8 * 2 + lane % 2;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <no_parity>
    const int lane_y = lane / 4 % 4;
    const int lane_x = lane % 4 + lane / 16 * 4;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <lowest_bit>
    const int lane_y = lane / 4 % 4 ^ lane % 2;
    const int lane_x = lane % 4 + lane / 16 * 4;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <two_in_one_place>
    const int lane_y = lane / 8 ^ (lane ^ lane / 2) % 2;
    const int lane_x = lane % 4 + lane / 16 * 4;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <beyond_the_tile>
    const int lane_y = lane / 4 ^ (lane ^ lane / 2) % 2;
    const int lane_x = lane % 4;
    row = warp / (BN / WN) * WM + lane_y * TM;
    col = warp % (BN / WN) * WN + lane_x * TN;
    // <places_for_patches>
    const int lane_y = lane / 4 % 4 ^ (lane ^ lane / 2) % 2;
    const int lane_x = lane % 4 + lane / 16 * 4;
    row = warp / (BN / WN) * WM + lane_y;
    col = warp % (BN / WN) * WN + lane_x;
    // <warps_in_a_row>
    const int lane_y = lane / 4 % 4 ^ (lane ^ lane / 2) % 2;
    const int lane_x = lane % 4 + lane / 16 * 4;
    row = lane_y * TM;
    col = warp * WN + lane_x * TN;
    // <end>

    float sums[TM][TN] = {};   // (row, col)
    // 2. For each tile along k: load both tiles, A's transposed; wait; for each k two float4s of As[k] and one of Bs[k],
    //    then TM * TN products; wait.
    // <starter>
    // <solution>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 128) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 128) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 upper = *reinterpret_cast<const float4 *>(&As[k][row]);
            const float4 lower = *reinterpret_cast<const float4 *>(&As[k][row + 4]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][col]);
            const float a_frag[TM] = {upper.x, upper.y, upper.z, upper.w, lower.x, lower.y, lower.z, lower.w};
            const float b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) sums[y][x] += a_frag[y] * b_frag[x];
        }
        __syncthreads();
    }
    // <no_second_barrier>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 128) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 128) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 upper = *reinterpret_cast<const float4 *>(&As[k][row]);
            const float4 lower = *reinterpret_cast<const float4 *>(&As[k][row + 4]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][col]);
            const float a_frag[TM] = {upper.x, upper.y, upper.z, upper.w, lower.x, lower.y, lower.z, lower.w};
            const float b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) sums[y][x] += a_frag[y] * b_frag[x];
        }
    }
    // <upper_half_twice>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 128) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 128) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 upper = *reinterpret_cast<const float4 *>(&As[k][row]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][col]);
            const float a_frag[TM] = {upper.x, upper.y, upper.z, upper.w, upper.x, upper.y, upper.z, upper.w};
            const float b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) sums[y][x] += a_frag[y] * b_frag[x];
        }
        __syncthreads();
    }
    // <one_by_one>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 128) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 128) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const volatile float *a_frag = &As[k][row], *b_frag = &Bs[k][col];
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) sums[y][x] += a_frag[y] * b_frag[x];
        }
        __syncthreads();
    }
    // <end>

    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) C[(tile_row + row + y) * N + tile_col + col + x] = sums[y][x];
}
