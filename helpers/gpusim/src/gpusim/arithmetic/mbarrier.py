"""What the 64 bits of an mbarrier object become when threads arrive, and when bytes do. PTX ISA, 'mbarrier'.

PTX leaves the bits open. Here they are those that machine code makes with ordinary arithmetic in `mbarrier.init` and
takes apart in `mbarrier.pending_count`, and of the bytes those that an H100 shows in a state; the object itself it
never shows, as loads find what was there before:

- Hopper: 20 bits from bit 1 on hold how many threads arrive in a phase, 21 bits from bit 21 on how many bytes are still
  to come (less than none if they have come before they were expected), 20 bits from bit 43 on how many threads are, and
  bit 63 the parity of the phase. Threads are kept as 2^20, bytes as 2^21 less their number.
- Ampere: the threads alone, in two words, as 2^30 and as 2^31 less the number; it counts them one by one.
"""

import numpy as np

U8 = np.uint64
_FIELD, _FULL, _BYTES_FIELD = U8(0xFFFFF), U8(0x100000), U8(0x1FFFFF)
_EXPECTED, _BYTES, _PENDING, _PHASE = U8(1), U8(21), U8(43), U8(63)
_OTHERS = ~(_FIELD << _EXPECTED | _BYTES_FIELD << _BYTES | _FIELD << _PENDING | U8(1) << _PHASE)
_NONE, _WORD = U8(0), U8(32)


def initial(count):
    """The bits before anybody has arrived, for phases of `count` threads."""
    left = (_FULL - np.asarray(count).astype(U8)) & _FIELD
    return left << _EXPECTED | left << _PENDING


def arrive(old, count, size=_NONE):
    """`count` threads arrive, after `size` bytes more are expected."""
    return _changed(old, count, _NONE, size)


def arrive_and_drop(old, count, size=_NONE):
    """The same, and the threads leave: they are expected in no phase that follows."""
    return _changed(old, count, count, size)


def expect(old, size):
    """`size` bytes more are expected in this phase."""
    return _changed(old, _NONE, _NONE, size)


def complete(old, size):
    """`size` bytes have come."""
    return _changed(old, _NONE, _NONE, -np.asarray(size, U8))


def _changed(old, count, dropped, size):
    expected = ((old >> _EXPECTED & _FIELD) + dropped) & _FIELD
    # Of a phase that awaits no thread 2^20 is kept, whose low bits are 0.
    pending = (old >> _PENDING & _FIELD) + count
    bytes_ = ((old >> _BYTES & _BYTES_FIELD) - size) & _BYTES_FIELD
    completes = (pending & _FIELD == 0) & (bytes_ == 0)
    phase = old >> _PHASE ^ completes.astype(U8)
    pending = np.where(completes, expected, pending) & _FIELD
    return old & _OTHERS | expected << _EXPECTED | bytes_ << _BYTES | pending << _PENDING | phase << _PHASE


def arrive_at_ampere(old):
    """One thread arrives."""
    expected, pending = old & U8(0xFFFFFFFF), (old >> U8(32) & U8(0x7FFFFFFF)) + U8(1)
    completes = pending == U8(1 << 31)
    phase = old >> _PHASE ^ completes.astype(U8)
    pending = np.where(completes, expected + U8(1 << 30), pending) & U8(0x7FFFFFFF)
    return phase << _PHASE | pending << U8(32) | expected


def state_of(bits):
    """What Hopper returns to an arriving thread, of the bits before: the upper word."""
    return bits >> _WORD << _WORD


def pending(state):
    """How many threads had still to come when this state was taken."""
    return _FULL - (state >> _PENDING & _FIELD)


def bytes_pending(bits) -> int:
    """How many bytes are still to come; less than 0 if more have come than were expected."""
    value = -int(bits >> _BYTES & _BYTES_FIELD)
    return value + 2**21 if value <= -(2**20) else value


def parity(state):
    """The parity of the phase, 0 or 1."""
    return state >> _PHASE
