extern "C" __global__ void sgemm_naive(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                       const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;

    float acc = 0.0f;
    // <starter, solution>
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    // <in_the_loop>
    for (int k = 0; k < K; ++k) {
        acc += A[row * K + k] * B[k * N + col];
        if (beta != 0.0f) acc += beta * C[row * N + col];
    }
    // <end>

    // <starter, in_the_loop>
    C[row * N + col] = alpha * acc;
    // <solution>
    C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
    // <reads_always>
    C[row * N + col] = alpha * acc + beta * C[row * N + col];
    // <beta_is_1>
    C[row * N + col] = alpha * acc + C[row * N + col];
    // <alpha_on_both>
    C[row * N + col] = alpha * (acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]));
    // <product_lost>
    C[row * N + col] = beta == 0.0f ? 0.0f : beta * C[row * N + col];
    // <end>
}
