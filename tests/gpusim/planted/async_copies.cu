// Mistakes with cp.async. `BUG(kernel)` marks the line to be found, or the two accesses.

template <int BYTES>
__device__ __forceinline__ void copy_async(void *shared, const void *global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :: "r"(unsigned(__cvta_generic_to_shared(shared))), "l"(global), "n"(BYTES) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory"); }

// A barrier does not wait for copies.
extern "C" __global__ void never_waited_before_read(const float *x, float *y) {
    __shared__ float tile[64];
    copy_async<4>(&tile[threadIdx.x], &x[threadIdx.x]);                  // BUG(never_waited_before_read)
    commit();
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];                             // BUG(never_waited_before_read)
    wait<0>();
}

// Even one's own copy is not there before the wait.
extern "C" __global__ void own_copy_too_early(const float *x, float *y) {
    __shared__ float tile[64];
    copy_async<4>(&tile[threadIdx.x], &x[threadIdx.x]);                  // BUG(own_copy_too_early)
    commit();
    y[threadIdx.x] = tile[threadIdx.x];                                  // BUG(own_copy_too_early)
    wait<0>();
}

// One group may still be on its way, and it is this one.
extern "C" __global__ void waits_for_too_few(int tiles, const float *x, float *y) {
    __shared__ float tile[2][64];
    copy_async<4>(&tile[0][threadIdx.x], &x[threadIdx.x]);
    commit();
    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            copy_async<4>(&tile[(t + 1) % 2][threadIdx.x], &x[(t + 1) * 64 + threadIdx.x]); // BUG(waits_for_too_few)
            commit();
        }
        wait<1>();
        __syncthreads();
        for (int k = 0; k < 64; ++k)
            sum += tile[t % 2][k];                                       // BUG(waits_for_too_few)
        __syncthreads();
    }
    wait<0>();
    y[threadIdx.x] = sum;
}

// Each thread waits for its own copies, but not for those of the others.
extern "C" __global__ void no_barrier_after_wait(const float *x, float *y) {
    __shared__ float tile[64];
    copy_async<4>(&tile[threadIdx.x], &x[threadIdx.x]);                  // BUG(no_barrier_after_wait)
    commit();
    wait<0>();
    y[threadIdx.x] = tile[63 - threadIdx.x];                             // BUG(no_barrier_after_wait)
}

// Wait and barrier in the wrong order: what others copied may still be on its way.
extern "C" __global__ void wait_after_barrier(const float *x, float *y) {
    __shared__ float tile[64];
    copy_async<4>(&tile[threadIdx.x], &x[threadIdx.x]);                  // BUG(wait_after_barrier)
    commit();
    __syncthreads();
    wait<0>();
    y[threadIdx.x] = tile[63 - threadIdx.x];                             // BUG(wait_after_barrier)
}

// The next tile is copied over the one that other threads still read.
extern "C" __global__ void copy_over_readers(int tiles, const float *x, float *y) {
    __shared__ float tile[64];
    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        copy_async<4>(&tile[threadIdx.x], &x[t * 64 + threadIdx.x]);     // BUG(copy_over_readers)
        commit();
        wait<0>();
        __syncthreads();
        for (int k = 0; k < 64; ++k) sum += tile[k];                     // BUG(copy_over_readers)
    }
    y[threadIdx.x] = sum;
}

// The last copies are never waited for: they may land in the shared memory of another block.
extern "C" __global__ void left_over(const float *x, float *y) {
    __shared__ float tile[2][64];
    copy_async<4>(&tile[0][threadIdx.x], &x[threadIdx.x]);
    commit();
    wait<0>();
    __syncthreads();
    copy_async<4>(&tile[1][threadIdx.x], &x[64 + threadIdx.x]);          // BUG(left_over)
    commit();
    y[threadIdx.x] = tile[0][63 - threadIdx.x];
}

// Waiting for groups does not wait for copies that were never put into one.
extern "C" __global__ void never_committed(const float *x, float *y) {
    __shared__ float tile[64];
    copy_async<4>(&tile[threadIdx.x], &x[threadIdx.x]);                  // BUG(never_committed)
    wait<0>();
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];                             // BUG(never_committed)
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// A store may be overtaken by the copy that was started before it.
extern "C" __global__ void store_over_copy(const float *x, float *y) {
    __shared__ float tile[64];
    copy_async<4>(&tile[threadIdx.x], &x[threadIdx.x]);                  // BUG(store_over_copy)
    commit();
    tile[threadIdx.x] = 0.0f;                                            // BUG(store_over_copy)
    wait<0>();
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void copy_misaligned(const float *x, float *y) {
    __shared__ alignas(16) float tile[128];
    if (threadIdx.x < 32) {
        const float *from = &x[4 * threadIdx.x + 1];
        copy_async<16>(&tile[4 * threadIdx.x], from);                    // BUG(copy_misaligned)
    }
    commit();
    wait<0>();
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void copy_past_end(int n, const float *x, float *y) {
    __shared__ float tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    copy_async<4>(&tile[threadIdx.x], &x[i]);                            // BUG(copy_past_end)
    commit();
    wait<0>();
    __syncthreads();
    if (i < n) y[i] = tile[threadIdx.x];
}
