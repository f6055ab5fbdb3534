// D (16, 8) = a (16, 8) * b (8, 8) + D by the whole warp; the tensor core reads the first 19 bits of each float.
__device__ void multiply(float (&d)[4], const float (&a)[4], const float (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
                   "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

// A block is one warp. It computes a 16 x 8 tile of C; M is a multiple of 16, N and K are multiples of 8.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    const int tile_row = blockIdx.y * 16, tile_col = blockIdx.x * 8;
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;

    float sums[4] = {};
    for (int k0 = 0; k0 < K; k0 += 8) {
        float a[4] = {}, b[2] = {};
        // 1. My four elements of A: rows group and group + 8, at k = place; then the same rows at k = place + 4.
        // <solution>
        for (int n = 0; n < 4; ++n) {
            const int row = tile_row + group + n % 2 * 8, k = k0 + place + n / 2 * 4;
            a[n] = A[row * K + k];
        }
        // <starter>
        // <rows_last>
        for (int n = 0; n < 4; ++n) {
            const int row = tile_row + group + n / 2 * 8, k = k0 + place + n % 2 * 4;
            a[n] = A[row * K + k];
        }
        // <neighbours>
        for (int n = 0; n < 4; ++n) {
            const int row = tile_row + group + n % 2 * 8, k = k0 + place * 2 + n / 2;
            a[n] = A[row * K + k];
        }
        // <end>
        // 2. My two elements of B: column group, at k = place and at k = place + 4.
        // <solution>
        for (int n = 0; n < 2; ++n) b[n] = B[(k0 + place + n * 4) * N + tile_col + group];
        // <starter>
        // <b_turned>
        for (int n = 0; n < 2; ++n) b[n] = B[(k0 + group) * N + tile_col + place + n * 4];
        // <b_neighbours>
        for (int n = 0; n < 2; ++n) b[n] = B[(k0 + place * 2 + n) * N + tile_col + group];
        // <end>
        multiply(sums, a, b);
    }
    // 3. Store my four sums: row group, columns 2 * place and the next; then the same in row group + 8.
    // <solution>
    for (int n = 0; n < 4; ++n) {
        const int row = tile_row + group + n / 2 * 8, col = tile_col + place * 2 + n % 2;
        C[row * N + col] = sums[n];
    }
    // <starter>
    // <rows_first>
    for (int n = 0; n < 4; ++n) {
        const int row = tile_row + group + n % 2 * 8, col = tile_col + place * 2 + n / 2;
        C[row * N + col] = sums[n];
    }
    // <stored_like_a>
    for (int n = 0; n < 4; ++n) {
        const int row = tile_row + group + n % 2 * 8, col = tile_col + place + n / 2 * 4;
        C[row * N + col] = sums[n];
    }
    // <end>
}
