// One tile by WMMA, with everything that the fragments hold: each lane's elements of A, B and C, one after the other.

#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

template <typename Type, typename Element, typename Sum, int M, int N, int K, typename OrderA, typename OrderB>
__global__ void tile(const Element *A, const Element *B, Sum *C, float *held, int lda, int ldb, int ldc, bool by_row) {
    wmma::fragment<wmma::matrix_a, M, N, K, Type, OrderA> a;
    wmma::fragment<wmma::matrix_b, M, N, K, Type, OrderB> b;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> c;
    wmma::load_matrix_sync(a, A, lda);
    wmma::load_matrix_sync(b, B, ldb);
    const auto order = by_row ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::load_matrix_sync(c, C, ldc, order);
    for (int i = 0; i < a.num_elements; ++i) held[i * 32 + threadIdx.x] = float(a.x[i]);
    held += a.num_elements * 32;
    for (int i = 0; i < b.num_elements; ++i) held[i * 32 + threadIdx.x] = float(b.x[i]);
    held += b.num_elements * 32;
    for (int i = 0; i < c.num_elements; ++i) held[i * 32 + threadIdx.x] = float(c.x[i]);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, ldc, order);
}
