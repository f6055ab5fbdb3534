extern "C" __global__ void sgemm(int M, int N, int K, float alpha, const float *A,
                                 const float *B, float beta, float *C) {
    // 1. Which row and which column of C are mine? x is the row index, y is the column index.
    // <solution>
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    // <starter>
    // <end>

    // 2. If there is no such element, there is nothing to do.
    // <solution>
    if (row >= M || col >= N) return;
    // <starter>
    // <no_guard>
    // <one_too_many>
    if (row > M || col > N) return;
    // <guard_with_and>
    if (row >= M && col >= N) return;
    // <guard_swapped>
    if (row >= N || col >= M) return;
    // <end>

    // 3. Add up the products along k.
    // <solution>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    // <starter>
    // <in_the_loop>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += A[row * K + k] * B[k * N + col];
        if (beta != 0.0f) sum += beta * C[row * N + col];
    }
    // <end>

    // 4. C = alpha * sum + beta * C; but where beta is 0, the old C is not read.
    // <solution>
    float old = 0.0f;
    if (beta != 0.0f) old = C[row * N + col];
    C[row * N + col] = alpha * sum + beta * old;
    // <starter>
    // <beta_ignored>
    C[row * N + col] = alpha * sum;
    // <reads_always>
    C[row * N + col] = alpha * sum + beta * C[row * N + col];
    // <beta_is_1>
    C[row * N + col] = alpha * sum + C[row * N + col];
    // <alpha_on_both>
    C[row * N + col] = alpha * (sum + (beta == 0.0f ? 0.0f : beta * C[row * N + col]));
    // <product_lost>
    C[row * N + col] = beta == 0.0f ? 0.0f : beta * C[row * N + col];
    // <end>
}
