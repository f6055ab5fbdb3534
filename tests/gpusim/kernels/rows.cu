// Operations on the rows of a matrix, a block a row: softmax, layer norm, products with a vector.

__device__ float block_sum(float value, float *scratch) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? scratch[threadIdx.x % 32] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    __syncthreads();
    return value;
}

__device__ float block_max(float value, float *scratch) {
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? scratch[threadIdx.x % 32] : -3.0e38f;
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads();
    return value;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns) {
    __shared__ float scratch[32];
    const float *row = in + blockIdx.x * columns;
    float most = -3.0e38f, sum = 0.0f;
    for (int col = threadIdx.x; col < columns; col += blockDim.x) most = fmaxf(most, row[col]);
    most = block_max(most, scratch);
    for (int col = threadIdx.x; col < columns; col += blockDim.x) sum += __expf(row[col] - most);
    sum = block_sum(sum, scratch);
    for (int col = threadIdx.x; col < columns; col += blockDim.x)
        out[blockIdx.x * columns + col] = __expf(row[col] - most) / sum;
}

extern "C" __global__ void layer_norm(const float *in, const float *gain, const float *shift, float *out, int columns) {
    __shared__ float scratch[32];
    const float *row = in + blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int col = threadIdx.x; col < columns; col += blockDim.x) {
        sum += row[col];
        squares += row[col] * row[col];
    }
    const float mean = block_sum(sum, scratch) / columns;
    const float variance = block_sum(squares, scratch) / columns - mean * mean;
    const float scale = 1.0f / sqrtf(variance + 1.0e-5f);
    for (int col = threadIdx.x; col < columns; col += blockDim.x)
        out[blockIdx.x * columns + col] = (row[col] - mean) * scale * gain[col] + shift[col];
}

extern "C" __global__ void rms_norm_vectorized(const float4 *in, float4 *out, int columns) {
    __shared__ float scratch[32];
    const float4 *row = in + blockIdx.x * columns;
    float squares = 0.0f;
    for (int col = threadIdx.x; col < columns; col += blockDim.x) {
        const float4 v = row[col];
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    const float scale = sqrtf(block_sum(squares, scratch) / (4 * columns));
    for (int col = threadIdx.x; col < columns; col += blockDim.x) {
        const float4 v = row[col];
        out[blockIdx.x * columns + col] = {v.x / scale, v.y / scale, v.z / scale, v.w / scale};
    }
}

// The special functions of the fast path
// The approximations that the special function unit makes, a plane of n results each
extern "C" __global__ void fast_math(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i], magnitude = fabsf(x);
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    out[i] = y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(magnitude));
    out[n + i] = y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(magnitude));
    out[2 * n + i] = y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    out[3 * n + i] = y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(magnitude));
    out[4 * n + i] = y;
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    out[5 * n + i] = y;
    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    out[6 * n + i] = y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    out[7 * n + i] = y;
}

extern "C" __global__ void gemv(const float *A, const float *x, float *y, int rows, int columns) {
    __shared__ float scratch[32];
    float sum = 0.0f;
    for (int col = threadIdx.x; col < columns; col += blockDim.x) sum += A[blockIdx.x * columns + col] * x[col];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
