#define T 16
#define WORDS 8   // ints of a group: 32 numbers along k

// C = A * B^T as in gemm_int8, but each group of 32 numbers along k has scales of its own.
// A: (M, words), B: (N, words); words is a multiple of WORDS. scale_a: (M, groups), scale_b: (N, groups).
extern "C" __global__ void gemm_groups(int M, int N, int words, const int *A, const int *B,
                                       const float *scale_a, const float *scale_b, float *C) {
    __shared__ int As[T][T];       // A tile: (row, word)
    __shared__ int Bs[T][T + 2];   // B tile: (word, col)
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, first_col = blockIdx.x * T, col = first_col + x;
    const int groups = words / WORDS;

    // 1. For each tile along the words: load both as before, wait.
    // 2. For each group in it, if row, col and group exist: its sum is an int. Scale it, add it to a float; wait.
    // 3. Store the float.
    // <solution>
    float sum = 0.0f;
    for (int w0 = 0; w0 < words; w0 += T) {
        As[y][x] = 0;
        if (row < M && w0 + x < words) As[y][x] = A[row * words + w0 + x];
        Bs[x][y] = 0;
        if (first_col + y < N && w0 + x < words) Bs[x][y] = B[(first_col + y) * words + w0 + x];
        __syncthreads();
        for (int first = 0; first < T; first += WORDS) {
            const int group = (w0 + first) / WORDS;
            if (row >= M || col >= N || group >= groups) continue;
            int part = 0;
            for (int w = first; w < first + WORDS; ++w) part = __dp4a(As[y][w], Bs[w][x], part);
            sum += part * scale_a[row * groups + group] * scale_b[col * groups + group];
        }
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
    // <starter>
    // <end>
}
