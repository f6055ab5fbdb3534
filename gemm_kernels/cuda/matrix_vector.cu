// Matrix times vector: with few columns in C, an element of A is used hardly more than once, and only the speed of
// memory counts. A warp goes along a row of A, its lanes with many loads under way, and they add their sums at the end.

// Whether every row of a matrix with `columns` columns starts at a multiple of 16 bytes
__device__ __forceinline__ bool rows_aligned(const float *matrix, int columns) {
    return reinterpret_cast<size_t>(matrix) % 16 == 0 && columns % 4 == 0;
}

// WIDTH neighbours of a row
template <int WIDTH>
struct Neighbours {
    float at[WIDTH];
};

// Load them by one instruction and for once: the caches need not keep them
template <int WIDTH>
__device__ __forceinline__ Neighbours<WIDTH> load_once(const float *p) {
    if constexpr (WIDTH == 4) {
        const float4 v = __ldcs(reinterpret_cast<const float4 *>(p));
        return {v.x, v.y, v.z, v.w};
    } else {
        return {__ldcs(p)};
    }
}

// Elements k, k + 1, … of a column of B, which are neighbours only if the column is all of B
template <int WIDTH>
__device__ __forceinline__ Neighbours<WIDTH> load_column(const float *B, size_t k, int N) {
    if constexpr (WIDTH == 4) {
        if (N == 1) {
            const float4 v = *reinterpret_cast<const float4 *>(&B[k]);
            return {v.x, v.y, v.z, v.w};
        }
        return {B[k * N], B[(k + 1) * N], B[(k + 2) * N], B[(k + 3) * N]};
    } else {
        return {B[k * N]};
    }
}

template <int BM, int LOADS, int WORKERS, int WIDTH>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C, float *workspace) {
    constexpr int STEP = 32 * WIDTH;   // k that a warp loads at a time
    __shared__ float sums[BM];
    // For rows whose k blocks share: their sums, and how many have brought theirs, which is 0 between launches
    auto parts = reinterpret_cast<float (*)[BM]>(workspace);
    auto arrived = reinterpret_cast<unsigned *>(&parts[WORKERS]);
    __shared__ bool last;   // Is the block the last to bring its part?

    // 1. Which column of C, which row and which k are mine? With few rows, `parties` blocks share the k of BM of them
    const unsigned groups = (M - 1) / BM + 1, parties = gridDim.x / (groups * N);
    const unsigned group = blockIdx.x / parties, party = blockIdx.x % parties;
    const unsigned first_row = group % groups * BM, col = group / groups;
    const unsigned share = ((K - 1) / parties / STEP + 1) * STEP, begin = party * share, end = min(begin + share, K);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool valid = first_row + warp < M;
    A += size_t(first_row + warp) * K;
    B += col;

    // 2. LOADS groups of neighbours at a time, whose loads are all under way before the first product needs one
    float sum = 0.0f;
    for (unsigned first = begin + lane * WIDTH; first < end; first += LOADS * STEP) {
        Neighbours<WIDTH> a[LOADS], b[LOADS];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const unsigned k = first + i * STEP;
            a[i] = {};
            b[i] = {};
            if (valid && k < end) {   // WIDTH divides K: neighbours are inside the matrix together
                a[i] = load_once<WIDTH>(&A[k]);
                b[i] = load_column<WIDTH>(B, k, N);
            }
        }
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            for (int x = 0; x < WIDTH; ++x) sum += a[i].at[x] * b[i].at[x];
    }

    // 3. Add the lanes' sums, always in this order: the same bits every time
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffff, sum, other);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();   // every warp's sum is there
    const unsigned row = first_row + threadIdx.x;
    const bool mine = threadIdx.x < BM && row < M;
    float total = mine ? sums[threadIdx.x] : 0.0f;

    // 4. A part of the k goes to global memory. The block that brings the last one adds them all, in their order
    if (parties > 1) {
        if (mine) parts[blockIdx.x][threadIdx.x] = total;
        __threadfence();   // my sums are there for all before I count as arrived
        __syncthreads();
        if (threadIdx.x == 0) {
            last = atomicAdd(&arrived[group], 1) == parties - 1;
            if (last) arrived[group] = 0;
        }
        __syncthreads();
        if (!last) return;
        __threadfence();   // and theirs for me
        total = 0.0f;
        for (unsigned i = 0; i < parties; ++i)
            if (mine) total += __ldcg(&parts[group * parties + i][threadIdx.x]);   // from the L2: others wrote it
    }

    // 5. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    if (mine) {
        float &c = C[size_t(row) * N + col];
        c = alpha * total + (beta == 0.0f ? 0.0f : beta * c);
    }
}

template <int BM, int LOADS, int WORKERS>
__global__ void __launch_bounds__(32 * BM)
sgemm_matrix_vector(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                    const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
                    float *workspace) {                                 // WORKERS * (BM + 1) floats, 0 at first
    static_assert(BM >= 1 && LOADS >= 1 && WORKERS >= 1, "BM, LOADS and WORKERS must be at least 1");
    static_assert(BM <= 32, "32 * BM must be at most 1024, the most threads a block can have");
    // Two versions of everything, so that no loop has to ask how rows are aligned
    if (rows_aligned(A, K) && (N > 1 || rows_aligned(B, K)))
        work<BM, LOADS, WORKERS, 4>(M, N, K, alpha, A, B, beta, C, workspace);
    else
        work<BM, LOADS, WORKERS, 1>(M, N, K, alpha, A, B, beta, C, workspace);
}
