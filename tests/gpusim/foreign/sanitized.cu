// Correct programs that a sanitizer may not blame, and broken ones whose line it must name: `// BUG(kernel)`.
#define T threadIdx.x

// ---- correct ones
extern "C" __global__ void warp_reduce(const float *x, float *o) {
    __shared__ float s[64];
    s[T] = x[T];
    __syncthreads();
    if (T < 32) {
        s[T] += s[T + 32]; __syncwarp();
        for (int d = 16; d; d /= 2) { const float v = T < d ? s[T + d] : 0; __syncwarp(); if (T < d) s[T] += v; __syncwarp(); }
        if (T == 0) *o = s[0];
    }
}
extern "C" __global__ void guarded_warp_reduce(const float *x, float *o, int n) {
    __shared__ float s[64];
    if (T < n) s[T] = x[T];
    __syncthreads();
    for (int d = 32; d; d /= 2) {
        if (T < d && T + d < n) s[T] += s[T + d];
        if (d > 16) __syncthreads(); else __syncwarp();
    }
    if (T == 0) *o = s[0];
}
extern "C" __global__ void double_buffer(const int *x, int *o, int tiles) {
    __shared__ int s[2][64];
    int sum = 0;
    for (int k = 0; k < tiles; ++k) {
        s[k & 1][T] = x[64 * k + T];
        __syncthreads();
        sum += s[k & 1][63 - T];
    }
    o[T] = sum;
}
extern "C" __global__ void three_stages(const int *x, int *o, int tiles) {
    __shared__ int s[3][64];
    int sum = 0;
    for (int k = 0; k < 2; ++k) {
        if (k < tiles) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(&s[k][T])), "l"(x + 64 * k + T) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int k = 0; k < tiles; ++k) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += s[k % 3][63 - T];
        if (k + 2 < tiles) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(&s[(k + 2) % 3][T])), "l"(x + 64 * (k + 2) + T) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    o[T] = sum;
}
union Alias { float f; unsigned u; };
extern "C" __global__ void alias(const float *x, unsigned *o) {
    __shared__ Alias s[64];
    s[T].f = x[T];
    __syncthreads();
    o[T] = s[63 - T].u;
}
extern "C" __global__ void four_of_padding(const float4 *x, float4 *o, int n) {
    __shared__ float s[64][4];
    for (int k = 0; k < n; ++k) s[T][k] = ((const float *)x)[4 * T + k];
    __syncthreads();
    const float4 v = *(float4 *)s[63 - T];
    o[T].x = v.x, o[T].y = v.y;
    if (n > 2) o[T].z = v.z;
}
extern "C" __global__ void same_value(int *flag, const int *x, int *o) { __shared__ int any; if (T == 0) any = 0; __syncthreads(); if (x[T] > 3) { any = 1; *flag = 7; } __syncthreads(); o[T] = any; }
extern "C" __global__ void two_phases(int *data, int *o) { data[T] = T * 3; __syncthreads(); o[T] = data[63 - T]; }
extern "C" __global__ void stencil_in_place(float *x, int n) {
    const float left = T ? x[T - 1] : 0, right = T + 1 < n ? x[T + 1] : 0, own = x[T];
    __syncthreads();
    x[T] = left + 2 * own + right;
}
extern "C" __global__ void shuffles_and_lane_0(const int *x, int *o) {
    __shared__ int sums[2];
    int v = x[T];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (T % 32 == 0) sums[T / 32] = v;
    __syncthreads();
    o[T] = sums[0] + sums[1] * 1000;
}
extern "C" __global__ void exchange_by_shuffle(const int *x, int *o) {
    __shared__ int s[32];
    s[T] = x[T];                               // BUG(exchange_by_shuffle)
    const int ready = __shfl_sync(~0u, 1, 0);
    o[T] = s[31 - T] * ready;                  // BUG(exchange_by_shuffle)
}
extern "C" __global__ void flag_by_atomics(const int *x, int *o) {
    __shared__ int most, where;
    if (T == 0) most = -1;
    __syncthreads();
    atomicMax(&most, x[T]);
    __syncthreads();
    if (x[T] == most) atomicExch(&where, T);
    __syncthreads();
    o[T] = where;
}
extern "C" __global__ void lock_per_row(int *locks, int *rows, const int *which) {
    bool done = false;
    const int r = which[blockIdx.x * blockDim.x + T];
    while (!done) if (atomicCAS(&locks[r], 0, 1) == 0) {
        __threadfence();
        ((volatile int *)rows)[r] += r + 1;
        __threadfence();
        atomicExch(&locks[r], 0);
        done = true;
    }
}
extern "C" __global__ void publishes_by_exchange(int *data, int *flag, int *o) {
    if (blockIdx.x == 0) { if (T == 0) { data[0] = 42; __threadfence(); atomicExch(flag, 1); } }
    else if (T == 0) { while (atomicAdd(flag, 0) == 0) { } __threadfence(); *o = data[0]; }
}
extern "C" __global__ void counts_with_release(int *parts, int *count, int *o) {
    if (T == 0) {
        parts[blockIdx.x] = blockIdx.x + 1;
        int before;
        asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
        if (before == gridDim.x - 1) { int sum = 0; for (int b = 0; b < gridDim.x; ++b) sum += parts[b]; *o = sum; }
    }
}
extern "C" __global__ void fills_and_reads(int *a, int *o) { a[T] = T; __syncthreads(); o[T] = a[(T + 1) % 64]; }
extern "C" __global__ void copies(const int *a, int *o) { o[T] = a[T] + 1; }
extern "C" __global__ void bytes(signed char *a, signed char *b, int *whole) { a[T] = T; b[T] = 2; __syncthreads(); ((char *)whole)[T] = a[63 - T] + b[T]; __syncthreads(); }
extern "C" __global__ void uniform_branch(const int *x, int *o, int n) {
    __shared__ int s[64];
    for (int k = 0; k < n; ++k) if (k % 2 == blockIdx.x % 2) { s[T] = x[T] + k; __syncthreads(); o[T] = s[63 - T]; __syncthreads(); }
}
extern "C" __global__ void exited_warps(const int *x, int *o) { __shared__ int s[64]; if (T >= 64) return; s[T] = x[T]; __syncthreads(); o[T] = s[63 - T]; }
extern "C" __global__ void barrier_in_both_branches(const int *x, int *o) {
    __shared__ int s[64];
    s[T] = x[T];
    if (T < 32) {
        __syncthreads();  // BUG(barrier_in_both_branches)
        o[T] = s[63 - T];
    } else {
        __syncthreads();
        o[T] = -s[63 - T];
    }
}
extern "C" __global__ void pairs_of_warps(const int *x, int *o) {
    __shared__ int item, flag;
    if (T == 0) flag = 0;
    __syncthreads();
    if (T == 0) { item = x[0]; __threadfence_block(); atomicExch(&flag, 1); }
    if (T == 32) { while (atomicAdd(&flag, 0) == 0) { } __threadfence_block(); *o = item; }
}
extern "C" __global__ void warp_of_volatile(const int *x, int *o) {
    __shared__ volatile int s[64];
    s[T] = x[T];
    __syncthreads();
    if (T < 32) {
        s[T] += s[T + 32];
        s[T] += s[T + 16];  // BUG(warp_of_volatile)
        s[T] += s[T + 8];
        if (T == 0) *o = s[0];
    }
}

// ---- broken ones
extern "C" __global__ void no_barrier(const int *x, int *o) {
    __shared__ int s[64];
    s[T] = x[T];          // BUG(no_barrier)
    o[T] = s[63 - T];     // BUG(no_barrier)
}
extern "C" __global__ void one_barrier_of_two(const int *x, int *o, int n) {
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < n; ++k) {
        s[T] = x[64 * k + T];     // BUG(one_barrier_of_two)
        __syncthreads();
        sum += s[63 - T];         // BUG(one_barrier_of_two)
    }
    o[T] = sum;
}
extern "C" __global__ void no_syncwarp(const int *x, int *o) {
    __shared__ int s[32];
    s[T] = x[T];          // BUG(no_syncwarp)
    o[T] = s[31 - T];     // BUG(no_syncwarp)
}
extern "C" __global__ void tree_without_syncwarp(int *x) {
    __shared__ int s[32];
    s[T] = x[T];
    __syncwarp();
    for (int d = 16; d; d /= 2)
        if (T < d) s[T] += s[T + d];  // BUG(tree_without_syncwarp)
    if (T == 0) x[0] = s[0];
}
extern "C" __global__ void warps_in_global(int *data, int *o) {
    data[T] = T;              // BUG(warps_in_global)
    o[T] = data[127 - T];     // BUG(warps_in_global)
}
extern "C" __global__ void plain_count(int *count) {
    if (T == 0) count[0] += blockIdx.x + 1;  // BUG(plain_count)
}
extern "C" __global__ void plain_histogram(const int *x, int *bins) {
    bins[x[T]] += 1;  // BUG(plain_histogram)
}
extern "C" __global__ void many_blocks(int *data) {
    data[(blockIdx.x * 256 + T) % 40000] = T + blockIdx.x;  // BUG(many_blocks)
}
extern "C" __global__ void no_fence(int *parts, unsigned *count, int *o) {
    if (T == 0) {
        parts[blockIdx.x] = blockIdx.x;  // BUG(no_fence)
        if (atomicAdd(count, 1u) == gridDim.x - 1) {
            int sum = 0;
            for (int b = 0; b < gridDim.x; ++b)
                sum += parts[b];  // BUG(no_fence)
            *o = sum;
        }
    }
}
extern "C" __global__ void other_variable(int *data, int *flags, int *o) {
    if (blockIdx.x == 0 && T == 0) {
        data[0] = 5;  // BUG(other_variable)
        __threadfence();
        atomicExch(&flags[0], 1);
    } else if (T == 0) {
        atomicAdd(&flags[1], 0);
        __threadfence();
        *o = data[0];  // BUG(other_variable)
    }
}
extern "C" __global__ void unwritten_shared(int *o) {
    __shared__ int s[64];
    if (T < 63) s[T] = T;
    __syncthreads();
    o[T] = s[T];  // BUG(unwritten_shared)
}
extern "C" __global__ void unwritten_local(const int *x, int *o) {
    int a[32];
    for (int k = 0; k < x[0]; ++k) a[x[k]] = k;
    o[T] = a[x[20] & 31];  // BUG(unwritten_local)
}
extern "C" __global__ void reads_empty(const float *a, float *o) {
    o[T] = a[T] * 2;  // BUG(reads_empty)
}
extern "C" __global__ void reads_empty_bytes(const signed char *a, const short *b, int *o) {
    o[T] = a[T] + b[T];  // BUG(reads_empty_bytes)
}
extern "C" __global__ void adds_to_empty(float *a, const float *x) {
    a[T] += x[T];  // BUG(adds_to_empty)
}
extern "C" __global__ void three_of_four_shared(const float *x, float *o) {
    __shared__ float4 s[32];
    s[T].x = x[T], s[T].y = 1, s[T].z = 2;
    __syncwarp();
    const float4 v = s[31 - T];  // BUG(three_of_four_shared)
    o[T] = v.x + v.w;
}
extern "C" __global__ void three_of_four_global(float4 *a, float *o) {
    a[T].x = 1, a[T].y = 2, a[T].z = 3;
    __syncthreads();
    const float4 v = a[31 - T];  // BUG(three_of_four_global)
    o[T] = v.x + v.w;
}
extern "C" __global__ void one_too_far(const float *x, float *o, int n) {
    if (T < n) o[T] = x[T + 1];  // BUG(one_too_far)
}
extern "C" __global__ void beyond_view(int *view) {
    view[T + 2] = 1;  // BUG(beyond_view)
}
extern "C" __global__ void beyond_row(const float *x, float *o, int columns) { o[T] = x[3 * columns + T + 1]; }
extern "C" __global__ void overflows(const float *x, float *o, int rows, int pitch) {
    o[T] = x[rows * pitch + T];  // BUG(overflows)
}
extern "C" __global__ void beyond_static(const int *x, int *o) {
    __shared__ int s[32];
    s[T + 1] = x[T];  // BUG(beyond_static)
    __syncwarp();
    o[T] = s[T];
}
extern "C" __global__ void into_neighbour(const int *x, int *o) {
    __shared__ int a[32], b[32];
    b[T] = x[T];
    __syncwarp();
    a[T + x[0]] = x[T];  // BUG(into_neighbour)
    __syncwarp();
    o[T] = a[T] + b[T];
}
extern "C" __global__ void beyond_dynamic(const int *x, int *o) {
    extern __shared__ int s[];
    s[T] = x[T];  // BUG(beyond_dynamic)
    __syncthreads();
    o[T] = s[T];
}
extern "C" __global__ void beyond_2d(const int *x, int *o) {
    __shared__ int tile[8][8];
    tile[T / 8 + 1][T % 8] = x[T];  // BUG(beyond_2d)
    __syncthreads();
    o[T] = tile[T / 8][T % 8];
}
extern "C" __global__ void misaligned(const float *x, float4 *o) {
    o[T] = *(const float4 *)(x + 1 + 4 * T);  // BUG(misaligned)
}
__device__ int deeper(int n, int seed) {  // BUG(recurses)
    int a[20];
    for (int k = 0; k < 20; ++k) a[k] = seed + k;  // BUG(recurses)
    return n == 0 ? a[seed & 15] : deeper(n - 1, seed + 1) + a[(seed + n) & 15];  // BUG(recurses)
}
extern "C" __global__ void recurses(int *o, int depth) { o[T] = deeper(depth, T); }
extern "C" __global__ void beyond_local(const int *x, int *o) {
    int a[8];
    for (int k = 0; k < 8; ++k) a[k] = x[k];
    a[x[9]] += 1;  // BUG(beyond_local)
    o[T] = a[x[1] & 7];
}
extern "C" __global__ void spins_on_plain(int *flag, int *o) {
    if (T == 0) *flag = 0;
    __syncthreads();
    if (T == 32) { while (*flag == 0) { } o[0] = 1; }  // BUG(spins_on_plain)
    if (T == 64) *flag = 1;
}
extern "C" __global__ void barrier_of_some(const int *x, int *o) {
    __shared__ int s[64];
    s[T] = x[T];
    if (T < 16) {
        __syncthreads();  // BUG(barrier_of_some)
        s[T] += 1;
    }
    o[T] = s[T] + x[T];
    __syncthreads();
}
extern "C" __global__ void exited_lanes(const int *x, int *o) { if (T < 16) { o[T] = x[T]; __syncthreads(); } }
extern "C" __global__ void uneven_barriers(const int *x, int *o) { for (int k = 0; k < 1 + T / 32; ++k) { o[T] += x[T]; __syncthreads(); } }
extern "C" __global__ void locks_in_two_orders(int *locks, int *o) {
    if (T == 0) {
        const int a = blockIdx.x & 1, b = 1 - a;
        while (atomicCAS(&locks[a], 0, 1)) { }
        while (atomicAdd(&o[0], 0) == 0) { if (atomicAdd(&locks[b], 0)) atomicExch(&o[0], 1); }
        while (atomicCAS(&locks[b], 0, 1)) { }  // BUG(locks_in_two_orders)
        atomicExch(&locks[b], 0); atomicExch(&locks[a], 0);
    }
}
extern "C" __global__ void shuffles_from_absent(const int *x, int *o) {
    if (T < 16)
        o[T] = __shfl_sync(0xffffu, x[T], T + 16);  // BUG(shuffles_from_absent)
}
extern "C" __global__ void mask_names_absent(const int *x, int *o) {
    if (T < 16)
        o[T] = __shfl_down_sync(0xffffffffu, x[T], 1);  // BUG(mask_names_absent)
    else o[T] = x[T] * x[T] + x[T ^ 1];
    o[T] += 1;
}
extern "C" __global__ void caller_not_in_mask(const int *x, int *o) {
    o[T] = __shfl_xor_sync(0x0000ffffu, x[T], 1);  // BUG(caller_not_in_mask)
}
extern "C" __global__ void syncwarp_of_absent(const int *x, int *o) {
    __shared__ int s[32];
    s[T] = x[T];
    if (T < 16) {
        s[T] = 2;
        __syncwarp();  // BUG(syncwarp_of_absent)
        o[T] = s[T ^ 1];
    } else o[T] = x[T] * 5;
    o[T] += x[0];
}
extern "C" __global__ void no_wait(const int *x, int *o) {
    __shared__ int s[64];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" :: "r"((unsigned)__cvta_generic_to_shared(&s[T])), "l"(x + T) : "memory");
    __syncthreads();
    o[T] = s[T];  // BUG(no_wait)
}
extern "C" __global__ void wait_without_barrier(const int *x, int *o) {
    __shared__ int s[64];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group; cp.async.wait_group 0;" :: "r"((unsigned)__cvta_generic_to_shared(&s[T])), "l"(x + T) : "memory");
    o[T] = s[63 - T];  // BUG(wait_without_barrier)
}
extern "C" __global__ void waits_for_too_few(const int *x, int *o) {
    __shared__ int s[2][64];
    for (int k = 0; k < 2; ++k) asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" :: "r"((unsigned)__cvta_generic_to_shared(&s[k][T])), "l"(x + 64 * k + T) : "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    o[T] = s[0][63 - T];
    o[64 + T] = s[1][63 - T];  // BUG(waits_for_too_few)
}
extern "C" __global__ void writes(float *x) {
    x[T] = 1;  // BUG(writes)
}
extern "C" __global__ void same_place(int *o) {
    __shared__ int s;
    s = T;  // BUG(same_place)
    __syncthreads();
    o[T] = s;
}
extern "C" __global__ void restricted(const int *__restrict__ x, int *__restrict__ y) {
    y[T] = x[63 - T] + 1;  // BUG(restricted)
}
extern "C" __global__ void atomic_and_plain(int *count, int *o) {
    atomicAdd(count, 1);  // BUG(atomic_and_plain)
    o[T] = count[0];      // BUG(atomic_and_plain)
}
extern "C" __global__ void volatile_in_shared(const int *x, int *o) {
    __shared__ volatile int s[64];
    s[T] = x[T];          // BUG(volatile_in_shared)
    o[T] = s[63 - T];     // BUG(volatile_in_shared)
}
extern "C" __global__ void volatile_count(volatile int *count) { count[0] = count[0] + 1; }
