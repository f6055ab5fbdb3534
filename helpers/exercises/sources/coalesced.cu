extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    // 1. Which row and which column of C are mine?
    //    Neighbours in x shall be neighbours in a row of C.
    // <solution>
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    // <starter>
    // <naive_again>
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    // <threads_alone>
    const int row = blockIdx.x * blockDim.x + threadIdx.y;
    const int col = blockIdx.y * blockDim.y + threadIdx.x;
    // <dims_swapped>
    const int row = blockIdx.y * blockDim.x + threadIdx.y;
    const int col = blockIdx.x * blockDim.y + threadIdx.x;
    // <blocks_alone>
    const int row = blockIdx.y * blockDim.y + threadIdx.x;
    const int col = blockIdx.x * blockDim.x + threadIdx.y;
    // <end>

    // 2. Add up the products along k: row `row` of A times column `col` of B.
    // <solution>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    // <starter>
    // <pitch_of_B>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * K + col];
    // <B_by_columns>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[col * K + k];
    // <end>

    // 3. Store the sum where it belongs.
    // <solution>
    C[row * N + col] = sum;
    // <starter>
    // <C_by_columns>
    C[col * M + row] = sum;
    // <end>
}
