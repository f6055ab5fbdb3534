// A member of the family with any strides, a batch and an epilogue: what the explorer of notebook 18 records.
#define T 16

// C[p] = epilogue(A[p] * B[p]). Element (row, k) of A lies at A + p * a_step + row * a_row + k * a_col, and so on.
// along_memory: neighbours in x load neighbours in memory, whichever index that is; else x is always the column.
// epilogue: 0 none, 1 + bias, 2 and GELU, 3 and + R.
extern "C" __global__ void member(int M, int N, int K, const float *A, int a_row, int a_col, int a_step, const float *B,
                                  int b_row, int b_col, int b_step, float *C, int c_row, int c_step, int along_memory,
                                  int epilogue, const float *bias, const float *R) {
    __shared__ float As[T][T + 2], Bs[T][T + 2];   // A tile: (row, k); B tile: (k, col)
    const int x = threadIdx.x, y = threadIdx.y, first_row = blockIdx.y * T, first_col = blockIdx.x * T;
    const bool turn_a = along_memory && a_row == 1, turn_b = along_memory && b_row == 1;
    const int row_a = turn_a ? x : y, k_a = turn_a ? y : x, k_b = turn_b ? x : y, col_b = turn_b ? y : x;
    A += blockIdx.z * a_step;
    B += blockIdx.z * b_step;
    C += blockIdx.z * c_step;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[row_a][k_a] = 0.0f;
        if (first_row + row_a < M && k0 + k_a < K)
            As[row_a][k_a] = A[(first_row + row_a) * a_row + (k0 + k_a) * a_col];
        Bs[k_b][col_b] = 0.0f;
        if (k0 + k_b < K && first_col + col_b < N)
            Bs[k_b][col_b] = B[(k0 + k_b) * b_row + (first_col + col_b) * b_col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    const int row = first_row + y, col = first_col + x;
    if (row >= M || col >= N) return;
    if (epilogue > 0) sum += bias[col];
    if (epilogue > 1) sum = 0.5f * sum * (1.0f + erff(sum * 0.70710678f));
    if (epilogue > 2) sum += R[row * N + col];
    C[row * c_row + col] = sum;
}

// The same epilogue as a kernel of its own, which loads C and stores it again.
extern "C" __global__ void afterwards(int M, int N, float *C, int c_row, int c_step, int epilogue, const float *bias,
                                      const float *R) {
    const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    if (row >= M || col >= N) return;
    C += blockIdx.z * c_step;
    float sum = C[row * c_row + col] + bias[col];
    if (epilogue > 1) sum = 0.5f * sum * (1.0f + erff(sum * 0.70710678f));
    if (epilogue > 2) sum += R[row * N + col];
    C[row * c_row + col] = sum;
}
