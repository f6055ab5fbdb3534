#define THREADS 128
#define WARPS (THREADS / 32)
#define FULL 0xffffffffu

// One block. y[i] is the sum of x[0] ... x[i].
extern "C" __global__ void scan(int n, const float *x, float *y) {   // x, y: (n)
    __shared__ float of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float before = 0.0f;   // the sum of all earlier rounds

    for (int first = 0; first < n; first += THREADS) {
        const int i = first + threadIdx.x;
        float v = i < n ? x[i] : 0.0f;

        // 1. offset is 1, 2, 4, 8, 16: every lane takes the v of lane - offset, __shfl_up_sync(FULL, v, offset), and
        //    adds it if there is such a lane.
        // 2. One lane of each warp has the sum of the warp: it stores it in of_warp.
        // 3. y[i] is the sum of the earlier rounds, of the earlier warps, and v. Who must wait for whom?
        // 4. before grows by the sum of all warps. No thread may overwrite of_warp while others read it.
        // <solution>
        for (int offset = 1; offset < 32; offset *= 2) {
            const float left = __shfl_up_sync(FULL, v, offset);
            if (lane >= offset) v += left;
        }
        if (lane == 31) of_warp[warp] = v;
        __syncthreads();
        float sum = before + v;
        for (int w = 0; w < warp; ++w) sum += of_warp[w];
        if (i < n) y[i] = sum;
        for (int w = 0; w < WARPS; ++w) before += of_warp[w];
        __syncthreads();
        // <starter>
        // <end>
    }
}
