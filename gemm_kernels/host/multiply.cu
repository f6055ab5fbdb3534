// A whole program around one kernel: it allocates, copies, launches, checks every call, verifies and times.
//
//   nvcc -std=c++17 -O3 -arch=native -o multiply -DKERNEL='"my/warp_tile.cu"' -DBLOCK='dim3(256)'
//        -DTILE_ROWS=64 -DTILE_COLUMNS=64 gemm_kernels/host/multiply.cu          (in one line)
//   ./multiply 4096 4096 4096
//
// KERNEL is a file with a kernel sgemm(M, N, K, A, B, C) for sizes that its tile divides. BLOCK are its threads, and
// TILE_ROWS x TILE_COLUMNS is the tile of C that a block of them computes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include KERNEL

// Every call of the CUDA runtime returns an error code, and it is silent unless somebody looks.
#define CHECK(call)                                                                                    \
    do {                                                                                               \
        const cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                                    \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
            std::exit(1);                                                                              \
        }                                                                                              \
    } while (0)

// The largest error of a few rows of C against sums in double precision, in units of a typical element's size.
double largest_error(int M, int N, int K, const std::vector<float> &A, const std::vector<float> &B,
                     const std::vector<float> &C) {
    const double typical = std::sqrt(double(K)) / 3;   // of a sum of K products of two numbers from [-1, 1)
    double largest = 0;
    for (int row = 0; row < M; row += std::max(1, M / 16))
        for (int col = 0; col < N; ++col) {
            double sum = 0;
            for (int k = 0; k < K; ++k) sum += double(A[size_t(row) * K + k]) * B[size_t(k) * N + col];
            const double error = std::fabs(sum - C[size_t(row) * N + col]) / typical;
            if (!(error <= largest)) largest = error;   // also if it is NaN
        }
    return largest;
}

int main(int count, char **arguments) {
    const int M = count > 1 ? std::atoi(arguments[1]) : 1024;
    const int N = count > 2 ? std::atoi(arguments[2]) : M;
    const int K = count > 3 ? std::atoi(arguments[3]) : N;
    if (M < 1 || N < 1 || K < 1 || M % TILE_ROWS || N % TILE_COLUMNS) {
        std::fprintf(stderr, "M must be a multiple of %d and N of %d.\n", TILE_ROWS, TILE_COLUMNS);
        return 2;
    }

    // 1. Random numbers on the host: with zeros some kernels are faster than they are.
    std::mt19937 random(0);
    std::uniform_real_distribution<float> number(-1.0f, 1.0f);
    std::vector<float> A(size_t(M) * K), B(size_t(K) * N), C(size_t(M) * N);
    for (float &a : A) a = number(random);
    for (float &b : B) b = number(random);

    // 2. Memory of the GPU, and the copies there. 0xff in every byte is NaN: an element that nobody writes shows.
    float *device_A, *device_B, *device_C;
    CHECK(cudaMalloc(&device_A, A.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_B, B.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_C, C.size() * sizeof(float)));
    CHECK(cudaMemcpy(device_A, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_B, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_C, 0xff, C.size() * sizeof(float)));

    // 3. Launch. <<<...>>> returns nothing: cudaGetLastError says whether the launch was refused, and
    //    cudaDeviceSynchronize whether the kernel failed while it ran.
    const dim3 grid(N / TILE_COLUMNS, M / TILE_ROWS), block = BLOCK;
    sgemm<<<grid, block>>>(M, N, K, device_A, device_B, device_C);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    // 4. Verify, before any number is worth printing.
    CHECK(cudaMemcpy(C.data(), device_C, C.size() * sizeof(float), cudaMemcpyDeviceToHost));
    const double error = largest_error(M, N, K, A, B, C), allowed = 1e-6 * std::sqrt(double(K));
    std::printf("error %.1e, allowed %.1e\n", error, allowed);
    if (!(error <= allowed)) return 1;

    // 5. Time: warm up, overwrite the L2 before each launch, and take the median of the times between two events.
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    const size_t flushed = 4 * size_t(properties.l2CacheSize);
    void *flush;
    CHECK(cudaMalloc(&flush, flushed));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int launch = -10; launch < 21; ++launch) {   // the first ten only warm the GPU up
        CHECK(cudaMemsetAsync(flush, 0, flushed));
        CHECK(cudaEventRecord(begin));
        sgemm<<<grid, block>>>(M, N, K, device_A, device_B, device_C);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
        if (launch >= 0) times.push_back(milliseconds);
    }
    CHECK(cudaGetLastError());
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    std::printf("%d x %d x %d: %.3f ms, %.0f GFLOPS on %s\n", M, N, K, median, 2e-6 * M * N * K / median,
                properties.name);

    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(flush));
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
    CHECK(cudaFree(device_C));
}
