"""The instructions of PTX that are modelled: one row per opcode, with everything that is true of it.

To add an instruction, add a row, a function in `decoding` if none fits, and a case to tests/gpusim/ptx_cases.py, whose
answers `python -m tests.gpusim.goldens.instructions` records on a GPU.
"""

from dataclasses import dataclass

from gpusim.arithmetic.atomics import OPERATIONS
from gpusim.compiler.ptx import Statement
from gpusim.engine.ir import Instruction
from gpusim.errors import Unknown
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx import computations
from gpusim.isa.ptx.computations import Decode
from gpusim.isa.ptx.decoding import (
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
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.operands import Operands
from gpusim.isa.rules import Outcome


@dataclass(frozen=True, slots=True)
class Op:
    """One opcode.

    decode: what it is in the common form, from which the C program and NumPy execute it.
    operands: how many it may have.
    modifiers: the words between the name and the type that are read or that change nothing here; None if `decode`
        refuses what it does not know.
    """

    name: str
    decode: Decode
    operands: tuple[int, ...]
    modifiers: frozenset[str] | None = None

    def outcome(self, t: Operands, s: Statement) -> Outcome:
        """What a statement with this opcode does; Unknown for a form that is not modelled."""
        if len(s.operands) not in self.operands:
            raise Unknown(f"{self.name} with {len(s.operands)} operands")
        for modifier in s.modifiers if self.modifiers is not None else ():
            if modifier not in self.modifiers and modifier.partition("::")[0] not in ("L1", "L2"):
                raise Unknown(f"the modifier .{modifier}")
        return computations.outcome(t, s, self.decode)


def by_type(**functions: Decode) -> Decode:
    """A function for each kind of type: integer, floating, predicate, pairs (two 16-bit integers)."""

    def decode(t: Decoder, s: Statement) -> Decoded:
        kind = _kind(s.type)
        if kind not in functions:
            raise NotDecoded(f"{s.name} of the type .{s.type}")
        return functions[kind](t, s)

    return decode


def _kind(type_: str) -> str:
    if type_ == "pred":
        return "predicate"
    if type_ in ("u16x2", "s16x2"):
        return "pairs"
    if type_[0] in "usb" and type_[1:].isdigit():
        return "integer"
    return "floating"


def _extreme(t: Decoder, s: Statement) -> Decoded:
    of_integers = _kind(s.type) in ("integer", "pairs") or not {"s32", "s16x2"}.isdisjoint(s.opcode)
    return (integer.extreme if of_integers else FLOATING)(t, s)


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


SPACE = "global shared const local param shared::cta shared::cluster param::entry param::func"
ORDER = "weak relaxed acquire release acq_rel volatile mmio sc cta cluster gpu sys"
CACHE = "ca cg cs lu cv wb wt nc"
FLOATING = floating.arithmetic
PLAIN = integer.of_one_type

OPCODES = {
    op.name: op
    for op in (
        # integer and floating-point arithmetic
        Op("add", by_type(integer=integer.add, floating=FLOATING, pairs=integer.add), (3,)),
        Op("addc", integer.add, (3,)),
        Op("sub", by_type(integer=integer.add, floating=FLOATING), (3,)),
        Op("subc", integer.add, (3,)),
        Op("mul", by_type(integer=integer.multiply, floating=FLOATING), (3,)),
        Op("mul24", integer.multiply24, (3,)),
        Op("mad", by_type(integer=integer.multiply, floating=FLOATING), (4,)),
        Op("madc", integer.multiply, (4,)),
        Op("mad24", integer.multiply24, (4,)),
        Op("fma", FLOATING, (4,)),
        Op("div", by_type(integer=PLAIN("div"), floating=FLOATING), (3,)),
        Op("rem", PLAIN("rem"), (3,)),
        Op("min", _extreme, (3,)),
        Op("max", _extreme, (3,)),
        Op("abs", by_type(integer=PLAIN("abs"), floating=FLOATING), (2,)),
        Op("neg", by_type(integer=PLAIN("neg"), floating=FLOATING), (2,)),
        Op("sad", PLAIN("sad"), (4,)),
        Op("dp4a", integer.dot, (4,)),
        Op("dp2a", integer.dot, (4,)),
        *(Op(name, FLOATING, (2,)) for name in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh")),
        Op("copysign", FLOATING, (3,)),
        Op("testp", comparison.test_number, (2,)),
        # halves and bytes of a register
        *(Op(f"v{name}{count}", video.video_parts, (4,)) for count in (2, 4)
          for name in ("add", "sub", "absdiff", "avrg", "min", "max", "set")),
        *(Op(f"v{name}", video.video_one, (3, 4))
          for name in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "set")),
        Op("vmad", video.video_multiply_add, (4,)),
        # logic, shifts and fields of bits
        *(Op(name, by_type(integer=bits.logic, predicate=bits.logic), (3,)) for name in ("and", "or", "xor")),
        Op("not", by_type(integer=bits.logic, predicate=bits.logic), (2,)),
        Op("cnot", PLAIN("cnot"), (2,)),
        Op("lop3", bits.any_logic, (5,)),
        Op("shl", bits.shift, (3,)),
        Op("shr", bits.shift, (3,)),
        Op("shf", bits.funnel_shift, (4,)),
        Op("bfe", bits.extract, (4,), _words("")),
        Op("bfi", bits.insert, (5,), _words("")),
        Op("bfind", bits.find, (2,)),
        Op("bmsk", bits.bit_mask, (3,), _words("clamp wrap")),
        Op("szext", bits.bit_mask, (3,), _words("clamp wrap")),
        Op("popc", PLAIN("popc", "u32"), (2,)),
        Op("clz", PLAIN("clz", "u32"), (2,)),
        Op("brev", PLAIN("brev"), (2,)),
        Op("prmt", bits.permute, (4,)),
        Op("fns", bits.nth_set_bit, (4,)),
        # comparison, selection, moves and conversions
        Op("setp", comparison.set_predicate, (3, 4)),
        Op("set", comparison.set_register, (3, 4)),
        Op("selp", comparison.select, (4,), _words("")),
        Op("slct", comparison.select_by_sign, (4,)),
        Op("mov", moves.move, (2,), _words("")),
        Op("cvt", conversion.convert, (2, 3, 4)),
        Op("cvta", moves.convert_address, (2,)),
        Op("isspacep", moves.is_in_space, (2,)),
        # memory
        Op("ld", memory.load, (2, 3), _words(SPACE, ORDER, CACHE, "v2 v4")),
        Op("ldu", memory.load, (2,), _words(SPACE, "v2 v4")),
        Op("st", memory.store, (2, 3), _words(SPACE, ORDER, CACHE, "v2 v4")),
        Op("atom", memory.atomic, (3, 4, 5), _words(SPACE, ORDER, "noftz v2 v4 v8", *OPERATIONS)),
        Op("red", memory.atomic, (2, 3), _words(SPACE, ORDER, "noftz async v2 v4 v8", *OPERATIONS)),
        Op("mbarrier", copies.barrier_object, (1, 2, 3, 4)),
        Op("createpolicy", copies.cache_policy, (2, 3, 4)),
        Op("cp", copies.copy, (0, 1, 2, 3, 4, 5, 6)),
        Op("membar", memory.fence, (0, 1)),
        Op("fence", memory.fence, (0, 1, 2)),
        # textures and surfaces
        Op("tex", textures.read_texture, (2, 3, 4), _words("base level grad v2 v4 f32 s32 u32", *textures.GEOMETRIES)),
        Op("tld4", textures.read_texture, (2,), _words("r g b a 2d v4 f32 s32 u32")),
        Op("suld", textures.load_surface, (2,), _words("b v2 v4 b8 b16 b32 b64", *textures.GEOMETRIES)),
        Op("sust", textures.store_surface, (2,), _words("b v2 v4 b8 b16 b32 b64", *textures.GEOMETRIES)),
        # lanes of a warp
        Op("shfl", lanes.shuffle, (4, 5), _words("sync up down bfly idx")),
        Op("vote", lanes.vote, (2, 3), _words("sync all any uni ballot")),
        Op("match", lanes.match, (3,), _words("sync all any")),
        Op("redux", lanes.reduce, (3,), _words("sync add min max and or xor")),
        Op("activemask", lanes.active_mask, (1,)),
        Op("elect", lanes.elect, (2,)),
        # matrices of a warp
        Op("ldmatrix", matrix.load_matrix, (2,), _words("sync aligned m8n8 x1 x2 x4 trans shared shared::cta")),
        Op("stmatrix", matrix.store_matrix, (2,), _words("sync aligned m8n8 x1 x2 x4 trans shared shared::cta")),
        Op("movmatrix", matrix.transpose_matrix, (2,), _words("sync aligned m8n8 trans")),
        Op("mma", matrix.multiply_matrices, (4, 6)),
        Op("wmma", matrix.tile, (2, 3, 4)),
        # control
        Op("bra", control.branch, (1,), _words("uni")),
        Op("brx", control.branch_by_index, (2,), _words("idx uni")),
        Op("ret", control.leave, (0,)),
        Op("exit", control.leave, (0,)),
        Op("bar", control.barrier, (0, 1, 2, 3, 4)),
        Op("barrier", control.barrier, (0, 1, 2, 3, 4)),
        Op("mapa", memory.map_address, (3,)),
        Op("getctarank", memory.rank_of_address, (2,)),
        *(Op(name, control.trap, (0,)) for name in ("trap", "brkpt")),
        Op("call", control.call, (1, 2, 3, 4)),
        Op("nanosleep", control.sleep, (1,)),
        # what changes no value here: hints
        *(Op(name, control.nothing, (0, 1, 2, 3)) for name in (
            "prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "pmevent", "setmaxnreg",
        )),
    )
}  # fmt: skip


def decode(t: Decoder, s: Statement, instruction: Instruction) -> Decoded:
    """A statement as the C program executes it. NotDecoded if it does not."""
    t.at = instruction.index
    try:
        decoded = OPCODES[s.name].decode(t, s)
    except (Unknown, ValueError) as error:  # operands in another number
        raise NotDecoded(str(error)) from error
    if decoded.replayed:
        raise NotDecoded(decoded.replayed)
    if s.guard is not None:
        decoded.guard = t.predicate(s.guard)
    return decoded
