// Rows: softmax, normalisation, sums, scans, sorting.
#define ALL 0xffffffffu

__device__ float sum_of_warp(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(ALL, value, distance);
    return value;
}

__device__ float sum_of_block(float value, float *part) {
    value = sum_of_warp(value);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) sum += part[warp];
    __syncthreads();
    return sum;
}

extern "C" __global__ void layernorm(const float *from, const float *gain, float *to, int columns) {
    __shared__ float part[32];
    const float *row = from + (size_t)blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
    const float mean = sum_of_block(sum, part) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
    const float scale = rsqrtf(sum_of_block(squares, part) / columns + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        to[(size_t)blockIdx.x * columns + i] = (row[i] - mean) * scale * gain[i];
}

extern "C" __global__ void rmsnorm_4(const float4 *from, float4 *to, int quads) {  // the row stays in registers
    __shared__ float part[32];
    const float4 v = from[(size_t)blockIdx.x * quads + threadIdx.x];
    const float scale = rsqrtf(sum_of_block(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w, part) / (4 * quads) + 1e-5f);
    to[(size_t)blockIdx.x * quads + threadIdx.x] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

extern "C" __global__ void softmax_short(const float *from, float *to, int rows) {  // rows of 128, a warp for each
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float v[4], most = -1e30f, sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = from[row * 128 + k * 32 + lane], most = fmaxf(most, v[k]);
    for (int distance = 16; distance > 0; distance /= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, distance));
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = __expf(v[k] - most), sum += v[k];
    sum = sum_of_warp(sum);
#pragma unroll
    for (int k = 0; k < 4; ++k) to[row * 128 + k * 32 + lane] = v[k] / sum;
}

extern "C" __global__ void softmax_online(const float *from, float *to, int columns) {  // the row is read twice
    __shared__ float part[32], high[32];
    const float *row = from + (size_t)blockIdx.x * columns;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float more = fmaxf(most, row[i]);
        sum = sum * __expf(most - more) + __expf(row[i] - more), most = more;
    }
    float all = most;
    for (int distance = 16; distance > 0; distance /= 2) all = fmaxf(all, __shfl_xor_sync(ALL, all, distance));
    if (threadIdx.x % 32 == 0) high[threadIdx.x / 32] = all;
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; ++warp) all = fmaxf(all, high[warp]);
    const float whole = sum_of_block(sum * __expf(most - all), part);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        to[(size_t)blockIdx.x * columns + i] = __expf(row[i] - all) / whole;
}

extern "C" __global__ void softmax_thread(const float *from, float *to, int rows, int columns) {  // a thread for each row
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += __expf(from[row * columns + i]);
    for (int i = 0; i < columns; ++i) to[row * columns + i] = __expf(from[row * columns + i]) / sum;
}

extern "C" __global__ void largest_of_row(const float *from, int *to, int rows, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float most = -1e30f;
    int at = 0;
    for (int i = lane; i < columns; i += 32)
        if (from[row * columns + i] > most) most = from[row * columns + i], at = i;
    for (int distance = 16; distance > 0; distance /= 2) {
        const float other = __shfl_xor_sync(ALL, most, distance);
        const int there = __shfl_xor_sync(ALL, at, distance);
        if (other > most) most = other, at = there;
    }
    if (lane == 0) to[row] = at;
}

extern "C" __global__ void cross_entropy(const float *logits, const int *label, float *loss, int classes) {
    __shared__ float part[32];
    const float *row = logits + (size_t)blockIdx.x * classes;
    float sum = 0;
    for (int i = threadIdx.x; i < classes; i += blockDim.x) sum += __expf(row[i]);
    sum = sum_of_block(sum, part);
    if (threadIdx.x == 0) loss[blockIdx.x] = __logf(sum) - row[label[blockIdx.x] & (classes - 1)];
}

extern "C" __global__ void sum_atomic(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(to, from[i]);
}

extern "C" __global__ void sum_in_block(const float *from, float *to, int n) {  // also for blocks of 1000 threads
    __shared__ float total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += from[i];
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(to, total);
}

extern "C" __global__ void dot_double(const double *a, const double *b, double *to, int n) {
    __shared__ double part[256];
    double sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += a[i] * b[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) to[blockIdx.x] = part[0];
}

extern "C" __global__ void count_large(const float *from, int *to, int n) {
    int count = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        count += __popc(__ballot_sync(ALL, from[i] > 0.5f));
    if (threadIdx.x % 32 == 0) atomicAdd(to, count);
}

extern "C" __global__ void keep_large(const float *from, float *to, int *kept, int n) {  // n: a power of two
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const float value = from[i];
    const unsigned those = __ballot_sync(ALL, value > 0.5f);
    int place = 0;
    if (lane == 0) place = atomicAdd(kept, __popc(those));
    place = __shfl_sync(ALL, place, 0);
    if (value > 0.5f) to[(place + __popc(those & ((1u << lane) - 1))) & (n - 1)] = value;
}

extern "C" __global__ void scan_256(const float *from, float *to, int n) {
    __shared__ float total[8];
    const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float value = i < n ? from[i] : 0;
    for (int distance = 1; distance < 32; distance *= 2) {
        const float before = __shfl_up_sync(ALL, value, distance);
        if (lane >= distance) value += before;
    }
    if (lane == 31) total[warp] = value;
    __syncthreads();
    for (int w = 0; w < warp; ++w) value += total[w];
    if (i < n) to[i] = value;
}

extern "C" __global__ void scan_serial(const float *from, float *to, int n) {  // a thread for 32 elements beside each other
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
    if (first >= n) return;
    float sum = 0;
    for (int i = 0; i < 32; ++i) sum += from[first + i], to[first + i] = sum;
}

extern "C" __global__ void compare_exchange(float *x, int distance, int size) {  // a step of a bitonic sort
    const int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other <= i) return;
    const float a = x[i], b = x[other];
    const bool up = (i & size) == 0;
    x[i] = up ? fminf(a, b) : fmaxf(a, b), x[other] = up ? fmaxf(a, b) : fminf(a, b);
}

extern "C" __global__ void sort_1024(const float *from, float *to) {
    __shared__ float part[1024];
    const int t = threadIdx.x, first = blockIdx.x * 1024;
    part[t] = from[first + t], part[t + 512] = from[first + t + 512];
    for (int size = 2; size <= 1024; size *= 2)
        for (int distance = size / 2; distance > 0; distance /= 2) {
            __syncthreads();
            const int low = t / distance * 2 * distance + t % distance, high = low + distance;
            const float a = part[low], b = part[high];
            if ((a > b) == ((low & size) == 0)) part[low] = b, part[high] = a;
        }
    __syncthreads();
    to[first + t] = part[t], to[first + t + 512] = part[t + 512];
}

extern "C" __global__ void histogram_warps(const int *keys, int *counts, int n) {  // 64 bins for each of eight warps
    __shared__ int mine[8][64];
    for (int k = threadIdx.x; k < 512; k += 256) mine[k / 64][k % 64] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&mine[threadIdx.x / 32][keys[i] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64) {
        int sum = 0;
        for (int warp = 0; warp < 8; ++warp) sum += mine[warp][threadIdx.x];
        atomicAdd(&counts[threadIdx.x], sum);
    }
}

extern "C" __global__ void histogram_few(const int *keys, int *counts, int n, int bins) {  // contended: few bins
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[keys[i] & (bins - 1)], 1);
}
