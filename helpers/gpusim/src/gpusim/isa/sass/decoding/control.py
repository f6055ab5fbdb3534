"""What comes next: branches, calls, barriers, the end."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, Decoded, NotDecoded
from gpusim.isa.sass import control
from gpusim.isa.sass.decoding.decoder import Decoder, number_of
from gpusim.isa.sass.operands import chosen, is_predicate, is_register


def nothing(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("nothing")


def trap(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("trap")


def lanes_together(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("lanes together" if t.code.syncs_warps else "nothing")


def takes_condition(t: Decoder, i: Decoded, operands: Sequence[sass.Operand]) -> None:
    if len(operands) > 1:
        raise NotDecoded(f"its form with {len(operands)} predicates")
    i.p_in[0] = t.predicate(operands[0]) if operands else ALWAYS


def branch(t: Decoder, s: sass.Statement) -> Decoded:
    *operands, label = s.operands
    i = Decoded(kind=form.BRANCHES, target=t.code.place(label))
    if not s.has("DIV", "CONV"):
        takes_condition(t, i, operands)
        i.flags = 8 if s.has("ANY") else 4 * s.has("U")
        return i
    i.flags = 1 if s.has("DIV") else 2
    if operands:
        t.read(i, 0, operands[0])
    return i


def arrive_in_cluster(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded(kind=form.ARRIVES)


def wait_for_cluster(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded(kind=form.WAITS_FOR_CLUSTER)


def _go_to(t: Decoder, register: sass.Operand, base: int, targets: tuple[int, ...], otherwise: int = -1) -> Decoded:
    """A jump to one of `targets`; by another address to `otherwise`, which is the first target if it is less than 0."""
    if not targets or not is_register(register):
        raise NotDecoded("a jump without a list of its targets")
    known = set(targets)
    table = [targets[0] if otherwise < 0 else otherwise] * (len(t.code.addresses) + 1)
    for address, index in t.code.addresses.items():
        if index in known:
            table[address // sass.INSTRUCTION_BYTES] = index
    i = Decoded(kind=form.JUMPS, jumps=tuple(table))
    t.read(i, 0, sass.Register(register.file, register.number))
    i.number[2:] = [base, sass.INSTRUCTION_BYTES.bit_length() - 1]
    return i


def computed_branch(t: Decoder, s: sass.Statement) -> Decoded:
    register, *offset = s.operands
    targets = t.code.branch_targets.get(s.address)
    if not targets:
        raise NotDecoded("a branch without a list of its targets")
    base = s.address + sass.INSTRUCTION_BYTES + sum(number_of(operand) for operand in offset)
    return _go_to(t, register, base, tuple(t.code.addresses[target] for target in targets))


def call(t: Decoder, s: sass.Statement) -> Decoded:
    if s.has("ABS") and not any(isinstance(operand, sass.Label) for operand in s.operands):
        raise NotDecoded("a function of the system")
    *register, function = s.operands
    place = t.code.place(function)
    if register:
        return _call_through(t, register[0], sass.INSTRUCTION_BYTES * place)
    return Decoded(kind=form.BRANCHES, target=place)


def _call_through(t: Decoder, pointer: sass.Operand, base: int) -> Decoded:
    """Where no function is, the last instruction is gone to: it is behind the end of the code, and traps."""
    return _go_to(t, pointer, base, t.code.functions, len(t.code.addresses) - 1)


def returns(t: Decoder, s: sass.Statement) -> Decoded:
    register, function = s.operands
    base = number_of(function) if s.has("ABS") else sass.INSTRUCTION_BYTES * t.code.place(function)
    return _go_to(t, register, base, t.code.return_points)


def leave(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded(kind=form.EXITS)
    takes_condition(t, i, s.operands)
    return i


def barrier(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded(kind=form.WAITS, flags=int(s.has("ARV")))
    which, *threads = (operand for operand in s.operands if not is_predicate(operand))
    if s.has("RED"):
        if not control.is_syncthreads(s):
            raise NotDecoded("a reduction at a barrier with a number")
        i.operation = "bring votes"
        i.p_in[0] = t.predicate(s.operands[-1])
        return i
    for place, operand in enumerate((which, *threads)):
        if is_register(operand):
            t.read(i, place, operand)
        else:
            i.number[1 + place] = number_of(operand)
    i.number[3] = 16 * (i.width[0] > 0)
    return i


def barrier_result(t: Decoder, s: sass.Statement) -> Decoded:
    reduction = t.code.reductions.get(s.address)
    if reduction is None or not s.has("RESULT"):
        raise NotDecoded("what is no reduction at a barrier")
    destination, *predicate = s.operands
    i = Decoded("barrier result")
    i.offset = chosen(reduction, {"POPC": 0, "AND": 1, "OR": 2})
    if predicate:
        i.p_out[0] = t.kept(predicate[0])
    else:
        t.writes(i, destination)
    return i


def warp_barrier(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded(kind=form.WAITS_FOR_LANES, flags=s.has("COLLECTIVE") | s.has("EXCLUSIVE") << 1)
    if not s.has("ALL"):
        t.read(i, 0, s.operands[0])
    if s.has("COLLECTIVE"):
        i.target = t.code.collective_copies.get(s.address, -1)
        if i.target < 0:
            raise NotDecoded("a beginning without an end")
    return i


def end_collective(t: Decoder, s: sass.Statement) -> Decoded:
    ends = t.code.collective_ends.get(s.address)
    if ends is None:
        raise NotDecoded("an end without a beginning")
    return Decoded(kind=form.PARTS, target=ends[0])
