// Vector times matrix: with few rows in C, an element of B is used hardly more than once, and only the speed of memory
// counts. A block goes down a strip of columns, 16 bytes for every lane, all its threads with many loads under way. The k of a
// strip may be shared out among blocks: those of a cluster add up in shared memory, and clusters in global memory.

// Four neighbours that start at 16 bytes, past the L1 cache, where nobody would look for them
__device__ __forceinline__ void load_past(float *to, const float *p) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(p));
}

// Store into the shared memory of the first block of the cluster, at the place that `shared` has in mine
__device__ __forceinline__ void store_to_first(float &shared, float value) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(unsigned(__cvta_generic_to_shared(&shared))));
    asm volatile("st.shared::cluster.f32 [%0], %1;" :: "r"(there), "f"(value) : "memory");
}

template <int BN, int WARPS, int LOADS, int CLUSTER, int WORKERS>
__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(32 * WARPS, LOADS > 4 ? 1 : 32 / WARPS)
sgemm_vector_matrix(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                    const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
                    float *workspace) {                                 // WORKERS * (BN + 1) floats, 0 at first
    constexpr int THREADS = 32 * WARPS;
    constexpr int LANES = BN / 4;                                    // threads along a row of the strip
    constexpr int ROWS = THREADS / LANES;                            // rows that the block loads at a time
    constexpr int TEAM = THREADS / BN < 32 ? THREADS / BN : 32;      // threads that add up the sums of a column
    static_assert(BN >= 8 && WARPS >= 1 && LOADS >= 1 && WORKERS >= 1,
                  "BN must be at least 8, and WARPS, LOADS and WORKERS at least 1");
    static_assert(WARPS <= 32, "32 * WARPS must be at most 1024, the most threads a block can have");
    static_assert((BN & (BN - 1)) == 0 && (WARPS & (WARPS - 1)) == 0,
                  "BN and WARPS must be powers of two, so that teams of threads are");
    static_assert(BN <= 32 * WARPS, "BN must be at most 32 * WARPS, so that every column has a thread");
    static_assert(CLUSTER == 1 || CLUSTER == 2 || CLUSTER == 4 || CLUSTER == 8,
                  "CLUSTER must be 1, 2, 4 or 8, the most blocks that every GPU with clusters runs together");
    __shared__ float sums[ROWS][BN + 1];         // (thread's row, col)
    __shared__ float of_cluster[CLUSTER][BN];    // in the first block: the sums of all
    __shared__ bool last;                        // Is the cluster the last to bring its part of a strip?
    // For strips whose k clusters share: their sums, and how many have brought theirs, which is 0 between launches
    auto parts = reinterpret_cast<float (*)[BN]>(workspace);
    auto arrived = reinterpret_cast<unsigned *>(&parts[WORKERS]);
    if (CLUSTER > 1) asm volatile("barrier.cluster.arrive.relaxed.aligned;");   // I have begun

    // 1. Which row of C, which strip and which k are mine? `parties` blocks share the k of a strip. If not all rows start at
    // 16 bytes, lanes load from up to three columns before the strip on, and it has three columns less
    const unsigned width = N % 4 == 0 ? BN : BN - 3, strips = (N % 4 == 0 ? (N - 1) / BN : (N - 1) / (BN - 3)) + 1;
    const unsigned parties = gridDim.x / (strips * M);
    const unsigned strip = parties == 1 ? blockIdx.x : blockIdx.x / parties;   // not to divide is faster
    const unsigned party = blockIdx.x - strip * parties, rank = party % CLUSTER;
    const unsigned row = M == 1 ? 0 : strip / strips, first_col = (strip - row * strips) * width;
    const unsigned columns = min(width, N - first_col), share = parties == 1 ? K : (K - 1) / parties + 1;
    const unsigned begin = min(party * share, K), count = min(share, K - begin);
    const unsigned own_row = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    // How many columns before the strip the lanes of a row begin: always as many, as ROWS is a multiple of 4
    auto columns_before = [&](unsigned row) { return ((begin + row) * N + first_col) % 4; };
    int own_col = int(4 * lane - columns_before(own_row));
    if (own_col >= int(columns)) own_col -= 4 * lane;   // nothing left for me: I load what the first lane does
    const float *a = A + size_t(row) * K + begin + own_row;
    const float *b = B + size_t(begin + own_row) * N + first_col + own_col;

    // 2. C, too, is asked for by now (beta == 0: it may hold NaN or nothing yet, so it is not read)
    const unsigned col = threadIdx.x / TEAM, member = threadIdx.x % TEAM;
    const bool exists = col < columns;
    float *c = &C[size_t(row) * N + first_col + col];
    float old = 0.0f;
    if (beta != 0.0f && exists && member == 0 && rank == 0) old = *static_cast<const volatile float *>(c);

    // 3. LOADS rows at a time, and the next are under way while these are multiplied
    unsigned left = own_row < count ? (count - own_row - 1) / ROWS + 1 : 0;   // of my rows
    float a_next[2][LOADS], b_next[2][LOADS][4];   // (now or next, row, col)
    float sum[4] = {};
    auto load_rows = [&](int to) {
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            load_past(b_next[to][i], b + size_t(i * ROWS) * N);
            a_next[to][i] = __ldg(&a[i * ROWS]);
        }
        a += LOADS * ROWS, b += size_t(LOADS * ROWS) * N;
        left -= LOADS;
    };
    auto multiply = [&](int from) {
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            for (int x = 0; x < 4; ++x) sum[x] += a_next[from][i] * b_next[from][i][x];
    };
    // Where B does not start at 16 bytes, no row is loaded so, and where rows do not, four neighbours may reach beyond the last
    const unsigned at_least = N % 4 != 0 && begin + own_row + left * ROWS == K - 1 + ROWS ? LOADS + 1 : LOADS;
    if (reinterpret_cast<size_t>(B) % 16 == 0 && N >= 4 && left >= at_least) {
        load_rows(0);
        while (left >= LOADS + at_least) {
            load_rows(1);
            multiply(0);
            load_rows(0);
            multiply(1);
        }
        multiply(0);
    }
    for (; left > 0; --left, a += ROWS, b += size_t(ROWS) * N) {   // the others, one by one
        const float a_k = __ldg(a);
        for (int x = 0; x < 4; ++x) sum[x] += a_k * (b + x < B + size_t(K) * N ? __ldg(b + x) : 0.0f);
    }

    // 4. Add the threads' sums of a column, always in this order: the same bits every time
    auto of_team = [](float total) {   // the sum of what its threads have
        for (int other = TEAM / 2; other > 0; other /= 2) total += __shfl_xor_sync(0xffffffff, total, other);
        return total;
    };
    for (int x = 0; x < 4; ++x) sums[own_row][4 * lane + x] = sum[x];
    __syncthreads();   // every thread's sums are there
    float total = 0.0f;
    if (exists)
        #pragma unroll
        for (int i = 0; i < ROWS; i += TEAM) total += sums[i + member][col + columns_before(i + member)];
    total = of_team(total);

    // 5. The first block of a cluster adds up those of all
    if constexpr (CLUSTER > 1) {
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");   // all have begun, so that they have shared memory
        if (exists && member == 0) store_to_first(of_cluster[rank][col], total);
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        if (rank > 0) return;
        total = 0.0f;
        if (exists)
            for (int i = 0; i < CLUSTER; ++i) total += of_cluster[i][col];
    }

    // 6. A part of the k goes to global memory. The cluster that brings the last one adds them all: a team some parts each
    const unsigned clusters = parties / CLUSTER;
    if (clusters > 1) {
        if (exists && member == 0) parts[blockIdx.x / CLUSTER][col] = total;
        __threadfence();   // my sums are there for all before I count as arrived
        __syncthreads();
        if (threadIdx.x == 0) {
            last = atomicAdd(&arrived[strip], 1) == clusters - 1;
            if (last) arrived[strip] = 0;
        }
        __syncthreads();
        if (!last) return;
        __threadfence();   // and theirs for me
        total = 0.0f;
        #pragma unroll 4
        for (unsigned i = member; i < clusters; i += TEAM)
            if (exists) total += __ldcg(&parts[strip * clusters + i][col]);   // from the L2: others wrote it
        total = of_team(total);
    }

    // 7. Write C = alpha * A * B + beta * C
    if (exists && member == 0) *c = alpha * total + (beta == 0.0f ? 0.0f : beta * old);
}
