// Histograms with atomic operations.

extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned own[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (own[bin]) atomicAdd(&bins[bin], own[bin]);
}

// The greatest value of each key, by compare-and-swap; 64-bit sums beside it
extern "C" __global__ void histogram_extremes(const int *keys, const int *values, int *greatest, unsigned long long *sums,
                                              int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int key = keys[i], value = values[i];
    int seen = greatest[key];
    while (seen < value) {
        const int before = atomicCAS(&greatest[key], seen, value);
        if (before == seen) break;
        seen = before;
    }
    atomicAdd(&sums[key], (unsigned long long)(value + 1000));
}
