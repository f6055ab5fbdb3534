#define BM 64
#define BN 64
#define BK 8
#define TM 4
#define TN 4

// The kernel of notebook 06 with a patch of 4 x 4 per thread. B and C are moved by four floats at a time.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ alignas(16) float As[BM][BK];   // A tile: (row, k)
    __shared__ alignas(16) float Bs[BK][BN];   // B tile: (k, col)
    const int row = threadIdx.y * TM, col = threadIdx.x * TN;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;   // 0 ... 255
    auto b_at = [&](int k, int c) { return c < N ? B[k * N + c] : 0.0f; };   // one float, 0 beyond the end of a row

    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = thread; i < BM * BK; i += 256) As[i / BK][i % BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        if (thread < BK * BN / 4) {   // the first 128 threads load four neighbours of B each
            const int k = thread * 4 / BN, c = thread * 4 % BN;
            // 1. Into Bs[k][c ... c + 3]: one float4 if every row of B begins at a multiple of 16 bytes, and the four lie
            //    in theirs; else four floats.
            // <solution>
            if (N % 4 == 0 && tile_col + c < N)
                *reinterpret_cast<float4 *>(&Bs[k][c]) =
                    *reinterpret_cast<const float4 *>(&B[(k0 + k) * N + tile_col + c]);
            else
                for (int i = 0; i < 4; ++i) Bs[k][c + i] = b_at(k0 + k, tile_col + c + i);
            // <starter>
            // <always_wide>
            if (tile_col + c + 3 < N)
                *reinterpret_cast<float4 *>(&Bs[k][c]) =
                    *reinterpret_cast<const float4 *>(&B[(k0 + k) * N + tile_col + c]);
            else
                for (int i = 0; i < 4; ++i) Bs[k][c + i] = b_at(k0 + k, tile_col + c + i);
            // <never_wide>
            for (int i = 0; i < 4; ++i) Bs[k][c + i] = b_at(k0 + k, tile_col + c + i);
            // <one_of_four>
            if (N % 4 == 0 && tile_col + c < N)
                *reinterpret_cast<float4 *>(&Bs[k][c]) =
                    *reinterpret_cast<const float4 *>(&B[(k0 + k) * N + tile_col + c]);
            else
                Bs[k][c] = b_at(k0 + k, tile_col + c);
            // <same_float>
            if (N % 4 == 0 && tile_col + c < N)
                *reinterpret_cast<float4 *>(&Bs[k][c]) =
                    *reinterpret_cast<const float4 *>(&B[(k0 + k) * N + tile_col + c]);
            else
                for (int i = 0; i < 4; ++i) Bs[k][c + i] = b_at(k0 + k, tile_col + c);
            // <rows_of_K>
            if (K % 4 == 0 && tile_col + c < N)
                *reinterpret_cast<float4 *>(&Bs[k][c]) =
                    *reinterpret_cast<const float4 *>(&B[(k0 + k) * N + tile_col + c]);
            else
                for (int i = 0; i < 4; ++i) Bs[k][c + i] = b_at(k0 + k, tile_col + c + i);
            // <end>
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        float *to = &C[(tile_row + row + i) * N + tile_col + col];   // where the four sums of row i belong
        // 2. Store sums[i][0 ... 3]: one float4 under the same conditions, else those of the four that lie inside C.
        // <solution>
        if (N % 4 == 0) {
            if (tile_col + col < N)
                *reinterpret_cast<float4 *>(to) = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
        } else {
            for (int j = 0; j < TN; ++j)
                if (tile_col + col + j < N) to[j] = sums[i][j];
        }
        // <starter>
        // <store_never_wide>
        for (int j = 0; j < TN; ++j)
            if (tile_col + col + j < N) to[j] = sums[i][j];
        // <store_unguarded>
        if (N % 4 == 0) {
            if (tile_col + col < N)
                *reinterpret_cast<float4 *>(to) = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
        } else {
            for (int j = 0; j < TN; ++j) to[j] = sums[i][j];
        }
        // <tail_dropped>
        if (N % 4 == 0) {
            if (tile_col + col < N)
                *reinterpret_cast<float4 *>(to) = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
        } else if (tile_col + col + 3 < N) {
            for (int j = 0; j < TN; ++j) to[j] = sums[i][j];
        }
        // <end>
    }
}
