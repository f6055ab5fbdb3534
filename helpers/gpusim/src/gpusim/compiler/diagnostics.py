"""The compiler's log, read into diagnostics and shown again under the learner's own lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_LOCATED = re.compile(
    r"(?P<file>\S.*?)\((?P<line>\d+)\): (?P<severity>(?:catastrophic )?error|warning|note|remark)"
    r"(?: #(?P<number>\d+)(?:-D)?)?: (?P<message>.*)\Z"
)
_AT_END = re.compile(
    r"At end of source: (?P<severity>(?:catastrophic )?error|warning)(?: #\d+(?:-D)?)?: (?P<message>.*)\Z"
)
_TOOL = re.compile(
    r"\s*(?P<tool>nvrtc|ptxas|nvvm|nvlink)\b(?P<where>[^:;]*?)[:;]? *"
    r"(?P<severity>error|warning|fatal)\s*: (?P<message>.*)\Z"
)
_CARET = re.compile(r"(?P<margin>\s*)\^\s*\Z")
_WIDTH = 160  # the most characters of a line that a message quotes: those around what it is about
_ECHO_INDENT = 2  # the compiler shows the source line, and the caret, two characters in

NAME_MAP = "__nv_name_map"
"""The file in which NVRTC looks up name expressions: its diagnostics are about the entry, not about the source."""


@dataclass(frozen=True)
class Diagnostic:
    """One message. ``line`` and ``column`` count from 1 and are None where the compiler gives none.

    ``details`` are further lines of the message; ``echo`` is the source line as the compiler saw it.
    """

    severity: str
    message: str
    filename: str = ""
    line: int | None = None
    column: int | None = None
    details: tuple[str, ...] = ()
    echo: str | None = None

    @property
    def is_error(self) -> bool:
        return self.severity.endswith(("error", "fatal"))


def parse(log: str) -> list[Diagnostic]:
    """The diagnostics of an NVRTC log, in order; lines that belong to none (ptxas's reports) are left out."""
    return [_diagnostic(block) for block in _blocks(log)]


def render(diagnostic: Diagnostic, texts: Mapping[str, str]) -> str:
    """Show one diagnostic; ``texts`` maps the file names that the compiler knows to what they hold.

    ::

        kernel.cu:3: error: expected a ";"
            3 |     q = 3;
              |     ^
    """
    where = f"{diagnostic.filename}:{diagnostic.line}: " if diagnostic.line else ""
    shown = [f"{where}{diagnostic.severity}: {_shortened(diagnostic.message)}"]
    shown += [f"    {_shortened(detail)}" for detail in diagnostic.details if not _is_trace(detail)]
    text = source_line(diagnostic, texts)
    if text is not None:
        number = f"{diagnostic.line:>5}"
        text, column = _excerpt(text, diagnostic.column)
        shown.append(f"{number} | {text}".rstrip())
        if column:
            margin = "".join("\t" if letter == "\t" else " " for letter in text[: column - 1])
            shown.append(f"{' ' * len(number)} | {margin.ljust(column - 1)}^")
    shown += [f"    {_shortened(detail)}" for detail in diagnostic.details if _is_trace(detail)]
    return "\n".join(shown)


def _excerpt(line: str, column: int | None) -> tuple[str, int | None]:
    """The part of a long line around a column, and the column in it; a line of ordinary length is left whole."""
    if len(line) <= 2 * _WIDTH:
        return line, column
    first = max(0, min((column or 1) - 1 - _WIDTH // 2, len(line) - _WIDTH))
    before = "… " if first else ""
    shown = f"{before}{line[first : first + _WIDTH]}{' …' if first + _WIDTH < len(line) else ''}"
    return shown, column and min(column - first + len(before), len(shown))


def _shortened(text: str) -> str:
    """A message without its middle, where types of templates make it pages long."""
    return text if len(text) <= 8 * _WIDTH else f"{text[: 6 * _WIDTH]} … {text[-_WIDTH:]}"


def source_line(diagnostic: Diagnostic, texts: Mapping[str, str]) -> str | None:
    """The line that a diagnostic is about: the learner's own where we have the file, or else the compiler's echo."""
    if diagnostic.line is None:
        return None
    lines = texts.get(diagnostic.filename, "").split("\n")
    if diagnostic.line <= len(lines):
        own = lines[diagnostic.line - 1].rstrip("\r")
        if diagnostic.echo is None or own.rstrip() == diagnostic.echo.rstrip():
            return own
    return diagnostic.echo


def _is_trace(detail: str) -> bool:
    return detail.startswith(("detected during", "instantiation of", "in instantiation"))


def _blocks(log: str) -> Iterator[list[str]]:
    """Group a diagnostic's first line with the indented lines that follow it."""
    block: list[str] = []
    for line in log.split("\n"):
        line = line.rstrip("\r")
        if _LOCATED.match(line) or _AT_END.match(line) or _TOOL.match(line):
            if block:
                yield block
            block = [line]
        elif block and line.startswith(" ") and line.strip():
            block.append(line)
        else:
            if block:
                yield block
            block = []
    if block:
        yield block


def _diagnostic(block: list[str]) -> Diagnostic:
    first, rest = block[0], block[1:]
    if match := _LOCATED.match(first):
        column, echo = None, None
        carets = [index for index, line in enumerate(rest) if index and _CARET.match(line)]
        if carets:
            caret = carets[0]
            echo = rest[caret - 1][_ECHO_INDENT:]
            bytes_before = len(_CARET.match(rest[caret])["margin"]) - _ECHO_INDENT
            column = len(echo.encode()[:bytes_before].decode(errors="ignore")) + 1
            rest = rest[: caret - 1] + rest[caret + 1 :]
        details = tuple(line.strip() for line in rest)
        return Diagnostic(match["severity"], match["message"], match["file"], int(match["line"]), column, details, echo)
    match = _AT_END.match(first)
    if match:
        return Diagnostic(match["severity"], f"{match['message']} (the source ends before it)")
    match = _TOOL.match(first)
    message = match["message"].strip()
    where = match["where"].strip(" ,.")
    return Diagnostic(match["severity"], f"{match['tool']}: {where + ': ' if where else ''}{message}")
