"""What comes next: branches, calls, barriers, the end."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, BY_POINTER, Decoded, NotDecoded, Word
from gpusim.isa.sass.decoding.decoder import Decoder, number_of
from gpusim.isa.sass.operands import at_least, chosen, exactly, is_predicate, is_register


def nothing(t: Decoder, s: sass.Statement) -> Decoded:
    """A hint to the scheduler or to a cache, a wait: no value changes."""
    return Decoded("nothing")


def trap(t: Decoder, s: sass.Statement) -> Decoded:
    """BPT.TRAP."""
    return Decoded("trap")


def lanes_together(t: Decoder, s: sass.Statement) -> Decoded:
    """NOP: what ptxas leaves of `__syncwarp()` where it knows that the lanes of a warp are together.

    For sm_120 that of CUDA 13 puts some around FP64 instructions, too: where no `__syncwarp()` is called, it is none.
    """
    return Decoded("lanes together" if t.code.syncs_warps else "nothing")


def takes_condition(t: Decoder, i: Decoded, operands: Sequence[sass.Operand]) -> None:
    if len(operands) > 1:
        raise NotDecoded(f"its form with {len(operands)} predicates")
    i.p_in[0] = t.predicate(operands[0]) if operands else ALWAYS


def branch(t: Decoder, s: sass.Statement) -> Decoded:
    """BRA {p,} label; BRA.DIV {mask,} label goes there if lanes of the mask are missing, BRA.CONV if none is; BRA.U if
    its condition is true for all threads that come here together, BRA.U.ANY if it is for one."""
    *operands, label = at_least(s, 1, 2)
    i = Decoded(kind=form.BRANCHES, target=t.code.index_of(label))
    if s.has("ANY") and not s.has("U"):
        raise NotDecoded("the modifier .ANY without .U")
    if not s.has("DIV", "CONV"):
        takes_condition(t, i, operands)
        i.flags = 8 if s.has("ANY") else 4 * s.has("U")
        return i
    i.flags = 1 if s.has("DIV") else 2
    if operands:
        t.read(i, 0, operands[0])
    return i


def arrive_in_cluster(t: Decoder, s: sass.Statement) -> Decoded:
    """UCGABAR_ARV: `barrier.cluster.arrive`."""
    return Decoded(kind=form.ARRIVES)


def wait_for_cluster(t: Decoder, s: sass.Statement) -> Decoded:
    """UCGABAR_WAIT: `barrier.cluster.wait`."""
    return Decoded(kind=form.WAITS_FOR_CLUSTER)


def _go_to(t: Decoder, register: sass.Operand, base: int, targets: tuple[int, ...], otherwise: int = -1) -> Decoded:
    """A jump to one of `targets`; by another address to `otherwise`, which is the first target if it is less than 0."""
    if not targets:
        raise NotDecoded("a return from a function that nobody calls")
    if not is_register(register):
        raise NotDecoded("a jump that no register says")
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
    """BRX R4 -0x100: to the next instruction's address plus a register plus an offset (a switch)."""
    register, *offset = at_least(s, 1, 2)
    targets = t.code.branch_targets.get(s.address)
    if not targets:
        raise NotDecoded("a branch without a list of its targets")
    base = s.address + sass.INSTRUCTION_BYTES + sum(number_of(operand) for operand in offset)
    return _go_to(t, register, base, tuple(t.code.addresses[target] for target in targets))


def call(t: Decoder, s: sass.Statement) -> Decoded:
    """CALL.REL.NOINC label, CALL.ABS.NOINC label: a jump; the return address is in registers. CALL.REL.NOINC R6
    `(kernel) calls through a pointer: the function at the kernel's address plus a register. CALL.ABS.NOINC R8: a
    function of the system, as is CALL.ABS.NOINC `(vprintf) in code for a debugger."""
    names = [operand.name for operand in s.operands if isinstance(operand, sass.Label)]
    if s.has("ABS") and not names and t.code.debug:  # its pointers hold addresses that a linker fills in
        raise NotDecoded("a call through a pointer in code for a debugger")
    if s.has("ABS") and (not names or names[0] in form.SYSTEM_FUNCTIONS):
        return _call_system(t, s)
    *register, function = at_least(s, 1, 2)
    target = t.code.index_of(function)
    if register:
        return _call_through(t, register[0], sass.INSTRUCTION_BYTES * target)
    return Decoded(kind=form.BRANCHES, target=target)


def _call_system(t: Decoder, s: sass.Statement) -> Decoded:
    """A function that the system provides, such as printf, at a 64-bit address, or by its name.

    Arguments are in R4:R5, R6:R7 and so on; the return address is that of the next instruction.
    """
    function = at_least(s, 1)[-1]
    i = Decoded("call system", replayed="a function of the system")
    if isinstance(function, sass.Label):
        address = form.SYSTEM_FUNCTIONS[function.name]
        i.source[0] = t.words.row(Word(-1, address & 0xFFFFFFFF), Word(-1, address >> 32))
    elif is_register(function):
        i.source[0] = t.row(function, 2)
    else:
        t.read(i, 0, function, "w")
    i.source[1:3], i.width = [t.row(sass.Register("R", first), 2) for first in (4, 6)], [2, 2, 2, 0]
    t.writes(i, sass.Register("R", 4), 2)
    return i


def _call_through(t: Decoder, pointer: sass.Operand, base: int) -> Decoded:
    """Where no function is, the last instruction is gone to: it is behind the end of the code, and traps."""
    if not is_register(pointer):
        raise NotDecoded("a jump that no register says")
    if t.code.functions:
        i, position = _go_to(t, pointer, base, t.code.functions, len(t.code.addresses) - 1), 1
    else:
        i, position = Decoded("trap"), 0
    i.flags = BY_POINTER
    i.source[position], i.width[position] = t.row(pointer, 2), 2
    return i


def returns(t: Decoder, s: sass.Statement) -> Decoded:
    """RET.REL.NODEC R6 `(kernel): to the kernel's address plus a register; RET.ABS.NODEC R6 0x0."""
    register, function = exactly(s, 2)
    base = number_of(function) if s.has("ABS") else sass.INSTRUCTION_BYTES * t.code.index_of(function)
    return _go_to(t, register, base, t.code.return_points)


def leave(t: Decoder, s: sass.Statement) -> Decoded:
    """EXIT {p}."""
    i = Decoded(kind=form.EXITS)
    takes_condition(t, i, s.operands)
    return i


_REDUCTIONS = {"POPC": 0, "AND": 1, "OR": 2}


def barrier(t: Decoder, s: sass.Statement) -> Decoded:
    """BAR.SYNC.DEFER_BLOCKING 0x0: `__syncthreads()`. BAR.{SYNC,ARV} number {, threads}: a barrier of some threads.
    BAR.RED.{POPC,AND,OR} number, {threads,} p: see `barrier_result`."""
    i = Decoded(kind=form.WAITS, flags=int(s.has("ARV")))
    which, *threads = (operand for operand in at_least(s, 1, 3) if not is_predicate(operand))
    if s.has("RED"):
        chosen(s, _REDUCTIONS)
        i.operation = "bring votes"
        i.p_in[0] = t.predicate(s.operands[-1])
        if not _is_syncthreads(s):
            i.replayed = "a reduction at a barrier with a number"
    elif not s.has("ARV", "SYNC"):
        raise NotDecoded("its form without one of POPC, AND, OR")
    for position, operand in enumerate((which, *threads)):
        if is_register(operand):
            t.read(i, position, operand)
        else:
            i.number[1 + position] = number_of(operand)
    i.number[3] = 16 * (i.width[0] > 0)
    return i


def _is_syncthreads(s: sass.Statement) -> bool:
    """Whether a BAR is a barrier of all threads of the block, number 0."""
    threads = [operand for operand in s.operands[1:] if not is_predicate(operand)]
    return s.operands[:1] == (sass.Immediate("0x0"),) and not threads


def barrier_result(t: Decoder, s: sass.Statement) -> Decoded:
    """B2R.RESULT d {, p} behind a BAR.RED: for how many threads of the block its predicate was true (d), for all, for
    any (p)."""
    reduction = t.code.reductions.get(s.address)
    if reduction is None or not s.has("RESULT"):
        raise NotDecoded("what is no reduction at a barrier")
    destination, *predicate = at_least(s, 1, 2)
    i = Decoded("barrier result")
    i.offset, i.number[0] = chosen(reduction, _REDUCTIONS), int(not _is_syncthreads(reduction))
    if (i.offset == 0) == bool(predicate):
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    if predicate:
        i.p_out[0] = t.kept(predicate[0])
    else:
        t.writes(i, destination)
    return i


def warp_barrier(t: Decoder, s: sass.Statement) -> Decoded:
    """WARPSYNC mask, WARPSYNC.ALL: `__syncwarp()`; WARPSYNC.COLLECTIVE mask, label; WARPSYNC.EXCLUSIVE mask."""
    i = Decoded(kind=form.WAITS_FOR_LANES, flags=s.has("COLLECTIVE") | s.has("EXCLUSIVE") << 1)
    if not s.has("ALL"):
        t.read(i, 0, at_least(s, 1, 2)[0])
    if s.has("COLLECTIVE"):
        i.target = t.code.collective_copies.get(s.address, -1)
        if i.target < 0:
            raise NotDecoded("a beginning without an end")
    return i


def end_collective(t: Decoder, s: sass.Statement) -> Decoded:
    """ENDCOLLECTIVE: the threads go on at the label of their WARPSYNC.COLLECTIVE, in the groups that they were in."""
    ends = t.code.collective_ends.get(s.address)
    if ends is None:
        raise NotDecoded("an end without a beginning")
    return Decoded(kind=form.PARTS, target=ends[0], jumps=ends)
