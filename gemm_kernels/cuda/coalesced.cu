// Coalesced: row and col trade places, so that threadIdx.x runs along the columns.
// The lanes of a warp own 32 neighbours of one row: B and C cost 4 full sectors a request, A one element for all lanes.
extern "C" __global__ void sgemm_coalesced(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                           const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    // 1. Which element of C is mine? (size_t, because row * K may not fit in 32 bits)
    const size_t row = blockIdx.y * blockDim.y + threadIdx.y;
    const size_t col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;   // the grid is rounded up to whole blocks

    // 2. Multiply: row of A times column of B
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[size_t(k) * N + col];

    // 3. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
