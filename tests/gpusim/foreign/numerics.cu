// Numerical kernels: transforms, sparse and dense algebra, layers of networks.
#include <cfloat>

// y = x multiplied by a number; all three are complex.
extern "C" __global__ void scale_complex(const float2 *x, float2 *y, float2 by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = make_float2(x[i].x * by.x - x[i].y * by.y, x[i].x * by.y + x[i].y * by.x);
}

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < columns && y + j < rows)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < rows && y + j < columns)
        out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void escape(int *steps, int width, int height, int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const double cx = -2.0 + 3.0 * px / width, cy = -1.25 + 2.5 * py / height;
    double x = 0, y = 0;
    int n = 0;
    while (n < limit && __dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)) <= 4) {
        const double t = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), cx);
        y = __dadd_rn(__dmul_rn(2 * x, y), cy);
        x = t;
        ++n;
    }
    steps[py * width + px] = n;
}

// One warp a row.
extern "C" __global__ void spmv_csr(const int *starts, const int *columns, const float *values, const float *x,
                                    float *y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}

// Rodinia's breadth-first search, by masks.
struct Node { int first, count; };
extern "C" __global__ void visit(const Node *nodes, const int *edges, bool *mask, bool *next, const bool *seen,
                                 int *cost, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || !mask[v]) return;
    mask[v] = false;
    for (int k = nodes[v].first; k < nodes[v].first + nodes[v].count; ++k) {
        const int to = edges[k];
        if (!seen[to]) { cost[to] = cost[v] + 1; next[to] = true; }
    }
}
extern "C" __global__ void advance(bool *mask, bool *next, bool *seen, bool *more, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && next[v]) { mask[v] = true; seen[v] = true; *more = true; next[v] = false; }
}

#define RADIUS 2
__constant__ float filter[2 * RADIUS + 1][2 * RADIUS + 1];
__constant__ float sharpen[3][3] = {{0, -1, 0.5f}, {-1.5f, 5, -1}, {0.25f, -1, 0}};
extern "C" __global__ void convolve(const float *in, float *out, int width, int height) {
    __shared__ float tile[16 + 2 * RADIUS][16 + 2 * RADIUS];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int j = threadIdx.y; j < 16 + 2 * RADIUS; j += 16)
        for (int i = threadIdx.x; i < 16 + 2 * RADIUS; i += 16) {
            const int from_x = blockIdx.x * 16 + i - RADIUS, from_y = blockIdx.y * 16 + j - RADIUS;
            const bool inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
            tile[j][i] = inside ? in[from_y * width + from_x] : 0;
        }
    __syncthreads();
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int j = 0; j <= 2 * RADIUS; ++j)
        for (int i = 0; i <= 2 * RADIUS; ++i) sum += filter[j][i] * tile[threadIdx.y + j][threadIdx.x + i];
    out[y * width + x] = sum;
}
extern "C" __global__ void convolve_3x3(const float *in, float *out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int j = -1; j <= 1; ++j) for (int i = -1; i <= 1; ++i)
        if (x + i >= 0 && x + i < width && y + j >= 0 && y + j < height)
            sum += sharpen[j + 1][i + 1] * in[(y + j) * width + x + i];
    out[y * width + x] = sum;
}

extern "C" __global__ void layer_norm(const float *x, const float *gain, const float *bias, float *y, int n) {
    __shared__ float sums[2][32];
    const float *row = x + blockIdx.x * n;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i], squares += row[i] * row[i];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d), squares += __shfl_xor_sync(~0u, squares, d);
    if (threadIdx.x % 32 == 0) sums[0][threadIdx.x / 32] = sum, sums[1][threadIdx.x / 32] = squares;
    __syncthreads();
    sum = squares = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) sum += sums[0][w], squares += sums[1][w];
    const float mean = sum / n, scale = rsqrtf(squares / n - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = (row[i] - mean) * scale * gain[i] + bias[i];
}

// Softmax of a row, of which some elements are masked, with the macros of the mathematical header.
extern "C" __global__ void softmax_masked(const float *x, const unsigned char *keep, float *y, int n) {
    float largest = -INFINITY, sum = 0.0f;
    for (int i = 0; i < n; ++i) if (keep[blockIdx.x * n + i]) largest = fmaxf(largest, x[blockIdx.x * n + i]);
    for (int i = threadIdx.x; i < n; i += 32) sum += keep[blockIdx.x * n + i] ? expf(x[blockIdx.x * n + i] - largest) : 0;
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = threadIdx.x; i < n; i += 32)
        y[blockIdx.x * n + i] = !keep[blockIdx.x * n + i] ? 0 : sum > FLT_MIN ? expf(x[blockIdx.x * n + i] - largest) / sum : NAN;
}

// Attention of one head in one pass over blocks of keys, 32 queries and 32 keys at a time, d = 16.
extern "C" __global__ void attention(const float *Q, const float *K, const float *V, float *O, int n) {
    __shared__ float k[32][16], v[32][16];
    const int row = blockIdx.x * 32 + threadIdx.x;
    float q[16], o[16] = {}, largest = -FLT_MAX, sum = 0;
    for (int j = 0; j < 16; ++j) q[j] = row < n ? Q[row * 16 + j] : 0;
    for (int first = 0; first < n; first += 32) {
        __syncthreads();
        for (int j = 0; j < 16; ++j) {
            const bool inside = first + threadIdx.x < n;
            k[threadIdx.x][j] = inside ? K[(first + threadIdx.x) * 16 + j] : 0;
            v[threadIdx.x][j] = inside ? V[(first + threadIdx.x) * 16 + j] : 0;
        }
        __syncthreads();
        float scores[32], highest = largest;
        for (int c = 0; c < 32; ++c) {
            float s = 0;
            for (int j = 0; j < 16; ++j) s += q[j] * k[c][j];
            scores[c] = first + c < n ? s * 0.25f : -FLT_MAX;
            highest = fmaxf(highest, scores[c]);
        }
        const float correction = __expf(largest - highest);
        sum *= correction;
        for (int j = 0; j < 16; ++j) o[j] *= correction;
        for (int c = 0; c < 32; ++c) {
            const float p = __expf(scores[c] - highest);
            sum += p;
            for (int j = 0; j < 16; ++j) o[j] += p * v[c][j];
        }
        largest = highest;
    }
    if (row < n) for (int j = 0; j < 16; ++j) O[row * 16 + j] = o[j] / sum;
}

// Training of a batch normalisation: one block a channel; x is batch, channel, place.
extern "C" __global__ void batch_norm(const float *x, float *y, float *mean, float *deviation, int batch, int channels,
                                      int places) {
    __shared__ double s[64];
    const int c = blockIdx.x, t = threadIdx.x, n = batch * places;
    const auto at = [=](int i) { return (i / places * channels + c) * places + i % places; };
    double sum = 0;
    for (int i = t; i < n; i += 64) sum += x[at(i)];
    s[t] = sum;
    for (int d = 32; d; d /= 2) { __syncthreads(); if (t < d) s[t] += s[t + d]; }
    __syncthreads();
    const double middle = s[0] / n;
    __syncthreads();
    sum = 0;
    for (int i = t; i < n; i += 64) sum += (x[at(i)] - middle) * (x[at(i)] - middle);
    s[t] = sum;
    for (int d = 32; d; d /= 2) { __syncthreads(); if (t < d) s[t] += s[t + d]; }
    __syncthreads();
    const double root = rsqrt(s[0] / n + 1e-5);
    if (t == 0) mean[c] = middle, deviation[c] = s[0] / n;
    for (int i = t; i < n; i += 64) y[at(i)] = (x[at(i)] - middle) * root;
}

// A table of pairs of a key and a value in one word of 64 bits; keys are never 0.
extern "C" __global__ void insert(unsigned long long *table, const unsigned *keys, const unsigned *values, int n, unsigned size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned long long pair = (unsigned long long)keys[i] << 32 | values[i];
    for (unsigned at = keys[i] * 2654435761u % size;; at = (at + 1) % size) {
        const unsigned long long old = atomicCAS(&table[at], 0ull, pair);
        if (old == 0 || old >> 32 == keys[i]) { if (old) atomicMax(&table[at], pair); return; }
    }
}

extern "C" __global__ void dgemm(const double *A, const double *B, double *C, int M, int N, int K) {
    __shared__ double a[8][8], b[8][8];
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    double sum = 0;
    for (int first = 0; first < K; first += 8) {
        a[threadIdx.y][threadIdx.x] = row < M && first + threadIdx.x < K ? A[row * K + first + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = first + threadIdx.y < K && column < N ? B[(first + threadIdx.y) * N + column] : 0;
        __syncthreads();
        for (int k = 0; k < 8; ++k) sum = fma(a[threadIdx.y][k], b[k][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}

extern "C" __global__ void gemm_of_bytes(const int *A, const int *B, int *C, int M, int N, int words) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    int sum = 0;
    for (int k = 0; k < words; ++k) sum = __dp4a(A[row * words + k], B[column * words + k], sum);
    C[row * N + column] = sum;
}
