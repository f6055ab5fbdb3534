// FP64 by tensor cores. A tile lies in shared memory as it lies in global memory, so that copies move 16 bytes wherever the
// matrix allows it; a lane loads single doubles, because no ldmatrix knows them. On Hopper one instruction multiplies
// 16 x 8 x STEP, where STEP is 8 or 16; Ampere takes two of 8 x 8 x 4 for each four k, in the same order.

template <int STEP>
__device__ __forceinline__ void multiply_doubles(double (&d)[4], const double (&a)[STEP / 2], const double (&b)[STEP / 4]) {
#if __CUDA_ARCH__ >= 900
    if constexpr (STEP == 8)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                       "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
    for (int i = 0; i < STEP / 2; ++i)   // i % 2: the first 8 rows or the others; i / 2: which four k
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1]) : "d"(a[i]), "d"(b[i / 2]));
#endif
}

template <class PanelA_, class PanelB_, int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_, int BLOCKS_, int STEP>
struct DmmaTile {
    typedef PanelA_ PanelA;
    typedef PanelB_ PanelB;
    typedef double Sum;
    static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_, BLOCKS = BLOCKS_, STEPS = BK / STEP;
    static constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    static constexpr int MEET = STEPS - 1;     // the step at which warps wait for each other
    static constexpr int COPY_PARTS = MEET;    // a round's copies start after the loads of a step, some in each;
    static constexpr bool COPIES_ZEROS = true; // past the last tile, too: a branch around them would part the products
    static constexpr bool EXCHANGED = false;
    static constexpr int PITCH = BN + 8;       // the rows of a store are then in different banks
    static constexpr int MI = WM / 16, NI = WN / 8;
    static constexpr bool AMID = WM * WN > 1024;   // registers for the fragments of one step: those of the next one replace
    static constexpr int SETS = AMID ? 1 : 2;      // them between the products, where a round's copies start, too
    static constexpr int A_CHUNKS = (PanelA::ALONG_K ? BK : BM) / 2, B_CHUNKS = (PanelB::ALONG_K ? BK : BN) / 2;
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 16 == 0 && WN % 8 == 0, "WM must be a multiple of 16, and WN of 8");
    static_assert(STEP == 8 || STEP == 16, "STEP must be 8 or 16");
    static_assert(STEPS % 2 == 0, "BK must be a multiple of two steps, because the fragments of even and odd ones take turns");

    struct Stage {
        unsigned char As[BM * BK * 8];   // A tile: (row, k) or (k, row), its chunks permuted
        unsigned char Bs[BK * BN * 8];   // B tile: (col, k) or (k, col), its chunks permuted
    };

    int row, col, lane;            // of the warp's tile in the block's
    double a_frag[SETS][MI][STEP / 2], b_frag[SETS][NI][STEP / 4];   // (step % SETS, tile of 16 rows or 8 columns, register)
    double acc[MI][NI][4];

    __device__ __forceinline__ DmmaTile() : acc{} {
        const int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        row = warp / (BN / WN) * WM;
        col = warp % (BN / WN) * WN;
    }
    // Where chunk number `chunk` of a row of the tile lies. An exclusive or spreads the four rows and four columns that half
    // a warp loads over the banks
    template <int CHUNKS> static __device__ __forceinline__ unsigned place(unsigned row, unsigned chunk) {
        constexpr unsigned ROWS = CHUNKS < 8 ? 8 / CHUNKS : 1;
        return (row * CHUNKS + (chunk ^ row / ROWS % 4 * 2 % CHUNKS)) * 16;
    }
    template <class Panel, int CHUNKS>
    static __device__ __forceinline__ double at(const unsigned char *part, unsigned line, unsigned k) {
        const unsigned row = Panel::ALONG_K ? line : k, place_in_row = Panel::ALONG_K ? k : line;
        const auto from = reinterpret_cast<const double *>(part + place<CHUNKS>(row, place_in_row / 2) + place_in_row % 2 * 8);
        if constexpr (!AMID) return *from;
        double x;   // volatile, or the compiler would load it just before its use
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(unsigned(__cvta_generic_to_shared(from))));
        return x;
    }
    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k, int part,
                                         int parts) {
        copy_chunks<THREADS, BK, BM>(to.As, place<A_CHUNKS>, p.A, tile_row, p.M, first_k, p.K, part, parts);
        copy_chunks<THREADS, BK, BN>(to.Bs, place<B_CHUNKS>, p.B, tile_col, p.N, first_k, p.K, part, parts);
    }

    __device__ __forceinline__ void load_a(Stage &from, int step, int i) {
        #pragma unroll
        for (int n = 0; n < STEP / 2; ++n)
            a_frag[step % SETS][i][n] =
                at<PanelA, A_CHUNKS>(from.As, row + i * 16 + n % 2 * 8 + lane / 4, step * STEP + n / 2 * 4 + lane % 4);
    }
    __device__ __forceinline__ void load_b(Stage &from, int step, int j) {
        #pragma unroll
        for (int n = 0; n < STEP / 4; ++n)
            b_frag[step % SETS][j][n] = at<PanelB, B_CHUNKS>(from.Bs, col + j * 8 + lane / 4, step * STEP + n * 4 + lane % 4);
    }
    __device__ __forceinline__ void load(Stage &from, int step) {
        #pragma unroll
        for (int i = 0; i < MI; ++i) load_a(from, step, i);
        #pragma unroll
        for (int j = 0; j < NI; ++j) load_b(from, step, j);
    }
    // AMID: what loads replace a product has read just before waits for it, so they follow one product later
    template <class Copy> __device__ __forceinline__ void multiply(int step, Stage &from, int next, Copy copy) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < NI; ++n) {
                const int j = !AMID && i % 2 ? NI - 1 - n : n;   // there and back: where it turns, b's registers are read again
                multiply_doubles<STEP>(acc[i][j], a_frag[step % SETS][i], b_frag[step % SETS][j]);
                if (!AMID) continue;
                if (n == 0 && i > 0) load_a(from, next, i - 1);
                if (i == MI - 1 && n > 0) load_b(from, next, n - 1);
                copy(i * NI + n, MI * NI);
            }
        if (!AMID) return;
        load_a(from, next, MI - 1);
        load_b(from, next, NI - 1);
    }
    template <class Problem> __device__ __forceinline__ void fold(const Problem &, int, int, int) {}
    __device__ __forceinline__ void store(double *sums) const {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j)
                #pragma unroll
                for (int n = 0; n < 4; n += 2)
                    reinterpret_cast<double2 &>(sums[(row + i * 16 + n * 4 + lane / 4) * PITCH + col + j * 8 + lane % 4 * 2]) =
                        {acc[i][j][n], acc[i][j][n + 1]};
    }
};
