// The squared distance to the nearest of 64 places; powf takes any exponent, and so goes by logarithms.
__global__ void nearest(const float *x, const float *places, float *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float least = 1e30f;
    for (int k = 0; k < 64; ++k)
        least = fminf(least, powf(x[i] - places[k], 2.0f));
    y[i] = least;
}
