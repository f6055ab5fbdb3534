"""The instructions of PTX that are modelled: one row per opcode, with everything that is true of it.

To add an instruction, add a row and, if no rule fits, a function in the module of its subject (see `rules` for what
it returns); and a case to tests/simulator/test_ptx_instructions.py.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from helpers.compiler.ptx import Statement
from helpers.simulator.arithmetic import integer
from helpers.simulator.engine import accesses
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx import (
    atomics,
    calls,
    clusters,
    comparison,
    control,
    conversion,
    floating,
    lanes,
    matrix,
    memory,
    textures,
    video,
    wmma,
)
from helpers.simulator.frontends.ptx import integer as integers
from helpers.simulator.frontends.ptx.operands import Operands
from helpers.simulator.frontends.rules import NOTHING, Outcome

Rule = Callable[[Operands, Statement], Outcome]


@dataclass(frozen=True, slots=True)
class Op:
    """One opcode: its `name`, the rule that gives its meaning, and how many `operands` it may have.

    `modifiers` are the words between the name and the type that the rule reads or that change nothing here; None if the
    rule itself refuses what it does not know.
    """

    name: str
    rule: Rule
    operands: tuple[int, ...]
    modifiers: frozenset[str] | None = None

    def outcome(self, t: Operands, s: Statement) -> Outcome:
        """What a statement with this opcode; Unknown for a form that is not modelled."""
        if len(s.operands) not in self.operands:
            raise Unknown(f"{self.name} with {len(s.operands)} operands")
        for modifier in s.modifiers if self.modifiers is not None else ():
            if modifier not in self.modifiers and modifier.partition("::")[0] not in ("L1", "L2"):
                raise Unknown(f"the modifier .{modifier}")
        return self.rule(t, s)


def by_type(**rules: Rule) -> Rule:
    """A rule for each kind of type: integer, floating, predicate, pairs (two 16-bit integers)."""

    def rule(t: Operands, s: Statement) -> Outcome:
        kind = _kind(s.type)
        if kind not in rules:
            raise Unknown(f"{s.name} of the type .{s.type}")
        return rules[kind](t, s)

    return rule


def _kind(type_: str) -> str:
    if type_ == "pred":
        return "predicate"
    if type_ in ("u16x2", "s16x2"):
        return "pairs"
    if type_[0] in "usb" and type_[1:].isdigit():
        return "integer"
    return "floating"


def _extreme(function: Callable) -> Rule:
    plain = by_type(integer=integers.plain(function), floating=floating.arithmetic, pairs=integers.pairs(function))
    limited = integers.at_least_zero(function)

    def rule(t: Operands, s: Statement) -> Outcome:
        is_limited = "relu" in s.opcode and not {"s32", "s16x2"}.isdisjoint(s.opcode)
        return (limited if is_limited else plain)(t, s)

    return rule


def _nothing(t: Operands, s: Statement) -> Outcome:
    return NOTHING


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


SPACE = "global shared const local param shared::cta shared::cluster param::entry param::func"
ORDER = "weak relaxed acquire release acq_rel volatile mmio sc cta cluster gpu sys"
CACHE = "ca cg cs lu cv wb wt nc"
FLOATING = floating.arithmetic
PLAIN = integers.plain

OPCODES = {
    op.name: op
    for op in (
        # integer and floating-point arithmetic
        Op("add", by_type(integer=integers.add, floating=FLOATING, pairs=integers.pairs(lambda a, b: a + b)), (3,)),
        Op("addc", integers.add, (3,)),
        Op("sub", by_type(integer=integers.subtract, floating=FLOATING), (3,)),
        Op("subc", integers.subtract, (3,)),
        Op("mul", by_type(integer=integers.multiply, floating=FLOATING), (3,)),
        Op("mul24", integers.multiply24, (3,)),
        Op("mad", by_type(integer=integers.multiply_add, floating=FLOATING), (4,)),
        Op("madc", integers.multiply_add, (4,)),
        Op("mad24", integers.multiply24, (4,)),
        Op("fma", FLOATING, (4,)),
        Op("div", by_type(integer=PLAIN(integer.divide), floating=FLOATING), (3,)),
        Op("rem", PLAIN(integer.remainder), (3,)),
        Op("min", _extreme(np.minimum), (3,)),
        Op("max", _extreme(np.maximum), (3,)),
        Op("abs", by_type(integer=PLAIN(np.abs), floating=FLOATING), (2,)),
        Op("neg", by_type(integer=PLAIN(lambda a: -a), floating=FLOATING), (2,)),
        Op("sad", PLAIN(lambda a, b, c: np.where(a < b, b - a, a - b) + c), (4,)),
        Op("dp4a", integers.dot4, (4,)),
        Op("dp2a", integers.dot2, (4,)),
        Op("rcp", FLOATING, (2,)),
        Op("sqrt", FLOATING, (2,)),
        Op("rsqrt", FLOATING, (2,)),
        Op("sin", FLOATING, (2,)),
        Op("cos", FLOATING, (2,)),
        Op("lg2", FLOATING, (2,)),
        Op("ex2", FLOATING, (2,)),
        Op("tanh", FLOATING, (2,)),
        Op("copysign", FLOATING, (3,)),
        Op("testp", floating.test, (2,)),
        # halves and bytes of a register
        *(Op(f"{name}{count}", video.parts(count, function), (4,)) for count in (2, 4) for name, function in (
            ("vadd", np.add), ("vsub", np.subtract), ("vabsdiff", lambda a, b: np.abs(a - b)), ("vavrg", video.average),
            ("vmin", np.minimum), ("vmax", np.maximum),
        )),
        Op("vset2", video.compare_parts(2), (4,)),
        Op("vset4", video.compare_parts(4), (4,)),
        Op("vadd", video.one(np.add), (3, 4)),
        Op("vsub", video.one(np.subtract), (3, 4)),
        Op("vabsdiff", video.one(lambda a, b: np.abs(a - b)), (3, 4)),
        Op("vmin", video.one(np.minimum), (3, 4)),
        Op("vmax", video.one(np.maximum), (3, 4)),
        Op("vshl", video.one(video.shift(left=True)), (3, 4)),
        Op("vshr", video.one(video.shift(left=False)), (3, 4)),
        Op("vset", video.compare_one, (3, 4)),
        Op("vmad", video.multiply_add, (4,)),
        # logic, shifts and fields of bits
        Op("and", by_type(integer=integers.logic(lambda a, b: a & b),
                          predicate=integers.of_predicates(lambda a, b: a & b)), (3,)),
        Op("or", by_type(integer=integers.logic(lambda a, b: a | b),
                         predicate=integers.of_predicates(lambda a, b: a | b)), (3,)),
        Op("xor", by_type(integer=integers.logic(lambda a, b: a ^ b),
                          predicate=integers.of_predicates(lambda a, b: a ^ b)), (3,)),
        Op("not", by_type(integer=integers.logic(lambda a: ~a),
                          predicate=integers.of_predicates(np.logical_not)), (2,)),
        Op("cnot", PLAIN(lambda a: (a == 0).astype(a.dtype)), (2,)),
        Op("lop3", integers.any_logic, (5,)),
        Op("shl", integers.shift, (3,)),
        Op("shr", integers.shift, (3,)),
        Op("shf", integers.funnel_shift, (4,)),
        Op("bfe", integers.extract, (4,), _words("")),
        Op("bfi", integers.insert, (5,), _words("")),
        Op("bfind", integers.find, (2,)),
        Op("bmsk", integers.bit_mask, (3,), _words("clamp wrap")),
        Op("szext", integers.extend, (3,), _words("clamp wrap")),
        Op("popc", PLAIN(integer.population_count, "u32"), (2,)),
        Op("clz", PLAIN(integer.leading_zeros, "u32"), (2,)),
        Op("brev", PLAIN(integer.reverse_bits), (2,)),
        Op("prmt", integers.permute, (4,)),
        Op("fns", integers.nth_set_bit, (4,)),
        # comparison, selection, moves and conversions
        Op("setp", comparison.set_predicate, (3, 4)),
        Op("set", comparison.set_register, (3, 4)),
        Op("selp", comparison.select, (4,), _words("")),
        Op("slct", comparison.select_sign, (4,)),
        Op("mov", conversion.move, (2,), _words("")),
        Op("cvt", conversion.convert, (2, 3, 4)),
        Op("cvta", conversion.convert_address, (2,)),
        Op("isspacep", conversion.is_in_space, (2,)),
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
        Op("vote", lanes.vote, (2, 3), _words("sync all any uni ballot")),
        Op("match", lanes.match, (3,), _words("sync all any")),
        Op("redux", lanes.reduce, (3,), _words("sync", *accesses.REDUCTIONS)),
        Op("activemask", lanes.active_mask, (1,)),
        Op("elect", lanes.elect, (2,)),
        # matrices of a warp
        Op("ldmatrix", matrix.load_matrix, (2,), _words("sync aligned m8n8 x1 x2 x4 trans shared shared::cta")),
        Op("stmatrix", matrix.store_matrix, (2,), _words("sync aligned m8n8 x1 x2 x4 trans shared shared::cta")),
        Op("movmatrix", matrix.transpose_matrix, (2,), _words("sync aligned m8n8 trans")),
        Op("mma", matrix.multiply_matrices, (4, 6)),
        Op("wmma", wmma.wmma, (2, 3, 4)),
        # control
        Op("bra", control.jump, (1,), _words("uni")),
        Op("brx", control.jump_by_index, (2,), _words("idx uni")),
        Op("ret", calls.leave, (0,)),
        Op("exit", control.leave, (0,)),
        Op("bar", control.barrier, (0, 1, 2, 3, 4)),
        Op("barrier", control.barrier, (0, 1, 2, 3, 4)),
        Op("mapa", clusters.map_address, (3,)),
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
