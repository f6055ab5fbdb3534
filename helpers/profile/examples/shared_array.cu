// The same counts in shared memory: those of one class lie side by side, so that each lane has a bank of its own.
__global__ void most_frequent(const int *keys, int *most, int threads) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int counts[16][256];  // (class, thread)
    for (int c = 0; c < 16; ++c) counts[c][threadIdx.x] = 0;
    for (int k = 0; k < 64; ++k)
        ++counts[keys[k * threads + i] & 15][threadIdx.x];
    int largest = 0;
    for (int c = 0; c < 16; ++c) largest = max(largest, counts[c][threadIdx.x]);
    most[i] = largest;
}
