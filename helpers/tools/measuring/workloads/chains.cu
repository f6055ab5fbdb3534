// Work that waits for itself: chains of arithmetic, of shared memory, of barriers; branches; local memory.
extern "C" __global__ void double_chain(double *to, double x, int steps) {
    double value = threadIdx.x;
    for (int i = 0; i < steps; ++i) value = fma(value, x, 0.5);
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void double_roots(double *to, double x, int steps) {
    double value = threadIdx.x + 2.0;
    for (int i = 0; i < steps; ++i) value = sqrt(value) / x + 1.0;
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void eight_chains(float *to, float x, int steps) {
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = threadIdx.x + k;
    for (int i = 0; i < steps; ++i)
#pragma unroll
        for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], x, 0.5f);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += v[k];
    to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void divide_integers(int *to, int divisor, int steps) {
    int value = 1 << 30 | threadIdx.x;
    for (int i = 0; i < steps; ++i) value = value / (divisor + (i & 3)) * 7 + value % (divisor + 5) + (1 << 28);
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void sines(float *to, float x, int steps) {
    float value = x * threadIdx.x;
    for (int i = 0; i < steps; ++i) value = sinf(value) + sqrtf(value * value + x);
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void powers(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = powf(from[i], 1.7f) + logf(from[i] + 1.0f);
}

extern "C" __global__ void random_points(unsigned *to, unsigned seed, int steps) {  // in the unit circle
    unsigned state = seed + blockIdx.x * blockDim.x + threadIdx.x + 1, inside = 0;
    for (int i = 0; i < steps; ++i) {
        float at[2];
        for (int k = 0; k < 2; ++k) {
            state ^= state << 13, state ^= state >> 17, state ^= state << 5;
            at[k] = state * 2.3283064e-10f;
        }
        inside += at[0] * at[0] + at[1] * at[1] < 1.0f;
    }
    to[blockIdx.x * blockDim.x + threadIdx.x] = inside;
}

extern "C" __global__ void shared_chain(int *to, int stride, int steps) {
    __shared__ int next[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) next[i] = (i * stride + 33) & 2047;
    __syncthreads();
    int at = threadIdx.x;
    for (int i = 0; i < steps; ++i) at = next[at];
    to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

extern "C" __global__ void shared_atomics(int *to, int bins, int steps) {
    __shared__ int count[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) count[i] = 0;
    __syncthreads();
    unsigned state = threadIdx.x * 2654435761u;
    for (int i = 0; i < steps; ++i) {
        atomicAdd(&count[state >> 12 & (bins - 1)], 1);
        state = state * 1664525u + 1013904223u;
    }
    __syncthreads();
    to[blockIdx.x * blockDim.x + threadIdx.x] = count[threadIdx.x & (bins - 1)];
}

extern "C" __global__ void barriers(float *to, int steps) {  // each thread takes its neighbour's value
    __shared__ float part[1024];
    float value = threadIdx.x;
    const int other = threadIdx.x + 1 < blockDim.x ? threadIdx.x + 1 : 0;
    for (int i = 0; i < steps; ++i) {
        part[threadIdx.x] = value;
        __syncthreads();
        value = part[other] * 0.5f + 1;
        __syncthreads();
    }
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void shuffles(float *to, int steps) {
    float value = threadIdx.x;
    for (int i = 0; i < steps; ++i) value = value * 0.5f + __shfl_xor_sync(0xffffffffu, value, 1 << (i & 3));
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void collatz(int *to, int first) {
    unsigned value = first + blockIdx.x * blockDim.x + threadIdx.x;
    int steps = 0;
    while (value > 1 && steps < 200) value = value % 2 ? 3 * value + 1 : value / 2, ++steps;
    to[blockIdx.x * blockDim.x + threadIdx.x] = steps;
}

extern "C" __global__ void mandelbrot(int *to, int n, int most) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const float real = 3.0f * x / n - 2.0f, imaginary = 3.0f * y / n - 1.5f;
    float a = 0, b = 0;
    int steps = 0;
    while (steps < most && a * a + b * b < 4.0f) {
        const float next = a * a - b * b + real;
        b = 2 * a * b + imaginary, a = next, ++steps;
    }
    to[y * n + x] = steps;
}

extern "C" __global__ void branches(const int *keys, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = keys[i] & 1023;
    switch (keys[i] & 7) {
        case 0: for (int k = 0; k < 12; ++k) value = sqrtf(value + k); break;
        case 1: for (int k = 0; k < 12; ++k) value = value * 0.7f + k; break;
        case 2: for (int k = 0; k < 12; ++k) value = __expf(-value) + k; break;
        case 3: for (int k = 0; k < 12; ++k) value = __fdividef(k, value + 1); break;
        case 4: value = -value; break;
        case 5: for (int k = 0; k < 24; ++k) value = fmaxf(value * 0.9f, k); break;
        case 6: value = value * value; break;
        default: value += 3;
    }
    to[i] = value;
}

extern "C" __global__ void local_table(const int *keys, int *to, int n) {  // an index that only the data know
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int table[16];
    for (int k = 0; k < 16; ++k) table[k] = k * k;
    int key = keys[i];
    for (int k = 0; k < 16; ++k) table[key & 15] += key, key = key * 5 + table[(key >> 4) & 15];
    int sum = 0;
    for (int k = 0; k < 16; ++k) sum ^= table[k];
    to[i] = sum;
}

extern "C" __global__ void insertion_sort(const float *from, float *to, int n) {  // 16 values of each thread
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[16];
    for (int k = 0; k < 16; ++k) v[k] = from[k * n + i];
    for (int k = 1; k < 16; ++k) {
        const float value = v[k];
        int at = k;
        while (at > 0 && v[at - 1] > value) v[at] = v[at - 1], --at;
        v[at] = value;
    }
    for (int k = 0; k < 16; ++k) to[k * n + i] = v[k];
}

extern "C" __global__ void follow(const int *next, int *to, int steps, int entries) {  // a table of any size
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * 37 & (entries - 1);
    for (int i = 0; i < steps; ++i) at = next[at];
    to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
