"""Video instructions: parts of registers."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.compiler.ptx import Minus, Register, Statement
from helpers.simulator.frontends import decoded as form
from helpers.simulator.frontends.decoded import Decoded
from helpers.simulator.frontends.ptx import video
from helpers.simulator.frontends.ptx.decoding.decoder import Decoder


def _whole_register(operand):
    """The register of which an operand names a part."""
    return Register(operand.name) if isinstance(operand, Register) else operand


def _video(t: Decoder, s: Statement, operation: str, types: Sequence[str], words: Sequence[str]) -> Decoded:
    """An instruction with results of the first of the types and operands of the others."""
    destination, *sources = s.operands
    i = Decoded(operation)
    signs = (form.VIDEO_SIGNED, form.VIDEO_A_SIGNED, form.VIDEO_B_SIGNED)
    i.flags = sum(flag for flag, type_ in zip(signs, types, strict=True) if type_ == "s32")
    i.flags |= form.VIDEO_LIMITED * ("sat" in words) | form.VIDEO_WRAPS * ("wrap" in words)
    t.read_all(i, [_whole_register(source) for source in sources], "u32")
    t.writes(i, _whole_register(destination), 4)
    return i


def _parts_of_statement(s: Statement, named: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """(the function, the types of the result and of the operands, the other words); `named`: the name without v."""
    if named == "set":
        _, *types, name = s.opcode[:4]
        return name.upper(), ("u32", *types), s.opcode[4:]
    return named, s.opcode[1:4], s.opcode[4:]


def video_parts(t: Decoder, s: Statement) -> Decoded:
    count = int(s.name[-1])
    function, types, words = _parts_of_statement(s, s.name[1:-1])
    i = _video(t, s, "video parts", types, words)
    destination, a, b, _ = s.operands
    chosen = [video.numbers(operand, count, first) for operand, first in ((a, 0), (b, count))]
    kept = video.numbers(destination, count, 0)
    packed = sum(which << 12 * k + 3 * n for k, row in enumerate(chosen) for n, which in enumerate(row))
    packed |= sum(1 << 24 + number for number in kept)
    i.number = [form.VIDEO[function], packed, 32 // count, form.VIDEO_RESULTS["add" if "add" in words else "inserted"]]
    return i


def _places(operands: Sequence) -> int:
    """Where the parts of two operands lie, for the C program."""
    places = [video.PARTS[video.selection(operand)] for operand in operands]
    return sum((place | bits << 8) << 16 * k for k, (place, bits) in enumerate(places))


def video_one(t: Decoder, s: Statement) -> Decoded:
    function, types, words = _parts_of_statement(s, s.name[1:])
    if s.name == "vset":
        types = (types[1], *types[1:])
    i = _video(t, s, "video one", types, words)
    destination, a, b, *third = s.operands
    place, bits = video.PARTS[video.selection(destination)]
    second = next((word for word in words if word in video.SECOND), "inserted" if third else "")
    written = place | bits << 8 | (0 if bits == 16 else place) << 16
    i.number = [form.VIDEO[function], _places((a, b)), written, form.VIDEO_RESULTS[second]]
    return i


def video_multiply_add(t: Decoder, s: Statement) -> Decoded:
    types, words = s.opcode[2:4], s.opcode[4:]
    destination, *sources = s.operands
    negated = [isinstance(operand, Minus) for operand in sources]
    plain = tuple(operand.register if isinstance(operand, Minus) else operand for operand in sources)
    signed = "s32" in types or negated[0] != negated[1] or negated[2]
    own = s.with_operands((destination, *plain), s.guard)
    i = _video(t, own, "video multiply-add", ("s32" if signed else "u32", *types), words)
    i.flags |= form.VIDEO_PRODUCT_NEGATED * (negated[0] != negated[1]) | form.VIDEO_C_NEGATED * negated[2]
    i.flags |= form.VIDEO_ONE_MORE * ("po" in words)
    i.number[1:3] = [_places(plain[:2]), 7 if "shr7" in words else 15 if "shr15" in words else 0]
    return i
