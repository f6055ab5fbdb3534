#include "two_smallest/product.cuh"   // multiply

#define FULL 0xffffffffu
#define INFINITY __int_as_float(0x7f800000)

struct Soft {                // of some elements: the largest, and the sum of exp2(element - largest)
    float most, sum;
};

// What is true of one element more, v, or of all that other stands for.
__device__ void join(Soft &soft, Soft other) {
    // 1. The larger of the two maxima. Each sum was made with its own maximum: bring both to the larger one.
    //    -INFINITY - (-INFINITY) is NaN: where both are empty there is nothing to do.
    // <solution>
    const float most = fmaxf(soft.most, other.most);
    if (most == -INFINITY) return;
    soft.sum = soft.sum * exp2f(soft.most - most) + other.sum * exp2f(other.most - most);
    soft.most = most;
    // <starter>
    // <end>
}

// of_tile: (tiles along a row, M, 2), of each row the maximum and the sum within a tile. C is not stored.
extern "C" __global__ void __launch_bounds__(THREADS)
row_statistics(int M, int N, int K, const float *A, const float *B, float *of_tile) {
    float acc[TM][TN] = {};   // my patch of C
    multiply(M, N, K, A, B, acc);
    const int first_row = blockIdx.y * BM + threadIdx.x / 16 * TM, first_col = blockIdx.x * BN + threadIdx.x % 16 * TN;

    for (int y = 0; y < TM; ++y) {
        Soft soft = {-INFINITY, 0.0f};
        // 2. Join my elements of row y, those that C has: an element alone is its own maximum, with the sum 1.
        // 3. 16 lanes of a warp have the same rows: join theirs by __shfl_down_sync, with offsets 8, 4, 2, 1.
        // 4. One of these lanes stores both numbers, if C has the row.
        // <solution>
        for (int x = 0; x < TN; ++x)
            if (first_col + x < N) join(soft, {acc[y][x], 1.0f});
        for (int offset = 8; offset > 0; offset /= 2) {
            const float most = __shfl_down_sync(FULL, soft.most, offset);
            const float sum = __shfl_down_sync(FULL, soft.sum, offset);
            join(soft, {most, sum});
        }
        const int row = first_row + y;
        if (threadIdx.x % 16 == 0 && row < M) {
            of_tile[2 * (blockIdx.x * M + row)] = soft.most;
            of_tile[2 * (blockIdx.x * M + row) + 1] = soft.sum;
        }
        // <starter>
        // <end>
    }
}
