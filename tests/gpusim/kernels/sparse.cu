// Sparse matrix (CSR) times vector, and other loops whose length depends on the data.

extern "C" __global__ void spmv_scalar(const int *starts, const int *columns, const float *values, const float *x,
                                       float *y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

// A warp a row
extern "C" __global__ void spmv_vector(const int *starts, const int *columns, const float *values, const float *x,
                                       float *y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void binary_search(const int *sorted, int n, const int *wanted, int *found, int queries) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= queries) return;
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sorted[middle] < wanted[i]) low = middle + 1;
        else high = middle;
    }
    found[i] = low < n && sorted[low] == wanted[i] ? low : -1;
}

extern "C" __global__ void collatz(int *steps, int n, int limit) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long value = i + 1;
    int count = 0;
    while (value != 1 && count < limit) {
        value = value % 2 ? 3 * value + 1 : value / 2;
        ++count;
    }
    steps[i] = count;
}

extern "C" __global__ void mandelbrot(int *iterations, int width, int height, int limit) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= width || row >= height) return;
    const float re = -2.0f + 3.0f * col / width, im = -1.5f + 3.0f * row / height;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    for (; count < limit; ++count) {
        const float next = x * x - y * y + re;
        y = 2.0f * x * y + im;
        x = next;
        if (x * x + y * y > 4.0f) break;
    }
    iterations[row * width + col] = count;
}

extern "C" __global__ void branches(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = in[i];
    switch (value & 15) {
        case 0: value += 17; break;
        case 1: value *= 3; break;
        case 2: value = value / 5; break;
        case 3: value ^= 0x55aa; break;
        case 4: value = -value; break;
        case 5: value <<= 3; break;
        case 6: value = value % 11; break;
        case 7: value >>= 2; break;
        case 9: value = min(value, 100); break;
        case 12: value = max(value, 200); break;
        default:
            for (int round = 0; round < (value & 7); ++round) {
                if (round == 3) continue;
                value += in[(i + round) % n];
                if (value > 1000) break;
            }
    }
    out[i] = value;
}
