"""Which SASS instructions are known, and on which architectures.

One row an opcode; the function of the row holds the rule of its operands. A family's code uses the common opcodes and
those of its own row. Uniform instructions (`UIADD3`) are the common ones on registers that a warp shares.
"""

from collections.abc import Callable
from dataclasses import dataclass

from helpers.compiler import sass
from helpers.simulator.frontends.sass import control, floating, memory
from helpers.simulator.frontends.sass import integer as integers


@dataclass(frozen=True, slots=True)
class Family:
    """Architectures that share their machine code.

    `shared_base` is the address of a block's first byte of shared memory: Hopper keeps the first 1024 for the system.
    """

    name: str
    architectures: tuple[str, ...]
    shared_base: int
    opcodes: frozenset[str]


# ---- opcodes that compute, by what they compute with

ARITHMETIC: dict[str, Callable] = {
    # integers
    "IADD3": integers.add3,
    "VIADD": integers.add2,
    "IMAD": integers.multiply_add,
    "LEA": integers.shift_add,
    "SHF": integers.funnel_shift,
    "ISETP": integers.compare,
    "IMNMX": integers.minimum_maximum,
    "VIMNMX": integers.minimum_maximum,
    "VIMNMX3": integers.minimum_maximum,
    "VIADDMNMX": integers.minimum_maximum,
    "IABS": integers.absolute,
    "VABSDIFF": integers.absolute_difference,
    "IDP": integers.dot_product,
    "I2I": integers.saturate,
    # bits
    "MOV": integers.move,
    "LOP3": integers.logic3,
    "PRMT": integers.permute_bytes,
    "POPC": integers.population_count,
    "FLO": integers.find_leading_one,
    "BREV": integers.reverse_bits,
    "SGXT": integers.sign_extend,
    "BMSK": integers.bit_mask,
    "SEL": integers.select,
    # predicates
    "PLOP3": integers.predicate_logic3,
    "P2R": integers.pack_predicates,
    "R2P": integers.unpack_predicates,
    # float32
    "FADD": floating.arithmetic,
    "FMUL": floating.arithmetic,
    "FFMA": floating.arithmetic,
    "FMNMX": floating.minimum_maximum,
    "FSEL": integers.select,
    "FSETP": floating.compare,
    "FSET": floating.compare_to_register,
    "FCHK": floating.check_division,
    "MUFU": floating.special_function,
    # float64
    "DADD": floating.arithmetic64,
    "DMUL": floating.arithmetic64,
    "DFMA": floating.arithmetic64,
    "DSETP": floating.compare64,
    # float16 and bfloat16, two in a register
    "HADD2": floating.arithmetic16,
    "HMUL2": floating.arithmetic16,
    "HFMA2": floating.arithmetic16,
    "HMNMX2": floating.minimum_maximum16,
    "HSETP2": floating.compare16,
    "HSET2": floating.compare_to_register16,
    # conversions
    "I2F": floating.integer_to_float,
    "I2FP": floating.integer_to_float,
    "F2I": floating.float_to_integer,
    "F2IP": floating.float_to_byte,
    "F2F": floating.float_to_float,
    "F2FP": floating.pack_halves,
    "FRND": floating.round_to_whole,
}

# ---- opcodes that reach memory, other lanes or the system

EFFECTS: dict[str, Callable] = {
    "LDG": memory.load,
    "LDS": memory.load,
    "LDL": memory.load,
    "LD": memory.load,
    "STG": memory.store,
    "STS": memory.store,
    "STL": memory.store,
    "ST": memory.store,
    "ATOM": memory.atomic,
    "ATOMG": memory.atomic,
    "ATOMS": memory.atomic,
    "RED": memory.atomic,
    "REDG": memory.atomic,
    "LDGSTS": memory.copy_async,
    "LDGDEPBAR": memory.copy_group,
    "DEPBAR": memory.copy_group,
    "LDSM": memory.load_matrix,
    "HMMA": memory.multiply_matrices,
    "SHFL": memory.shuffle,
    "VOTE": memory.vote,
    "REDUX": memory.reduce_warp,
    "MATCH": memory.match,
    "R2UR": memory.to_uniform,
    "S2R": memory.special_register,
    "S2UR": memory.special_register,
    "MEMBAR": memory.fence,
    "LEPC": memory.position,
    "BPT": memory.trap,
}
# What has no effect on values here: hints to the scheduler and to caches, waiting, padding.
NO_EFFECT = frozenset(("NOP", "YIELD", "NANOSLEEP", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL", "CCTLT", "PMTRIG"))

# ---- opcodes that say what comes next

CONTROL: dict[str, Callable] = {
    "BRA": control.branch,
    "BRX": control.computed_branch,
    "CALL": control.call,
    "RET": control.returns,
    "EXIT": control.leave,
    "BAR": control.barrier,
    "WARPSYNC": control.warp_barrier,
    "ENDCOLLECTIVE": control.end_collective,
    "BSSY": control.begin_meeting,
    "BSYNC": control.meet,
    "BREAK": control.leave_meeting,
    "BMOV": control.move_meeting,
}

# ---- modifiers

_COMPARISONS = "LT LE EQ NE GE GT LTU LEU EQU NEU GEU GTU NUM NAN AND OR XOR"
_TYPES = "U8 S8 U16 S16 U32 S32 U64 S64"
_ROUNDINGS = "RM RP RZ"
# Which caches keep a line, and for whom an access must be visible: nothing here depends on it.
_ACCESS = "E SYS GPU CTA SM WEAK STRONG CONSTANT EF EL LU EU NA LTC64B LTC128B LTC256B U U8 S8 U16 S16 64 128"
_ATOMIC = ("E SYS GPU CTA SM WEAK STRONG ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST SPIN POPC 32 64 U32 S32 U64 S64 "
           "F32 F64 FTZ RN")  # fmt: skip
# The modifiers that the rules carry out, or that change nothing here. One that is not listed makes the instruction
# unknown: to pass over it would give wrong numbers.
MODIFIERS: dict[str, frozenset[str]] = {
    opcode: frozenset(words.split())
    for opcodes, words in (
        ("IADD3", "X"), ("IMAD", "MOV U32 HI WIDE IADD SHL X"), ("LEA", "HI SX32 X"),
        ("SHF", "L R W HI U32 S32 U64 S64"), ("ISETP", "LT LE EQ NE GE GT AND OR XOR U32 EX"),
        ("IMNMX VIMNMX3 VIADDMNMX VABSDIFF", "U32"), ("VIMNMX", "U32 S16x2 U16x2"), ("IDP", "4A S8 U8"),
        ("I2I", f"SAT {_TYPES}"), ("LOP3 PLOP3", "LUT"),
        ("FLO", "U32 SH"), ("SGXT", "W U32"), ("BMSK", "W"), ("P2R R2P", "B0 B1 B2 B3"),
        ("FADD FMUL FFMA", f"FTZ SAT {_ROUNDINGS}"), ("FMNMX", "FTZ NAN XORSIGN"), ("FSETP", f"FTZ {_COMPARISONS}"),
        ("FSET", f"BF FTZ {_COMPARISONS}"), ("MUFU", "RCP RSQ SQRT EX2 LG2 SIN COS TANH RCP64H RSQ64H"),
        ("DADD DMUL DFMA", _ROUNDINGS), ("DSETP", f"MIN MAX {_COMPARISONS}"),
        ("HADD2", "F32 BF16_V2 RELU SAT"), ("HMUL2", "BF16_V2 RELU SAT"), ("HFMA2", "MMA BF16_V2 RELU SAT"),
        ("HMNMX2", "BF16_V2 NAN"), ("HSETP2", f"BF16_V2 {_COMPARISONS}"), ("HSET2", f"BF16_V2 BF {_COMPARISONS}"),
        ("I2F I2FP", f"F16 F32 F64 {_TYPES} {_ROUNDINGS}"),
        ("F2I", f"FTZ NTZ F16 F64 TRUNC FLOOR CEIL {_TYPES}"), ("F2F", f"FTZ F16 BF16 F32 F64 {_ROUNDINGS}"),
        ("F2IP", "U8 S8 F32 TRUNC NTZ"), ("F2FP", "BF16 F16 F32 PACK_AB RELU RZ"),
        ("FRND", "FTZ F16 F64 TRUNC FLOOR CEIL"),
        ("LDG LDS LDL LD STG STS STL ST", _ACCESS), ("ATOM ATOMG ATOMS RED REDG", _ATOMIC),
        ("LDGSTS", f"BYPASS ACCESS {_ACCESS}"), ("DEPBAR", "LE"), ("LDSM", "16 M88 MT88 1 2 4"),
        ("HMMA", "16816 1688 1684 F32 F16 BF16 TF32"), ("SHFL", "IDX UP DOWN BFLY"), ("VOTE", "ALL ANY EQ"),
        ("REDUX", "SUM MIN MAX AND OR XOR S32"), ("MATCH", "ANY ALL U64"), ("MEMBAR", "SC ALL VC CTA GPU SYS"),
        ("BPT", "TRAP"), ("LDC", "64 128 U8 S8 U16 S16"), ("CS2R", "32"),
        ("BRA", "DIV CONV U"), ("CALL", "REL ABS NOINC"), ("RET", "REL NODEC"), ("BAR", "SYNC DEFER_BLOCKING"),
        ("WARPSYNC", "ALL COLLECTIVE"), ("BMOV", "32 CLEAR"),
    )
    for opcode in opcodes.split()
}  # fmt: skip


def refuse_unknown_modifiers(s: sass.Statement) -> None:
    """ValueError if the opcode has a modifier that is not in the table."""
    base = UNIFORM.get(s.base, s.base)
    unknown = set(s.opcode[1:]) - MODIFIERS.get(base, frozenset())
    if unknown and base not in NO_EFFECT:
        raise ValueError(f"the modifier {min(unknown)}")


# ---- families

# Uniform instructions and the common opcodes that they are.
UNIFORM: dict[str, str] = {
    "UIADD3": "IADD3", "UIMAD": "IMAD", "ULEA": "LEA", "USHF": "SHF", "UISETP": "ISETP", "UMOV": "MOV",
    "ULOP3": "LOP3", "UPRMT": "PRMT", "UPOPC": "POPC", "UFLO": "FLO", "UBREV": "BREV", "USGXT": "SGXT",
    "UBMSK": "BMSK", "USEL": "SEL", "UPLOP3": "PLOP3", "UP2UR": "P2R", "UR2UP": "R2P", "VOTEU": "VOTE",
    "ULDC": "LDC", "UIMNMX": "IMNMX", "UVIMNMX": "VIMNMX", "UIABS": "IABS",
}  # fmt: skip
_HOPPER_ONLY = frozenset(("VIADD", "VIMNMX", "VIMNMX3", "VIADDMNMX", "REDG", "ENDCOLLECTIVE", "CGAERRBAR"))
_SINCE_AMPERE = frozenset(("F2IP", "LDGSTS", "LDGDEPBAR", "REDUX", "I2FP", "HMNMX2"))
_COMMON = (frozenset(ARITHMETIC) | frozenset(EFFECTS) | frozenset(CONTROL) | frozenset(UNIFORM) | NO_EFFECT
           | {"LDC", "CS2R"}) - _HOPPER_ONLY - _SINCE_AMPERE  # fmt: skip

FAMILIES: tuple[Family, ...] = (
    Family("Turing", ("sm_75",), 0, _COMMON),
    Family("Ampere", ("sm_80", "sm_86", "sm_87"), 0, _COMMON | _SINCE_AMPERE),
    Family("Ada", ("sm_89",), 0, _COMMON | _SINCE_AMPERE),
    Family("Hopper", ("sm_90", "sm_90a"), 1024, _COMMON | _SINCE_AMPERE | _HOPPER_ONLY),
)


def family(arch: str) -> Family | None:
    """The family of an architecture; None if its machine code is not known here."""
    return next((family for family in FAMILIES if arch in family.architectures), None)
