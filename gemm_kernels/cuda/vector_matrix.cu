// Vector times matrix: with few rows in C, an element of B is used hardly more than once, and only the speed of memory
// counts. A block goes down a strip of columns, all its threads with many loads under way, and shares nothing of it.

__device__ __forceinline__ bool starts_at_16_bytes(const float *p) { return reinterpret_cast<size_t>(p) % 16 == 0; }

// Load WIDTH neighbours by one instruction. KEEP: into the L1 cache as well. It pays if the L2 cache has them; otherwise that
// one fetches 256 bytes at a time, as what lies near is read next
template <int WIDTH, bool KEEP>
__device__ __forceinline__ void load(float *to, const float *p) {
    if constexpr (KEEP && WIDTH == 4) {
        const float4 v = *reinterpret_cast<const float4 *>(p);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else if constexpr (KEEP) to[0] = *p;
    else if constexpr (WIDTH == 4)
        asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(p));
    else asm volatile("ld.global.nc.L1::no_allocate.L2::256B.f32 %0, [%1];" : "=f"(to[0]) : "l"(p));
}

// WIDTH: floats of B that one instruction loads: 4 if every row starts at a multiple of 16 bytes, else 1. KEEP: see `load`
template <int BN, int WARPS, int LOADS, int WORKERS, int WIDTH, bool KEEP>
__device__ __forceinline__ void work(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                     float *C, float *workspace, float *shared) {
    constexpr int THREADS = 32 * WARPS;
    constexpr int LANES = WIDTH == 4 ? BN / 4 : BN < 32 ? BN : 32;   // threads along a row of the strip
    constexpr int ROWS = THREADS / LANES;   // rows that the block loads at a time
    constexpr int COLS = BN / LANES;        // columns of a thread: four neighbours, or some LANES apart
    constexpr int TEAMS = THREADS / BN;     // of threads, each with one for every column
    auto sums = reinterpret_cast<float (*)[BN]>(shared);   // (thread's row or team, col)
    // For strips whose k blocks share: their sums, and how many have brought theirs, which is 0 between launches
    auto parts = reinterpret_cast<float (*)[BN]>(workspace);
    auto arrived = reinterpret_cast<unsigned *>(&parts[WORKERS]);
    __shared__ bool last;   // Is the block the last to bring its part of a strip?

    // 1. Which row of C, which strip and which k are mine? With few strips, `parties` blocks share the k of one
    const unsigned strips = (N - 1) / BN + 1, parties = gridDim.x / (strips * M);
    const unsigned strip = blockIdx.x / parties, party = blockIdx.x % parties;
    const unsigned row = strip / strips, first_col = strip % strips * BN;
    const unsigned share = (K - 1) / parties + 1, begin = party * share, end = min(begin + share, K);
    const unsigned own_row = threadIdx.x / LANES, own_col = threadIdx.x % LANES * WIDTH;
    A += size_t(row) * K;
    B += first_col;
    auto column = [&](int x) { return own_col + x / WIDTH * (LANES * WIDTH) + x % WIDTH; };

    // 2. LOADS rows at a time, and the next are under way while these are multiplied
    float a[2][LOADS];
    float b[2][LOADS][COLS];   // (now or next, row, col)
    auto load_rows = [&](int to, unsigned k) {
        #pragma unroll
        for (int i = 0; i < LOADS; ++i, k += ROWS) {
            a[to][i] = 0.0f;
            for (int x = 0; x < COLS; ++x) b[to][i][x] = 0.0f;
            if (k < end) {
                a[to][i] = A[k];
                for (int x = 0; x < COLS; x += WIDTH)
                    if (first_col + column(x) < N) load<WIDTH, KEEP>(&b[to][i][x], &B[size_t(k) * N + column(x)]);
            }
        }
    };
    float sum[COLS] = {};
    auto multiply = [&](int from) {
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            for (int x = 0; x < COLS; ++x) sum[x] += a[from][i] * b[from][i][x];
    };
    load_rows(0, begin + own_row);
    for (unsigned k = begin + own_row; k < end; k += 2 * LOADS * ROWS) {
        load_rows(1, k + LOADS * ROWS);
        multiply(0);
        load_rows(0, k + 2 * LOADS * ROWS);
        multiply(1);
    }

    // 3. Add the threads' sums of a column, always in this order: the same bits every time
    auto add_up = [&](int rows) {   // of `sums`, into the first one
        __syncthreads();   // every thread's sums are there
        for (int half = rows / 2; half > 0; half /= 2) {
            for (int i = threadIdx.x; i < half * BN; i += THREADS) sums[i / BN][i % BN] += sums[half + i / BN][i % BN];
            __syncthreads();   // one half is added to the other before that is halved itself
        }
    };
    for (int x = 0; x < COLS; ++x) sums[own_row][column(x)] = sum[x];
    add_up(ROWS);
    const unsigned team = threadIdx.x / BN, col = threadIdx.x % BN;
    const bool exists = first_col + col < N;

    // 4. A part of the k goes to global memory. The block that brings the last one adds them all: its teams some parts each
    if (parties > 1) {
        if (team == 0 && exists) parts[blockIdx.x][col] = sums[0][col];
        __threadfence();   // my sums are there for all before I count as arrived
        __syncthreads();
        if (threadIdx.x == 0) {
            last = atomicAdd(&arrived[strip], 1) == parties - 1;
            if (last) arrived[strip] = 0;
        }
        __syncthreads();
        if (!last) return;
        __threadfence();   // and theirs for me
        float total = 0.0f;
        #pragma unroll 4
        for (unsigned i = team; i < parties; i += TEAMS)
            if (exists) total += __ldcg(&parts[strip * parties + i][col]);   // from the L2: others wrote it
        sums[team][col] = total;
        add_up(TEAMS);
    }

    // 5. Write C = alpha * A * B + beta * C (beta == 0: C may hold NaN or nothing yet, so it is not read)
    if (team == 0 && exists) {
        float &c = C[size_t(row) * N + first_col + col];
        c = alpha * sums[0][col] + (beta == 0.0f ? 0.0f : beta * c);
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
    __shared__ float shared[32 * WARPS * (BN < 128 ? 4 : BN / 32)];   // of all versions: as many as the columns of all threads
    // Versions of everything, so that no loop has to ask whether rows of B start at 16 bytes, and whether it is small: 16 MB
    // are a third of the L2 cache of an H100, and may be in it from one launch to the next
    const bool aligned = starts_at_16_bytes(B) && N % 4 == 0, small = size_t(K) * N <= 1 << 22;
    if (aligned && small) work<BN, WARPS, LOADS, WORKERS, 4, true>(M, N, K, alpha, A, B, beta, C, workspace, shared);
    else if (aligned) work<BN, WARPS, LOADS, WORKERS, 4, false>(M, N, K, alpha, A, B, beta, C, workspace, shared);
    else if (small) work<BN, WARPS, LOADS, WORKERS, 1, true>(M, N, K, alpha, A, B, beta, C, workspace, shared);
    else work<BN, WARPS, LOADS, WORKERS, 1, false>(M, N, K, alpha, A, B, beta, C, workspace, shared);
}
