extern "C" __global__ void scale(int N, float c, const float *A, float *B) {
    // <starter>
    const int index = threadIdx.x;
    // <solution>
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    // <end>
    if (index < N) B[index] = c * A[index];
}
