// What notebook 16 writes for one block or one element per thread, at the speed of memory: 128-bit loads, several of them
// on the way, one launch each, any n, any alignment.
#define FULL 0xffffffffu
#define THREADS 512
#define WARPS (THREADS / 32)

__device__ float4 zeros() { return make_float4(0.0f, 0.0f, 0.0f, 0.0f); }

// How many float4 can be read of x: none where x does not begin at a multiple of 16 bytes.
__device__ int quads_of(const void *x, int n) { return reinterpret_cast<unsigned long long>(x) % 16 ? 0 : n / 4; }

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(FULL, v, offset);
    return v;
}

// The sum of the v of all threads of the block, in thread 0.
__device__ float block_sum(float v) {
    __shared__ float of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    __syncthreads();
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    v = lane < WARPS ? of_warp[lane] : 0.0f;
    return warp == 0 ? warp_sum(v) : v;
}

// --- the sum: four loads of 128 bits on the way, and the last block adds up the parts in their order

extern "C" __global__ void __launch_bounds__(THREADS, 3)   // blocks of an SM: the grid has no more, so none waits
sum(int n, const float *x, float *parts, unsigned *arrived, float *total) {
    __shared__ bool last;
    const float4 *quad = reinterpret_cast<const float4 *>(x);
    const int quads = quads_of(x, n), step = gridDim.x * THREADS, first = blockIdx.x * THREADS + threadIdx.x;
    float4 v[4] = {zeros(), zeros(), zeros(), zeros()};
    int q = first;
    for (; q + 3 * step < quads; q += 4 * step) {
        float4 loaded[4];
        for (int k = 0; k < 4; ++k) loaded[k] = quad[q + k * step];
        for (int k = 0; k < 4; ++k) {
            v[k].x += loaded[k].x;
            v[k].y += loaded[k].y;
            v[k].z += loaded[k].z;
            v[k].w += loaded[k].w;
        }
    }
    float sum = 0.0f;
    for (; q < quads; q += step) sum += (quad[q].x + quad[q].y) + (quad[q].z + quad[q].w);
    for (int i = 4 * quads + first; i < n; i += step) sum += x[i];
    for (int k = 0; k < 4; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    sum = 0.0f;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) sum += parts[b];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *total = sum;
        *arrived = 0;
    }
}

// --- the place of the smallest: an order of the floats as whole numbers, so that one atomic decides value and place

// Larger floats become larger numbers. Both zeros are one number; a NaN is larger than everything.
__device__ unsigned ordered(float v) {
    const unsigned bits = __float_as_uint(v + 0.0f);
    return v != v ? 0xffffffffu : bits >> 31 ? ~bits : bits | 0x80000000u;
}

// *best is all ones before the launch, and stays so where x holds no number; else its lower half is the place.
extern "C" __global__ void __launch_bounds__(THREADS, 4) argmin(int n, const float *x, unsigned long long *best) {
    __shared__ unsigned long long of_warp[WARPS];
    const float4 *quad = reinterpret_cast<const float4 *>(x);
    const int quads = quads_of(x, n), step = gridDim.x * THREADS, first = blockIdx.x * THREADS + threadIdx.x;
    float v = __int_as_float(0x7f800000);
    int place = 0x7fffffff;
    // A thread's own elements come in the order of their places: an equal one later does not replace it.
    auto take = [&](float w, int from) {
        if (w < v || (w == v && place == 0x7fffffff)) {
            v = w;
            place = from;
        }
    };
    auto take_quad = [&](float4 w, int from) {
        take(w.x, from);
        take(w.y, from + 1);
        take(w.z, from + 2);
        take(w.w, from + 3);
    };
    int q = first;
    for (; q + 3 * step < quads; q += 4 * step) {
        float4 loaded[4];
        for (int k = 0; k < 4; ++k) loaded[k] = quad[q + k * step];
        for (int k = 0; k < 4; ++k) take_quad(loaded[k], 4 * (q + k * step));
    }
    for (; q < quads; q += step) take_quad(quad[q], 4 * q);
    for (int i = 4 * quads + first; i < n; i += step) take(x[i], i);
    unsigned long long key = ~0ull;
    if (place != 0x7fffffff) key = static_cast<unsigned long long>(ordered(v)) << 32 | static_cast<unsigned>(place);
    for (int offset = 16; offset > 0; offset /= 2) {
        const unsigned long long other = __shfl_down_sync(FULL, key, offset);
        key = other < key ? other : key;
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = key;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; ++w) key = of_warp[w] < key ? of_warp[w] : key;
        atomicMin(best, key);
    }
}

// --- a histogram: a copy of the bins for each two warps, so that fewer lanes meet in one bin

#define BINS 256
#define COPIES (WARPS / 2)

// bins, which hold 0 before the launch, count how often 0 ... BINS - 1 occur in x.
extern "C" __global__ void __launch_bounds__(THREADS, 4) histogram(int n, const int *x, int *bins) {
    __shared__ int counted[COPIES][BINS];
    int *mine = counted[threadIdx.x / 64];
    for (int b = threadIdx.x; b < COPIES * BINS; b += THREADS) counted[0][b] = 0;
    __syncthreads();
    const int4 *quad = reinterpret_cast<const int4 *>(x);
    const int quads = quads_of(x, n), step = gridDim.x * THREADS, first = blockIdx.x * THREADS + threadIdx.x;
    auto count = [&](int4 b) {
        atomicAdd(&mine[b.x], 1);
        atomicAdd(&mine[b.y], 1);
        atomicAdd(&mine[b.z], 1);
        atomicAdd(&mine[b.w], 1);
    };
    int q = first;
    for (; q + 3 * step < quads; q += 4 * step) {
        int4 loaded[4];
        for (int k = 0; k < 4; ++k) loaded[k] = quad[q + k * step];
        for (int k = 0; k < 4; ++k) count(loaded[k]);
    }
    for (; q < quads; q += step) count(quad[q]);
    for (int i = 4 * quads + first; i < n; i += step) atomicAdd(&mine[x[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += THREADS) {
        int all = 0;
        for (int copy = 0; copy < COPIES; ++copy) all += counted[copy][b];
        atomicAdd(&bins[b], all);
    }
}

// --- a scan that reads x once: each tile publishes its sum, and looks back at what the tiles before it have published
// (D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016)

#define SUM_OF_TILE 1u                           // what a tile has published: its own sum,
#define SUM_SO_FAR 2u                            // or that of all tiles up to it

// A tile's word holds what it has published and the float itself, so that both arrive together and need no fence; and in
// which launch, so that the words of the launches before need not be set to zero.
__device__ void publish(unsigned long long *word, unsigned launch, unsigned what, float v) {
    atomicExch(word, static_cast<unsigned long long>(4 * launch + what) << 32 | __float_as_uint(v));
}

// The sum of all tiles before this one, in every lane of the warp that calls it.
__device__ float look_back(const unsigned long long *published, unsigned launch, int tile, int lane) {
    float sum = 0.0f;
    for (int nearest = tile - 1;; nearest -= 32) {
        const int mine = nearest - lane;
        unsigned long long word = 0;
        unsigned what = SUM_SO_FAR;   // in front of the first tile the sum is 0
        do {
            if (mine >= 0) {
                word = *const_cast<const volatile unsigned long long *>(&published[mine]);
                what = static_cast<unsigned>(word >> 32) - 4 * launch;
            }
        } while (__any_sync(FULL, what != SUM_OF_TILE && what != SUM_SO_FAR));
        const unsigned complete = __ballot_sync(FULL, what == SUM_SO_FAR);
        const int end = complete ? __ffs(complete) - 1 : 31;
        float part = lane <= end ? __uint_as_float(static_cast<unsigned>(word)) : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(FULL, part, offset);
        sum += part;
        if (complete) return sum;
    }
}

// The running sums of a tile, of which a lane has ROWS rows of four floats, and what it needs of the block.
template <int ALL, int ROWS>
__device__ void scan_tile(float (&v)[ROWS][4], int tile, unsigned long long *published, unsigned launch,
                          float (&of_warp)[ALL], float &so_far) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float before = 0.0f;   // in the warp, in front of the row
    for (int row = 0; row < ROWS; ++row) {
        for (int k = 1; k < 4; ++k) v[row][k] += v[row][k - 1];
        float all = v[row][3];
        for (int offset = 1; offset < 32; offset *= 2) {
            const float left = __shfl_up_sync(FULL, all, offset);
            if (lane >= offset) all += left;
        }
        const float left = __shfl_up_sync(FULL, all, 1);
        for (int k = 0; k < 4; ++k) v[row][k] += before + (lane == 0 ? 0.0f : left);
        before += __shfl_sync(FULL, all, 31);
    }
    if (lane == 0) of_warp[warp] = before;
    __syncthreads();
    float of_tile = 0.0f, in_front = 0.0f;
    for (int w = 0; w < ALL; ++w) {
        in_front += w < warp ? of_warp[w] : 0.0f;
        of_tile += of_warp[w];
    }
    if (warp == 0) {
        if (lane == 0 && tile > 0) publish(&published[tile], launch, SUM_OF_TILE, of_tile);
        const float sum = look_back(published, launch, tile, lane);
        if (lane == 0) {
            publish(&published[tile], launch, SUM_SO_FAR, sum + of_tile);
            so_far = sum;
        }
    }
    __syncthreads();
    in_front += so_far;
    for (int row = 0; row < ROWS; ++row)
        for (int k = 0; k < 4; ++k) v[row][k] += in_front;
}

// published: (tiles), next: (1); both hold 0 before launch number 0, and what it leaves there before number 1. A tile gets
// its number when a block begins, so that all tiles before it have begun, too.
template <int SIZE, int ROWS>
__global__ void __launch_bounds__(SIZE)
scan(int n, const float *x, float *y, unsigned long long *published, unsigned *next, unsigned launch) {
    constexpr int ALL = SIZE / 32, TILE = SIZE * ROWS * 4;
    __shared__ float of_warp[ALL], so_far;
    __shared__ int tile_of_block;
    if (threadIdx.x == 0) tile_of_block = atomicAdd(next, 1) - launch * gridDim.x;
    __syncthreads();
    const int tile = tile_of_block;
    const int first = tile * TILE + threadIdx.x / 32 * (TILE / ALL) + 4 * (threadIdx.x % 32);   // of the first row
    const bool wide = (tile + 1) * TILE <= n && (reinterpret_cast<unsigned long long>(x) |
                                                 reinterpret_cast<unsigned long long>(y)) % 16 == 0;
    float v[ROWS][4];
    for (int row = 0; row < ROWS; ++row) {
        const int i = first + 128 * row;
        if (wide) {
            const float4 loaded = *reinterpret_cast<const float4 *>(x + i);
            v[row][0] = loaded.x;
            v[row][1] = loaded.y;
            v[row][2] = loaded.z;
            v[row][3] = loaded.w;
        } else {
            for (int k = 0; k < 4; ++k) v[row][k] = i + k < n ? x[i + k] : 0.0f;
        }
    }
    scan_tile(v, tile, published, launch, of_warp, so_far);
    for (int row = 0; row < ROWS; ++row) {
        const int i = first + 128 * row;
        if (wide) {
            *reinterpret_cast<float4 *>(y + i) = make_float4(v[row][0], v[row][1], v[row][2], v[row][3]);
        } else {
            for (int k = 0; k < 4; ++k)
                if (i + k < n) y[i + k] = v[row][k];
        }
    }
}
