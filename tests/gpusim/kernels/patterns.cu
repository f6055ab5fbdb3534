// Access patterns made to be counted: strides, offsets, widths and skews.

extern "C" __global__ void copy_strided(const float *in, float *out, int stride, int offset, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i * stride + offset];
}

extern "C" __global__ void write_strided(const float *in, float *out, int stride, int offset, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i * stride + offset] = in[i];
}

template <typename T>
__global__ void copy_wide(const T *in, T *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

struct Particle {
    float x, y, z;
    int kind;
    double mass;
};

extern "C" __global__ void array_of_structures(const Particle *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i].kind == 1 ? in[i].x * float(in[i].mass) : in[i].z - in[i].y;
}

extern "C" __global__ void gather(const int *index, const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];
}

extern "C" __global__ void scatter(const int *index, const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[index[i]] = in[i];
}

// One warp stores and loads T at lane * skew (in elements of T), so that every skew has its own bank conflicts
template <typename T, int WORDS>
__global__ void shared_skew(const float *in, float *out, int skew) {
    __shared__ alignas(16) T tile[32 * 33 + 1];
    const int lane = threadIdx.x;
    T value;
    float *parts = reinterpret_cast<float *>(&value);
    for (int part = 0; part < WORDS; ++part) parts[part] = in[lane * WORDS + part];
    tile[lane * skew] = value;
    __syncthreads();
    const T back = tile[(31 - lane) * skew];
    const float *read = reinterpret_cast<const float *>(&back);
    for (int part = 0; part < WORDS; ++part) out[lane * WORDS + part] = read[part];
}

// Lanes are mapped to shared addresses by a table, and a mask says which of them take part
template <typename T, int WORDS>
__global__ void shared_mapped(const int *map, const int *active, float *out) {
    __shared__ alignas(16) T tile[256];
    float *words = reinterpret_cast<float *>(tile);
    for (int i = threadIdx.x; i < 256 * WORDS; i += blockDim.x) words[i] = i;
    __syncthreads();
    T value = {};
    if (active[threadIdx.x]) value = tile[map[threadIdx.x]];
    __syncthreads();
    if (active[threadIdx.x]) tile[map[threadIdx.x]] = value;
    __syncthreads();
    const float *parts = reinterpret_cast<const float *>(&value);
    float sum = 0.0f;
    for (int part = 0; part < WORDS; ++part) sum += parts[part];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void shared_bytes(const unsigned char *in, unsigned char *out, int skew) {
    __shared__ unsigned char tile[32 * 40];
    __shared__ unsigned short halves[32 * 40];
    tile[threadIdx.x * skew] = in[threadIdx.x];
    halves[threadIdx.x * skew] = in[threadIdx.x] * 257;
    __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x ^ 5) * skew] + (halves[(threadIdx.x ^ 9) * skew] >> 8);
}

// A warp in which some lanes have left, and blocks that are no multiple of a warp
extern "C" __global__ void partial_warps(const float *in, float *out, int keep) {
    __shared__ float tile[1024];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    if (threadIdx.x % 32 >= keep) return;
    out[i] = tile[blockDim.x - 1 - threadIdx.x] + (threadIdx.x % 2 ? tile[threadIdx.x] : 1.0f);
}

// A register file's worth of locals that are indexed at run time: local memory
extern "C" __global__ void local_array(const int *in, int *out, int n) {
    int queue[16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 16; ++k) queue[k] = in[(i + k) % n];
    int at = 0;
    for (int round = 0; round < 20; ++round) {
        at = (queue[at] + round) & 15;
        queue[at] += round;
    }
    out[i] = at + queue[at];
}
