#define T 8         // a block has T x T threads
// <starter>
#define DEPTH 256   // steps of k in one phase
// <solution>
#define DEPTH 128   // steps of k in one phase
// <a_little_less>
#define DEPTH 192   // steps of k in one phase
// <only_A>
#define DEPTH 256   // steps of k in one phase
// <not_a_multiple>
#define DEPTH 100   // steps of k in one phase
// <end>

extern "C" __global__ void sgemm_deep(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                      const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    // <only_A>
    __shared__ float As[T][DEPTH / 8];   // A tile: (row, k)
    // <starter, solution>
    __shared__ float As[T][DEPTH];   // A tile: (row, k)
    // <end>
    __shared__ float Bs[DEPTH][T];   // B tile: (k, col)

    const int y = threadIdx.y, x = threadIdx.x;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * T + x;

    float acc = 0.0f;
    // <next_phase_too_early>
    for (int k0 = 0; k0 < K; k0 += T) {
    // <starter, solution>
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
    // <end>
        // 1. Load DEPTH / T elements of each tile
        // <one_pass>
        for (int d = 0; d < T; d += T) {
        // <starter, solution>
        for (int d = 0; d < DEPTH; d += T) {
        // <end>
            As[y][d + x] = row < M && k0 + d + x < K ? A[row * K + k0 + d + x] : 0.0f;
            Bs[d + y][x] = k0 + d + y < K && col < N ? B[(k0 + d + y) * N + col] : 0.0f;
        }
        __syncthreads();

        // 2. Multiply
        for (int k = 0; k < DEPTH; ++k) acc += As[y][k] * Bs[k][x];
        // <starter, solution>
        __syncthreads();
        // <one_barrier>
        // <end>
    }

    // 3. Write C = alpha * A * B + beta * C
    if (row < M && col < N) C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
