"""Expressions of a kernel's source, evaluated for its threads: what an index is, and whether a condition holds.

It is used to prove what a verdict says about an index. What cannot be evaluated from the text alone is None.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Values = Mapping[str, Any]  # name -> a number, or an array of one number for each thread

_BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.LShift: operator.lshift,
}  # fmt: skip
_COMPARED = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_WORDS = (("&&", " and "), ("||", " or "))
_NOT = re.compile(r"!(?!=)")
_FLOAT = re.compile(r"\b(\d+\.\d*|\.\d+)[fF]\b")
_DECLARED = re.compile(r"\b(unsigned(?:\s+int)?|int|size_t|auto|long|bool)\s+(\w+\s*=[^;]*)(?=;)")
_SET_AGAIN = re.compile(r"(?:^|[;{}()])\s*(?:\+\+|--)?(\w+)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)", re.MULTILINE)
_LOOP_VARIABLE = re.compile(r"\bfor\s*\(\s*(?:const\s+|unsigned\s+)*(?:int|size_t|unsigned|auto)\s+(\w+)")
_FUNCTION = re.compile(r"(?:__device__[^(){};]*|\[[&=\w, ]*\]\s*)\(([^()]*)\)")
_DEFINED = re.compile(r"^[ \t]*#define[ \t]+(\w+)[ \t]+(.+?)[ \t]*$", re.MULTILINE)


def value(expression: str, values: Values) -> Any:
    """An expression of C++, by C++'s rules for numbers that are not negative; None if it is more.

    None, too, where a negative number is divided, shifted or compared: threadIdx is unsigned, and -1 is 2³² - 1 there.
    """
    text = _FLOAT.sub(r"\1", expression.strip())
    for word, other in _WORDS:
        text = text.replace(word, other)
    text = _NOT.sub(" not ", text).strip()
    try:
        with np.errstate(all="ignore"):
            return _of(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, LookupError, TypeError, ValueError, ZeroDivisionError):
        return None


def _of(node: ast.AST, values: Values) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.Attribute(value=ast.Name(id=name), attr=axis):
            return values[f"{name}.{axis}"]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_of(inner, values)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            parts = _not_negative(left, values), _not_negative(right, values)
            whole = all(np.issubdtype(np.asarray(part).dtype, np.integer) for part in parts)
            return (operator.floordiv if whole else operator.truediv)(*parts)
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return _not_negative(left, values) % _not_negative(right, values)
        case ast.BinOp(left=left, op=ast.RShift(), right=right):
            return _not_negative(left, values) >> _of(right, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_of(left, values), _of(right, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            known = [
                _of(part, values) if isinstance(part, ast.Name | ast.UnaryOp) else _not_negative(part, values)
                for part in (left, right)
            ]
            return _COMPARED[type(op)](*known)
        case ast.BoolOp(op=op, values=parts):
            known = [np.asarray(_of(part, values), bool) for part in parts]
            return np.logical_and.reduce(known) if isinstance(op, ast.And) else np.logical_or.reduce(known)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return np.logical_not(_of(inner, values))
    raise LookupError(ast.dump(node))


def _not_negative(node: ast.AST, values: Values) -> Any:
    number = _of(node, values)
    if np.any(np.asarray(number) < 0):
        raise LookupError("a negative number, which may be unsigned")
    return number


def names_in(source: str, given: Values, first_round: bool = False) -> dict[str, Any]:
    """`given`, and the source's macros and variables with the first values that their declarations give them.

    A name that is declared twice with different values, or set again, is left out: what it is depends on the line. So
    is the variable of a loop, unless the first round is asked for: then it has the value with which the loop begins.
    """
    values: dict[str, Any] = dict(given)
    pending = list(_DEFINED.findall(source))
    signed = set()
    for kind, declaration in _DECLARED.findall(source):
        declared = [(name.strip(), first) for name, _, first in (part.partition("=") for part in parts(declaration))]
        pending += declared
        signed |= {name for name, _ in declared if kind in ("int", "long")}
    pending = list(dict.fromkeys(pending))
    again = set(_SET_AGAIN.findall(_without_heads(source)))
    again |= set() if first_round else set(loop_variables(source))
    pending = [(name, first) for name, first in pending if name not in again]
    names = [name for name, _ in pending]
    pending = [(name, first.strip()) for name, first in pending if names.count(name) == 1 and name not in given]
    for _ in pending:
        left = []
        for name, first in pending:
            known = value(first, values)
            if known is None or name not in signed and np.any(np.asarray(known) < 0):
                left.append((name, first))
            else:
                values[name] = known
        if len(left) == len(pending):
            break
        pending = left
    return values


def loop_variables(source: str) -> list[str]:
    """The names that the heads of a source's loops declare."""
    return _LOOP_VARIABLE.findall(source)


def functions(source: str) -> list[tuple[re.Match[str], list[str]]]:
    """The heads of a source's functions for the device and of its lambdas, with the names of their parameters."""
    return [(head, re.findall(r"(\w+)\s*(?:,|$)", head[1])) for head in _FUNCTION.finditer(source)]


def arrays(source: str) -> list[tuple[str, str]]:
    """The arrays that a source declares: ('As', '[BM][BK]'). Parameters are none."""
    declared = []
    for declaration in re.findall(r"\b(?:float4?|double|int|__half)\s+([^;()]*\[[^;()]*);", source):
        for part in parts(declaration):
            if array := re.match(r"\s*(\w+)\s*((?:\[[^][]+\])+)", part):
                declared.append((array[1], array[2]))
    return declared


def _without_heads(source: str) -> str:
    """A source without what stands in the brackets of its loops."""
    kept, rest = [], source
    while match := re.search(r"\bfor\s*\(", rest):
        kept.append(rest[: match.start()])
        rest = ";" + bracketed(rest[match.end() :])[1]
    return "".join([*kept, rest])


def parts(text: str) -> list[str]:
    """A list of declarators, cut at the commas that stand outside of all brackets."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]


def loops(text: str) -> Iterator[tuple[int, int, int, str]]:
    """(line, where its body begins and ends, the body) of each for loop."""
    for match in re.finditer(r"\bfor\s*\(", text):
        rest = bracketed(text[match.end() :])[1].lstrip()
        body, behind = bracketed(rest[1:], "{}") if rest.startswith("{") else rest.partition(";")[::2]
        yield line_of(text, match.start()), len(text) - len(rest), len(text) - len(behind), body


def line_of(text: str, position: int) -> int:
    """The line, from 1, in which a place of a text lies."""
    return text.count("\n", 0, position) + 1


def statement(text: str) -> str:
    """The statement with which a text begins: to its ; or, with the heads before it, to the brace that ends it."""
    rest = text.lstrip()
    if rest.startswith("{"):
        return "{" + bracketed(rest[1:], "{}")[0] + "}"
    if head := re.match(r"(?:for|if|while)\s*\(", rest):
        inside, behind = bracketed(rest[head.end() :])
        return f"{head[0]}{inside}) {statement(behind)}"
    return rest.partition(";")[0] + ";"


def end_of_statement(text: str, begin: int) -> int:
    """Where the statement ends that begins at a place: behind its ;, or behind the brace that ends it."""
    rest = text[begin:].lstrip()
    while head := re.match(r"(?:for|if|while)\s*\(", rest):
        rest = bracketed(rest[head.end() :])[1].lstrip()
    return len(text) - len(bracketed(rest[1:], "{}")[1] if rest.startswith("{") else rest.partition(";")[2])


def bracketed(text: str, pair: str = "()") -> tuple[str, str]:
    """What stands inside of the brackets that were just opened, and what follows them."""
    depth = 1
    for at, character in enumerate(text):
        depth += (character == pair[0]) - (character == pair[1])
        if depth == 0:
            return text[:at].strip(), text[at + 1 :]
    return text, ""
