/* Sectors, tags and wavefronts of one request of a warp. The rules are Nsight Compute's, compared with its counters on
 * an NVIDIA H200. A request is counted while it is still in the processor's nearest cache, in some 50 ns. */
#include "counting.h"

#include "native.h"

/* Different values of address >> shift among the lanes of `active`. Lanes mostly lie in order, so that the value found
 * last is tried first. */
static int distinct(const uint64_t *address, uint32_t active, int shift) {
    uint64_t found[WARP];
    int count = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint64_t value = address[__builtin_ctz(rest)] >> shift;
        int i = count;
        while (i > 0 && found[i - 1] != value) i--;
        if (i == 0) found[count++] = value;
    }
    return count;
}

void count_lines(const Request *request, int width, int copies, int64_t *sums) {
    const uint64_t *address = request->address;
    uint32_t active = request->active;
    int useful = width * distinct(address, active, 0);
    sums[REQUESTS] += 1;
    sums[LANES] += __builtin_popcount(active);
    sums[SECTORS] += distinct(address, active, 5);
    if (copies && width == 16) { /* looked up quarter-warp by quarter-warp */
        for (int quarter = 0; quarter < 4; quarter++) sums[TAGS] += distinct(address, active & 0xffu << 8 * quarter, 7);
    } else {
        sums[TAGS] += distinct(address, active, 7);
    }
    sums[USEFUL_BYTES] += useful;
    sums[IDEAL_SECTORS] += (useful + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

/* How many different words the busiest bank holds for the lanes of `active`. An aligned access of 8 or 16 bytes takes
 * 2 or 4 banks together, so those count as one bank with one wider word. */
static int busiest(const uint64_t *address, uint32_t active, int width) {
    int shift = width <= 4 ? 2 : width == 8 ? 3 : 4;
    uint32_t last_bank = (BANKS * WORD_BYTES >> shift) - 1;
    uint64_t words[WARP];                            /* the different words so far, */
    int8_t before[WARP], last[BANKS], held[BANKS]; /* of each bank as a chain that begins with the last one */
    int count = 0, most = 0;
    for (uint32_t bank = 0; bank <= last_bank; bank++) last[bank] = -1, held[bank] = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint64_t word = address[__builtin_ctz(rest)] >> shift;
        uint32_t bank = (uint32_t)word & last_bank;
        int known = last[bank];
        while (known >= 0 && words[known] != word) known = before[known];
        if (known >= 0) continue; /* the same word again is a broadcast, and free */
        words[count] = word;
        before[count] = last[bank];
        last[bank] = (int8_t)count++;
        if (++held[bank] > most) most = held[bank];
    }
    return most;
}

/* Whether every active lane i has the address of lane i ^ distance, where that is active. */
static int agree(const uint64_t *address, uint32_t active, int distance) {
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (active >> (lane ^ distance) & 1 && address[lane] != address[lane ^ distance]) return 0;
    }
    return 1;
}

static int uniform(const uint64_t *address, uint32_t active) {
    for (uint32_t rest = active; rest; rest &= rest - 1)
        if (address[__builtin_ctz(rest)] != address[__builtin_ctz(active)]) return 0;
    return 1;
}

/* Wavefronts of a request whose phases never merge: one phase for the warp, two at 8 and four at 16 bytes a lane. A
 * phase takes as many as its busiest bank holds distinct words. */
static int in_phases(const uint64_t *address, uint32_t active, int width) {
    if (width <= 4) return busiest(address, active, width);
    int phases = width / WORD_BYTES, lanes = WARP / phases, sum = 0;
    for (int phase = 0; phase < phases; phase++)
        sum += busiest(address, active & ((1u << lanes) - 1) << lanes * phase, width);
    return sum;
}

/* Whether two phases of a load are one wavefront: if no bank holds two of their words, and if every active lane i has
 * the address of lane i ^ 1, or every one that of lane i ^ 2, where that is active. Found with 833 patterns of
 * addresses and active lanes on an NVIDIA H200: at 64 bits the rule never failed, at 128 bits never for a full warp.
 * With lane 31 active and one of the first 16 lanes not, the first half of a 128-bit load does not merge. */
static int merges(const uint64_t *address, uint32_t lanes, int width) {
    return (agree(address, lanes, 1) || agree(address, lanes, 2)) && busiest(address, lanes, width) == 1;
}

int shared_wavefronts(const Request *request, int width, int stores, int *merged) {
    const uint64_t *address = request->address;
    const uint32_t active = request->active;
    *merged = 0;
    if (width <= 4 || stores) return in_phases(address, active, width);
    if (width == 8) return merges(address, active, width) ? 1 : in_phases(address, active, width);
    if (active && uniform(address, active)) {
        *merged = __builtin_popcount(active) > WARP / 2;
        return 1 + *merged;
    }
    int sum = 0;
    for (int half = 0; half < 2; half++) {
        uint32_t lanes = active & 0xffffu << 16 * half;
        int apart = in_phases(address, lanes, width), is_one = apart > 1 && merges(address, lanes, width);
        if (half == 0 && active >> 31 && (active & 0xffff) != 0xffff) is_one = 0;
        *merged += is_one;
        sum += is_one ? 1 : apart;
    }
    return sum;
}

int wavefronts_in_phases(const Request *request, int width) {
    return in_phases(request->address, request->active, width);
}

static int ideal(uint32_t active, int width) {
    if (width <= 4) return active != 0;
    int phases = width / WORD_BYTES, lanes = WARP / phases, sum = 0;
    for (int phase = 0; phase < phases; phase++) sum += (active & ((1u << lanes) - 1) << lanes * phase) != 0;
    return sum;
}

/* Of 128-bit loads with inactive lanes whose phases could merge, about one in a hundred differs on the hardware. */
static int is_certain(const uint64_t *address, uint32_t active, int width) {
    if (width != 16 || active == 0xffffffffu || uniform(address, active)) return 1;
    for (int half = 0; half < 2; half++) {
        uint32_t low = active & 0xffu << 16 * half, high = active & 0xff00u << 16 * half;
        if (low && high && busiest(address, low | high, width) == 1) return 0;
    }
    return 1;
}

void count_banks(const Request *request, int width, int stores, int64_t *sums) {
    const uint64_t *address = request->address;
    uint32_t active = request->active;
    int merged;
    sums[REQUESTS] += 1;
    sums[LANES] += __builtin_popcount(active);
    sums[WAVEFRONTS] += shared_wavefronts(request, width, stores, &merged);
    sums[IDEAL_WAVEFRONTS] += ideal(active, width);
    if (!stores) sums[UNCERTAIN] += !is_certain(address, active, width);
}

/* Whether two words are different ones in the same bank. */
static int meet(uint64_t first, uint64_t other) {
    return first != other && first % BANKS == other % BANKS;
}

/* For how many earlier words the unluckiest lane waits that copies one: words in the bank that it writes, and words in
 * the bank that it reads of lanes that it has not waited for. */
static int longest_wait(const Request *to, const Request *origin) {
    uint64_t into[WARP], out_of[WARP];
    uint32_t reads[WARP];
    int lanes = 0, most = 0;
    for (uint32_t rest = to->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        into[lanes] = to->address[lane] / WORD_BYTES;
        out_of[lanes] = origin->address[lane] / WORD_BYTES;
        reads[lanes++] = origin->active >> lane & 1;
    }
    for (int lane = 1; lane < lanes; lane++) {
        uint64_t written[WARP], read[WARP];
        int writes = 0, others = 0;
        for (int earlier = 0; earlier < lane; earlier++) {
            int known = 0;
            if (meet(into[lane], into[earlier])) {
                for (int n = 0; n < writes; n++) known |= written[n] == into[earlier];
                if (!known) written[writes++] = into[earlier];
            } else if (reads[lane] && reads[earlier] && meet(out_of[lane], out_of[earlier])) {
                for (int n = 0; n < others; n++) known |= read[n] == out_of[earlier];
                if (!known) read[others++] = out_of[earlier];
            }
        }
        if (writes + others > most) most = writes + others;
    }
    return most;
}

/* The L1 cache, which copies come through, lies in the same banks as shared memory: a line's word w in bank w. So
 * reading four lines at the same place in each takes four wavefronts, however well they are written. The slower side
 * counts; but a lane that copies one word is served in the same wavefront on both sides, and so it waits for every
 * earlier lane's word that lies in the bank that it reads or in the one that it writes. */
int copy_wavefronts(const Request *to, const Request *origin, int width) {
    int read = in_phases(origin->address, to->active & origin->active, width);
    int written = in_phases(to->address, to->active, width);
    if (width == WORD_BYTES && read > 1 && written > 1) return 1 + longest_wait(to, origin);
    return read > written ? read : written;
}

void count_copy(const Request *to, const Request *origin, int width, int64_t *sums) {
    count_banks(to, width, 1, sums);
    sums[COPY_WAVEFRONTS] += copy_wavefronts(to, origin, width);
}

/* What each of many requests counts, QUANTITIES of one after the other. kind: 0 global, 1 global by asynchronous
 * copies, 2 shared loads, 3 other shared accesses, 4 asynchronous copies to shared memory, which `origin` is for, and
 * `reads`, the lanes that read anything. A request without an active lane counts nothing. */
EXPORT void count_requests(int kind, int width, int64_t rows, const uint64_t *address, const uint64_t *origin,
                           const uint32_t *active, const uint32_t *reads, int64_t *counts) {
    for (int64_t row = 0; row < rows; row++) {
        Request request, source;
        if (!active[row]) continue;
        int64_t *sums = counts + row * QUANTITIES;
        request.active = active[row];
        source.active = reads[row];
        for (int lane = 0; lane < WARP; lane++) {
            request.address[lane] = address[row * WARP + lane];
            source.address[lane] = origin ? origin[row * WARP + lane] : 0;
        }
        if (kind <= 1) count_lines(&request, width, kind == 1, sums);
        else if (kind <= 3) count_banks(&request, width, kind == 3, sums);
        else count_copy(&request, &source, width, sums);
    }
}
