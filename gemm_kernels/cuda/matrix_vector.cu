// Matrix times vector: with few columns in C, an element of A is used hardly more than once, and only the speed of
// memory counts. A warp goes along a row of A, its lanes with many loads under way, and they add their sums at the end.

// How many floats lie between the multiple of 16 bytes before p and p
__device__ __forceinline__ unsigned floats_behind_16_bytes(const float *p) {
    return reinterpret_cast<size_t>(p) / sizeof(float) % 4;
}

struct Four {
    float at[4];
};

// Load four neighbours by one instruction, of A for once: the caches need not keep them
__device__ __forceinline__ Four four(float4 v) { return {v.x, v.y, v.z, v.w}; }
__device__ __forceinline__ Four load_once(const float *p) { return four(__ldcs(reinterpret_cast<const float4 *>(p))); }
__device__ __forceinline__ Four load(const float *p) { return four(*reinterpret_cast<const float4 *>(p)); }

enum { SCATTERED = 4 };   // or how many floats four elements of a column of B are behind 16 bytes

// Four elements of a column of B from p on, which are neighbours only if the column is all of B
template <int SHIFT>
__device__ __forceinline__ Four load_column(const float *p, int N) {
    if constexpr (SHIFT == SCATTERED) {
        return {p[0], p[size_t(N)], p[2 * size_t(N)], p[3 * size_t(N)]};
    } else if constexpr (SHIFT == 0) {
        return load(p);
    } else {
        const Four first = load(p - SHIFT), second = load(p - SHIFT + 4);
        Four found;
        #pragma unroll
        for (int x = 0; x < 4; ++x) found.at[x] = x + SHIFT < 4 ? first.at[x + SHIFT] : second.at[x + SHIFT - 4];
        return found;
    }
}

// The part of a lane in the product of `end` neighbours in a row of A, of which a warp multiplies those from `begin` on,
// and as many elements of a column of B. LOADS times four at a time, whose loads are all under way before the first
// product needs one
template <int LOADS, int SHIFT>
__device__ __forceinline__ float product(const float *A, const float *B, int N, unsigned begin, unsigned end) {
    float sum = 0.0f;
    for (unsigned first = begin + threadIdx.x % 32 * 4; first < end; first += LOADS * 32 * 4) {
        Four a[LOADS], b[LOADS];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const unsigned k = first + i * 32 * 4;
            a[i] = {};
            b[i] = {};
            if (k < end) {   // both are multiples of 4: four neighbours are inside together
                a[i] = load_once(&A[k]);
                b[i] = load_column<SHIFT>(&B[size_t(k) * N], N);
            }
        }
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            for (int x = 0; x < 4; ++x) sum += a[i].at[x] * b[i].at[x];
    }
    return sum;
}

template <int BM, int LOADS, int WORKERS>
__global__ void __launch_bounds__(32 * BM)
sgemm_matrix_vector(int M, int N, int K, float alpha, const float *A,   // A: (M, K), row-major
                    const float *B, float beta, float *C,               // B: (K, N), C: (M, N)
                    float *workspace) {                                 // WORKERS * (BM + 1) floats, 0 at first
    static_assert(BM >= 1 && LOADS >= 1 && WORKERS >= 1, "BM, LOADS and WORKERS must be at least 1");
    static_assert(BM <= 32, "32 * BM must be at most 1024, the most threads a block can have");
    constexpr int STEP = 32 * 4;   // k that a warp loads at a time
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

    // 2. Start where my row is at a multiple of 16 bytes, and leave what is before and behind to single lanes
    const unsigned head = min((4 - floats_behind_16_bytes(A)) % 4, K);
    const unsigned shift = N > 1 || floats_behind_16_bytes(B) ? SCATTERED : floats_behind_16_bytes(&B[head]);
    const unsigned reserve = shift == 0 || shift == SCATTERED ? 0 : 4;   // of B a shifted load reads a few floats more
    const unsigned fours = max(int(K - head - reserve), 0) / 4 * 4;
    float sum = 0.0f;
    if (valid) {
        const float *a = &A[head], *b = &B[size_t(head) * N];
        const unsigned stop = min(end, fours);
        switch (shift) {   // so that no loop has to ask
            case 0: sum = product<LOADS, 0>(a, b, N, begin, stop); break;
            case 1: sum = product<LOADS, 1>(a, b, N, begin, stop); break;
            case 2: sum = product<LOADS, 2>(a, b, N, begin, stop); break;
            case 3: sum = product<LOADS, 3>(a, b, N, begin, stop); break;
            default: sum = product<LOADS, SCATTERED>(a, b, N, begin, stop);
        }
        const unsigned k = lane < head ? lane : fours + lane;
        if (party == 0 && k < K) sum += A[k] * B[size_t(k) * N];
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
