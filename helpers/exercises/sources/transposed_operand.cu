#define T 16

// C = A * B^T. A: (M, K), B: (N, K), C: (M, N); their rows begin lda, ldb and ldc floats apart.
// A block of T x T threads computes a T x T tile of C.
extern "C" __global__ void gemm_nt(int M, int N, int K, const float *A, int lda,
                                   const float *B, int ldb, float *C, int ldc) {
    // 1. Two tiles in shared memory: As (row, k) and Bs (k, col). Bs is filled column by column:
    //    how long must its rows be, so that the 32 lanes of a warp store to 32 banks?
    // 2. My place in the tile, my row of C, the first column of the tile.
    // 3. For each tile along k: load, wait, multiply, wait. In B the neighbours of a row are neighbours in k:
    //    which of x and y must be the k of the load, and where in Bs does the element go?
    // 4. Store the sum, if my element lies in C. What lies between the rows of C is not ours.
    // <solution>
    __shared__ float As[T][T];       // A tile: (row, k)
    __shared__ float Bs[T][T + 2];   // B tile: (k, col)
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, first_col = blockIdx.x * T;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (row < M && k0 + x < K) As[y][x] = A[row * lda + k0 + x];
        Bs[x][y] = 0.0f;
        if (first_col + y < N && k0 + x < K) Bs[x][y] = B[(first_col + y) * ldb + k0 + x];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    const int col = first_col + x;
    if (row < M && col < N) C[row * ldc + col] = sum;
    // <starter>
    // <end>
}
