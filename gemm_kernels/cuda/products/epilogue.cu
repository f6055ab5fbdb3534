// Epilogues: what becomes of a sum before it is stored, while it is still in a register. Each is a step; a kernel is
// compiled with a list of them. GROUPS times four neighbours of a row are given at a time, so that what a step reads from
// memory is on its way for all of them together.

template <class X, int GROUPS> struct Sums {
    X x[GROUPS][4];
    int row[GROUPS], col[GROUPS], valid[GROUPS];   // of C; so many of the four exist
    int batch, inner;   // the product's number in the batch; products along the batch's inner axis
};

template <class T, int BYTES> struct alignas(BYTES) Four { T of[4]; };

// Four neighbours, of which the first `valid` exist; the others read as 0. wide: they start at a multiple of their size
template <class Format>
__device__ __forceinline__ void read4(typename Format::Sum (&x)[4], const typename Format::Stored *from, long long step,
                                      int valid, bool wide) {
    typedef typename Format::Stored Stored;
    if (wide && valid >= 4) {
        const auto four = *reinterpret_cast<const Four<Stored, (sizeof(Stored) < 4 ? 4 * sizeof(Stored) : 16)> *>(from);
        for (int i = 0; i < 4; ++i) x[i] = Format::read(four.of[i]);
    } else
        for (int i = 0; i < 4; ++i) x[i] = i < valid ? Format::read(from[i * step]) : typename Format::Sum(0);
}

// Store so many of four neighbours. Four doubles are two instructions: so that each fills sectors of 32 bytes, a lane and the
// one beside it, whose neighbours are next to its own, store halves of their first four, and then of their other four
template <class Stored>
__device__ __forceinline__ void write4(Stored *to, const Stored (&x)[4], long long step, int valid, bool wide) {
    if constexpr (sizeof(Stored) == 8) {
        const bool odd = threadIdx.x % 2;
        const Stored taken[2] = {__shfl_xor_sync(0xffffffffu, odd ? x[0] : x[2], 1),
                                 __shfl_xor_sync(0xffffffffu, odd ? x[1] : x[3], 1)};
        if (wide && valid >= (odd ? 4 : 8)) {   // both lanes have four
            to -= odd ? 2 : 0;
            reinterpret_cast<double2 &>(to[0]) = {odd ? taken[0] : x[0], odd ? taken[1] : x[1]};
            reinterpret_cast<double2 &>(to[4]) = {odd ? x[2] : taken[0], odd ? x[3] : taken[1]};
            return;
        }
    }
    if (wide && valid >= 4) {
        Four<Stored, (sizeof(Stored) < 4 ? 4 * sizeof(Stored) : 16)> four;
        for (int n = 0; n < 4; ++n) four.of[n] = x[n];
        *reinterpret_cast<decltype(four) *>(to) = four;
    } else
        for (int n = 0; n < 4; ++n)
            if (n < valid) to[n * step] = x[n];
}

template <class Format>
__device__ __forceinline__ void read_beside(typename Format::Sum (&x)[4], const Beside &b, int batch, int inner, int row,
                                            int col, int valid) {
    auto first = static_cast<const typename Format::Stored *>(b.first);
    first += batch % inner * b.batch_step + batch / inner * b.outer_step + row * b.row_step + col * b.col_step;
    read4<Format>(x, first, b.col_step, valid, b.wide);
}

// x + b: a bias (its step along rows is 0), or a residual, which has a number of its own to be multiplied by
template <class Format> struct Add {
    template <class X, int GROUPS> static __device__ __forceinline__ void apply(Sums<X, GROUPS> &s, const Beside &b) {
        typename Format::Sum other[GROUPS][4];
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g)
            read_beside<Format>(other[g], b, s.batch, s.inner, s.row[g], s.col[g], s.valid[g]);
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g)
            for (int i = 0; i < 4; ++i) s.x[g][i] += X(b.number) * X(other[g][i]);
    }
};

// x * b: a gate, or a scale for each row or column
template <class Format> struct Multiply {
    template <class X, int GROUPS> static __device__ __forceinline__ void apply(Sums<X, GROUPS> &s, const Beside &b) {
        typename Format::Sum other[GROUPS][4];
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g)
            read_beside<Format>(other[g], b, s.batch, s.inner, s.row[g], s.col[g], s.valid[g]);
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g)
            for (int i = 0; i < 4; ++i) s.x[g][i] *= X(other[g][i]);
    }
};

// A function of each element by itself
template <class Function> struct Each {
    template <class X, int GROUPS> static __device__ __forceinline__ void apply(Sums<X, GROUPS> &s, const Beside &) {
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g)
            #pragma unroll
            for (int i = 0; i < 4; ++i) s.x[g][i] = Function::of(s.x[g][i]);
    }
};

struct Relu {
    template <class X> static __device__ __forceinline__ X of(X x) { return x < X(0) ? X(0) : x; }   // NaN stays NaN
};
// x times the share of a normal distribution below x. In float the share below -|x| is two to the power of a polynomial,
// fitted to 4e-8 of the result, because erff takes three times the instructions; past 16 the share is 0
struct Gelu {
    static __device__ __forceinline__ float of(float x) {
        const float size = fminf(fabsf(x), 16.0f);
        float power = -9.6263284e-07f, share;
        power = fmaf(power, size, 1.5597903e-05f);
        power = fmaf(power, size, -6.4782522e-05f);
        power = fmaf(power, size, -4.5837826e-04f);
        power = fmaf(power, size, 7.5385938e-03f);
        power = fmaf(power, size, -5.2889034e-02f);
        power = fmaf(power, size, -0.45903632f);
        power = fmaf(power, size, -1.1511399f);
        power = fmaf(power, size, -0.99999774f);
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(power));
        return fmaf(-size, share, Relu::of(x));
    }
    static __device__ __forceinline__ double of(double x) { return 0.5 * x * (1.0 + erf(0.70710678118654752 * x)); }
};
struct Silu {   // x times the logistic function
    static __device__ __forceinline__ float of(float x) { return x / (1.0f + expf(-x)); }
    static __device__ __forceinline__ double of(double x) { return x / (1.0 + exp(-x)); }
};

// The largest size of an element of all so far. Bits of floats that are not negative are ordered as integers are, and a
// maximum does not depend on the order in which blocks arrive; a NaN is larger than all
struct Amax {
    template <class X, int GROUPS> static __device__ __forceinline__ void apply(Sums<X, GROUPS> &s, const Beside &b) {
        unsigned largest = 0;
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g)
            for (int i = 0; i < 4; ++i)
                if (i < s.valid[g]) largest = max(largest, __float_as_uint(fabsf(float(s.x[g][i]))));
        largest = __reduce_max_sync(0xffffffff, largest);
        if (threadIdx.x % 32 == 0) atomicMax(static_cast<unsigned *>(const_cast<void *>(b.first)), largest);
    }
};

// Zero with a probability, and else times 1 / (1 - probability). Chance is a function of the seed and of the element's
// place alone (Philox 4x32 with ten rounds): the same in every tile, and again in a backward pass that stores no mask
struct Dropout {
    template <class X, int GROUPS> static __device__ __forceinline__ void apply(Sums<X, GROUPS> &s, const Beside &b) {
        const unsigned limit = unsigned(b.number * 4294967296.0);
        const X kept = X(1 / (1 - b.number));
        #pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
            unsigned word[4] = {unsigned(s.col[g] / 4), unsigned(s.row[g]), unsigned(s.batch), 0};
            unsigned key0 = unsigned(b.seed), key1 = unsigned(b.seed >> 32);
            #pragma unroll
            for (int round = 0; round < 10; ++round) {
                const unsigned high0 = __umulhi(0xD2511F53u, word[0]), low0 = 0xD2511F53u * word[0];
                const unsigned high1 = __umulhi(0xCD9E8D57u, word[2]), low1 = 0xCD9E8D57u * word[2];
                word[0] = high1 ^ word[1] ^ key0;
                word[1] = low1;
                word[2] = high0 ^ word[3] ^ key1;
                word[3] = low0;
                key0 += 0x9E3779B9u;
                key1 += 0xBB67AE85u;
            }
            for (int i = 0; i < 4; ++i) s.x[g][i] = word[i] < limit ? X(0) : s.x[g][i] * kept;
        }
    }
};
