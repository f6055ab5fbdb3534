// cuBLAS's products by their definition in its documentation: matrices go down columns, element (row, col) is at
// col * ld + row. Arguments are refused as cuBLAS refuses them.
#pragma once
#include <cstdint>
#include <cstring>
typedef struct Handle *cublasHandle_t;
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_16BF = 14 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
constexpr int INVALID_VALUE = 7, NOT_SUPPORTED = 15;

inline int cublasCreate(cublasHandle_t *handle) { return *handle = (cublasHandle_t)1, 0; }
inline int cublasDestroy(cublasHandle_t) { return 0; }

inline float element(const void *matrix, cudaDataType type, size_t place) {
    if (type == CUDA_R_32F) return ((const float *)matrix)[place];
    const uint32_t bits = uint32_t(((const uint16_t *)matrix)[place]) << 16;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline int cublasGemmEx(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const void *alpha,
                        const void *A, cudaDataType a_type, int lda, const void *B, cudaDataType b_type, int ldb,
                        const void *beta, void *C, cudaDataType c_type, int ldc, cublasComputeType_t, cublasGemmAlgo_t) {
    if (lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m) return INVALID_VALUE;
    if (c_type != CUDA_R_32F || a_type != b_type) return NOT_SUPPORTED;
    for (int col = 0; col < n; ++col)
        for (int row = 0; row < m; ++row) {
            double sum = 0;
            for (int i = 0; i < k; ++i)
                sum += double(element(A, a_type, op_a ? size_t(row) * lda + i : size_t(i) * lda + row)) *
                       element(B, b_type, op_b ? size_t(i) * ldb + col : size_t(col) * ldb + i);
            float &c = ((float *)C)[size_t(col) * ldc + row];
            c = *(const float *)alpha * sum + (*(const float *)beta ? *(const float *)beta * c : 0.0f);
        }
    return 0;
}

inline int cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                       const float *alpha, const float *A, int lda, const float *B, int ldb, const float *beta, float *C, int ldc) {
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, A, CUDA_R_32F, lda, B, CUDA_R_32F, ldb, beta, C, CUDA_R_32F, ldc,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

inline int cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                                     const float *alpha, const float *A, int lda, long long stride_a, const float *B, int ldb,
                                     long long stride_b, const float *beta, float *C, int ldc, long long stride_c, int count) {
    for (int i = 0; i < count; ++i)
        if (int status = cublasSgemm(handle, op_a, op_b, m, n, k, alpha, A + i * stride_a, lda, B + i * stride_b, ldb, beta,
                                     C + i * stride_c, ldc))
            return status;
    return 0;
}
