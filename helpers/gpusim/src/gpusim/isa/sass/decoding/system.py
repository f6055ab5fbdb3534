"""What SASS asks of the system: special registers and clocks."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.devices import WARP, limits_for, sms_for
from gpusim.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded, Word
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import at_least, exactly

SPECIAL = {f"SR_{name}": number for name, number in form.SPECIAL_REGISTERS.items()}
SPECIAL["SR_VIRTUALSMID"] = SPECIAL["SR_SMID"]
# Without clusters a block's rank is 0; windows lie at the upper half of generic addresses.
# SR_LMEMHIOFF is the lowest place that the stack may reach: with -G code looks whether it does. Here an access says so.
SPECIAL_CONSTANTS = {
    "SR_CgaCtaId": 0, "SR_SWINHI": SHARED_WINDOW >> 32, "SR_LWINHI": LOCAL_WINDOW >> 32, "SRZ": 0, "SR_LMEMHIOFF": 0,
    "SR_CgaSize": 0,
}  # fmt: skip
CLOCKS = ("SR_CLOCKLO", "SR_GLOBALTIMERLO")
UPPER_CLOCKS = ("SR_CLOCKHI", "SR_GLOBALTIMERHI")


def special_register(t: Decoder, s: sass.Statement) -> Decoded:
    """S2R, S2UR, CS2R.32 d, SR_…."""
    destination, source = exactly(s, 2)
    name = source.name if isinstance(source, sass.Special) else ""
    if name in SPECIAL_CONSTANTS and not (name == "SR_CgaCtaId" and t.code.clusters):
        i = Decoded("move")
        i.source[0], i.width[0] = t.words.row(Word(-1, SPECIAL_CONSTANTS[name] & 0xFFFFFFFF)), 1
    elif name == "SR_VIRTCFG":
        i = Decoded("move")
        i.source[0], i.width[0] = t.words.row(Word(-1, limits_for(t.arch).threads_per_sm // WARP << 8)), 1
    elif name in (*CLOCKS, *UPPER_CLOCKS):
        i = _clock(name)
    elif name in SPECIAL:
        i = Decoded("special register")
        i.number[0] = SPECIAL[name]
        i.number[1] = sms_for(t.arch) if name == "SR_VIRTUALSMID" else 0
    else:
        raise NotDecoded(f"the special register {name}")
    t.writes(i, destination)
    return i


def _clock(name: str) -> Decoded:
    of_all = name.startswith("SR_GLOBALTIMER")
    return Decoded("clock", kind=form.TAKES_TIME, number=[int(name in UPPER_CLOCKS), int(of_all), 0, 0])


def sleep(t: Decoder, s: sass.Statement) -> Decoded:
    """NANOSLEEP a: clocks go on."""
    i = Decoded("sleep", kind=form.TAKES_TIME)
    t.read(i, 0, at_least(s, 1)[-1])
    return i


def special_pair(t: Decoder, s: sass.Statement) -> Decoded:
    """CS2R d, SRZ: zero, or CS2R d, SR_CLOCKLO: a 64-bit clock, to a pair of registers; CS2R.32 to one."""
    destination, source = exactly(s, 2)
    if source not in (sass.Special("SRZ"), sass.Special("SR_CgaSize")):
        if s.has("32"):
            return special_register(t, s)
        if not isinstance(source, sass.Special) or source.name not in CLOCKS:
            raise NotDecoded(f"the special register {getattr(source, 'name', source)}")
        i = _clock(source.name)
        t.writes(i, destination, 2)
        return i
    i = Decoded("move" if s.has("32") else "move two")
    i.source[:2], i.width[:2] = [-1, -1], [1, 1]
    t.writes(i, destination, 1 if s.has("32") else 2)
    return i


def position(t: Decoder, s: sass.Statement) -> Decoded:
    """LEPC d: the address of the code, which only return addresses of the system's functions are made of."""
    destination, *_ = at_least(s, 1)
    i = Decoded("move two")
    i.source[:2] = [t.words.row(Word(-1, s.address)), -1]
    i.width[:2] = [1, 1]
    t.writes(i, destination, 2)
    return i
