"""Where the threads of a warp come together again."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass import operands as operand_rules
from gpusim.isa.sass.decoding.control import nothing, takes_condition
from gpusim.isa.sass.decoding.decoder import Decoder


def _meeting(s: sass.Statement) -> int:
    for operand in s.operands:
        if isinstance(operand, sass.Register) and operand.file == "B" and operand.number is not None:
            return operand.number
    raise NotDecoded("its form without a convergence barrier")


def begin_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    """BSSY B0, label: the active threads agree to meet at BSYNC B0."""
    return Decoded("enter meeting", number=[_meeting(s), 0, 0, 0])


def meet(t: Decoder, s: sass.Statement) -> Decoded:
    """BSYNC B0."""
    return Decoded(kind=form.MEETS, number=[_meeting(s), 0, 0, 0])


def leave_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    """BREAK {p,} B0: the active threads will not come to BSYNC B0."""
    i = Decoded("leave meeting", kind=form.LEAVES, number=[_meeting(s), 0, 0, 0])
    predicates, _ = operand_rules.leading_predicates(s.operands)
    takes_condition(t, i, predicates)
    return i


def move_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    """BMOV.32{.CLEAR} R, B0 keeps the lanes that meet at B0 in a register; BMOV.32 B0, R brings it back.

    Code of sm_87 begins with `BMOV.32 B0, 0xffffffff; BMOV.32.CLEAR B1, B0; …`, when there is no meeting: it stays so.
    """
    destination, source = operand_rules.exactly(s, 2)
    is_meeting = [isinstance(operand, sass.Register) and operand.file == "B" for operand in (destination, source)]
    if is_meeting[0] and (is_meeting[1] or isinstance(source, sass.Immediate)):
        return nothing(t, s)
    if isinstance(destination, sass.Register) and destination.file == "B" and destination.number is not None:
        i = Decoded("restore meeting", number=[destination.number, 0, 0, 0])
        t.read(i, 0, source)
        return i
    i = Decoded("save meeting", number=[_meeting(s), 0, 0, 0], flags=int(s.has("CLEAR")))
    t.writes(i, destination)
    return i
