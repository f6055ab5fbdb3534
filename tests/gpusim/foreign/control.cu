// Control flow, calls, memory of every kind, what kernels ask of the system.
#include <cstdio>
#include <cassert>

#define ME const int i = blockIdx.x * blockDim.x + threadIdx.x;

extern "C" __global__ void says(const float *x) { if (x[threadIdx.x] > 0) printf("%d|%5.1f|%s|%x|%lld|%c\n", threadIdx.x, x[threadIdx.x], "ok", 255 - threadIdx.x, 1ll << 40, 'a' + threadIdx.x); }
extern "C" __global__ void asserts(int *x, int limit) {
    assert(x[threadIdx.x] < limit && "x is too large");
    x[threadIdx.x] += 1;
}
extern "C" __global__ void traps(int *x) {
    if (x[threadIdx.x] < 0)
        __trap();
    x[threadIdx.x] *= 2;
}
extern "C" __global__ void nothing_asked() { printf("block %d\n", blockIdx.x); }
extern "C" __global__ void clocks(long long *out, int n) {
    ME
    const long long start = clock64();
    const unsigned start_32 = clock();
    unsigned long long before, after;
    unsigned sm;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    for (int k = 0; k < 3; ++k) { out[i] = k; __syncthreads(); }
    __nanosleep(200);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    out[i] = clock64() - start, out[n + i] = (unsigned)clock() - start_32, out[2 * n + i] = after - before, out[3 * n + i] = sm;
}
extern "C" __global__ void sleeps(int *x) { for (int k = 0; k < 4; ++k) { __nanosleep(100 << k); x[threadIdx.x] += k; } }

extern "C" __global__ void own_arrays(const int *picks, int *out, int n) {
    ME
    int own[16];
    char letters[8];
    short shorts[8];
    double wide[4];
    for (int k = 0; k < 16; ++k) own[k] = i * k;
    for (int k = 0; k < 8; ++k) letters[(k + i) & 7] = k * 40, shorts[(3 * k + i) & 7] = k * 9000;
    for (int k = 0; k < 4; ++k) wide[(k * i) & 3] = k + 0.5;
    if (i >= n) return;
    const int p = picks[i];
    for (int k = 0; k < 16; ++k) own[(k + p) & 15] += own[k];
    out[i] = own[p] , out[n + i] = letters[p & 7], out[2 * n + i] = shorts[p & 7];
    out[3 * n + i] = i & 1 ? (int)(2 * wide[0]) : 0;
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__device__ int hanoi(int n, int from, int to, int over) { return n == 0 ? 0 : hanoi(n - 1, from, over, to) * 3 + from * 5 + to + hanoi(n - 1, over, to, from); }
__device__ void quicksort(int *x, int low, int high) {
    if (low >= high) return;
    const int pivot = x[high];
    int at = low;
    for (int k = low; k < high; ++k) if (x[k] < pivot) { const int t = x[k]; x[k] = x[at]; x[at++] = t; }
    const int t = x[at]; x[at] = x[high]; x[high] = t;
    quicksort(x, low, at - 1);
    quicksort(x, at + 1, high);
}
extern "C" __global__ void calls_itself(int *out, int n) {
    ME
    out[i] = fibonacci(i % 9), out[n + i] = ackermann(2, i % 4), out[2 * n + i] = hanoi(i % 6, 1, 3, 2);
}
extern "C" __global__ void sorts_rows(int *x, int n) { ME quicksort(x + i * n, 0, n - 1); }

struct Shape { __device__ virtual float area() const = 0; float a; };
struct Square : Shape { __device__ float area() const override { return a * a; } };
struct Triangle : Shape { float h; __device__ float area() const override { return a * h / 2; } };
__device__ __noinline__ float total(const Shape *const *shapes, int n) { float sum = 0; for (int k = 0; k < n; ++k) sum += shapes[k]->area(); return sum; }
extern "C" __global__ void areas(const float *x, float *out) {
    Square s; Triangle t;
    s.a = x[threadIdx.x], t.a = s.a + 1, t.h = 3;
    const Shape *shapes[2] = {&s, &t};
    out[threadIdx.x] = total(shapes + threadIdx.x % 2, 1 + (threadIdx.x % 4 == 0));
}
typedef float (*Function)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ float less(float x) { return x - 1; }
__device__ Function table[3] = {twice, square, less};
__device__ __noinline__ float apply(Function f, float x) { return f(x); }
__noinline__ __device__ float noinlined(float a, float &b, int n) { for (int k = 0; k < n; ++k) b += a; return a - b; }
extern "C" __global__ void through_pointers(const float *x, float *out, int n) {
    ME
    const float v = x[i];
    out[i] = table[i % 3](v);
    Function mine = v > 0 ? twice : less;
    out[n + i] = apply(mine, v);
    if (i % 2) out[2 * n + i] = apply(i % 4 == 1 ? square : twice, v); else out[2 * n + i] = -v;
    float b = 1;
    out[3 * n + i] = noinlined(v, b, i % 5) + b;
}

extern "C" __global__ void switches(const float *a, const float *b, const int *what, float *out, int n) {
    ME
    float r;
    switch (what[i]) {
        case 0: r = a[i] + b[i]; break;
        case 1: r = a[i] - b[i]; break;
        case 2: r = a[i] * b[i]; break;
        case 3: r = a[i] > b[i] ? 7 : 8;  // falls through
        case 4: r = -a[i]; break;
        case 5: r = fminf(a[i], b[i]); break;
        case 6: r = 60; break;
        case 7: r = i; break;
        default: r = -1;
    }
    out[i] = r;
}
extern "C" __global__ void calculator(float a, float b, const char *symbols, float *out) {
    float r = 0;
    switch (symbols[threadIdx.x]) {
        case '+': r = a + b; break;
        case '-': r = a - b; break;
        case '*': r = a * b; break;
        case '/': r = a / b; break;
    }
    out[threadIdx.x] = r;
}
extern "C" __global__ void jumps(const int *x, int *out, int n) {
    ME
    int v = x[i], steps = 0;
again:
    if (v <= 1) goto end;
    ++steps;
    if (v & 1) { v = 3 * v + 1; goto again; }
    v /= 2;
    if (steps < 100) goto again;
end:
    out[i] = steps;
}
// A loop with two entries.
extern "C" __global__ void two_entries(const int *x, int *out, int n) {
    ME
    int v = x[i], a = 0, b = 0;
    if (v & 1) goto second;
first:
    ++a; v -= 3;
second:
    ++b; v -= 2;
    if (v > 0) goto first;
    out[i] = 100 * a + b;
}
extern "C" __global__ void nested(const int *x, int *out, int n) {
    ME
    int sum = 0;
    for (int j = 0; j < 20; ++j) {
        if ((j ^ i) % 3 == 0) continue;
        for (int k = j;; ++k) {
            if (k > x[i]) break;
            if (k % 4 == i % 4) continue;
            sum += k;
            if (sum > 500) goto out_of_both;
        }
        if (j > x[i]) break;
    }
out_of_both:
    out[i] = sum;
}
extern "C" __global__ void leaves_early(const int *x, int *out, int n) {
    __shared__ int s[64];
    if (threadIdx.x >= n) return;
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[n - 1 - threadIdx.x];
}

__constant__ int lookup[64] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ unsigned char octets[64] = {250, 1, 77};
extern "C" __global__ void constants(const int *picks, int *out, int n) { ME out[i] = lookup[picks[i]] + octets[picks[i]] + octets[blockIdx.x] + 1000 * lookup[blockIdx.x + 3]; }
struct Filter { float weights[5]; int shift; char last; };
extern "C" __global__ void struct_given(Filter f, const float *x, float *y, int n) {
    ME
    float sum = f.last;
    for (int k = 0; k < 5; ++k) sum += f.weights[(k + f.shift + i) % 5] * x[(i + k) % n];
    y[i] = sum;
}
struct Vectors { const float *x; float *y; int n; };
extern "C" __global__ void struct_of_pointers(Vectors v) { ME if (i < v.n) v.y[i] = v.x[v.n - 1 - i] + i; }
extern "C" __global__ void array_of_pointers(float **rows, float *sums, int n) { float s = 0; for (int k = 0; k < n; ++k) s += rows[threadIdx.x][k]; sums[threadIdx.x] = s; }
extern "C" __global__ void on_the_heap(const int *x, int *out) {
    int *mine = new int[1 + x[threadIdx.x]], *other = (int *)malloc(8);
    for (int k = 0; k <= x[threadIdx.x]; ++k) mine[k] = k * k;
    other[0] = mine[x[threadIdx.x]], other[1] = 5;
    out[threadIdx.x] = other[0] + other[1];
    delete[] mine; free(other);
}
extern "C" __global__ void copies_memory(const int *x, int *out) {
    int own[6];
    memset(own, 0xff, sizeof own);
    memcpy(own + 1, x + 4 * threadIdx.x, 4 * sizeof(int));
    memcpy(out + 6 * threadIdx.x, own, sizeof own);
}
__device__ float factor = 2.5f;
__device__ int calls, turns[4];
extern "C" __global__ void counts(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= factor; if (threadIdx.x == 0) { atomicAdd(&calls, 1); turns[blockIdx.x] += 3; } }
extern "C" __global__ void resets(int *out) { out[threadIdx.x] = turns[threadIdx.x] + 100 * calls; turns[threadIdx.x] = 0; __syncthreads(); if (threadIdx.x == 0) calls = 0, factor = -1; }

__device__ int *bump() { __shared__ int count; if (threadIdx.x == 0) count = 10; __syncthreads(); return &count; }
template <int N> __device__ int reversed(int value) { __shared__ int s[N]; __syncthreads(); s[threadIdx.x] = value; __syncthreads(); return s[N - 1 - threadIdx.x]; }
extern "C" __global__ void static_in_functions(int *x) {
    int *count = bump();
    atomicAdd(count, 1);
    x[threadIdx.x] = reversed<32>(x[threadIdx.x]) + 1000 * (31 - reversed<32>(threadIdx.x));
    __syncthreads();
    x[32 + threadIdx.x] = *count;
}
extern "C" __global__ void two_views(float *x, int n) {
    extern __shared__ char memory[];
    float *a = (float *)memory; int *b = (int *)(a + n);
    a[threadIdx.x] = x[threadIdx.x]; b[threadIdx.x] = n - threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = a[(threadIdx.x + 1) % n] * b[(threadIdx.x + 2) % n];
}
extern "C" __global__ void any_pointer(int *x) {
    __shared__ int s[32];
    int own[2] = {(int)threadIdx.x, -5};
    s[threadIdx.x] = 100 + threadIdx.x;
    int *from = threadIdx.x % 3 == 0 ? x + threadIdx.x : threadIdx.x % 3 == 1 ? s + threadIdx.x : own + threadIdx.x % 2;
    __syncwarp();
    x[32 + threadIdx.x] = *(volatile int *)from + __isShared(from) * 1000 + __isGlobal(from) * 2000;
}
struct Three { float x, y, z; };
struct Packed { unsigned low : 5, middle : 11, high : 16; };
union Either { float f; unsigned bits; unsigned char bytes[4]; };
extern "C" __global__ void layouts(const Three *in, Three *out, Packed *packed, unsigned *bits) {
    const Three t = in[threadIdx.x];
    out[31 - threadIdx.x] = {t.z, t.x, t.y};
    packed[threadIdx.x].middle += packed[threadIdx.x].low;
    Either e;
    e.f = t.x;
    e.bytes[3] ^= 0x80;
    bits[threadIdx.x] = e.bits;
}
extern "C" __global__ void places(int *out) {
    const int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[b * blockDim.x * blockDim.y * blockDim.z + t] = blockIdx.z * 100000 + blockIdx.y * 10000 + blockIdx.x * 1000 + threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
}
// Loops whose bounds are the same for all threads, in registers that a warp has in common.
extern "C" __global__ void uniform_loops(const int *x, int *out, int rounds, int step, int n) {
    ME
    int sum = 0;
    for (int k = 0; k < rounds; k += step) {
        if (rounds > 7) sum += __shfl_sync(~0u, x[i], k, 8); else sum -= __shfl_xor_sync(~0u, x[i], k, 4);
        for (int j = blockIdx.x; j < step; ++j) sum += j * x[(j + k) % n];
    }
    out[i] = sum;
}
extern "C" __global__ void divides_by_zero(const int *x, int *out, int *rest) {
    out[threadIdx.x] = x[threadIdx.x] / out[threadIdx.x], rest[threadIdx.x] = x[threadIdx.x] % rest[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(128, 4) bounded(int *x) { x[threadIdx.x] += 1; }
extern "C" __global__ void __launch_bounds__(128, 2, 1) bounded_thrice(int *x) { x[threadIdx.x] += 2; }
extern "C" __global__ void __maxnreg__(32) few_registers(int *x) { x[threadIdx.x] += 3; }
extern "C" __global__ void __block_size__((64, 1, 1)) of_64(int *x) { x[threadIdx.x] += 4; }
extern "C" __global__ void __cluster_dims__(2, 1, 1) in_clusters(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 5; }
extern "C" __global__ void constant_given(const __grid_constant__ Filter f, int *x) { const Filter *p = &f; x[threadIdx.x] += 6 + (int)p->weights[threadIdx.x % 5]; }
extern "C" __global__ void restricted(const int *__restrict__ x, int *__restrict__ y) { y[threadIdx.x] = x[threadIdx.x] + __ldg(x + threadIdx.x / 2); }
