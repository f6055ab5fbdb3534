// Transpositions and stencils of row-major matrices.
extern "C" __global__ void transpose(const float *from, float *to, int rows, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) to[column * rows + row] = from[row * columns + column];
}

template <int PAD> __device__ void transpose_by_tiles(const float *from, float *to, int rows, int columns) {
    __shared__ float tile[32][32 + PAD];
    const int x = threadIdx.x, column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + x;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (blockIdx.y * 32 + y < rows && column < columns) tile[y][x] = from[(blockIdx.y * 32 + y) * columns + column];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (blockIdx.x * 32 + y < columns && row < rows) to[(blockIdx.x * 32 + y) * rows + row] = tile[x][y];
}

extern "C" __global__ void transpose_tiled(const float *from, float *to, int rows, int columns) {
    transpose_by_tiles<0>(from, to, rows, columns);
}

extern "C" __global__ void transpose_padded(const float *from, float *to, int rows, int columns) {
    transpose_by_tiles<1>(from, to, rows, columns);
}

extern "C" __global__ void stencil_5(const float *from, float *to, int rows, int columns) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;
    const int i = y * columns + x;
    to[i] = 0.5f * from[i] + 0.125f * (from[i - 1] + from[i + 1] + from[i - columns] + from[i + columns]);
}

extern "C" __global__ void stencil_9_shared(const float *from, float *to, int rows, int columns) {
    __shared__ float tile[18][34];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 16;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 18 * 34; i += 512) {
        const int y = y0 + i / 34 - 1, x = x0 + i % 34 - 1;
        tile[i / 34][i % 34] = x >= 0 && y >= 0 && x < columns && y < rows ? from[y * columns + x] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) sum += tile[threadIdx.y + dy][threadIdx.x + dx];
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x < columns && y < rows) to[y * columns + x] = sum / 9;
}

extern "C" __global__ void blur_1d(const float *from, float *to, int n) {
    __shared__ float part[256 + 16];
    const int first = blockIdx.x * 256 - 8;
    for (int i = threadIdx.x; i < 272; i += 256) part[i] = first + i >= 0 && first + i < n ? from[first + i] : 0;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 17; ++i) sum += part[threadIdx.x + i];
    if (blockIdx.x * 256 + threadIdx.x < n) to[blockIdx.x * 256 + threadIdx.x] = sum / 17;
}
