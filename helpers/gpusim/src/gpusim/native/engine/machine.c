/* What every part of the engine calls: the modifiers of a source, and the end of a launch by a fault. */
#include "machine.h"

#include <string.h>

#include "floats.h"

__attribute__((noinline)) Lanes modified(Lanes value, uint32_t mode) {
    if (mode & OF_FLOAT) {
        uint32_t lane[WARP];
        memcpy(lane, &value, sizeof lane);
        for (int k = 0; k < WARP; k++) lane[k] = half_of(as_float(lane[k]), TO_NEAREST) * 0x10001u;
        memcpy(&value, lane, sizeof value);
    }
    if (mode & LOW_TWICE) value = (value & 0xffffu) | value << 16;
    if (mode & HIGH_TWICE) value = (value >> 16) | (value & 0xffff0000u);
    if (mode & NEGATE_HIGH) value ^= broadcast(0x80000000u);
    if (mode & HALF_ABSOLUTE) value &= broadcast(0x7fff7fffu);
    if (mode & HALF_NEGATE) value ^= broadcast(0x80008000u);
    if (mode & FLOAT_ABSOLUTE) value &= broadcast(0x7fffffffu);
    if (mode & FLOAT_NEGATE) value ^= broadcast(0x80000000u);
    if (mode & INVERT) value = ~value;
    if (mode & NEGATE) value = -value;
    return value;
}

void fail(Warp *warp, const Instruction *i, int fault, int lane, int64_t address) {
    Results *results = warp->results;
    if (results->fault) return;
    results->fault = fault;
    results->fault_instruction = i->index;
    results->fault_block = warp->block->id;
    results->fault_thread = warp->number * WARP + lane;
    results->fault_address = address;
}
