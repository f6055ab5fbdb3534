extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    // 1. Which row and which column of C are mine? x is the row index, y is the column index.
    // <solution>
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    // <starter>
    // <swapped>
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    // <without_block>
    const int row = threadIdx.x;
    const int col = threadIdx.y;
    // <block_alone>
    const int row = blockIdx.x;
    const int col = blockIdx.y;
    // <grid_for_block>
    const int row = blockIdx.x * gridDim.x + threadIdx.x;
    const int col = blockIdx.y * gridDim.y + threadIdx.y;
    // <end>

    // 2. Add up the products along k: row `row` of A times column `col` of B.
    // <solution>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    // <starter>
    // <pitch_of_A>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * N + k] * B[k * N + col];
    // <pitch_of_B>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * K + col];
    // <rows_of_B>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[col * K + k];
    // <one_short>
    float sum = 0.0f;
    for (int k = 1; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    // <last_product>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum = A[row * K + k] * B[k * N + col];
    // <sum_in_int>
    int sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    // <comma_in_index>
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row, k] * B[k, col];
    // <never_set>
    float sum;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    // <end>

    // 3. Store the sum where it belongs.
    // <solution>
    C[row * N + col] = sum;
    // <starter>
    // <pitch_of_C>
    C[row * M + col] = sum;
    // <adds_to_C>
    C[row * N + col] += sum;
    // <end>
}
