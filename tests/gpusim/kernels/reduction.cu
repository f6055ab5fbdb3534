// Sums of n numbers, one result a block (or one in all, with atomics).

// Every second thread drops out, then every second of the rest: neighbours diverge
extern "C" __global__ void reduce_interleaved(const float *in, float *out, int n) {
    __shared__ float partial[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// The threads that work stay together
extern "C" __global__ void reduce_contiguous(const float *in, float *out, int n) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// Within a warp through registers
extern "C" __global__ void reduce_shuffle(const float *in, float *out, int n) {
    __shared__ float of_warp[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? in[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0f;
        for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void reduce_atomic(const int *in, int *out, int n) {
    int sum = 0, largest = -2147483647 - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
        largest = max(largest, in[i]);
    }
    atomicAdd(&out[0], sum);
    atomicMax(&out[1], largest);
    atomicXor(&out[2], sum);
}

// redux.sync is an instruction of compute capability 8.0
extern "C" __global__ void reduce_redux(const unsigned *in, unsigned *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned value = i < n ? in[i] : 0;
    const unsigned sum = __reduce_add_sync(0xffffffffu, value), most = __reduce_max_sync(0xffffffffu, value);
    const unsigned bits = __reduce_or_sync(0xffffffffu, value);
    if (threadIdx.x % 32 == 0) {
        out[3 * (i / 32)] = sum;
        out[3 * (i / 32) + 1] = most;
        out[3 * (i / 32) + 2] = bits;
    }
}

extern "C" __global__ void dot_double(const double *a, const double *b, double *out, int n) {
    __shared__ double partial[128];
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i] * b[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = partial[0];
}
