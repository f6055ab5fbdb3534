// Element by element: the shortest kernels, in several widths and launch shapes.

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy_vectorized(float a, const float4 *x, float4 *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float4 u = x[i];
        float4 v = y[i];
        v.x += a * u.x, v.y += a * u.y, v.z += a * u.z, v.w += a * u.w;
        y[i] = v;
    }
}

extern "C" __global__ void grayscale(const uchar4 *in, unsigned char *out, int width, int height) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= width || row >= height) return;
    const uchar4 pixel = in[row * width + col];
    out[row * width + col] = (unsigned char)(0.299f * pixel.x + 0.587f * pixel.y + 0.114f * pixel.z + 0.5f);
}

// Horner's rule, and a comparison chain
extern "C" __global__ void polynomial(const float *x, float *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    #pragma unroll
    for (int power = 0; power < 9; ++power) sum = sum * x[i] + (power % 3 - 1) * 0.125f;
    y[i] = fminf(fmaxf(sum, -4.0f), 4.0f);
}

extern "C" __global__ void clamp_double(const double *x, double *y, double low, double high, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

// Three dimensions of blocks and threads
extern "C" __global__ void coordinates_3d(int *out, int nx, int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) out[(z * ny + y) * nx + x] = x + 1000 * y + 1000000 * z;
}

// Threads that need many registers, compiled with a bound that makes them spill
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[40];
    #pragma unroll
    for (int k = 0; k < 40; ++k) v[k] = in[(i + 31 * k) % n];
    __syncthreads();
    float sum = 0.0f;
    #pragma unroll
    for (int a = 0; a < 40; ++a)
        #pragma unroll
        for (int b = 0; b < 4; ++b) sum = sum * 0.5f + v[a] * v[(a * 7 + b * 11 + 3) % 40];
    if (i < n) out[i] = sum;
}
