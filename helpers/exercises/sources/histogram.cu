#define THREADS 128
#define BINS 200

// bins[b] grows by how many elements of x are b. All elements are 0 ... BINS - 1.
extern "C" __global__ void histogram(int n, const int *x, int *bins) {   // x: (n), bins: (BINS)
    __shared__ int mine[BINS];   // of this block
    const int t = threadIdx.x;

    // 1. All of mine begins at 0. There are more bins than threads.
    // 2. Count in mine. Two threads may meet in one bin.
    // 3. Add mine to bins. Two blocks may meet in one bin. Who must wait for whom, before and after step 2?
    // <solution>
    for (int b = t; b < BINS; b += THREADS) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
        atomicAdd(&mine[x[i]], 1);
    __syncthreads();
    for (int b = t; b < BINS; b += THREADS) atomicAdd(&bins[b], mine[b]);
    // <starter>
    // <end>
}
