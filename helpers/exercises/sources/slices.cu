#define T 8
#define SLICES 4   // groups of T x T threads that share out k

// A block of T x T x SLICES threads computes one T x T tile of C: a C that is too small for many blocks gets more
// threads this way. threadIdx.z is the number of a thread's group. M and N are multiples of T; K is any number.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    // 1. A place in shared memory for every thread's part of a sum. Which element of C is mine, and in which group?
    // <solution>
    __shared__ float parts[SLICES][T][T];   // (group, row, col)
    const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * T + x;
    // <starter>
    // <end>

    // 2. The groups take equally many k, rounded up; the last ones may get fewer, or none. Where does my part begin,
    //    and where does it end?
    // <solution>
    const int length = (K + SLICES - 1) / SLICES;
    const int begin = z * length;
    const int end = begin + length < K ? begin + length : K;
    // <starter>
    // <all_of_k>
    const int begin = 0;
    const int end = K;
    // <slices_of_SLICES>
    const int begin = z * SLICES;
    const int end = begin + SLICES < K ? begin + SLICES : K;
    // <rounded_down>
    const int length = K / SLICES;
    const int begin = z * length;
    const int end = begin + length;
    // <beyond_k>
    const int length = (K + SLICES - 1) / SLICES;
    const int begin = z * length;
    const int end = begin + length;
    // <one_short>
    const int length = (K + SLICES - 1) / SLICES;
    const int begin = z * length;
    const int end = begin + length < K ? begin + length - 1 : K;
    // <end>

    // 3. Add up the products of these k, and keep the part where the others find it.   4. Wait.
    // <solution>
    float part = 0.0f;
    for (int k = begin; k < end; ++k)
        part += A[row * K + k] * B[k * N + col];
    parts[z][y][x] = part;
    __syncthreads();
    // <starter>
    // <nobody_waits>
    float part = 0.0f;
    for (int k = begin; k < end; ++k)
        part += A[row * K + k] * B[k * N + col];
    parts[z][y][x] = part;
    // <one_place>
    float part = 0.0f;
    for (int k = begin; k < end; ++k)
        part += A[row * K + k] * B[k * N + col];
    parts[0][y][x] = part;
    __syncthreads();
    // <end>

    // 5. The first group adds the SLICES parts, always in the same order, and stores the sum.
    // <solution>
    if (z == 0) {
        float sum = 0.0f;
        for (int group = 0; group < SLICES; ++group)
            sum += parts[group][y][x];
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
