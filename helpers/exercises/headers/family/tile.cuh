// The tile of notebook 18: the multiplication of notebook 04, with rows that begin any number of floats apart.
#define T 16

// My element of the block's tile of A * B. A: (rows, K) from the tile's first row on, B: (K, cols) from its first column
// on; their rows begin lda and ldb floats apart. Beyond them are zeros. All threads of the block must call it.
__device__ float product(int rows, int cols, int K, const float *A, int lda, const float *B, int ldb) {
    __shared__ float As[T][T], Bs[T][T];   // A tile: (row, k); B tile: (k, col)
    const int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = 0.0f;
        if (y < rows && k0 + x < K) As[y][x] = A[y * lda + k0 + x];
        Bs[y][x] = 0.0f;
        if (k0 + y < K && x < cols) Bs[y][x] = B[(k0 + y) * ldb + x];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    return sum;
}
