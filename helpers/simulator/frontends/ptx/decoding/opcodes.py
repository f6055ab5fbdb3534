"""Which function decodes which opcode."""

from __future__ import annotations

from collections.abc import Callable

from helpers.compiler.ptx import Statement
from helpers.simulator.engine.ir import Instruction
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends import decoded as form
from helpers.simulator.frontends.decoded import Decoded, NotDecoded
from helpers.simulator.frontends.ptx.decoding import (
    bits,
    comparison,
    control,
    conversion,
    copies,
    floating,
    integer,
    lanes,
    matrix,
    memory,
    moves,
    textures,
    video,
)
from helpers.simulator.frontends.ptx.decoding.decoder import Decoder, is_integer


def minimum_maximum(t: Decoder, s: Statement) -> Decoded:
    return integer.extreme(t, s) if is_integer(s.type) or s.type in ("u16x2", "s16x2") else floating.arithmetic(t, s)


def by_kind(of_integers: Callable) -> Callable:
    """A function for integers, or the one of floating-point numbers."""
    return lambda t, s: (
        of_integers(t, s) if s.type not in floating.SIGN and s.type != "f32x2" else floating.arithmetic(t, s)
    )


OPCODES: dict[str, Callable[[Decoder, Statement], Decoded]] = {
    "add": by_kind(integer.add), "sub": by_kind(integer.add), "addc": integer.add, "subc": integer.add,
    "mul": by_kind(integer.multiply), "mad": by_kind(integer.multiply), "madc": integer.multiply,
    "mul24": integer.multiply24, "mad24": integer.multiply24, "fma": floating.arithmetic,
    "div": by_kind(integer.of_one_type("div")), "rem": integer.of_one_type("rem"), "min": minimum_maximum,
    "max": minimum_maximum, "abs": by_kind(integer.negate), "neg": by_kind(integer.negate),
    "sad": integer.of_one_type("sad"), "dp4a": integer.dot, "dp2a": integer.dot,
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "copysign"), floating.arithmetic),
    "and": bits.logic, "or": bits.logic, "xor": bits.logic, "not": bits.logic, "cnot": integer.of_one_type("cnot"),
    "lop3": bits.any_logic, "shl": bits.shift, "shr": bits.shift, "shf": bits.funnel_shift, "bfe": bits.extract,
    "bfi": bits.insert, "bfind": bits.find, "bmsk": bits.bit_mask, "szext": bits.bit_mask,
    "popc": integer.of_one_type("popc", "u32"), "clz": integer.of_one_type("clz", "u32"),
    "brev": integer.of_one_type("brev"), "prmt": bits.permute, "fns": bits.nth_set_bit, "testp": comparison.test_number,
    "setp": comparison.set_predicate, "set": comparison.set_register, "selp": comparison.select,
    "slct": comparison.select_by_sign, "mov": moves.move, "cvt": conversion.convert, "cvta": moves.convert_address,
    "isspacep": moves.is_in_space, "ld": memory.load, "ldu": memory.load, "st": memory.store, "atom": memory.atomic,
    "red": memory.atomic, "cp": copies.copy, "createpolicy": copies.cache_policy, "mbarrier": copies.barrier_object,
    "mapa": memory.map_address, "getctarank": memory.rank_of_address, "membar": memory.fence, "fence": memory.fence,
    "shfl": lanes.shuffle, "vote": lanes.vote, "match": lanes.match, "redux": lanes.reduce,
    "activemask": lanes.active_mask, "elect": lanes.elect, "ldmatrix": matrix.load_matrix,
    "stmatrix": matrix.store_matrix, "wmma": matrix.tile, "tex": textures.read_texture, "tld4": textures.read_texture,
    "suld": textures.load_surface, "sust": textures.store_surface, "mma": matrix.multiply_matrices,
    "movmatrix": matrix.transpose_matrix, "bra": control.branch, "brx": control.branch_by_index, "ret": control.leave,
    "exit": control.leave, "call": control.call, "bar": control.barrier, "barrier": control.barrier,
    "trap": control.trap, "brkpt": control.trap, "nanosleep": control.sleep,
    **{f"v{name}{count}": video.video_parts
       for name in ("add", "sub", "absdiff", "avrg", "min", "max", "set") for count in (2, 4)},
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"), video.video_one),
    "vmad": video.video_multiply_add,
    **dict.fromkeys(("prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "pmevent",
                     "setmaxnreg"), control.nothing),
}  # fmt: skip


def decode(t: Decoder, s: Statement, instruction: Instruction) -> Decoded:
    """One statement; of the instruction it counts where it goes. NotDecoded if it has no form here."""
    function, t.at = OPCODES.get(s.name), instruction.index
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
