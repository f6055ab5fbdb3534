#define T 16

// C[row, col] = scale_a[row] * scale_b[col] * (A * B^T)[row, col]. A: (M, K), B: (N, K) of int8, four of them in
// an int. A row has `words` ints, and behind its K numbers zeros.
extern "C" __global__ void gemm_int8(int M, int N, int words, const int *A,
                                     const int *B, const float *scale_a,
                                     const float *scale_b, float *C) {
    __shared__ int As[T][T];       // A tile: (row, word)
    __shared__ int Bs[T][T + 2];   // B tile: (word, col)

    // 1. My place in the tile, my row of C, the first column of the tile.
    // 2. For each tile along the words: load both as in gemm_nt, wait,
    //    multiply, four numbers at a time: __dp4a(a, b, sum) returns sum + the four products; wait.
    // 3. Now, and not before, the sum becomes a float: scale it, and store it.
    // <solution>
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, first_col = blockIdx.x * T;
    int sum = 0;
    for (int w0 = 0; w0 < words; w0 += T) {
        As[y][x] = 0;
        if (row < M && w0 + x < words) As[y][x] = A[row * words + w0 + x];
        Bs[x][y] = 0;
        if (first_col + y < N && w0 + x < words) Bs[x][y] = B[(first_col + y) * words + w0 + x];
        __syncthreads();
        for (int w = 0; w < T; ++w) sum = __dp4a(As[y][w], Bs[w][x], sum);
        __syncthreads();
    }
    const int col = first_col + x;
    if (row < M && col < N) C[row * N + col] = sum * scale_a[row] * scale_b[col];
    // <starter>
    // <end>
}
