#define TN 4   // neighbouring columns of C that a thread computes

extern "C" __global__ void sgemm_store(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                       const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = (blockIdx.x * blockDim.x + threadIdx.x) * TN;
    if (row >= M || col >= N) return;

    // 1. Multiply
    float acc[TN] = {};
    for (int k = 0; k < K; ++k)
        for (int x = 0; x < TN && col + x < N; ++x) acc[x] += A[row * K + k] * B[k * N + col + x];

    // 2. Write C = alpha * A * B + beta * C
    float *c = &C[row * N + col];
    // <starter>
    for (int x = 0; x < TN && col + x < N; ++x) c[x] = alpha * acc[x] + (beta == 0.0f ? 0.0f : beta * c[x]);
    // <solution>
    if (N % 4 == 0) {   // then every row begins at a multiple of 16 bytes, and ends with a whole group
    // <always>
    {
    // <whole_groups>
    if (col + 3 < N) {
    // <end>
        // <starter>
        // <solution>
        float4 old = {};
        if (beta != 0.0f) old = *reinterpret_cast<const float4 *>(c);
        // <reads_always>
        const float4 old = *reinterpret_cast<const float4 *>(c);
        // <beta_forgotten>
        const float4 old = {};
        // <end>
        // <starter>
        // <solution>
        *reinterpret_cast<float4 *>(c) = {alpha * acc[0] + beta * old.x, alpha * acc[1] + beta * old.y,
                                          alpha * acc[2] + beta * old.z, alpha * acc[3] + beta * old.w};
        // <backwards>
        *reinterpret_cast<float4 *>(c) = {alpha * acc[3] + beta * old.w, alpha * acc[2] + beta * old.z,
                                          alpha * acc[1] + beta * old.y, alpha * acc[0] + beta * old.x};
        // <end>
    // <starter>
    // <solution>
    } else {
        for (int x = 0; x < TN && col + x < N; ++x) c[x] = alpha * acc[x] + (beta == 0.0f ? 0.0f : beta * c[x]);
    }
    // <only_if_aligned, always>
    }
    // <end>
}
