#define THREADS 128

// Each block adds up THREADS elements of x, and stores their sum in its element of parts.
extern "C" __global__ void block_sums(int n, const float *x, float *parts) {   // x: (n), parts: (blocks)
    __shared__ float s[THREADS];
    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;

    // 1. Store my element of x in s[t]. Where there is none, store what does not change a sum.
    // 2. half is 64, 32, …, 1: the first half of the threads adds what lies half further to its own float.
    //    Who must wait for whom, and where?
    // 3. One thread stores the sum.
    // <solution>
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) parts[blockIdx.x] = s[0];
    // <starter>
    // <end>
}
