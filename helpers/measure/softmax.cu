// A softmax of each row of S in place, one block of THREADS for a row: what lies between two products of attention.
#define THREADS 128
#define FULL 0xffffffffu

__device__ float of_block(float value, bool largest) {
    __shared__ float of_warp[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(FULL, value, offset);
        value = largest ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int warp = 1; warp < THREADS / 32; ++warp) value = largest ? fmaxf(value, of_warp[warp]) : value + of_warp[warp];
    __syncthreads();
    return value;
}

// S: (rows, columns)
extern "C" __global__ void __launch_bounds__(THREADS) softmax(int columns, float *S) {
    float *row = S + size_t(blockIdx.x) * columns;
    float most = __int_as_float(0xff800000);   // -infinity
    for (int col = threadIdx.x; col < columns; col += THREADS) most = fmaxf(most, row[col]);
    most = of_block(most, true);
    float sum = 0.0f;
    for (int col = threadIdx.x; col < columns; col += THREADS) sum += row[col] = expf(row[col] - most);
    sum = of_block(sum, false);
    for (int col = threadIdx.x; col < columns; col += THREADS) row[col] /= sum;
}
