// Asynchronous copies, cooperative groups, barriers and atomics of libcudacxx.
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
namespace cg = cooperative_groups;

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void copies_of_every_size(const float *x, float *out, int n) {
    __shared__ __align__(16) float s[3][256];
    const int t = threadIdx.x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared_address(&s[0][t])), "l"(x + t) : "memory");
    if (t < 32) asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(shared_address(&s[1][2 * t])), "l"(x + 2 * t), "r"(2 * t + 1 < n ? 8 : 2 * t < n ? 4 : 0) : "memory");
    if (t < 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(&s[2][4 * t])), "l"(x + 4 * t) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < 3; ++k) out[64 * k + t] = s[k][63 - t];
}
// Two stages of the pipeline primitives.
extern "C" __global__ void two_stages(const float *x, float *sums, int tiles) {
    __shared__ float s[2][64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float));
    __pipeline_commit();
    float sum = 0;
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles) __pipeline_memcpy_async(&s[(k + 1) % 2][t], &x[64 * (k + 1) + t], sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[k % 2][63 - t] * (k + 1);
        __syncthreads();
    }
    sums[t] = sum;
}
extern "C" __global__ void tiles(const int *x, int *out, int n) {
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto eight = cg::tiled_partition<8>(warp);
    const int i = block.group_index().x * block.size() + block.thread_rank(), v = x[i];
    out[i] = cg::reduce(warp, v, cg::plus<int>());
    out[n + i] = cg::reduce(eight, v, cg::greater<int>());
    out[2 * n + i] = eight.shfl_down(v, 2) + 1000 * (int)eight.meta_group_rank() + 100000 * (int)warp.meta_group_size();
    out[3 * n + i] = cg::inclusive_scan(warp, v, cg::plus<int>());
    out[4 * n + i] = cg::exclusive_scan(eight, v, cg::plus<int>());
    out[5 * n + i] = warp.ballot(v > 0) ^ warp.match_any(v & 3);
    warp.sync();
}
extern "C" __global__ void coalesced(const int *x, int *out, int *count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        const auto active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(count, active.size());
        out[active.shfl(base, 0) + active.thread_rank()] = x[i];
    }
}
extern "C" __global__ void partitions(const int *x, int *out, int n) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const auto same = cg::labeled_partition(warp, x[i] & 3);
    out[i] = cg::reduce(same, x[i], cg::plus<int>());
    out[n + i] = same.thread_rank();
    const auto half = cg::binary_partition(warp, x[i] > 0);
    out[2 * n + i] = half.size() * 100 + half.thread_rank();
}
extern "C" __global__ void copies_of_groups(const int *x, int *out, int n) {
    __shared__ int s[96];
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, x + blockIdx.x * 96, sizeof(int) * 96);
    cg::wait(block);
    for (int k = block.thread_rank(); k < 96; k += block.size()) out[blockIdx.x * 96 + k] = s[95 - k];
}
extern "C" __global__ void meets(const int *x, int *parts, int *out) {
    const auto grid = cg::this_grid();
    if (threadIdx.x == 0) parts[blockIdx.x] = 0;
    __syncthreads();
    atomicAdd(&parts[blockIdx.x], x[grid.thread_rank()]);
    grid.sync();
    int sum = 0;
    for (int k = 0; k < gridDim.x; ++k) sum += parts[k];
    out[grid.thread_rank()] = sum - x[grid.thread_rank()];
}
extern "C" __global__ void arrives(const int *x, int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int k = 0; k < 3; ++k) {
        s[threadIdx.x] = x[64 * k + threadIdx.x];
        auto token = bar.arrive();
        bar.wait(cuda::std::move(token));
        out[64 * k + threadIdx.x] = s[63 - threadIdx.x];
        bar.arrive_and_wait();
    }
}
extern "C" __global__ void references(const int *x, int *cells) {
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(cells[0]), most(cells[1]);
    sum.fetch_add(x[blockIdx.x * blockDim.x + threadIdx.x], cuda::memory_order_relaxed);
    most.fetch_max(x[blockIdx.x * blockDim.x + threadIdx.x]);
    int seen = cuda::atomic_ref<int, cuda::thread_scope_device>(cells[2]).load();
    while (!cuda::atomic_ref<int, cuda::thread_scope_device>(cells[2]).compare_exchange_weak(seen, seen * 2 % 1000003 + 1)) { }
}
extern "C" __global__ void releases_by_libcudacxx(int *data, int *flag, int *o) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    if (blockIdx.x == 0) { if (threadIdx.x == 0) { data[0] = 43; f.store(1, cuda::memory_order_release); } }
    else if (threadIdx.x == 0) { while (f.load(cuda::memory_order_acquire) == 0) { } *o = data[0]; }
}
// A warp fills two buffers, three others empty them; barriers say of each that it is full, and that it is free again.
using Meeting = cuda::barrier<cuda::thread_scope_block>;
__device__ void fills(Meeting *free, Meeting *full, float *buffers, const float *x, int tiles, int size) {
    for (int k = 0; k < tiles; ++k) {
        free[k % 2].arrive_and_wait();
        for (int i = threadIdx.x; i < size; i += 32) buffers[k % 2 * size + i] = x[k * size + i];
        (void)full[k % 2].arrive();
    }
}
__device__ void empties(Meeting *free, Meeting *full, const float *buffers, float *out, int tiles, int size) {
    for (int k = 0; k < 2; ++k) (void)free[k].arrive();
    for (int k = 0; k < tiles; ++k) {
        full[k % 2].arrive_and_wait();
        for (int i = threadIdx.x - 32; i < size; i += blockDim.x - 32) out[k * size + i] = buffers[k % 2 * size + size - 1 - i];
        (void)free[k % 2].arrive();
    }
}
extern "C" __global__ void two_kinds_of_warps(const float *x, float *out, int tiles, int size) {
    extern __shared__ float buffers[];
    __shared__ Meeting meetings[4];
    const auto block = cg::this_thread_block();
    if (block.thread_rank() < 4) init(meetings + block.thread_rank(), block.size());
    block.sync();
    if (block.thread_rank() < 32) fills(meetings, meetings + 2, buffers, x, tiles, size);
    else empties(meetings, meetings + 2, buffers, out, tiles, size);
}
