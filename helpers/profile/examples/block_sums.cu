// The same sum: the threads of a block add their elements among themselves, and one of them adds to the total.
__global__ void total(const float *x, float *sum, int n) {
    __shared__ float parts[32];  // (warp,)
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float own = i < n ? x[i] : 0;
    for (int step = 16; step; step /= 2) own += __shfl_down_sync(0xffffffffu, own, step);
    if (lane == 0) parts[warp] = own;
    __syncthreads();
    if (warp > 0) return;
    own = lane < blockDim.x / 32 ? parts[lane] : 0;
    for (int step = 16; step; step /= 2) own += __shfl_down_sync(0xffffffffu, own, step);
    if (lane == 0) atomicAdd(sum, own);
}
