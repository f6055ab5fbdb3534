// Reductions, scans, softmax, normalisation.
extern "C" __global__ void sum_shared(const float *from, float *to, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += from[i];
    part[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) to[blockIdx.x] = part[0];
}

__device__ float warp_sum(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

__device__ float warp_max(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
}

extern "C" __global__ void sum_shuffle(const float4 *from, float *to, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        const float4 v = from[i];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) atomicAdd(to, sum);
}

extern "C" __global__ void sum_of_rows(const float *from, float *to, int rows, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float sum = 0;
    for (int i = threadIdx.x % 32; i < columns; i += 32) sum += from[row * columns + i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) to[row] = sum;
}

extern "C" __global__ void sum_of_columns(const float *from, float *to, int rows, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    float sum = 0;
    for (int row = blockIdx.y; row < rows; row += gridDim.y) sum += from[row * columns + column];
    atomicAdd(&to[column], sum);
}

extern "C" __global__ void scan_blocks(const float *from, float *to, int n) {
    __shared__ float part[2][512];
    const int i = blockIdx.x * 512 + threadIdx.x;
    int now = 0;
    part[0][threadIdx.x] = i < n ? from[i] : 0;
    for (int distance = 1; distance < 512; distance *= 2) {
        __syncthreads();
        const float before = threadIdx.x >= distance ? part[now][threadIdx.x - distance] : 0;
        part[1 - now][threadIdx.x] = part[now][threadIdx.x] + before;
        now = 1 - now;
    }
    if (i < n) to[i] = part[now][threadIdx.x];
}

extern "C" __global__ void scan_warps(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float value = i < n ? from[i] : 0;
    for (int distance = 1; distance < 32; distance *= 2) {
        const float before = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value += before;
    }
    if (i < n) to[i] = value;
}

extern "C" __global__ void softmax_warp(const float *from, float *to, int rows, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float most = -1e30f, sum = 0;
    for (int i = lane; i < columns; i += 32) most = fmaxf(most, from[row * columns + i]);
    most = warp_max(most);
    for (int i = lane; i < columns; i += 32) sum += __expf(from[row * columns + i] - most);
    sum = warp_sum(sum);
    for (int i = lane; i < columns; i += 32) to[row * columns + i] = __expf(from[row * columns + i] - most) / sum;
}

extern "C" __global__ void softmax_block(const float *from, float *to, int columns) {
    __shared__ float part[8];
    const float *row = from + blockIdx.x * columns;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 256) most = fmaxf(most, row[i]);
    most = warp_max(most);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
    __syncthreads();
    most = part[0];
    for (int i = 1; i < 8; ++i) most = fmaxf(most, part[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 256) sum += expf(row[i] - most);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 8; ++i) sum += part[i];
    for (int i = threadIdx.x; i < columns; i += 256) to[blockIdx.x * columns + i] = expf(row[i] - most) / sum;
}

extern "C" __global__ void normalise_rows(const float4 *from, float4 *to, int columns) {
    __shared__ float part[2][4];
    const float4 *row = from + blockIdx.x * (columns / 4);
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns / 4; i += 128) {
        const float4 v = row[i];
        sum += v.x + v.y + v.z + v.w;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    sum = warp_sum(sum), squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0) part[0][threadIdx.x / 32] = sum, part[1][threadIdx.x / 32] = squares;
    __syncthreads();
    sum = part[0][0] + part[0][1] + part[0][2] + part[0][3];
    squares = part[1][0] + part[1][1] + part[1][2] + part[1][3];
    const float mean = sum / columns, scale = rsqrtf(squares / columns - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < columns / 4; i += 128) {
        const float4 v = row[i];
        to[blockIdx.x * (columns / 4) + i] =
            make_float4((v.x - mean) * scale, (v.y - mean) * scale, (v.z - mean) * scale, (v.w - mean) * scale);
    }
}
