// Accesses outside an array, or at an address that the width does not allow. `BUG(kernel)` marks the line to be found.

extern "C" __global__ void read_past_end(int n, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i + 1] - x[i];                                 // BUG(read_past_end)
}

extern "C" __global__ void write_past_end(int n, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = i < n ? x[i] : 0.0f;
    y[i] = value;                                                      // BUG(write_past_end)
}

// The last element has no right neighbour, the first no left one.
extern "C" __global__ void negative_index(int n, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i - 1];                                        // BUG(negative_index)
}

extern "C" __global__ void one_too_many(int n, const float *x, float *y) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i <= n; i += blockDim.x)
        sum += x[i];                                                   // BUG(one_too_many)
    y[threadIdx.x] = sum;
}

// C = A B; the guard forgets the rows.
extern "C" __global__ void missing_row_guard(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; ++k)
            acc += A[row * K + k] * B[k * N + col];                    // BUG(missing_row_guard)
        if (row < M) C[row * N + col] = acc;
    }
}

// The transpose of an M x N matrix has M columns, not N.
extern "C" __global__ void wrong_pitch(int M, int N, const float *in, float *out) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N)
        out[col * N + row] = in[row * N + col];                        // BUG(wrong_pitch)
}

// 40000 * 65536 does not fit into an int.
extern "C" __global__ void index_overflow(int rows, int pitch, const float *x, float *y) {
    const int row = rows - 1 - threadIdx.x;
    y[threadIdx.x] = x[row * pitch];                                   // BUG(index_overflow)
}

extern "C" __global__ void vector_past_end(int n, const float *x, float *y) {
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        const float4 v = *reinterpret_cast<const float4 *>(&x[i]);     // BUG(vector_past_end)
        y[i] = v.x + v.y + v.z + v.w;
    }
}

extern "C" __global__ void null_pointer(int n, const float *x, const float *bias, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + bias[i];                                  // BUG(null_pointer)
}

// The index comes from data, one of which is wrong.
extern "C" __global__ void gather(int n, const int *where, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int source = where[i];
        y[i] = x[source];                                              // BUG(gather)
    }
}

extern "C" __global__ void atomic_past_end(int n, const int *bin, int *histogram) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int which = bin[i];
        atomicAdd(&histogram[which], 1);                               // BUG(atomic_past_end)
    }
}

extern "C" __global__ void shared_past_end(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x + 1] - tile[threadIdx.x];        // BUG(shared_past_end)
}

// The launch gives fewer bytes than the kernel uses.
extern "C" __global__ void dynamic_too_small(const float *x, float *y) {
    extern __shared__ float buffer[];
    buffer[threadIdx.x] = x[threadIdx.x];                              // BUG(dynamic_too_small)
    __syncthreads();
    y[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}

// 64 elements are written into As, which has 32: the others land in Bs.
extern "C" __global__ void into_next_array(const float *x, float *y) {
    __shared__ float As[32];
    __shared__ float Bs[64];
    Bs[threadIdx.x] = 1.0f;
    __syncthreads();
    As[threadIdx.x] = x[threadIdx.x];                                  // BUG(into_next_array)
    __syncthreads();
    y[threadIdx.x] = As[threadIdx.x % 32] + Bs[threadIdx.x];
}

// The tile has 16 rows of 17; the thread's row may be 16.
extern "C" __global__ void tile_row_too_many(int shift, const float *x, float *y) {
    __shared__ float tile[16][17];
    __shared__ float rows[17];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 16 + threadIdx.x];
    if (threadIdx.y == 0) rows[threadIdx.x] = 0.0f;
    __syncthreads();
    const float value = tile[threadIdx.y + shift][threadIdx.x];        // BUG(tile_row_too_many)
    __syncthreads();
    y[threadIdx.y * 16 + threadIdx.x] = value + rows[0];
}

// A private array of the thread, indexed by data.
extern "C" __global__ void local_past_end(int n, const int *which, float *y) {
    float bins[8] = {};
    for (int i = 0; i < n; ++i)
        bins[which[i]] += 1.0f;                                        // BUG(local_past_end)
    for (int i = 0; i < 8; ++i) y[threadIdx.x * 8 + i] = bins[i];
}

extern "C" __global__ void misaligned_vector(int n, const float *x, float *y) {
    const int i = 4 * threadIdx.x + 1;
    if (i + 3 < n) {
        const float4 v = *reinterpret_cast<const float4 *>(&x[i]);     // BUG(misaligned_vector)
        y[threadIdx.x] = v.x + v.y + v.z + v.w;
    }
}

// Rows of 33 floats: every second row starts at an address that is no multiple of 16.
extern "C" __global__ void misaligned_padded_row(const float *x, float *y) {
    __shared__ alignas(16) float tile[8][33];
    for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x) tile[i / 32][i % 32] = x[i];
    __syncthreads();
    const float4 v = *reinterpret_cast<float4 *>(&tile[threadIdx.x / 8][threadIdx.x % 8 * 4]);  // BUG(misaligned_padded_row)
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

// A row of an M x N matrix starts at a multiple of 8 bytes only if N is even.
extern "C" __global__ void misaligned_odd_width(int N, const float *x, float *y) {
    const float2 v = *reinterpret_cast<const float2 *>(&x[threadIdx.x * N]);   // BUG(misaligned_odd_width)
    y[threadIdx.x] = v.x * v.y;
}
