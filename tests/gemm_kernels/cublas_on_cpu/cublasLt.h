// cuBLASLt as far as gemm_kernels/host/cublas.cu needs it: float32, one epilogue, bias and GELU.
#pragma once
#include "cublas_v2.h"
#include <cmath>
typedef struct Lt *cublasLtHandle_t;
enum cublasLtEpilogue_t { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_GELU_BIAS = 36 };
enum cublasLtMatmulDescAttributes_t { CUBLASLT_MATMUL_DESC_EPILOGUE = 7, CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8 };
struct Operation {
    cublasLtEpilogue_t epilogue;
    const float *bias;
};
struct Layout {
    uint64_t rows, cols;
    int64_t ld;
};
typedef Operation *cublasLtMatmulDesc_t;
typedef Layout *cublasLtMatrixLayout_t;
typedef struct Preference *cublasLtMatmulPreference_t;
struct cublasLtMatmulAlgo_t { uint64_t data[8]; };
struct cublasLtMatmulHeuristicResult_t { cublasLtMatmulAlgo_t algo; };

inline int cublasLtCreate(cublasLtHandle_t *lt) { return *lt = (cublasLtHandle_t)1, 0; }
inline int cublasLtDestroy(cublasLtHandle_t) { return 0; }
inline int cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t, cudaDataType) {
    return *made = new Operation{CUBLASLT_EPILOGUE_DEFAULT, nullptr}, 0;
}
inline int cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which, const void *value,
                                          size_t size) {
    if (which == CUBLASLT_MATMUL_DESC_EPILOGUE && size == sizeof operation->epilogue)
        return std::memcpy(&operation->epilogue, value, size), 0;
    if (which == CUBLASLT_MATMUL_DESC_BIAS_POINTER && size == sizeof operation->bias)
        return std::memcpy(&operation->bias, value, size), 0;
    return INVALID_VALUE;
}
inline int cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) { return delete operation, 0; }
inline int cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType, uint64_t rows, uint64_t cols, int64_t ld) {
    return *made = new Layout{rows, cols, ld}, 0;
}
inline int cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return delete layout, 0; }
inline int cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made) { return *made = nullptr, 0; }
inline int cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) { return 0; }
inline int cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t, int most,
                                          cublasLtMatmulHeuristicResult_t *, int *count) {
    const bool fits = a->cols == b->rows && c->rows == a->rows && c->cols == b->cols && d->rows == c->rows && d->cols == c->cols;
    return *count = fits && most > 0, fits ? 0 : INVALID_VALUE;
}
inline int cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void *alpha, const void *A, cublasLtMatrixLayout_t a,
                          const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C, cublasLtMatrixLayout_t c, void *D,
                          cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *, void *, size_t, void *) {
    if (C != D || c->ld != d->ld) return NOT_SUPPORTED;
    const int status = cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, int(a->rows), int(b->cols), int(a->cols), (const float *)alpha,
                                   (const float *)A, int(a->ld), (const float *)B, int(b->ld), (const float *)beta, (float *)D,
                                   int(d->ld));
    if (status || operation->epilogue != CUBLASLT_EPILOGUE_GELU_BIAS) return status;
    for (uint64_t col = 0; col < d->cols; ++col)
        for (uint64_t row = 0; row < d->rows; ++row) {
            float &x = ((float *)D)[col * d->ld + row];
            const double y = x + operation->bias[row];
            x = float(0.5 * y * (1 + std::tanh(0.7978845608 * (y + 0.044715 * y * y * y))));
        }
    return 0;
}
