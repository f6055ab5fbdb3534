// Threads that wait for others: locks, tickets, flags, barriers of the grid, queues.

extern "C" __global__ void mutex_of_blocks(volatile int *lock_, int *total, int *log) {
    int *lock = (int *)lock_;
    __shared__ int before;
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) ;
        __threadfence();
        before = *(volatile int *)total;
    }
    __syncthreads();
    const int seen = before;
    __syncthreads();
    if (threadIdx.x == 0) {
        *(volatile int *)total = seen + blockIdx.x + 1;
        log[blockIdx.x] = seen;
        __threadfence();
        atomicExch(lock, 0);
    }
}
extern "C" __global__ void mutex_without_volatile(int *lock, int *total) {
    if (threadIdx.x == 0) {
        while (atomicExch(lock, 1) == 1) { __nanosleep(20); }
        __threadfence();
        atomicAdd(total, atomicAdd(total, 0) % 7 + 1);
        __threadfence();
        atomicExch(lock, 0);
    }
}
extern "C" __global__ void lock_with_flag(int *locks, int *sums, const int *x, int n, int buckets) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int b = ((x[i] % buckets) + buckets) % buckets;
    bool done = false;
    while (!done) {
        if (atomicCAS(&locks[b], 0, 1) == 0) {
            volatile int *sum = sums + b;
            *sum = *sum + x[i];
            __threadfence();
            done = true;
            atomicExch(&locks[b], 0);
        }
    }
}
extern "C" __global__ void lock_of_threads(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0) { }
    __threadfence();
    *(volatile int *)count = *(volatile int *)count + 1;
    __threadfence();
    atomicExch(lock, 0);
}
extern "C" __global__ void tickets(int *next, volatile int *served, volatile int *chain) {
    if (threadIdx.x == 0) {
        const int mine = atomicAdd(next, 1);
        while (*served != mine) { }
        __threadfence();
        *chain = *chain * 3 + mine;
        __threadfence();
        *served = mine + 1;
    }
}
extern "C" __global__ void hands_over(const int *x, int *y, int *data, volatile int *flag, int giver, int n) {
    if (blockIdx.x == giver) {
        data[threadIdx.x] = x[threadIdx.x] * 3;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        if (threadIdx.x == 0) while (*flag == 0) { }
        __syncthreads();
        __threadfence();
        y[threadIdx.x] = ((volatile int *)data)[n - 1 - threadIdx.x];
    }
}
__device__ int acquired(const int *p) { int v; asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
extern "C" __global__ void releases(const int *x, int *data, int *flag, int *y) {
    if (blockIdx.x == gridDim.x - 1) {
        if (threadIdx.x == 0) { for (int k = 0; k < 32; ++k) data[k] = x[k] + 1; asm volatile("st.release.gpu.global.s32 [%0], 1;" :: "l"(flag) : "memory"); }
    } else if (threadIdx.x == 0) {
        while (!acquired(flag)) { }
        for (int k = 0; k < 32; ++k) y[32 * blockIdx.x + k] = data[k];
    }
}
__device__ void barrier_of_grid(unsigned *arrived, unsigned expected) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < expected) { }
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void steps_of_all(int *a, int *b, unsigned *arrived, int steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int s = 0; s < steps; ++s) {
        const int *from = s % 2 ? b : a; int *to = s % 2 ? a : b;
        to[i] = ((volatile const int *)from)[(i + 1) % n] + ((volatile const int *)from)[i];
        barrier_of_grid(arrived, (s + 1) * gridDim.x);
    }
}
extern "C" __global__ void volatile_barrier(volatile int *arrived, const int *x, volatile int *mine, int *out) {
    if (threadIdx.x == 0) {
        mine[blockIdx.x] = x[blockIdx.x];
        __threadfence();
        atomicAdd((int *)arrived, 1);
        while (*arrived < gridDim.x) { }
        __threadfence();
        out[blockIdx.x] = mine[(blockIdx.x + 1) % gridDim.x];
    }
}
// Stream-K's fix-up: a block of the end of a tile leaves its sum to the one of the beginning, in descending order.
extern "C" __global__ void fix_up(const int *x, int *parts, volatile int *flags, int *out, int each) {
    const int b = blockIdx.x;
    int sum = 0;
    for (int k = threadIdx.x; k < each; k += 32) sum += x[b * each + k];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) {
        if (b % 3) { parts[b] = sum; __threadfence(); flags[b] = 1; }
        else {
            for (int k = 2; k > 0; --k) { while (flags[b + k] == 0) { } __threadfence(); sum += ((volatile int *)parts)[b + k]; }
            out[b / 3] = sum;
        }
    }
}
extern "C" __global__ void last_block(const float *x, float *parts, unsigned *count, float *out, int n) {
    __shared__ float s[64];
    __shared__ bool last;
    float sum = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += x[i];
    s[threadIdx.x] = sum;
    for (int d = 32; d; d /= 2) { __syncthreads(); if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += ((volatile float *)parts)[b];
        *out = total;
    }
}
extern "C" __global__ void warps_pass_on(const int *x, int *y, int n) {
    __shared__ volatile int item, full;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    if (threadIdx.x == 0) for (int k = 0; k < n; ++k) { while (full) { } item = x[k]; __threadfence_block(); full = 1; }
    if (threadIdx.x == 32) for (int k = 0; k < n; ++k) { while (!full) { } __threadfence_block(); y[k] = item + k; __threadfence_block(); full = 0; }
}
extern "C" __global__ void work_queue(const int *work, int items, int *next, int *done, int *who) {
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(next, 1);
        __syncthreads();
        const int mine = item;
        __syncthreads();
        if (mine >= items) break;
        if (threadIdx.x < work[mine]) atomicAdd(&done[mine], threadIdx.x + 1);
        if (threadIdx.x == 0) who[mine] = blockIdx.x;
    }
}
extern "C" __global__ void stack(int *items, int *top, int *popped) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    items[atomicAdd(top, 1)] = i + 100;
    __threadfence();
    popped[i] = -1;
}
extern "C" __global__ void pops(const int *items, int *top, int *popped) { popped[blockIdx.x * blockDim.x + threadIdx.x] = items[atomicSub(top, 1) - 1]; }
extern "C" __global__ void relaxes(const int *from, const int *to, const int *weight, int *distance, int *changed, int edges) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    const int d = atomicAdd(&distance[from[e]], 0);
    if (d < 1000000 && d + weight[e] < atomicMin(&distance[to[e]], d + weight[e])) *(volatile int *)changed = 1;
}
extern "C" __global__ void relaxes_plainly(const int *from, const int *to, const int *weight, int *distance, int edges) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    const int d = distance[from[e]];
    if (d + weight[e] < distance[to[e]])
        atomicMin(&distance[to[e]], d + weight[e]);
}
extern "C" __global__ void relaxes_by_volatile(const int *from, const int *to, const int *weight, volatile int *distance, int edges) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    const int d = distance[from[e]];
    if (d + weight[e] < distance[to[e]])
        atomicMin((int *)&distance[to[e]], d + weight[e]);
}
