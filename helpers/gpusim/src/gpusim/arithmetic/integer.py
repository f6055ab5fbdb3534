"""Integer arithmetic of the GPU on NumPy arrays and scalars, where NumPy's own operators do not already agree with it.

Operands have the dtype of the instruction (`int32` for .s32, `uint64` for .u64, …) and so have results, unless stated.
Reference: PTX ISA, chapters 'Integer Arithmetic Instructions' and 'Logic and Shift Instructions'.
"""

import numpy as np

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def divide(a, b):
    """Quotient rounded toward zero; all bits set where b is 0, as current GPUs answer (PTX leaves it unspecified)."""
    quotient = a // b  # rounded down: -7 // 2 is -4, one too small
    if np.issubdtype(quotient.dtype, np.signedinteger):
        remainder = a - quotient * b
        quotient = quotient + ((remainder != 0) & ((a ^ b) < 0)).astype(quotient.dtype)
    zero = b == 0
    return np.where(zero, ~quotient.dtype.type(0), quotient) if np.any(zero) else quotient


def remainder(a, b):
    """a − b · divide(a, b): it has the sign of a; all bits set where b is 0, as an H200 answers."""
    rest = np.fmod(a, b)
    zero = b == 0
    return np.where(zero, ~rest.dtype.type(0), rest) if np.any(zero) else rest


def multiply_high(a, b):
    """The upper half of the double-width product."""
    size = a.dtype.itemsize
    signed = np.issubdtype(a.dtype, np.signedinteger)
    if size < 8:
        wide = (SIGNED if signed else UNSIGNED)[size * 2]
        return ((a.astype(wide) * b.astype(wide)) >> wide(size * 8)).astype(a.dtype)
    # By halves, as on paper: (2^32 + 3)(2^33 + 5) is 2·2^64 + 11·2^32 + 15.
    low_a, high_a = a & a.dtype.type(0xFFFFFFFF), a >> a.dtype.type(32)
    low_b, high_b = b & b.dtype.type(0xFFFFFFFF), b >> b.dtype.type(32)
    low = low_a.view(np.uint64) * low_b.view(np.uint64)
    middle = high_a * low_b + (low >> np.uint64(32)).view(a.dtype)
    carry = low_a * high_b + (middle & a.dtype.type(0xFFFFFFFF))
    return high_a * high_b + (middle >> a.dtype.type(32)) + (carry >> a.dtype.type(32))


def multiply_wide(a, b):
    """The whole product, of double width."""
    wide = (SIGNED if np.issubdtype(a.dtype, np.signedinteger) else UNSIGNED)[a.dtype.itemsize * 2]
    return a.astype(wide) * b.astype(wide)


def shift_left(a, amount):
    """a << amount; 0 when the amount (unsigned 32 bits) is the width or more."""
    return a << np.minimum(amount, np.uint32(a.dtype.itemsize * 8)).astype(a.dtype)


def shift_right(a, amount):
    """Arithmetic for signed, logical for unsigned a; the amount is clamped to the width."""
    return a >> np.minimum(amount, np.uint32(a.dtype.itemsize * 8)).astype(a.dtype)


def funnel_left(low, high, amount, wrap: bool):
    """shf.l: the upper 32 bits of (high:low) << amount, the amount taken mod 32 or clamped at 32."""
    amount = (amount & np.uint32(31)) if wrap else np.minimum(amount, np.uint32(32))
    both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
    return ((both << amount.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)


def funnel_right(low, high, amount, wrap: bool):
    """shf.r: the lower 32 bits of (high:low) >> amount."""
    amount = (amount & np.uint32(31)) if wrap else np.minimum(amount, np.uint32(32))
    both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
    return (both >> amount.astype(np.uint64)).astype(np.uint32)


def extract_bits(a, position, length):
    """bfe: `length` bits of a from `position` on, sign-extended if a is signed.

    4 bits from bit 4 of 0xabcd are 0xc, or -4 as a signed number. Of position and length, uint32, the low 8 bits count.
    """
    bits = a.dtype.itemsize * 8
    position = position & np.uint32(255)
    length = wanted = length & np.uint32(255)
    signed = np.issubdtype(a.dtype, np.signedinteger)
    unsigned = UNSIGNED[a.dtype.itemsize]
    # Bits beyond the top are the sign's, as those beyond the length.
    length = np.minimum(length, np.maximum(np.uint32(bits), position) - position) if signed else length
    field = shift_right(a.view(unsigned), position)
    field = field & (shift_left(np.ones((), unsigned)[()], length) - unsigned(1))
    if not signed:
        return field
    empty = wanted == 0
    sign_at = np.minimum(position + wanted - np.uint32(1), np.uint32(bits - 1))
    sign = shift_right(a.view(unsigned), sign_at) & unsigned(1)
    sign = np.where(empty, unsigned(0), sign)
    return np.where(sign != 0, field | ~(shift_left(np.ones((), unsigned)[()], length) - unsigned(1)), field).view(
        a.dtype
    )


def insert_bits(field, base, position, length):
    """bfi: base with its `length` bits at `position` replaced by the low bits of field: (0xf, 0, 4, 4) gives 0xf0."""
    unsigned = base.dtype.type
    position = position & np.uint32(255)
    length = length & np.uint32(255)
    mask = shift_left(shift_left(np.ones((), unsigned)[()], length) - unsigned(1), position)
    return (shift_left(field, position) & mask) | (base & ~mask)


def population_count(a):
    """popc: number of one bits, as uint32."""
    return np.bitwise_count(a).astype(np.uint32)


def reverse_bits(a):
    """brev: bit 0 becomes the highest bit."""
    flat = np.atleast_1d(a.view(UNSIGNED[a.dtype.itemsize]))
    octets = np.ascontiguousarray(flat)[..., None].view(np.uint8)
    bits = np.unpackbits(octets[..., ::-1], axis=-1)
    packed = np.packbits(bits[..., ::-1], axis=-1)[..., ::-1]
    return np.ascontiguousarray(packed).view(flat.dtype)[..., 0].reshape(np.shape(a))[()]


def find_leading(a, shift_amount: bool):
    """bfind: the highest bit that differs from the sign (0xffffffff if none), or the shift that lifts it to the top."""
    bits = a.dtype.itemsize * 8
    unsigned = UNSIGNED[a.dtype.itemsize]
    magnitude = np.where(a < 0, ~a, a).view(unsigned) if np.issubdtype(a.dtype, np.signedinteger) else a
    position = np.uint32(bits - 1) - leading_zeros(magnitude)
    result = np.uint32(bits - 1) - position if shift_amount else position
    return np.where(magnitude == 0, np.uint32(0xFFFFFFFF), result)


def leading_zeros(a):
    """clz: number of zero bits above the highest one bit, as uint32.

    The highest bit is spread down, and the ones are counted: 0x10 becomes 0x1f, five ones, so that 27 of 32 are zeros.
    """
    value = a.view(UNSIGNED[a.dtype.itemsize])
    bits = a.dtype.itemsize * 8
    spread = value
    shift = 1
    while shift < bits:
        spread = spread | (spread >> spread.dtype.type(shift))
        shift *= 2
    return np.uint32(bits) - np.bitwise_count(spread).astype(np.uint32)


def permute_bytes(a, b, selector):
    """prmt: each nibble of the selector picks one of the 8 bytes of (b:a); its bit 3 spreads its sign instead.

    (0x03020100, 0x07060504, 0x7654) gives 0x07060504, which is b. All are uint32.
    """
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    result = np.uint32(0)
    for position in range(4):
        nibble = (selector >> np.uint32(4 * position)) & np.uint32(15)
        octet = ((both >> (np.uint64(8) * (nibble & np.uint32(7)).astype(np.uint64))) & np.uint64(255)).astype(
            np.uint32
        )
        sign = np.where(octet & np.uint32(128), np.uint32(255), np.uint32(0))
        octet = np.where(nibble & np.uint32(8), sign, octet)
        result = result | (octet << np.uint32(8 * position))
    return result


def nth_set_bit(mask, base, offset):
    """fns.b32: the place of the offset-th set bit of `mask`, from bit `base` on, which counts; 2^32 - 1 if none.

    Downward where `offset` is negative; 0 asks for bit `base` itself. (0b1010, 0, 2) gives 3. uint32, offset int32.
    """
    wanted, down = np.abs(offset.astype(np.int64)), offset < 0
    found, seen = np.uint32(0xFFFFFFFF), np.int64(0)
    for step in range(32):
        place = np.where(down, base - np.uint32(step), base + np.uint32(step)).astype(np.uint32)
        is_set = (place < 32) & (mask >> np.minimum(place, np.uint32(31)) & np.uint32(1) == 1)
        seen = seen + is_set
        hit = is_set & (np.where(wanted == 0, step == 0, seen == wanted))
        found = np.where(hit & (found == np.uint32(0xFFFFFFFF)), place, found)
    return found


# prmt's modes (PTX ISA): by the lowest two bits of the selector, the byte of (b:a) that each byte of the result is.
PERMUTATIONS = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def selectors(mode: str) -> list[int]:
    """The four selectors that a mode of PERMUTATIONS stands for."""
    return [sum(byte << 4 * place for place, byte in enumerate(row)) for row in PERMUTATIONS[mode]]


def permute_bytes_by(mode: str):
    """`permute_bytes` in one of the modes of PERMUTATIONS."""
    table = np.array(selectors(mode), np.uint32)
    return lambda a, b, selector: permute_bytes(a, b, table[selector & np.uint32(3)])


def absolute_differences(a, b, c, signed: bool):
    """vabsdiff4 …add: the sum of |a - b| over their four bytes, added to c, modulo 2^32."""
    total = c
    for place in range(4):
        x, y = (_byte(value, place, signed) for value in (a, b))
        total = total + np.abs(x - y).astype(np.uint32)
    return total


def absolute_difference_of_bytes(a, b, signed: bool):
    """vabsdiff4: |a - b| of each of the four bytes."""
    result = np.uint32(0)
    for place in range(4):
        x, y = (_byte(value, place, signed) for value in (a, b))
        result = result | (np.abs(x - y).astype(np.uint32) & np.uint32(255)) << np.uint32(8 * place)
    return result


def _byte(value, place: int, signed: bool):
    octet = (value >> np.uint32(8 * place) & np.uint32(255)).astype(np.int32)
    return np.where(octet > 127, octet - 256, octet) if signed else octet


def dot4(a, b, c, signed: tuple[bool, bool]):
    """dp4a, IDP.4A: the products of the four bytes of a and b, added to c, modulo 2^32.

    a, b and c are 32 bits wide; `signed` says of a and of b whether their bytes are; the result has the dtype of c.
    0x01020304 · 0x01010101 + 5 is 15.
    """
    kinds = [np.int8 if is_signed else np.uint8 for is_signed in signed]
    total = c
    for shift in (0, 8, 16, 24):
        left = (a >> a.dtype.type(shift)).astype(np.uint8).view(kinds[0]).astype(c.dtype)
        right = (b >> b.dtype.type(shift)).astype(np.uint8).view(kinds[1]).astype(c.dtype)
        total = total + left * right
    return total


def dot2(a, b, c, signed: tuple[bool, bool], upper: bool):
    """dp2a, IDP.2A: the 16-bit halves of a by the lower (or upper) two bytes of b, added to c, modulo 2^32.

    As `dot4`. 0x00020003 · 0x00000504 + 1 is 2 · 5 + 3 · 4 + 1 = 23.
    """
    halves, octets = np.int16 if signed[0] else np.uint16, np.int8 if signed[1] else np.uint8
    total = c
    for number in (0, 1):
        left = (a >> a.dtype.type(16 * number)).astype(np.uint16).view(halves).astype(c.dtype)
        right = (b >> b.dtype.type(16 * upper + 8 * number)).astype(np.uint8).view(octets).astype(c.dtype)
        total = total + left * right
    return total


def lop3(a, b, c, table: int):
    """Any logical function of three inputs: bit i of `table` is its value at (a, b, c) = the bits of i.

    0xe8 is the majority: its bits 3, 5, 6 and 7 are set, those with two ones or three.
    """
    result = a.dtype.type(0)
    for i in range(8):
        if table >> i & 1:
            result = result | ((a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c))
    return result


def convert(value, dtype, saturate: bool):
    """cvt between integers: the low bits, sign- or zero-extended by the source's type; .sat clamps to the range."""
    if saturate:
        limits, own = np.iinfo(dtype), np.iinfo(value.dtype)
        low, high = max(limits.min, own.min), min(limits.max, own.max)
        value = np.clip(value, value.dtype.type(low), value.dtype.type(high))
    return value.astype(dtype)


def packed(high, low, above, bits: int, is_signed: bool):
    """The nearest numbers of so many bits to two int32, side by side, and `above` them the low bits of an uint32.

    PTX ISA, 'cvt.pack'.
    """
    first, last = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    mask = np.uint32((1 << bits) - 1)
    high, low = (np.clip(number, first, last).astype(np.int32).view(np.uint32) & mask for number in (high, low))
    both = high << np.uint32(bits) | low
    return both | above << np.uint32(2 * bits) if bits < 16 else both
