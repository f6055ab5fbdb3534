// mma.sync: one instruction multiplies, and the program says which lane holds which element. Each lane fetches its own
// from global memory, two neighbours in k at a time, and writes its own sums.

typedef unsigned short Element;   // a float16 or bfloat16 as bits: only the tensor core looks inside

// d (16, 8) += a (16, 16) * b (16, 8) by the whole warp
template <int BF16>
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned b0, const unsigned b1) {
    if constexpr (BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int BF16>
__global__ void __launch_bounds__(32)
hgemm_mma(int M, int N, int K, float alpha, const Element *A,   // A: (M, K), row-major
          const Element *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    static_assert(BF16 == 0 || BF16 == 1, "BF16 must be 0 for float16 or 1 for bfloat16");

    // 1. The warp computes 16 x 16 elements of C, by two products for each 16 k
    const int lane = threadIdx.x, tile_row = blockIdx.y * 16, tile_col = blockIdx.x * 16;
    auto a = [&](int r, int k) -> unsigned { return r < M && k < K ? A[size_t(r) * K + k] : 0; };
    auto b = [&](int k, int c) -> unsigned { return k < K && c < N ? B[size_t(k) * N + c] : 0; };

    float acc[2][4] = {};   // (tile of 8 columns, register)
    for (int first_k = 0; first_k < K; first_k += 16) {
        // 2. My elements of A: rows lane / 4 and + 8, k = 2 * (lane % 4) and the next, then the same 8 further
        unsigned a_frag[4];
        for (int n = 0; n < 4; ++n) {
            const int r = tile_row + lane / 4 + n % 2 * 8, k = first_k + lane % 4 * 2 + n / 2 * 8;
            a_frag[n] = a(r, k) | a(r, k + 1) << 16;
        }
        for (int j = 0; j < 2; ++j) {
            // 3. My elements of B: column lane / 4, the same k
            unsigned b_frag[2];
            for (int n = 0; n < 2; ++n) {
                const int k = first_k + lane % 4 * 2 + n * 8, c = tile_col + j * 8 + lane / 4;
                b_frag[n] = b(k, c) | b(k + 1, c) << 16;
            }
            multiply<BF16>(acc[j], a_frag, b_frag[0], b_frag[1]);
        }
    }

    // 4. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    for (int j = 0; j < 2; ++j)
        for (int n = 0; n < 4; ++n) {
            const int r = tile_row + lane / 4 + n / 2 * 8, c = tile_col + j * 8 + lane % 4 * 2 + n % 2;
            if (r >= M || c >= N) continue;
            float *to = &C[size_t(r) * N + c];
            *to = alpha * acc[j][n] + (beta == 0.0f ? 0.0f : beta * *to);
        }
}
