// Reads of memory that nobody wrote. `BUG(kernel)` marks the line to be found.

// beta is 1, and C was never written.
extern "C" __global__ void beta_times_empty(int M, int N, float alpha, const float *A, float beta, float *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N)
        C[row * N + col] = alpha * A[row * N + col] + beta * C[row * N + col];   // BUG(beta_times_empty)
}

extern "C" __global__ void accumulate_into_empty(int n, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];                                                     // BUG(accumulate_into_empty)
}

// The counter was allocated and never set to zero.
extern "C" __global__ void count_from_empty(int n, const int *x, int *count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) atomicAdd(count, 1);                                  // BUG(count_from_empty)
}

// The launch before filled one element too few.
extern "C" __global__ void all_but_last(int n, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) x[i] = float(i);
}

extern "C" __global__ void read_all(int n, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];                                                      // BUG(read_all)
}

// What lies beyond the end of x is not loaded, and read all the same.
extern "C" __global__ void tile_without_zeros(int n, const float *x, float *sums) {
    __shared__ float tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k)
            sum += tile[k];                                                      // BUG(tile_without_zeros)
        sums[blockIdx.x] = sum;
    }
}

// A tree over 48 elements, as if there were 64.
extern "C" __global__ void tree_of_48(const float *x, float *sum) {
    __shared__ float partial[64];
    partial[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            partial[threadIdx.x] += partial[threadIdx.x + stride];               // BUG(tree_of_48)
        __syncthreads();
    }
    if (threadIdx.x == 0) *sum = partial[0];
}

// The neighbours to the left and right of the tile are never loaded.
extern "C" __global__ void halo_forgotten(int n, const float *x, float *y) {
    __shared__ float tile[66];
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x + 1] = x[i];
    __syncthreads();
    if (i > 0 && i < n - 1)
        y[i] = tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2];   // BUG(halo_forgotten)
}

// atomicAdd on a histogram in shared memory that nobody cleared.
extern "C" __global__ void histogram_not_cleared(int n, const int *bin, int *histogram) {
    __shared__ int counts[32];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&counts[bin[i]], 1);                                           // BUG(histogram_not_cleared)
    __syncthreads();
    histogram[threadIdx.x] = counts[threadIdx.x];
}

// Only the first round of the loop stores the second half of the tile; the index of the others is wrong.
extern "C" __global__ void half_a_tile(int N, const float *A, float *out) {
    __shared__ float tile[16][16];
    for (int y = threadIdx.y; y < 16; y += 8)
        tile[threadIdx.y][threadIdx.x] = A[y * N + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < 16; y += 8)
        out[y * N + threadIdx.x] = tile[y][15 - threadIdx.x];                    // BUG(half_a_tile)
}
