// y = a · x + y: a load of each array and one FMA for each store.
__global__ void saxpy(float a, const float *x, float *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
