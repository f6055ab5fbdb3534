// What the user of a library launches before or behind a product, at the speed of memory: 16 bytes for each load, several
// of them on the way, and no division by a number that is not known when it is compiled.
#define THREADS 256
#define EACH 4   // loads of 16 bytes by a thread

__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(0.70710678f * x)); }
__device__ float silu(float x) { return x / (1.0f + expf(-x)); }

// C (rows, columns) = GELU(C + bias), in place; columns is a multiple of 4. A thread has four columns of EACH rows.
extern "C" __global__ void __launch_bounds__(THREADS) bias_gelu(int rows, int columns, const float4 *bias, float4 *C) {
    const int quads = columns / 4, quad = blockIdx.x * THREADS + threadIdx.x, first = blockIdx.y * EACH;
    if (quad >= quads) return;
    const float4 b = bias[quad];
    float4 *place = C + size_t(first) * quads + quad, v[EACH];
    for (int i = 0; i < EACH; ++i)
        if (first + i < rows) v[i] = place[size_t(i) * quads];
    for (int i = 0; i < EACH; ++i)
        if (first + i < rows)
            place[size_t(i) * quads] = make_float4(gelu(v[i].x + b.x), gelu(v[i].y + b.y), gelu(v[i].z + b.z), gelu(v[i].w + b.w));
}

// gate = silu(gate) * up, element by element, `quads` float4 of each.
extern "C" __global__ void __launch_bounds__(THREADS) silu_gate(int quads, const float4 *up, float4 *gate) {
    const int first = blockIdx.x * EACH * THREADS + threadIdx.x;
    float4 u[EACH], g[EACH];
    for (int i = 0; i < EACH; ++i) {
        const int quad = first + i * THREADS;
        if (quad < quads) u[i] = up[quad], g[i] = gate[quad];
    }
    for (int i = 0; i < EACH; ++i) {
        const int quad = first + i * THREADS;
        if (quad < quads)
            gate[quad] = make_float4(silu(g[i].x) * u[i].x, silu(g[i].y) * u[i].y, silu(g[i].z) * u[i].z, silu(g[i].w) * u[i].w);
    }
}

// The matrix of a convolution (images * H * W, R * R * C): each pixel's row holds what lies under an R x R filter, zeros
// beyond the image. X: (images, H, W, C), channels last. A pixel is CHUNKS times 16 bytes; all: those of the matrix.
template <unsigned H, unsigned W, unsigned CHUNKS, unsigned R>
__global__ void __launch_bounds__(THREADS) patches(unsigned all, const uint4 *X, uint4 *matrix) {
    uint4 v[EACH];
    for (unsigned i = 0; i < EACH; ++i) {
        const unsigned place = (blockIdx.x * EACH + i) * THREADS + threadIdx.x;
        const unsigned chunk = place % CHUNKS, s = place / CHUNKS % R, r = place / (CHUNKS * R) % R;
        const unsigned pixel = place / (CHUNKS * R * R);
        // Below zero an unsigned number becomes a large one, which is beyond the image, too.
        const unsigned x = pixel % W + s - R / 2, y = pixel / W % H + r - R / 2;
        v[i] = make_uint4(0, 0, 0, 0);
        if (place < all && x < W && y < H) v[i] = X[(pixel / (W * H) * (W * H) + y * W + x) * CHUNKS + chunk];
    }
    for (unsigned i = 0; i < EACH; ++i) {
        const unsigned place = (blockIdx.x * EACH + i) * THREADS + threadIdx.x;
        if (place < all) matrix[place] = v[i];
    }
}
