// What CUDA's C++ library has beside atomics and barriers, and functions of bits, divisions and formats.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
#define T int(threadIdx.x)
#define I int(blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void at_a_latch(const int *x, int *out) {
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(Latch) char bytes[sizeof(Latch)];
    __shared__ int part[64];
    Latch &ready = *reinterpret_cast<Latch *>(bytes);
    if (T == 0) new (&ready) Latch(blockDim.x);
    __syncthreads();
    part[T] = x[T];
    ready.arrive_and_wait();
    out[T] = part[63 - T];
}
extern "C" __global__ void by_a_semaphore(int *most, int *inside) {
    using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 2>;
    __shared__ alignas(Semaphore) char bytes[sizeof(Semaphore)];
    Semaphore &places = *reinterpret_cast<Semaphore *>(bytes);
    if (T == 0) new (&places) Semaphore(2);
    __syncthreads();
    if (T % 32) return;
    places.acquire();
    atomicMax(most, atomicAdd(inside, 1) + 1);
    __nanosleep(100);
    atomicSub(inside, 1);
    places.release();
}
extern "C" __global__ void through_a_pipeline(const int *x, int *out, int batches) {
    __shared__ int stage[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0, fetched = 0; i < batches; ++i) {
        for (; fetched < batches && fetched < i + 2; ++fetched) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[fetched % 2], x + 64 * fetched, sizeof(int) * 64, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[64 * i + T] = stage[i % 2][63 - T] * (i + 1);
        pipe.consumer_release();
    }
}
struct Square { int side; __device__ int area() const { return side * side; } };
struct Oblong { int a, b; __device__ int area() const { return a * b; } };
extern "C" __global__ void standard_types(const int *x, int *out, int n) {
    cuda::std::span<const int> all(x, size_t(n));
    cuda::std::optional<int> found;
    for (int v : all) if (v == T) { found = v; break; }
    auto [low, high] = cuda::std::make_tuple(found.value_or(-1), T);
    cuda::std::variant<Square, Oblong> shape = Square{T};
    if (T % 3 == 0) shape = Oblong{T, 2};
    out[T] = low * 1000 + high + 100000 * cuda::std::visit([](auto &s) { return s.area(); }, shape);
}
extern "C" __global__ void formats(int n) {
    if (T) return;
    printf("[%5d|%-5d|%05d|%+d|%x|%#X|%o|%c|%s|%-6s|%6.2f|%e|%g|%G|%%|%lld|%llu]", n, n, n, n, n, n, n, 'a' + n % 26, "ab",
           "cd", n / 3.0, n / 3.0, n / 3e9, n * 1e-9, (long long)n << 35, ~0ull - n);
    printf("[%hd|%hu|%hhd|%hhx|%zu|%*d|%.3s|%a]", 70000 + n, -n, n, n, sizeof(int) * size_t(n), 7, n, "abcdef", 0.375);
}
extern "C" __global__ void softmax_of_halves(const __half *x, __half *y, int n) {
    const __half *row = x + blockIdx.x * n;
    __half most = __float2half(-60000.0f);
    for (int k = T; k < n; k += 32) most = __hmax(most, row[k]);
    for (int d = 16; d; d /= 2) most = __hmax(most, __shfl_xor_sync(~0u, most, d));
    float sum = 0;
    for (int k = T; k < n; k += 32) sum += __half2float(hexp(__hsub(row[k], most)));
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int k = T; k < n; k += 32) y[blockIdx.x * n + k] = __hdiv(hexp(__hsub(row[k], most)), __float2half(sum));
}
extern "C" __global__ void bits(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    const unsigned x = a[T], y = b[T];
    const unsigned all[] = {
        __funnelshift_lc(x, y, x & 63), __funnelshift_rc(x, y, y & 63), __byte_perm(x, y, y >> 7), __vabsdiffs4(x, y),
        __vaddus4(x, y), __vcmpgtu2(x, y), unsigned(__dp4a(int(x), int(y), int(x))), unsigned(__dp2a_lo(int(x), int(y), 7)),
        __usad(x, y, 9u), __uhadd(x, y), __urhadd(x, y), unsigned(__mul24(int(x), int(y))), __umul24(x, y),
    };
    for (int k = 0; k < 13; ++k) out[k * n + T] = all[k];
}
extern "C" __global__ void divides(const int *a, const long long *b, long long *out, int n) {
    const int x = a[I], y = a[I ^ 3] | 1;
    const long long p = b[I], q = b[I ^ 5] | 1;
    const long long all[] = {
        x / 7, x % 7, x / -13, x % 1000003, x / 2, x % 8, x / y, x % y, p / 10, p % 10, p / q, p % q, p / 60 % 24,
        (signed char)x % 5, (unsigned short)x / 3,
    };
    for (int k = 0; k < 15; ++k) out[k * n + I] = all[k];
}
