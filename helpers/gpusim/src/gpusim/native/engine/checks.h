/* The race detector and the checks of initialisation. The rest of the engine calls these functions (warp.c, memory.c,
 * bulk.c); none of them calls back into it. It reports a fault, HAZARD, and no finding: Python executes the launch
 * again for that. */
#ifndef CHECKS_H
#define CHECKS_H

#include "shadow.h"

/* How an access takes part in a race: two updates do not race with each other. */
enum Touch { READS, WRITES, UPDATES, COPIES };

/* In `flags` of a store: a warp makes it as one, whichever lanes are active. */
enum { FOR_THE_WARP = 1 << 21 };

/* In `flags` of a store of 16 bits to local memory, STL.S16: a register of 16 bits is spilled, to a word that is
 * refilled as a whole. (Elements of arrays are stored by STL.U16.) */
enum { SPILLS_HALF = 1 << 12 };

/* In `flags` of an atomic operation: its result is live. */
enum { RETURNS_OLD = 1 << 13 };

/* In `flags` of an instruction at an mbarrier, which is not a strong access that releases anything else. */
enum { AT_MBARRIER = 1 << 23 };

/* Times are numbers of events; this is a new one. */
enum { MOST_EVENTS = 0x7ffffff0u };
static inline uint32_t tick(Results *results) { return results->now < MOST_EVENTS ? ++results->now : results->now; }

/* Check a legal access. It is a fault, HAZARD, if it might be a race or a read of uninitialised memory. `known`: its
 * pattern, or NULL. */
void check_access(Warp *warp, const Instruction *i, int space, int slot, const Request *request, int width, int touch,
                  const Pattern *known);

/* The threads on behalf of which those of `mask` make a fence, or an atomic operation
 * (checks/aggregated_atomics.py). */
uint32_t voters_for(const Warp *warp, const Instruction *i, uint32_t mask);

/* The threads of `mask` make a fence, `of_block` or of more. */
void note_fence(Warp *warp, uint32_t mask, int of_block);

/* The threads of `mask` have met at a barrier of their warp. */
void note_warp_barrier(Warp *warp, uint32_t mask);

/* The threads of a warp have passed the barrier of their cluster. */
void note_passed(Warp *warp);

/* A cluster has passed its barrier: its blocks know what each of them knew. */
void note_cluster(Cluster *cluster);

/* The threads of a block have passed a barrier, or a phase of an mbarrier has ended, which is one for the race
 * detector: the vector clocks advance, and the barrier is counted. */
void end_phase(Block *block);

/* An instruction is about to be executed by the lanes of `mask` while registers hold uninitialised values. */
void follow_held(Warp *warp, const Instruction *i, uint32_t mask);

/* An instruction is about to be executed by the lanes of `mask`, of the group `here`, while registers or predicates
 * hold what is not defined. It fails where such a value may be used: checks/undefined_values.py finds out whether it
 * is. */
void follow_undefined(Warp *warp, const Instruction *i, uint32_t here, uint32_t mask);

/* The lanes of `mask` take from a row what the lanes `asked` of their warp hold, of which those of `absent` take from
 * lanes that do not take part. */
void take_undefined(Warp *warp, const Instruction *i, uint32_t mask, const Lanes *asked, uint32_t absent);

/* A function of the warp: its mask, the complement of number[3] if it is known, must name the lanes that call it. */
void check_named(Warp *warp, const Instruction *i, uint32_t mask);

/* LDGDEPBAR and DEPBAR: the warp's asynchronous copies since the last one are a group; all but `pending` groups are
 * there. */
void close_copies(Warp *warp, const Instruction *i, uint32_t mask);
void await_copies(Warp *warp, const Instruction *i, uint32_t mask);

/* The threads of `mask` arrive at an mbarrier when all their copies have come: for them these are awaited. */
void arrive_behind_copies(Warp *warp, const Instruction *i, uint32_t mask);

/* One thread reads or writes bytes of an array by a copy in bulk. */
void check_copied(Warp *warp, const Instruction *i, int slot, int lane, uint64_t address, uint64_t size, int touch);

/* The threads of `mask` end: is a copy in flight that no thread waited for? */
void check_end(Warp *warp, const Instruction *i);

/* Where barriers may be of some warps (`has_uninvolved`): a warp comes to a barrier, it goes on as it has waited there,
 * and the barrier may be used again. `are_known`: it accesses bytes of its block, whose copies are settled; 0 if others
 * did something there of which it cannot know. */
static inline int has_uninvolved(const Block *block) { return block->shadow && block->shadow->known; }
void warp_comes(Warp *warp, int barrier);
void warp_goes_on(Warp *warp, int barrier);
void barrier_is_free(Block *block, int barrier);

/* The same of mbarriers at a byte of a block: a warp arrives, the phase ends (0 if it is not kept what was released), a
 * warp observes its end. A warp makes another strong access, which may release and acquire. */
void warp_arrives(Warp *warp, Block *block, uint32_t byte);
int phase_is_known(Block *block, uint32_t byte);
void warp_finds(Warp *warp, uint32_t byte);
void warp_posts(Warp *warp);

int are_known(const Warp *warp, const Cell *cell, int touch);

/* Whether the accesses of another warp of the block up to a time happen before the next ones of this warp. */
int is_known(const Warp *warp, uint32_t other, uint32_t time);

/* Where there are copies in bulk to watch (`block->bulk`): threads meet, by warp `threads` or all; or some of a warp;
 * they arrive at mbarriers, or find phases ended, which ended before; they access shared memory, copy to it or from it,
 * and put their copies to global memory into groups, of which all but some are waited for. */
BulkWatch *make_bulk_watch(const Launch *launch);
void begin_bulk_watch(BulkWatch *watch);
void bulk_met(Block *block, const uint32_t *threads);
void bulk_met_in_warp(const Warp *warp, uint32_t mask);
void bulk_arrives(Warp *warp, const Instruction *i, const Request *request);
void bulk_phase_ended(Block *block, uint32_t byte);
void bulk_found_ended(Warp *warp, const Instruction *i, const Request *request, uint32_t lanes);
void bulk_access(Warp *warp, const Instruction *i, const Request *request, int touch);
void bulk_comes(Warp *warp, const Instruction *i, int lane, Block *block, uint32_t byte, uint32_t size,
                uint32_t counter);
void bulk_puts(Warp *warp, const Instruction *i, int lane, uint32_t byte, uint32_t size);
void bulk_group_closed(const Warp *warp);
void bulk_awaited(const Warp *warp, int pending);

#endif
