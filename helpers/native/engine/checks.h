/* The sanitizer's watch: is there anything that it would have to look into? */
#ifndef CHECKS_H
#define CHECKS_H

#include "machine.h"

/* How an access takes part in a race: two updates do not race with each other. */
enum Touch { READS, WRITES, UPDATES, COPIES };

/* Look at a legal access. It is a fault, HAZARD, if it might be a race or a read of what nobody wrote. `known`: its pattern,
 * or NULL. */
void check_access(Warp *warp, const Instruction *i, int space, int slot, const Request *request, int width, int touch,
                  const Pattern *known);

/* The threads of `mask` make a fence, `of_block` or of more. */
void note_fence(Warp *warp, uint32_t mask, int of_block);

/* The threads of `mask` have met at a barrier of their warp. */
void note_warp_barrier(Warp *warp, uint32_t mask);

/* The threads of a warp have passed the barrier of their cluster. */
void note_passed(Warp *warp);

/* A cluster has passed its barrier: its blocks know what each of them knew. */
void note_cluster(Cluster *cluster);

/* The threads of a block have passed a barrier. */
void note_barrier(Block *block, Results *results);

/* An instruction is about to be executed by the lanes of `mask` while registers hold what nobody wrote. */
void follow_held(Warp *warp, const Instruction *i, uint32_t mask);

/* LDGDEPBAR and DEPBAR: the warp's asynchronous copies since the last one are a group; all but `pending` groups are there. */
/* A function of the warp whose mask is the constant number[3], 0 if it is not known: it must name who calls it. */
void check_named(Warp *warp, const Instruction *i, uint32_t mask);
void close_copies(Warp *warp, const Instruction *i, uint32_t mask);
void await_copies(Warp *warp, const Instruction *i, uint32_t mask);

/* The threads of `mask` end: is a copy under way that nobody waited for? */
void check_end(Warp *warp, const Instruction *i);

#endif
