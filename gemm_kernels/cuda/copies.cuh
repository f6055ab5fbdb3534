// Asynchronous copies of tiles of A and B. After moves.cuh.

// Start the copy of WIDTH neighbours from global to shared memory, or of zeros if the matrix has no such elements.
// cg: past the L1 cache, where no other thread would look for them
template <int WIDTH>
__device__ __forceinline__ void copy_async(float &shared, const float *global, bool valid) {
    const int bytes = valid ? 4 * WIDTH : 0;   // to read
    if constexpr (WIDTH == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(shared_address(shared)), "l"(global), "r"(bytes) : "memory");
    else   // only copies of 16 bytes can pass it
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :: "r"(shared_address(shared)), "l"(global), "n"(4 * WIDTH), "r"(bytes) : "memory");
}

// Which k of a tile are to be copied, and how many of the rows or columns that are left: all k, which the compiler then
// knows; the first few; or all, if there are more tiles
template <int BK>
struct All {
    static constexpr bool every = true;
    static constexpr unsigned count = BK;
    __device__ __forceinline__ int of(int left) const { return left; }
};
struct Some {
    static constexpr bool every = false;
    unsigned count;
    __device__ __forceinline__ int of(int left) const { return left; }
};
template <int BK>
struct AllIf {
    static constexpr bool every = true;
    static constexpr unsigned count = BK;
    bool more;
    __device__ __forceinline__ int of(int left) const { return more ? left : 0; }
};
