extern "C" __global__ void add_scaled(int N, float c, const float *A, const float *B, float *C) {
    // 1. Which element is mine?
    // <solution>
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    // <starter>
    // <thread_alone>
    const int index = threadIdx.x;
    // <block_alone>
    const int index = blockIdx.x;
    // <blocks_overlap>
    const int index = blockIdx.x + threadIdx.x;
    // <grid_for_block>
    const int index = blockIdx.x * gridDim.x + threadIdx.x;
    // <end>

    // 2. If there is such an element: C = c * A + B
    // <solution>
    if (index < N) C[index] = c * A[index] + B[index];
    // <starter>
    // <no_guard>
    C[index] = c * A[index] + B[index];
    // <one_too_many>
    if (index <= N) C[index] = c * A[index] + B[index];
    // <last_missing>
    if (index < N - 1) C[index] = c * A[index] + B[index];
    // <scales_both>
    if (index < N) C[index] = c * (A[index] + B[index]);
    // <scales_B>
    if (index < N) C[index] = A[index] + c * B[index];
    // <adds_to_C>
    if (index < N) C[index] += c * A[index] + B[index];
    // <end>
}
