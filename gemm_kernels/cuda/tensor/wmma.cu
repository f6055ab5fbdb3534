// WMMA: a warp multiplies 16 x 16 x 16 by one call of CUDA C++, which keeps to itself which lane holds what.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

template <bool IS_BF16> struct Number { using Type = __half; };
template <> struct Number<true> { using Type = __nv_bfloat16; };

template <int BF16>
__global__ void __launch_bounds__(32)
hgemm_wmma(int M, int N, int K, float alpha, const unsigned short *A,   // A: (M, K), row-major
           const unsigned short *B, float beta, float *C) {             // B: (K, N), C: (M, N)
    static_assert(BF16 == 0 || BF16 == 1, "BF16 must be 0 for float16 or 1 for bfloat16");
    using Element = typename Number<BF16 == 1>::Type;
    using namespace nvcuda;
    __shared__ __align__(32) unsigned short As[16][16], Bs[16][16];   // (row, k), (k, col)
    __shared__ __align__(32) float sums[16][16];                      // (row, col)

    // 1. The warp computes 16 x 16 elements of C
    const int lane = threadIdx.x, tile_row = blockIdx.y * 16, tile_col = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, Element, wmma::row_major> a_frag;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, Element, wmma::row_major> b_frag;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);

    for (int first_k = 0; first_k < K; first_k += 16) {
        // 2. Tiles of A and B; what lies outside the matrix becomes 0. The call wants rows that are aligned, and whole
        for (int i = lane; i < 256; i += 32) {
            const int y = i / 16, x = i % 16, row = tile_row + y, col = tile_col + x;
            As[y][x] = row < M && first_k + x < K ? A[size_t(row) * K + first_k + x] : 0;
            Bs[y][x] = first_k + y < K && col < N ? B[size_t(first_k + y) * N + col] : 0;
        }
        __syncwarp();   // the tiles are whole before any lane reads what others stored

        // 3. Multiply
        wmma::load_matrix_sync(a_frag, reinterpret_cast<Element *>(As[0]), 16);
        wmma::load_matrix_sync(b_frag, reinterpret_cast<Element *>(Bs[0]), 16);
        wmma::mma_sync(acc, a_frag, b_frag, acc);
        __syncwarp();   // every lane has read the tiles before any lane stores the next ones over them
    }

    // 4. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    wmma::store_matrix_sync(sums[0], acc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = lane; i < 256; i += 32) {
        const int row = tile_row + i / 16, col = tile_col + i % 16;
        if (row >= M || col >= N) continue;
        float *to = &C[size_t(row) * N + col];
        *to = alpha * sums[i / 16][i % 16] + (beta == 0.0f ? 0.0f : beta * *to);
    }
}
