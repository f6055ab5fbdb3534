"""Which function decodes which opcode."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gpusim.compiler import sass
from gpusim.errors import Unknown
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass import opcodes
from gpusim.isa.sass.decoding import control, copies, lanes, matrix, meetings, memory, system, textures
from gpusim.isa.sass.decoding.decoder import Decoder

OPCODES: dict[str, Callable[[Decoder, sass.Statement], Decoded]] = {
    "LDG": memory.load, "LDS": memory.load, "LDL": memory.load, "LD": memory.load, "LDC": memory.load_constant,
    "STG": memory.store, "STS": memory.store, "STL": memory.store, "ST": memory.store, "ATOM": memory.atomic,
    "ATOMG": memory.atomic, "ATOMS": memory.atomic, "RED": memory.atomic, "REDG": memory.atomic,
    "LDGSTS": copies.copy_async, "SYNCS": copies.barrier_object, "ARRIVES": copies.copies_arrive,
    "UBLKCP": copies.copy_bulk, "UBLKRED": copies.copy_bulk, "UBLKPF": control.nothing,
    "UTMACMDFLUSH": copies.close_bulk, "FENCE": control.nothing, "LDGDEPBAR": copies.close_copies,
    "DEPBAR": copies.await_copies, "MEMBAR": memory.fence, "ERRBAR": control.nothing, "CGAERRBAR": control.nothing,
    "CCTL": control.nothing, "CCTLL": control.nothing, "CCTLT": control.nothing, "LDSM": matrix.load_matrix,
    "STSM": matrix.store_matrix, "TEX": textures.read_texture, "TXD": textures.read_texture,
    "TLD": textures.read_texture, "TLD4": textures.read_texture, "SULD": textures.load_surface,
    "SUST": textures.store_surface, "SHFL": lanes.shuffle, "R2UR": lanes.to_uniform, "S2R": system.special_register,
    "S2UR": system.special_register, "CS2R": system.special_pair, "CS2UR": system.special_pair,
    "LEPC": system.position, "NOP": control.lanes_together, "ACQBULK": control.nothing, "PREEXIT": control.nothing,
    "YIELD": control.nothing, "NANOSLEEP": system.sleep, "PMTRIG": control.nothing, "BRA": control.branch,
    "BRX": control.computed_branch, "BRXU": control.computed_branch, "CALL": control.call, "BPT": control.trap,
    "LDCU": memory.load_constant, "RET": control.returns, "EXIT": control.leave, "BAR": control.barrier,
    "B2R": control.barrier_result, "WARPSYNC": control.warp_barrier, "UCGABAR_ARV": control.arrive_in_cluster,
    "UCGABAR_WAIT": control.wait_for_cluster, "ENDCOLLECTIVE": control.end_collective, "BSSY": meetings.begin_meeting,
    "BSYNC": meetings.meet, "BREAK": meetings.leave_meeting, "BMOV": meetings.move_meeting,
}  # fmt: skip

_MEETING = "RECONVERGENT RELIABLE"
_CACHES = "E SYS GPU CTA SM WEAK STRONG CONSTANT EF EL LU EU NA LTC64B LTC128B LTC256B"
_ACCESS = f"{_CACHES} U U8 S8 U16 S16 64 128"
_SURFACE = "D BA 1D 2D 3D 1D_ARRAY 2D_ARRAY U8 S8 U16 S16 64 128 TRAP IGN STRONG WEAK CTA SM GPU SYS"
_UPDATES = "ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST SPIN POPC"
_ATOMIC = f"{_CACHES} {_UPDATES} 32 64 U32 S32 U64 S64 F32 F64 F16x2 BF16x2 FTZ RN"
# The modifiers that these functions carry out, or that change nothing here. With another one a form is not decoded.
MODIFIERS: dict[str, str] = {
    "LDG": _ACCESS, "LDS": _ACCESS, "LDL": _ACCESS, "LD": _ACCESS, "LDC": "64 128 U8 S8 U16 S16", "STG": _ACCESS,
    "STS": _ACCESS, "STL": _ACCESS, "ST": _ACCESS, "ATOM": _ATOMIC, "ATOMG": _ATOMIC, "ATOMS": _ATOMIC,
    "RED": _ATOMIC, "REDG": _ATOMIC, "LDGSTS": f"BYPASS ACCESS ZFILL {_ACCESS}",
    "SYNCS": "EXCH ARRIVE PHASECHK CCTL IV IVALL TRANS64 A1T0 ART0 A0TR A0TX A0T1 OPTOUT RED TRYWAIT 64",
    "ARRIVES": "LDGSTSBAR 64 ARVCNT TRANSCNT", "UBLKCP": "S G MULTICAST", "UBLKPF": "L2", "FENCE": "VIEW ASYNC S T G",
    "UBLKRED": "G S RN ADD MIN MAX INC DEC AND OR XOR F32 F64 F16 BF16 S32 U64 S64", "DEPBAR": "LE",
    "MEMBAR": "SC ALL VC CTA GPU SYS", "ERRBAR": "any", "CGAERRBAR": "any", "CCTL": "any", "CCTLL": "any",
    "CCTLT": "any", "LDSM": "16 M88 MT88 1 2 4", "STSM": "16 M88 MT88 1 2 4", "TEX": "LL LZ", "TLD": "LZ",
    "TLD4": "R G B A", "SULD": _SURFACE, "SUST": _SURFACE, "SHFL": "IDX UP DOWN BFLY", "R2UR": "OR BROADCAST",
    "CS2R": "32", "NOP": "any", "YIELD": "any", "NANOSLEEP": "any", "PMTRIG": "any", "BRA": "DIV CONV U ANY",
    "BPT": "TRAP", "LDCU": "64 128 U8 S8 U16 S16", "BSSY": _MEETING, "BSYNC": _MEETING, "BREAK": _MEETING,
    "CALL": "REL ABS NOINC", "RET": "REL ABS NODEC", "BAR": "SYNC ARV RED POPC AND OR DEFER_BLOCKING",
    "B2R": "RESULT", "WARPSYNC": "ALL COLLECTIVE EXCLUSIVE", "BMOV": "32 CLEAR",
}  # fmt: skip


def decode(t: Decoder, s: sass.Statement, space: str, known: Decoded | None = None) -> Decoded:
    """One statement, whose opcode names that state space. NotDecoded if it has no form here.

    known: what `t` has made of it before.
    """
    t.space, t.statement = space, s
    try:
        decoded = known or _function(s.opcode)(t, s)
    except (Unknown, ValueError) as error:  # operands that the rules do not know either, in another number
        raise NotDecoded(str(error)) from error
    if s.guard is not None and not (s.guard.number is None and not s.guard.negated):
        decoded.guard = t.predicate(s.guard)
    return decoded


@cache
def _function(opcode: tuple[str, ...]) -> Callable[[Decoder, sass.Statement], Decoded]:
    """The function for an opcode with its modifiers. NotDecoded if one of them has no form here."""
    name, *modifiers = opcode
    row = opcodes.of(name)
    if row.decode is not None:  # the table has its modifiers, too
        return row.decode
    plain = name.removeprefix("U")
    function = OPCODES.get(name, OPCODES.get(plain))
    if function is None:
        raise NotDecoded(f"the opcode {name}")
    known = MODIFIERS.get(name, MODIFIERS.get(plain, "")).split()
    for part in modifiers:
        if known != ["any"] and part not in known:
            raise NotDecoded(f"the modifier .{part}")
    return function
