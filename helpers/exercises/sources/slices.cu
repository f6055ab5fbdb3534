#define T 8
#define SLICES 4   // groups of T x T threads that share out k

// A block of T x T x SLICES threads computes one T x T tile of C: a C that is too small for many blocks gets more threads
// this way. Group z takes the k from z * (K / SLICES) on; K is a multiple of SLICES.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float parts[SLICES][T][T];   // partial sums: (slice, row, col)
    const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;

    // 1. Add up the products of my slice of k, and keep the sum in parts.   2. Wait.
    // <solution>
    const int length = K / SLICES;
    float part = 0.0f;
    for (int k = z * length; k < (z + 1) * length; ++k) part += A[row * K + k] * B[k * N + col];
    parts[z][y][x] = part;
    __syncthreads();
    // <starter>
    // <all_of_k>
    float part = 0.0f;
    for (int k = 0; k < K; ++k) part += A[row * K + k] * B[k * N + col];
    parts[z][y][x] = part;
    __syncthreads();
    // <slices_of_SLICES>
    float part = 0.0f;
    for (int k = z * SLICES; k < (z + 1) * SLICES; ++k) part += A[row * K + k] * B[k * N + col];
    parts[z][y][x] = part;
    __syncthreads();
    // <one_short>
    const int length = K / SLICES;
    float part = 0.0f;
    for (int k = z * length; k < (z + 1) * length - 1; ++k) part += A[row * K + k] * B[k * N + col];
    parts[z][y][x] = part;
    __syncthreads();
    // <nobody_waits>
    const int length = K / SLICES;
    float part = 0.0f;
    for (int k = z * length; k < (z + 1) * length; ++k) part += A[row * K + k] * B[k * N + col];
    parts[z][y][x] = part;
    // <one_place>
    const int length = K / SLICES;
    float part = 0.0f;
    for (int k = z * length; k < (z + 1) * length; ++k) part += A[row * K + k] * B[k * N + col];
    parts[0][y][x] = part;
    __syncthreads();
    // <end>

    // 3. The first group adds the SLICES parts, always in the same order, and stores the sum.
    // <solution>
    if (z == 0) {
        float sum = 0.0f;
        for (int slice = 0; slice < SLICES; ++slice) sum += parts[slice][y][x];
        C[row * N + col] = sum;
    }
    // <starter>
    // <own_part>
    C[row * N + col] = parts[z][y][x];
    // <first_part>
    if (z == 0) C[row * N + col] = parts[0][y][x];
    // <everybody_adds>
    C[row * N + col] = 0.0f;
    __syncthreads();
    C[row * N + col] += parts[z][y][x];
    // <end>
}
