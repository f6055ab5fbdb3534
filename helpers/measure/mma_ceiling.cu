// What mma.sync can give: a warp multiplies the same fragments again and again, and nothing is loaded in between.
// FORMAT: 0 for bfloat16, 1 for float16 (16 k at a time), 2 for TF32 (8 k), 3 for 8-bit integers (32 k).

template <int FORMAT>
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (FORMAT == 0)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else if constexpr (FORMAT == 1)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else if constexpr (FORMAT == 2)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else {   // integer sums, in the registers of the others
        int (&sums)[4] = reinterpret_cast<int (&)[4]>(d);
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
}

// from: 32 random registers for each thread.  to: a float for each thread, so that nothing is optimized away
template <int FORMAT>
__global__ void __launch_bounds__(256, 1) ceiling(int rounds, const unsigned *from, float *to) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    unsigned a[4][4], b[8][2];   // the fragments of a warp's tile of 64 x 64: (tile of 16 rows or 8 columns, register)
    #pragma unroll
    for (int n = 0; n < 16; ++n) a[n / 4][n % 4] = from[n * threads + thread];
    #pragma unroll
    for (int n = 0; n < 16; ++n) b[n / 2][n % 2] = from[(16 + n) * threads + thread];
    float acc[4][8][4] = {};
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round)
        #pragma unroll
        for (int n = 0; n < 32; ++n) multiply<FORMAT>(acc[n / 8][n % 8], a[n / 8], b[n % 8]);
    float sum = 0.0f;
    #pragma unroll
    for (int n = 0; n < 128; ++n) sum += acc[n / 32][n / 4 % 8][n % 4];
    to[thread] = sum;
}
