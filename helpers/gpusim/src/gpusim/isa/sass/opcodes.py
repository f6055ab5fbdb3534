"""The opcodes of SASS that are modelled: one row each, with everything that is true of it.

A new opcode is a row here and its test; a new architecture is a row of FAMILIES, and `since` in the rows of its own
opcodes. Every set of opcodes elsewhere is derived from this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from gpusim.compiler import sass
from gpusim.errors import Unknown
from gpusim.isa.rules import Outcome
from gpusim.isa.sass import computations
from gpusim.isa.sass.computations import Decode
from gpusim.isa.sass.decoding import (
    bits,
    control,
    conversion,
    copies,
    floating,
    halves,
    integer,
    lanes,
    matrix,
    meetings,
    memory,
    system,
    textures,
)
from gpusim.isa.sass.operands import Operands

ANY = "any"


@dataclass(frozen=True, slots=True)
class Op:
    """An opcode.

    decode: what it is in the common form, from which the C program and NumPy execute it.
    modifiers: those that the rule carries out, or that change nothing here. With another one the instruction is
        unknown: to pass over it would give wrong numbers. ANY where none can change anything.
    space: the state space that it accesses: "global", "shared", "local" or "generic"; "" if it accesses none.
    counted: the classes of instructions by threads that Nsight Compute counts it among,
        `smsp__sass_thread_inst_executed_op_<class>_pred_on`.
    issued: the same by warps, `smsp__sass_inst_executed_op_<class>`.
    pipe: the pipe whose instructions are counted, `smsp__inst_executed_pipe_<pipe>`, if it is executed by one of these;
        `pipe_with` names the pipe of forms with a modifier.
    tensor_op: what the tensor pipe, if it executes it, counts it as, `smsp__inst_executed_pipe_tensor_op_<tensor_op>`.
    since: the first compute capability whose machine code has it, times ten.
    barrier: whether it works on an mbarrier: such accesses to shared memory are not counted.
    uniform: since when there is the same for registers that a warp shares, with a U before its name; 0 if there is not.
    """

    name: str
    decode: Decode
    modifiers: frozenset[str] | str = frozenset()
    space: str = ""
    counted: frozenset[str] = frozenset()
    issued: frozenset[str] = frozenset()
    pipe: str = ""
    pipe_with: Mapping[str, str] = field(default_factory=dict)
    tensor_op: str = ""
    since: int = 75
    barrier: bool = False
    uniform: int = 0

    def pipe_of(self, opcode: str) -> str:
        """The pipe that executes a form of it, "HFMA2.MMA"; "" if its instructions are not counted."""
        if not self.pipe_with:
            return self.pipe
        return next((self.pipe_with[part] for part in opcode.split(".") if part in self.pipe_with), self.pipe)


def _op(name: str, decode: Decode, modifiers: str = "", *, counted: str = "", issued: str = "", **more) -> Op:
    """A row; words stand for sets."""
    allowed = ANY if modifiers == ANY else frozenset(modifiers.split())
    return Op(name, decode, allowed, counted=frozenset(counted.split()), issued=frozenset(issued.split()), **more)


_MEETING = "RECONVERGENT RELIABLE"  # of Blackwell: the same lanes meet
_COMPARE = "LT LE EQ NE GE GT"
_COMPARE_FLOATS = f"{_COMPARE} LTU LEU EQU NEU GEU GTU NUM NAN"
_COMBINE = "AND OR XOR"
_TYPES = "U8 S8 U16 S16 U32 S32 U64 S64"
_ROUND = "RM RP RZ"
_FLOAT32 = f"FTZ SAT {_ROUND}"
_BYTES = "B0 B1 B2 B3"
# Which caches keep a line, on which nothing here depends, and the scope of an access.
_CACHES = "E SYS GPU CTA SM WEAK STRONG CONSTANT EF EL LU EU NA LTC64B LTC128B LTC256B"
_ACCESS = f"{_CACHES} U U8 S8 U16 S16 64 128"
_SURFACE = "1D 2D 3D 1D_ARRAY 2D_ARRAY U8 S8 U16 S16 64 128 TRAP IGN STRONG WEAK CTA SM GPU SYS"
_ATOMIC = ("E SYS GPU CTA SM WEAK STRONG ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST SPIN POPC ARRIVE 32 64 128 U32 "
           "S32 U64 S64 F32 F32x2 F32x4 F64 F16x2 BF16x2 FTZ RN")  # fmt: skip

ROWS: tuple[Op, ...] = (
    # ---- integers
    _op("IADD3", integer.add3, "X 64", counted="integer", uniform=75),
    _op("IADD", integer.add_pairs, "64 X", counted="integer", since=100),
    _op("VIADD", integer.add2, "16x2 U8x4 S32 ISAT", counted="integer", since=90),
    _op("IMAD", integer.multiply_add, "MOV U32 HI WIDE IADD SHL X", counted="integer", uniform=75),
    _op("LEA", integer.shift_add, "HI SX32 X", counted="integer", uniform=75),
    _op("SHF", integer.funnel_shift, "L R W HI U32 S32 U64 S64", counted="integer", uniform=75),
    _op("ISETP", integer.compare, f"{_COMPARE} {_COMBINE} U32 EX U64 S64", counted="integer", uniform=75),
    _op("IMNMX", integer.minimum_maximum, "U32 U64 S64", counted="integer", uniform=75),
    _op("VIMNMX", integer.minimum_maximum, "U32 S32 S16x2 U16x2 U8x4 RELU", counted="integer", since=90,
        uniform=75),
    _op("VIMNMX3", integer.minimum_maximum, "U32 S16x2 U16x2 RELU", counted="integer", since=90),
    _op("VIADDMNMX", integer.minimum_maximum, "U32 S16x2 U16x2 RELU", counted="integer", since=90),
    _op("IABS", integer.unary("absolute"), counted="integer", uniform=75),
    _op("VABSDIFF4", integer.absolute_differences, "U8 ACC", counted="misc"),
    _op("VABSDIFF", integer.absolute_difference, "U32", counted="misc"),
    _op("IDP", integer.dot_product, "4A 2A LO HI S8 U8 S16 U16", counted="integer"),
    _op("I2I", integer.saturate, f"SAT {_TYPES}"),
    _op("I2IP", integer.saturate_and_pack, "U2 S2 U4 S4 U8 S8 U16 S16 S32 SAT"),
    # ---- bits
    _op("MOV", bits.move, "64", counted="misc", uniform=75),
    _op("LOP3", bits.logic3, "LUT", counted="integer", uniform=75),
    _op("PRMT", bits.permute_bytes, "F4E B4E RC8 ECL ECR RC16", counted="bit", uniform=75),
    _op("POPC", integer.unary("population count"), counted="integer", pipe="xu", uniform=75),
    _op("FLO", integer.unary("find leading one", "U32", "SH"), "U32 SH", counted="integer", pipe="xu", uniform=75),
    _op("BREV", integer.unary("reverse bits"), counted="bit", pipe="xu", uniform=75),
    _op("SGXT", bits.sign_extend, "W U32", counted="bit", uniform=75),
    _op("BMSK", bits.bit_mask, "W", counted="bit", uniform=75),
    _op("SEL", bits.select, "64", counted="bit", uniform=75),
    # ---- predicates
    _op("PLOP3", bits.predicate_logic3, "LUT", counted="bit", uniform=75),
    _op("P2R", bits.pack_predicates, _BYTES, counted="bit"),
    _op("UP2UR", bits.pack_predicates, _BYTES, counted="uniform"),
    _op("R2P", bits.unpack_predicates, _BYTES, counted="bit"),
    _op("UR2UP", bits.unpack_predicates, _BYTES, counted="uniform"),
    # ---- float32
    _op("FADD", floating.arithmetic, _FLOAT32, counted="fadd fp32",
        uniform=100),
    _op("FMUL", floating.arithmetic, f"{_FLOAT32} M2 M4 M8 D2 D4 D8", counted="fmul fp32", uniform=100),
    _op("FFMA", floating.arithmetic, _FLOAT32, counted="ffma fp32",
        uniform=100),
    *(_op(name, floating.pair_arithmetic, f"FTZ {_ROUND}", counted="fp32",
          since=100) for name in ("FADD2", "FMUL2", "FFMA2")),
    *(_op(name, floating.mixed, f"BF16 SAT {_ROUND}", counted="fp32", since=100) for name in ("FHADD", "FHFMA")),
    _op("FMNMX", floating.extreme, "FTZ NAN XORSIGN", counted="fp32", uniform=100),
    _op("FMNMX3", floating.extreme, "FTZ NAN", counted="fp32", since=100),
    _op("FSEL", bits.select, counted="fp32", uniform=100),
    _op("FSETP", floating.compare, f"FTZ {_COMPARE_FLOATS} {_COMBINE}", counted="fp32",
        uniform=100),
    _op("FSET", floating.compare_to_register, f"BF FTZ {_COMPARE_FLOATS} {_COMBINE}", counted="fp32", uniform=100),
    _op("FCHK", floating.check_division, counted="fp32", pipe="xu"),
    _op("MUFU", floating.special_function, "RCP RSQ SQRT EX2 LG2 SIN COS TANH RCP64H RSQ64H F16", counted="fp32",
        pipe="xu"),
    # ---- float64
    _op("DADD", floating.double_arithmetic, _ROUND, counted="dadd fp64", pipe="fp64"),
    _op("DMUL", floating.double_arithmetic, _ROUND, counted="dmul fp64", pipe="fp64"),
    _op("DFMA", floating.double_arithmetic, _ROUND, counted="dfma fp64", pipe="fp64"),
    _op("DSETP", floating.double_compare, f"MIN MAX {_COMPARE_FLOATS} {_COMBINE}", counted="fp64", pipe="fp64"),
    # ---- float16 and bfloat16, two in a register
    _op("HADD2", halves.arithmetic, "F32 BF16_V2 FTZ RELU SAT", counted="hadd fp16"),
    _op("HMUL2", halves.arithmetic, "BF16_V2 FTZ RELU SAT", counted="hmul fp16"),
    _op("HFMA2", halves.arithmetic, "MMA BF16_V2 FTZ RELU SAT", counted="hfma fp16", pipe_with={"MMA": "tensor"},
        tensor_op="hmma"),
    _op("HMNMX2", halves.extreme, "BF16_V2 NAN", since=80),
    _op("VHMNMX", halves.extreme, "BF16_V2 NAN", since=90),
    _op("HSETP2", halves.compare, f"BF16_V2 {_COMPARE_FLOATS} {_COMBINE}"),
    _op("HSET2", halves.compare_to_register, f"BF16_V2 BF {_COMPARE_FLOATS} {_COMBINE}"),
    # ---- conversions
    _op("I2F", conversion.integer_to_float, f"F16 BF16 F32 F64 {_TYPES} {_ROUND}", counted="conversion", pipe="xu",
        uniform=100),
    _op("I2FP", conversion.integer_to_float, f"F16 F32 F64 {_TYPES} {_ROUND}", counted="conversion", since=80,
        uniform=100),
    _op("F2I", conversion.float_to_integer, f"FTZ NTZ F16 BF16 F64 TRUNC FLOOR CEIL {_TYPES}", counted="conversion",
        pipe="xu", uniform=100),
    _op("F2IP", conversion.float_to_byte, "U8 S8 F32 TRUNC NTZ", since=80),
    _op("F2F", conversion.float_to_float, f"FTZ F16 BF16 F32 F64 {_ROUND}", counted="conversion", pipe="xu"),
    _op("F2FP", conversion.pack_halves,
        "BF16 F16 F32 TF32 E4M3 E5M2 PACK_AB PACK_B UNPACK_B PACK_AB_MERGE_C UNPACK_B_MERGE_C MERGE_C SATFINITE RELU "
        "RZ",
        counted="conversion", uniform=100),
    _op("FRND", conversion.round_to_whole, "FTZ F16 BF16 F64 TRUNC FLOOR CEIL", counted="conversion", pipe="xu",
        uniform=100),
    # ---- memory
    _op("LDG", memory.load, _ACCESS, space="global", counted="memory", issued="ld"),
    _op("LDS", memory.load, _ACCESS, space="shared", counted="memory", issued="ld"),
    _op("LDL", memory.load, _ACCESS, space="local", counted="memory", issued="ld"),
    _op("LD", memory.load, _ACCESS, space="generic", counted="memory", issued="ld"),
    _op("LDC", memory.load_constant, "64 128 U8 S8 U16 S16", counted="memory", uniform=75),
    _op("LDCU", memory.load_constant, "64 128 U8 S8 U16 S16", counted="uniform", since=100),
    _op("STG", memory.store, _ACCESS, space="global", counted="memory", issued="st"),
    _op("STS", memory.store, _ACCESS, space="shared", counted="memory", issued="st"),
    _op("STL", memory.store, _ACCESS, space="local", counted="memory", issued="st"),
    _op("ST", memory.store, _ACCESS, space="generic", counted="memory", issued="st"),
    _op("ATOM", memory.atomic, _ATOMIC, space="generic", counted="memory", issued="atom"),
    _op("ATOMG", memory.atomic, _ATOMIC, space="global", counted="memory", issued="atom"),
    _op("ATOMS", memory.atomic, _ATOMIC, space="shared", counted="memory", issued="atom"),
    _op("SYNCS", copies.barrier_object,
        "EXCH ARRIVE PHASECHK CCTL IV IVALL TRANS64 A1T0 ART0 A0TR A0TX A0T1 OPTOUT RED TRYWAIT 64", space="shared",
        counted="misc", barrier=True, since=90),
    _op("ARRIVES", copies.copies_arrive, "LDGSTSBAR 64 ARVCNT TRANSCNT", space="shared", counted="memory",
        barrier=True, since=80),
    _op("RED", memory.atomic, _ATOMIC, space="global", counted="memory"),
    _op("REDG", memory.atomic, _ATOMIC, space="global", counted="memory", since=90),
    _op("LDGSTS", copies.copy_async, f"BYPASS ACCESS ZFILL {_ACCESS}", space="global", counted="memory", since=80),
    _op("UBLKCP", copies.copy_bulk, "S G MULTICAST", counted="memory", since=90),
    _op("UBLKRED", copies.copy_bulk, "G S RN ADD MIN MAX INC DEC AND OR XOR F32 F64 F16 BF16 S32 U64 S64",
        counted="memory", since=90),
    _op("UBLKPF", control.nothing, "L2", counted="memory", since=90),
    _op("UTMACMDFLUSH", copies.close_bulk, counted="memory", since=90),
    _op("LDGDEPBAR", copies.close_copies, counted="memory", since=80),
    _op("DEPBAR", copies.await_copies, "LE", counted="misc"),
    # Of a fence's four, MEMBAR ERRBAR CGAERRBAR CCTL, two count as control and two as memory. They come together only,
    # so that no launch tells which.
    _op("MEMBAR", memory.fence, "SC ALL VC CTA GPU SYS", counted="memory"),
    _op("ERRBAR", control.nothing, ANY, counted="control"),
    _op("CGAERRBAR", control.nothing, ANY, counted="control", since=90),
    _op("QSPC", memory.query_space, "E S D L G"),
    _op("FENCE", control.nothing, "VIEW ASYNC S T G", counted="misc", since=90),
    _op("CCTL", control.nothing, ANY, counted="memory"),
    _op("CCTLL", control.nothing, ANY),
    _op("CCTLT", control.nothing, ANY),
    # ---- textures and surfaces
    _op("TEX", textures.read_texture, "LL LZ"),
    _op("TXD", textures.read_texture),
    _op("TLD", textures.read_texture, "LZ"),
    _op("TLD4", textures.read_texture, "R G B A"),
    _op("SULD", textures.load_surface, f"D BA {_SURFACE}"),
    _op("SUST", textures.store_surface, f"D BA {_SURFACE}"),
    # ---- tensor cores
    _op("LDSM", matrix.load_matrix, "16 M88 MT88 1 2 4", space="shared", counted="memory", issued="ld ldsm"),
    _op("MOVM", matrix.transpose_matrix, "16 MT88 U4TO8 M832", counted="misc"),
    _op("STSM", matrix.store_matrix, "16 M88 MT88 1 2 4", space="shared", counted="memory", issued="st", since=90),
    _op("HMMA", matrix.multiply_matrices, "SP 16832 16816 1688 1684 F32 F16 BF16 TF32", counted="fp16",
        pipe="tensor", tensor_op="hmma"),
    _op("QMMA", matrix.multiply_matrices, "SP 16864 16832 16816 F32 F16 E4M3 E5M2", pipe="tensor", since=89),
    _op("IMMA", matrix.multiply_matrices, "SP 8816 16816 16832 8832 16864 168128 S8 U8 S4 U4 SAT",
        counted="integer", pipe="tensor", tensor_op="imma"),
    _op("DMMA", matrix.multiply_matrices, "884 8x8x4 16x8x4 16x8x8 16x8x16", counted="fp64", pipe="tensor",
        tensor_op="dmma", since=80),
    _op("BMMA", matrix.multiply_matrices, "88128 168128 168256 AND XOR POPC", counted="bit", pipe="tensor",
        tensor_op="imma"),
    # ---- lanes of a warp
    _op("SHFL", lanes.shuffle, "IDX UP DOWN BFLY", counted="inter_thread_communication"),
    _op("VOTE", lanes.vote, "ALL ANY EQ", counted="inter_thread_communication"),
    _op("VOTEU", lanes.vote, "ALL ANY EQ", counted="inter_thread_communication"),
    _op("REDUX", lanes.reduce_warp, "SUM MIN MAX AND OR XOR S32", counted="inter_thread_communication", since=80),
    _op("CREDUX", lanes.reduce_warp, "MIN MAX S32", counted="inter_thread_communication", since=100),
    _op("MATCH", lanes.match, "ANY ALL U64", counted="inter_thread_communication"),
    _op("ELECT", lanes.elect, counted="inter_thread_communication", since=90),
    _op("R2UR", lanes.to_uniform, "OR BROADCAST", counted="misc"),
    # ---- the system
    _op("S2R", system.special_register, counted="misc"),
    _op("S2UR", system.special_register, counted="misc"),
    _op("CS2R", system.special_pair, "32", counted="misc"),
    _op("CS2UR", system.special_pair, "32", counted="uniform", since=100),
    _op("LEPC", system.position),
    _op("BPT", control.trap, "TRAP"),
    _op("NOP", control.lanes_together, ANY, counted="misc"),
    _op("YIELD", control.nothing, ANY, counted="control"),
    _op("NANOSLEEP", system.sleep, ANY),
    _op("PMTRIG", control.nothing, ANY),
    # A launch here never overlaps with the one before it.
    _op("ACQBULK", control.nothing, since=90),
    _op("PREEXIT", control.nothing, since=90),
    _op("USETMAXREG", control.nothing, ANY, since=90),
    # ---- what comes next
    _op("BRA", control.branch, "DIV CONV U ANY", counted="control", issued="branch"),
    _op("BRX", control.computed_branch, counted="control", issued="branch"),
    _op("BRXU", control.computed_branch, counted="control", issued="branch", since=100),
    _op("CALL", control.call, "REL ABS NOINC", counted="control", issued="branch"),
    _op("RET", control.returns, "REL ABS NODEC", counted="control", issued="branch"),
    _op("EXIT", control.leave, counted="control"),
    _op("BAR", control.barrier, "SYNC ARV RED POPC AND OR DEFER_BLOCKING", counted="misc"),
    _op("UCGABAR_ARV", control.arrive_in_cluster, counted="control", since=90),
    _op("UCGABAR_WAIT", control.wait_for_cluster, counted="control", since=90),
    _op("B2R", control.barrier_result, "RESULT"),
    _op("WARPSYNC", control.warp_barrier, "ALL COLLECTIVE EXCLUSIVE", counted="control"),
    _op("ENDCOLLECTIVE", control.end_collective, since=90),
    _op("BSSY", meetings.begin_meeting, _MEETING, counted="control"),
    _op("BSYNC", meetings.meet, _MEETING, counted="control"),
    _op("BREAK", meetings.leave_meeting, _MEETING, counted="control"),
    _op("BMOV", meetings.move_meeting, "32 CLEAR"),
)  # fmt: skip


def _uniform(op: Op) -> Op:
    return replace(
        op, name=f"U{op.name}", counted=frozenset(("uniform",)), issued=frozenset(), pipe="",
        since=max(op.since, op.uniform), uniform=0,
    )  # fmt: skip


OPCODES: dict[str, Op] = {op.name: op for row in ROWS for op in ((row, _uniform(row)) if row.uniform else (row,))}
COUNTED = tuple(dict.fromkeys(name for op in ROWS for name in sorted(op.counted)))
ISSUED = tuple(dict.fromkeys(name for op in ROWS for name in sorted(op.issued)))
PIPES = tuple(dict.fromkeys(name for op in ROWS for name in (op.pipe, *op.pipe_with.values()) if name))
TENSOR_OPS = tuple(dict.fromkeys(op.tensor_op for op in ROWS if op.tensor_op))
UNSEEN = Op("?", control.nothing)  # what is true of an opcode that is not in the table: nothing


def of(opcode: str) -> Op:
    """The row of an opcode with its modifiers, "LDG.E.128"; UNSEEN if it has none."""
    return OPCODES.get(opcode.split(".", 1)[0], UNSEEN)


# ---- architectures


@dataclass(frozen=True, slots=True)
class Family:
    """Architectures that share their machine code.

    since: its compute capability, times ten: it has the opcodes that came with it or before.
    shared_base: the address of a block's first byte of shared memory: Hopper keeps the first 1024 for the system.
    seen: whether results were held against a GPU of the family, or of one that has the same opcodes. Of Blackwell none
        was at hand: what its own opcodes do is read off the compiler's text, beside Hopper's for the same PTX.
    """

    name: str
    architectures: tuple[str, ...]
    since: int
    shared_base: int = 0
    seen: bool = True


FAMILIES: tuple[Family, ...] = (
    Family("Turing", ("sm_75",), 75),
    Family("Ampere", ("sm_80", "sm_86", "sm_87"), 80),
    Family("Ada", ("sm_89",), 89),
    Family("Hopper", ("sm_90",), 90, shared_base=1024),
    Family("Blackwell", ("sm_100", "sm_103", "sm_120", "sm_121"), 100, shared_base=1024, seen=False),
)


def family(arch: str) -> Family | None:
    """The family of an architecture; None if its machine code is not modelled. "sm_120a" is of that of "sm_120"."""
    return next((family for family in FAMILIES if arch.rstrip("af") in family.architectures), None)


def outcome(t: Operands, s: sass.Statement, since: int) -> Outcome:
    """What a statement does. Unknown if its opcode is not modelled for the compute capability `since`, or its form."""
    op = OPCODES.get(s.base)
    if op is None or op.since > since:
        raise Unknown(f"the opcode {s.base}")
    if unknown := _unknown(s.opcode, op.modifiers):
        raise Unknown(f"the modifier .{unknown}")
    t.begin(s, op.space)
    return computations.outcome(t, s, op.decode)


@cache
def _unknown(opcode: tuple[str, ...], modifiers: frozenset[str] | str) -> str | None:
    """The first modifier of an opcode that is not among those."""
    return next((part for part in opcode[1:] if modifiers != ANY and part not in modifiers), None)
