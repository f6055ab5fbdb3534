/* One warp: its groups of threads, and the loop that executes them. */
#ifndef WARP_H
#define WARP_H

#include "machine.h"

/* Execute until nobody can go on, or for one turn if others may be waited for. 1 while somebody can go on. */
int run_turn(Warp *warp);

/* The instructions of all operations, by number; NULL behind the last. */
const NamedOperation *operation_of(int number);

#endif
