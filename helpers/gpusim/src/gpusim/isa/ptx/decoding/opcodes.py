"""Which function decodes which opcode."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.compiler.ptx import Statement
from gpusim.engine.ir import Instruction
from gpusim.errors import Unknown
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx import opcodes
from gpusim.isa.ptx.decoding import control, copies, lanes, matrix, memory, moves, textures
from gpusim.isa.ptx.decoding.decoder import Decoder

OPCODES: dict[str, Callable[[Decoder, Statement], Decoded]] = {
    "mov": moves.move, "isspacep": moves.is_in_space, "ld": memory.load, "ldu": memory.load, "st": memory.store,
    "atom": memory.atomic, "red": memory.atomic, "cp": copies.copy, "createpolicy": copies.cache_policy,
    "mbarrier": copies.barrier_object, "getctarank": memory.rank_of_address, "membar": memory.fence,
    "fence": memory.fence, "shfl": lanes.shuffle, "ldmatrix": matrix.load_matrix, "stmatrix": matrix.store_matrix,
    "wmma": matrix.tile, "tex": textures.read_texture, "tld4": textures.read_texture, "suld": textures.load_surface,
    "sust": textures.store_surface, "bra": control.branch, "brx": control.branch_by_index, "ret": control.leave,
    "exit": control.leave, "call": control.call, "bar": control.barrier, "barrier": control.barrier,
    "trap": control.trap, "brkpt": control.trap, "nanosleep": control.sleep,
    **dict.fromkeys(("prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "pmevent",
                     "setmaxnreg"), control.nothing),
}  # fmt: skip


def decode(t: Decoder, s: Statement, instruction: Instruction) -> Decoded:
    """One statement; of the instruction it counts where it goes. NotDecoded if it has no form here."""
    row, t.at = opcodes.OPCODES.get(s.name), instruction.index
    function = OPCODES.get(s.name) if row is None or row.decode is None else row.decode
    if function is None:
        raise NotDecoded(f"the opcode {s.name}")
    try:
        decoded = function(t, s)
    except (Unknown, ValueError) as error:  # operands that the rules do not know either, in another number
        raise NotDecoded(str(error)) from error
    decoded.target = max(instruction.target, 0)
    decoded.jumps = instruction.targets if decoded.kind in (form.JUMPS, form.RETURNS) else ()
    if s.guard is not None:
        decoded.guard = t.predicate(s.guard)
    return decoded
