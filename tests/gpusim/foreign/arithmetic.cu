// Arithmetic: functions of floats and doubles, integers of every width, bits, conversions.
#include <cmath>

#define EACH const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int to = i;
#define PUT(value) out[to] = value, to += n;

extern "C" __global__ void functions_of_doubles(const double *a, const double *b, double *out, int n) {
    EACH const double x = a[i], y = b[i], p = fabs(x) + 0.125;
    PUT(exp(x)) PUT(log(p)) PUT(sin(x)) PUT(cos(x)) PUT(tan(x)) PUT(pow(p, y)) PUT(atan2(x, y)) PUT(sqrt(p)) PUT(cbrt(x))
    PUT(tgamma(p)) PUT(lgamma(p)) PUT(erf(x)) PUT(erfc(x)) PUT(hypot(x, y)) PUT(fmod(x, y)) PUT(asin(x / 30)) PUT(sinh(x))
    PUT(tanh(x)) PUT(log2(p)) PUT(expm1(x)) PUT(log1p(p)) PUT(rsqrt(p)) PUT(floor(x)) PUT(remainder(x, y)) PUT(acosh(1 + p))
}
extern "C" __global__ void functions_of_floats(const float *a, const float *b, float *out, int n) {
    EACH const float x = a[i], y = b[i], p = fabsf(x) + 0.125f;
    PUT(expf(x)) PUT(logf(p)) PUT(sinf(x)) PUT(cosf(x)) PUT(tanf(x)) PUT(powf(p, y)) PUT(atan2f(x, y)) PUT(sqrtf(p))
    PUT(cbrtf(x)) PUT(tgammaf(p)) PUT(lgammaf(p)) PUT(erff(x)) PUT(erfcf(x)) PUT(hypotf(x, y)) PUT(fmodf(x, y))
    PUT(asinf(x / 30)) PUT(sinhf(x)) PUT(tanhf(x)) PUT(log2f(p)) PUT(expm1f(x)) PUT(log1pf(p)) PUT(rsqrtf(p))
    PUT(floorf(x)) PUT(remainderf(x, y)) PUT(acoshf(1 + p))
}
extern "C" __global__ void fast_functions(const float *a, const float *b, float *out, int n) {
    EACH const float x = a[i], y = b[i], p = fabsf(x) + 0.125f;
    PUT(__expf(x)) PUT(__logf(p)) PUT(__sinf(x)) PUT(__cosf(x)) PUT(__powf(p, y)) PUT(__fdividef(x, y)) PUT(__exp10f(x / 8))
    PUT(__log2f(p)) PUT(__frcp_rn(y)) PUT(__fsqrt_rn(p)) PUT(__frsqrt_rn(p)) PUT(__saturatef(x)) PUT(__fmaf_rn(x, y, p))
}
// Where double arithmetic leaves its range, and where a choice is between a number and infinity.
extern "C" __global__ void limits_of_doubles(const double *a, double *out, int n) {
    EACH const double x = a[i];
    PUT(exp2(x)) PUT(exp10(x)) PUT(sinh(x)) PUT(cosh(x)) PUT(expm1(x)) PUT(tgamma(x)) PUT(x > 3 ? INFINITY : x)
    PUT(x > 3 ? -INFINITY : fmin(x, (double)INFINITY)) PUT(fmin(0.0 * x, -0.0)) PUT(x < 0 || x > 9 ? INFINITY : x * x)
}
extern "C" __global__ void smaller_and_larger(const double *a, const double *b, double *out, int n) {
    EACH PUT(fmin(a[i], b[i])) PUT(fmax(a[i], b[i])) PUT(fdim(a[i], b[i])) PUT(a[i] < b[i] ? a[i] : b[i])
}
extern "C" __global__ void masked_softmax(const double *x, const int *keep, double *y, int n) {
    __shared__ double s[64];
    const int t = threadIdx.x;
    const double score = t < n && keep[t] ? x[t] : -INFINITY;
    s[t] = score;
    for (int d = 32; d; d /= 2) { __syncthreads(); if (t < d) s[t] = fmax(s[t], s[t + d]); }
    __syncthreads();
    const double power = exp(score - s[0]);
    __syncthreads();
    s[t] = power;
    for (int d = 32; d; d /= 2) { __syncthreads(); if (t < d) s[t] += s[t + d]; }
    __syncthreads();
    if (t < n) y[t] = power / s[0];
}
extern "C" __global__ void special_floats(const float *a, const float *b, unsigned *out, int n) {
    EACH const float x = a[i], y = b[i];
    PUT(__float_as_uint(x + y)) PUT(__float_as_uint(x * y)) PUT(__float_as_uint(__fdiv_rn(x, y))) PUT(isnan(x) + 2 * isinf(y) + 4 * signbit(x))
    PUT(isfinite(x)) PUT((x < y) + 2 * (x == y) + 4 * (x != y) + 8 * (x >= y)) PUT(__float_as_uint(copysignf(x, y)))
    PUT(__float_as_uint(x == x ? x : __uint_as_float(0x7fc01234))) PUT(isnan(NAN) + isinf(INFINITY))
}
extern "C" __global__ void conversions(const float *a, const double *d, long long *out, int n) {
    EACH const float x = a[i];
    PUT((int)x) PUT((unsigned)x) PUT((long long)x) PUT(__float2int_rn(x)) PUT(__float2int_ru(x)) PUT(__float2int_rd(x))
    PUT((short)(int)x) PUT(__double2int_rn(d[i])) PUT((long long)d[i]) PUT(__float_as_int((float)d[i]))
    PUT(__double_as_longlong((double)x)) PUT(__float_as_int((float)(long long)d[i])) PUT((signed char)(int)d[i])
    PUT(llrint(d[i])) PUT(lroundf(x)) PUT(__float_as_int(__double2float_rz(d[i])))
}

extern "C" __global__ void integers_of_64_bits(const long long *a, const long long *b, long long *out, int n) {
    EACH const long long x = a[i], y = b[i];
    const unsigned long long u = x, v = y;
    PUT(x + y) PUT(x * y) PUT(x / y) PUT(x % y) PUT((long long)(u / v)) PUT((long long)(u % v)) PUT(x >> (y & 63))
    PUT((long long)(u >> (y & 63))) PUT(x << (y & 63)) PUT(min(x, y)) PUT((long long)max(u, v)) PUT(__mul64hi(x, y))
    PUT((long long)__umul64hi(u, v)) PUT(__popcll(x)) PUT(__clzll(x)) PUT(__ffsll(x)) PUT((long long)__brevll(u)) PUT(llabs(x))
}
extern "C" __global__ void integers_of_32_bits(const int *a, const int *b, int *out, int n) {
    EACH const int x = a[i], y = b[i];
    const unsigned u = x, v = y;
    PUT(x / y) PUT(x % y) PUT(int(u / v)) PUT(int(u % v)) PUT(__mulhi(x, y)) PUT(int(__umulhi(u, v))) PUT(__popc(x)) PUT(__clz(x))
    PUT(__ffs(x)) PUT(int(__brev(u))) PUT(int(__byte_perm(u, v, 0x3715))) PUT(__sad(x, y, 7u)) PUT(__hadd(x, y)) PUT(__rhadd(x, y))
    PUT(min(max(x, -100), y)) PUT(x >> (y & 31)) PUT(int(u << (v & 31))) PUT(abs(x)) PUT(__funnelshift_l(u, v, 9))
    PUT((x & y) ^ (~x | 0x5a5a)) PUT(__mul24(x & 0xffff, y & 0xfff))
}
// Pairs of 16 bits, which newer architectures add and compare in one instruction.
extern "C" __global__ void pairs_of_shorts(const short *a, const short *b, short *out, int n) {
    EACH const short x = a[i], y = b[i];
    PUT(short(x + y)) PUT(max(x, y)) PUT(min(short(x + 5), y)) PUT(short(-x)) PUT(short(x * y)) PUT(short(abs(x)))
}
extern "C" __global__ void pairs_in_words(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    EACH PUT(__vadd2(a[i], b[i])) PUT(__vmaxs2(a[i], b[i])) PUT(__vminu2(a[i], b[i])) PUT(__vsubss4(a[i], b[i]))
    PUT(__vavgu4(a[i], b[i])) PUT(__vcmpgtu4(a[i], b[i])) PUT(__vsadu4(a[i], b[i])) PUT(__vabsdiffs2(a[i], b[i]))
}
extern "C" __global__ void small_types(const bool *p, const char *a, const short *b, const unsigned char *c, int *out, int n) {
    EACH PUT(p[i] ? a[i] * b[i] : b[i] - c[i]) PUT(c[i] * b[i] + a[i] * b[n - 1 - i]) PUT(!p[i] + 2 * (a[i] > 0))
    PUT(c[i] * c[n - 1 - i] + a[i]) PUT((unsigned char)(c[i] + a[i])) PUT(short(b[i] << 3))
}
// Sums of bytes times shorts.
extern "C" __global__ void bytes_by_shorts(const unsigned char *a, const unsigned short *w, int *out, int n) {
    EACH
    int sum = 0;
    for (int k = 0; k < 2; ++k) sum += a[2 * i + k] * w[k];
    PUT(sum)
    PUT(a[2 * i] * w[0] + a[2 * i + 1] * w[1] + i)
}
extern "C" __global__ void rgb_to_gray(const unsigned char *rgb, unsigned char *gray, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int at = y * width + x;
    const unsigned char r = rgb[3 * at], g = rgb[3 * at + 1], b = rgb[3 * at + 2];
    gray[at] = 0.21f * r + 0.71f * g + 0.07f * b;
}
extern "C" __global__ void blur(const unsigned char *in, unsigned char *out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0, count = 0;
    for (int j = y - 2; j <= y + 2; ++j) for (int i = x - 2; i <= x + 2; ++i)
        if (j >= 0 && j < height && i >= 0 && i < width) sum += in[j * width + i], ++count;
    out[y * width + x] = (unsigned char)(sum / count);
}

__device__ unsigned permuted(unsigned a, unsigned b, unsigned s) { unsigned d; asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(s)); return d; }
extern "C" __global__ void bits_in_ptx(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    EACH
    const unsigned x = a[i], y = b[i];
    unsigned d;
    asm("bfe.u32 %0, %1, 5, 11;" : "=r"(d) : "r"(x)); PUT(d)
    asm("bfe.s32 %0, %1, 20, 9;" : "=r"(d) : "r"(x)); PUT(d)
    asm("bfi.b32 %0, %1, %2, 7, 13;" : "=r"(d) : "r"(x), "r"(y)); PUT(d)
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(x), "r"(y), "r"(x >> 3)); PUT(d)
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y)); PUT(d)
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(d) : "r"(x & 63), "r"(y & 63)); PUT(d)
    asm("bfind.u32 %0, %1;" : "=r"(d) : "r"(x)); PUT(d)
    PUT(permuted(x, y, i & 3))
    asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(y & 63)); PUT(d)
}
extern "C" __global__ void shifts_in_ptx(const unsigned *a, const unsigned *by, unsigned *out, int n) {
    EACH
    unsigned d;
    asm("shl.b32 %0, %1, %2;" : "=r"(d) : "r"(a[i]), "r"(by[i])); PUT(d)
    asm("shr.u32 %0, %1, %2;" : "=r"(d) : "r"(a[i]), "r"(by[i])); PUT(d)
    asm("shr.s32 %0, %1, %2;" : "=r"(d) : "r"(a[i]), "r"(by[i])); PUT(d)
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a[i]), "r"(~a[i]), "r"(by[i])); PUT(d)
}
extern "C" __global__ void video_in_ptx(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    EACH
    unsigned d;
    asm("vadd4.u32.u32.u32.sat %0, %1, %2, %3;" : "=r"(d) : "r"(a[i]), "r"(b[i]), "r"(0)); PUT(d)
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(d) : "r"(a[i]), "r"(b[i]), "r"(i)); PUT(d)
    asm("vmax2.s32.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a[i]), "r"(b[i]), "r"(0)); PUT(d)
}
// Numbers of 128 bits, little end first.
extern "C" __global__ void carries(const uint4 *a, const uint4 *b, uint4 *out, int n) {
    EACH
    uint4 d;
    asm("add.cc.u32 %0, %4, %8; addc.cc.u32 %1, %5, %9; addc.cc.u32 %2, %6, %10; addc.u32 %3, %7, %11;"
        : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
        : "r"(a[i].x), "r"(a[i].y), "r"(a[i].z), "r"(a[i].w), "r"(b[i].x), "r"(b[i].y), "r"(b[i].z), "r"(b[i].w));
    PUT(d)
    asm("sub.cc.u32 %0, %4, %8; subc.cc.u32 %1, %5, %9; subc.cc.u32 %2, %6, %10; subc.u32 %3, %7, %11;"
        : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
        : "r"(a[i].x), "r"(a[i].y), "r"(a[i].z), "r"(a[i].w), "r"(b[i].x), "r"(b[i].y), "r"(b[i].z), "r"(b[i].w));
    PUT(d)
}
extern "C" __global__ void long_product(const uint2 *a, const uint2 *b, uint4 *out, int n) {
    EACH
    uint4 d;
    asm("{ mul.lo.u32 %0, %4, %6; mul.hi.u32 %1, %4, %6; mad.lo.cc.u32 %1, %4, %7, %1; madc.hi.u32 %2, %4, %7, 0;"
        "  mad.lo.cc.u32 %1, %5, %6, %1; madc.hi.cc.u32 %2, %5, %6, %2; addc.u32 %3, 0, 0;"
        "  mad.lo.cc.u32 %2, %5, %7, %2; madc.hi.u32 %3, %5, %7, %3; }"
        : "=&r"(d.x), "=&r"(d.y), "=&r"(d.z), "=&r"(d.w) : "r"(a[i].x), "r"(a[i].y), "r"(b[i].x), "r"(b[i].y));
    PUT(d)
}
extern "C" __global__ void halves_of_doubles(const double *a, double *out, int n) {
    EACH
    PUT(__hiloint2double(__double2hiint(a[i]), __double2loint(a[i]) ^ 1)) PUT(__longlong_as_double(__double_as_longlong(a[i]) + 3))
    PUT(__dadd_ru(a[i], 1e-17)) PUT(__dmul_rd(a[i], 0.1)) PUT(__ddiv_rn(a[i], 3.0)) PUT(__fma_rz(a[i], a[i], 0.3))
}
