// *total holds 0 before the launch, and the sum of x afterwards.
extern "C" __global__ void sum(int n, const float *x, float *total) {   // x: (n), total: (1)
    // 1. Which element is mine?
    // 2. If there is one, add it to *total. Other threads do so at the same time: atomicAdd(address, value).
    // <solution>
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
    // <starter>
    // <end>
}
