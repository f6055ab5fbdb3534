// Row-major matrices by cuBLAS, in its own words: what ld, op and the order of A and B are for a C programmer's matrices.
//
//   nvcc -std=c++17 -o cublas gemm_kernels/host/cublas.cu -lcublas -lcublasLt && ./cublas
//
// cuBLAS reads every matrix down its columns: element (row, col) is at col * ld + row. A row-major (rows, cols) matrix with
// rows `ld` elements apart is in these words the transposed matrix (cols, rows) with the same ld. So ask for
// C^T = B^T * A^T: give B first and A second, N before M, and leave op as you mean it.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const int status = int(call);                                                            \
        if (status != 0) {                                                                       \
            std::fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, status);   \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

constexpr int M = 37, N = 21, K = 29, BATCH = 3;
constexpr float ALPHA = 1.5f, BETA = -0.5f;

// A row-major matrix on the host and on the GPU, whose rows are ld elements apart; more than it has columns, as in a slice.
template <class Element> struct Matrix {
    int rows, cols, ld;
    std::vector<Element> host;
    Element *device;
    Matrix(int rows, int cols, int ld) : rows(rows), cols(cols), ld(ld), host(size_t(rows) * ld) {
        CHECK(cudaMalloc(&device, host.size() * sizeof(Element)));
    }
    ~Matrix() { cudaFree(device); }
    void to_device() { CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(Element), cudaMemcpyHostToDevice)); }
    void to_host() { CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(Element), cudaMemcpyDeviceToHost)); }
};

float number(float x) { return x; }
float number(uint16_t bits) {   // a bfloat16 is the first half of a float
    const uint32_t whole = uint32_t(bits) << 16;
    float x;
    std::memcpy(&x, &whole, sizeof x);
    return x;
}

std::mt19937 chance(0);
template <class Element> void fill(Matrix<Element> &matrix) {
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (Element &element : matrix.host) {
        const float x = uniform(chance);
        if constexpr (sizeof(Element) == 4) element = x;
        else {
            uint32_t whole;
            std::memcpy(&whole, &x, sizeof x);
            element = Element(whole >> 16);
        }
    }
    matrix.to_device();
}

// The largest difference of C from ALPHA * op(A) * op(B) + beta * before, by the plain definition, in rows and columns.
template <class Element>
double error(const Matrix<Element> &A, bool a_transposed, const Matrix<Element> &B, bool b_transposed,
             const Matrix<float> &before, const Matrix<float> &C, float beta, float (*then)(float, int) = nullptr) {
    double largest = 0;
    for (int row = 0; row < C.rows; ++row)
        for (int col = 0; col < C.cols; ++col) {
            double sum = 0;
            for (int k = 0; k < K; ++k)
                sum += double(number(A.host[a_transposed ? k * A.ld + row : row * A.ld + k])) *
                       number(B.host[b_transposed ? col * B.ld + k : k * B.ld + col]);
            double wanted = ALPHA * sum + beta * before.host[row * C.ld + col];
            if (then) wanted = then(float(wanted), col);
            const double difference = std::fabs(wanted - C.host[row * C.ld + col]);
            if (!(difference <= largest)) largest = difference;   // also if it is NaN
        }
    return largest;
}

int report(const char *what, double error) {
    std::printf("%-48s largest error %.1e\n", what, error);
    return error < 1e-4 ? 0 : 1;
}

std::vector<float> bias;
float bias_and_gelu(float x, int col) {   // cuBLASLt's GELU is the one by tanh
    const double y = x + bias[col];
    return float(0.5 * y * (1 + std::tanh(0.7978845608 * (y + 0.044715 * y * y * y))));
}

int main() {
    int failed = 0;
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));

    // 1. cublasSgemm: C = ALPHA * A * B + BETA * C, all four transpositions. ld is never the number of columns by itself:
    //    it is how far apart rows are in memory, whether the matrix is transposed or not.
    for (int both = 0; both < 4; ++both) {
        const bool at = both / 2, bt = both % 2;
        Matrix<float> A(at ? K : M, at ? M : K, (at ? M : K) + 3), B(bt ? N : K, bt ? K : N, (bt ? K : N) + 1), C(M, N, N + 2);
        fill(A), fill(B), fill(C);
        Matrix<float> before(M, N, N + 2);
        before.host = C.host;
        CHECK(cublasSgemm(handle,
                          bt ? CUBLAS_OP_T : CUBLAS_OP_N, at ? CUBLAS_OP_T : CUBLAS_OP_N,   // of B, then of A
                          N, M, K,                          // C^T has N rows and M columns
                          &ALPHA, B.device, B.ld, A.device, A.ld,
                          &BETA, C.device, C.ld));
        C.to_host();
        char what[64];
        std::snprintf(what, sizeof what, "cublasSgemm, op %c%c", at ? 'T' : 'N', bt ? 'T' : 'N');
        failed += report(what, error(A, at, B, bt, before, C, BETA));
    }

    // 2. cublasGemmEx: the same with a type for each matrix, and one for the sums. With beta = 0 C is not read.
    {
        const float zero = 0;
        Matrix<uint16_t> A(M, K, K + 3), B(K, N, N + 3);
        Matrix<float> C(M, N, N);
        fill(A), fill(B), fill(C);
        CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &ALPHA, B.device, CUDA_R_16BF, B.ld,
                           A.device, CUDA_R_16BF, A.ld, &zero, C.device, CUDA_R_32F, C.ld,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
        C.to_host();
        failed += report("cublasGemmEx, bfloat16 with float32 sums", error(A, false, B, false, C, C, 0));
    }

    // 3. cublasSgemmStridedBatched: BATCH products in one call. A stride is in elements, from matrix to matrix; that of B is
    //    0, so that all share one B.
    {
        Matrix<float> A(BATCH * M, K, K), B(K, N, N), C(BATCH * M, N, N);
        fill(A), fill(B), fill(C);
        const float zero = 0;
        CHECK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &ALPHA, B.device, B.ld, 0,
                                        A.device, A.ld, (long long)M * A.ld, &zero, C.device, C.ld,
                                        (long long)M * C.ld, BATCH));
        C.to_host();
        failed += report("cublasSgemmStridedBatched, one B for all", error(A, false, B, false, C, C, 0));
    }

    // 4. cublasLtMatmul: a layout for each matrix, an operation with its attributes, and an algorithm chosen before. A bias
    //    has one number for each row of cuBLAS's C, which is a column of ours.
    {
        Matrix<float> A(M, K, K), B(K, N, N), C(M, N, N), added(1, N, N);
        fill(A), fill(B), fill(C), fill(added);
        bias = added.host;
        cublasLtHandle_t lt;
        cublasLtMatmulDesc_t operation;
        cublasLtMatrixLayout_t layout_a, layout_b, layout_c;
        cublasLtMatmulPreference_t preference;
        const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
        const float zero = 0;
        const void *bias_pointer = added.device;
        CHECK(cublasLtCreate(&lt));
        CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
        CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_pointer, sizeof bias_pointer));
        CHECK(cublasLtMatrixLayoutCreate(&layout_b, CUDA_R_32F, N, K, B.ld));   // B^T: N rows, K columns, ld
        CHECK(cublasLtMatrixLayoutCreate(&layout_a, CUDA_R_32F, K, M, A.ld));
        CHECK(cublasLtMatrixLayoutCreate(&layout_c, CUDA_R_32F, N, M, C.ld));
        CHECK(cublasLtMatmulPreferenceCreate(&preference));
        cublasLtMatmulHeuristicResult_t found;
        int count = 0;
        CHECK(cublasLtMatmulAlgoGetHeuristic(lt, operation, layout_b, layout_a, layout_c, layout_c, preference, 1, &found, &count));
        if (count == 0) std::puts("cuBLASLt has no algorithm for this product"), std::exit(1);
        CHECK(cublasLtMatmul(lt, operation, &ALPHA, B.device, layout_b, A.device, layout_a, &zero, C.device, layout_c,
                             C.device, layout_c, &found.algo, nullptr, 0, nullptr));
        C.to_host();
        failed += report("cublasLtMatmul, bias and GELU", error(A, false, B, false, C, C, 0, bias_and_gelu));
        cublasLtMatmulPreferenceDestroy(preference);
        for (cublasLtMatrixLayout_t layout : {layout_a, layout_b, layout_c}) cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(operation);
        cublasLtDestroy(lt);
    }
    CHECK(cublasDestroy(handle));
    return failed;
}
