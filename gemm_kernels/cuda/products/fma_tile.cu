// The ladder's tile on CUDA cores: a thread has TM x TN sums, and a warp WM x WN, for any format that a sum can be made
// of. Four neighbours, or two doubles, come from shared memory at a time.

template <class PanelA_, class PanelB_, int BM_, int BN_, int BK_, int WM, int WN, int TM, int TN, int STAGES_, int BLOCKS_>
struct FmaTile {
    typedef PanelA_ PanelA;
    typedef PanelB_ PanelB;
    typedef typename PanelA::Format::Sum Sum;
    static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_, BLOCKS = BLOCKS_, STEPS = BK;
    static constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    static constexpr int VECTOR = 16 / sizeof(Sum);        // sums in 16 bytes
    static constexpr int PITCH = BN;                       // sums from one row of the staged tile to the next
    static constexpr int LANES_Y = WM / TM, LANES_X = WN / TN;   // lanes of a warp down and along its tile
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(LANES_Y * LANES_X == 32 && LANES_X % 2 == 0, "(WM / TM) * (WN / TN) must be 32 lanes, and WN / TN even");
    static_assert(TM % VECTOR == 0 && TN % VECTOR == 0, "TM and TN must be multiples of the sums in 16 bytes");
    static_assert(BK % 2 == 0, "BK must be even, because the fragments of even and odd k take turns");
    struct alignas(16) Vector { Sum of[VECTOR]; };

    struct Stage {
        Sum As[BK][BM + VECTOR];   // A tile, transposed: (k, row); the pad spreads the rows over the banks
        Sum Bs[BK][BN + VECTOR];   // B tile: (k, col)
    };

    int row, col;                  // of the thread's first sum in the block's tile
    Sum a_frag[2][TM], b_frag[2][TN];   // (k % 2, row or col)
    Sum acc[TM][TN];               // (row, col)

    __device__ __forceinline__ FmaTile() : acc{} {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;   // lanes zigzag, so that loads of As and Bs merge
        row = warp / (BN / WN) * WM + lane / 2 % LANES_Y * VECTOR;
        col = warp % (BN / WN) * WN + (lane / 2 / LANES_Y * 2 + lane % 2) * VECTOR;
    }
    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k) {
        copy_by_k<THREADS, BK, BM, BM + VECTOR>(&to.As[0][0], p.A, tile_row, p.M, first_k, p.K);
        copy_by_k<THREADS, BK, BN, BN + VECTOR>(&to.Bs[0][0], p.B, tile_col, p.N, first_k, p.K);
    }
    __device__ __forceinline__ void load(Stage &from, int k) {
        #pragma unroll
        for (int y = 0; y < TM; y += VECTOR)
            reinterpret_cast<Vector &>(a_frag[k % 2][y]) = reinterpret_cast<Vector &>(from.As[k][row + y * LANES_Y]);
        #pragma unroll
        for (int x = 0; x < TN; x += VECTOR)
            reinterpret_cast<Vector &>(b_frag[k % 2][x]) = reinterpret_cast<Vector &>(from.Bs[k][col + x * LANES_X]);
    }
    __device__ __forceinline__ void multiply(int k) {
        #pragma unroll
        for (int y = 0; y < TM; ++y)
            #pragma unroll
            for (int i = 0; i < TN; ++i) {
                const int x = y % 2 == 0 ? i : TN - 1 - i;   // there and back: where it turns, b is used twice in a row
                acc[y][x] += a_frag[k % 2][y] * b_frag[k % 2][x];
            }
    }
    template <class Problem> __device__ __forceinline__ void fold(const Problem &, int, int, int) {}
    __device__ __forceinline__ void store(Sum *sums) const {
        #pragma unroll
        for (int y = 0; y < TM; ++y)
            #pragma unroll
            for (int x = 0; x < TN; x += VECTOR)
                reinterpret_cast<Vector &>(sums[(row + y % VECTOR + y / VECTOR * VECTOR * LANES_Y) * PITCH + col + x * LANES_X]) =
                    reinterpret_cast<const Vector &>(acc[y][x]);
    }
};
