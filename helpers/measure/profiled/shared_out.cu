extern "C" __global__ void column_sums(int M, int N, const float *A, float *sums) {
    __shared__ float parts[32][32];   // (thread y, column)
    const int x = threadIdx.x, y = threadIdx.y;
    const int col = blockIdx.x * 32 + x;
    float sum = 0;
    if (col < N)
        for (int row = y; row < M; row += 32) sum += A[row * N + col];
    parts[y][x] = sum;
    __syncthreads();
    if (y == 0 && col < N) {
        float total = 0;
        for (int part = 0; part < 32; ++part) total += parts[part][x];
        sums[col] = total;
    }
}
