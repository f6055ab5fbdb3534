extern "C" __global__ void sgemm_rows(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                                      const float *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;

    const float *a = A + row * K;   // my row of A
    float acc = 0.0f;
    int k = 0;
    // <solution>
    if (K % 4 == 0)   // only then every row of A begins at a multiple of 16 bytes
    // <starter, unaligned_groups, scalar_only>
    // <end>
    // <starter>
    for (; k < K; k += 4) {
    // <solution>
    for (; k + 3 < K; k += 4) {
    // <end>
        // <starter, solution>
        const float4 v = *reinterpret_cast<const float4 *>(&a[k]);
        // <scalar_only>
        const float4 v = {a[k], a[k + 1], a[k + 2], a[k + 3]};
        // <end>
        acc += v.x * B[k * N + col];
        // <starter, solution>
        acc += v.y * B[(k + 1) * N + col];
        acc += v.z * B[(k + 2) * N + col];
        acc += v.w * B[(k + 3) * N + col];
        // <same_component>
        acc += v.x * B[(k + 1) * N + col];
        acc += v.x * B[(k + 2) * N + col];
        acc += v.x * B[(k + 3) * N + col];
        // <same_row_of_B>
        acc += v.y * B[k * N + col];
        acc += v.z * B[k * N + col];
        acc += v.w * B[k * N + col];
        // <end>
    }
    // <starter>
    // <solution>
    for (; k < K; ++k) acc += a[k] * B[k * N + col];
    // <whole_groups_only>
    for (; k < K / 4 * 4; ++k) acc += a[k] * B[k * N + col];
    // <counted_twice>
    for (k = 0; k < K; ++k) acc += a[k] * B[k * N + col];
    // <end>

    C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
}
