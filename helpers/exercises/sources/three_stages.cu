#define T 16
#define STAGES 3

// Start the copy of one float from global to shared memory, and go on.
__device__ void copy_async(float *shared, const float *global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :: "r"(unsigned(__cvta_generic_to_shared(shared))), "l"(global) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }   // what was started is one group
template <int N> __device__ void wait() {   // until at most the N newest groups are still under way
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}

extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[STAGES][T][T];   // A tiles: (stage, row, k)
    __shared__ float Bs[STAGES][T][T];   // B tiles: (stage, k, col)
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    const int tiles = K / T;
    auto start = [&](int tile) {   // start the copies of a tile into its stage; a group in any case, maybe an empty one
        if (tile < tiles) {
            copy_async(&As[tile % STAGES][y][x], &A[row * K + tile * T + x]);
            copy_async(&Bs[tile % STAGES][y][x], &B[(tile * T + y) * N + col]);
        }
        commit();
    };
    float sum = 0.0f;

    // 1. Start the first STAGES - 1 tiles.
    // <solution>
    start(0);
    start(1);
    // <starter>
    // <one_started>
    start(0);
    // <end>

    // 2. For each tile: wait until it has arrived, for every thread; start the one that is STAGES - 1 ahead;
    //    multiply. Whose stage does the new tile take, and has everybody finished reading it?
    // <solution>
    for (int tile = 0; tile < tiles; ++tile) {
        wait<1>();
        __syncthreads();
        start(tile + 2);
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
    }
    // <starter>
    // <waits_too_little>
    for (int tile = 0; tile < tiles; ++tile) {
        wait<2>();
        __syncthreads();
        start(tile + 2);
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
    }
    // <never_waits>
    for (int tile = 0; tile < tiles; ++tile) {
        __syncthreads();
        start(tile + 2);
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
    }
    // <no_barrier>
    for (int tile = 0; tile < tiles; ++tile) {
        wait<1>();
        start(tile + 2);
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
    }
    // <starts_too_early>
    for (int tile = 0; tile < tiles; ++tile) {
        start(tile + 2);
        wait<2>();
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
    }
    // <barrier_first>
    for (int tile = 0; tile < tiles; ++tile) {
        __syncthreads();
        wait<1>();
        start(tile + 2);
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
    }
    // <one_ahead>
    for (int tile = 0; tile < tiles; ++tile) {
        wait<1>();
        __syncthreads();
        start(tile + 1);
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
    }
    // <two_barriers>
    for (int tile = 0; tile < tiles; ++tile) {
        start(tile + 2);
        wait<2>();
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[tile % STAGES][y][k] * Bs[tile % STAGES][k][x];
        __syncthreads();
    }
    // <end>

    C[row * N + col] = sum;
}
