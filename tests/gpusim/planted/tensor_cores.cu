// Mistakes with fragments, ldmatrix and the tiles that tensor cores read. `BUG(kernel)` marks the line to be found, or the
// two accesses. A tile is (row, k) or (k, col) of 16-bit numbers.

typedef unsigned short Half;   // a float16 as bits

__device__ __forceinline__ unsigned at(const void *shared) { return unsigned(__cvta_generic_to_shared(shared)); }
// Four 8 x 8 matrices: this lane names the row of 16 bytes that begins at `row`
__device__ __forceinline__ void load4(unsigned (&r)[4], const Half *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(row)) : "memory");
}
__device__ __forceinline__ void load2_transposed(unsigned (&r)[2], const Half *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(at(row)) : "memory");
}
__device__ __forceinline__ void store2(Half *row, unsigned x, unsigned y) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(at(row)), "r"(x), "r"(y) : "memory");
}
// d (16, 8) += a (16, 16) * b (16, 8)
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void copy16(Half *shared, const Half *global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at(shared)), "l"(global) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory"); }

// Every warp reads the whole tile, half of which the other one stores.
extern "C" __global__ void matrices_before_barrier(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[32][16];
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 8; ++i) tile[threadIdx.x / 2][threadIdx.x % 2 * 8 + i] = x[threadIdx.x * 8 + i]; // BUG(matrices_before_barrier)
    unsigned a[4];
    load4(a, &tile[16 - threadIdx.x / 32 * 16 + lane % 16][lane / 16 * 8]);      // BUG(matrices_before_barrier)
    y[threadIdx.x] = a[0] + a[1] + a[2] + a[3];
}

// The next tile is stored while the other warp may still read this one.
extern "C" __global__ void tile_stored_over_readers(int tiles, const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][16];
    const int lane = threadIdx.x % 32;
    unsigned sum = 0;
    for (int t = 0; t < tiles; ++t) {
        for (int i = 0; i < 4; ++i)
            tile[threadIdx.x / 4][threadIdx.x % 4 * 4 + i] = x[t * 256 + threadIdx.x * 4 + i]; // BUG(tile_stored_over_readers)
        __syncthreads();
        unsigned a[4];
        load4(a, &tile[lane % 16][lane / 16 * 8]);                               // BUG(tile_stored_over_readers)
        sum += a[0] + a[1] + a[2] + a[3];
    }
    y[threadIdx.x] = sum;
}

// All 32 lanes name a row of their own, but the tile has 16.
extern "C" __global__ void row_of_every_lane(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][16];
    for (int i = 0; i < 8; ++i) tile[threadIdx.x / 2][threadIdx.x % 2 * 8 + i] = x[threadIdx.x * 8 + i];
    __syncwarp();
    unsigned a[4];
    load4(a, &tile[threadIdx.x][0]);                                             // BUG(row_of_every_lane)
    y[threadIdx.x] = a[0] + a[3];
}

// Padding by two halves makes rows of 36 bytes, and a row of a matrix begins at a multiple of 16.
extern "C" __global__ void rows_of_36_bytes(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][18];
    for (int i = 0; i < 8; ++i) tile[threadIdx.x / 2][threadIdx.x % 2 * 8 + i] = x[threadIdx.x * 8 + i];
    __syncwarp();
    unsigned a[4];
    load4(a, &tile[threadIdx.x % 16][threadIdx.x / 16 * 8]);                     // BUG(rows_of_36_bytes)
    y[threadIdx.x] = a[0] + a[3];
}

// The second matrix begins four halves further on, where it should be eight.
extern "C" __global__ void half_a_chunk(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][16];
    for (int i = 0; i < 8; ++i) tile[threadIdx.x / 2][threadIdx.x % 2 * 8 + i] = x[threadIdx.x * 8 + i];
    __syncwarp();
    unsigned a[4];
    load4(a, &tile[threadIdx.x % 16][threadIdx.x / 16 * 4]);                     // BUG(half_a_chunk)
    y[threadIdx.x] = a[0] + a[3];
}

// K is 8, the fragment has 16 k, and nobody stored zeros.
extern "C" __global__ void short_k_without_zeros(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][16];
    for (int i = 0; i < 4; ++i) tile[threadIdx.x / 2][threadIdx.x % 2 * 4 + i] = x[threadIdx.x * 4 + i];
    __syncwarp();
    unsigned a[4];
    load4(a, &tile[threadIdx.x % 16][threadIdx.x / 16 * 8]);                     // BUG(short_k_without_zeros)
    y[threadIdx.x] = a[0] + a[3];
}

// Rows are 24 halves long, of which 16 are stored; the chunk of the padding is read as if it were k = 16.
extern "C" __global__ void padding_as_k(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][24];
    for (int i = 0; i < 8; ++i) tile[threadIdx.x / 2][threadIdx.x % 2 * 8 + i] = x[threadIdx.x * 8 + i];
    __syncwarp();
    unsigned sum = 0;
    for (int k = 0; k < 24; k += 8) {
        unsigned b[2];
        load2_transposed(b, &tile[threadIdx.x % 16][k]);                         // BUG(padding_as_k)
        sum += b[0] + b[1];
    }
    y[threadIdx.x] = sum;
}

// The exclusive or takes all bits of the row, where the three of a line of eight chunks are meant.
extern "C" __global__ void swizzle_with_all_bits(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][64];
    for (int c = 0; c < 8; ++c)
        for (int i = threadIdx.x / 16; i < 8; i += 2)
            tile[threadIdx.x % 16][(c ^ threadIdx.x % 8) * 8 + i] = x[threadIdx.x % 16 * 64 + c * 8 + i];
    __syncwarp();
    unsigned a[4];
    load4(a, &tile[0][0] + threadIdx.x % 16 * 64 + (threadIdx.x / 16 ^ threadIdx.x % 16) * 8); // BUG(swizzle_with_all_bits)
    y[threadIdx.x] = a[0] + a[3];
}

// Two stages of dynamic shared memory, of which the launch gives one.
extern "C" __global__ void room_for_one_stage(const Half *x, unsigned *y) {
    extern __shared__ __align__(16) Half stages[];   // (stage, row, k)
    for (int i = 0; i < 8; ++i) stages[threadIdx.x * 8 + i] = x[threadIdx.x * 8 + i];
    __syncwarp();
    unsigned a[4];
    load4(a, &stages[256 + threadIdx.x % 16 * 16 + threadIdx.x / 16 * 8]);       // BUG(room_for_one_stage)
    y[threadIdx.x] = a[0] + a[3];
}

// A barrier does not wait for copies.
extern "C" __global__ void matrices_without_wait(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][16];
    copy16(&tile[threadIdx.x / 2][threadIdx.x % 2 * 8], &x[threadIdx.x * 8]);    // BUG(matrices_without_wait)
    commit();
    __syncthreads();
    unsigned a[4];
    load4(a, &tile[threadIdx.x % 16][threadIdx.x / 16 * 8]);                     // BUG(matrices_without_wait)
    y[threadIdx.x] = a[0] + a[3];
    wait<0>();
}

// One group may still be on its way, and at the last tile it is this one.
extern "C" __global__ void last_stage_not_awaited(int tiles, const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[2][16][16];
    unsigned sum = 0;
    copy16(&tile[0][threadIdx.x / 2][threadIdx.x % 2 * 8], &x[threadIdx.x * 8]);
    commit();
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            copy16(&tile[(t + 1) % 2][threadIdx.x / 2][threadIdx.x % 2 * 8], &x[(t + 1) * 256 + threadIdx.x * 8]); // BUG(last_stage_not_awaited)
            commit();
        }
        wait<1>();
        __syncwarp();
        unsigned a[4];
        load4(a, &tile[t % 2][threadIdx.x % 16][threadIdx.x / 16 * 8]);          // BUG(last_stage_not_awaited)
        sum += a[0] + a[3];
        __syncwarp();
    }
    wait<0>();
    y[threadIdx.x] = sum;
}

// The fragments of the next tile are fetched ahead, one line above the wait for it.
extern "C" __global__ void fragments_ahead_of_wait(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[2][16][16];
    for (int t = 0; t < 2; ++t) {
        copy16(&tile[t][threadIdx.x / 2][threadIdx.x % 2 * 8], &x[t * 256 + threadIdx.x * 8]); // BUG(fragments_ahead_of_wait)
        commit();
    }
    wait<1>();
    __syncwarp();
    unsigned a[2][4];
    load4(a[0], &tile[0][threadIdx.x % 16][threadIdx.x / 16 * 8]);
    load4(a[1], &tile[1][threadIdx.x % 16][threadIdx.x / 16 * 8]);               // BUG(fragments_ahead_of_wait)
    wait<0>();
    y[threadIdx.x] = a[0][0] + a[1][0];
}

// Each thread has waited for its own copies, and the matrices are made of everybody's.
extern "C" __global__ void others_copies(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[32][16];
    const int lane = threadIdx.x % 32;
    copy16(&tile[threadIdx.x / 2][threadIdx.x % 2 * 8], &x[threadIdx.x * 8]);    // BUG(others_copies)
    commit();
    wait<0>();
    unsigned a[4];
    load4(a, &tile[16 - threadIdx.x / 32 * 16 + lane % 16][lane / 16 * 8]);      // BUG(others_copies)
    y[threadIdx.x] = a[0] + a[3];
}

// The next tile is copied over the one that the other warp may still be reading.
extern "C" __global__ void copy_over_matrices(int tiles, const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][16];
    const int lane = threadIdx.x % 32;
    unsigned sum = 0;
    if (threadIdx.x < 32) copy16(&tile[lane / 2][lane % 2 * 8], &x[lane * 8]);
    for (int t = 1; t <= tiles; ++t) {
        commit();
        wait<0>();
        __syncthreads();
        unsigned a[4];
        load4(a, &tile[lane % 16][lane / 16 * 8]);                               // BUG(copy_over_matrices)
        sum += a[0] + a[3];
        if (t < tiles && threadIdx.x < 32) copy16(&tile[lane / 2][lane % 2 * 8], &x[t * 256 + lane * 8]); // BUG(copy_over_matrices)
    }
    y[threadIdx.x] = sum;
}

// The pipeline runs on past the last tile, and the block ends with copies under way.
extern "C" __global__ void copies_past_the_end(int tiles, const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[2][16][16];
    unsigned sum = 0;
    copy16(&tile[0][threadIdx.x / 2][threadIdx.x % 2 * 8], &x[threadIdx.x * 8]);
    commit();
    for (int t = 0; t < tiles; ++t) {
        copy16(&tile[(t + 1) % 2][threadIdx.x / 2][threadIdx.x % 2 * 8], &x[(t + 1) % tiles * 256 + threadIdx.x * 8]); // BUG(copies_past_the_end)
        commit();
        wait<1>();
        __syncwarp();
        unsigned a[4];
        load4(a, &tile[t % 2][threadIdx.x % 16][threadIdx.x / 16 * 8]);
        sum += a[0] + a[3];
        __syncwarp();
    }
    y[threadIdx.x] = sum;
}

// Three stages, one tile: the fragments of a stage that was never copied.
extern "C" __global__ void stage_without_tile(int tiles, const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[3][16][16];
    for (int t = 0; t < 2 && t < tiles; ++t)
        copy16(&tile[t][threadIdx.x / 2][threadIdx.x % 2 * 8], &x[t * 256 + threadIdx.x * 8]);
    commit();
    wait<0>();
    __syncwarp();
    unsigned a[2][4];
    load4(a[0], &tile[0][threadIdx.x % 16][threadIdx.x / 16 * 8]);
    load4(a[1], &tile[1][threadIdx.x % 16][threadIdx.x / 16 * 8]);               // BUG(stage_without_tile)
    y[threadIdx.x] = a[0][0] + a[1][0];
}

// Rows of 20 halves are 40 bytes long: every second one begins where no copy of 16 bytes may.
extern "C" __global__ void copy_from_odd_rows(const Half *x, unsigned *y) {
    __shared__ __align__(16) Half tile[16][16];
    copy16(&tile[threadIdx.x / 2][threadIdx.x % 2 * 8], &x[threadIdx.x / 2 * 20 + threadIdx.x % 2 * 8]); // BUG(copy_from_odd_rows)
    commit();
    wait<0>();
    __syncwarp();
    unsigned a[4];
    load4(a, &tile[threadIdx.x % 16][threadIdx.x / 16 * 8]);
    y[threadIdx.x] = a[0] + a[3];
}

// A register takes two neighbours by one load of four bytes, and rows have 17 halves.
extern "C" __global__ void pairs_of_odd_rows(const Half *A, const Half *B, float *C) {
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    float d[4] = {};
    unsigned a[4], b[2] = {B[threadIdx.x], B[threadIdx.x + 32]};
    for (int n = 0; n < 4; ++n)
        a[n] = *reinterpret_cast<const unsigned *>(&A[(group + n % 2 * 8) * 17 + place * 2 + n / 2 * 8]); // BUG(pairs_of_odd_rows)
    multiply(d, a, b);
    C[threadIdx.x] = d[0] + d[3];
}

// A has 12 rows; registers 1 and 3 hold rows group + 8.
extern "C" __global__ void rows_past_m(const Half *A, const Half *B, float *C) {
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    float d[4] = {};
    unsigned a[4], b[2] = {B[threadIdx.x], B[threadIdx.x + 32]};
    for (int n = 0; n < 4; ++n)
        a[n] = *reinterpret_cast<const unsigned *>(&A[(group + n % 2 * 8) * 16 + place * 2 + n / 2 * 8]); // BUG(rows_past_m)
    multiply(d, a, b);
    C[threadIdx.x] = d[0] + d[3];
}

// B is taken as (col, k), but it is (k, col) and has eight columns: the last lanes read past its end.
extern "C" __global__ void b_with_rows_of_k(const Half *A, const Half *B, float *C) {
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    float d[4] = {};
    unsigned a[4] = {A[threadIdx.x], A[threadIdx.x + 32], A[threadIdx.x + 64], A[threadIdx.x + 96]}, b[2];
    for (int n = 0; n < 2; ++n) {
        const int k = place * 2 + n * 8;
        b[n] = B[k * 16 + group] | B[(k + 1) * 16 + group] << 16;                // BUG(b_with_rows_of_k)
    }
    multiply(d, a, b);
    C[threadIdx.x] = d[0] + d[3];
}

// Sums come in pairs, and a row of C has nine floats: a float2 begins at an odd one.
extern "C" __global__ void pairs_of_sums(const Half *A, const Half *B, float *C) {
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    float d[4] = {};
    unsigned a[4] = {A[threadIdx.x], A[threadIdx.x + 32], A[threadIdx.x + 64], A[threadIdx.x + 96]};
    unsigned b[2] = {B[threadIdx.x], B[threadIdx.x + 32]};
    multiply(d, a, b);
    for (int n = 0; n < 2; ++n)
        *reinterpret_cast<float2 *>(&C[(group + n * 8) * 9 + place * 2]) = {d[n * 2], d[n * 2 + 1]}; // BUG(pairs_of_sums)
}

// beta * C where C is nothing yet.
extern "C" __global__ void sums_onto_empty_c(float beta, const Half *A, const Half *B, float *C) {
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    float d[4] = {};
    unsigned a[4] = {A[threadIdx.x], A[threadIdx.x + 32], A[threadIdx.x + 64], A[threadIdx.x + 96]};
    unsigned b[2] = {B[threadIdx.x], B[threadIdx.x + 32]};
    multiply(d, a, b);
    for (int n = 0; n < 4; ++n) {
        float *to = &C[(group + n / 2 * 8) * 8 + place * 2 + n % 2];
        *to = d[n] + beta * *to;                                                 // BUG(sums_onto_empty_c)
    }
}

// Two blocks multiply a half of k each, and add their sums without atomics.
extern "C" __global__ void halves_of_k(const Half *A, const Half *B, float *C) {
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    float d[4] = {};
    A += blockIdx.x * 128;
    unsigned a[4] = {A[threadIdx.x], A[threadIdx.x + 32], A[threadIdx.x + 64], A[threadIdx.x + 96]};
    unsigned b[2] = {B[threadIdx.x], B[threadIdx.x + 32]};
    multiply(d, a, b);
    for (int n = 0; n < 4; ++n) C[(group + n / 2 * 8) * 8 + place * 2 + n % 2] += d[n]; // BUG(halves_of_k)
}

// The sums go to shared memory by stmatrix, and each warp writes what the other one holds.
extern "C" __global__ void sums_through_shared(const Half *x, Half *y) {
    __shared__ __align__(16) Half sums[2][16][8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    store2(&sums[warp][lane % 16][0], x[threadIdx.x], x[threadIdx.x + 64]);      // BUG(sums_through_shared)
    for (int i = 0; i < 4; ++i)
        y[threadIdx.x * 4 + i] = sums[1 - warp][lane / 2][lane % 2 * 4 + i];     // BUG(sums_through_shared)
}

// The sums are staged in the tile of A, which the other warp may still be reading.
extern "C" __global__ void sums_over_the_tile(const Half *x, Half *y) {
    __shared__ __align__(16) Half tile[16][16];
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) tile[threadIdx.x / 4][threadIdx.x % 4 * 4 + i] = x[threadIdx.x * 4 + i];
    __syncthreads();
    unsigned a[4];
    load4(a, &tile[lane % 16][lane / 16 * 8]);                                   // BUG(sums_over_the_tile)
    store2(&tile[lane % 16][threadIdx.x / 32 * 8], a[0], a[1]);                  // BUG(sums_over_the_tile)
    __syncthreads();
    for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = tile[threadIdx.x / 4][threadIdx.x % 4 * 4 + i];
}

// stmatrix wants rows at multiples of 16 bytes, too.
extern "C" __global__ void stored_rows_of_20_bytes(const Half *x, Half *y) {
    __shared__ __align__(16) Half sums[16][10];
    store2(&sums[threadIdx.x % 16][0], x[threadIdx.x], x[threadIdx.x + 32]);     // BUG(stored_rows_of_20_bytes)
    __syncwarp();
    for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = sums[threadIdx.x / 2][threadIdx.x % 2 * 4 + i];
}
