// Formats: how an element lies in memory (Stored), as what it is summed (Sum), and how one becomes the other. 16-bit and
// 8-bit floats are bits to C++; the tensor core reads them as they are, and so does a copy.

struct F32 {
    typedef float Stored;
    typedef float Sum;
    static __device__ __forceinline__ float read(float x) { return x; }
    static __device__ __forceinline__ float write(float x) { return x; }
};

struct F64 {
    typedef double Stored;
    typedef double Sum;
    static __device__ __forceinline__ double read(double x) { return x; }
    static __device__ __forceinline__ double write(double x) { return x; }
};

struct F16 {
    typedef unsigned short Stored;
    typedef float Sum;
    static __device__ __forceinline__ float read(unsigned short bits) {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
    static __device__ __forceinline__ unsigned short write(float x) {
        unsigned short bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
        return bits;
    }
};

struct BF16 {
    typedef unsigned short Stored;
    typedef float Sum;
    static __device__ __forceinline__ float read(unsigned short bits) { return __uint_as_float(unsigned(bits) << 16); }
    static __device__ __forceinline__ unsigned short write(float x) {
        unsigned short bits;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
        return bits;
    }
};

struct S8 {
    typedef signed char Stored;
    typedef int Sum;
    static __device__ __forceinline__ int read(signed char x) { return x; }
};

struct S32 {
    typedef int Stored;
    typedef int Sum;
    static __device__ __forceinline__ int read(int x) { return x; }
    static __device__ __forceinline__ int write(int x) { return x; }
};

struct E4M3 {
    typedef unsigned char Stored;
    typedef float Sum;
};

struct E5M2 {
    typedef unsigned char Stored;
    typedef float Sum;
};
