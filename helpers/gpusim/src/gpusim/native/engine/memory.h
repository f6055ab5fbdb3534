/* Address translation and bounds of accesses, and their records; and what a warp polls. */
#ifndef MEMORY_H
#define MEMORY_H

#include "patterns.h"

/* The sum of sources `first` and `first` + 1, each times a scale, and an offset. */
void addresses_of(const Warp *warp, const Instruction *i, int first, int is_wide, int64_t offset,
                  const int32_t scale[2], Addresses *where);

void request_of(const Addresses *where, uint32_t mask, Request *request);

/* The array that holds an address, or -1. */
int allocation_of(const Launch *launch, uint64_t address, int width);

int may_write(const Allocation *allocation, uint64_t first, uint64_t end);

/* Where in the memory of the host each active lane's bytes are, and in which array (`slot`; of the first active lane).
 * 0 after a fault. */
int locate(Warp *warp, const Instruction *i, int space, const Request *request, int width, int writes,
           uint8_t *at[WARP], int *slot);

/* A legal request was made. `stores`: it is counted as one, as all but plain loads are. `known`: its pattern, or
 * NULL. */
void record(Warp *warp, const Instruction *i, int space, int slot, const Request *request, int width, int stores,
            int touch, Pattern *known);

/* Which of the words that the warp has polled its last relaxed load has read; -1 for another one, or no such load. */
int polled_place(const Warp *warp);

/* Whether memory still holds `word` at the address of the last poll; `word` becomes what it holds. */
int still_holds(const Warp *warp, uint32_t *word);

/* Whether the warp polled the same word as at the end of a turn before, and read the same value. */
int sees_nothing_new(const Warp *warp);

typedef void Access(Warp *warp, const Instruction *i, int space, const Request *request);

/* Carry out an access to shared memory: of the own block, and of others of the cluster. */
void in_its_block(Warp *warp, const Instruction *i, const Request *request, Access *access);

/* What an atomic operation makes of the old value; number[2]: the operation, number[3]: the type of the values. */
uint64_t updated(const Instruction *i, uint64_t old, uint64_t value, uint64_t other);

/* The bytes of the type number[3]. */
int size_of_type(const Instruction *i);

#endif
