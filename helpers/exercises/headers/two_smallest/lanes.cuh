// Step 2 of notebook 17: the two smallest of a warp.
#include "patch.cuh"

// The two smallest of what the lanes of a warp have, in lane 0. All lanes must call it.
__device__ void take_lanes(Two &two) {
    for (int offset = 16; offset > 0; offset /= 2) {
        const float v = __shfl_down_sync(FULL, two.value[0], offset);
        const float w = __shfl_down_sync(FULL, two.value[1], offset);
        const int at = __shfl_down_sync(FULL, two.place[0], offset);
        const int from = __shfl_down_sync(FULL, two.place[1], offset);
        take(two, v, at);
        take(two, w, from);
    }
}
