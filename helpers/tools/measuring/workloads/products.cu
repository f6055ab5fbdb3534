// Products of matrices and vectors, written in other ways than the ladder's. Sizes are multiples of the tiles.
extern "C" __global__ void matrix_vector(const float *A, const float *x, float *y, int rows, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float sum = 0;
    for (int i = threadIdx.x % 32; i < columns; i += 32) sum += A[row * columns + i] * x[i];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0) y[row] = sum;
}

extern "C" __global__ void vector_matrix(const float *A, const float *x, float *y, int rows, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int row = 0; row < rows; ++row) sum += x[row] * A[row * columns + column];
    y[column] = sum;
}

extern "C" __global__ void product_16(const float *A, const float *B, float *C, int n) {
    __shared__ float As[16][16], Bs[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        As[y][x] = A[row * n + k + x];
        Bs[y][x] = B[(k + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) sum += As[y][i] * Bs[i][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

extern "C" __global__ void __launch_bounds__(256) product_4x4(const float *A, const float *B, float *C, int n) {
    __shared__ float As[16][64 + 4], Bs[16][64];
    const int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = t; i < 1024; i += 256) As[i % 16][i / 16] = A[(row + i / 16) * n + k + i % 16];
        for (int i = t; i < 1024; i += 256) Bs[i / 64][i % 64] = B[(k + i / 64) * n + column + i % 64];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const float4 a = *(const float4 *)&As[i][y], b = *(const float4 *)&Bs[i][x];
            const float left[4] = {a.x, a.y, a.z, a.w}, right[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int c = 0; c < 4; ++c) sum[r][c] += left[r] * right[c];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        *(float4 *)&C[(row + y + r) * n + column + x] = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

extern "C" __global__ void product_transposed(const float *A, const float *B, float *C, int n) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;  // C = A times B transposed
    float sum = 0;
    for (int k = 0; k < n; k += 4) {
        const float4 a = *(const float4 *)&A[row * n + k], b = *(const float4 *)&B[column * n + k];
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    C[row * n + column] = sum;
}

extern "C" __global__ void products_of_8(const float *A, const float *B, float *C) {
    __shared__ float As[4][64], Bs[4][64];  // a product of 8 × 8 matrices for each of four groups of 64 threads
    const int which = threadIdx.x / 64, i = threadIdx.x % 64, at = (blockIdx.x * 4 + which) * 64 + i;
    As[which][i] = A[at], Bs[which][i] = B[at];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += As[which][i / 8 * 8 + k] * Bs[which][k * 8 + i % 8];
    C[at] = sum;
}

extern "C" __global__ void convolution_3x3(const float *image, const float *weights, float *to, int rows, int columns) {
    __shared__ float w[16 * 9];
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 16 * 9; i += 256) w[i] = weights[i];
    __syncthreads();
    const int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    if (x >= columns - 1 || y >= rows - 1) return;
    float near[9];
#pragma unroll
    for (int i = 0; i < 9; ++i) near[i] = image[(y + i / 3 - 1) * columns + x + i % 3 - 1];
    for (int channel = 0; channel < 16; ++channel) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < 9; ++i) sum += near[i] * w[channel * 9 + i];
        to[(channel * rows + y) * columns + x] = sum;
    }
}
