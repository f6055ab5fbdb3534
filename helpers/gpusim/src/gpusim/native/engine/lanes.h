/* A register of a warp: 32 lanes of 32 bits as one value.
 *
 * The compiler's vector extension lets an operation on a whole warp be written as one on a number; it becomes 4
 * instructions with 32-byte vectors, 8 with 16-byte ones. */
#ifndef LANES_H
#define LANES_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

typedef uint32_t Lanes __attribute__((vector_size(128)));
typedef int32_t SignedLanes __attribute__((vector_size(128)));
typedef float FloatLanes __attribute__((vector_size(128)));

enum { ALL_LANES = -1 };

/* The lanes of a value, one by one. (For value[lane] a compiler copies the whole value, each time.) */
static inline const uint32_t *each_of(const Lanes *value) { return (const uint32_t *)value; }

static inline Lanes broadcast(uint32_t value) {
    return (Lanes){0} + value;
}

/* Bit i in lane i. */
static const Lanes LANE_BIT = {1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7, 1u << 8, 1u << 9,
                               1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18,
                               1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27,
                               1u << 28, 1u << 29, 1u << 30, 1u << 31};

static const Lanes LANE = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                           16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* Bit i of `mask` → all bits of lane i. */
static inline Lanes spread(uint32_t mask) { return (Lanes)((broadcast(mask) & LANE_BIT) == LANE_BIT); }

/* The bits that any lane has. */
static inline uint32_t any_of(Lanes value) {
    uint32_t lane[32], any = 0;
    memcpy(lane, &value, sizeof lane);
    for (int k = 0; k < 32; k++) any |= lane[k]; /* in this form a compiler does it with whole vectors */
    return any;
}

/* Lane i, all ones or zero as comparisons leave it → bit i. */
static inline uint32_t gather_bits(SignedLanes truth) {
#if defined __AVX512DQ__
    __m512i half[2];
    memcpy(half, &truth, sizeof half);
    return _mm512_movepi32_mask(half[0]) | (uint32_t)_mm512_movepi32_mask(half[1]) << 16;
#elif defined __SSE2__
    __m128i part[8];
    uint32_t bits = 0;
    memcpy(part, &truth, sizeof part);
    for (int k = 0; k < 4; k++) { /* 32 bits each → 16 → 8, whose top bits are left */
        __m128i both = _mm_packs_epi32(part[2 * k], part[2 * k + 1]);
        bits |= (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(both, _mm_setzero_si128())) << 8 * k;
    }
    return bits;
#else
    return any_of((Lanes)truth & LANE_BIT);
#endif
}

/* A word for each lane, so many bytes from the first. */
static inline Lanes words_at(const uint8_t *first, const int32_t distance[32]) {
    Lanes words;
#if defined __AVX512F__
    __m512i half[2];
    for (int k = 0; k < 2; k++) half[k] = _mm512_i32gather_epi32(_mm512_loadu_si512(distance + 16 * k), first, 1);
    memcpy(&words, half, sizeof words);
#else
    uint32_t each[32];
    for (int lane = 0; lane < 32; lane++) memcpy(each + lane, first + distance[lane], 4);
    memcpy(&words, each, sizeof words);
#endif
    return words;
}

/* `yes` where `choice` is all ones, `no` where it is zero. */
static inline Lanes choose(Lanes choice, Lanes yes, Lanes no) {
    return (choice & yes) | (~choice & no);
}

#endif
