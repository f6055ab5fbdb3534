/* Which instructions the processor has, asked by the library that runs on every processor.
 *
 * x86-64 came in 2003 without a fused multiply-add and with vectors of 16 bytes. What compilers call x86-64-v3, AVX2 and
 * FMA among it, is in most processors since 2013, but not in all that people still use, and to execute one of its
 * instructions elsewhere ends the process. x86-64-v4, AVX-512, is in servers' processors since 2017 and in some others.
 * So there are several builds, and Python asks the plain one which to load. */
#include "native.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* The registers whose contents the operating system keeps when it switches between threads. */
static uint64_t kept_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Whether there is x86-64-v4, where x86-64-v3 is known to be. `b`: what function 7 of CPUID says of the processor. */
static int has_wide_vectors(uint32_t b) {
    const uint32_t parts = 1u << 16 /* AVX512F */ | 1u << 17 /* DQ */ | 1u << 28 /* CD */ | 1u << 30 /* BW */ |
                           1u << 31 /* VL */;
    return (b & parts) == parts && (kept_registers() & 0xe0) == 0xe0; /* masks, and vector registers of 64 bytes */
}

/* 4 where the processor and the system have x86-64-v4, 3 where they have x86-64-v3, else 1. */
EXPORT int processor_level(void) {
    uint32_t a, b, c, d, more;
    const uint32_t basic = 1u << 12 /* FMA */ | 1u << 22 /* MOVBE */ | 1u << 27 /* OSXSAVE */ | 1u << 28 /* AVX */ |
                           1u << 29 /* F16C */;
    const uint32_t extended = 1u << 3 /* BMI */ | 1u << 5 /* AVX2 */ | 1u << 8 /* BMI2 */;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & basic) != basic) return 1;
    if ((kept_registers() & 6) != 6) return 1; /* 16-byte and 32-byte vector registers */
    if (!__get_cpuid_count(7, 0, &a, &more, &c, &d) || (more & extended) != extended) return 1;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & 1u << 5 /* LZCNT */)) return 1;
    return has_wide_vectors(more) ? 4 : 3;
}
#else
EXPORT int processor_level(void) { return 1; }
#endif
