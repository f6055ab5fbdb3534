#define T 16

// A block of T x T threads computes a T x T tile of C;
// thread (x, y) computes its element in row y, column x.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[T][T];   // A tile: (row, k)
    __shared__ float Bs[T][T];   // B tile: (k, col)

    // 1. My place in the tile, and my row and column of C.
    // <solution>
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * T + x;
    // <starter>
    // <end>

    // For each tile along k:
    //   2. load one element of A and one of B into the tiles,   3. wait,
    //   4. multiply row y of As with column x of Bs,            5. wait.
    // <solution>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <starter>
    // <no_first_barrier>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <no_second_barrier>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
    }
    // <no_barriers>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
    }
    // <first_tile_only>
    float sum = 0.0f;
    As[y][x] = A[row * K + x];
    Bs[y][x] = B[y * N + col];
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
    // <same_tile_again>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + x];
        Bs[y][x] = B[y * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <transposed_A>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[x][y] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <whole_k>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < K; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <sum_restarts>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        sum = 0.0f;
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    // <from_memory>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += A[row * K + k0 + k] * B[(k0 + k) * N + col];
        __syncthreads();
    }
    // <end>

    // 6. Store the sum.
    // <solution>
    C[row * N + col] = sum;
    // <starter>
    // <end>
}
