"""What the 64 bits of an mbarrier object become when threads arrive. PTX ISA, 'mbarrier'.

PTX leaves the bits open. Here they are those that machine code makes with ordinary arithmetic in `mbarrier.init` and
takes apart in `mbarrier.pending_count`:

- Hopper: 20 bits from bit 1 on hold how many threads arrive in a phase, 20 bits from bit 43 on how many are still to
  come, and bit 63 the parity of the phase. Both are kept as 2^20 less the number, so that the last one carries into
  bit 63.
- Ampere: the same in two words, as 2^30 and as 2^31 less the number; it counts them one by one.
"""

import numpy as np

U8 = np.uint64
_FIELD, _FULL = U8(0xFFFFF), U8(0x100000)
_EXPECTED, _PENDING, _PHASE = U8(1), U8(43), U8(63)
_OTHERS = ~(_FIELD << _EXPECTED | _FIELD << _PENDING | U8(1) << _PHASE)


def initial(count):
    """The bits before anybody has arrived, for phases of `count` threads."""
    left = (_FULL - np.asarray(count).astype(U8)) & _FIELD
    return left << _EXPECTED | left << _PENDING


def arrive(old, count):
    """`count` threads arrive."""
    return _arrive(old, count, np.zeros_like(old))


def arrive_and_drop(old, count):
    """`count` threads arrive and leave: they are expected in no phase that follows."""
    return _arrive(old, count, count)


def _arrive(old, count, dropped):
    expected = ((old >> _EXPECTED & _FIELD) + dropped) & _FIELD
    pending = (old >> _PENDING & _FIELD) + count
    completes = pending == _FULL
    phase = old >> _PHASE ^ completes.astype(U8)
    pending = np.where(completes, expected, pending) & _FIELD
    return old & _OTHERS | expected << _EXPECTED | pending << _PENDING | phase << _PHASE


def arrive_at_ampere(old):
    """One thread arrives."""
    expected, pending = old & U8(0xFFFFFFFF), (old >> U8(32) & U8(0x7FFFFFFF)) + U8(1)
    completes = pending == U8(1 << 31)
    phase = old >> _PHASE ^ completes.astype(U8)
    pending = np.where(completes, expected + U8(1 << 30), pending) & U8(0x7FFFFFFF)
    return phase << _PHASE | pending << U8(32) | expected


def state_of(bits):
    """What Hopper answers to who arrives, of the bits before: the phase and who was to come, and nothing below."""
    return bits >> _PENDING << _PENDING


def pending(state):
    """How many threads had still to come when this state was taken."""
    return _FULL - (state >> _PENDING & _FIELD)


def parity(state):
    """The parity of the phase, 0 or 1."""
    return state >> _PHASE
