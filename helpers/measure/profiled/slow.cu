extern "C" __global__ void column_sums(int M, int N, const float *A, float *sums) {   // A: (M, N), sums: (N)
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= N) return;
    float sum = 0;
    for (int row = 0; row < M; ++row) sum += A[row * N + col];
    sums[col] = sum;
}
