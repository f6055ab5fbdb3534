extern "C" __global__ void one(int n, float *to) {
    __shared__ float tile[32 * 32];
    const int t = threadIdx.x;
    for (int i = t; i < 32 * 32; i += blockDim.x) tile[i] = i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += tile[t % 32 * 32 + (i + t / 32) % 32];
    to[blockIdx.x * blockDim.x + t] = sum;
}

extern "C" __global__ void two(int n, const int *next, float *to) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; ++i) at = next[at];
    to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

extern "C" __global__ void three(int n, float *to) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = ~thread, b = ~thread * 3, c = ~thread * 5, d = ~thread * 7;
    for (int i = 0; i < n; ++i) {
        a ^= b >> 3;
        c ^= d >> 5;
        b ^= a >> 7;
        d ^= c >> 9;
    }
    to[thread] = a + b + c + d;
}

extern "C" __global__ void four(int n, float *to) {
    __shared__ float shared;
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        if (threadIdx.x == 0) {
            float part = 0;
            for (int k = 0; k < 32; ++k) part = part * 0.5f + i;
            shared = part;
        }
        __syncthreads();
        sum += shared;
        __syncthreads();
    }
    to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
