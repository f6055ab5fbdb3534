// The same means with an index that starts again at 0: one division a thread.
__global__ void means(const float *ring, float *y, int length, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    int at = i % length;
    for (int k = 0; k < 64; ++k) {
        sum += ring[at];
        at = at + 1 < length ? at + 1 : 0;
    }
    y[i] = sum / 64;
}
