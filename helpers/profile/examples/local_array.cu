// How often each thread's most frequent class occurs: an index that is known only at run time keeps counts in memory.
__global__ void most_frequent(const int *keys, int *most, int threads) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int counts[16] = {};  // (class,)
    for (int k = 0; k < 64; ++k)
        ++counts[keys[k * threads + i] & 15];
    int largest = 0;
    for (int c = 0; c < 16; ++c) largest = max(largest, counts[c]);
    most[i] = largest;
}
