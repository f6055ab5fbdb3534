// FP64 by tensor cores. A tile lies in shared memory as it lies in global memory, so that copies move 16 bytes wherever the
// matrix allows it. No ldmatrix knows doubles: a lane loads two neighbours at a time, and which line and k an operand's place
// stands for is chosen so that they are neighbouring registers of one operand (`patch`). On Hopper one instruction multiplies
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

template <class PanelA_, class PanelB_, int BM_, int BN_, int BK_, int WR, int WC, int STAGES_, int BLOCKS_, int STEP>
struct DmmaTile {
    typedef PanelA_ PanelA;
    typedef PanelB_ PanelB;
    typedef double Sum;
    static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_, BLOCKS = BLOCKS_, STEPS = BK / STEP;
    // An instruction's 16 rows have two neighbouring lines for one k in four registers, and its 8 columns one line for two k:
    // a panel along k suits the columns. So where A is one, the transposed tile is computed. WR, WC: of a warp's tile
    static constexpr bool TURNED = PanelA::ALONG_K;
    static constexpr int WM = TURNED ? WC : WR, WN = TURNED ? WR : WC, MI = WR / 16, NI = WC / 8;
    static constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    static constexpr int MEET = STEPS - 1;     // the step at which warps wait for each other
    static constexpr bool AMID = true;         // they do, loads and copies start, after a product
    static constexpr int COPY_PARTS = 1;
    static constexpr bool COPIES_ZEROS = true; // past the last tile, too: a branch around them would part the products
    static constexpr bool EXCHANGED = false;
    static constexpr int PITCH = BN + 2;
    static constexpr int A_PITCH = PanelA::ALONG_K ? BK / 2 + 2 : BM / 2 + 1;   // chunks of 16 bytes from row to row; the pad
    static constexpr int B_PITCH = PanelB::ALONG_K ? BK / 2 + 2 : BN / 2 + 1;   // spreads what eight lanes load over the banks
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WR % 16 == 0 && WC % 16 == 0, "WR and WC must be multiples of 16");
    static_assert(STEP == 8 || STEP == 16, "STEP must be 8 or 16");
    static_assert(STEPS % 2 == 0, "BK must be a multiple of two steps, because the fragments of even and odd ones take turns");

    struct Stage {
        double2 As[PanelA::ALONG_K ? BM : BK][A_PITCH];   // A tile: (row, k / 2) or (k, row / 2)
        double2 Bs[PanelB::ALONG_K ? BN : BK][B_PITCH];   // B tile: (col, k / 2) or (k, col / 2)
    };

    int row, col, lane;            // of the warp's tile in the block's
    int a_place, b_place;          // of a lane's first chunk in a stage; from it to the others the way is the same for all
    double row_frag[MI][STEP / 2];       // (tile of 16 rows, register)
    double col_frag[2][NI][STEP / 4];    // (step % 2, tile of 8 columns, register)
    double acc[MI][NI][4];

    __device__ __forceinline__ DmmaTile() : acc{} {
        const int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        row = warp / (BN / WN) * WM;
        col = warp % (BN / WN) * WN;
        a_place = PanelA::ALONG_K ? (row + lane / 4 * 2) * A_PITCH + lane % 4 : lane % 4 * 2 * A_PITCH + row / 2 + lane / 4;
        b_place = PanelB::ALONG_K ? (col + lane / 4 * 2) * B_PITCH + lane % 4 : lane % 4 * 2 * B_PITCH + col / 2 + lane / 4;
    }
    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k, int part,
                                         int parts) {
        auto a = reinterpret_cast<unsigned char *>(to.As), b = reinterpret_cast<unsigned char *>(to.Bs);
        copy_chunks<THREADS, BK, BM>(a, in_rows<A_PITCH>, p.A, tile_row, p.M, first_k, p.K, part, parts);
        copy_chunks<THREADS, BK, BN>(b, in_rows<B_PITCH>, p.B, tile_col, p.N, first_k, p.K, part, parts);
    }
    template <int PITCH> static __device__ __forceinline__ unsigned in_rows(unsigned row, unsigned chunk) {
        return (row * PITCH + chunk) * 16;
    }
    // A patch of 16 lines x 8 k: a lane has 2 x 2 neighbours, lines 2 * (lane / 4) and k 2 * (lane % 4) on. They are elements
    // lane / 4 and lane / 4 + 8 of the instruction's 16 rows, or of two instructions' 8 columns, and k lane % 4 and lane % 4 + 4
    template <class Panel, int PITCH>
    static __device__ __forceinline__ void patch(const double2 *first, int line, int k, double (&x)[2][2]) {   // (line, k)
        #pragma unroll
        for (int n = 0; n < 2; ++n) {
            double two[2];   // volatile, or the compiler would load them just before their use
            const double2 &from = first[Panel::ALONG_K ? (line + n) * PITCH + k / 2 : (k + n) * PITCH + line / 2];
            asm volatile("ld.volatile.shared.v2.f64 {%0, %1}, [%2];"
                         : "=d"(two[0]), "=d"(two[1]) : "r"(unsigned(__cvta_generic_to_shared(&from))));
            for (int m = 0; m < 2; ++m) x[Panel::ALONG_K ? n : m][Panel::ALONG_K ? m : n] = two[m];
        }
    }
    __device__ __forceinline__ void patch_of(bool a, Stage &from, int line, int k, double (&x)[2][2]) const {
        if (a) patch<PanelA, A_PITCH>(&from.As[0][0] + a_place, line, k, x);
        else patch<PanelB, B_PITCH>(&from.Bs[0][0] + b_place, line, k, x);
    }
    __device__ __forceinline__ void load_rows(Stage &from, int step, int i) {
        double x[2][2];
        #pragma unroll
        for (int h = 0; h < STEP / 8; ++h) {
            patch_of(!TURNED, from, i * 16, step * STEP + h * 8, x);
            for (int n = 0; n < 4; ++n) row_frag[i][h * 4 + n] = x[n % 2][n / 2];
        }
    }
    __device__ __forceinline__ void load_cols(Stage &from, int step, int j) {   // of two instructions
        double x[2][2];
        #pragma unroll
        for (int h = 0; h < STEP / 8; ++h) {
            patch_of(TURNED, from, j * 8, step * STEP + h * 8, x);
            for (int n = 0; n < 4; ++n) col_frag[step % 2][j + n % 2][h * 2 + n / 2] = x[n % 2][n / 2];
        }
    }
    __device__ __forceinline__ void load(Stage &from, int step) {
        #pragma unroll
        for (int i = 0; i < MI - 1; ++i) load_rows(from, step, i);
        #pragma unroll
        for (int j = 0; j < NI; j += 2) load_cols(from, step, j);
    }
    // A product reads its operands while it runs, and what overwrites them waits, and with it the warp. So the next step's
    // rows replace this one's no sooner than one product after their last use, the last ones in the next step
    template <class Amid>
    __device__ __forceinline__ void multiply(int step, Stage &now, Stage &from, int next, Amid amid) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j) {
                const int part = i * NI + j;
                multiply_doubles<STEP>(acc[i][j], row_frag[i], col_frag[step % 2][j]);
                if (part == 1) load_rows(now, step, MI - 1);
                else if (j == 1) load_rows(from, next, i - 1);
                amid(part, MI * NI);
                if (part >= 2 && part < 2 + NI / 2) load_cols(from, next, part * 2 - 4);
            }
    }
    template <class Problem> __device__ __forceinline__ void fold(const Problem &, int, int, int) {}
    __device__ __forceinline__ void store(double *sums) const {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j)
                #pragma unroll
                for (int n = 0; n < 2; ++n) {   // two neighbours of a row of C
                    const int from = j % 2 * 2 + n, of_two = lane / 4 * 2, of_four = lane % 4 * 4 + n * 2;
                    double2 two;
                    int r, c;
                    if (TURNED) {
                        two = {acc[i][j][n], acc[i][j][2 + n]};
                        r = j / 2 * 16 + of_four + j % 2;
                        c = i * 16 + of_two;
                    } else {
                        two = {acc[i][j / 2 * 2][from], acc[i][j / 2 * 2 + 1][from]};
                        r = i * 16 + of_two + j % 2;
                        c = j / 2 * 16 + of_four;
                    }
                    reinterpret_cast<double2 &>(sums[(row + r) * PITCH + col + c]) = two;
                }
    }
};
