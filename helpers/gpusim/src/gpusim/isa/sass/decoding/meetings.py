"""Where the threads of a warp come together again."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass import control, operands as operand_rules
from gpusim.isa.sass.decoding.control import nothing, takes_condition
from gpusim.isa.sass.decoding.decoder import Decoder


def _meeting(s: sass.Statement) -> int:
    for operand in s.operands:
        if isinstance(operand, sass.Register) and operand.file == "B" and operand.number is not None:
            return operand.number
    raise NotDecoded("its form without a convergence barrier")


def begin_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("enter meeting", number=[_meeting(s), 0, 0, 0])


def meet(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded(kind=form.MEETS, number=[_meeting(s), 0, 0, 0])


def leave_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded("leave meeting", kind=form.LEAVES, number=[_meeting(s), 0, 0, 0])
    predicates, _ = operand_rules.leading_predicates(s.operands)
    takes_condition(t, i, predicates)
    return i


def move_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    destination, source = s.operands
    if control.sets_up_meetings(s):
        return nothing(t, s)
    if isinstance(destination, sass.Register) and destination.file == "B" and destination.number is not None:
        i = Decoded("restore meeting", number=[destination.number, 0, 0, 0])
        t.read(i, 0, source)
        return i
    i = Decoded("save meeting", number=[_meeting(s), 0, 0, 0], flags=int(s.has("CLEAR")))
    t.writes(i, destination)
    return i
