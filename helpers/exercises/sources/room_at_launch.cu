// A block of T x T threads computes a T x T tile of C, and T is known at launch: 8, 16 or 32.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    // 1. T, and the room that the launch gives:
    //    T * T floats for As, and T * T behind them for Bs.
    // <solution>
    extern __shared__ float room[];
    const int T = blockDim.x;
    float *As = room;           // A tile: (row, k), row after row
    float *Bs = room + T * T;   // B tile: (k, col), row after row
    // <starter>
    // <fixed_T>
    extern __shared__ float room[];
    const int T = 16;
    float *As = room;
    float *Bs = room + T * T;
    // <fixed_room>
    __shared__ float room[2 * 16 * 16];
    const int T = blockDim.x;
    float *As = room;
    float *Bs = room + T * T;
    // <one_room>
    extern __shared__ float room[];
    const int T = blockDim.x;
    float *As = room;
    float *Bs = room;
    // <one_row_apart>
    extern __shared__ float room[];
    const int T = blockDim.x;
    float *As = room;
    float *Bs = room + T;
    // <counted_in_bytes>
    extern __shared__ float room[];
    const int T = blockDim.x;
    float *As = room;
    float *Bs = room + T * T * 4;
    // <end>

    // 2. My place in the tile, and my row and column of C.
    // <solution>
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y;
    const int col = blockIdx.x * T + x;
    // <starter>
    // <end>

    // 3. For each tile along k: load, wait, multiply, wait.
    //    As and Bs have one index: row * T + column.
    // <solution>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y * T + x] = A[row * K + k0 + x];
        Bs[y * T + x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y * T + k] * Bs[k * T + x];
        __syncthreads();
    }
    // <starter>
    // <wide_rows>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y * K + x] = A[row * K + k0 + x];
        Bs[y * T + x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y * K + k] * Bs[k * T + x];
        __syncthreads();
    }
    // <transposed_A>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[x * T + y] = A[row * K + k0 + x];
        Bs[y * T + x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y * T + k] * Bs[k * T + x];
        __syncthreads();
    }
    // <row_of_Bs>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y * T + x] = A[row * K + k0 + x];
        Bs[y * T + x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y * T + k] * Bs[x * T + k];
        __syncthreads();
    }
    // <no_first_barrier>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y * T + x] = A[row * K + k0 + x];
        Bs[y * T + x] = B[(k0 + y) * N + col];
        for (int k = 0; k < T; ++k) sum += As[y * T + k] * Bs[k * T + x];
        __syncthreads();
    }
    // <no_second_barrier>
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y * T + x] = A[row * K + k0 + x];
        Bs[y * T + x] = B[(k0 + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[y * T + k] * Bs[k * T + x];
    }
    // <end>

    // 4. Store the sum.
    // <solution>
    C[row * N + col] = sum;
    // <starter>
    // <end>
}
