// Copies that arrive at barriers in shared memory, for warps that only copy. After moves.cuh.

// Start the copy of WIDTH neighbours from global to shared memory, or of zeros if the matrix has no such elements.
// cg: past the L1 cache, where no other thread would look for them
template <int WIDTH>
__device__ __forceinline__ void copy_async(unsigned shared, const float *global, bool valid) {
    const int bytes = valid ? 4 * WIDTH : 0;   // to read
    if constexpr (WIDTH == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(shared), "l"(global), "r"(bytes) : "memory");
    else   // only copies of 16 bytes can pass it
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :: "r"(shared), "l"(global), "n"(4 * WIDTH), "r"(bytes) : "memory");
}

// Barriers in shared memory, at an address: a phase ends whenever so many threads have arrived
__device__ __forceinline__ void init_barrier(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(barrier) : "memory");
}
// This thread will have arrived when all copies are there that it has started
__device__ __forceinline__ void arrive_with_copies(unsigned barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(barrier) : "memory");
}
// Has an even phase ended, or an odd one? The answer may take some time
__device__ __forceinline__ bool ended(unsigned barrier, unsigned odd) {
    unsigned answer;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(answer) : "r"(barrier), "r"(odd) : "memory");
    return answer;
}
__device__ __forceinline__ void wait(unsigned barrier, unsigned odd) {
    while (!ended(barrier, odd)) {}
}
// Wait for the other threads that multiply, at a barrier that is not that of __syncthreads()
template <int THREADS>
__device__ __forceinline__ void sync_consumers() {
    asm volatile("bar.sync 1, %0;" :: "n"(THREADS) : "memory");
}
