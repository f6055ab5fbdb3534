// Kernels whose blocks form clusters, and reach into each other's shared memory.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ unsigned asked(int which) {
    unsigned value = 0;
#define ASK(number, name) \
    if (which == number) asm volatile("mov.u32 %0, %%" name ";" : "=r"(value))
    ASK(0, "cluster_ctarank");
    ASK(1, "cluster_nctarank");
    ASK(2, "cluster_ctaid.x");
    ASK(3, "cluster_ctaid.y");
    ASK(4, "cluster_ctaid.z");
    ASK(5, "cluster_nctaid.x");
    ASK(6, "cluster_nctaid.y");
    ASK(7, "cluster_nctaid.z");
    ASK(8, "clusterid.x");
    ASK(9, "clusterid.y");
    ASK(10, "clusterid.z");
    ASK(11, "nclusterid.x");
    ASK(12, "nclusterid.y");
    ASK(13, "nclusterid.z");
#undef ASK
    return value;
}

// What a block can ask about its cluster.
template <int X, int Y, int Z>
__global__ void __cluster_dims__(X, Y, Z) cluster_shape(unsigned *out) {
    __shared__ int own[4];
    own[0] = 0;
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned *row = out + 32 * block;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int which = 0; which < 14; ++which) row[which] = asked(which);
        row[14] = cluster.block_rank();
        row[15] = cluster.num_blocks();
        row[16] = cluster.block_index().x + 100 * cluster.block_index().y + 10000 * cluster.block_index().z;
        row[17] = cluster.dim_blocks().x + 100 * cluster.dim_blocks().y + 10000 * cluster.dim_blocks().z;
        row[18] = cluster.query_shared_rank(own);
        row[19] = cluster.num_threads();
        row[20] = cluster.dim_threads().x + 100 * cluster.dim_threads().y + 10000 * cluster.dim_threads().z;
    }
    if (threadIdx.x == 33) {
        row[21] = cluster.thread_rank();
        row[22] = cluster.thread_index().x + 100 * cluster.thread_index().y + 10000 * cluster.thread_index().z;
        unsigned is_explicit;
        asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(is_explicit));
        row[23] = is_explicit;
    }
}

// The same without clusters: a block is a cluster of its own.
__global__ void shape_without_clusters(unsigned *out) {
    __shared__ unsigned own[32];
    const cg::cluster_group cluster = cg::this_cluster();
    own[threadIdx.x] = threadIdx.x * threadIdx.x;
    cluster.sync();
    unsigned *row = out + 64 * blockIdx.x;
    row[threadIdx.x] = cluster.map_shared_rank(own, 0)[31 - threadIdx.x];
    if (threadIdx.x == 0) {
        row[32] = cluster.block_rank();
        row[33] = cluster.num_blocks();
        row[34] = cluster.query_shared_rank(own);
        row[35] = cluster.dim_blocks().x + 10 * cluster.dim_blocks().y;
        row[36] = cluster.block_index().x;
    }
}

// Each block adds what its neighbours have stored.
__global__ void __cluster_dims__(4, 1, 1) neighbours(const int *x, int *out) {
    __shared__ int own[96];
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
    own[threadIdx.x] = x[blockIdx.x * 96 + threadIdx.x];
    cluster.sync();
    const int *left = cluster.map_shared_rank(own, (rank + blocks - 1) % blocks);
    const int *right = cluster.map_shared_rank(own, (rank + 1) % blocks);
    out[blockIdx.x * 96 + threadIdx.x] = left[threadIdx.x] + 10 * own[threadIdx.x] + 100 * right[95 - threadIdx.x];
    cluster.sync();
}

// A histogram whose bins lie in the shared memory of the blocks of a cluster.
template <int BLOCKS>
__global__ void __cluster_dims__(BLOCKS, 1, 1) cluster_histogram(const int *x, int *bins, int n, int per_block) {
    extern __shared__ int own[];
    const cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < per_block; i += blockDim.x) own[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const int bin = x[i];
        int *there = cluster.map_shared_rank(own, bin / per_block);
        atomicAdd(there + bin % per_block, 1);
    }
    cluster.sync();
    int *mine = bins + cluster.block_rank() * per_block;
    for (int i = threadIdx.x; i < per_block; i += blockDim.x) atomicAdd(&mine[i], own[i]);
}

// Sums of rows: a cluster adds up one, its first block writes it. What the others hold is read in order.
__global__ void __cluster_dims__(1, 4, 1) cluster_sum(const float *x, float *out, int columns) {
    __shared__ float parts[64];
    __shared__ unsigned largest;
    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) largest = 0;
    float sum = 0;
    for (int i = blockIdx.y * 64 + threadIdx.x; i < columns; i += 64 * gridDim.y) sum += x[blockIdx.x * columns + i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
        __syncthreads();
    }
    cluster.sync();
    atomicMax(cluster.map_shared_rank(&largest, 0), __float_as_uint(fabsf(sum)));
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float all = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) all += *cluster.map_shared_rank(parts, rank);
        out[2 * blockIdx.x] = all;
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) out[2 * blockIdx.x + 1] = __uint_as_float(largest);
}

// C = A B. Two blocks above each other need the same tile of B: each loads half of it, and reads the other half there.
__global__ void __cluster_dims__(1, 2, 1) cluster_gemm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[16][17], Bs[2][8][16];
    const cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank(), ty = threadIdx.y, tx = threadIdx.x;
    const int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int k = 0, stage = 0; k < K; k += 16, stage ^= 1) {
        As[ty][tx] = row < M && k + tx < K ? A[row * K + k + tx] : 0;
        if (ty < 8) {
            const int wanted = k + 8 * rank + ty;
            Bs[stage][ty][tx] = wanted < K && column < N ? B[wanted * N + column] : 0;
        }
        cluster.sync();
        const float *halves[2] = {cluster.map_shared_rank(&Bs[stage][0][0], 0), cluster.map_shared_rank(&Bs[stage][0][0], 1)};
        for (int i = 0; i < 16; ++i) sum = fmaf(As[ty][i], halves[i / 8][i % 8 * 16 + tx], sum);
        __syncthreads();
    }
    cluster.sync();
    if (row < M && column < N) C[row * N + column] = sum;
}

// Arriving and waiting apart: what lies between needs nobody else.
__global__ void __cluster_dims__(2, 1, 1) arrive_and_wait(const int *x, int *out, int rounds) {
    __shared__ int there[2][64];
    const cg::cluster_group cluster = cg::this_cluster();
    int *other = &cluster.map_shared_rank(there, cluster.block_rank() ^ 1)[0][0];
    int value = x[blockIdx.x * 64 + threadIdx.x], between = 0;
    cluster.sync();
    for (int round = 0; round < rounds; ++round) {
        other[64 * (round & 1) + (threadIdx.x + round) % 64] = value;
        auto token = cluster.barrier_arrive();
        for (int i = 0; i < 3 + blockIdx.x; ++i) between = between * 5 + value + i;
        cluster.barrier_wait(static_cast<decltype(token) &&>(token));
        value = there[round & 1][threadIdx.x] * 3 + round;
    }
    out[blockIdx.x * 64 + threadIdx.x] = value ^ between;
}

// A ring: what a block holds goes round once. Some threads have left before.
__global__ void __cluster_dims__(8, 1, 1) ring(const int *x, int *out) {
    __shared__ int held[2][40];
    if (threadIdx.x >= 40) return;
    const cg::cluster_group cluster = cg::this_cluster();
    held[0][threadIdx.x] = x[blockIdx.x * 40 + threadIdx.x];
    int *next = &cluster.map_shared_rank(held, (cluster.block_rank() + 1) % 8)[0][0];
    for (int step = 0; step < 8; ++step) {
        asm volatile("barrier.cluster.arrive;\n barrier.cluster.wait;" ::: "memory");
        next[40 * (~step & 1) + threadIdx.x] = held[step & 1][threadIdx.x] + (step + 1) * (1 + cluster.block_rank());
    }
    cluster.sync();
    out[blockIdx.x * 40 + threadIdx.x] = held[0][threadIdx.x];
}

// Accesses of all widths to another block's shared memory, with distances between the lanes.
template <typename T>
__global__ void __cluster_dims__(2, 1, 1) far_accesses(const T *x, T *out, int stride, int by) {
    __shared__ T own[256];
    __shared__ T back[64];
    const cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 256; i += 64) own[i] = x[256 * blockIdx.x + i];
    cluster.sync();
    const unsigned other = cluster.block_rank() ^ 1;
    const T value = cluster.map_shared_rank(own, other)[(threadIdx.x * stride + by) % 256];
    cluster.map_shared_rank(back, other)[threadIdx.x * 9 % 64] = value;
    cluster.sync();
    out[blockIdx.x * 64 + threadIdx.x] = back[threadIdx.x];
}

// The instructions of PTX: addresses of 32 and 64 bits, and a lane for each block.
__global__ void __cluster_dims__(4, 1, 1) far_words(const unsigned *x, unsigned *out) {
    __shared__ unsigned own[32];
    __shared__ unsigned counted[4];
    const unsigned here = (unsigned)__cvta_generic_to_shared(own), counter = (unsigned)__cvta_generic_to_shared(counted);
    unsigned rank, there, back, value, old;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    own[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
    if (threadIdx.x < 4) counted[threadIdx.x] = 0;
    asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here + 4 * threadIdx.x), "r"(threadIdx.x % 4));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(back) : "r"(there));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(counter + 4 * rank), "r"((rank + threadIdx.x) % 4));
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(there), "r"(1 + rank) : "memory");
    asm volatile("red.shared::cluster.max.u32 [%0], %1;" ::"r"(there), "r"(0u) : "memory");
    asm volatile("barrier.cluster.arrive;\n barrier.cluster.wait;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here + 4 * threadIdx.x), "r"(rank ^ 3));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(value + 1000 * back) : "memory");
    asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed;\n barrier.cluster.wait;" ::: "memory");
    out[blockIdx.x * 64 + threadIdx.x] = own[threadIdx.x];
    out[blockIdx.x * 64 + 32 + threadIdx.x] = counted[threadIdx.x % 4] + (old < 1000 ? 0 : 1 << 20);
}
