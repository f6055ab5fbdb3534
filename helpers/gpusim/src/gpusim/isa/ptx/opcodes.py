"""The instructions of PTX that are modelled: one row per opcode, with everything that is true of it.

To add an instruction, add a row and, if no rule fits, a function in the module of its subject (see `rules` for what
it returns); and a case to tests/gpusim/test_ptx_instructions.py.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gpusim.compiler.ptx import Statement
from gpusim.errors import Unknown
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx import atomics, calls, clusters, control, lanes, matrix, memory, moves, textures, wmma
from gpusim.isa.ptx.computations import Decode, computes, exchanges
from gpusim.isa.ptx.decoding import (
    bits,
    comparison,
    conversion,
    floating,
    integer,
    lanes as exchange,
    matrix as matrices,
    video,
)
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.decoding.memory import map_address
from gpusim.isa.ptx.decoding.moves import convert_address
from gpusim.isa.ptx.operands import Operands, items_of
from gpusim.isa.rules import NOTHING, Outcome

Rule = Callable[[Operands, Statement], Outcome]


@dataclass(frozen=True, slots=True)
class Op:
    """One opcode: its `name`, the rule that gives its meaning, and how many `operands` it may have.

    `modifiers` are the words between the name and the type that the rule reads or that change nothing here; None if the
    rule itself refuses what it does not know. `decode`: of one that reads registers and writes registers, what it is
    for the C program; its rule follows from it.
    """

    name: str
    rule: Rule
    operands: tuple[int, ...]
    modifiers: frozenset[str] | None = None
    decode: Decode | None = None

    def outcome(self, t: Operands, s: Statement) -> Outcome:
        """What a statement with this opcode; Unknown for a form that is not modelled."""
        if len(s.operands) not in self.operands:
            raise Unknown(f"{self.name} with {len(s.operands)} operands")
        for modifier in s.modifiers if self.modifiers is not None else ():
            if modifier not in self.modifiers and modifier.partition("::")[0] not in ("L1", "L2"):
                raise Unknown(f"the modifier .{modifier}")
        return self.rule(t, s)


def _alu(name: str, decode: Decode, operands: tuple[int, ...], modifiers: frozenset[str] | None = None) -> Op:
    """The row of an opcode that reads registers and writes registers."""
    return Op(name, computes(decode), operands, modifiers, decode)


def _warp(name: str, decode: Decode, operands: tuple[int, ...], modifiers: frozenset[str] | None = None) -> Op:
    """The row of an opcode by which the lanes of a warp make values of values together."""
    return Op(name, exchanges(decode), operands, modifiers, decode)


def _lanes(name: str, decode: Decode, operands: tuple[int, ...], modifiers: frozenset[str] | None = None) -> Op:
    """The same for those lanes that a mask names."""
    return Op(name, lanes.together(decode), operands, modifiers, decode)


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


def _multiply_tiles(t: Operands, s: Statement) -> Outcome:
    """wmma.mma. All registers of its factors count as read, although half of them may repeat the others."""
    t.read_now.update(t.target(item) for operand in s.operands[1:] for item in items_of(operand))
    return MULTIPLIED(t, s)


MULTIPLIED = exchanges(matrices.multiply_tiles)
TILES = {"load": wmma.load, "mma": _multiply_tiles, "store": wmma.store}


def _tiles(t: Operands, s: Statement) -> Outcome:
    """wmma.load, wmma.mma or wmma.store."""
    return TILES[s.opcode[1]](t, s)


def _nothing(t: Operands, s: Statement) -> Outcome:
    return NOTHING


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
        _alu("add", by_type(integer=integer.add, floating=FLOATING, pairs=integer.add), (3,)),
        _alu("addc", integer.add, (3,)),
        _alu("sub", by_type(integer=integer.add, floating=FLOATING), (3,)),
        _alu("subc", integer.add, (3,)),
        _alu("mul", by_type(integer=integer.multiply, floating=FLOATING), (3,)),
        _alu("mul24", integer.multiply24, (3,)),
        _alu("mad", by_type(integer=integer.multiply, floating=FLOATING), (4,)),
        _alu("madc", integer.multiply, (4,)),
        _alu("mad24", integer.multiply24, (4,)),
        _alu("fma", FLOATING, (4,)),
        _alu("div", by_type(integer=PLAIN("div"), floating=FLOATING), (3,)),
        _alu("rem", PLAIN("rem"), (3,)),
        _alu("min", _extreme, (3,)),
        _alu("max", _extreme, (3,)),
        _alu("abs", by_type(integer=PLAIN("abs"), floating=FLOATING), (2,)),
        _alu("neg", by_type(integer=PLAIN("neg"), floating=FLOATING), (2,)),
        _alu("sad", PLAIN("sad"), (4,)),
        _alu("dp4a", integer.dot, (4,)),
        _alu("dp2a", integer.dot, (4,)),
        *(_alu(name, FLOATING, (2,)) for name in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh")),
        _alu("copysign", FLOATING, (3,)),
        _alu("testp", comparison.test_number, (2,)),
        # halves and bytes of a register
        *(_alu(f"v{name}{count}", video.video_parts, (4,)) for count in (2, 4)
          for name in ("add", "sub", "absdiff", "avrg", "min", "max", "set")),
        *(_alu(f"v{name}", video.video_one, (3, 4))
          for name in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "set")),
        _alu("vmad", video.video_multiply_add, (4,)),
        # logic, shifts and fields of bits
        *(_alu(name, by_type(integer=bits.logic, predicate=bits.logic), (3,)) for name in ("and", "or", "xor")),
        _alu("not", by_type(integer=bits.logic, predicate=bits.logic), (2,)),
        _alu("cnot", PLAIN("cnot"), (2,)),
        _alu("lop3", bits.any_logic, (5,)),
        _alu("shl", bits.shift, (3,)),
        _alu("shr", bits.shift, (3,)),
        _alu("shf", bits.funnel_shift, (4,)),
        _alu("bfe", bits.extract, (4,), _words("")),
        _alu("bfi", bits.insert, (5,), _words("")),
        _alu("bfind", bits.find, (2,)),
        _alu("bmsk", bits.bit_mask, (3,), _words("clamp wrap")),
        _alu("szext", bits.bit_mask, (3,), _words("clamp wrap")),
        _alu("popc", PLAIN("popc", "u32"), (2,)),
        _alu("clz", PLAIN("clz", "u32"), (2,)),
        _alu("brev", PLAIN("brev"), (2,)),
        _alu("prmt", bits.permute, (4,)),
        _alu("fns", bits.nth_set_bit, (4,)),
        # comparison, selection, moves and conversions
        _alu("setp", comparison.set_predicate, (3, 4)),
        _alu("set", comparison.set_register, (3, 4)),
        _alu("selp", comparison.select, (4,), _words("")),
        _alu("slct", comparison.select_by_sign, (4,)),
        Op("mov", moves.move, (2,), _words("")),
        _alu("cvt", conversion.convert, (2, 3, 4)),
        _alu("cvta", convert_address, (2,)),
        Op("isspacep", moves.is_in_space, (2,)),
        # memory
        Op("ld", memory.load, (2, 3), _words(SPACE, ORDER, CACHE, "v2 v4")),
        Op("ldu", memory.load, (2,), _words(SPACE, "v2 v4")),
        Op("st", memory.store, (2, 3), _words(SPACE, ORDER, CACHE, "v2 v4")),
        Op("atom", atomics.atomic, (3, 4, 5), _words(SPACE, ORDER, "noftz v2 v4 v8", *atomics.OPERATIONS)),
        Op("red", atomics.atomic, (2, 3), _words(SPACE, ORDER, "noftz async v2 v4 v8", *atomics.OPERATIONS)),
        Op("mbarrier", memory.barrier_object, (1, 2, 3, 4)),
        Op("createpolicy", memory.cache_policy, (2, 3, 4)),
        Op("cp", memory.copy_async, (0, 1, 2, 3, 4, 5, 6)),
        Op("membar", memory.fence, (0, 1)),
        Op("fence", memory.fence, (0, 1, 2)),
        # textures and surfaces
        Op("tex", textures.sample, (2, 3, 4), _words("base level grad v2 v4 f32 s32 u32", *textures.GEOMETRIES)),
        Op("tld4", textures.gather, (2,), _words("r g b a 2d v4 f32 s32 u32")),
        Op("suld", textures.load_surface, (2,), _words("b v2 v4 b8 b16 b32 b64", *textures.GEOMETRIES)),
        Op("sust", textures.store_surface, (2,), _words("b v2 v4 b8 b16 b32 b64", *textures.GEOMETRIES)),
        # lanes of a warp
        Op("shfl", lanes.shuffle, (4, 5), _words("sync up down bfly idx")),
        _lanes("vote", exchange.vote, (2, 3), _words("sync all any uni ballot")),
        _lanes("match", exchange.match, (3,), _words("sync all any")),
        _lanes("redux", exchange.reduce, (3,), _words("sync add min max and or xor")),
        _lanes("activemask", exchange.active_mask, (1,)),
        _lanes("elect", exchange.elect, (2,)),
        # matrices of a warp
        Op("ldmatrix", matrix.load_matrix, (2,), _words("sync aligned m8n8 x1 x2 x4 trans shared shared::cta")),
        Op("stmatrix", matrix.store_matrix, (2,), _words("sync aligned m8n8 x1 x2 x4 trans shared shared::cta")),
        _warp("movmatrix", matrices.transpose_matrix, (2,), _words("sync aligned m8n8 trans")),
        _warp("mma", matrices.multiply_matrices, (4, 6)),
        Op("wmma", _tiles, (2, 3, 4)),
        # control
        Op("bra", control.jump, (1,), _words("uni")),
        Op("brx", control.jump_by_index, (2,), _words("idx uni")),
        Op("ret", calls.leave, (0,)),
        Op("exit", control.leave, (0,)),
        Op("bar", control.barrier, (0, 1, 2, 3, 4)),
        Op("barrier", control.barrier, (0, 1, 2, 3, 4)),
        _alu("mapa", map_address, (3,)),
        Op("getctarank", clusters.rank_of_address, (2,)),
        *(Op(name, control.trap, (0,)) for name in ("trap", "brkpt")),
        Op("call", calls.call, (1, 2, 3, 4)),
        Op("nanosleep", control.sleep, (1,)),
        # what changes no value here: hints
        *(Op(name, _nothing, (0, 1, 2, 3)) for name in (
            "prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "pmevent", "setmaxnreg",
        )),
    )
}  # fmt: skip
