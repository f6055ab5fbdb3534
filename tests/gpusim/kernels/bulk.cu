// Copies in bulk between global and shared memory, and the barriers that count their bytes.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
typedef unsigned long long u64;

extern __shared__ __align__(128) unsigned char tile[];

__device__ unsigned place(const void *pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void init(u64 *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(barrier)), "r"(arrivals) : "memory");
}

__device__ void arrive(u64 *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(barrier)) : "memory");
}

__device__ void arrive_and_expect(u64 *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(barrier)), "r"(bytes) : "memory");
}

__device__ void wait(u64 *barrier, int parity) {
    for (int done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(place(barrier)), "r"(parity)
                     : "memory");
}

__device__ void fetch(void *to, const void *from, int bytes, u64 *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     place(to)),
                 "l"(from), "r"(bytes), "r"(place(barrier))
                 : "memory");
}

__device__ void put(void *to, const void *from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(place(from)), "r"(bytes)
                 : "memory");
}

__device__ void wait_until_put() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ void publish() { asm volatile("fence.proxy.async;" ::: "memory"); }

__device__ void make_barriers_known() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// One thread fetches `copies` pieces of `bytes`, `stride` bytes apart, the first one `from` bytes behind the block's part
// of `in`; they come to lie in shared memory as densely, from byte `to` on.
extern "C" __global__ void fetch_pieces(const unsigned char *in, int *out, int bytes, int stride, int from, int to,
                                        int copies, int per_block) {
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        make_barriers_known();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        arrive_and_expect(&full, copies * bytes);
        for (int copy = 0; copy < copies; ++copy)
            fetch(tile + to + copy * bytes, in + blockIdx.x * per_block + from + copy * stride, bytes, &full);
    }
    wait(&full, 0);
    const int words = copies * bytes / 4;
    for (int word = threadIdx.x; word < words; word += blockDim.x)
        out[blockIdx.x * words + word] = reinterpret_cast<const int *>(tile + to)[word];
}

// The same in the other direction: pieces of what lies in shared memory are put into `out`.
extern "C" __global__ void put_pieces(const int *in, unsigned char *out, int bytes, int stride, int from, int to,
                                      int copies, int per_block) {
    const int words = copies * bytes / 4;
    for (int word = threadIdx.x; word < words; word += blockDim.x)
        reinterpret_cast<int *>(tile + from)[word] = in[blockIdx.x * words + word];
    publish();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int copy = 0; copy < copies; ++copy)
            put(out + blockIdx.x * per_block + to + copy * stride, tile + from + copy * bytes, bytes);
        wait_until_put();
    }
}

// Pieces of `bytes` are combined with what lies in `out`. Each block has its own place.
#define REDUCE(name, operation)                                                                                    \
    extern "C" __global__ void name(const int *in, unsigned char *out, int bytes) {                                 \
        for (int word = threadIdx.x; word < bytes / 4; word += blockDim.x)                                          \
            reinterpret_cast<int *>(tile)[word] = in[blockIdx.x * (bytes / 4) + word];                               \
        publish();                                                                                                 \
        __syncthreads();                                                                                           \
        if (threadIdx.x == 0) {                                                                                    \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation " [%0], [%1], %2;" ::"l"( \
                             out + blockIdx.x * bytes),                                                            \
                         "r"(place(tile)), "r"(bytes)                                                              \
                         : "memory");                                                                              \
            wait_until_put();                                                                                      \
        }                                                                                                          \
    }
REDUCE(reduce_add_f32, "add.f32")
REDUCE(reduce_add_f64, "add.f64")
REDUCE(reduce_add_f16, "add.noftz.f16")
REDUCE(reduce_add_bf16, "add.noftz.bf16")
REDUCE(reduce_min_f16, "min.f16")
REDUCE(reduce_max_bf16, "max.bf16")
REDUCE(reduce_add_u32, "add.u32")
REDUCE(reduce_add_s32, "add.s32")
REDUCE(reduce_add_u64, "add.u64")
REDUCE(reduce_min_u32, "min.u32")
REDUCE(reduce_max_s32, "max.s32")
REDUCE(reduce_min_s64, "min.s64")
REDUCE(reduce_max_u64, "max.u64")
REDUCE(reduce_inc_u32, "inc.u32")
REDUCE(reduce_dec_u32, "dec.u32")
REDUCE(reduce_and_b32, "and.b32")
REDUCE(reduce_or_b32, "or.b32")
REDUCE(reduce_xor_b32, "xor.b32")
REDUCE(reduce_and_b64, "and.b64")
REDUCE(reduce_xor_b64, "xor.b64")

// Every lane of a warp fetches a piece of its own, and puts it elsewhere.
extern "C" __global__ void every_lane(const unsigned char *in, unsigned char *out, int bytes) {
    __shared__ u64 full;
    const int lane = threadIdx.x, other = (lane * 5 + 3) % blockDim.x;
    if (lane == 0) {
        init(&full, blockDim.x);
        make_barriers_known();
    }
    __syncthreads();
    arrive_and_expect(&full, bytes);
    fetch(tile + other * bytes, in + lane * bytes, bytes, &full);
    wait(&full, 0);
    if (lane % 3 == 0) put(out + other * bytes, tile + lane * bytes, bytes);
    wait_until_put();
}

// All threads put the same bytes to the same place.
extern "C" __global__ void put_by_all(const int *in, int *out, int bytes) {
    for (int word = threadIdx.x; word < bytes / 4; word += blockDim.x)
        reinterpret_cast<int *>(tile)[word] = in[word];
    publish();
    __syncthreads();
    put(out, tile, bytes);
    wait_until_put();
}

// Lines that are asked for ahead of time.
extern "C" __global__ void prefetch_pieces(const int *in, int *out, int bytes, int from) {
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + from / 4), "r"(bytes) : "memory");
    out[threadIdx.x] = in[threadIdx.x] + 1;
}

// Which lines stay in the cache is said by a policy: it changes no value.
extern "C" __global__ void with_policies(const unsigned char *in, unsigned char *out, int bytes) {
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        u64 first, last;
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
        asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
        init(&full, 1);
        make_barriers_known();
        arrive_and_expect(&full, bytes);
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
                "r"(place(tile)),
            "l"(in), "r"(bytes), "r"(place(&full)), "l"(first)
            : "memory");
        wait(&full, 0);
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(out),
                     "r"(place(tile)), "r"(bytes), "l"(last)
                     : "memory");
        wait_until_put();
    }
}

// C = A B for 32 x 64 tiles: a warp of its own fetches B row by row, ahead of the others; A is read by these.
// `full` tells that a stage has come, `vacant` that nobody reads it any more.
template <int STAGES, int BK>
__global__ void producer_gemm(const float *A, const float *B, float *C, int M, int N, int K) {
    constexpr int BM = 32, BN = 64, CONSUMERS = 128;
    __shared__ __align__(128) float Bs[STAGES][BK][BN];
    __shared__ u64 full[STAGES], vacant[STAGES];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, steps = (K + BK - 1) / BK;
    const int bytes = min(BN, N - col0) * 4;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            init(&full[stage], 1);
            init(&vacant[stage], CONSUMERS);
        }
        make_barriers_known();
    }
    __syncthreads();
    if (threadIdx.x >= CONSUMERS) {
        if (threadIdx.x == CONSUMERS)
            for (int step = 0; step < steps; ++step) {
                const int stage = step % STAGES, rows = min(BK, K - step * BK);
                if (step >= STAGES) wait(&vacant[stage], (step / STAGES - 1) % 2);
                arrive_and_expect(&full[stage], rows * bytes);
                for (int k = 0; k < rows; ++k)
                    fetch(Bs[stage][k], B + (step * BK + k) * N + col0, bytes, &full[stage]);
            }
        return;
    }
    const int col = threadIdx.x % BN, first = threadIdx.x / BN;
    float sums[BM / 2] = {};
    for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES, rows = min(BK, K - step * BK);
        wait(&full[stage], step / STAGES % 2);
        if (col0 + col < N)
            for (int k = 0; k < rows; ++k) {
                const float b = Bs[stage][k][col];
#pragma unroll
                for (int i = 0; i < BM / 2; ++i) {
                    const int row = row0 + first + 2 * i;
                    if (row < M) sums[i] += A[row * K + step * BK + k] * b;
                }
            }
        arrive(&vacant[stage]);
    }
    if (col0 + col < N)
#pragma unroll
        for (int i = 0; i < BM / 2; ++i)
            if (row0 + first + 2 * i < M) C[(row0 + first + 2 * i) * N + col0 + col] = sums[i];
}

// Each thread copies 16 bytes, and a barrier learns when they have come.
extern "C" __global__ void copies_arrive(const int *in, int *out) {
    __shared__ u64 counted, others;
    const int t = threadIdx.x, other = (t * 7 + 1) % blockDim.x;
    if (t == 0) {
        init(&counted, blockDim.x);
        init(&others, blockDim.x);
    }
    __syncthreads();
    const unsigned to = place(tile + 16 * t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + 4 * t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(place(&counted)) : "memory");
    wait(&counted, 0);
    const int before = reinterpret_cast<const int *>(tile)[4 * other];
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + 4 * other) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(place(&others)) : "memory");
    arrive(&others);
    wait(&others, 0);
    out[t] = before + 3 * reinterpret_cast<const int *>(tile)[4 * other + 1];
}

// The states that several operations on a barrier answer with, and between them what loads find in its place: on a GPU what
// was there before it was made.
extern "C" __global__ void barrier_bits(u64 *out, int n, int bytes) {
    __shared__ u64 barrier;
    u64 state;
    int k = 0;
    volatile u64 *bits = &barrier;
    const unsigned at = place(&barrier);
    init(&barrier, n);
    out[k++] = *bits;
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    out[k++] = *bits;
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(bytes / 2) : "memory");
    out[k++] = *bits;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at), "r"(48) : "memory");
    out[k++] = state;
    out[k++] = *bits;
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    out[k++] = *bits;
    asm volatile("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at), "r"(16)
                 : "memory");
    out[k++] = state;
    out[k++] = *bits;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at), "r"(n - 2) : "memory");
    out[k++] = state;
    out[k++] = *bits;
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(bytes - bytes / 2 - 64)
                 : "memory");
    out[k++] = *bits;
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(at) : "memory");
    out[k++] = *bits;
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[k++] = *bits;
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(bytes - bytes / 2 - 64)
                 : "memory");
    out[k++] = *bits;
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(0) : "memory");
    out[k++] = *bits;
}

// Each block puts its numbers into the shared memory of the next block of its cluster.
extern "C" __global__ void __cluster_dims__(4, 1, 1) to_the_next(const int *in, int *out, int bytes) {
    __shared__ u64 full;
    const cg::cluster_group cluster = cg::this_cluster();
    const int words = bytes / 4, next = (cluster.block_rank() + 1) % 4;
    for (int word = threadIdx.x; word < words; word += blockDim.x)
        reinterpret_cast<int *>(tile)[word] = in[blockIdx.x * words + word];
    if (threadIdx.x == 0) {
        init(&full, 1);
        make_barriers_known();
        arrive_and_expect(&full, bytes);
    }
    publish();
    cluster.sync();
    if (threadIdx.x == 0)
        asm volatile(
            "{ .reg .b32 to, barrier; mapa.shared::cluster.u32 to, %0, %4; mapa.shared::cluster.u32 barrier, %3, %4; "
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [to], [%1], %2, [barrier]; }" ::"r"(
                place(tile + bytes)),
            "r"(place(tile)), "r"(bytes), "r"(place(&full)), "r"(next)
            : "memory");
    wait(&full, 0);
    for (int word = threadIdx.x; word < words; word += blockDim.x)
        out[blockIdx.x * words + word] = reinterpret_cast<const int *>(tile)[words + word];
    cluster.sync();
}

// A block fetches for another one of its cluster; all tell one block's barrier what they have asked for.
extern "C" __global__ void __cluster_dims__(2, 1, 1) fetch_for_another(const unsigned char *in, int *out, int bytes) {
    __shared__ u64 full;
    const cg::cluster_group cluster = cg::this_cluster();
    const int words = bytes / 4, other = cluster.block_rank() ^ 1;
    if (threadIdx.x == 0) {
        init(&full, 2);
        make_barriers_known();
    }
    cluster.sync();
    if (threadIdx.x == 0) {
        asm volatile(
            "{ .reg .b32 to, barrier; mapa.shared::cluster.u32 to, %0, %4; mapa.shared::cluster.u32 barrier, %3, %4; "
            "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [barrier], %2; "
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [%1], %2, [barrier]; }" ::"r"(
                place(tile)),
            "l"(in + blockIdx.x * bytes), "r"(bytes), "r"(place(&full)), "r"(other)
            : "memory");
        arrive(&full);
    }
    wait(&full, 0);
    for (int word = threadIdx.x; word < words; word += blockDim.x)
        out[blockIdx.x * words + word] = reinterpret_cast<const int *>(tile)[word];
    cluster.sync();
}

// Each block of a cluster fetches a part, which comes to lie in the shared memory of all of them.
extern "C" __global__ void __cluster_dims__(4, 1, 1) fetch_for_all(const unsigned char *in, int *out, int bytes,
                                                                   int mask) {
    __shared__ u64 full;
    const cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank(), words = bytes / 4;
    for (int word = threadIdx.x; word < 4 * words; word += blockDim.x) reinterpret_cast<int *>(tile)[word] = -1;
    if (threadIdx.x == 0) {
        init(&full, 1);
        make_barriers_known();
        publish();
        arrive_and_expect(&full, mask >> rank & 1 ? 4 * bytes : 0);
    }
    cluster.sync();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1], %2, [%3], %4;" ::"r"(place(tile + rank * bytes)),
                     "l"(in + blockIdx.x * bytes), "r"(bytes), "r"(place(&full)), "h"(static_cast<short>(mask))
                     : "memory");
    wait(&full, 0);
    for (int word = threadIdx.x; word < 4 * words; word += blockDim.x)
        out[blockIdx.x * 4 * words + word] = reinterpret_cast<const int *>(tile)[word];
    cluster.sync();
}
