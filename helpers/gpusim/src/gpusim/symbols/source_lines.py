"""The source line of an access, where the compiler's line table names another one.

NVRTC gives the code that it moves out of a loop no line of its own, so that in the table it has the line of whatever
stands before it: a load of `A[row * K + col]`, the same in every round, is in the line that computes `row`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# An index, a member of what a pointer shows, or a * that is no multiplication.
_ACCESS = re.compile(r"\[|->|(?:^|[-+=(,;{}!&|?:<>/%*]|\breturn)\s*\*\s*\(?\s*[A-Za-z_]")
NEARBY = 3  # lines
_CALL = re.compile(r"\b(?!(?:for|if|while|switch|return|sizeof)\b)[A-Za-z_]\w*\s*(?:<[^<>;]*>)?\s*\(")


def line_of_access(lines: Sequence[str], line: int, array: str) -> int:
    """The line, from 1, of an access to an array that the line table puts into `line`: this one, but where nothing in
    it can be an access to it, and one line of its function alone, or of those nearby, names the array with an index.
    An access to a __shared__ array is none to another one."""
    if not 1 <= line <= len(lines) or not array:
        return line
    code = [text.partition("//")[0] for text in lines]
    here = code[line - 1]
    for name in set(re.findall(r"__shared__[^;]*?(\w+)\s*\[", "\n".join(code))) - {array}:
        element = rf"&?\b{name}\b(?:\s*\[[^][]*\])+"
        here = re.sub(rf"\*\s*reinterpret_cast<[^<>]*>\s*\({element}\)|{element}", "", here)
    if _ACCESS.search(here) or _CALL.search(here) or re.search(rf"\b{re.escape(array)}\b", here):
        return line
    first, last = _function_around(code, line)
    indexed = [n for n in range(first, last + 1) if re.search(rf"\b{re.escape(array)}\s*\[", code[n - 1])]
    nearby = [n for n in indexed if abs(n - line) <= NEARBY]
    return next((numbers[0] for numbers in (indexed, nearby) if len(numbers) == 1), line)


def proven_calls(lines: Sequence[str], called_from: Sequence[int]) -> tuple[int, ...]:
    """The lines from which an inlined function was called, up to the first that calls a function of the source which
    is called from other lines, too: of such calls the compiler may name the wrong one."""
    code = [text.partition("//")[0] for text in lines]
    own = set(re.findall(r"__device__[^;{}()]*?\b([A-Za-z_]\w*)\s*\(", "\n".join(code)))
    for position, line in enumerate(called_from):
        if not 1 <= line <= len(code):
            return tuple(called_from[:position])
        called = {call[0].rstrip("( ").partition("<")[0].strip() for call in _CALL.finditer(code[line - 1])} & own
        if any(
            sum(re.search(rf"\b{name}\s*(?:<[^<>;]*>)?\s*\(", text) is not None for text in code) > 2 for name in called
        ):
            return tuple(called_from[:position])
    return tuple(called_from)


def _function_around(code: Sequence[str], line: int) -> tuple[int, int]:
    """The first and the last line of the braces at the top of a source that hold a line."""
    depth, first = 0, 1
    for number, text in enumerate(code, 1):
        depth += text.count("{") - text.count("}")
        if depth == 0:
            if number >= line:
                return first, number
            first = number + 1
    return first, len(code)
