#define BM 64
#define BN 64
#define BK 8
#define WM 16   // a warp's tile of C
#define WN 32
#define TM 4    // a lane's patch of the warp's tile: 4 x 8 lanes
#define TN 4

// A block of 256 threads is 8 warps: they share out the block's tile, and a warp's lanes share out the warp's tile.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ alignas(16) float As[BK][BM];   // A tile, transposed: (k, row)
    __shared__ alignas(16) float Bs[BK][BN];   // B tile: (k, col)
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.x;            // 0 ... 255: the block is one line of threads

    // 1. Which warp of the block am I in, and which lane of it? The warps' tiles lie in rows of BN / WN, the lanes'
    //    patches in rows of WN / TN. Where does my patch begin inside the block's tile? Set row and col.
    int row = 0, col = 0;
    // <solution>
    const int warp = thread / 32, lane = thread % 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int lane_row = lane / (WN / TN) * TM, lane_col = lane % (WN / TN) * TN;
    row = warp_row + lane_row;
    col = warp_col + lane_col;
    // <starter>
    // <no_warp_tiles>
    row = thread / (BN / TN) * TM;
    col = thread % (BN / TN) * TN;
    // <warps_down>
    const int warp = thread / 32, lane = thread % 32;
    const int warp_row = warp / (BM / WM) * WM, warp_col = warp % (BM / WM) * WN;
    const int lane_row = lane / (WN / TN) * TM, lane_col = lane % (WN / TN) * TN;
    row = warp_row + lane_row;
    col = warp_col + lane_col;
    // <lanes_down>
    const int warp = thread / 32, lane = thread % 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int lane_row = lane / (WM / TM) * TM, lane_col = lane % (WM / TM) * TN;
    row = warp_row + lane_row;
    col = warp_col + lane_col;
    // <warp_unscaled>
    const int warp = thread / 32, lane = thread % 32;
    const int warp_row = warp / (BN / WN), warp_col = warp % (BN / WN);
    const int lane_row = lane / (WN / TN) * TM, lane_col = lane % (WN / TN) * TN;
    row = warp_row + lane_row;
    col = warp_col + lane_col;
    // <lane_unscaled>
    const int warp = thread / 32, lane = thread % 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int lane_row = lane / (WN / TN), lane_col = lane % (WN / TN);
    row = warp_row + lane_row;
    col = warp_col + lane_col;
    // <warp_from_lane>
    const int warp = thread % 32, lane = thread / 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int lane_row = lane / (WN / TN) * TM, lane_col = lane % (WN / TN) * TN;
    row = warp_row + lane_row;
    col = warp_col + lane_col;
    // <warp_forgotten>
    const int lane = thread % 32;
    const int lane_row = lane / (WN / TN) * TM, lane_col = lane % (WN / TN) * TN;
    row = lane_row;
    col = lane_col;
    // <end>

    // For each tile along k:
    //   2. load: the 256 threads share out the elements of both tiles, and store A's transposed;             3. wait;
    //   4. for each k: a float4 of As[k] from row on, a float4 of Bs[k] from col on, then TM * TN products;  5. wait.
    float sums[TM][TN] = {};
    // <solution>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&As[k][row]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][col]);
            const float a_frag[TM] = {a.x, a.y, a.z, a.w}, b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a_frag[i] * b_frag[j];
        }
        __syncthreads();
    }
    // <starter>
    // <no_second_barrier>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&As[k][row]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][col]);
            const float a_frag[TM] = {a.x, a.y, a.z, a.w}, b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a_frag[i] * b_frag[j];
        }
    }
    // <not_transposed>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i / BM][i % BM] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&As[k][row]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][col]);
            const float a_frag[TM] = {a.x, a.y, a.z, a.w}, b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a_frag[i] * b_frag[j];
        }
        __syncthreads();
    }
    // <fragments_traded>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&As[k][col]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][row]);
            const float a_frag[TM] = {a.x, a.y, a.z, a.w}, b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a_frag[i] * b_frag[j];
        }
        __syncthreads();
    }
    // <first_k_alone>
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&As[0][row]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[0][col]);
            const float a_frag[TM] = {a.x, a.y, a.z, a.w}, b_frag[TN] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a_frag[i] * b_frag[j];
        }
        __syncthreads();
    }
    // <end>

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) C[(tile_row + row + i) * N + tile_col + col + j] = sums[i][j];
}
