// Matrix transposition: out (columns, rows) = in (rows, columns) transposed.

extern "C" __global__ void transpose_naive(const float *in, float *out, int rows, int columns) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < columns) out[col * rows + row] = in[row * columns + col];
}

// Through a 32 x (32 + PAD) tile in shared memory, with blocks of 32 x 8 threads
template <int PAD>
__global__ void transpose_tiled(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[32][32 + PAD];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int y = 0; y < 32; y += 8)
        if (row + y < rows && col < columns) tile[threadIdx.y + y][threadIdx.x] = in[(row + y) * columns + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int y = 0; y < 32; y += 8)
        if (row + y < columns && col < rows) out[(row + y) * rows + col] = tile[threadIdx.x][threadIdx.y + y];
}

// The same with an XOR swizzle in place of padding
extern "C" __global__ void transpose_swizzled(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[32 * 32];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int y = 0; y < 32; y += 8) {
        const int at = threadIdx.y + y;
        if (row + y < rows && col < columns) tile[at * 32 + (threadIdx.x ^ at)] = in[(row + y) * columns + col];
    }
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int y = 0; y < 32; y += 8) {
        const int at = threadIdx.y + y;
        if (row + y < columns && col < rows) out[(row + y) * rows + col] = tile[threadIdx.x * 32 + (at ^ threadIdx.x)];
    }
}
