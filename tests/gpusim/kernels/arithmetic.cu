// Arithmetic that becomes more than one instruction: division, conversions, wide integers, float64.

extern "C" __global__ void divide_integers(const int *a, const int *b, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = unsigned(a[i]) / unsigned(b[i]);
    out[4 * i + 3] = unsigned(a[i]) % unsigned(b[i]);
}

extern "C" __global__ void divide_long(const long long *a, const long long *b, long long *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = (unsigned long long)(a[i]) / (unsigned long long)(b[i]);
    out[4 * i + 3] = (unsigned long long)(a[i]) % (unsigned long long)(b[i]);
}

extern "C" __global__ void divide_by_constants(const int *a, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = a[i];
    out[i] = x / 3 + x % 7 + (unsigned(x) / 10u) + (unsigned(x) % 1000u) + x / 16 + x % 64 + (x >> 3) / 100;
}

extern "C" __global__ void divide_floats(const float *a, const float *b, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = sqrtf(fabsf(a[i]));
    out[4 * i + 2] = 1.0f / b[i];
    out[4 * i + 3] = fmodf(a[i], b[i]);
}

extern "C" __global__ void divide_doubles(const double *a, const double *b, double *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = sqrt(fabs(a[i]));
    out[4 * i + 2] = fma(a[i], b[i], fmax(a[i], 2.0)) - fmin(a[i], b[i]);
    out[4 * i + 3] = a[i] < b[i] ? floor(a[i]) : rint(b[i]);
}

extern "C" __global__ void convert(const float *a, const int *b, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = a[i];
    const long long wide = (long long)(x) * b[i];
    int sum = int(x) + int(unsigned(fabsf(x))) + __float2int_rn(x) + __float2int_ru(x) + __float2int_rd(x);
    sum += int(double(x) * 3.0) + int(float(b[i]) * 0.5f) + int(float(unsigned(b[i])) * 1.0e-6f) + int(wide >> 7);
    sum += (signed char)(b[i]) + (unsigned short)(b[i]) + (short)(b[i] >> 3) + __float_as_int(floorf(x)) % 5;
    sum += int(float(wide)) + int(double(wide) * 0.25) + __float_as_int(truncf(x) + ceilf(x) + rintf(x)) % 3;
    out[i] = sum;
}

extern "C" __global__ void wide_integers(const unsigned long long *a, const unsigned long long *b,
                                         unsigned long long *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned long long x = a[i], y = b[i];
    unsigned long long mixed = x * y + __umul64hi(x, y);
    mixed ^= (x << (y & 63)) | (y >> (x & 63));
    mixed += (long long)(x) >> (y & 31);
    mixed += x > y ? x - y : y - x;
    mixed += (long long)(x) < (long long)(y) ? 1000 : 2000;
    mixed += min(x, y) ^ max((long long)(x), (long long)(y));
    out[i] = mixed + __popcll(x) + __clzll(y) + __ffsll(x) + __brevll(y);
}

extern "C" __global__ void bit_tricks(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned x = a[i], y = b[i];
    unsigned mixed = __byte_perm(x, y, 0x3715) ^ __byte_perm(x, y, y & 0x7777);
    mixed += __funnelshift_l(x, y, y) ^ __funnelshift_r(x, y, x & 31);
    mixed += __popc(x) + __clz(y) + __brev(x) + (x >> (y & 31)) + (x << (y & 15)) + (int(x) >> (y & 7));
    mixed += __umulhi(x, y) + __mulhi(int(x), int(y)) + abs(int(x)) + __sad(int(x), int(y), 3u) + ((x & y) | (~x & 0xff));
    mixed += __dp4a(int(x), int(y), 5) + ((x >> 5) & 31) * 7 + (x ^ y ^ 0x1234567u) + __vadd4(x, y);
    out[i] = mixed;
}

// A linear congruential generator a thread, many rounds: long chains of 32- and 64-bit multiplications
extern "C" __global__ void monte_carlo(unsigned long long *hits, int rounds) {
    unsigned long long state = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int inside = 0;
    for (int round = 0; round < rounds; ++round) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const float x = float(unsigned(state >> 40)) / 16777216.0f;
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const float y = float(unsigned(state >> 40)) / 16777216.0f;
        inside += x * x + y * y < 1.0f;
    }
    atomicAdd(hits, (unsigned long long)(inside));
}

extern "C" __global__ void bitonic_sort(int *values) {
    __shared__ int tile[512];
    tile[threadIdx.x] = values[blockIdx.x * 512 + threadIdx.x];
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int partner = threadIdx.x ^ stride;
            if (partner > threadIdx.x) {
                const bool ascending = (threadIdx.x & size) == 0;
                const int mine = tile[threadIdx.x], other = tile[partner];
                if ((mine > other) == ascending) {
                    tile[threadIdx.x] = other;
                    tile[partner] = mine;
                }
            }
        }
    __syncthreads();
    values[blockIdx.x * 512 + threadIdx.x] = tile[threadIdx.x];
}
