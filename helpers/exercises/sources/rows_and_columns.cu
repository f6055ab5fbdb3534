extern "C" __global__ void scale_matrix(int M, int N, float alpha, const float *A, float *B) {   // A, B: (M, N)
    // <starter>
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    // <solution>
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    // <both_from_y>
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    // <end>
    // <starter, solution>
    if (row < M && col < N) B[row * N + col] = alpha * A[row * N + col];
    // <guard_swapped>
    if (row < N && col < M) B[row * N + col] = alpha * A[row * N + col];
    // <pitch_M>
    if (row < M && col < N) B[row * M + col] = alpha * A[row * M + col];
    // <one_row_too_many>
    if (row <= M && col <= N) B[row * N + col] = alpha * A[row * N + col];
    // <no_guard>
    B[row * N + col] = alpha * A[row * N + col];
    // <end>
}
