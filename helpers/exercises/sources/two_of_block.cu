#define BM 32                // rows of the block's tile of C
#define BN 64
#define BK 8
#define TM 4                 // rows of a thread's patch
#define TN 4
#define THREADS 128          // of a block, 16 of them along a row of the tile
#define WARPS (THREADS / 32)
#define FULL 0xffffffffu
#define INFINITY __int_as_float(0x7f800000)
#define NOWHERE 0x7fffffff   // larger than every place

struct Two {                 // the two smallest elements so far, the smaller one first
    float value[2];
    int place[2];            // in C: row * N + col
};

// The block's tile of C = A * B as in notebook 06: acc becomes my patch of TM x TN elements.
__device__ void multiply(int M, int N, int K, const float *A, const float *B, float (&acc)[TM][TN]) {
    __shared__ float As[BK][BM], Bs[BK][BN];   // A tile, transposed: (k, row); B tile: (k, col)
    const int t = threadIdx.x;
    for (int first = 0; first < K; first += BK) {
        for (int i = 0; i < BM * BK / THREADS; ++i) {
            const int e = i * THREADS + t;
            const int row = blockIdx.y * BM + e / BK, k = first + e % BK;
            As[e % BK][e / BK] = row < M && k < K ? A[row * K + k] : 0.0f;
        }
        for (int i = 0; i < BK * BN / THREADS; ++i) {
            const int e = i * THREADS + t;
            const int k = first + e / BN, col = blockIdx.x * BN + e % BN;
            Bs[e / BN][e % BN] = k < K && col < N ? B[k * N + col] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x) acc[y][x] += As[k][t / 16 * TM + y] * Bs[k][t % 16 * TN + x];
        __syncthreads();
    }
}

// Stores two as number n of the result; the place of what is not there becomes -1.
__device__ void leave(const Two &two, int n, float *value, int *place) {
    for (int e = 0; e < 2; ++e) {
        value[2 * n + e] = two.value[e];
        place[2 * n + e] = two.place[e] == NOWHERE ? -1 : two.place[e];
    }
}

// Does element w at place `from` come before element v at place `at`? NaN comes before nothing.
__device__ bool before(float w, int from, float v, int at) { return w < v || (w == v && from < at); }

// If w is among the two smallest, two has it afterwards.
__device__ void take(Two &two, float w, int from) {
    if (before(w, from, two.value[0], two.place[0])) {
        two.value[1] = two.value[0];
        two.place[1] = two.place[0];
        two.value[0] = w;
        two.place[0] = from;
    } else if (before(w, from, two.value[1], two.place[1])) {
        two.value[1] = w;
        two.place[1] = from;
    }
}

// The two smallest of my patch.
__device__ Two of_patch(int M, int N, const float (&acc)[TM][TN]) {
    const int first_row = blockIdx.y * BM + threadIdx.x / 16 * TM, first_col = blockIdx.x * BN + threadIdx.x % 16 * TN;
    Two two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) {
            const int row = first_row + y, col = first_col + x;
            if (row < M && col < N) take(two, acc[y][x], row * N + col);
        }
    return two;
}

// The two smallest of what the lanes of a warp have, in lane 0. All lanes must call it.
__device__ void take_lanes(Two &two) {
    for (int offset = 16; offset > 0; offset /= 2) {
        const float v = __shfl_down_sync(FULL, two.value[0], offset), w = __shfl_down_sync(FULL, two.value[1], offset);
        const int at = __shfl_down_sync(FULL, two.place[0], offset);
        const int from = __shfl_down_sync(FULL, two.place[1], offset);
        take(two, v, at);
        take(two, w, from);
    }
}

// The two smallest of what the threads of a block have, in thread 0. All threads must call it.
__device__ void take_warps(Two &two) {
    __shared__ Two of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // 1. Each warp takes its lanes. One lane of it stores the pair in of_warp.
    // 2. When all have stored: the first warp takes of_warp, a lane for each. What does a lane have that finds none?
    // <solution>
    take_lanes(two);
    if (lane == 0) of_warp[warp] = two;
    __syncthreads();
    if (warp > 0) return;
    two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};
    if (lane < WARPS) two = of_warp[lane];
    take_lanes(two);
    // <starter>
    // <end>
}

// value, place: (blocks, 2), of every block the two smallest of its tile.
extern "C" __global__ void __launch_bounds__(THREADS)
two_of_blocks(int M, int N, int K, const float *A, const float *B,
              float *value, int *place) {
    float acc[TM][TN] = {};   // my patch of C
    multiply(M, N, K, A, B, acc);
    Two two = of_patch(M, N, acc);
    take_warps(two);
    // 3. One thread leaves the two smallest of the block, as number blockIdx.y * gridDim.x + blockIdx.x.
    // <solution>
    if (threadIdx.x == 0) leave(two, blockIdx.y * gridDim.x + blockIdx.x, value, place);
    // <starter>
    // <end>
}
