extern "C" __global__ void sgemm_columns(int M, int N, int K, float alpha, const float *A,
                                         const float *B, float beta, float *C) {
    // 1. Which row and which column of C are mine?
    //    Neighbours in x shall be neighbours in memory.
    // <solution>
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    // <starter>
    // <x_is_the_column>
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    // <end>

    // 2. If there is no such element, there is nothing to do.
    // <solution>
    if (row >= M || col >= N) return;
    // <starter>
    // <no_guard>
    // <guard_swapped>
    if (row >= N || col >= M) return;
    // <end>

    // 3. Add up the products along k. The columns of A have M floats, those of B have K.
    // <solution>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[k * M + row] * B[col * K + k];
    // <starter>
    // <reads_rows_of_A>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[col * K + k];
    // <reads_rows_of_B>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[k * M + row] * B[k * N + col];
    // <row_major>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    // <pitch_of_B>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[k * M + row] * B[col * N + k];
    // <last_k>
    float sum = 0.0f;
    for (int k = 0; k < K - 1; ++k) sum += A[k * M + row] * B[col * K + k];
    // <end>

    // 4. C = alpha * sum + beta * C; but where beta is 0, the old C is not read.
    // <solution>
    float old = 0.0f;
    if (beta != 0.0f) old = C[col * M + row];
    C[col * M + row] = alpha * sum + beta * old;
    // <starter>
    // <stores_rows, row_major>
    float old = 0.0f;
    if (beta != 0.0f) old = C[row * N + col];
    C[row * N + col] = alpha * sum + beta * old;
    // <reads_always>
    C[col * M + row] = alpha * sum + beta * C[col * M + row];
    // <beta_ignored>
    C[col * M + row] = alpha * sum;
    // <end>
}
