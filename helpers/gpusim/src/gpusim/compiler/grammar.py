"""Where the punctuation of a source breaks off: a bracket without its partner, a statement without its end.

There the compiler stumbles later than the mistake, and then over what is right: only one error is worth showing. What
is said here follows from the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gpusim.compiler.diagnostics import Diagnostic
from gpusim.compiler.signature import IGNORED

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}
_FOR = re.compile(r"\bfor\s*$")
_HEAD = re.compile(r"\b(?:if|for|while|switch)\s*(?:constexpr\s*)?$")
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:if|el)", re.MULTILINE)  # of such parts the compiler reads one
_MOST_IN_HEAD = 2  # semicolons in the brackets of a for
_KEYWORDS = frozenset((
    "return", "else", "do", "case", "const", "static", "constexpr", "extern", "unsigned", "signed", "long", "short",
    "int", "float", "double", "bool", "char", "void", "auto", "volatile", "register", "inline", "struct", "template",
    "if", "for", "while", "switch", "break", "continue", "goto", "new", "delete", "throw", "typename", "using", "enum",
    "union", "class", "namespace", "typedef", "sizeof", "asm",
))  # fmt: skip
_UNENDED = re.compile(
    r'expected a ";"|type name is not allowed|expected an expression|expected a statement|return value type does not'
)
_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
_OF_TEMPLATE = re.compile(r'expected a ">"|expression must have a constant value')  # after `x <` with an unknown x

Shown = tuple[Diagnostic, str]  # the error to show, and what is said below it


def cause(error: Diagnostic, source: str) -> Shown | None:
    """The error that all others follow from, and what to do; None if the source's punctuation is as it should be.

    error: the first one that the compiler found in the source.
    """
    text = _code_of(source)
    in_brackets = None if _CONDITIONAL.search(source) else _comma_in_head(error, text) or _bracket(error, text)
    return in_brackets or _statement(error, text, source)


def follows_from_unknown_name(error: Diagnostic, errors: Sequence[Diagnostic]) -> bool:
    """Whether the compiler took an unknown name and the < behind it for the beginning of a template."""
    if not _OF_TEMPLATE.search(error.message):
        return False
    unknown = (match[1] for other in errors if other.line == error.line and (match := _UNDEFINED.match(other.message)))
    return any(re.search(rf"\b{name}\s*<(?![<=])", error.echo or "") for name in unknown)


def _code_of(source: str) -> str:
    """The source with spaces for comments, texts and directives; every character that is left stands where it was."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    text = IGNORED.sub(lambda match: blank(match) if match["comment"] else f'"{blank(match)[1:-1]}"', source)
    return re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text)


def _at(error: Diagnostic, text: str, position: int, message: str) -> Diagnostic:
    """An error at a place of the text, in the file of the one that the compiler found."""
    column = position - text.rfind("\n", 0, position)
    return replace(error, message=message, line=_line(text, position), column=column, details=(), echo=None)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _before_brackets(text: str) -> str | None:
    """What stands before the round brackets that a text ends with; None if they are not opened in it."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return text[:at]
    return None


# --- brackets


def _comma_in_head(error: Diagnostic, text: str) -> Shown | None:
    """Commas between the three parts in the brackets of a for."""
    for match in re.finditer(r"\bfor\s*\(([^();]*(?:\([^();]*\)[^();]*)*)\)", text):
        parts = match[1].split(",")
        if len(parts) == _MOST_IN_HEAD + 1 and ":" not in match[1]:
            right = "; ".join(" ".join(part.split()) for part in parts)
            where = _at(error, text, match.start(1), 'expected a ";" in the brackets of for')
            return where, f"    The three parts in the brackets of for are separated by ; and not by , : for ({right})"
    return None


def _bracket(error: Diagnostic, text: str) -> Shown | None:
    """The first bracket that has no partner."""
    opened: list[tuple[str, int, int]] = []  # bracket, position, semicolons directly in it
    last = (0, 0)  # where the last function began and ended
    for at, character in enumerate(text):
        top, begun, ends = opened[-1] if opened else ("", 0, 0)
        if character in _CLOSING:
            opened.append((character, at, 0))
        elif character == ";" and top in ("(", "["):
            opened[-1] = (top, begun, ends + 1)
            if top == "[" or not _FOR.search(text[:begun]) or ends == _MOST_IN_HEAD:
                return _unclosed(error, text, begun, at)
        elif character == "e" and top == "{" and re.match(r"else\b", text[at:]) and _is_open_if(text, begun, at):
            return _unclosed(error, text, begun, at)
        elif character in _OPENING:
            if top == _OPENING[character]:
                opened.pop()
                last = (begun, at) if character == "}" and not opened else last
            elif top in ("(", "["):
                return _unclosed(error, text, begun, at)
            else:
                return _too_many(error, text, at, last)
    return None


def _is_open_if(text: str, opened: int, at: int) -> bool:
    """Whether an else stands in the braces of its own if: no if in them is without an else."""
    before = text[opened + 1 : at]
    head = text[:opened].rstrip()
    if not head.endswith(")") or before.rstrip().endswith("}") or re.search(r"\bif\b", before):
        return False
    return re.search(r"\bif\s*$", _before_brackets(head) or "") is not None


def _unclosed(error: Diagnostic, text: str, opened: int, at: int) -> Shown:
    """A bracket that is still open where it cannot be any more."""
    bracket = text[opened]
    word = re.match(r"else|\W", text[at:])[0]  # type: ignore[index]
    in_line = f" in line {_line(text, at)}" if _line(text, at) != _line(text, opened) else ""
    closing = _CLOSING[bracket]
    where = _at(error, text, opened, f'expected a "{closing}" to match this "{bracket}"')
    return where, f"    The {bracket} is not closed before the {word}{in_line}: a {closing} is missing between them."


def _too_many(error: Diagnostic, text: str, at: int, last: tuple[int, int]) -> Shown:
    """A closing bracket without one that it closes."""
    bracket = text[at]
    where = _at(error, text, at, f'this "{bracket}" closes nothing')
    if bracket == "}" and last[1] and text[last[1] + 1 : at].strip():
        begun, ended = (_line(text, position) for position in last)
        return where, (
            f"    The }} in line {ended} closes the {{ of line {begun} already, so that what stands between line "
            f"{ended} and this one is outside of the function. One }} is too many."
        )
    return where, f"    One {bracket} is too many, or the {_OPENING[bracket]} is missing."


# --- statements


def _statement(error: Diagnostic, text: str, source: str) -> Shown | None:
    """A statement without its ; in front of the word over which the compiler stumbled, or two values in a row."""
    if error.line is None or error.column is None or not _UNENDED.search(error.message):
        return None
    lines = text.split("\n")
    if error.line > len(lines):
        return None
    line, column = lines[error.line - 1], error.column - 1
    before = next((n for n in range(error.line - 1, 0, -1) if lines[n - 1].strip()), 0)
    if before and not line[:column].strip() and _has_no_end("\n".join(lines[:before])):
        return error, f"    {_end_missing(before, lines[before - 1].rstrip(), source.splitlines()[before - 1])}"
    left, right = re.search(r"([\w.]+|[)\]])\s*$", line[:column]), re.match(r"[A-Za-z_]\w*|\d", line[column:])
    if left is None or right is None or left[1] in _KEYWORDS or 'a ";"' not in error.message:
        return None
    if re.match(r"if\b[^;]*\belse\b", line[column:]):  # Python's a if b else c: no ; helps
        return None
    if right[0] in _KEYWORDS or re.search(r"[^=!<>]=[^=]", line[column:].partition(";")[0]):
        return error, f"    In front of {right[0]} a statement has no end: the ; is missing there."
    return error, (
        f"    Nothing stands between {left[1]} and {right[0]}: there an operator is missing, such as the * of a "
        "product, or the ; that ends the statement."
    )


def _end_missing(number: int, code: str, line: str) -> str:
    """Where the ; of a line is missing, which may have a comment behind its code."""
    comment = line[len(code) :].strip()
    if ";" in comment:
        return f"In line {number} the ; is part of a comment: it must stand in front of the {comment[:2]}."
    return f"Look at the end of line {number}{', in front of the comment' * bool(comment)}: the ; is missing there."


def _has_no_end(text: str) -> bool:
    """Whether a text ends in a statement that has no ; yet."""
    text = text.rstrip()
    if not re.search(r"[\w\])\"]$|\+\+$|--$", text) or re.search(r"\b(?:else|do)$", text):
        return False
    if not text.endswith(")"):
        return True
    before = _before_brackets(text)
    return before is not None and _HEAD.search(before) is None
