// Vector times matrix: with few rows in C, an element of B is used hardly more than once, and only the speed of memory
// counts. A block goes down a strip of columns, all its threads with many loads under way, and shares nothing.

// How many floats lie between the multiple of 16 bytes before p and p
__device__ __forceinline__ unsigned floats_behind_16_bytes(const float *p) {
    return reinterpret_cast<size_t>(p) / sizeof(float) % 4;
}

// Load four neighbours by one instruction and for once: the caches need not keep them
__device__ __forceinline__ void load_once(float (&to)[4], const float *p) {
    const float4 v = __ldcs(reinterpret_cast<const float4 *>(p));
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

template <int BN, int WARPS, int LOADS, int WORKERS, bool SHIFTED>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C, float *workspace) {
    constexpr int THREADS = 32 * WARPS;
    constexpr int LANES = BN / 4;           // threads along a row of the strip
    constexpr int ROWS = THREADS / LANES;   // rows that the block loads at a time
    __shared__ float sums[ROWS][BN];        // (thread's row, col)
    // For strips whose k blocks share: their sums, and how many have brought theirs, which is 0 between launches
    auto parts = reinterpret_cast<float (*)[BN]>(workspace);
    auto arrived = reinterpret_cast<unsigned *>(&parts[WORKERS]);
    __shared__ bool last;   // Is the block the last to bring its part of a strip?

    // 1. Which row of C, which strip and which k are mine? With few strips, `parties` blocks share the k of one
    const unsigned strips = (N - 1) / BN + 1, parties = gridDim.x / (strips * M);
    const unsigned strip = blockIdx.x / parties, party = blockIdx.x % parties;
    const unsigned row = strip / strips, first_col = strip % strips * BN;
    const unsigned share = (K - 1) / parties + 1, begin = party * share, end = min(begin + share, K);
    const unsigned own_row = threadIdx.x / LANES, own_col = threadIdx.x % LANES * 4;
    A += size_t(row) * K;
    B += first_col;
    // A strip whose rows start `shift` floats behind 16 bytes: a thread loads the four columns that start `shift` before
    // its own, and the first one what is left at both ends. My rows are a multiple of 4 apart: they all start alike
    const unsigned shift = SHIFTED ? floats_behind_16_bytes(&B[size_t(begin + own_row) * N]) : 0;
    auto column = [&](int x) { return (own_col + x - shift) % BN; };
    const bool together = column(0) + 3 == column(3) && first_col + column(3) < N;

    // 2. LOADS rows at a time, and the next are under way while these are multiplied
    float a[2][LOADS];
    float b[2][LOADS][4];   // (now or next, row, col)
    auto load = [&](int to, unsigned k) {
        #pragma unroll
        for (int i = 0; i < LOADS; ++i, k += ROWS) {
            a[to][i] = 0.0f;
            for (int x = 0; x < 4; ++x) b[to][i][x] = 0.0f;
            if (k < end) {
                a[to][i] = A[k];
                if (together) load_once(b[to][i], &B[size_t(k) * N + column(0)]);
                else if (SHIFTED)
                    for (int x = 0; x < 4; ++x)
                        if (first_col + column(x) < N) b[to][i][x] = __ldcs(&B[size_t(k) * N + column(x)]);
            }
        }
    };
    float sum[4] = {};
    auto multiply = [&](int from) {
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            for (int x = 0; x < 4; ++x) sum[x] += a[from][i] * b[from][i][x];
    };
    load(0, begin + own_row);
    for (unsigned k = begin + own_row; k < end; k += 2 * LOADS * ROWS) {
        load(1, k + LOADS * ROWS);
        multiply(0);
        load(0, k + 2 * LOADS * ROWS);
        multiply(1);
    }

    // 3. Add the threads' sums of a column, always in this order: the same bits every time
    for (int x = 0; x < 4; ++x) sums[own_row][column(x)] = sum[x];
    __syncthreads();   // every thread's sums are there
    for (int half = ROWS / 2; half > 0; half /= 2) {
        for (int i = threadIdx.x; i < half * BN; i += THREADS) sums[i / BN][i % BN] += sums[half + i / BN][i % BN];
        __syncthreads();   // one half is added to the other before that is halved itself
    }
    const unsigned col = first_col + threadIdx.x;
    const bool mine = threadIdx.x < BN && col < N;
    float total = mine ? sums[0][threadIdx.x] : 0.0f;

    // 4. A part of the k goes to global memory. The block that brings the last one adds them all, in their order
    if (parties > 1) {
        if (mine) parts[blockIdx.x][threadIdx.x] = total;
        __threadfence();   // my sums are there for all before I count as arrived
        __syncthreads();
        if (threadIdx.x == 0) {
            last = atomicAdd(&arrived[strip], 1) == parties - 1;
            if (last) arrived[strip] = 0;
        }
        __syncthreads();
        if (!last) return;
        __threadfence();   // and theirs for me
        total = 0.0f;
        for (unsigned i = 0; i < parties; ++i)
            if (mine) total += __ldcg(&parts[strip * parties + i][threadIdx.x]);   // from the L2: others wrote it
    }

    // 5. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    if (mine) {
        float &c = C[size_t(row) * N + col];
        c = alpha * total + (beta == 0.0f ? 0.0f : beta * c);
    }
}

template <int BN, int WARPS, int LOADS, int WORKERS>
__global__ void __launch_bounds__(32 * WARPS)
sgemm_vector_matrix(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                    const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
                    float *workspace) {                                 // WORKERS * (BN + 1) floats, 0 at first
    static_assert(BN >= 4 && WARPS >= 1 && LOADS >= 1 && WORKERS >= 1,
                  "BN must be at least 4, and WARPS, LOADS and WORKERS at least 1");
    static_assert(WARPS <= 32, "32 * WARPS must be at most 1024, the most threads a block can have");
    static_assert((BN & (BN - 1)) == 0 && (WARPS & (WARPS - 1)) == 0,
                  "BN and WARPS must be powers of two, so that sums can be halved");
    static_assert(BN <= 32 * WARPS, "BN must be at most 32 * WARPS, so that every column has a thread");
    // Two versions of everything, so that no loop has to ask whether rows of B start at 16 bytes
    if (floats_behind_16_bytes(B) == 0 && N % 4 == 0)
        work<BN, WARPS, LOADS, WORKERS, false>(M, N, K, alpha, A, B, beta, C, workspace);
    else work<BN, WARPS, LOADS, WORKERS, true>(M, N, K, alpha, A, B, beta, C, workspace);
}
