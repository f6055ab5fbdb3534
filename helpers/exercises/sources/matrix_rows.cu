#include <cuda_fp16.h>

// Four 8 x 8 matrices from shared memory. Lane i names row i % 8 of matrix i / 8, by the address of its 16 bytes. Every
// lane receives two neighbours of each matrix, of matrix n in r[n]: row lane / 4, columns lane % 4 * 2 and the next.
__device__ void load_matrices(unsigned (&r)[4], const __half *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared))) : "memory");
}

// D (16, 8) = a (16, 16) * b (16, 8) + D by the whole warp; a register of a and b has two float16 numbers
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A row of As has four chunks of eight elements, 16 bytes each. Where in its row is this one kept: 0, 1, 2 or 3?
__device__ int place(int row, int chunk) {
    // 2. As it is, the rows of a matrix queue at the banks. Keep the chunks of some rows in another order.
    // <starter, plain, padded, plain_element, plain_bytes, plain_k_as_chunk, plain_by_hand>
    return chunk;
    // <solution>
    return chunk ^ row / 2 % 4;
    // <low_bits>
    return chunk ^ row % 4;
    // <one_bit>
    return chunk ^ row % 2;
    // <by_fours>
    return chunk ^ row / 4;
    // <eight_chunks>
    return chunk ^ row % 8;
    // <not_folded>
    return chunk ^ row / 2;
    // <joined>
    return chunk | row / 2 % 4;
    // <end>
}

// A block is one warp. It computes a 16 x 8 tile of C; M, N and K are multiples of 16, 8 and 32.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    // <starter, solution>
    __shared__ __align__(16) __half As[16][32];   // A tile: (row, k), 64 bytes per row
    // <padded>
    __shared__ __align__(16) __half As[16][40];   // A tile: (row, k), 64 bytes per row and 16 that are not used
    // <end>
    const int tile_row = blockIdx.y * 16, tile_col = blockIdx.x * 8, lane = threadIdx.x;
    const int group = lane / 4, pair = lane % 4 * 2;

    float sums[4] = {};
    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int i = lane; i < 64; i += 32) {
            const float *from = &A[(tile_row + i / 4) * K + k0 + i % 4 * 8];
            __half *to = &As[i / 4][place(i / 4, i % 4) * 8];
            for (int j = 0; j < 8; ++j) to[j] = __float2half(from[j]);
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {   // the tile's k and the next 15: two chunks of each row
            unsigned a[4] = {}, b[2];
            for (int n = 0; n < 2; ++n) {
                const float *from = &B[(k0 + k + n * 8 + pair) * N + tile_col + group];
                b[n] = __half_as_ushort(__float2half(from[0])) | __half_as_ushort(__float2half(from[N])) << 16;
            }
            // 1. Which chunk of which row does my lane name? load_matrices(a, its address). As in step 5 register 0 is in
            //    row group and register 1 in row group + 8, both in the first chunk; so are 2 and 3 in the second one.
            // <solution>
            const int row = lane % 16, chunk = k / 8 + lane / 16;
            load_matrices(a, &As[row][place(row, chunk) * 8]);
            // <starter>
            // <k_first>
            const int row = lane / 16 * 8 + lane % 8, chunk = k / 8 + lane / 8 % 2;
            load_matrices(a, &As[row][place(row, chunk) * 8]);
            // <neighbours>
            const int row = lane / 2, chunk = k / 8 + lane % 2;
            load_matrices(a, &As[row][place(row, chunk) * 8]);
            // <one_matrix>
            const int row = lane % 8, chunk = k / 8;
            load_matrices(a, &As[row][place(row, chunk) * 8]);
            // <own_row>
            const int row = group, chunk = k / 8;
            load_matrices(a, &As[row][place(row, chunk) * 8]);
            // <own_elements>
            load_matrices(a, &As[group][k + pair]);
            // <first_half>
            const int row = lane % 16, chunk = lane / 16;
            load_matrices(a, &As[row][place(row, chunk) * 8]);
            // <store_only>
            const int row = lane % 16, chunk = k / 8 + lane / 16;
            load_matrices(a, &As[row][chunk * 8]);
            // <element, plain_element>
            const int row = lane % 16, chunk = k / 8 + lane / 16;
            load_matrices(a, &As[row][place(row, chunk)]);
            // <bytes, plain_bytes>
            const int row = lane % 16, chunk = k / 8 + lane / 16;
            load_matrices(a, &As[row][place(row, chunk) * 16]);
            // <k_as_chunk, plain_k_as_chunk>
            const int row = lane % 16, chunk = k + lane / 16;
            load_matrices(a, &As[row][place(row, chunk) * 8]);
            // <by_hand, plain_by_hand>
            for (int n = 0; n < 4; ++n) {
                const int row = group + n % 2 * 8, chunk = k / 8 + n / 2;
                a[n] = *reinterpret_cast<const unsigned *>(&As[row][place(row, chunk) * 8 + pair]);
            }
            // <end>
            multiply(sums, a, b);
        }
        __syncthreads();
    }
    for (int n = 0; n < 4; ++n) C[(tile_row + group + n / 2 * 8) * N + tile_col + pair + n % 2] = sums[n];
}
