// The same recurrence, in float throughout.
__global__ void recurrence(const float *x, float *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 64; ++k)
        sum = sum * x[i] + 0.1f;
    y[i] = 0.5f * sum;
}
