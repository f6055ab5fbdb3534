// What moves floats between global memory, shared memory and registers, and how the lanes of a warp lie on its tile.

// The four neighbours in memory that start at `first`, as one float4
__device__ __forceinline__ float4 &as_float4(float &first) { return reinterpret_cast<float4 &>(first); }

// Whether every row of a matrix with `columns` columns starts at a multiple of so many floats
template <int WIDTH>
__device__ __forceinline__ bool rows_aligned(const float *matrix, int columns) {
    return reinterpret_cast<size_t>(matrix) % (4 * WIDTH) == 0 && columns % WIDTH == 0;
}

__device__ __forceinline__ unsigned shared_address(const float &element) {
    return unsigned(__cvta_generic_to_shared(&element));
}

// The type that one instruction moves WIDTH floats as
template <int WIDTH> struct VectorOf { using type = float; };
template <> struct VectorOf<2> { using type = float2; };
template <> struct VectorOf<4> { using type = float4; };
template <int WIDTH> using Vector = typename VectorOf<WIDTH>::type;

// WIDTH neighbours, in global or in shared memory
template <int WIDTH>
__device__ __forceinline__ void load(float (&to)[WIDTH], const float *from) {
    reinterpret_cast<Vector<WIDTH> &>(to) = *reinterpret_cast<const Vector<WIDTH> *>(from);
}

// The same from the L2 cache: another SM wrote them
template <int WIDTH>
__device__ __forceinline__ void load_fresh(float (&to)[WIDTH], const float *from) {
    reinterpret_cast<Vector<WIDTH> &>(to) = __ldcg(reinterpret_cast<const Vector<WIDTH> *>(from));
}

template <int WIDTH>
__device__ __forceinline__ void store(float *to, float (&from)[WIDTH]) {
    *reinterpret_cast<Vector<WIDTH> *>(to) = reinterpret_cast<Vector<WIDTH> &>(from);
}

// Four floats of shared memory, loaded here: volatile, or the compiler would load them just before their use; memory, or it
// could move the load across a barrier
__device__ __forceinline__ void load_now(float *fragment, unsigned address) {
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(fragment[0]), "=f"(fragment[1]), "=f"(fragment[2]), "=f"(fragment[3])
                 : "r"(address)
                 : "memory");
}

// Which thread of its block this is, asked again: what follows from it need not stay in registers since it was last asked
__device__ __forceinline__ unsigned thread_again() {
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

// Where a lane stands among the 32 of its warp, LANES_X of them along a row. Zigzag: neighbours share addresses, and their
// loads are merged, for half of the wavefronts. Otherwise no two of i, i ^ 1 and i ^ 2 do, if a row has room for four
template <int LANES_X, bool ZIGZAG>
__device__ __forceinline__ unsigned lane_down(unsigned lane) {
    constexpr int LANES_Y = 32 / LANES_X;
    if (ZIGZAG || LANES_X < 4) return LANES_X == 1 ? lane : lane / 2 % LANES_Y;
    return lane / 4 % LANES_Y ^ (lane ^ lane / 2) % 2 % LANES_Y;
}
template <int LANES_X, bool ZIGZAG>
__device__ __forceinline__ unsigned lane_along(unsigned lane) {
    constexpr int LANES_Y = 32 / LANES_X;
    if (ZIGZAG || LANES_X < 4) return LANES_X == 1 ? 0 : lane / 2 / LANES_Y * 2 + lane % 2;
    return lane % 4 + lane / 4 / LANES_Y * 4;
}

// The largest power of two that divides n and is not above `most`, or 1
constexpr int rows_of(int n, int most) { return most < 2 || n % 2 != 0 ? 1 : 2 * rows_of(n / 2, most / 2); }

// How many rows eight neighbouring lanes are in, which shared memory serves together when each moves 16 bytes
template <int LANES_X, bool ZIGZAG>
constexpr int rows_of_eight() {
    constexpr int LANES_Y = 32 / LANES_X, MOST = LANES_X == 1 ? 8 : ZIGZAG || LANES_X < 4 ? 4 : 2;
    return LANES_Y < MOST ? LANES_Y : MOST;
}

// Unused floats behind so many, so that so many of these pieces, one after the other, begin in different banks
constexpr int pad_of(int floats, int rows) { return rows == 1 || floats / (32 / rows) % 2 != 0 ? 0 : 32 / rows; }

// n, but at least 1 and at most `most`
constexpr int clamped(int n, int most) { return n < 1 ? 1 : n < most ? n : most; }

// The largest power of two that divides n and is not above `most`, which is one itself
constexpr int power_in(int n, int most) { return n % most == 0 ? most : power_in(n, most / 2); }
