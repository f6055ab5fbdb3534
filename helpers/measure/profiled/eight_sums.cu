extern "C" __global__ void column_sums(int M, int N, const float *A, float *sums) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= N) return;
    float sum[8] = {};
    int row = 0;
    for (; row + 8 <= M; row += 8)
        for (int i = 0; i < 8; ++i) sum[i] += A[(row + i) * N + col];
    for (; row < M; ++row) sum[0] += A[row * N + col];
    sums[col] = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}
