// Two smallest elements, and how they are left.
#include "product.cuh"

#define WARPS (THREADS / 32)
#define FULL 0xffffffffu
#define INFINITY __int_as_float(0x7f800000)
#define NOWHERE 0x7fffffff   // larger than every place

struct Two {                 // the two smallest elements so far, the smaller one first
    float value[2];
    int place[2];            // in C: row * N + col
};

// Stores two as number n of the result; the place of what is not there becomes -1.
__device__ void leave(const Two &two, int n, float *value, int *place) {
    for (int e = 0; e < 2; ++e) {
        value[2 * n + e] = two.value[e];
        place[2 * n + e] = two.place[e] == NOWHERE ? -1 : two.place[e];
    }
}
