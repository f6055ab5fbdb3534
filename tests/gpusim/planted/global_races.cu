// Races in global memory, between blocks or inside one. `BUG(kernel)` marks the two accesses, on one line or on two.

// Each block adds its share to one sum.
extern "C" __global__ void blocks_add(int n, const float *x, float *sum) {
    __shared__ float partial[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) *sum += partial[0];                            // BUG(blocks_add)
}

// A stencil in place: at the edge of a block, the neighbour may be old or new.
extern "C" __global__ void stencil_in_place(int n, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i > 0 && i < n - 1;
    float mean = 0.0f;
    if (inside)
        mean = (x[i - 1] + x[i] + x[i + 1]) / 3.0f;                      // BUG(stencil_in_place)
    __syncthreads();
    if (inside)
        x[i] = mean;                                                     // BUG(stencil_in_place)
}

// Blocks of 32 with a stride of 30: two blocks write the same two elements, with different values.
extern "C" __global__ void blocks_overlap(int n, const float *x, float *y) {
    const int i = blockIdx.x * 30 + threadIdx.x;
    if (i < n) y[i] = x[i] * (blockIdx.x + 1);                           // BUG(blocks_overlap)
}

extern "C" __global__ void global_histogram(int n, const int *bin, int *histogram) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        histogram[bin[i]]++;                                             // BUG(global_histogram)
}

// Threads of one block hand values on through global memory without a barrier.
extern "C" __global__ void pass_on_in_global(const float *x, float *scratch, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, last = blockIdx.x * blockDim.x + blockDim.x - 1;
    scratch[i] = 2.0f * x[i];                                            // BUG(pass_on_in_global)
    y[i] = scratch[last - threadIdx.x];                                  // BUG(pass_on_in_global)
}

// The block that comes last adds up what the others wrote, but they never said __threadfence().
extern "C" __global__ void no_threadfence(const float *x, float *partial, unsigned *arrived, float *sum) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = x[blockIdx.x] * x[blockIdx.x];             // BUG(no_threadfence)
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.0f;
        for (int block = 0; block < gridDim.x; ++block)
            total += partial[block];                                     // BUG(no_threadfence)
        *sum = total;
    }
}

// A second pass in the same launch: nobody waits for the other blocks.
extern "C" __global__ void two_passes(int n, const float *x, float *squares, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    squares[i] = x[i] * x[i];                                            // BUG(two_passes)
    __syncthreads();
    y[i] = squares[(i + blockDim.x) % n];                                // BUG(two_passes)
}

// Every row is summed by the threads of two blocks, which write the same C.
extern "C" __global__ void split_k(int N, int K, const float *A, const float *x, float *y) {
    const int row = threadIdx.x;
    float sum = 0.0f;
    for (int k = blockIdx.x; k < K; k += gridDim.x) sum += A[row * K + k] * x[k];
    if (row < N) y[row] += sum;                                          // BUG(split_k)
}

// One kernel reads with a plain load what others update with atomics.
extern "C" __global__ void plain_read_of_atomic(const int *x, int *best, int *seen) {
    atomicMax(best, x[blockIdx.x * blockDim.x + threadIdx.x]);           // BUG(plain_read_of_atomic)
    seen[blockIdx.x * blockDim.x + threadIdx.x] = *best;                 // BUG(plain_read_of_atomic)
}

// The matrix is transposed in place, each element by its own thread.
extern "C" __global__ void transpose_in_place(int N, float *A) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N)
        A[col * N + row] = A[row * N + col];                             // BUG(transpose_in_place)
}
