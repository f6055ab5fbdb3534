// What the loop asks of every tile. Warps share a block's tile, each WM x WN of it, and multiply it STEP along k at a time.

template <class PanelA_, class PanelB_, int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_, int BLOCKS_, int STEP>
struct WarpTiles {
    typedef PanelA_ PanelA;
    typedef PanelB_ PanelB;
    typedef typename PanelA::Format::Sum Sum;
    static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_, BLOCKS = BLOCKS_, STEPS = BK / STEP;
    static constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    static constexpr int MEET = STEPS - 1;     // the step at which warps wait for each other
    static constexpr bool AMID = false;        // loads and copies start between products
    static constexpr bool EXCHANGED = false;   // neighbouring sums change places in shared memory
    static_assert(BM % WM == 0 && BN % WN == 0, "BM must be a multiple of WM, and BN of WN");
    static_assert(STEPS % 2 == 0, "BK must be a multiple of two steps, because the fragments of even and odd ones take turns");

    int row, col, lane;                        // of the warp's tile in the block's

    __device__ __forceinline__ void find_warp() {
        const int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        row = warp / (BN / WN) * WM;
        col = warp % (BN / WN) * WN;
    }
    template <class Problem> __device__ __forceinline__ void fold(const Problem &, int, int, int) {}   // sums by scales
};
