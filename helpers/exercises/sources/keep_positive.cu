#define FULL 0xffffffffu

// One warp. It copies the elements of x that are greater than 0 to the beginning of y, in their order.
extern "C" __global__ void keep_positive(int n, const float *x, float *y) {   // x, y: (n)
    const int lane = threadIdx.x;
    int kept = 0;   // elements of y that are written already

    for (int first = 0; first < n; first += 32) {
        const float v = first + lane < n ? x[first + lane] : 0.0f;

        // 1. Which lanes have something to keep? __ballot_sync(FULL, condition) gives every lane the same 32 bits.
        // 2. How many of the lanes below mine are among them? __popc counts the ones of a number.
        // 3. If I have something to keep, I store it behind what is kept already and what these lanes keep.
        // 4. kept grows by all that are kept now.
        // <solution>
        const unsigned votes = __ballot_sync(FULL, v > 0.0f);
        const int below = __popc(votes & ((1u << lane) - 1));
        if (v > 0.0f) y[kept + below] = v;
        kept += __popc(votes);
        // <starter>
        // <end>
    }
}
