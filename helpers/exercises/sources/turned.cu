#define BM 64
#define BN 64
#define BK 8
#define TM 4
#define TN 4

// The kernel of notebook 06 with patches of 4 x 4. The A tile is to be kept transposed, so that the four elements of A
// that a thread needs at one k are neighbours in shared memory, and one instruction of 128 bits loads them.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ alignas(16) float As[BK][BM];   // A tile, transposed: (k, row)
    __shared__ alignas(16) float Bs[BK][BN];   // B tile: (k, col)
    const int row = threadIdx.y * TM, col = threadIdx.x * TN;
    const int tile_row = blockIdx.y * BM, tile_col = blockIdx.x * BN;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;   // 0 ... 255

    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // 1. Load both tiles, 512 elements each by 256 threads. Element i of A's tile is in row i / BK, at k = i % BK.
        // 2. Wait.
        // <solution>
        for (int i = thread; i < BM * BK; i += 256) As[i % BK][i / BK] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        // <starter>
        // <not_turned>
        for (int i = thread; i < BM * BK; i += 256) As[i / BM][i % BM] = A[(tile_row + i / BK) * K + k0 + i % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        // <turned_twice>
        for (int i = thread; i < BM * BK; i += 256) As[i % BK][i / BK] = A[(tile_row + i % BM) * K + k0 + i / BM];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        // <half>
        As[thread % BK][thread / BK] = A[(tile_row + thread / BK) * K + k0 + thread % BK];
        for (int i = thread; i < BK * BN; i += 256) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + tile_col + i % BN];
        __syncthreads();
        // <end>
        for (int k = 0; k < BK; ++k) {
            float a[TM] = {}, b[TN] = {};
            // 3. Load the fragments: four neighbours of As[k] into a, four of Bs[k] into b. Then 16 products.
            // <solution>
            for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
            // <starter>
            // <wrong_column>
            for (int i = 0; i < TM; ++i) a[i] = As[k][col + i];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
            // <same_element>
            for (int i = 0; i < TM; ++i) a[i] = As[k][row];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
            // <rows_apart>
            for (int i = 0; i < TM; ++i) a[i] = As[k][threadIdx.y + 16 * i];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += a[i] * b[j];
            // <end>
        }
        // 4. Wait again. For whom?
        // <solution>
        __syncthreads();
        // <starter>
        // <no_second_barrier>
        // <end>
    }

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) C[(tile_row + row + i) * N + tile_col + col + j] = sums[i][j];
}
