extern "C" __global__ void sgemm_columns(int M, int N, int K, const float *A, const float *B, float *C) {
    // <starter>
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    // <solution>
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    // <end>
    // <starter, solution>
    if (row >= M || col >= N) return;
    // <no_guard>
    // <end>
    float acc = 0.0f;
    // <starter, solution>
    for (int k = 0; k < K; ++k) acc += A[row + k * M] * B[k + col * K];
    // <reads_rows_of_A>
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k + col * K];
    // <reads_rows_of_B>
    for (int k = 0; k < K; ++k) acc += A[row + k * M] * B[k * N + col];
    // <row_major>
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    // <last_k>
    for (int k = 0; k < K - 1; ++k) acc += A[row + k * M] * B[k + col * K];
    // <end>
    // <starter, solution>
    C[row + col * M] = acc;
    // <stores_rows, row_major>
    C[row * N + col] = acc;
    // <end>
}
