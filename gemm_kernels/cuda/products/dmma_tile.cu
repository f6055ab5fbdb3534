// FP64 by tensor cores. A tile lies in shared memory as it lies in global memory, so that copies move 16 bytes wherever the
// matrix allows it; no ldmatrix knows doubles. On Hopper one instruction multiplies 16 x 8 x STEP; Ampere
// takes two of 8 x 8 x 4 for each four k, in the same order. DmmaTile is for warps with a small tile, and WideDmmaTile for
// those with a large one, whose sums leave too few registers for the fragments of two steps.

constexpr int STEP = 8;

__device__ __forceinline__ void multiply_doubles(double (&d)[4], const double (&a)[STEP / 2], const double (&b)[STEP / 4]) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int i = 0; i < STEP / 2; ++i)   // i % 2: the first 8 rows or the others; i / 2: which four k
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1]) : "d"(a[i]), "d"(b[i / 2]));
#endif
}

template <class PanelA, class PanelB, int BM, int BN, int BK, int WM, int WN, int STAGES, int BLOCKS>
struct DmmaTile : WarpTiles<PanelA, PanelB, BM, BN, BK, WM, WN, STAGES, BLOCKS, STEP> {
    typedef typename DmmaTile::WarpTiles Base;
    using Base::THREADS, Base::row, Base::col, Base::lane;
    static constexpr int COPY_PARTS = Base::MEET; // a round's copies start after the loads of a step, some in each;
    static constexpr bool COPIES_ZEROS = true; // past the last tile, too: a branch around them would part the products
    static constexpr int PITCH = BN + 8;       // the rows of a store are then in different banks
    static constexpr int MI = WM / 16, NI = WN / 8;
    static constexpr int A_CHUNKS = (PanelA::ALONG_K ? BK : BM) / 2, B_CHUNKS = (PanelB::ALONG_K ? BK : BN) / 2;
    static_assert(WM % 16 == 0 && WN % 8 == 0, "WM must be a multiple of 16, and WN of 8");

    struct Stage {
        unsigned char As[BM * BK * 8];   // A tile: (row, k) or (k, row), its chunks permuted
        unsigned char Bs[BK * BN * 8];   // B tile: (col, k) or (k, col), its chunks permuted
    };

    double a_frag[2][MI][STEP / 2], b_frag[2][NI][STEP / 4];   // (step % 2, tile of 16 rows or 8 columns, register)
    double acc[MI][NI][4];

    __device__ __forceinline__ DmmaTile() : acc{} { Base::find_warp(); }

    // Where chunk number `chunk` of a row of the tile lies. An exclusive or spreads the four rows and four columns that half
    // a warp loads over the banks
    template <int CHUNKS> static __device__ __forceinline__ unsigned place(unsigned row, unsigned chunk) {
        constexpr unsigned ROWS = CHUNKS < 8 ? 8 / CHUNKS : 1;
        return (row * CHUNKS + (chunk ^ row / ROWS % 4 * 2 % CHUNKS)) * 16;
    }
    template <class Panel, int CHUNKS>
    static __device__ __forceinline__ double at(const unsigned char *part, unsigned line, unsigned k) {
        const unsigned row = Panel::ALONG_K ? line : k, place_in_row = Panel::ALONG_K ? k : line;
        return *reinterpret_cast<const double *>(part + place<CHUNKS>(row, place_in_row / 2) + place_in_row % 2 * 8);
    }
    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k, int part,
                                         int parts) {
        copy_chunks<THREADS, BK, BM>(to.As, place<A_CHUNKS>, p.A, tile_row, p.M, first_k, p.K, part, parts);
        copy_chunks<THREADS, BK, BN>(to.Bs, place<B_CHUNKS>, p.B, tile_col, p.N, first_k, p.K, part, parts);
    }

    __device__ __forceinline__ void load(Stage &from, int step) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < STEP / 2; ++n)
                a_frag[step % 2][i][n] =
                    at<PanelA, A_CHUNKS>(from.As, row + i * 16 + n % 2 * 8 + lane / 4, step * STEP + n / 2 * 4 + lane % 4);
        #pragma unroll
        for (int j = 0; j < NI; ++j)
            #pragma unroll
            for (int n = 0; n < STEP / 4; ++n)
                b_frag[step % 2][j][n] = at<PanelB, B_CHUNKS>(from.Bs, col + j * 8 + lane / 4, step * STEP + n * 4 + lane % 4);
    }
    template <class Copy> __device__ __forceinline__ void multiply(int step, Stage &, int, Copy) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < NI; ++n) {
                const int j = i % 2 ? NI - 1 - n : n;   // there and back: where it turns, b's registers are read again
                multiply_doubles(acc[i][j], a_frag[step % 2][i], b_frag[step % 2][j]);
            }
    }
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

// As above, but a lane loads two neighbours at a time, and which line and k an operand's place stands for is chosen so that
// they are neighbouring registers of one operand (`patch`).

template <class PanelA, class PanelB, int BM, int BN, int BK, int WM, int WN, int STAGES, int BLOCKS>
struct WideDmmaTile : WarpTiles<PanelA, PanelB, BM, BN, BK, WM, WN, STAGES, BLOCKS, STEP> {
    typedef typename WideDmmaTile::WarpTiles Base;
    using Base::THREADS, Base::row, Base::col, Base::lane;
    static constexpr bool AMID = true;         // loads and copies start between products, one or two after each;
    static constexpr int COPY_PARTS = 1;
    static constexpr bool COPIES_ZEROS = true; // past the last tile, too: a branch around them would part the products
    static constexpr int PITCH = BN + 2;
    // An instruction's 16 rows have two neighbouring lines for one k in four registers, and its 8 columns one line for two k:
    // a panel along k suits the columns. So where A is one, the transposed tile is computed
    static constexpr bool TURNED = PanelA::ALONG_K;
    static constexpr int MI = (TURNED ? WN : WM) / 16, NI = (TURNED ? WM : WN) / 8;
    static constexpr int A_PITCH = PanelA::ALONG_K ? BK / 2 + 2 : BM / 2 + 1;   // chunks of 16 bytes from row to row; the pad
    static constexpr int B_PITCH = PanelB::ALONG_K ? BK / 2 + 2 : BN / 2 + 1;   // spreads what eight lanes load over the banks
    static_assert(WM % 16 == 0 && WN % 16 == 0, "WM and WN must be multiples of 16");

    struct Stage {
        double2 As[PanelA::ALONG_K ? BM : BK][A_PITCH];   // A tile: (row, k / 2) or (k, row / 2)
        double2 Bs[PanelB::ALONG_K ? BN : BK][B_PITCH];   // B tile: (col, k / 2) or (k, col / 2)
    };

    int a_place, b_place;          // of a lane's first chunk in a stage; from it to the others the way is the same for all
    double row_frag[MI][STEP / 2], col_frag[NI][STEP / 4];   // (tile of 16 rows or 8 columns, register)
    double acc[MI][NI][4];

    __device__ __forceinline__ WideDmmaTile() : acc{} {
        Base::find_warp();
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
            asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
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
            for (int n = 0; n < 4; ++n) col_frag[j + n % 2][h * 2 + n / 2] = x[n % 2][n / 2];
        }
    }
    __device__ __forceinline__ void load(Stage &from, int step) {
        #pragma unroll
        for (int i = 0; i < MI; ++i) load_rows(from, step, i);
        #pragma unroll
        for (int j = 0; j < NI; j += 2) load_cols(from, step, j);
    }
    // Between the products the next step's fragments replace this one's, and copies are started: copy(part, parts)
    template <class Copy> __device__ __forceinline__ void multiply(int step, Stage &from, int next, Copy copy) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int j = 0; j < NI; ++j) {
                multiply_doubles(acc[i][j], row_frag[i], col_frag[j]);
                if (i == MI - 1 && j % 2) load_cols(from, next, j - 1);
                if (j == NI - 1) load_rows(from, next, i);
                copy(i * NI + j, MI * NI);
            }
    }
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
