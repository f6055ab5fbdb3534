// FP64 by tensor cores: a lane gives one element of A and of B for each 8 x 8 x 4, and all loads are single doubles. On
// Hopper one instruction multiplies 16 x 8 x 8; Ampere takes four of 8 x 8 x 4 for it, in the same order of k.

__device__ __forceinline__ void multiply_doubles(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int i = 0; i < 4; ++i)   // i % 2: the first 8 rows or the others; i / 2: the first 4 k or the others
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1]) : "d"(a[i]), "d"(b[i / 2]));
#endif
}

template <class PanelA_, class PanelB_, int BM_, int BN_, int BK_, int WM, int WN, int STAGES_, int BLOCKS_>
struct DmmaTile {
    typedef PanelA_ PanelA;
    typedef PanelB_ PanelB;
    typedef double Sum;
    static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_, BLOCKS = BLOCKS_, STEPS = BK / 8;
    static constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    static constexpr int PAD = 4;              // doubles: the four k of a load are then in different banks
    static constexpr int PITCH = BN + 4;
    static constexpr int MI = WM / 16, NI = WN / 8;
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(WM % 16 == 0 && WN % 8 == 0, "WM must be a multiple of 16, and WN of 8");
    static_assert(BK % 16 == 0, "BK must be a multiple of 16, because the fragments of even and odd steps take turns");

    struct Stage {
        double As[BK][BM + PAD];   // A tile, transposed: (k, row)
        double Bs[BK][BN + PAD];   // B tile: (k, col)
    };

    int row, col, lane;            // of the warp's tile in the block's
    double a_frag[2][MI][4], b_frag[2][NI][2];   // (step % 2, tile of 16 rows or 8 columns, register)
    double acc[MI][NI][4];

    __device__ __forceinline__ DmmaTile() : acc{} {
        const int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        row = warp / (BN / WN) * WM;
        col = warp % (BN / WN) * WN;
    }
    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k) {
        copy_by_k<THREADS, BK, BM, BM + PAD>(&to.As[0][0], p.A, tile_row, p.M, first_k, p.K);
        copy_by_k<THREADS, BK, BN, BN + PAD>(&to.Bs[0][0], p.B, tile_col, p.N, first_k, p.K);
    }
    __device__ __forceinline__ void load(Stage &from, int step) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < 4; ++n)
                a_frag[step % 2][i][n] = from.As[step * 8 + n / 2 * 4 + lane % 4][row + i * 16 + n % 2 * 8 + lane / 4];
        #pragma unroll
        for (int j = 0; j < NI; ++j)
            #pragma unroll
            for (int n = 0; n < 2; ++n)
                b_frag[step % 2][j][n] = from.Bs[step * 8 + n * 4 + lane % 4][col + j * 8 + lane / 4];
    }
    __device__ __forceinline__ void multiply(int step) {
        #pragma unroll
        for (int i = 0; i < MI; ++i)
            #pragma unroll
            for (int n = 0; n < NI; ++n) {
                const int j = i % 2 ? NI - 1 - n : n;   // there and back: where it turns, b's registers are read again
                multiply_doubles(acc[i][j], a_frag[step % 2][i], b_frag[step % 2][j]);
            }
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
