// Neighbourhoods: one, two and three dimensions, bytes and floats, constant memory.

__constant__ float weights[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};

extern "C" __global__ void stencil_1d(const float *in, float *out, int n) {
    __shared__ float tile[256 + 6];
    const int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x + 3] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < 3) {
        tile[threadIdx.x] = i >= 3 ? in[i - 3] : 0.0f;
        tile[threadIdx.x + 259] = i + 256 < n ? in[i + 256] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int offset = 0; offset <= 6; ++offset) sum += tile[threadIdx.x + offset];
    if (i < n) out[i] = sum / 7.0f;
}

extern "C" __global__ void jacobi_2d(const float *in, float *out, int rows, int columns) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < 1 || row >= rows - 1 || col < 1 || col >= columns - 1) return;
    const float *at = in + row * columns + col;
    out[row * columns + col] = 0.25f * (at[-1] + at[1] + at[-columns] + at[columns]);
}

extern "C" __global__ void blur_constant(const float *in, float *out, int rows, int columns) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= columns) return;
    float sum = 0.0f;
    for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x) {
            const int r = min(max(row + y, 0), rows - 1), c = min(max(col + x, 0), columns - 1);
            sum += weights[(y + 1) * 3 + x + 1] * in[r * columns + c];
        }
    out[row * columns + col] = sum;
}

// Weights chosen at run time, so that the constant bank is indexed
extern "C" __global__ void weigh_constant(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * weights[i % 9];
}

extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int rows, int columns) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= columns) return;
    int neighbours = 0;
    for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
            if (x != 0 || y != 0) neighbours += in[(row + y + rows) % rows * columns + (col + x + columns) % columns];
    out[row * columns + col] = neighbours == 3 || (neighbours == 2 && in[row * columns + col]);
}

extern "C" __global__ void heat_3d(const double *in, double *out, int size) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= size - 1 || y >= size - 1 || z >= size - 1) return;
    const int at = (z * size + y) * size + x;
    out[at] = in[at] + 0.1 * (in[at - 1] + in[at + 1] + in[at - size] + in[at + size] + in[at - size * size] +
                              in[at + size * size] - 6.0 * in[at]);
}
