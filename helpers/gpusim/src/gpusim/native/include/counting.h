/* What the memory system does for one request of a warp: the rules that the engine counts by and the time model
 * takes. */
#ifndef COUNTING_H
#define COUNTING_H

#include <stdint.h>

enum { WARP = 32, SECTOR_BYTES = 32, LINE_BYTES = 128, BANKS = 32, WORD_BYTES = 4 };

/* The order is that of `Counts` in counters/recorded.py: a row of sums is read there as it lies here. */
enum Quantity {
    REQUESTS, LANES, SECTORS, TAGS, USEFUL_BYTES, WAVEFRONTS, IDEAL_WAVEFRONTS, UNCERTAIN, IDEAL_SECTORS,
    COPY_WAVEFRONTS, QUANTITIES
};

/* A request: the byte address of each lane and the lanes that take part, one bit each. */
typedef struct {
    uint64_t address[WARP];
    uint32_t active;
} Request;

/* Sectors, lines and bytes of global or local memory. `copies`: it is an asynchronous copy. */
void count_lines(const Request *request, int width, int copies, int64_t *sums);

/* Wavefronts of shared memory. `stores`: stores, atomics and LDSM, whose phases never merge. */
void count_banks(const Request *request, int width, int stores, int64_t *sums);

/* Wavefronts of an asynchronous copy: its shared addresses, and where in global memory it reads; `origin`'s active
 * lanes are those that read anything. */
void count_copy(const Request *to, const Request *origin, int width, int64_t *sums);

/* The wavefronts that a request to shared memory takes. `stores` as in count_banks; merged: how many pairs of phases of
 * a 128-bit load are one. */
int shared_wavefronts(const Request *request, int width, int stores, int *merged);

/* The same of phases that never merge, and of an asynchronous copy with both its sides. */
int wavefronts_in_phases(const Request *request, int width);
int copy_wavefronts(const Request *to, const Request *origin, int width);

#endif
