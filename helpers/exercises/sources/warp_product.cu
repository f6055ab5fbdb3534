#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// A block is one warp. It computes a 16 x 16 tile of C on the tensor cores; M, N and K are multiples of 16.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ __align__(32) __half As[16][16], Bs[16][16];   // (row, k), (k, col)
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    const int tile_row = blockIdx.y * 16, tile_col = blockIdx.x * 16, lane = threadIdx.x;

    wmma::fill_fragment(sums, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = lane; i < 256; i += 32) {
            As[i / 16][i % 16] = __float2half(A[(tile_row + i / 16) * K + k0 + i % 16]);
            Bs[i / 16][i % 16] = __float2half(B[(k0 + i / 16) * N + tile_col + i % 16]);
        }
        // 1. Wait, load both fragments, multiply, and wait again.
        // <solution>
        __syncthreads();
        wmma::load_matrix_sync(a, &As[0][0], 16);
        wmma::load_matrix_sync(b, &Bs[0][0], 16);
        wmma::mma_sync(sums, a, b, sums);
        __syncthreads();
        // <starter>
        // <no_first_barrier>
        wmma::load_matrix_sync(a, &As[0][0], 16);
        wmma::load_matrix_sync(b, &Bs[0][0], 16);
        wmma::mma_sync(sums, a, b, sums);
        __syncthreads();
        // <restarts>
        __syncthreads();
        wmma::load_matrix_sync(a, &As[0][0], 16);
        wmma::load_matrix_sync(b, &Bs[0][0], 16);
        wmma::fill_fragment(sums, 0.0f);
        wmma::mma_sync(sums, a, b, sums);
        __syncthreads();
        // <bytes>
        __syncthreads();
        wmma::load_matrix_sync(a, &As[0][0], 32);
        wmma::load_matrix_sync(b, &Bs[0][0], 32);
        wmma::mma_sync(sums, a, b, sums);
        __syncthreads();
        // <swapped>
        __syncthreads();
        wmma::load_matrix_sync(a, &Bs[0][0], 16);
        wmma::load_matrix_sync(b, &As[0][0], 16);
        wmma::mma_sync(sums, a, b, sums);
        __syncthreads();
        // <end>
    }
    // 2. Store the sums to the tile's place in C, whose rows are N floats long.
    // <solution>
    wmma::store_matrix_sync(&C[tile_row * N + tile_col], sums, N, wmma::mem_row_major);
    // <starter>
    // <rows_of_16>
    wmma::store_matrix_sync(&C[tile_row * N + tile_col], sums, 16, wmma::mem_row_major);
    // <transposed>
    wmma::store_matrix_sync(&C[tile_row * N + tile_col], sums, N, wmma::mem_col_major);
    // <end>
}
