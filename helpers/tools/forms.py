"""Learns what machine instructions look like in nvdisasm's text: `python -m helpers.tools.forms [architecture …]`.

It takes the instructions of all kernels in the compiler's cache (run the tests first) and what is known already. Some
instructions of one opcode that differ in registers and numbers alone suggest a form. nvdisasm then prints instructions
with random values in all its fields, with numbers that are likely to be another opcode, and with several guards, and
the form stays only if it says the same. An instruction that suggests none is kept as it stands, with a free guard.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from gpusim.compiler import cache as disk, cubin
from gpusim.compiler.disassembly import find_nvdisasm
from gpusim.compiler.forms import (
    GUARD,
    GUARD_AT,
    NO_GUARD,
    PATH,
    UNPRINTED,
    BitField,
    Form,
    Forms,
    parse,
    split,
    stored,
)
from gpusim.compiler.sass import INSTRUCTION_BYTES
from gpusim.devices import DEFAULT

# Where these go comes from the linker: nvdisasm is asked for kernels that have them.
NOT_LEARNED = ("JMX", "JMXU", "JMP", "LEPC", "CALL.ABS", "RET.ABS")
RELATIVE = ("BRA", "BSSY", "CALL.REL", "RET.REL", "WARPSYNC.COLLECTIVE")

# In a CUBIN, the byte of the architecture's number, by the ELF file's version of CUDA's ABI: from Blackwell on another.
_ABI_AT, _ARCHITECTURE_AT = 7, {0x33: 0x30, 0x41: 0x31}
_BASE = 1 << 24  # the address of what nvdisasm prints, so that branches back do not lead to before zero
_PRINTED = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", re.MULTILINE)
_COMMENT = re.compile(r'\(\*".*?"\*\)')
_REFUSED = re.compile(r"at address (0x[0-9a-f]+)")
_GUARDED = re.compile(r"@!?U?P[0-6T]\s+")
_TARGET = re.compile(r"0x[0-9a-f]+$")
_TOKEN = re.compile(
    r"(?<![\w.\]])(?:UR\d+|R\d+|UP[0-6]|P[0-6]|B\d+|-?0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?!\w)|\([-+]0x\w+\)"
)

# Where each kind of token may stand in an instruction.
_REGISTERS = {
    "R": [BitField("R", first, 8) for first in (16, 24, 32, 64)],
    "U": [BitField("U", first, 6) for first in (16, 24, 32, 64)],
    "P": [BitField("P", first, 3) for first in (81, 84, 87, 77, 68, 24, 16)],
    "Q": [BitField("Q", first, 3) for first in (81, 84, 87, 77, 68, 24, 16)],
    "B": [BitField("B", first, 4) for first in (16, 24, 32)],
}
_NUMBERS = [
    BitField("x", 32, 32),
    BitField("s", 32, 32),
    BitField("s", 40, 24),
    BitField("x", 38, 16),
    BitField("x", 54, 5),
]
_NUMBERS += [
    BitField("x", 72, 8),
    BitField("x", 75, 5),
    BitField("x", 53, 5),
    BitField("s", 44, 20),
    BitField("o", 34, 48),
]
_SOUGHT = [
    BitField(kind, first, bits) for bits in (20, 13, 12, 8, 6, 5, 4) for first in range(20, 105 - bits) for kind in "sx"
]
_FLOATS = [BitField("f", 32, 32), BitField("d", 32, 32), BitField("h", 48, 16), BitField("h", 32, 16)]
_TARGETS = [BitField("t", 34, 48), BitField("b", 32, 40), BitField("b", 32, 32)]
_NUMERIC = "xsfhd"

# Numbers that often make another opcode of an instruction, as a power of two makes a shift of a multiplication.
_TELLING = sorted({*range(4), *(1 << k for k in range(64)), *((1 << k) - 1 for k in range(64))})
_SHORT_BITS = 8
_RANDOM_PROBES, _MUST_BE_LEGAL, _MOST_EXCLUDED = 100, 20, 80
_MOST_PLACEMENTS, _ENOUGH_TO_SEEK = 12, 3


def learn(arch: str, instructions: Iterable[int], known: Sequence[Form] = ()) -> list[Form]:
    """The known forms, as far as nvdisasm still agrees, and those that the instructions suggest."""
    rng = random.Random(0)
    forms = agreed(arch, [(form, form.example) for form in known], rng)
    covered = Forms(map(str, forms))
    by_bits = {instruction & ~UNPRINTED & ~GUARD: _unguarded(instruction) for instruction in sorted(set(instructions))}
    new = [instruction for instruction in by_bits.values() if covered.text(instruction) is None]
    say(f"{arch}: {len(forms)} of {len(known)} forms as they were, {len(new)} of {len(by_bits)} instructions have none")
    left: dict[int, str] = {}
    for instruction, text in zip(new, texts(arch, new), strict=True):
        if text is not None and not _GUARDED.sub("", text).startswith(NOT_LEARNED):
            left[instruction] = text
    suggestions = [_placements(group) for group in _groups(left)]
    for _ in range(_MOST_PLACEMENTS):
        tried: dict[Form, int] = {}
        for group, placements in suggestions:
            fields = next(placements, None)
            for instruction in group if fields is not None else ():
                if instruction in left:
                    tried.setdefault(form_of(instruction, left[instruction], fields), instruction)
        forms += agreed(arch, list(tried.items()), rng)
        covered = Forms(map(str, forms))
        left = {instruction: text for instruction, text in left.items() if covered.text(instruction) != text}
        say(f"  {len(tried)} tried; {len(forms)} forms, {len(left)} instructions left")
    return forms + agreed(
        arch, [(form_of(instruction, text, {}), instruction) for instruction, text in left.items()], rng
    )


def agreed(arch: str, suggested: Sequence[tuple[Form, int]], rng: random.Random) -> list[Form]:
    """The suggested forms that say what nvdisasm says; an instruction of each is given with it."""
    good: list[Form] = []
    for letters in ("P", "UP", ""):
        suggested = [(replace(form, guard=letters), instruction) for form, instruction in suggested]
        probes = [list(_probes(form, instruction, rng)) for form, instruction in suggested]
        printed = iter(texts(arch, [probe for each in probes for _, probe in each]))
        rest = []
        for (form, instruction), each in zip(suggested, probes, strict=True):
            said = [(field, probe, next(printed)) for field, probe in each]
            judged = _judged(form, [probe for probe in said if probe[2] is not None])
            if judged is None:
                rest.append((form, instruction))
            else:
                good.append(judged)
        suggested = rest
    return good


def texts(arch: str, instructions: Sequence[int]) -> list[str | None]:
    """What nvdisasm prints for each instruction; None if it refuses it. A target is printed relative, `(+0x20)`."""
    texts_: list[str | None] = [None] * len(instructions)
    legal = list(range(len(instructions)))
    while legal:
        printed, refused = _print(arch, [instructions[index] for index in legal])
        for address, text in printed:
            texts_[legal[address // INSTRUCTION_BYTES]] = _relative(text, address)
        if printed:
            break
        if not refused:
            raise SystemExit("nvdisasm refuses these instructions, and does not say which.")
        legal = [index for number, index in enumerate(legal) if number * INSTRUCTION_BYTES not in refused]
    return texts_


def instructions_in_cache(arch: str) -> set[int]:
    """The instructions of all kernels for an architecture that lie in the compiler's cache."""
    instructions: set[int] = set()
    folder = disk.folder()
    for path in sorted(folder.glob("module-*.zip")) if folder else ():
        binary = (disk.read(path.stem) or {}).get("cubin", b"")
        at = _ARCHITECTURE_AT.get(binary[_ABI_AT]) if binary else None
        if at and arch == f"sm_{binary[at]}":
            for name, section in cubin.read(binary).sections.items():
                if name.startswith(".text."):
                    instructions.update(split(section.data))
    return instructions


def write(lines: dict[str, list[str]], path: Path = PATH) -> None:
    """Store the lines of all architectures; the same lines always give the same file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for arch, each in sorted(lines.items()):
            described = zipfile.ZipInfo(arch)
            described.compress_type = zipfile.ZIP_LZMA
            archive.writestr(described, "\n".join(sorted(each)))


def say(text: str) -> None:
    """One line on the screen."""
    sys.stdout.write(f"{text}\n")


def _unguarded(instruction: int) -> int:
    return instruction & ~GUARD | NO_GUARD << GUARD_AT


def _print(arch: str, instructions: Sequence[int]) -> tuple[list[tuple[int, str]], set[int]]:
    """(address and text of all instructions, the addresses of those that nvdisasm refuses): one of both is empty."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.bin"
        path.write_bytes(b"".join(instruction.to_bytes(INSTRUCTION_BYTES, "little") for instruction in instructions))
        kind = arch.replace("sm_", "SM")
        command = [str(find_nvdisasm()), "-b", kind, "-base", hex(_BASE), "-ndf", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [], {int(address, 16) - _BASE for address in _REFUSED.findall(done.stderr)}
    printed = _PRINTED.findall(done.stdout)
    return [(int(address, 16) - _BASE, " ".join(_COMMENT.sub("", text).split())) for address, text in printed], set()


def _relative(text: str, address: int) -> str:
    if not _GUARDED.sub("", text).startswith(RELATIVE) or not (match := _TARGET.search(text)):
        return text
    return f"{text[: match.start()]}({int(match[0], 16) - _BASE - address - INSTRUCTION_BYTES:+#x})"


# ---- suggestions


def _kind(token: str) -> str:
    if token[0] in "RPB":
        return token[0]
    if token[0] == "U":
        return "U" if token.startswith("UR") else "Q"
    return "(" if token[0] == "(" else "x" if "x" in token else "f"


def _groups(examples: dict[int, str]) -> list[dict[int, list[str]]]:
    """Instructions of one opcode and one text but for its tokens, each with those."""
    groups: dict[tuple[int, str], dict[int, list[str]]] = defaultdict(dict)
    for instruction, text in examples.items():
        tokens = _TOKEN.findall(text)
        groups[instruction & 0xFFF, _TOKEN.sub(lambda token: "\0" + _kind(token[0]), text)][instruction] = tokens
    return list(groups.values())


def _placements(group: dict[int, list[str]]) -> tuple[dict[int, list[str]], Iterator[dict[int, BitField]]]:
    """A group and where its tokens may stand: token's number → field, without tokens that no field was found for."""
    tokens = next(iter(group.values()))
    candidates: dict[int, list[BitField]] = {}
    for number, token in enumerate(tokens):
        kind = _kind(token)
        said = {instruction: each[number] for instruction, each in group.items()}
        sought = _REGISTERS.get(kind) or {"x": _NUMBERS, "f": _FLOATS, "(": _TARGETS}[kind]
        fitting = _fitting(sought, said)
        if not fitting and kind == "x" and len(set(said.values())) >= _ENOUGH_TO_SEEK:
            fitting = _fitting(_SOUGHT, said)
        if fitting:
            candidates[number] = fitting
    choices = [
        dict(zip(candidates, each, strict=True)) for each in itertools.product(*candidates.values()) if _apart(each)
    ]
    registers = [{number: field for number, field in each.items() if field.kind not in _NUMERIC} for each in choices]
    return group, iter(choices[: _MOST_PLACEMENTS - 1] + registers[:1])


def _fitting(fields: Iterable[BitField], said: dict[int, str]) -> list[BitField]:
    return [
        field
        for field in fields
        if all(field.text(field.value(instruction)) == token for instruction, token in said.items())
    ]


def _apart(fields: Sequence[BitField]) -> bool:
    masks = [field.mask for field in fields]
    return sum(masks) == _union(masks)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def form_of(instruction: int, text: str, fields: dict[int, BitField]) -> Form:
    """What an instruction and its text suggest: the token of each number stands in a field, all others in the text."""
    words, used, end = [], [], 0
    for number, token in enumerate(_TOKEN.finditer(text)):
        if number in fields:
            words.append(text[end : token.start()])
            used.append(fields[number])
            end = token.end()
    form = Form(0, "P", (*words, text[end:]), tuple(used))
    return replace(form, fixed=instruction & form.mask)


# ---- proofs


def _probes(form: Form, instruction: int, rng: random.Random) -> Iterator[tuple[BitField | None, int]]:
    """Instructions that a form should be valid for; with the field that a telling number was put into."""
    for _ in range(_RANDOM_PROBES if form.fields or form.guard else 1):
        yield None, filled(form, instruction, rng)
    for field in form.fields:
        if field.kind in _NUMERIC:
            for value in _telling(field.bits):
                yield field, filled(form, instruction, rng, {field: value})


def filled(form: Form, like: int, rng: random.Random, given: Mapping[BitField, int] = MappingProxyType({})) -> int:
    """An instruction of a form with random values in its fields, but for those given, and scheduled as another one."""
    instruction = form.fixed | like & UNPRINTED
    for field in form.fields:
        value = given.get(field)
        while value is None or (field not in given and (field.text(value) is None or _tells(field, value))):
            bits = rng.choice((field.bits, rng.randint(1, field.bits)))
            value = rng.getrandbits(bits + (8 if field.kind in "to" else 0))
            if field.kind in "tb":  # near, and whole instructions away
                value = value % (1 << 10) * (INSTRUCTION_BYTES if field.kind == "b" else INSTRUCTION_BYTES // 4)
        instruction = field.put(instruction, value)
    return instruction | (rng.randrange(16) if form.guard else NO_GUARD) << GUARD_AT


@cache
def _telling(bits: int) -> frozenset[int]:
    """The values of a number that may make another opcode: all of a short one."""
    if bits <= _SHORT_BITS:
        return frozenset(range(1 << bits))
    return frozenset(number & (1 << bits) - 1 for number in (*_TELLING, *(-number for number in _TELLING)))


def _tells(field: BitField, value: int) -> bool:
    return field.kind in _NUMERIC and field.bits > _SHORT_BITS and value in _telling(field.bits)


def _judged(form: Form, said: Sequence[tuple[BitField | None, int, str]]) -> Form | None:
    """The form without what it is not valid for; None if it is not valid."""
    excluded: dict[BitField, set[int]] = {field: set(field.but) for field in form.fields}
    legal = 0
    for field, probe, text in said:
        right = form.text(probe) in (text, None)
        if field is None:
            legal += 1
            if not right:
                return None
        elif not right:
            excluded[field].add(field.value(probe))
    most = max(map(len, excluded.values()), default=0)
    if not said or legal < min(_MUST_BE_LEGAL, len(said)) or most > _MOST_EXCLUDED:
        return None
    return replace(form, fields=tuple(replace(field, but=frozenset(excluded[field])) for field in form.fields))


def main(architectures: Sequence[str]) -> None:
    lines = stored()
    for arch in architectures or (DEFAULT.arch,):
        known = [parse(line) for line in lines.get(arch, ())]
        lines[arch] = [str(form) for form in learn(arch, instructions_in_cache(arch), known)]
        say(f"{arch}: {len(lines[arch])} forms")
    write({arch: each for arch, each in lines.items() if each})
    say(f"{PATH}: {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
