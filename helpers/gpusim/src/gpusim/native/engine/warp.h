/* One warp: its groups of threads, and the loop that executes them. */
#ifndef WARP_H
#define WARP_H

#include "machine.h"

enum { TURN = 1024, LOOK = 256 }; /* instructions; of a warp that waited in its last turn, at most */

/* Execute until no thread can run, for one turn if others may be waited for, or until no turns are left. 1 while a
 * thread can run. */
int run_turn(Warp *warp);

/* For how many instructions some of a warp's threads have not gone on, in machine code because they are at BSYNC, in
 * PTX because they are at a place further on than others. */
int64_t held_up(const Warp *warp);

/* How long they may be, in so many turns, while the others poll (MAY_POLL), or surely wait, as far as can be observed
 * (POLLS). It is less each time that some have been. */
enum { MAY_POLL = 128, POLLS = 16 };
int64_t patience_of(const Warp *warp, int64_t turns);

/* Threads wait at BSYNC for others of their warp, which wait for them in a loop: the lock that the first ones hold,
 * say. An H200 lets the first ones go on alone (tests/gpusim/goldens/system_sm_90.json). Whether there are any. */
int part_from_loop(Warp *warp);

/* The threads of a group wait for phases of mbarriers to end: 1 if they have, or if the group `gives_up`. */
int try_wait(Warp *warp, const Instruction *i, uint32_t mask, int gives_up);

/* Let those of the warp go on whose phases have ended, or all (`gives_up`). Returns whether any does. */
int wake_at_phases(Warp *warp, int gives_up);

/* The result of a vote at the barrier that all have come to. */
void barrier_result(Warp *warp, const Instruction *i, uint32_t mask);

/* By lane the token of the meeting that it has at Bn. Most warps use few of them, so each begins when it is asked
 * for. */
static inline int32_t *tokens_of(Warp *warp, int n) {
    if (!(warp->has_tokens >> n & 1)) memset(warp->token[n], 0, sizeof warp->token[n]);
    warp->has_tokens |= 1u << n;
    return warp->token[n];
}

/* What was agreed on when a token was made; NULL if another one has taken the place since. */
static inline Agreed *agreement(Warp *warp, int32_t token) {
    if (token <= 0 || token > warp->serial) return 0;
    Agreed *agreed = &warp->agreed[token % AGREED];
    return agreed->token == token ? agreed : 0;
}

/* A token for a meeting; its entry of `agreed` is free, unless more than AGREED meetings are to come. */
static inline int32_t new_token(Warp *warp) {
    if (!warp->serial) memset(warp->agreed, 0, sizeof warp->agreed);
    for (int tries = 0; tries < AGREED; tries++)
        if (!(warp->agreed[++warp->serial % AGREED].lanes & warp->living)) break;
    return warp->serial;
}

/* The lanes of the warp that have this token at Bn. */
static inline uint32_t lanes_with(Warp *warp, int n, int32_t token) {
    Lanes tokens;
    memcpy(&tokens, tokens_of(warp, n), sizeof tokens);
    return gather_bits((SignedLanes)(tokens == broadcast((uint32_t)token)));
}

/* Lanes get a token at Bn. */
static inline void give_token(Warp *warp, int n, uint32_t lanes, int32_t token) {
    Lanes tokens;
    memcpy(&tokens, tokens_of(warp, n), sizeof tokens);
    tokens = choose(spread(lanes), broadcast((uint32_t)token), tokens);
    memcpy(warp->token[n], &tokens, sizeof tokens);
}

/* The lanes have been at the meetings that they have at Bn, or will not come. */
static inline void forget_meetings(Warp *warp, int n, uint32_t lanes) {
    for (uint32_t rest = lanes; rest;) {
        int32_t token = tokens_of(warp, n)[__builtin_ctz(rest)];
        uint32_t same = rest & lanes_with(warp, n, token);
        Agreed *agreed = agreement(warp, token);
        if (agreed) agreed->lanes &= ~same;
        rest &= ~same;
    }
    give_token(warp, n, lanes, NO_MEETING);
}

/* The instructions of all operations, by number; NULL behind the last. */
const NamedOperation *operation_of(int number);

#endif
