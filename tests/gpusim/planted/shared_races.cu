// Races in shared memory. `BUG(kernel)` marks the two accesses, on one line or on two.

// No barrier between the loads of the tile and their use.
extern "C" __global__ void no_barrier_after_load(const float *x, float *y) {
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];                              // BUG(no_barrier_after_load)
    y[threadIdx.x] = tile[127 - threadIdx.x];                        // BUG(no_barrier_after_load)
}

// C = A B in tiles; the second barrier is missing, so the next tile may be stored while this one is being read.
extern "C" __global__ void no_barrier_before_overwrite(int K, const float *A, const float *B, float *C) {
    __shared__ float As[16][16], Bs[16][16];
    const int N = 16 * gridDim.x, row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[threadIdx.y][threadIdx.x] = A[row * K + k0 + threadIdx.x];    // BUG(no_barrier_before_overwrite)
        Bs[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * N + col];  // BUG(no_barrier_before_overwrite)
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];              // BUG(no_barrier_before_overwrite)
    }
    C[row * N + col] = acc;
}

extern "C" __global__ void tree_without_barrier(const float *x, float *sum) {
    __shared__ float partial[256];
    partial[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2)
        if (threadIdx.x < stride)
            partial[threadIdx.x] += partial[threadIdx.x + stride];       // BUG(tree_without_barrier)
    __syncthreads();
    if (threadIdx.x == 0) *sum = partial[0];
}

// The lanes of the last warp are taken to run in step, as they did before Volta.
extern "C" __global__ void last_warp_in_step(const float *x, float *sum) {
    __shared__ float storage[128];
    volatile float *partial = storage;
    partial[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) partial[threadIdx.x] += partial[threadIdx.x + 64];
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int stride = 32; stride > 0; stride /= 2)
            if (threadIdx.x < stride)
                partial[threadIdx.x] += partial[threadIdx.x + stride];   // BUG(last_warp_in_step)
    }
    if (threadIdx.x == 0) *sum = partial[0];
}

// Two lanes of a warp swap through shared memory without __syncwarp().
extern "C" __global__ void lanes_swap(const float *x, float *y) {
    __shared__ float slots[32];
    slots[threadIdx.x] = x[threadIdx.x];                                 // BUG(lanes_swap)
    y[threadIdx.x] = slots[threadIdx.x ^ 1];                             // BUG(lanes_swap)
}

// Threads that meet in a bin lose counts.
extern "C" __global__ void histogram_without_atomics(int n, const int *bin, int *histogram) {
    __shared__ int counts[16];
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < n)
        counts[bin[threadIdx.x]] += 1;                                   // BUG(histogram_without_atomics)
    __syncthreads();
    if (threadIdx.x < 16) histogram[threadIdx.x] = counts[threadIdx.x];
}

// Every thread writes its own number into the same word.
extern "C" __global__ void all_write_one_word(int *winner) {
    __shared__ int who;
    who = threadIdx.x;                                                   // BUG(all_write_one_word)
    __syncthreads();
    if (threadIdx.x == 0) *winner = who;
}

// Two warps write different values into the same words, in two statements.
extern "C" __global__ void two_warps_one_row(const float *x, float *y) {
    __shared__ float row[32];
    if (threadIdx.x < 32) row[threadIdx.x] = x[threadIdx.x];             // BUG(two_warps_one_row)
    else row[threadIdx.x - 32] = 2.0f * x[threadIdx.x];                  // BUG(two_warps_one_row)
    __syncthreads();
    y[threadIdx.x] = row[threadIdx.x % 32];
}

// An inclusive scan in one buffer: some threads read what others have already replaced.
extern "C" __global__ void scan_in_place(const int *x, int *y) {
    __shared__ int data[64];
    data[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        if (threadIdx.x >= step)
            data[threadIdx.x] += data[threadIdx.x - step];               // BUG(scan_in_place)
        __syncthreads();
    }
    y[threadIdx.x] = data[threadIdx.x];
}

extern "C" __global__ void transpose_without_barrier(int N, const float *in, float *out) {
    __shared__ float tile[32][33];
    const int row = blockIdx.y * 32, col = blockIdx.x * 32;
    for (int y = threadIdx.y; y < 32; y += 8)
        tile[y][threadIdx.x] = in[(row + y) * N + col + threadIdx.x];    // BUG(transpose_without_barrier)
    for (int y = threadIdx.y; y < 32; y += 8)
        out[(col + y) * N + row + threadIdx.x] = tile[threadIdx.x][y];   // BUG(transpose_without_barrier)
}

// Two buffers, and the barrier stands before the store into the other one instead of after it.
extern "C" __global__ void two_buffers_one_barrier(int tiles, const float *x, float *y) {
    __shared__ float buffer[2][64];
    buffer[0][threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
        for (int k = 0; k < 64; ++k)
            sum += buffer[tile % 2][k];                                  // BUG(two_buffers_one_barrier)
        __syncthreads();
        if (tile + 1 < tiles)
            buffer[(tile + 1) % 2][threadIdx.x] = x[(tile + 1) * 64 + threadIdx.x];  // BUG(two_buffers_one_barrier)
    }
    y[threadIdx.x] = sum;
}

// The counts are complete only after a barrier.
extern "C" __global__ void atomics_then_read(int n, const int *bin, int *histogram) {
    __shared__ int counts[32];
    if (threadIdx.x < 32) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&counts[bin[i]], 1);                                   // BUG(atomics_then_read)
    if (threadIdx.x < 32) histogram[threadIdx.x] = counts[threadIdx.x];  // BUG(atomics_then_read)
}

// Some threads count before others have cleared the bins.
extern "C" __global__ void clear_then_atomics(int n, const int *bin, int *histogram) {
    __shared__ int counts[64];
    counts[threadIdx.x] = 0;                                             // BUG(clear_then_atomics)
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&counts[bin[i]], 1);                                   // BUG(clear_then_atomics)
    __syncthreads();
    histogram[threadIdx.x] = counts[threadIdx.x];
}

// Thread 0 looks something up for all of them.
extern "C" __global__ void broadcast_without_barrier(const int *start, const float *x, float *y) {
    __shared__ int first;
    if (threadIdx.x == 0) first = start[blockIdx.x];                     // BUG(broadcast_without_barrier)
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[first + threadIdx.x];   // BUG(broadcast_without_barrier)
}

// The barrier is there, but before the store instead of after it.
extern "C" __global__ void barrier_too_early(const float *x, float *y) {
    __shared__ float tile[96];
    const float value = 3.0f * x[threadIdx.x];
    __syncthreads();
    tile[threadIdx.x] = value;                                           // BUG(barrier_too_early)
    y[threadIdx.x] = tile[(threadIdx.x + 1) % 96] - value;               // BUG(barrier_too_early)
}

// Four floats are stored one by one and read as a float4 by another thread.
extern "C" __global__ void scalars_then_vector(const float *x, float *y) {
    __shared__ alignas(16) float tile[256];
    for (int k = 0; k < 4; ++k)
        tile[threadIdx.x + 64 * k] = x[threadIdx.x + 64 * k];            // BUG(scalars_then_vector)
    const float4 v = *reinterpret_cast<float4 *>(&tile[4 * threadIdx.x]);  // BUG(scalars_then_vector)
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

// The flag is reset for the next round while slow threads still look at it.
extern "C" __global__ void flag_reset_too_early(int rounds, const int *x, int *found_in) {
    __shared__ int found;
    for (int round = 0; round < rounds; ++round) {
        if (threadIdx.x == 0) found = 0;                                 // BUG(flag_reset_too_early)
        __syncthreads();
        if (x[round * blockDim.x + threadIdx.x] == 7) found = 1;
        __syncthreads();
        if (found) found_in[threadIdx.x] = round;                        // BUG(flag_reset_too_early)
    }
}

// Neighbouring bytes do not collide, but these overlap by one.
extern "C" __global__ void bytes_overlap(const unsigned char *x, unsigned char *y) {
    __shared__ unsigned char text[65];
    text[threadIdx.x] = x[threadIdx.x];                                  // BUG(bytes_overlap)
    text[threadIdx.x + 1] = x[threadIdx.x + 1] + 1;                      // BUG(bytes_overlap)
    __syncthreads();
    y[threadIdx.x] = text[threadIdx.x];
}

// The tree is finished by one warp with __syncwarp(), but after the wrong statement.
extern "C" __global__ void syncwarp_misplaced(const int *x, int *sum) {
    __shared__ int partial[32];
    partial[threadIdx.x] = x[threadIdx.x];
    for (int stride = 16; stride > 0; stride /= 2) {
        __syncwarp();
        const int mine = partial[threadIdx.x], other = partial[threadIdx.x ^ stride];  // BUG(syncwarp_misplaced)
        partial[threadIdx.x] = mine + other;                             // BUG(syncwarp_misplaced)
    }
    if (threadIdx.x == 0) *sum = partial[0];
}
