/* Runs of instructions that compute, executed for Python: the values of registers come from its arrays, and go there.
 *
 * An array has a value for each thread of each block, for each thread (the same in all blocks), for each block, or one
 * for all of them; see engine/lanewise.py. */
#include "machine.h"
#include "warp.h"

enum { MOST_ROWS = 512 };

/* A register of a warp, or a predicate, and the array that holds it. bytes: of a value in the warp, 0 for a predicate;
 * step: from one value of the array to the next. by_thread, by_block: whether it differs among them. */
typedef struct {
    int32_t place, bytes, step, by_thread, by_block;
} Port;

static uint8_t *first_of(const Port *port, uint8_t *array, int64_t block, int64_t thread, int64_t threads) {
    int64_t at = port->by_block ? block * (port->by_thread ? threads : 1) : 0;
    return array + (at + (port->by_thread ? thread : 0)) * port->step;
}

static uint32_t packed(const uint8_t *truth, int count) {
    uint32_t bits = 0;
    for (int lane = 0; lane < count; lane++) bits |= (uint32_t)(truth[lane] & 1) << lane;
    return bits;
}

static void take(Warp *warp, const Port *port, const uint8_t *from, int count) {
    uint32_t lane[WARP] = {0};
    if (!port->bytes) {
        warp->predicate[port->place] = !port->by_thread ? *from ? 0xffffffffu : 0 : packed(from, count);
        return;
    }
    if (!port->by_thread) {
        memcpy(lane, from, (size_t)port->bytes);
        warp->rows[port->place] = broadcast(lane[0]);
        return;
    }
    if (port->step == 4 && count == WARP) memcpy(lane, from, sizeof lane);
    else for (int k = 0; k < count; k++) memcpy(lane + k, from + k * port->step, (size_t)port->bytes);
    memcpy(warp->rows + port->place, lane, sizeof lane);
}

static void give(const Warp *warp, const Port *port, uint8_t *to, int count) {
    if (!port->bytes) {
        const uint32_t bits = warp->predicate[port->place];
        for (int lane = 0; lane < (port->by_thread ? count : 1); lane++) to[lane] = bits >> lane & 1;
        return;
    }
    const uint8_t *row = (const uint8_t *)(warp->rows + port->place);
    if (port->step == 4 && port->by_thread && count == WARP) memcpy(to, row, WARP * 4);
    else for (int k = 0; k < (port->by_thread ? count : 1); k++)
        memcpy(to + k * port->step, row + 4 * k, (size_t)port->bytes);
}

/* Execute the code of a launch for all threads of some blocks. in, out: the registers that it reads and writes, with
 * the arrays of each. active: by block and thread whether it takes part in what a warp does together; NULL where each
 * computes for itself. */
EXPORT void compute(const Launch *launch, const Port *in, uint8_t **from, int32_t ins, const Port *out, uint8_t **to,
                    int32_t outs, int64_t blocks, int64_t threads, const uint8_t *active) {
    _Alignas(128) Lanes rows[MOST_ROWS];
    Operation *execute[WARP];
    Block block = {.warps = 1, .living_warps = 1};
    Warp warp;
    memset(&warp, 0, sizeof warp);
    warp.block = &block;
    warp.launch = launch;
    warp.rows = rows;
    warp.predicate[ALWAYS] = warp.predicate[ALWAYS + 8] = 0xffffffffu;
    for (int k = 0; k < launch->instructions; k++) execute[k] = operation_of(launch->code[k].operation)->execute;
    for (int64_t b = 0; b < blocks; b++) {
        for (int64_t t = 0; t < threads; t += WARP) {
            const int count = threads - t < WARP ? (int)(threads - t) : WARP;
            const uint32_t lanes = active ? packed(active + b * threads + t, count) : 0xffffffffu;
            if (!lanes) continue;
            for (int k = 0; k < ins; k++) take(&warp, in + k, first_of(in + k, from[k], b, t, threads), count);
            for (int k = 0; k < launch->instructions; k++) execute[k](&warp, launch->code + k, lanes);
            for (int k = 0; k < outs; k++)
                if ((out[k].by_thread || !t) && (out[k].by_block || !b))
                    give(&warp, out + k, first_of(out + k, to[k], b, t, threads), count);
        }
    }
}
