// Tensor cores for 16-bit and 8-bit elements. A tile lies in shared memory as it lies in global memory, in chunks of 16
// bytes: along k one ldmatrix gives a lane what the tensor core wants, and along lines the same one with .trans does, of
// pairs of bytes. Of 8-bit elements these pairs are taken apart, and a lane's rows or columns are then neighbours.

__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const unsigned char *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared))) : "memory");
}
__device__ __forceinline__ void load_transposed(unsigned (&r)[4], const unsigned char *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(shared))) : "memory");
}

// d (16, 8) += a (16, k) * b (k, 8) by the whole warp: k is 16 for 16 bits, and 32 for 8 bits
#define MULTIPLY(FORMAT, SHAPE, TYPE, SUM, CONSTRAINT)                                                                  \
    __device__ __forceinline__ void multiply_matrices(FORMAT, SUM (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { \
        asm volatile("mma.sync.aligned." SHAPE ".row.col." TYPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "       \
                     "{%0, %1, %2, %3};"                                                                                \
                     : "+" CONSTRAINT(d[0]), "+" CONSTRAINT(d[1]), "+" CONSTRAINT(d[2]), "+" CONSTRAINT(d[3])           \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                   \
    }
MULTIPLY(F16, "m16n8k16", "f32.f16.f16.f32", float, "f")
MULTIPLY(BF16, "m16n8k16", "f32.bf16.bf16.f32", float, "f")
MULTIPLY(S8, "m16n8k32", "s32.s8.s8.s32", int, "r")
#if __CUDA_ARCH__ == 900
// Hopper's mma.sync has no 8-bit floats: the compiler would make them 16-bit ones, and add every product up by itself. Made
// so here, the tensor core adds up. Of 4 neighbours in k two are the first k of a product, and two the last
#define MULTIPLY_AS_F16(FORMAT, TYPE)                                                                                   \
    __device__ __forceinline__ unsigned as_f16(FORMAT, unsigned two) {                                                  \
        unsigned halves;                                                                                                \
        asm("cvt.rn.f16x2." TYPE "x2 %0, %1;" : "=r"(halves) : "h"((unsigned short)two));                               \
        return halves;                                                                                                  \
    }                                                                                                                   \
    __device__ __forceinline__ void multiply_matrices(FORMAT f, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { \
        for (int i = 0; i < 4; i += 2) {                                                                                \
            const unsigned b = i ? b1 : b0;                                                                             \
            const unsigned halves[4] = {as_f16(f, a[i]), as_f16(f, a[i + 1]), as_f16(f, a[i] >> 16), as_f16(f, a[i + 1] >> 16)}; \
            multiply_matrices(F16(), d, halves, as_f16(f, b), as_f16(f, b >> 16));                                      \
        }                                                                                                               \
    }
MULTIPLY_AS_F16(E4M3, "e4m3")
MULTIPLY_AS_F16(E5M2, "e5m2")
#elif __CUDA_ARCH__ >= 890
MULTIPLY(E4M3, "m16n8k32", "f32.e4m3.e4m3.f32", float, "f")
MULTIPLY(E5M2, "m16n8k32", "f32.e5m2.e5m2.f32", float, "f")
#endif

// GROUP: the sums of so many k are multiplied by scales of their own before they are added up; 0: there are no such scales
template <class PanelA, class PanelB, int BM, int BN, int BK, int WM, int WN, int STAGES, int BLOCKS, int GROUP>
struct MmaTile : WarpTiles<PanelA, PanelB, BM, BN, BK, WM, WN, STAGES, BLOCKS, 32 / sizeof(typename PanelA::Stored)> {
    typedef typename MmaTile::WarpTiles Base;
    using Base::THREADS, Base::row, Base::col, Base::lane;
    typedef typename PanelA::Format Format;
    typedef typename Format::Sum Part;         // what the tensor core adds up
    template <bool SCALED, class Of> struct Chosen { typedef Of Sum; };
    template <class Of> struct Chosen<true, Of> { typedef float Sum; };
    typedef typename Chosen<GROUP != 0, Part>::Sum Sum;
    static constexpr int BYTES = sizeof(typename PanelA::Stored), CHUNK = 16 / BYTES;   // elements in 16 bytes
    static constexpr int STEP = BK / Base::STEPS;   // k of one product
    static constexpr int COPY_PARTS = 0;       // a round's copies start before the loads of fragments
    static constexpr bool COPIES_ZEROS = false;
    static constexpr int PITCH = BN + 8;       // the rows of a store are then in different banks
    static constexpr int MI = WM / 16, NI = WN / 8;
    static constexpr bool PAIRS_A = BYTES == 1 && !PanelA::ALONG_K, PAIRS_B = BYTES == 1 && !PanelB::ALONG_K;
    static constexpr int A_CHUNKS = (PanelA::ALONG_K ? BK : BM) / CHUNK, B_CHUNKS = (PanelB::ALONG_K ? BK : BN) / CHUNK;
    static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16, what ldmatrix loads at a time");
    static_assert(GROUP % STEP == 0, "GROUP must be a multiple of the k of one product");

    struct Stage {
        unsigned char As[BM * BK * BYTES];     // A tile: (row, k) or (k, row), its chunks permuted
        unsigned char Bs[BK * BN * BYTES];     // B tile: (col, k) or (k, col), its chunks permuted
    };

    unsigned a_frag[2][MI][4], b_frag[2][NI][2];   // (step % 2, tile of 16 rows or 8 columns, register)
    Part acc[MI][NI][4];
    Sum total[GROUP ? MI : 1][GROUP ? NI : 1][4];   // of all groups before, each times its scales

    __device__ __forceinline__ MmaTile() : acc{}, total{} { Base::find_warp(); }

    // Where chunk number `chunk` of a row of the tile lies. An exclusive or spreads what one ldmatrix reads over the banks:
    // eight rows below each other, or, where pairs of bytes are taken apart, rows 0, 1, 4, 5, 8, 9, 12, 13
    template <int CHUNKS, bool PAIRS> static __device__ __forceinline__ unsigned place(unsigned row, unsigned chunk) {
        constexpr unsigned ROWS = CHUNKS < 8 ? 8 / CHUNKS : 1, KEYS = CHUNKS < 8 ? CHUNKS : 8;
        const unsigned key = PAIRS ? row % 2 + row / 4 % 4 * 2 : row;
        return (row * CHUNKS + (chunk ^ key / ROWS % KEYS)) * 16;
    }

    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k, int part,
                                         int parts) {
        copy_chunks<THREADS, BK, BM>(to.As, place<A_CHUNKS, PAIRS_A>, p.A, tile_row, p.M, first_k, p.K, part, parts);
        copy_chunks<THREADS, BK, BN>(to.Bs, place<B_CHUNKS, PAIRS_B>, p.B, tile_col, p.N, first_k, p.K, part, parts);
    }

    __device__ __forceinline__ void load(Stage &from, int step) {
        const int k = step * STEP, pair_row = lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2;
        #pragma unroll
        for (int i = 0; i < MI; ++i) {
            unsigned (&a)[4] = a_frag[step % 2][i];
            const int first = row + i * 16;
            if constexpr (PanelA::ALONG_K)
                load_matrices(a, &from.As[place<A_CHUNKS, false>(first + lane % 16, step * 2 + lane / 16)]);
            else if constexpr (!PAIRS_A)
                load_transposed(a, &from.As[place<A_CHUNKS, false>(k + lane % 8 + lane / 16 * 8, first / 8 + lane / 8 % 2)]);
            else {
                unsigned pairs[4];
                load_transposed(pairs, &from.As[place<A_CHUNKS, true>(k + pair_row, first / 16)]);
                #pragma unroll
                for (int n = 0; n < 4; ++n)   // n % 2: even or odd rows; n / 2: the first 16 k or the others
                    a[n] = __byte_perm(pairs[n / 2 * 2], pairs[n / 2 * 2 + 1], n % 2 ? 0x7531 : 0x6420);
            }
        }
        #pragma unroll
        for (int j = 0; j < NI; j += 2) {   // n % 2 and n / 2: the first 8 columns or the others, of k the first half or the other
            unsigned r[4];
            const int first = col + j * 8;
            if constexpr (PanelB::ALONG_K)
                load_matrices(r, &from.Bs[place<B_CHUNKS, false>(first + lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2)]);
            else if constexpr (!PAIRS_B)
                load_transposed(r, &from.Bs[place<B_CHUNKS, false>(k + lane % 16, first / 8 + lane / 16)]);
            else load_transposed(r, &from.Bs[place<B_CHUNKS, true>(k + pair_row, first / 16)]);
            #pragma unroll
            for (int n = 0; n < 4; ++n)
                b_frag[step % 2][j + (PAIRS_B ? n % 2 : n / 2)][PAIRS_B ? n / 2 : n % 2] =
                    PAIRS_B ? __byte_perm(r[n / 2 * 2], r[n / 2 * 2 + 1], n % 2 ? 0x7531 : 0x6420) : r[n];
        }
    }
    template <class Copy> __device__ __forceinline__ void multiply(int step, Stage &, int, Copy) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < NI; ++n) {
                const int j = i % 2 ? NI - 1 - n : n;   // there and back: where it turns, b's registers are read again
                multiply_matrices(Format(), acc[i][j], a_frag[step % 2][i], b_frag[step % 2][j][0], b_frag[step % 2][j][1]);
            }
    }

    // The row and the column in the warp's tile of register n of product (i, j)
    __device__ __forceinline__ int row_of(int i, int n) const {
        return i * 16 + (PAIRS_A ? lane / 4 * 2 + n / 2 : n / 2 * 8 + lane / 4);
    }
    __device__ __forceinline__ int col_of(int j, int n) const {
        return PAIRS_B ? j / 2 * 16 + (lane % 4 * 2 + n % 2) * 2 + j % 2 : j * 8 + lane % 4 * 2 + n % 2;
    }

    // After the products up to k: if a group ends there, its sums count by its scales
    template <class Problem> __device__ __forceinline__ void fold(const Problem &p, int tile_row, int tile_col, int k) {
        if constexpr (GROUP != 0) {
            const int group = (k - 1) / GROUP;
            if (k % GROUP != 0 && k < p.K || k - STEP >= p.K) return;   // within a group, or all were added
            #pragma unroll
            for (int i = 0; i < MI; ++i)
                #pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const int r = tile_row + row + row_of(i, 2 * h);
                    const float a = r < p.M ? p.scale_A.first[r * p.scale_A.line_step + group * p.scale_A.k_step] : 0.0f;
                    #pragma unroll
                    for (int j = 0; j < NI; ++j)
                        #pragma unroll
                        for (int e = 0; e < 2; ++e) {
                            const int c = tile_col + col + col_of(j, e);
                            const float b = c < p.N ? p.scale_B.first[c * p.scale_B.line_step + group * p.scale_B.k_step] : 0.0f;
                            total[i][j][2 * h + e] += a * b * float(acc[i][j][2 * h + e]);
                            acc[i][j][2 * h + e] = 0;
                        }
                }
        }
    }
    __device__ __forceinline__ void store(Sum *sums) const {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j)
                #pragma unroll
                for (int n = 0; n < 4; ++n) {
                    const int at = (row + row_of(i, n)) * PITCH + col + col_of(j, n);
                    if constexpr (GROUP != 0) sums[at] = total[i][j][n];
                    else sums[at] = acc[i][j][n];
                }
    }
};
