// Neighbours on a line, in a plane and in space; filters.
__constant__ float taps[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};

extern "C" __global__ void second_difference(const float *from, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) to[i] = from[i - 1] - 2 * from[i] + from[i + 1];
}

extern "C" __global__ void heat_3d(const float *from, float *to, int n) {  // blocks of 32 × 4 × 2 points of n × n × n
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 2 + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
    const int i = (z * n + y) * n + x;
    to[i] = from[i] + 0.1f * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n] + from[i - n * n] + from[i + n * n] - 6 * from[i]);
}

extern "C" __global__ void heat_marching(const float *from, float *to, int n) {  // a thread for each column along z
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, plane = n * n;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int i = y * n + x;
    float below = from[i], here = from[i + plane];
    for (int z = 1; z < n - 1; ++z) {
        i += plane;
        const float above = from[i + plane];
        to[i] = here + 0.1f * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n] + below + above - 6 * here);
        below = here, here = above;
    }
}

extern "C" __global__ void filter_5x5(const float *from, float *to, int rows, int columns) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < 2 || y < 2 || x >= columns - 2 || y >= rows - 2) return;
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 5; ++dy)
#pragma unroll
        for (int dx = 0; dx < 5; ++dx) sum += taps[dy * 5 + dx] * from[(y + dy - 2) * columns + x + dx - 2];
    to[y * columns + x] = sum / 256;
}

extern "C" __global__ void filter_shared(const float *from, float *to, int rows, int columns) {
    __shared__ float tile[12][36];
    const int x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 8 - 2;
    for (int y = threadIdx.y; y < 12; y += 8)
        for (int x = threadIdx.x; x < 36; x += 32)
            tile[y][x] = from[min(max(y0 + y, 0), rows - 1) * columns + min(max(x0 + x, 0), columns - 1)];
    __syncthreads();
    float sum = 0;
    for (int dy = 0; dy < 5; ++dy)
        for (int dx = 0; dx < 5; ++dx) sum += taps[dy * 5 + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    const int x = x0 + 2 + threadIdx.x, y = y0 + 2 + threadIdx.y;
    if (x < columns && y < rows) to[y * columns + x] = sum / 256;
}

extern "C" __global__ void filter_long(const float *from, float *to, int n) {  // 25 taps along a line, from global memory
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 24) return;
    float sum = 0;
    for (int k = 0; k < 25; ++k) sum += taps[k] * from[i + k];
    to[i] = sum;
}

extern "C" __global__ void channels(const float *image, const float *weights, float *to, int rows, int columns) {  // 8 → 8, 1 × 1
    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = rows * columns;
    if (i >= n) return;
    float pixel[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) pixel[c] = image[c * n + i];
    for (int d = 0; d < 8; ++d) {
        float sum = 0;
#pragma unroll
        for (int c = 0; c < 8; ++c) sum += weights[d * 8 + c] * pixel[c];
        to[d * n + i] = sum;
    }
}

extern "C" __global__ void life(const unsigned char *from, unsigned char *to, int n) {  // n × n cells on a torus
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= n || y >= n) return;
    const int left = (x + n - 1) % n, right = (x + 1) % n, up = (y + n - 1) % n * n, down = (y + 1) % n * n;
    const int around = from[up + left] + from[up + x] + from[up + right] + from[y * n + left] + from[y * n + right] +
                       from[down + left] + from[down + x] + from[down + right];
    to[y * n + x] = around == 3 || (around == 2 && from[y * n + x]);
}

extern "C" __global__ void enlarge(const float *from, float *to, int rows, int columns) {  // twice as high and wide
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= 2 * columns || y >= 2 * rows) return;
    const int x0 = x / 2, y0 = y / 2, x1 = min(x0 + 1, columns - 1), y1 = min(y0 + 1, rows - 1);
    const float u = x % 2 * 0.5f, v = y % 2 * 0.5f;
    to[y * 2 * columns + x] = (1 - v) * ((1 - u) * from[y0 * columns + x0] + u * from[y0 * columns + x1]) +
                              v * ((1 - u) * from[y1 * columns + x0] + u * from[y1 * columns + x1]);
}

extern "C" __global__ void pool(const float *from, float *to, int rows, int columns) {  // the largest of 2 × 2
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns / 2 || y >= rows / 2) return;
    const float2 a = *(const float2 *)&from[2 * y * columns + 2 * x], b = *(const float2 *)&from[(2 * y + 1) * columns + 2 * x];
    to[y * (columns / 2) + x] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}

extern "C" __global__ void running_mean_down(const float *from, float *to, int rows, int columns) {  // a thread for a column
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= columns) return;
    float sum = 0;
    for (int y = 0; y < rows; ++y) {
        sum += from[y * columns + x];
        if (y >= 8) sum -= from[(y - 8) * columns + x];
        to[y * columns + x] = sum / 8;
    }
}

extern "C" __global__ void transpose_double(const double *from, double *to, int n) {
    __shared__ double tile[16][17];
    const int x = threadIdx.x, y = threadIdx.y, left = blockIdx.x * 16, top = blockIdx.y * 16;
    tile[y][x] = from[(top + y) * n + left + x];
    __syncthreads();
    to[(left + y) * n + top + x] = tile[x][y];
}

extern "C" __global__ void transpose_by_rows(const float *from, float *to, int n) {  // what is written lies together
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < n && y < n) to[y * n + x] = from[x * n + y];
}

extern "C" __global__ void transpose_4x4(const float4 *from, float4 *to, int n) {  // each thread a tile of 4 × 4
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, wide = n / 4;
    if (x >= wide || y >= wide) return;
    float4 row[4];
    for (int k = 0; k < 4; ++k) row[k] = from[(4 * y + k) * wide + x];
    to[(4 * x) * wide + y] = make_float4(row[0].x, row[1].x, row[2].x, row[3].x);
    to[(4 * x + 1) * wide + y] = make_float4(row[0].y, row[1].y, row[2].y, row[3].y);
    to[(4 * x + 2) * wide + y] = make_float4(row[0].z, row[1].z, row[2].z, row[3].z);
    to[(4 * x + 3) * wide + y] = make_float4(row[0].w, row[1].w, row[2].w, row[3].w);
}
