// Histograms, gathers, chains of dependent instructions, divergence.
extern "C" __global__ void histogram_shared(const int *keys, int *counts, int n) {
    __shared__ int mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&mine[keys[i] & 255], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

extern "C" __global__ void histogram_global(const int *keys, int *counts, int n, int bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[keys[i] & (bins - 1)], 1);
}

extern "C" __global__ void gather(const float *from, const int *keys, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[keys[i] & (n - 1)];
}

extern "C" __global__ void scatter(const float *from, const int *keys, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[keys[i] & (n - 1)] = from[i];
}

extern "C" __global__ void gather_rows(const float *from, const int *keys, float *to, int rows, int columns) {
    const float *row = from + (keys[blockIdx.x] & (rows - 1)) * columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) to[blockIdx.x * columns + i] = row[i];
}

extern "C" __global__ void chase(const int *next, int *to, int steps) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < steps; ++i) at = next[at];
    to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

extern "C" __global__ void fma_chain(float *to, float x, int steps) {
    float value = threadIdx.x;
    for (int i = 0; i < steps; ++i) value = fmaf(value, x, 0.5f);
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void special_chain(float *to, float x, int steps) {
    float value = x + threadIdx.x;
    for (int i = 0; i < steps; ++i) value = __expf(-value) + __fdividef(x, value + 1.5f);
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void integer_mix(unsigned *to, unsigned seed, int steps) {
    unsigned h = seed ^ (blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = 0; i < steps; ++i) {
        h ^= h >> 16, h *= 0x85ebca6bu;
        h ^= h >> 13, h *= 0xc2b2ae35u;
        h ^= h >> 16;
    }
    to[blockIdx.x * blockDim.x + threadIdx.x] = h;
}

extern "C" __global__ void polynomial(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = from[i];
    float value = 1.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k) value = fmaf(value, x, 0.25f + k);
    to[i] = value;
}

extern "C" __global__ void divergent(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = from[i];
    if (threadIdx.x % 4 == 0)
        for (int k = 0; k < 24; ++k) value = fmaf(value, 0.9f, 0.1f);
    else if (threadIdx.x % 4 == 1)
        for (int k = 0; k < 24; ++k) value = value * value - 0.3f;
    else
        value = sqrtf(fabsf(value));
    to[i] = value;
}

extern "C" __global__ void bodies(const float4 *body, float4 *force, int n) {
    __shared__ float4 tile[256];
    const float4 me = body[blockIdx.x * 256 + threadIdx.x];
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += 256) {
        tile[threadIdx.x] = body[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 256; ++k) {
            const float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), f = tile[k].w * r * r * r;
            x += f * dx, y += f * dy, z += f * dz;
        }
        __syncthreads();
    }
    force[blockIdx.x * 256 + threadIdx.x] = make_float4(x, y, z, 0);
}
