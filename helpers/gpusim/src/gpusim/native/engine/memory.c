/* Loads, stores, atomics and asynchronous copies: where they go, whether they may, and what they cost.
 *
 * A request is counted by `counting.c`. One that looks like another one before is recognised (`patterns.c`), and then
 * its lanes need not be visited one by one. */
#include "checks.h"
#include "clock.h"
#include "floats.h"
#include "memory.h"

/* Modifiers, in `flags`. */
enum {
    SPACE = 3, GENERIC = 3,                    /* the space; the others are those of `enum Space` */
    WIDE_ADDRESS = 4,                          /* 64 bits, else 32 */
    SIGNED_TERM = 8,                           /* and << k: term k of a wide address is a signed number of 32 bits */
    SIGNED_VALUE = 1 << 12,                    /* a narrow load */
    FLUSHES = 1 << 14, SETS = 1 << 15, FILLS = 1 << 16, TRANSPOSED = 1 << 17,
    ANYWHERE = 1 << 19,                        /* in any block of the cluster */
    /* what is loaded is extended to 64 bits; a copy says how much it reads */
    EXTENDS = 1 << 24, SIZED = 1 << 25,
    UNWATCHED = 1 << 26,                       /* what functions are given and give back is in registers, really */
    ELEMENTS = 28                              /* from this bit on: how many elements an atomic operation is done to */
};

/* Generic addresses: shared and local memory are seen through windows far above every global address. */
static const uint64_t SHARED_WINDOW = 1ull << 60, LOCAL_WINDOW = 1ull << 61;

/* ---- addresses */

/* Add 32 numbers, in halves, to the addresses. */
static void add_term(Addresses *where, Lanes low, Lanes high) {
    where->low += low;
    where->high += high - (Lanes)(where->low < low); /* a comparison that is true is -1 */
}

void addresses_of(const Warp *warp, const Instruction *i, int first, int is_wide, int64_t offset,
                  const int32_t scale[2], Addresses *where) {
    if (is_wide) {
        where->low = broadcast((uint32_t)offset);
        where->high = broadcast((uint32_t)((uint64_t)offset >> 32));
        for (int k = first; k < first + 2; k++) {
            if (!i->width[k]) continue;
            Lanes low = *row_of(warp, i->source[k]), high = {0};
            if (i->width[k] == 2) high = *row_at(warp, i->source[k], 1);
            else if (i->flags & (uint32_t)SIGNED_TERM << k) high = (Lanes)((SignedLanes)low >> 31);
            add_term(where, low, high);
        }
        return;
    }
    Lanes sum = broadcast((uint32_t)offset);
    if ((i->flags & SPACE) != LOCAL) sum -= broadcast(own_rank(warp));
    for (int k = 0; k < 2; k++)
        if (i->width[first + k]) sum += *row_of(warp, i->source[first + k]) * (uint32_t)scale[k];
    where->low = sum;
    where->high = (Lanes)((SignedLanes)sum >> 31);
}

void request_of(const Addresses *where, uint32_t mask, Request *request) {
    const uint32_t *low = (const uint32_t *)&where->low, *high = (const uint32_t *)&where->high;
    for (int lane = 0; lane < WARP; lane++) request->address[lane] = (uint64_t)high[lane] << 32 | low[lane];
    request->active = mask;
}

int allocation_of(const Launch *launch, uint64_t address, int width) {
    for (int k = 0; k < launch->allocation_count; k++) {
        const Allocation *allocation = &launch->allocations[k];
        if (address >= allocation->base && address + (uint64_t)width <= allocation->end) return k;
    }
    return -1;
}

static uint64_t thread_of(const Warp *warp, int lane) { return (uint64_t)(warp->number * WARP + lane); }

/* The lowest and the highest address of the active lanes, and all bits that one of them has. */
typedef struct {
    uint64_t low, high, bits;
} Extent;

static Extent extent_of(const Request *request) {
    uint64_t first = request->address[__builtin_ctz(request->active)];
    Extent extent = {first, first, 0};
    for (int lane = 0; lane < WARP; lane++) {
        uint64_t address = request->active >> lane & 1 ? request->address[lane] : first;
        extent.bits |= address;
        extent.low = (int64_t)address < (int64_t)extent.low ? address : extent.low;
        extent.high = (int64_t)address > (int64_t)extent.high ? address : extent.high;
    }
    return extent;
}

/* The first active lane whose address has one of these bits, or lies outside [start, stop). */
static int first_wrong(const Request *request, uint64_t bits, int64_t start, int64_t stop) {
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        int64_t address = (int64_t)request->address[lane];
        if (request->address[lane] & bits || address < start || address >= stop) return lane;
    }
    return 0;
}

int may_write(const Allocation *allocation, uint64_t first, uint64_t end) {
    return allocation->writable && first >= allocation->write_base && end <= allocation->write_end;
}

/* The lanes of one request look into different arrays (a pointer chosen at run time), or outside all of them. */
static int locate_pieces(Warp *warp, const Instruction *i, const Request *request, int width, int writes,
                         uint8_t *at[WARP], int *slot) {
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), found = allocation_of(warp->launch, request->address[lane], width);
        if (found < 0 || (writes && !may_write(&warp->launch->allocations[found], request->address[lane],
                                               request->address[lane] + (uint64_t)width))) {
            fail(warp, i, OUT_OF_BOUNDS, lane, (int64_t)request->address[lane]);
            return 0;
        }
        if (*slot < 0) *slot = found;
        const Allocation *allocation = &warp->launch->allocations[found];
        at[lane] = allocation->bytes + (request->address[lane] - allocation->base);
    }
    return 1;
}

/* The same in the shared memory of other blocks of the cluster, which must be there still. */
static int locate_in_cluster(Warp *warp, const Instruction *i, const Request *request, int width, uint8_t *at[WARP],
                             int *slot) {
    const Launch *launch = warp->launch;
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t rank = request->address[lane] >> RANK_SHIFT, byte = byte_of(request->address[lane]);
        Block *block = rank < (uint64_t)launch->cluster_blocks ? warp->block->cluster->block[rank] : 0;
        if (!block || byte + (uint64_t)width > (uint64_t)launch->shared_bytes) {
            fail(warp, i, OUT_OF_BOUNDS, lane, (int64_t)request->address[lane]);
            return 0;
        }
        at[lane] = block->shared + byte;
    }
    *slot = launch->allocation_count + CLUSTER - SHARED;
    return 1;
}

enum { CONSTANT = LOCAL + 1 }; /* where the limits of constants are */

/* The bytes of shared, of local or of constant memory that an instruction may access: the first, and the one behind the
 * last. */
static const int32_t *limits_of(const Launch *launch, const Instruction *i, int space) {
    return launch->limits + 6 * i->index + 2 * (space - SHARED);
}

int locate(Warp *warp, const Instruction *i, int space, const Request *request, int width, int writes,
           uint8_t *at[WARP], int *slot) {
    const Launch *launch = warp->launch;
    const Extent extent = extent_of(request);
    *slot = -1;
    if (extent.bits & (uint64_t)(width - 1)) {
        int lane = first_wrong(request, (uint64_t)(width - 1), INT64_MIN, INT64_MAX);
        fail(warp, i, MISALIGNED, lane, (int64_t)request->address[lane]);
        return 0;
    }
    if (space == GLOBAL) {
        int found = allocation_of(launch, extent.low, width);
        const Allocation *allocation = &launch->allocations[found];
        if (found < 0 || extent.high + (uint64_t)width > allocation->end ||
            (writes && !may_write(allocation, extent.low, extent.high + (uint64_t)width)))
            return locate_pieces(warp, i, request, width, writes, at, slot);
        *slot = found;
        for (int lane = 0; lane < WARP; lane++)
            at[lane] = allocation->bytes + (request->address[lane] - allocation->base);
        return 1;
    }
    if (space == CLUSTER) return locate_in_cluster(warp, i, request, width, at, slot);
    const int32_t *limits = limits_of(launch, i, space);
    int64_t start = limits[0], stop = limits[1];
    if ((int64_t)extent.low < start || (int64_t)extent.high + width > stop) {
        int lane = first_wrong(request, 0, start, stop - width + 1);
        fail(warp, i, OUT_OF_BOUNDS, lane, (int64_t)request->address[lane]);
        return 0;
    }
    *slot = launch->allocation_count + space - SHARED;
    uint8_t *memory = space == LOCAL ? warp->block->local : warp->block->shared;
    uint64_t own = space == LOCAL ? (uint64_t)launch->local_bytes : 0;
    for (int lane = 0; lane < WARP; lane++) at[lane] = memory + request->address[lane] + thread_of(warp, lane) * own;
    return 1;
}

/* ---- counting */

/* Local memory is interleaved by words, so that a warp's same word lies in one 128-byte line. */
static void count_local(Warp *warp, const Instruction *i, int slot, const Request *request, int width) {
    uint64_t stride = (uint64_t)(4 * warp->block->warps * WARP);
    int64_t *sums = sums_of(warp, i, slot), more[QUANTITIES];
    for (int word = 0; word < (width < 4 ? 1 : width / 4); word++) {
        Request part = {.active = request->active};
        for (uint32_t rest = request->active; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint64_t address = request->address[lane];
            part.address[lane] = (address >> 2) * stride + thread_of(warp, lane) * 4 + (address & 3) + word * stride;
        }
        memset(more, 0, sizeof more);
        count_lines(&part, width < 4 ? width : 4, 0, more);
        if (word) more[REQUESTS] = more[LANES] = 0;
        add_sums(sums, more, 1);
    }
}

/* Room for one more row of `size` bytes, at first for some. `rows` stay where they are if there is no memory. */
static int make_room(void **rows, int64_t count, int64_t *room, size_t size, int64_t some) {
    if (count < *room) return 1;
    int64_t wanted = *room ? 2 * *room : some;
    void *more = realloc(*rows, (size_t)wanted * size);
    if (!more) return 0;
    *rows = more;
    *room = wanted;
    return 1;
}

/* The lane's address, where it is to be shown. Local memory is interleaved by words. */
static int64_t shown(const Warp *warp, int space, const Request *request, int lane) {
    uint64_t address = request->address[lane];
    if (space == LOCAL)
        address = (address >> 2) * (uint64_t)(4 * warp->block->warps * WARP) + thread_of(warp, lane) * 4
            + (address & 3);
    return (int64_t)address;
}

/* The place of a request's shape. Most shapes are one of the last few. */
static int64_t shape_of(const Warp *warp, int space, const Request *request, int64_t first) {
    Results *results = warp->results;
    int64_t last = results->shape_count;
    Shape *shape = &results->shapes[last];
    for (int lane = 0; lane < WARP; lane++)
        shape->distance[lane] = request->active >> lane & 1 ? shown(warp, space, request, lane) - first : 0;
    for (int64_t place = last - 1; place >= 0 && place >= last - 4; place--)
        if (!memcmp(shape, &results->shapes[place], sizeof *shape)) return place;
    return results->shape_count++;
}

/* Keep a request whose first active lane has the address `first`. */
static void keep(Warp *warp, const Instruction *i, int space, int slot, uint32_t active, int64_t first, int64_t shape) {
    Results *results = warp->results;
    if (!make_room((void **)&results->traces, results->trace_count, &results->trace_room, sizeof(TraceRow), 16384)) {
        fail(warp, i, NO_MEMORY, 0, 0);
        return;
    }
    results->traces[results->trace_count++] = (TraceRow){
        warp->block->id, i->index, warp->number, space, slot, active, (uint32_t)warp->times[i->memory], first, shape};
}

/* The same of one whose shape has to be found; its pattern has that then, if it is known. */
static void trace(Warp *warp, const Instruction *i, int space, int slot, const Request *request, Pattern *known) {
    Results *results = warp->results;
    if (!make_room((void **)&results->shapes, results->shape_count, &results->shape_room, sizeof(Shape), 64)) {
        fail(warp, i, NO_MEMORY, 0, 0);
        return;
    }
    int64_t first = shown(warp, space, request, __builtin_ctz(request->active));
    int64_t shape = known && known->shape ? known->shape - 1 : shape_of(warp, space, request, first);
    if (known) known->shape = shape + 1;
    keep(warp, i, space, slot, request->active, first, shape);
}

/* The last load of the warp from memory that others may change, if it changed nothing itself. */
static inline void record_look(Warp *warp, const Instruction *i, int space, int slot, uint64_t address) {
    if (!i->strong) return;
    warp->polled_by = i->index;
    warp->polled_in = space == GLOBAL ? slot : -space;
    warp->polled_at = (int64_t)address;
}

void record(Warp *warp, const Instruction *i, int space, int slot, const Request *request, int width, int stores,
            int touch, Pattern *known) {
    const Launch *launch = warp->launch;
    if (launch->checking) check_access(warp, i, space, slot, request, width, touch, known);
    warp->results->accesses[space] += __builtin_popcount(request->active);
    if (touch != WRITES) take_time(warp, space, request->active);
    if (touch != UPDATES) record_look(warp, i, space, slot, request->address[__builtin_ctz(request->active)]);
    if (known) count_again(warp, i, known);
    else if (space != LOCAL) known = count_pattern(warp, i, space, stores, slot, request, width);
    else if (launch->counting) count_local(warp, i, slot, request, width);
    if (warp->block->traced) {
        trace(warp, i, space, slot, request, known);
        warp->times[i->memory]++;
    }
}

int polled_place(const Warp *warp) {
    for (int place = 0; place < FEW_PLACES && warp->polled_by >= 0; place++)
        if (warp->poll_address[place] == warp->polled_at) return place;
    return -1;
}

int still_holds(const Warp *warp, uint32_t *word) {
    const Launch *launch = warp->launch;
    const int space = warp->polled_in >= 0 ? GLOBAL : -warp->polled_in;
    const uint64_t address = (uint64_t)warp->polled_at & ~(uint64_t)3;
    const uint8_t *at = 0;
    const uint32_t before = *word;
    if (space == GLOBAL) {
        const Allocation *allocation = &launch->allocations[warp->polled_in];
        if (address >= allocation->base && address + 4 <= allocation->end)
            at = allocation->bytes + (address - allocation->base);
    } else if (space != LOCAL) {
        const uint64_t rank = space == CLUSTER ? address >> RANK_SHIFT : (uint64_t)warp->block->rank;
        const Block *block = rank < (uint64_t)launch->cluster_blocks ? warp->block->cluster->block[rank] : 0;
        if (block && byte_of(address) + 4 <= (uint64_t)launch->shared_bytes) at = block->shared + byte_of(address);
    }
    if (at) memcpy(word, at, sizeof *word);
    return at && *word == before;
}

int sees_nothing_new(const Warp *warp) {
    const int place = polled_place(warp);
    uint32_t word = place < 0 ? 0 : warp->poll_word[place];
    return place >= 0 && still_holds(warp, &word);
}

/* ---- spaces */

void in_its_block(Warp *warp, const Instruction *i, const Request *request, Access *access) {
    const uint64_t base = (uint64_t)warp->launch->shared_base;
    Request own = {.active = 0}, others;
    for (int lane = 0; lane < WARP; lane++) {
        uint64_t rank = rank_of(warp, request->address[lane]);
        own.address[lane] = byte_of(request->address[lane]) - base;
        others.address[lane] = rank << RANK_SHIFT | own.address[lane];
        if (rank == (uint64_t)warp->block->rank) own.active |= request->active & 1u << lane;
    }
    others.active = request->active & ~own.active;
    if (own.active) access(warp, i, SHARED, &own);
    if (others.active && !warp->results->fault) access(warp, i, CLUSTER, &others);
}

/* Carry out an access in the space that its opcode names, or for generic addresses in each that they lie in. */
static void in_space_of(Warp *warp, const Instruction *i, const Request *request, Access *access) {
    Request part;
    int space = (int)(i->flags & SPACE);
    if (space != GENERIC) {
        access(warp, i, space, request);
        return;
    }
    const uint64_t first[] = {0, SHARED_WINDOW, LOCAL_WINDOW};
    for (space = GLOBAL; space <= LOCAL; space++) {
        part.active = 0;
        for (uint32_t rest = request->active; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint64_t address = request->address[lane];
            int lies_in = address < SHARED_WINDOW ? GLOBAL : address < LOCAL_WINDOW ? SHARED
                          : address < 2 * LOCAL_WINDOW ? LOCAL : GLOBAL;
            if (lies_in == space) part.active |= 1u << lane;
        }
        for (int lane = 0; lane < WARP; lane++) part.address[lane] = request->address[lane] - first[space];
        if (part.active && space == SHARED) in_its_block(warp, i, &part, access);
        else if (part.active) access(warp, i, space, &part);
    }
}

static void in_its_space(Warp *warp, const Instruction *i, uint32_t mask, Access *access) {
    Addresses where;
    Request request;
    addresses_of(warp, i, 0, i->flags & WIDE_ADDRESS, i->offset, i->number, &where);
    request_of(&where, mask, &request);
    if (i->flags & ANYWHERE) in_its_block(warp, i, &request, access);
    else in_space_of(warp, i, &request, access);
}

/* ---- requests that look like one before */

/* Where in the memory of the host the first active lane's bytes are, if a request with a known pattern may be made
 * there; NULL if each lane has to be checked. */
static uint8_t *place_of(const Warp *warp, const Instruction *i, int space, const Pattern *known, uint64_t base,
                         int width, int writes) {
    const Launch *launch = warp->launch;
    uint64_t low = base + (uint64_t)(int64_t)known->lowest,
        end = base + (uint64_t)(int64_t)known->highest + (uint64_t)width;
    if ((base | known->bits) & (uint64_t)(width - 1)) return 0;
    if (space == SHARED) {
        const int32_t *limits = limits_of(launch, i, SHARED);
        int is_inside = (int64_t)low >= limits[0] && (int64_t)end <= limits[1];
        return is_inside ? warp->block->shared + base : 0;
    }
    const Allocation *allocation = &launch->allocations[known->slot];
    if (low < allocation->base || end > allocation->end || (writes && !may_write(allocation, low, end))) return 0;
    return allocation->bytes + (base - allocation->base);
}

/* The place of a request of an instruction that loads or stores whole words, NULL if it is not like one before. Mostly
 * its addresses are those of one register and an offset, which need not be added up lane by lane. */
static uint8_t *recognised(const Warp *warp, const Instruction *i, uint32_t mask, int stores, Pattern **known,
                           uint64_t *base) {
    int space = (int)(i->flags & SPACE), width = 4 * i->number[2], is_wide = (i->flags & WIDE_ADDRESS) != 0;
    Addresses where;
    AddressRows rows = {row_of(warp, i->source[0]), is_wide ? row_at(warp, i->source[0], 1) : 0, i->offset};
    if (i->number[3] || space >= LOCAL) return 0;
    if (i->width[1] || i->width[0] != 1 + is_wide || (!is_wide && i->number[0] != 1)) {
        addresses_of(warp, i, 0, is_wide, i->offset, i->number, &where);
        rows = (AddressRows){&where.low, &where.high, 0};
    } else if (!is_wide) {
        rows.offset -= (int64_t)own_rank(warp);
    }
    *known = known_pattern(warp, i, space, stores, width, mask, rows, base);
    return *known ? place_of(warp, i, space, *known, *base, width, stores) : 0;
}

static void note_known(Warp *warp, const Instruction *i, uint64_t base, int stores, Pattern *known) {
    int space = (int)(i->flags & SPACE), traced = warp->block->traced;
    Request request;
    if (warp->launch->checking || (traced && !known->shape)) {
        request_like(known, base, &request);
        record(warp, i, space, known->slot, &request, 4 * i->number[2], stores, stores ? WRITES : READS, known);
        return;
    }
    warp->results->accesses[space] += __builtin_popcount(known->active);
    if (!stores) take_time(warp, space, known->active);
    record_look(warp, i, space, known->slot, base);
    count_again(warp, i, known);
    if (!traced) return;
    keep(warp, i, space, known->slot, known->active, (int64_t)base, known->shape - 1);
    warp->times[i->memory]++;
}

/* Copy the lines of a column, if all lie in the array. */
static int hold_column(Warp *warp, const uint8_t *line, const Pattern *known) {
    const Allocation *allocation = &warp->launch->allocations[known->slot];
    const int64_t at = line - allocation->bytes, size = (int64_t)(allocation->end - allocation->base);
    if (at + known->lowest < 0 || at + known->highest + HOST_LINE > size) return 0;
    memcpy(warp->column.relative, known->relative, sizeof warp->column.relative);
    for (int lane = 0; lane < WARP; lane++)
        memcpy(warp->column.line[lane], line + (int32_t)known->relative[lane], HOST_LINE);
    return warp->column_is_held = 1;
}

/* One word for each lane, from lines of the host's memory that are far apart.
 *
 * Threads that walk along the rows of a matrix, each along its own, load a column at a time. If a row is 1 KiB long or
 * a multiple of it, the column's 32 lines belong into a few sets of the host's cache, which hold only some of them:
 * each word comes from the next cache, although its neighbour was loaded just before. The second time that a warp loads
 * from the same lines they are copied to where they lie side by side, and the next words are loaded from there, until
 * memory changes. (sgemm_naive takes 0.84 of the time for 512, 0.68 for 1024.) */
static Lanes word_of_column(Warp *warp, const uint8_t *first, const Pattern *known) {
    enum { FAR_APART = 1024 };
    const int32_t *relative = (const int32_t *)known->relative;
    const size_t inside = (uintptr_t)first % HOST_LINE;
    const uint8_t *line = first - inside;
    if (known->bits % FAR_APART) return words_at(first, relative);
    if (line != warp->column_at || warp->column_since != warp->results->changes) {
        warp->column_at = line;
        warp->column_since = warp->results->changes;
        warp->column_is_held = 0;
        return words_at(first, relative);
    }
    if (!warp->column_is_held ? !hold_column(warp, line, known)
                              : memcmp(warp->column.relative, relative, sizeof warp->column.relative) != 0)
        return words_at(first, relative);
    const SignedLanes lines = (SignedLanes)LANE * HOST_LINE;
    return words_at(warp->column.line[0] + inside, (const int32_t *)&lines);
}

static void load_known(Warp *warp, const Instruction *i, uint32_t mask, const uint8_t *first, const Pattern *known) {
    const int32_t *relative = (const int32_t *)known->relative;
    int words = i->number[2];
    if (known->form == SIDE_BY_SIDE && words == 1) {
        memcpy(warp->rows + i->d, first, sizeof(Lanes));
        return;
    }
    for (int word = 0; word < words; word++) {
        uint32_t *row = (uint32_t *)(warp->rows + part_of(warp, i->d, word)), value;
        const uint8_t *from = first + 4 * word;
        if (mask != 0xffffffffu) {
            for (uint32_t rest = mask; rest; rest &= rest - 1) {
                int lane = __builtin_ctz(rest);
                memcpy(row + lane, from + relative[lane], 4);
            }
        } else if (known->form == ALL_THE_SAME) {
            memcpy(&value, from, 4);
            *(Lanes *)row = broadcast(value);
        } else if (words == 1 && (i->flags & SPACE) == GLOBAL) {
            *(Lanes *)row = word_of_column(warp, first, known);
        } else {
            *(Lanes *)row = words_at(from, relative);
        }
    }
}

/* Of lanes with the same address the last one wins, word by word. */
static void store_known(Warp *warp, const Instruction *i, uint32_t mask, uint8_t *first, const Pattern *known) {
    const int32_t *relative = (const int32_t *)known->relative;
    uint32_t changed = 0; /* the lanes */
    for (int word = 0; word < i->number[2]; word++) {
        const uint32_t *row = (const uint32_t *)row_at(warp, i->source[2], word);
        uint8_t *to = first + 4 * word;
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint32_t old;
            memcpy(&old, to + relative[lane], 4);
            memcpy(to + relative[lane], row + lane, 4);
            changed |= (uint32_t)(old != row[lane]) << lane;
        }
    }
    warp->stored_anew = changed;
    warp->results->changes += changed != 0;
}

/* ---- loads and stores: number[2] registers, of narrow values number[3] bytes each */

static void load_from(Warp *warp, const Instruction *i, int space, const Request *request) {
    int words = i->number[2], narrow = i->number[3], width = (narrow ? narrow : 4) * words, slot;
    uint8_t *at[WARP];
    if (!locate(warp, i, space, request, width, 0, at, &slot)) return;
    if (narrow) {
        for (int part = 0; part < words; part++) {
            uint32_t *row = (uint32_t *)(warp->rows + part_of(warp, i->d, part));
            for (uint32_t rest = request->active; rest; rest &= rest - 1) {
                int lane = __builtin_ctz(rest);
                const uint8_t *from = at[lane] + narrow * part;
                uint32_t bits = narrow == 1 ? *from : (uint32_t)(from[0] | from[1] << 8);
                if (i->flags & SIGNED_VALUE)
                    bits = (uint32_t)((int32_t)(bits << (32 - 8 * narrow)) >> (32 - 8 * narrow));
                row[lane] = bits;
            }
        }
    } else {
        for (int word = 0; word < words; word++) {
            uint32_t *row = (uint32_t *)(warp->rows + part_of(warp, i->d, word));
            for (uint32_t rest = request->active; rest; rest &= rest - 1) {
                int lane = __builtin_ctz(rest);
                memcpy(row + lane, at[lane] + 4 * word, 4);
            }
        }
    }
    if (!(i->flags & UNWATCHED)) record(warp, i, space, slot, request, width, 0, READS, 0);
}

/* The upper half of a register of 64 bits that has received 32. */
static void extend(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes low = warp->rows[i->d];
    write_row(warp, i->d + 1, i->flags & SIGNED_VALUE ? (Lanes)((SignedLanes)low >> 31) : broadcast(0), mask);
}

static void load(Warp *warp, const Instruction *i, uint32_t mask) {
    Pattern *known;
    uint64_t base;
    warp->saw_others |= i->strong;
    const uint8_t *first = recognised(warp, i, mask, 0, &known, &base);
    if (first) {
        load_known(warp, i, mask, first, known);
        note_known(warp, i, base, 0, known);
    } else {
        in_its_space(warp, i, mask, load_from);
    }
    if (i->flags & EXTENDS) extend(warp, i, mask);
}

static void store_to(Warp *warp, const Instruction *i, int space, const Request *request) {
    int words = i->number[2], narrow = i->number[3], step = narrow ? narrow : 4, width = step * words, slot;
    uint8_t *at[WARP];
    if (!locate(warp, i, space, request, width, 1, at, &slot)) return;
    uint32_t changed = 0;
    for (int word = 0; word < words; word++) {
        const uint32_t *row = (const uint32_t *)row_at(warp, i->source[2], word);
        for (uint32_t rest = request->active; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint8_t *to = at[lane] + step * word; /* the first bytes are the low ones: the host is little-endian */
            if (!memcmp(to, row + lane, (size_t)step)) continue;
            memcpy(to, row + lane, (size_t)step);
            changed |= 1u << lane;
        }
    }
    warp->stored_anew = changed;
    warp->results->changes += changed != 0;
    if (!(i->flags & UNWATCHED)) record(warp, i, space, slot, request, width, 1, WRITES, 0);
}

static void store(Warp *warp, const Instruction *i, uint32_t mask) {
    Pattern *known;
    uint64_t base;
    uint8_t *first = recognised(warp, i, mask, 1, &known, &base);
    if (first) {
        store_known(warp, i, mask, first, known);
        note_known(warp, i, base, 1, known);
    } else {
        in_its_space(warp, i, mask, store_to);
    }
}

/* LDC with a register: number[0], number[1]: where its bank begins and how long it is. */
static void load_constant(Warp *warp, const Instruction *i, uint32_t mask) {
    int words = i->number[2], size = i->number[3] ? i->number[3] : 4;
    const Lanes index = i->width[0] ? *row_of(warp, i->source[0]) : broadcast(0);
    int64_t last = i->number[1] / size - words;
    const int32_t *limits = limits_of(warp->launch, i, CONSTANT);
    const uint32_t *each = each_of(&index);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        int64_t byte = (int32_t)(each[lane] + (uint32_t)i->offset), at = ((int64_t)each[lane] + i->offset) / size;
        /* a wide load may begin before, or end behind it */
        if (byte + words * size <= limits[0] || byte >= limits[1]) {
            fail(warp, i, OUT_OF_BOUNDS, lane, byte);
            return;
        }
        at = at < 0 || last < 0 ? 0 : at > last ? last : at;
        for (int word = 0; word < words; word++) {
            uint32_t bits = 0;
            memcpy(&bits, warp->launch->banks + i->number[0] + (at + word) * size, (size_t)size);
            if (i->flags & SIGNED_VALUE) bits = (uint32_t)((int32_t)(bits << (32 - 8 * size)) >> (32 - 8 * size));
            ((uint32_t *)(warp->rows + part_of(warp, i->d, word)))[lane] = bits;
        }
    }
    if (i->flags & EXTENDS) extend(warp, i, mask);
}

/* ---- atomics. number[2]: the operation; number[3]: the type of the values. */

enum { ATOMIC_ADD, ATOMIC_MIN, ATOMIC_MAX, ATOMIC_INC, ATOMIC_DEC, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR, ATOMIC_EXCH,
       ATOMIC_CAS };
enum {
    TYPE_U32, TYPE_S32, TYPE_U64, TYPE_S64, TYPE_F32, TYPE_F64, TYPE_F16X2, TYPE_BF16X2, TYPE_U16, TYPE_F16, TYPE_BF16
};

/* The sum, the smaller or the larger one of 16-bit numbers, in both halves. */
static uint32_t updated_halves(int how, uint32_t a, uint32_t b, int brain) {
    uint32_t result = 0;
    for (int shift = 0; shift < 32; shift += 16) {
        uint16_t bits[2] = {(uint16_t)(a >> shift), (uint16_t)(b >> shift)};
        float x = brain ? of_brain(bits[0]) : (float)of_half(bits[0]),
            y = brain ? of_brain(bits[1]) : (float)of_half(bits[1]);
        double now = how == ATOMIC_ADD ? fused_to_odd(x, 1, y) : how == ATOMIC_MIN ? minimum(x, y) : maximum(x, y);
        result |= (uint32_t)(brain ? brain_of_double(now, TO_NEAREST) : half_of(now, TO_NEAREST)) << shift;
    }
    return result;
}

uint64_t updated(const Instruction *i, uint64_t old, uint64_t value, uint64_t other) {
    int type = i->number[3], is_signed = type == TYPE_S32 || type == TYPE_S64;
    int64_t x = type == TYPE_S32 ? (int32_t)old : (int64_t)old, y = type == TYPE_S32 ? (int32_t)value : (int64_t)value;
    if (i->number[2] <= ATOMIC_MAX) {
        if (type == TYPE_F16X2 || type == TYPE_BF16X2)
            return updated_halves(i->number[2], (uint32_t)old, (uint32_t)value, type == TYPE_BF16X2);
        if (type == TYPE_F16 || type == TYPE_BF16)
            return updated_halves(i->number[2], (uint32_t)old, (uint32_t)value, type == TYPE_BF16) & 0xffffu;
    }
    switch (i->number[2]) {
        case ATOMIC_ADD:
            if (type == TYPE_F64) return bits_of_double(as_double(old) + as_double(value));
            if (type == TYPE_F32) {
                float a = as_float((uint32_t)old), b = as_float((uint32_t)value);
                if (!(i->flags & FLUSHES)) return bits_of(canonical(a + b));
                return bits_of(flushed(canonical(flushed(a) + flushed(b))));
            }
            return old + value;
        case ATOMIC_MIN: return is_signed ? (y < x ? value : old) : value < old ? value : old;
        case ATOMIC_MAX: return is_signed ? (y > x ? value : old) : value > old ? value : old;
        case ATOMIC_INC: return old >= value ? 0 : old + 1;
        case ATOMIC_DEC: return old == 0 || old > value ? value : old - 1;
        case ATOMIC_AND: return old & value;
        case ATOMIC_OR: return old | value;
        case ATOMIC_XOR: return old ^ value;
        case ATOMIC_EXCH: return value;
        default: return old == value ? other : old;
    }
}

int size_of_type(const Instruction *i) {
    int type = i->number[3];
    return type == TYPE_U64 || type == TYPE_S64 || type == TYPE_F64 ? 8 : type >= TYPE_U16 ? 2 : 4;
}

/* Lanes of one address act in lane order. On a GPU their order is not defined. Neighbours that are updated together
 * have a value each, in the rows that follow. */
static void update_in(Warp *warp, const Instruction *i, int space, const Request *request) {
    int size = size_of_type(i), count = i->flags >> ELEMENTS ? (int)(i->flags >> ELEMENTS) : 1, slot;
    uint8_t *at[WARP];
    if (!locate(warp, i, space, request, size * count, 1, at, &slot)) return;
    const int64_t changes = warp->results->changes;
    uint32_t was_equal = 0;
    for (int element = 0; element < count; element++) {
        Lanes low[2], high[2];
        for (int k = 0; k < 2; k++) {
            int32_t row = i->source[2 + k];
            if (!i->width[2 + k]) continue;
            low[k] = i->mode[2 + k] ? source(warp, i, 2 + k) : *row_at(warp, row, element);
            if (size == 8) high[k] = *row_at(warp, row, 1);
            if (size == 2) low[k] &= 0xffffu;
        }
        for (uint32_t rest = request->active; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint64_t old = 0, values[2] = {0, 0};
            memcpy(&old, at[lane] + size * element, (size_t)size);
            for (int k = 0; k < 2; k++)
                if (i->width[2 + k])
                    values[k] = each_of(&low[k])[lane] | (size == 8 ? (uint64_t)each_of(&high[k])[lane] << 32 : 0);
            uint64_t now = updated(i, old, values[0], values[1]);
            if (now != old) {
                memcpy(at[lane] + size * element, &now, (size_t)size);
                warp->results->changes++;
            }
            if (old == values[0]) was_equal |= 1u << lane;
            if (i->flags & SETS) old = old == values[0];
            if (i->flags & RETURNS_OLD && i->d_width) {
                ((uint32_t *)(warp->rows + part_of(warp, i->d, element)))[lane] = (uint32_t)old;
                if (size == 8 && i->d_width > 1) ((uint32_t *)(warp->rows + i->d + 1))[lane] = (uint32_t)(old >> 32);
            }
        }
    }
    if (i->flags & SETS) set_predicate(warp, i->p_out[0], was_equal, request->active);
    record(warp, i, space, slot, request, size * count, 1, UPDATES, 0);
    if (warp->results->changes == changes)
        record_look(warp, i, space, slot, request->address[__builtin_ctz(request->active)]);
}

static void atomic(Warp *warp, const Instruction *i, uint32_t mask) {
    warp->saw_others |= i->strong;
    in_its_space(warp, i, mask, update_in);
}

/* What the lanes of a copy have read: `values`, by the lanes `reads`, from the array `slot`, -1 for none. */
typedef struct {
    uint32_t values[WARP][4], reads;
    int slot;
} Fetched;

/* A copy that reads fewer bytes than it writes, and writes zeros for the others. A register of its own (source 1)
 * says how many it reads, or the address is that of the source plus the number of bytes that are not read. 0 after
 * a fault. */
static int fetch_part(Warp *warp, const Instruction *i, int words, Request *origin, Fetched *fetched) {
    const int size = 4 * words;
    const uint64_t last = i->flags & FILLS ? (uint64_t)size - 1 : 0;
    uint8_t *from[WARP];
    int given[WARP];
    for (int lane = 0; lane < WARP; lane++) {
        uint32_t said = each_of(row_of(warp, i->flags & FILLS ? ZEROS : i->source[1]))[lane];
        if (i->flags & FILLS) given[lane] = size - (int)(origin->address[lane] & last);
        else given[lane] = said < (uint32_t)size ? (int)said : size;
        origin->address[lane] &= ~last;
        if (given[lane] <= 0) fetched->reads &= ~(1u << lane);
    }
    for (int word = 0; word < words; word++) {
        Request part = {.active = 0};
        int where;
        for (uint32_t rest = fetched->reads; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            if (given[lane] >= 4 * word + 4) part.active |= 1u << lane;
            part.address[lane] = origin->address[lane] + (uint64_t)(4 * word);
        }
        if (!part.active) continue;
        if (!locate(warp, i, GLOBAL, &part, 4, 0, from, &where)) return 0;
        if (fetched->slot < 0) fetched->slot = where;
        if (warp->launch->checking) check_access(warp, i, GLOBAL, where, &part, 4, READS, 0);
        for (uint32_t rest = part.active; rest; rest &= rest - 1)
            memcpy(&fetched->values[__builtin_ctz(rest)][word], from[__builtin_ctz(rest)], 4);
    }
    return 1;
}

static int fetch_whole(Warp *warp, const Instruction *i, int size, Request *origin, Fetched *fetched) {
    uint8_t *from[WARP];
    if (!fetched->reads) return 1;
    origin->active = fetched->reads;
    if (!locate(warp, i, GLOBAL, origin, size, 0, from, &fetched->slot)) return 0;
    for (uint32_t rest = fetched->reads; rest; rest &= rest - 1)
        memcpy(fetched->values[__builtin_ctz(rest)], from[__builtin_ctz(rest)], (size_t)size);
    return 1;
}

/* ---- LDGSTS: an asynchronous copy, carried out at once. Sources 0 and 1 make the address in shared memory, 2 and 3
 * that in global memory; number[2] is the offset of the first, number[3] the words that a lane copies. */
static void copy_async(Warp *warp, const Instruction *i, uint32_t mask) {
    const int32_t unit_scale[2] = {1, 1};
    Addresses where;
    Request to, origin;
    uint8_t *target[WARP];
    const int words = i->number[3], size = 4 * words, is_part = i->flags & (FILLS | SIZED);
    int shared_slot;
    Fetched fetched = {.reads = mask & predicate_of(warp, i->p_in[0]), .slot = -1};
    addresses_of(warp, i, 0, 0, i->number[2], i->number, &where);
    request_of(&where, mask, &to);
    addresses_of(warp, i, 2, 1, i->offset, unit_scale, &where);
    request_of(&where, mask, &origin);
    if (!(is_part ? fetch_part(warp, i, words, &origin, &fetched) : fetch_whole(warp, i, size, &origin, &fetched)))
        return;
    if (!locate(warp, i, SHARED, &to, size, 1, target, &shared_slot)) return;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        memcpy(target[__builtin_ctz(rest)], fetched.values[__builtin_ctz(rest)], (size_t)size);

    const uint32_t reads = fetched.reads;
    const int slot = fetched.slot < 0 ? 0 : fetched.slot;
    Results *results = warp->results;
    results->copies += __builtin_popcount(mask);
    results->accesses[SHARED] += __builtin_popcount(mask);
    results->accesses[GLOBAL] += __builtin_popcount(reads);
    take_time(warp, GLOBAL, mask);
    origin.active = reads;
    if (warp->launch->checking) {
        check_access(warp, i, SHARED, shared_slot, &to, size, COPIES, 0);
        if (reads && !is_part) check_access(warp, i, GLOBAL, slot, &origin, size, READS, 0);
    }
    if (warp->launch->counting) {
        if (reads) count_lines(&origin, size, 1, sums_of(warp, i, slot));
        count_copy(&to, &origin, size, sums_of(warp, i, shared_slot));
    }
    if (warp->block->traced) {
        if (reads) trace(warp, i, GLOBAL, slot, &origin, 0);
        trace(warp, i, SHARED, shared_slot, &to, 0);
        warp->times[i->memory]++;
    }
}

/* ---- LDSM: number[2] matrices of 8 x 8 elements of 16 bits. Lane i names row i % 8 of matrix i / 8, and receives from
 * each matrix row i / 4, elements 2 * (i % 4) and the next one; TRANSPOSED: the same of columns. */
static void load_matrix(Warp *warp, const Instruction *i, uint32_t mask) {
    Addresses where;
    Request rows, rows_of_part;
    uint8_t *at[WARP];
    int slot = 0, count = i->number[2];
    addresses_of(warp, i, 0, 0, i->offset, i->number, &where);
    request_of(&where, mask, &rows);
    rows.active = mask & (count == 4 ? 0xffffffffu : (1u << 8 * count) - 1);
    if (!locate(warp, i, SHARED, &rows, 16, 0, at, &slot)) return;
    uint32_t results[4][WARP];
    Lanes result;
    for (int matrix = 0; matrix < count; matrix++) {
        for (int part = 0; part < (i->flags & TRANSPOSED ? 2 : 1); part++) {
            rows_of_part.active = mask;
            for (int lane = 0; lane < WARP; lane++) {
                int column = lane / 4, row = 2 * (lane % 4);
                rows_of_part.address[lane] = i->flags & TRANSPOSED
                                        ? rows.address[8 * matrix + row + part] + (uint64_t)(2 * column)
                                        : rows.address[8 * matrix + column] + (uint64_t)(2 * row);
            }
            if (!locate(warp, i, SHARED, &rows_of_part, i->flags & TRANSPOSED ? 2 : 4, 0, at, &slot)) return;
            for (uint32_t rest = mask; rest; rest &= rest - 1) {
                int lane = __builtin_ctz(rest);
                uint32_t bits = 0;
                memcpy(&bits, at[lane], i->flags & TRANSPOSED ? 2 : 4);
                results[matrix][lane] = part ? results[matrix][lane] | bits << 16 : bits;
            }
        }
    }
    for (int matrix = 0; matrix < count; matrix++) {
        memcpy(&result, results[matrix], sizeof result);
        write_row(warp, part_of(warp, i->d, matrix), result, mask);
    }
    if (rows.active) record(warp, i, SHARED, slot, &rows, 16, 1, READS, 0);
}

/* STSM: the other way round. A lane that names a row writes it whole. */
static void store_matrix(Warp *warp, const Instruction *i, uint32_t mask) {
    Addresses where;
    Request rows;
    uint8_t *at[WARP];
    int slot = 0, count = i->number[2];
    addresses_of(warp, i, 0, 0, i->offset, i->number, &where);
    request_of(&where, mask, &rows);
    rows.active = mask & (count == 4 ? 0xffffffffu : (1u << 8 * count) - 1);
    if (!rows.active || !locate(warp, i, SHARED, &rows, 16, 1, at, &slot)) return;
    for (uint32_t rest = rows.active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), row = lane % 8;
        const uint32_t *held = each_of(row_at(warp, i->source[2], lane / 8));
        uint16_t elements[8];
        for (int column = 0; column < 8; column++) {
            uint32_t two = i->flags & TRANSPOSED ? held[4 * column + row / 2] : held[4 * row + column / 2];
            elements[column] = (uint16_t)(two >> 16 * ((i->flags & TRANSPOSED ? row : column) % 2));
        }
        memcpy(at[lane], elements, sizeof elements);
    }
    warp->results->changes++;
    warp->stored_anew = rows.active;
    record(warp, i, SHARED, slot, &rows, 16, 1, WRITES, 0);
}

/* ---- wmma.load and wmma.store of PTX: a tile, element by element, as number[2] and number[3] say of loads. From
 * number[0] on, `jumps` holds by register, part of it and lane how many rows or columns it is from the first element,
 * then how many elements from there. number[1]: registers, parts of each and bits of an element, in 8 bits each. Source
 * 3 is the distance of rows. */

typedef struct {
    Request first; /* where its first element is */
    Lanes stride;
} Tile;

static void tile_begins(const Warp *warp, const Instruction *i, uint32_t mask, Tile *tile) {
    const int32_t unit_scale[2] = {1, 1};
    Addresses where;
    addresses_of(warp, i, 0, i->flags & WIDE_ADDRESS, i->offset, unit_scale, &where);
    request_of(&where, mask, &tile->first);
    tile->stride = *row_of(warp, i->source[3]);
}

static void tile_elements(const Warp *warp, const Instruction *i, const Tile *tile, int number, Request *request) {
    const int32_t *places = warp->launch->jumps + i->number[0] + number * 2 * WARP;
    const int64_t bits = i->number[1] >> 16;
    request->active = tile->first.active;
    for (int lane = 0; lane < WARP; lane++) {
        int64_t elements = (int64_t)places[lane] * each_of(&tile->stride)[lane] + places[WARP + lane];
        request->address[lane] = tile->first.address[lane] + (uint64_t)(elements * bits / 8);
    }
}

static void load_tile(Warp *warp, const Instruction *i, uint32_t mask) {
    Tile tile;
    Request request;
    Instruction element = *i; /* loads an element to the register that it is part of */
    int registers = i->number[1] & 255, parts = i->number[1] >> 8 & 255, words = i->number[2];
    Lanes held[2 * WARP];
    tile_begins(warp, i, mask, &tile);
    for (int number = 0; number < registers * parts && !warp->results->fault; number++) {
        element.d = part_of(warp, i->d, number / parts * words);
        tile_elements(warp, i, &tile, number, &request);
        in_space_of(warp, &element, &request, load_from);
        for (int word = 0; word < words; word++) {
            Lanes *to = held + number / parts * words + word, part = warp->rows[element.d + word];
            *to = number % parts ? *to | part << (uint32_t)(32 / parts * (number % parts)) : part;
        }
    }
    for (int row = 0; row < i->d_width; row++)
        write_row(warp, part_of(warp, i->d, row), held[row % (registers * words)], mask);
}

static void store_tile(Warp *warp, const Instruction *i, uint32_t mask) {
    Tile tile;
    Request request;
    Instruction element = *i; /* stores an element from a row of its own */
    int registers = i->number[1] & 255, parts = i->number[1] >> 8 & 255, words = i->number[2];
    tile_begins(warp, i, mask, &tile);
    element.source[2] = warp->launch->rows - 2;
    for (int number = 0; number < registers * parts && !warp->results->fault; number++) {
        for (int word = 0; word < words; word++)
            warp->rows[element.source[2] + word] = *row_at(warp, i->source[2], number / parts * words + word) >>
                                               (uint32_t)(32 / parts * (number % parts));
        tile_elements(warp, i, &tile, number, &request);
        in_space_of(warp, &element, &request, store_to);
    }
}

/* ---- what changes no value here: fences, groups of copies */

static void nothing(Warp *warp, const Instruction *i, uint32_t mask) { (void)warp, (void)i, (void)mask; }

/* NOP: what the compiler leaves of `__syncwarp()` where it knows that the lanes of a warp are together. */
static void lanes_together(Warp *warp, const Instruction *i, uint32_t mask) {
    check_named(warp, i, mask);
    note_warp_barrier(warp, mask);
}

/* number[0]: only of the block. */
static void fence(Warp *warp, const Instruction *i, uint32_t mask) {
    warp->saw_others |= SEES_GRID;
    note_fence(warp, voters_for(warp, i, mask), i->number[0]);
}

/* BPT.TRAP: the engine in NumPy says what it is. */
static void trap(Warp *warp, const Instruction *i, uint32_t mask) {
    if (mask) fail(warp, i, HAZARD, __builtin_ctz(mask), 0);
}

/* mbarrier.init: source 3 says for how many threads, whose bits go to the rows of source 2 first; see bulk.c. */
static void begin_barrier(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes left = -source(warp, i, 3) & 0xfffffu; /* of 2^20 */
    write_row(warp, i->source[2], left << 1, mask);
    write_row(warp, i->source[2] + 1, left << 11, mask);
    store(warp, i, mask);
}

/* ---- accesses of PTX with a memory order, the fences that it stands for included. mode[0]: before it, and after it,
 * of the block only or of more. */
enum { FENCE_BEFORE = 1, FENCE_AFTER = 2, OF_BLOCK = 4 };

static void in_order(Warp *warp, const Instruction *i, uint32_t mask, Operation *access) {
    if (i->mode[0] & FENCE_BEFORE) note_fence(warp, mask, i->mode[0] & OF_BLOCK);
    access(warp, i, mask);
    if (i->mode[0] & FENCE_AFTER) note_fence(warp, mask, i->mode[0] & OF_BLOCK);
}

static void ordered_load(Warp *warp, const Instruction *i, uint32_t mask) { in_order(warp, i, mask, load); }
static void ordered_store(Warp *warp, const Instruction *i, uint32_t mask) { in_order(warp, i, mask, store); }
static void ordered_atomic(Warp *warp, const Instruction *i, uint32_t mask) { in_order(warp, i, mask, atomic); }

const NamedOperation MEMORY[] = {
    {"load", load},
    {"store", store},
    {"load constant", load_constant},
    {"atomic", atomic},
    {"begin barrier", begin_barrier},
    {"ordered load", ordered_load},
    {"ordered store", ordered_store},
    {"ordered atomic", ordered_atomic},
    {"copy async", copy_async},
    {"load matrix", load_matrix},
    {"store matrix", store_matrix},
    {"load tile", load_tile},
    {"store tile", store_tile},
    {"fence", fence},
    {"nothing", nothing},
    {"trap", trap},
    {"lanes together", lanes_together},
    {"close copies", close_copies},
    {"await copies", await_copies},
    {0, 0},
};
