// Lane l of a warp gives a: row l / 4 of 8 and k l % 4 of 4; and b: k l % 4 and column l / 4 of 8.
// It has two sums: row l / 4, columns l % 4 * 2 and the next one.
__device__ void multiply(double (&sums)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sums[0]), "+d"(sums[1]) : "d"(a), "d"(b));
}

// C = A * B by tensor cores. A: (M, K), B: (K, N), C: (M, N). A block is a warp, and computes 8 x 8 elements.
extern "C" __global__ void dgemm(int M, int N, int K, const double *A, const double *B, double *C) {
    const int lane = threadIdx.x;
    double sums[2] = {};
    // 1. For four k at a time: my element of A, mine of B, zeros outside of them, and the product.
    // 2. Store my two sums, where C has them.
    // <solution>
    const int a_row = blockIdx.y * 8 + lane / 4, b_col = blockIdx.x * 8 + lane / 4;
    for (int k0 = 0; k0 < K; k0 += 4) {
        const int k = k0 + lane % 4;
        const double a = a_row < M && k < K ? A[a_row * K + k] : 0.0;
        const double b = k < K && b_col < N ? B[k * N + b_col] : 0.0;
        multiply(sums, a, b);
    }
    for (int i = 0; i < 2; ++i) {
        const int col = blockIdx.x * 8 + lane % 4 * 2 + i;
        if (a_row < M && col < N) C[a_row * N + col] = sums[i];
    }
    // <starter>
    // <end>
}
