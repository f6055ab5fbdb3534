// Matrix products off the ladder: odd shapes of blocks, other types, tensor cores through inline PTX.

// Blocks of 7 x 5 x 3 threads; z splits K, and shared memory sums the parts
extern "C" __global__ void gemm_split(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float part[3][5][7];
    const int col = blockIdx.x * 7 + threadIdx.x, row = blockIdx.y * 5 + threadIdx.y;
    float sum = 0.0f;
    if (row < M && col < N)
        for (int k = threadIdx.z; k < K; k += 3) sum += A[row * K + k] * B[k * N + col];
    part[threadIdx.z][threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.z == 0 && row < M && col < N)
        C[row * N + col] = sum + part[1][threadIdx.y][threadIdx.x] + part[2][threadIdx.y][threadIdx.x];
}

template <typename T, int TILE>
__global__ void gemm_tiled(const T *A, const T *B, T *C, int M, int N, int K) {
    __shared__ T As[TILE][TILE], Bs[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[threadIdx.y][threadIdx.x] = row < M && k0 + threadIdx.x < K ? A[row * K + k0 + threadIdx.x] : T(0);
        Bs[threadIdx.y][threadIdx.x] = k0 + threadIdx.y < K && col < N ? B[(k0 + threadIdx.y) * N + col] : T(0);
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

// With atomics: K is split over the grid; integers, so that the order of the additions does not show
extern "C" __global__ void gemm_atomic(const int *A, const int *B, int *C, int M, int N, int K) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    int sum = 0;
    for (int k = blockIdx.z; k < K; k += gridDim.z) sum += A[row * K + k] * B[k * N + col];
    atomicAdd(&C[row * N + col], sum);
}

// Two halves a register: C (M, N / 2 pairs) = A (M, K) · B (K, N / 2 pairs)
extern "C" __global__ void gemm_half2(const unsigned short *A, const unsigned *B, unsigned *C, int M, int pairs, int K) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= pairs) return;
    unsigned sum = 0;
    for (int k = 0; k < K; ++k) {
        const unsigned a = A[row * K + k] * 0x10001u;
        asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(B[k * pairs + col]));
    }
    C[row * pairs + col] = sum;
}

extern "C" __global__ void half_arithmetic(const unsigned short *a, const unsigned short *b, unsigned short *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short sum, product;
    float wide;
    asm("add.rn.f16 %0, %1, %2;" : "=h"(sum) : "h"(a[i]), "h"(b[i]));
    asm("mul.rn.f16 %0, %1, %2;" : "=h"(product) : "h"(a[i]), "h"(sum));
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(product));
    wide = wide * 1.5f + 0.25f;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out[2 * i]) : "f"(wide));
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out[2 * i + 1]) : "f"(wide));
}

extern "C" __global__ void bfloat_arithmetic(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned result;
    asm("fma.rn.bf16x2 %0, %1, %2, %1;" : "=r"(result) : "r"(a[i]), "r"(b[i]));
    const float low = __int_as_float(result << 16), high = __int_as_float(result & 0xffff0000u);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[i]) : "f"(high + low), "f"(high - low));
}

// One warp: C (16, 8) += A (16, 16) · B (16, 8), halves in, floats out; A through ldmatrix from shared memory
extern "C" __global__ void mma_half(const unsigned short *A, const unsigned short *B, float *C, int steps) {
    __shared__ alignas(16) unsigned short As[16][24], Bs[8][24];
    const int lane = threadIdx.x;
    float c[4] = {};
    for (int step = 0; step < steps; ++step) {
        for (int i = lane; i < 256; i += 32) As[i / 16][i % 16] = A[step * 256 + i];
        for (int i = lane; i < 128; i += 32) Bs[i % 8][i / 8] = B[step * 128 + i];
        __syncthreads();
        unsigned a[4], b[2];
        const unsigned a_at = __cvta_generic_to_shared(&As[lane % 16][lane / 16 * 8]);
        const unsigned b_at = __cvta_generic_to_shared(&Bs[lane % 8][lane / 8 % 2 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(a_at));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(b_at));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) C[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}

// The same in bfloat16 with fragments loaded straight from global memory (B is stored transposed: (8, 16))
extern "C" __global__ void mma_bfloat(const unsigned *A, const unsigned *B, float *C, int steps) {
    const int lane = threadIdx.x, row = lane / 4, pair = lane % 4;
    float c[4] = {};
    for (int step = 0; step < steps; ++step, A += 128, B += 64) {
        const unsigned a[4] = {A[row * 8 + pair], A[(row + 8) * 8 + pair], A[row * 8 + pair + 4], A[(row + 8) * 8 + pair + 4]};
        const unsigned b[2] = {B[row * 8 + pair], B[row * 8 + pair + 4]};
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    for (int i = 0; i < 4; ++i) C[(row + i / 2 * 8) * 8 + pair * 2 + i % 2] = c[i];
}

// TF32: C (16, 8) += A (16, 8) · B (8, 8), B stored transposed
extern "C" __global__ void mma_tf32(const float *A, const float *B, float *C, int steps) {
    const int lane = threadIdx.x, row = lane / 4, k = lane % 4;
    float c[4] = {};
    for (int step = 0; step < steps; ++step, A += 128, B += 64) {
        unsigned a[4], b[2];
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[0]) : "f"(A[row * 8 + k]));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[1]) : "f"(A[(row + 8) * 8 + k]));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[2]) : "f"(A[row * 8 + k + 4]));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[3]) : "f"(A[(row + 8) * 8 + k + 4]));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(b[0]) : "f"(B[row * 8 + k]));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(b[1]) : "f"(B[row * 8 + k + 4]));
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    for (int i = 0; i < 4; ++i) C[(row + i / 2 * 8) * 8 + k * 2 + i % 2] = c[i];
}

// Asynchronous copies of 4, 8 and 16 bytes with two buffers
template <int BYTES>
__global__ void copy_pipeline(const float *in, float *out, int rounds) {
    constexpr int FLOATS = BYTES / 4;
    __shared__ alignas(16) float tile[2][128 * FLOATS];
    auto start = [&](int round) {
        const unsigned to = __cvta_generic_to_shared(&tile[round % 2][threadIdx.x * FLOATS]);
        const float *from = in + (round * 128 + threadIdx.x) * FLOATS;
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(BYTES) : "memory");
        asm volatile("cp.async.commit_group;");
    };
    float sum = 0.0f;
    start(0);
    for (int round = 0; round < rounds; ++round) {
        if (round + 1 < rounds) start(round + 1);
        else asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        for (int i = 0; i < FLOATS; ++i) sum += tile[round % 2][(127 - threadIdx.x) * FLOATS + i];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
