#define T 16

// A block of T x T threads computes a T x T tile of C. There are two pairs of tiles: while the block multiplies one, it
// loads the next into the other, through registers, so that a load is under way during the products.
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[2][T][T];   // A tiles: (buffer, row, k)
    __shared__ float Bs[2][T][T];   // B tiles: (buffer, k, col)
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0.0f;

    // 1. Fill the first pair, and wait.
    // <solution>
    As[0][y][x] = A[row * K + x];
    Bs[0][y][x] = B[y * N + col];
    __syncthreads();
    // <starter>
    // <first_not_awaited>
    As[0][y][x] = A[row * K + x];
    Bs[0][y][x] = B[y * N + col];
    // <first_not_loaded>
    __syncthreads();
    // <end>

    // 2. For each tile along k: load my two floats of the next tile, if there is one, into registers;
    //    multiply this tile; store the two floats into the other pair; wait; the pairs change places.
    // <solution>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const bool more = k0 + T < K;
        float a = 0.0f, b = 0.0f;
        if (more) {
            a = A[row * K + k0 + T + x];
            b = B[(k0 + T + y) * N + col];
        }
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        if (more) {
            As[1 - now][y][x] = a;
            Bs[1 - now][y][x] = b;
        }
        __syncthreads();
        now = 1 - now;
    }
    // <starter>
    // <same_buffer>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const bool more = k0 + T < K;
        float a = 0.0f, b = 0.0f;
        if (more) {
            a = A[row * K + k0 + T + x];
            b = B[(k0 + T + y) * N + col];
        }
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        if (more) {
            As[now][y][x] = a;
            Bs[now][y][x] = b;
        }
        __syncthreads();
    }
    // <never_changes>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const bool more = k0 + T < K;
        float a = 0.0f, b = 0.0f;
        if (more) {
            a = A[row * K + k0 + T + x];
            b = B[(k0 + T + y) * N + col];
        }
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        if (more) {
            As[1 - now][y][x] = a;
            Bs[1 - now][y][x] = b;
        }
        __syncthreads();
    }
    // <this_tile_again>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const float a = A[row * K + k0 + x];
        const float b = B[(k0 + y) * N + col];
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        As[1 - now][y][x] = a;
        Bs[1 - now][y][x] = b;
        __syncthreads();
        now = 1 - now;
    }
    // <beyond_the_end>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const float a = A[row * K + k0 + T + x];
        const float b = B[(k0 + T + y) * N + col];
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        As[1 - now][y][x] = a;
        Bs[1 - now][y][x] = b;
        __syncthreads();
        now = 1 - now;
    }
    // <nobody_waits>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const bool more = k0 + T < K;
        float a = 0.0f, b = 0.0f;
        if (more) {
            a = A[row * K + k0 + T + x];
            b = B[(k0 + T + y) * N + col];
        }
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        if (more) {
            As[1 - now][y][x] = a;
            Bs[1 - now][y][x] = b;
        }
        now = 1 - now;
    }
    // <two_barriers>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const bool more = k0 + T < K;
        float a = 0.0f, b = 0.0f;
        if (more) {
            a = A[row * K + k0 + T + x];
            b = B[(k0 + T + y) * N + col];
        }
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        __syncthreads();
        if (more) {
            As[1 - now][y][x] = a;
            Bs[1 - now][y][x] = b;
        }
        __syncthreads();
        now = 1 - now;
    }
    // <stored_at_once>
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        if (k0 + T < K) {
            As[1 - now][y][x] = A[row * K + k0 + T + x];
            Bs[1 - now][y][x] = B[(k0 + T + y) * N + col];
        }
        for (int k = 0; k < T; ++k) sum += As[now][y][k] * Bs[now][k][x];
        __syncthreads();
        now = 1 - now;
    }
    // <end>

    C[row * N + col] = sum;
}
