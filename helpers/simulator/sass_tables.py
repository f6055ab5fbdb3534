"""Which SASS instructions are known, and on which architectures.

One row an opcode; the function of the row holds the rule of its operands. A family's code uses the common opcodes and
those of its own row. Uniform instructions (`UIADD3`) are the common ones on registers that a warp shares.
"""

from collections.abc import Callable
from dataclasses import dataclass

from helpers.simulator import sass_control as control
from helpers.simulator import sass_float as floating
from helpers.simulator import sass_integer as integers
from helpers.simulator import sass_memory as memory


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
    # conversions
    "I2F": floating.integer_to_float,
    "I2FP": floating.integer_to_float,
    "F2I": floating.float_to_integer,
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

# ---- families

# Uniform instructions and the common opcodes that they are.
UNIFORM: dict[str, str] = {
    "UIADD3": "IADD3", "UIMAD": "IMAD", "ULEA": "LEA", "USHF": "SHF", "UISETP": "ISETP", "UMOV": "MOV",
    "ULOP3": "LOP3", "UPRMT": "PRMT", "UPOPC": "POPC", "UFLO": "FLO", "UBREV": "BREV", "USGXT": "SGXT",
    "UBMSK": "BMSK", "USEL": "SEL", "UPLOP3": "PLOP3", "UP2UR": "P2R", "UR2UP": "R2P", "VOTEU": "VOTE",
    "ULDC": "LDC", "UIMNMX": "IMNMX", "UVIMNMX": "VIMNMX", "UIABS": "IABS",
}  # fmt: skip
_HOPPER_ONLY = frozenset(("VIADD", "VIMNMX", "VIMNMX3", "VIADDMNMX", "REDG", "ENDCOLLECTIVE", "CGAERRBAR"))
_SINCE_AMPERE = frozenset(("LDGSTS", "LDGDEPBAR", "REDUX", "I2FP", "HMNMX2"))
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
