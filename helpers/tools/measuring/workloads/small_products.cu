// Products that are small, many, thin or of doubles. Sizes are multiples of the tiles.
extern "C" __global__ void batched_16(const float *A, const float *B, float *C) {  // a block for each product
    __shared__ float As[16][16], Bs[16][16];
    const int x = threadIdx.x, y = threadIdx.y, at = blockIdx.x * 256 + y * 16 + x;
    As[y][x] = A[at], Bs[y][x] = B[at];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += As[y][k] * Bs[k][x];
    C[at] = sum;
}

extern "C" __global__ void batched_32(const float *A, const float *B, float *C) {  // four rows of a product a thread
    __shared__ float As[32][33], Bs[32][33];
    const int x = threadIdx.x, y = threadIdx.y, at = blockIdx.x * 1024 + x;
    for (int r = y; r < 32; r += 8) As[r][x] = A[at + r * 32], Bs[r][x] = B[at + r * 32];
    __syncthreads();
    float sum[4] = {};
    for (int k = 0; k < 32; ++k)
        for (int r = 0; r < 4; ++r) sum[r] += As[y + 8 * r][k] * Bs[k][x];
    for (int r = 0; r < 4; ++r) C[at + (y + 8 * r) * 32] = sum[r];
}

extern "C" __global__ void batched_4(const float *A, const float *B, float *C, int n) {  // a thread for each product
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a[16], b[16];
    for (int k = 0; k < 16; ++k) a[k] = A[i * 16 + k], b[k] = B[i * 16 + k];
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            float sum = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k) sum += a[4 * r + k] * b[4 * k + c];
            C[i * 16 + 4 * r + c] = sum;
        }
}

extern "C" __global__ void row_a_thread(const float *A, const float *x, float *y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += A[row * columns + i] * x[i];
    y[row] = sum;
}

extern "C" __global__ void row_a_block(const float4 *A, const float4 *x, float *y, int quads) {
    __shared__ float part[8];
    float sum = 0;
    for (int i = threadIdx.x; i < quads; i += 256) {
        const float4 a = A[(size_t)blockIdx.x * quads + i], b = x[i];
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7];
}

extern "C" __global__ void outer(const float *x, const float *y, float *C, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    C[(size_t)blockIdx.y * columns + column] = x[blockIdx.y] * y[column];
}

extern "C" __global__ void product_double(const double *A, const double *B, double *C, int n) {
    __shared__ double As[16][16], Bs[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    double sum = 0;
    for (int k = 0; k < n; k += 16) {
        As[y][x] = A[row * n + k + x], Bs[y][x] = B[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += As[y][i] * Bs[i][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

extern "C" __global__ void product_column_first(const float *A, const float *B, float *C, int n) {  // lanes on rows
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}

extern "C" __global__ void product_four_columns(const float *A, const float *B, float *C, int n) {  // without shared memory
    const int column = (blockIdx.x * 32 + threadIdx.x) * 4, row = blockIdx.y * 8 + threadIdx.y;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < n; ++k) {
        const float a = A[row * n + k];
        const float4 b = *(const float4 *)&B[k * n + column];
        sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
    }
    *(float4 *)&C[row * n + column] = sum;
}

extern "C" __global__ void product_32(const float *A, const float *B, float *C, int M, int N, int K) {  // 2 × 2 a thread
    __shared__ float As[32][33], Bs[32][33];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32, column = blockIdx.x * 32;
    float sum[2][2] = {};
    for (int k = 0; k < K; k += 32) {
        for (int i = 0; i < 32; i += 16)
            for (int j = 0; j < 32; j += 16) {
                As[y + i][x + j] = A[(row + y + i) * K + k + x + j];
                Bs[y + i][x + j] = B[(k + y + i) * N + column + x + j];
            }
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < 32; ++i) {
            sum[0][0] += As[y][i] * Bs[i][x], sum[0][1] += As[y][i] * Bs[i][x + 16];
            sum[1][0] += As[y + 16][i] * Bs[i][x], sum[1][1] += As[y + 16][i] * Bs[i][x + 16];
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) C[(row + y + 16 * i) * N + column + x + 16 * j] = sum[i][j];
}

extern "C" __global__ void times_8x8(const float *A, const float *weights, float *C, int rows) {  // a thread for each row
    __shared__ float w[64];
    if (threadIdx.x < 64) w[threadIdx.x] = weights[threadIdx.x];
    __syncthreads();
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = A[row * 8 + k];
    for (int c = 0; c < 8; ++c) {
        float sum = 0;
        for (int k = 0; k < 8; ++k) sum += a[k] * w[k * 8 + c];
        C[row * 8 + c] = sum;
    }
}

extern "C" __global__ void distances(const float *points, const float *centres, float *to, int n, int count) {  // in 16 dimensions
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p[16], least = 1e30f;
    for (int k = 0; k < 16; ++k) p[k] = points[k * n + i];
    for (int c = 0; c < count; ++c) {
        float sum = 0;
        for (int k = 0; k < 16; ++k) sum += (p[k] - centres[c * 16 + k]) * (p[k] - centres[c * 16 + k]);
        least = fminf(least, sum);
    }
    to[i] = sqrtf(least);
}

extern "C" __global__ void attention(const float *Q, const float *K, float *scores, int n) {  // heads of 64 numbers
    __shared__ float key[64][65];
    const int t = threadIdx.x, first = blockIdx.y * 64, query = blockIdx.x * 64 + t;
    for (int i = t; i < 4096; i += 64) key[i / 64][i % 64] = K[first * 64 + i];
    float q[64];
#pragma unroll
    for (int k = 0; k < 64; k += 4) {
        const float4 v = *(const float4 *)&Q[query * 64 + k];
        q[k] = v.x, q[k + 1] = v.y, q[k + 2] = v.z, q[k + 3] = v.w;
    }
    __syncthreads();
    for (int j = 0; j < 64; ++j) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < 64; ++k) sum += q[k] * key[j][k];
        scores[(size_t)(first + j) * n + query] = sum * 0.125f;
    }
}
