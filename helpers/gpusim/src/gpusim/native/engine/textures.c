/* Textures and surfaces. What a texture unit computes is explained in simulator/arithmetic/texture_unit.py; here it is
 * the same for one lane after the other. */
#include <math.h>

#include "floats.h"
#include "machine.h"

enum { WRAP, CLAMP, MIRROR, BORDER };                  /* address modes */
enum { SAMPLES, FETCHES, GATHERS };                    /* number[0]; a channel is added to the last */
enum { HAS_LAYER = 1 };                                /* in `flags` */
enum { TRAPS, CLAMPS, IGNORES };                       /* what a surface does outside */
enum { ALL_WEIGHT = 256, CHANNELS = 4, CORNERS = 8, GUARD_BITS = 4, HALF_STEP = -24 };

static const double STEPS = 2097152.0, FAR_AWAY = 68719476736.0; /* 2**21, 2**36 */

/* The object of a handle; NULL if there is none of this kind. */
static const Image *image_of(const Warp *warp, uint32_t handle, int is_surface) {
    const Launch *launch = warp->launch;
    for (int k = 0; k < launch->image_count; k++)
        if (launch->images[k].handle == handle && launch->images[k].is_surface == is_surface) return launch->images + k;
    return 0;
}

/* ---- elements */

/* A channel of an element that exists, as 32 bits: an integer extended, a float as float32. */
static uint32_t channel_at(const Image *image, const int32_t place[3], int channel) {
    int64_t row = (int64_t)place[2] * image->size[1] + place[1];
    int width = image->channel_bytes;
    const uint8_t *at = image->bytes + row * image->pitch + ((int64_t)place[0] * image->channels + channel) * width;
    uint32_t bits = 0;
    memcpy(&bits, at, (size_t)width);
    if (image->is_float && width == 2) {
        /* NaNs as they are */
        if ((bits & 0x7c00) == 0x7c00) return (bits & 0x8000) << 16 | 0x7f800000u | (bits & 0x3ff) << 13;
        return bits_of((float)of_half((uint16_t)bits));
    }
    if (image->is_signed && width < 4) {
        int unused = 32 - 8 * width;
        return (uint32_t)((int32_t)(bits << unused) >> unused);
    }
    return bits;
}

static int mode_of(const Image *image, int axis) {
    int mode = image->mode[axis];
    return !image->normalized && (mode == WRAP || mode == MIRROR) ? CLAMP : mode;
}

/* The element that is read for an index of an axis; 0 if it lies outside of what there is. */
static int address_of(const Image *image, int axis, int64_t index, int32_t *place) {
    int64_t size = image->size[axis];
    int mode = mode_of(image, axis), is_inside = mode != BORDER || (index >= 0 && index < size);
    if (mode == WRAP) {
        index %= size;
        if (index < 0) index += size;
    } else if (mode == MIRROR) {
        index %= 2 * size;
        if (index < 0) index += 2 * size;
        if (index >= size) index = 2 * size - 1 - index;
    }
    *place = (int32_t)(index < 0 ? 0 : index >= size ? size - 1 : index);
    return is_inside;
}

/* All channels of an element, or what stands for it outside. */
static void element_at(const Image *image, const int64_t index[3], int32_t layer, uint32_t value[CHANNELS]) {
    int32_t place[3] = {0, 0, 0};
    int is_inside = 1;
    for (int axis = 0; axis < image->dims; axis++) is_inside &= address_of(image, axis, index[axis], place + axis);
    if (image->layered) place[2] = layer;
    for (int c = 0; c < image->channels; c++) value[c] = is_inside ? channel_at(image, place, c) : image->outside[c];
}

/* ---- places */

static int64_t down(double x) {
    int64_t whole = (int64_t)x;
    return whole - (x < (double)whole);
}

static double position(uint32_t bits, int32_t size, int is_normalized) {
    double x = as_float(bits);
    if (x != x || fabs(x) < 0x1p-126) x = 0;
    x = x > FAR_AWAY ? FAR_AWAY : x < -FAR_AWAY ? -FAR_AWAY : x;
    return is_normalized ? (double)down(x * STEPS) / STEPS * size : x;
}

/* The element at or before a place; `fraction`: how far it is from there to the next one. */
static int64_t between(double place, int32_t size, int mode, int *fraction) {
    int64_t middle = down(place * ALL_WEIGHT + 0.5) - ALL_WEIGHT / 2, last = (int64_t)ALL_WEIGHT * (size - 1);
    if (mode == CLAMP) middle = middle < 0 ? 0 : middle > last ? last : middle;
    *fraction = (int)(middle & (ALL_WEIGHT - 1));
    return middle >> 8;
}

static int share(int whole, int fraction) { return (whole * fraction + ALL_WEIGHT / 2) / ALL_WEIGHT; }

/* The weights of 2, 4 or 8 elements: bit 0 of their number is the column, bit 1 the row, bit 2 the depth. */
static void weigh(int dims, const int fraction[3], int weight[CORNERS]) {
    if (dims == 1) {
        weight[0] = ALL_WEIGHT - fraction[0];
        weight[1] = fraction[0];
        return;
    }
    for (int z = 0; z < (dims == 3 ? 2 : 1); z++) {
        int whole = dims == 3 ? (z ? fraction[2] : ALL_WEIGHT - fraction[2]) : ALL_WEIGHT;
        int right = share(whole, fraction[0]), left = whole - right;
        int top = share(left, ALL_WEIGHT - fraction[1]), bottom = share(right, fraction[1]);
        int *slice = weight + 4 * z;
        slice[0] = top, slice[2] = left - top, slice[1] = right - bottom, slice[3] = bottom;
    }
}

/* ---- means */

static double power_of_two(int exponent) { return as_double((uint64_t)(exponent + 1023) << 52); }

/* A float32 in units of 2**last, cut off. */
static int64_t in_units(uint32_t bits, int last) {
    int exponent = (int)(bits >> 23 & 255), shift = exponent - 150 - last;
    int64_t mantissa = exponent ? (int64_t)(bits & 0x7fffff) | 0x800000 : 0;
    mantissa = shift >= 0 ? mantissa << shift : shift < -31 ? 0 : mantissa >> -shift;
    return bits >> 31 ? -mantissa : mantissa;
}

/* The sum in units of 2**last, rounded to a number of digits. */
static float rounded(int64_t total, int last, int digits) {
    uint64_t size = total < 0 ? 0 - (uint64_t)total : (uint64_t)total;
    int length = size ? 64 - __builtin_clzll(size) : 0, drop = length - digits;
    if (digits == 11 && drop < HALF_STEP - last) drop = HALF_STEP - last;
    if (drop > 62) size = 0;
    else if (drop > 0) size = (size + (1ull << (drop - 1))) >> drop << drop;
    double value = (double)size * power_of_two(last);
    return value < 0x1p-126 ? 0.0f : (float)(total < 0 ? -value : value);
}

/* `counts`: bits of the elements whose infinities and NaNs count. */
static uint32_t mean_of_floats(const uint32_t value[CORNERS], const int weight[CORNERS], int corners, uint32_t counts,
                               int digits) {
    int slices = corners == 8 ? 2 : 1, each = corners / slices, last[2] = {0, 0}, most, only_negative_zeros = 1;
    int is_up = 0, is_down = 0, is_nan = 0;
    uint32_t usual[CORNERS];
    int64_t whole[2] = {0, 0}, total = 0;
    for (int k = 0; k < corners; k++) {
        uint32_t bits = bits_of(flushed(as_float(value[k]))), size = bits & 0x7fffffff;
        usual[k] = size < 0x7f800000 && weight[k] ? bits : 0;
        only_negative_zeros &= bits == 0x80000000u || !weight[k];
        if (!(counts >> k & 1)) continue;
        is_nan |= size > 0x7f800000;
        is_up |= bits == 0x7f800000u;
        is_down |= bits == 0xff800000u;
    }
    if (is_nan || (is_up && is_down)) return digits == 11 ? 0x7fffe000u : NAN_BITS;
    if (is_up || is_down) return is_up ? 0x7f800000u : 0xff800000u;
    if (only_negative_zeros) return 0x80000000u;
    for (int s = 0; s < slices; s++) {
        int largest = 0;
        for (int k = s * each; k < (s + 1) * each; k++) {
            int exponent = (int)(usual[k] >> 23 & 255);
            if (exponent > largest) largest = exponent;
        }
        last[s] = largest - 127 - (digits - 1) - GUARD_BITS;
        for (int k = s * each; k < (s + 1) * each; k++) whole[s] += in_units(usual[k], last[s]) * weight[k];
    }
    most = slices == 2 && last[1] > last[0] ? last[1] : last[0];
    for (int s = 0; s < slices; s++) total += whole[s] >> (most - last[s] > 62 ? 62 : most - last[s]);
    return bits_of(rounded(total, most - 8, digits));
}

/* An integer as a fraction of the largest; below -1 there is nothing. */
static uint32_t fraction_of(int64_t value, int64_t largest) {
    double fraction = (double)value / (double)largest;
    return bits_of((float)(fraction < -1 ? -1 : fraction));
}

static uint32_t mean_of_fractions(const Image *image, const uint32_t value[CORNERS], const int weight[CORNERS],
                                  int corners) {
    int64_t total = 0;
    for (int k = 0; k < corners; k++) total += (int64_t)(int32_t)value[k] * weight[k];
    if (image->channel_bytes == 2) total = (total + 128) >> 8;
    else if (image->is_signed) total += (total + (total >> 12) * 16 + 64) >> 7;
    else total += (total + 128) >> 8;
    return fraction_of(total, image->is_signed ? 32767 : 65535);
}

/* A channel as it is answered where nothing is weighed. */
static uint32_t answer(const Image *image, uint32_t value) {
    if (!image->fractions) return value;
    return fraction_of((int32_t)value, (1ll << (8 * image->channel_bytes - image->is_signed)) - 1);
}

/* ---- reading */

static void sample(const Image *image, const uint32_t coordinate[3], int axes, const uint32_t *layer,
                   uint32_t found[CHANNELS]) {
    double place[3];
    int64_t first[3] = {0, 0, 0}, index[3] = {0, 0, 0};
    int fraction[3] = {0, 0, 0}, weight[CORNERS], corners = 1 << image->dims;
    uint32_t value[CORNERS][CHANNELS], counts = 0;
    if (image->is_buffer || image->layered != (layer != 0) || (image->dims == 3) != (axes == 3)) return;
    int32_t last = image->size[2] - 1, number = layer ? (*layer > (uint32_t)last ? last : (int32_t)*layer) : 0;
    for (int k = 0; k < image->dims; k++)
        place[k] = position(k < axes ? coordinate[k] : 0, image->size[k], image->normalized);
    if (!image->linear) {
        for (int k = 0; k < image->dims; k++) index[k] = down(place[k]);
        element_at(image, index, number, found);
        for (int c = 0; c < image->channels; c++) found[c] = answer(image, found[c]);
        return;
    }
    for (int k = 0; k < image->dims; k++) first[k] = between(place[k], image->size[k], mode_of(image, k), fraction + k);
    weigh(image->dims, fraction, weight);
    for (int corner = 0; corner < corners; corner++) {
        int counted = 1;
        for (int k = 0; k < image->dims; k++) {
            index[k] = first[k] + (corner >> k & 1);
            counted &= fraction[k] > 0 || !(corner >> k & 1);
        }
        counts |= (uint32_t)counted << corner;
        element_at(image, index, number, value[corner]);
    }
    for (int c = 0; c < image->channels; c++) {
        uint32_t channel[CORNERS];
        for (int corner = 0; corner < corners; corner++) channel[corner] = value[corner][c];
        found[c] = image->fractions ? mean_of_fractions(image, channel, weight, corners)
                                    : mean_of_floats(channel, weight, corners, counts,
                                                     image->channel_bytes == 2 ? 11 : 24);
    }
}

static void fetch(const Image *image, int32_t number, uint32_t found[CHANNELS]) {
    int32_t place[3] = {number, 0, 0};
    if (!image->is_buffer || number < 0 || number >= image->size[0]) return;
    for (int c = 0; c < image->channels; c++) found[c] = answer(image, channel_at(image, place, c));
}

static void gather(const Image *image, const uint32_t coordinate[3], int channel, uint32_t found[CHANNELS]) {
    static const int RIGHT[CHANNELS] = {0, 1, 1, 0}, UP[CHANNELS] = {1, 1, 0, 0};
    int64_t first[2];
    int fraction;
    if (image->dims != 2 || image->layered || channel >= image->channels) return;
    for (int k = 0; k < 2; k++)
        first[k] = between(position(coordinate[k], image->size[k], image->normalized), image->size[k], BORDER,
                           &fraction);
    for (int k = 0; k < CHANNELS; k++) {
        int64_t index[3] = {first[0] + RIGHT[k], first[1] + UP[k], 0};
        uint32_t value[CHANNELS];
        element_at(image, index, 0, value);
        found[k] = answer(image, value[channel]);
    }
}

/* number[0]: what is done; number[1]: axes; number[2]: the channels that are kept, as bits; number[3]: the row of the
 * third and fourth of them, or -1: they are nowhere else. Sources: the first coordinate, behind the layer if there is
 * one, and the handle. */
static void read_texture(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes handle = *row_of(warp, i->source[1]);
    int axes = i->number[1], has_layer = (i->flags & HAS_LAYER) != 0, kept = 0;
    Lanes results[CHANNELS] = {{0}};
    const Image *image = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t coordinate[3] = {0, 0, 0}, found[CHANNELS] = {0, 0, 0, 0};
        uint32_t layer = has_layer ? each_of(row_at(warp, i->source[0], 0))[lane] : 0;
        if (!image || image->handle != handle[lane]) image = image_of(warp, handle[lane], 0);
        if (!image) {
            fail(warp, i, NOT_MODELLED, lane, 0);
            return;
        }
        for (int k = 0; k < axes; k++) coordinate[k] = each_of(row_at(warp, i->source[0], k + has_layer))[lane];
        if (i->number[0] == SAMPLES) sample(image, coordinate, axes, has_layer ? &layer : 0, found);
        else if (i->number[0] == FETCHES) fetch(image, (int32_t)coordinate[0], found);
        else gather(image, coordinate, i->number[0] - GATHERS, found);
        for (int c = 0; c < CHANNELS; c++) results[c][lane] = found[c];
    }
    for (int c = 0; c < CHANNELS; c++) {
        if (!(i->number[2] >> c & 1)) continue;
        if (kept >= 2 && i->number[3] >= 0) write_row(warp, i->number[3] + kept - 2, results[c], mask);
        else if (i->d_width > kept) write_row(warp, part_of(warp, i->d, kept), results[c], mask);
        kept++;
    }
}

/* ---- surfaces */

/* The bytes that a lane reads or writes; NULL if there are none, or something is wrong. Numbers as in
 * `load_surface`. */
static uint8_t *surface_bytes(Warp *warp, const Instruction *i, int lane, const Image *image) {
    int64_t width = i->number[2], byte = (int32_t)each_of(row_at(warp, i->source[0], 0))[lane], place[3] = {0, 0, 0},
        last;
    int is_inside;
    if (!image || byte % width) {
        fail(warp, i, image ? MISALIGNED : NOT_MODELLED, lane, 0);
        return 0;
    }
    last = (int64_t)image->size[0] * image->channels * image->channel_bytes - width;
    is_inside = byte >= 0 && byte <= last;
    place[0] = byte < 0 ? 0 : byte > last ? last : byte;
    for (int axis = 1; axis < i->number[1]; axis++) {
        int64_t at = (int32_t)each_of(row_at(warp, i->source[0], axis))[lane], size = image->size[axis];
        is_inside &= at >= 0 && at < size;
        if (axis == image->dims) at = (uint32_t)at; /* a layer has no sign */
        place[axis] = at < 0 ? 0 : at >= size ? size - 1 : at;
    }
    if (!is_inside && i->number[0] == TRAPS) fail(warp, i, OUT_OF_BOUNDS, lane, 0);
    if (!is_inside && i->number[0] != CLAMPS) return 0;
    return image->bytes + (place[2] * image->size[1] + place[1]) * image->pitch + place[0];
}

/* Of the words, or narrow values, that a lane reads or writes the bytes of each; the first ones are the low ones. */
static size_t bytes_of_item(const Instruction *i) {
    return (size_t)(i->number[3] ? i->number[3] : i->number[2] < 4 ? i->number[2] : 4);
}

/* number[0]: what is done outside; number[1]: coordinates; number[2]: bytes, and number[3] those of each of several
 * narrow values; `flags`: a narrow value has a sign. */
static void load_surface(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes handle = *row_of(warp, i->source[1]);
    Lanes results[CHANNELS] = {{0}};
    for (uint32_t rest = mask; rest && !warp->results->fault; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), unused = 32 - 8 * i->number[2];
        const uint8_t *at = surface_bytes(warp, i, lane, image_of(warp, handle[lane], 1));
        uint32_t words[CHANNELS] = {0, 0, 0, 0};
        for (int k = 0; at && k < i->d_width; k++) memcpy(words + k, at + k * bytes_of_item(i), bytes_of_item(i));
        if (i->flags) words[0] = (uint32_t)((int32_t)(words[0] << unused) >> unused);
        for (int k = 0; k < i->d_width; k++) results[k][lane] = words[k];
    }
    for (int k = 0; k < i->d_width; k++) write_row(warp, part_of(warp, i->d, k), results[k], mask);
}

/* As load_surface; source 2 is what is written. */
static void store_surface(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes handle = *row_of(warp, i->source[1]);
    const size_t size = bytes_of_item(i), count = (size_t)i->number[2] / size;
    warp->results->changes++;
    for (uint32_t rest = mask; rest && !warp->results->fault; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint8_t *at = surface_bytes(warp, i, lane, image_of(warp, handle[lane], 1));
        for (size_t k = 0; at && k < count; k++)
            memcpy(at + k * size, each_of(row_at(warp, i->source[2], (int)k)) + lane, size);
    }
}

const NamedOperation TEXTURES[] = {
    {"read texture", read_texture},
    {"load surface", load_surface},
    {"store surface", store_surface},
    {0, 0},
};
