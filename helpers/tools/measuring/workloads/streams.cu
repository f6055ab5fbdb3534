// Streams: what memory delivers, for one access after the other, in several widths, strides and places.
extern "C" __global__ void copy(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}

extern "C" __global__ void copy_float4(const float4 *from, float4 *to, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) to[i] = from[i];
}

extern "C" __global__ void triad(const float *a, const float *b, float *c, float factor, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + factor * b[i];
}

extern "C" __global__ void read_strided(const float *from, float *to, int n, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i * stride];
}

extern "C" __global__ void write_strided(const float *from, float *to, int n, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i * stride] = from[i];
}

extern "C" __global__ void copy_shifted(const float *from, float *to, int n, int shift) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + shift < n) to[i] = from[i + shift];
}

extern "C" __global__ void fill(float4 *to, float value, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x)
        to[i] = make_float4(value, value, value, value);
}
