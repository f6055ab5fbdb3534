#define THREADS 128
#define WARPS (THREADS / 32)
#define FULL 0xffffffffu
#define INFINITY __int_as_float(0x7f800000)
#define NOWHERE 0x7fffffff   // larger than every index

// One block. *at is the index of the smallest element of x, of several equal ones the smallest index. A NaN is not a
// number, so it is never the smallest; if there is no number at all, *at is -1.
extern "C" __global__ void argmin(int n, const float *x, int *at) {   // x: (n), at: (1)
    __shared__ float value_of[WARPS];
    __shared__ int place_of[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = INFINITY;   // the smallest so far,
    int place = NOWHERE;  // and where it stands

    // 1. take(w, from): is w better than v? If so, it becomes v, and from becomes place.
    auto take = [&](float w, int from) {
        // <solution>
        if (w < v || (w == v && from < place)) {
            v = w;
            place = from;
        }
        // <starter>
        // <end>
    };
    // 2. Take my elements, each THREADS further than the one before.
    // 3. Take what other lanes have, by __shfl_down_sync as in a sum: the value and its place.
    // 4. One lane of each warp stores both; when all have, thread 0 takes those of the other warps.
    // 5. Thread 0 stores the place, or -1.
    // <solution>
    for (int i = threadIdx.x; i < n; i += THREADS) take(x[i], i);
    for (int offset = 16; offset > 0; offset /= 2) {
        const float w = __shfl_down_sync(FULL, v, offset);
        const int from = __shfl_down_sync(FULL, place, offset);
        take(w, from);
    }
    if (lane == 0) {
        value_of[warp] = v;
        place_of[warp] = place;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; ++w) take(value_of[w], place_of[w]);
        *at = place == NOWHERE ? -1 : place;
    }
    // <starter>
    // <end>
}
