"""Special registers."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.devices import WARP, limits_for, sms_for
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded, Word
from gpusim.isa.sass.decoding.decoder import Decoder

SPECIAL = {f"SR_{name}": number for name, number in form.SPECIAL_REGISTERS.items()}
SPECIAL["SR_VIRTUALSMID"] = SPECIAL["SR_SMID"]
CLOCKS = ("SR_CLOCKLO", "SR_GLOBALTIMERLO")
UPPER_CLOCKS = ("SR_CLOCKHI", "SR_GLOBALTIMERHI")


def special_register(t: Decoder, s: sass.Statement) -> Decoded:
    from gpusim.isa.sass.system import SPECIAL_CONSTANTS

    destination, source = s.operands
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
    i = Decoded("sleep", kind=form.TAKES_TIME)
    t.read(i, 0, s.operands[-1])
    return i


def special_pair(t: Decoder, s: sass.Statement) -> Decoded:
    destination, source = s.operands
    if source not in (sass.Special("SRZ"), sass.Special("SR_CgaSize")):
        if s.has("32"):
            return special_register(t, s)
        if not isinstance(source, sass.Special) or source.name not in CLOCKS:
            raise NotDecoded("a pair of special registers")
        i = _clock(source.name)
        t.writes(i, destination, 2)
        return i
    i = Decoded("move" if s.has("32") else "move two")
    i.source[:2], i.width[:2] = [-1, -1], [1, 1]
    t.writes(i, destination, 1 if s.has("32") else 2)
    return i


def position(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *_ = s.operands
    i = Decoded("move two")
    i.source[:2] = [t.words.row(Word(-1, s.address)), -1]
    i.width[:2] = [1, 1]
    t.writes(i, destination, 2)
    return i
