#define T 32

// Blocks of 32 x 8 threads; each block transposes a tile of 32 x 32 elements.
extern "C" __global__ void transpose(int M, int N, const float *A, float *B) {   // A: (M, N), B: (N, M), row-major
    // <starter>
    __shared__ float tile[T][T];
    // <solution>
    __shared__ float tile[T][T + 1];
    // <wrong_end>
    __shared__ float tile[T + 1][T];
    // <even_pad>
    __shared__ float tile[T][T + 2];
    // <end>
    const int x = threadIdx.x;

    // 1. Load: lanes along the columns of A
    for (int y = threadIdx.y; y < T; y += 8) {
        const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
        if (row < M && col < N) tile[y][x] = A[row * N + col];
    }
    // <starter, solution>
    __syncthreads();
    // <no_barrier>
    // <end>

    // 2. Store: lanes along the columns of B, which are the rows of A
    for (int y = threadIdx.y; y < T; y += 8) {
        // <starter, solution>
        const int row = blockIdx.x * T + y, col = blockIdx.y * T + x;
        if (row < N && col < M) B[row * M + col] = tile[x][y];
        // <pitch_N>
        const int row = blockIdx.x * T + y, col = blockIdx.y * T + x;
        if (row < N && col < M) B[row * N + col] = tile[x][y];
        // <not_transposed>
        const int row = blockIdx.x * T + y, col = blockIdx.y * T + x;
        if (row < N && col < M) B[row * M + col] = tile[y][x];
        // <block_not_transposed>
        const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
        if (row < N && col < M) B[row * M + col] = tile[x][y];
        // <uncoalesced>
        const int row = blockIdx.x * T + x, col = blockIdx.y * T + y;
        if (row < N && col < M) B[row * M + col] = tile[y][x];
        // <end>
    }
}
