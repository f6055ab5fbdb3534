// The ladder's tile on CUDA cores: a thread has TM x TN sums, and a warp WM x WN, for any format that a sum can be made
// of. Four neighbours, or two doubles, come from shared memory at a time. Loads are pinned, lanes unmerged and sums
// exchanged as in the ladder's `exchanged`, whose log says what each of the three is worth.

// 16 bytes of shared memory, loaded here: volatile, or the compiler would load them just before their use; memory, or it
// could move the load across a barrier
__device__ __forceinline__ void load_now(float *fragment, const float &first) {
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(fragment[0]), "=f"(fragment[1]), "=f"(fragment[2]), "=f"(fragment[3])
                 : "r"(unsigned(__cvta_generic_to_shared(&first))) : "memory");
}
__device__ __forceinline__ void load_now(int *fragment, const int &first) {
    asm volatile("ld.volatile.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(unsigned(__cvta_generic_to_shared(&first))) : "memory");
}
__device__ __forceinline__ void load_now(double *fragment, const double &first) {
    asm volatile("ld.volatile.shared.v2.f64 {%0, %1}, [%2];"
                 : "=d"(fragment[0]), "=d"(fragment[1])
                 : "r"(unsigned(__cvta_generic_to_shared(&first))) : "memory");
}

template <class PanelA, class PanelB, int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int BLOCKS>
struct FmaTile : WarpTiles<PanelA, PanelB, BM, BN, BK, WM, WN, STAGES, BLOCKS, 1> {
    typedef typename FmaTile::WarpTiles Base;
    typedef typename Base::Sum Sum;
    using Base::THREADS, Base::row, Base::col;   // row and col are those of the thread's first sum
    static constexpr int MEET = BK / 2;                    // the step at which warps wait for each other
    static constexpr int COPY_PARTS = 1;                   // a round's copies start after the first loads of fragments;
    static constexpr bool COPIES_ZEROS = TM * TN > 64;     // past the last tile, too: a branch would part the products
    static constexpr bool EXCHANGED = true;                // neighbouring sums change places in shared memory
    static constexpr int VECTOR = 16 / sizeof(Sum);        // sums in 16 bytes
    static constexpr int PITCH = BN;                       // sums from one row of the staged tile to the next
    static constexpr int LANES_Y = WM / TM, LANES_X = WN / TN;   // lanes of a warp down and along its tile
    static_assert(LANES_Y * LANES_X == 32 && LANES_Y % 2 == 0 && LANES_X % 4 == 0,
                  "(WM / TM) * (WN / TN) must be 32 lanes, WM / TM even and WN / TN a multiple of 4");
    static_assert(TM % VECTOR == 0 && TN % VECTOR == 0, "TM and TN must be multiples of the sums in 16 bytes");
    struct alignas(16) Vector { Sum of[VECTOR]; };

    struct Stage {
        Sum As[BK][BM + VECTOR];   // A tile, transposed: (k, row); the pad spreads the rows over the banks
        Sum Bs[BK][BN + VECTOR];   // B tile: (k, col)
    };

    Sum a_frag[2][TM], b_frag[2][TN];   // (k % 2, row or col)
    Sum acc[TM][TN];               // (row, col)

    __device__ __forceinline__ FmaTile() : acc{} {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;   // no two neighbouring lanes read the same address
        row = warp / (BN / WN) * WM + (lane / 4 % LANES_Y ^ (lane ^ lane / 2) % 2) * VECTOR;
        col = warp % (BN / WN) * WN + (lane % 4 + lane / 4 / LANES_Y * 4) * VECTOR;
    }
    template <class Problem>
    __device__ __forceinline__ void copy(Stage &to, const Problem &p, int tile_row, int tile_col, int first_k, int, int) {
        copy_by_k<THREADS, BK, BM, BM + VECTOR>(&to.As[0][0], p.A, tile_row, p.M, first_k, p.K);
        copy_by_k<THREADS, BK, BN, BN + VECTOR>(&to.Bs[0][0], p.B, tile_col, p.N, first_k, p.K);
    }
    __device__ __forceinline__ void load(Stage &from, int k) {
        #pragma unroll
        for (int x = 0; x < TN; x += VECTOR) load_now(&b_frag[k % 2][x], from.Bs[k][col + x * LANES_X]);
        #pragma unroll
        for (int y = 0; y < TM; y += VECTOR) load_now(&a_frag[k % 2][y], from.As[k][row + y * LANES_Y]);
    }
    template <class Copy> __device__ __forceinline__ void multiply(int k, Stage &, int, Copy) {
        #pragma unroll
        for (int y = 0; y < TM; ++y)
            #pragma unroll
            for (int i = 0; i < TN; ++i) {
                const int x = y % 2 == 0 ? i : TN - 1 - i;   // there and back: where it turns, b is used twice in a row
                acc[y][x] += a_frag[k % 2][y] * b_frag[k % 2][x];
            }
    }
    __device__ __forceinline__ void store(Sum *sums) const {
        #pragma unroll
        for (int y = 0; y < TM; ++y)
            #pragma unroll
            for (int x = 0; x < TN; x += VECTOR) {
                Vector exchanged;
                for (int i = 0; i < VECTOR; ++i) exchanged.of[i] = acc[y][x + (i ^ 1)];
                const int place = row + y % VECTOR + y / VECTOR * VECTOR * LANES_Y;
                reinterpret_cast<Vector &>(sums[place * PITCH + col + x * LANES_X]) = exchanged;
            }
    }
};
