// FP64 by tensor cores. A tile lies in shared memory as it lies in global memory, so that copies move 16 bytes wherever the
// matrix allows it. No ldmatrix knows doubles: a lane loads two neighbours at a time, and which line and k an operand's place
// stands for is chosen so that both are its own (`at`). Of C a lane then has four neighbours of a row, and stores them from its
// registers. On Hopper one instruction multiplies 16 x 8 x STEP, where STEP is 8 or 16; Ampere takes two of 8 x 8 x 4 for
// each four k, in the same order.

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
    static constexpr bool STAYS = true;        // a block multiplies one tile of C after another
    static constexpr int MI = WM / 16, NI = WN / 8;
    static constexpr bool IN_PLACE = WM * WN > 1024;   // registers for one step's fragments: the next one's replace them
    static constexpr int SETS = IN_PLACE ? 1 : 2;
    static constexpr int A_CHUNKS = (PanelA::ALONG_K ? BK : BM) / 2, B_CHUNKS = (PanelB::ALONG_K ? BK : BN) / 2;
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16");
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
    // Where chunk number `chunk` of a row of the tile lies. An exclusive or spreads what eight lanes load over the banks: four
    // chunks of two rows, or two of four, always every second row
    template <int CHUNKS> static __device__ __forceinline__ unsigned place(unsigned row, unsigned chunk) {
        return (row * CHUNKS + (chunk ^ row / 2 % 2 * 4 ^ row / 4 % 2 * 2)) * 16;
    }
    // A patch of 16 lines x 8 k: a lane has 2 x 2 neighbours, lines 2 * (lane / 4) and k 2 * (lane % 4) on. They are elements
    // lane / 4 and lane / 4 + 8 of the instruction's 16 rows, or of two instructions' 8 columns, and k lane % 4 and lane % 4 + 4
    template <class Panel, int CHUNKS>
    __device__ __forceinline__ void at(const unsigned char *part, int line, int k, double (&x)[2][2]) const {   // (line, k)
        line += lane / 4 * 2;
        k += lane % 4 * 2;
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            const double2 two = *reinterpret_cast<const double2 *>(
                part + (Panel::ALONG_K ? place<CHUNKS>(line + n, k / 2) : place<CHUNKS>(k + n, line / 2)));
            x[Panel::ALONG_K ? n : 0][Panel::ALONG_K ? 0 : n] = two.x;
            x[Panel::ALONG_K ? n : 1][Panel::ALONG_K ? 1 : n] = two.y;
        }
    }
    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k, int part,
                                         int parts) {
        copy_chunks<THREADS, BK, BM>(to.As, place<A_CHUNKS>, p.A, tile_row, p.M, first_k, p.K, part, parts);
        copy_chunks<THREADS, BK, BN>(to.Bs, place<B_CHUNKS>, p.B, tile_col, p.N, first_k, p.K, part, parts);
    }

    __device__ __forceinline__ void load_a(Stage &from, int step, int i) {
        double x[2][2];
        #pragma unroll
        for (int h = 0; h < STEP / 8; ++h) {
            at<PanelA, A_CHUNKS>(from.As, row + i * 16, step * STEP + h * 8, x);
            for (int n = 0; n < 4; ++n) a_frag[step % SETS][i][h * 4 + n] = x[n % 2][n / 2];
        }
    }
    __device__ __forceinline__ void load_b(Stage &from, int step, int j) {   // two tiles of 8 columns
        double x[2][2];
        #pragma unroll
        for (int h = 0; h < STEP / 8; ++h) {
            at<PanelB, B_CHUNKS>(from.Bs, col + j * 8, step * STEP + h * 8, x);
            for (int n = 0; n < 4; ++n) b_frag[step % SETS][j + n % 2][h * 2 + n / 2] = x[n % 2][n / 2];
        }
    }
    __device__ __forceinline__ void load(Stage &from, int step) {
        #pragma unroll
        for (int i = 0; i < MI; ++i) load_a(from, step, i);
        #pragma unroll
        for (int j = 0; j < NI; j += 2) load_b(from, step, j);
    }
    __device__ __forceinline__ void multiply(int step, Stage &from, int next) {
        #pragma unroll
        for (int i = 0; i < MI; ++i) {
            #pragma unroll
            for (int n = 0; n < NI; ++n) {
                const int j = i % 2 ? NI - 1 - n : n;   // there and back: where it turns, b's registers are read again
                multiply_doubles<STEP>(acc[i][j], a_frag[step % SETS][i], b_frag[step % SETS][j]);
                if (IN_PLACE && i == MI - 1 && n % 2) load_b(from, next, j / 2 * 2);
            }
            if (IN_PLACE) load_a(from, next, i);
        }
    }
    template <class Problem> __device__ __forceinline__ void fold(const Problem &, int, int, int) {}
    // Four neighbours of a row of the block's tile: sums number `four` of MI * NI, and where they begin
    __device__ __forceinline__ void sums_of(int four, double (&x)[4], int &r, int &c) const {
        const int i = four / NI, half = four % NI / (NI / 2), j = four % (NI / 2) * 2;
        r = row + i * 16 + lane / 4 * 2 + half;
        c = col + j * 8 + lane % 4 * 4;
        for (int n = 0; n < 4; ++n) x[n] = acc[i][j + n % 2][half * 2 + n / 2];
    }
    __device__ __forceinline__ void clear() {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j)
                for (int n = 0; n < 4; ++n) acc[i][j][n] = 0;
    }
};
