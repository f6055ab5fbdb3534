"""Expressions of a kernel's source, evaluated for its threads: what an index is, and whether a condition holds.

It is used to prove what a verdict says about an index. What cannot be evaluated from the text alone is None.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

Values = Mapping[str, Any]  # name -> a number, or an array of one number for each thread

_BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Div: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_NOT_OF_NEGATIVE = (ast.Div, ast.Mod, ast.RShift, ast.LShift)  # C rounds to 0, or leaves open what becomes of it
_BITWISE = (ast.BitAnd, ast.BitXor, ast.BitOr)
_COMPARED = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_WORDS = (("&&", " and "), ("||", " or "))
_NOT = re.compile(r"!(?!=)\s*")
_FLOAT = re.compile(r"\b(\d+\.\d*|\.\d+)[fF]\b")
_DECLARED = re.compile(
    r"(?<!\blong )(?<!\bshort )\b(unsigned(?:\s+int)?|int|size_t|auto|bool)\s+(\w+\s*=[^;{}]*)(?=[;{}]|$)"
)
_SET_AGAIN = re.compile(
    r"(?<![\w.>])(?:(?:\+\+|--)\s*(?=\w)|(?=\w+\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)))([A-Za-z_]\w*)"
)
_SET_BY_OTHERS = (
    re.compile(r"[(,=]\s*&\s*(\w+)"),  # its address is taken
    re.compile(r"(?<!const )\b(?:int|unsigned|auto|size_t)\s*&\s*\w+\s*=[^;]*?(\w+)\W*;"),  # it has another name
    re.compile(r'"[=+]\w+"\s*\(\s*(\w+)\s*\)'),  # it is an output of asm
    re.compile(r"[(,]\s*(\w+)\s*(?=[,)])"),  # it is an argument: only where functions take references, or macros set
)
_SETTING_MACRO = re.compile(r"^[ \t]*#define[ \t]+\w+\((?:\\\n|.)*?(?:[^=!<>]=(?!=)|\+\+|--)", re.MULTILINE)
_LOOP_VARIABLE = re.compile(r"\bfor\s*\(\s*(?:const\s+|unsigned\s+)*(?:int|size_t|unsigned|auto|long)\s+(\w+[^;]*)")
_FUNCTION = re.compile(
    r"(?:__device__(?:(?!\boperator\b)[^(){};])*(?:operator\s*\(\s*\)\s*)?"
    r"|(?:\b\w+\s*=\s*)?\[[&=\w, ]*\]\s*|^[ \t]*#define[ \t]+\w+)\(((?:[^()]|\([^()]*\))*)\)",
    re.MULTILINE,
)
_PARAMETER = re.compile(r"(\w+)\s*\)?\s*(?:\[[^]]*\]\s*)*(?:=[^,]*)?(?:,|$)")
_ONE_TERM = re.compile(r"[\w.]+|\([^()]*(?:\([^()]*\)[^()]*)*\)")  # what a macro may be to be a factor as it stands
_DEFINED = re.compile(r"^[ \t]*#define[ \t]+(\w+)[ \t]+(.+?)[ \t]*$", re.MULTILINE)


def value(expression: str, values: Values) -> Any:
    """An expression of C++ by C++'s rules, as an int, a float, or an array of them; None if it is more.

    threadIdx and its like are unsigned: threadIdx.x - 1 is 2³² - 1 in thread 0. Among `values`, NumPy's unsigned
    numbers are unsigned, too. None, too, where a negative number is divided, shifted, or compared as a part of an
    expression, and where an int is too small for a number.
    """
    number = _typed(expression, values)
    if np.ndim(number):
        return number if number.dtype.kind != "u" else number.astype(np.int64)
    return number.item() if isinstance(number, np.generic | np.ndarray) else number


def _typed(expression: str, values: Values) -> Any:
    """As `value`, but what is unsigned in C++ is unsigned here."""
    text = _FLOAT.sub(r"\1", expression.strip())
    for word, other in _WORDS:
        text = text.replace(word, other)
    text = _NOT.sub(" not ", text).strip()
    try:
        with np.errstate(all="ignore"):
            return _of(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, LookupError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None


def _of(node: ast.AST, values: Values) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.Attribute(value=ast.Name(id=name), attr=axis):
            return np.asarray(values[f"{name}.{axis}"]).astype(np.uint32)[()]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _result(*_operate(operator.sub, 0, _of(inner, values)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            parts = _of(left, values), _of(right, values)
            if isinstance(op, _NOT_OF_NEGATIVE):
                parts = tuple(map(_not_negative, parts))  # type: ignore[assignment]
            if isinstance(op, ast.Div | ast.Mod) and not np.all(parts[1]):
                raise ZeroDivisionError
            if isinstance(op, ast.LShift | ast.RShift):  # its type is that of what is shifted
                parts = parts[0], np.asarray(parts[1]).astype(np.int64)
            real = isinstance(op, ast.Div) and any(np.asarray(part).dtype.kind == "f" for part in parts)
            return _result(*_operate(operator.truediv if real else _BINARY[type(op)], *parts))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            if _binds_less(left, node.col_offset == left.col_offset) or _binds_less(
                right, node.end_col_offset == right.end_col_offset
            ):
                raise LookupError("C++ compares before it combines bits, and Python after it")
            known = [
                _of(part, values) if isinstance(part, ast.Name | ast.UnaryOp) else _not_negative(_of(part, values))
                for part in (left, right)
            ]
            return _operate(_COMPARED[type(op)], *known)[0]
        case ast.BoolOp(op=op, values=parts):
            known = [np.asarray(_of(part, values), bool) for part in parts]
            return np.logical_and.reduce(known) if isinstance(op, ast.And) else np.logical_or.reduce(known)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() | ast.Constant() as inner):
            return np.logical_not(_of(inner, values))
        case ast.UnaryOp(op=ast.Not(), operand=inner) if inner.col_offset > node.col_offset + len("not "):
            return np.logical_not(_of(inner, values))  # of a bracket: without it, ! would be of the first part alone
    raise LookupError(ast.dump(node))


def _binds_less(node: ast.AST, at_the_edge: bool) -> bool:
    """Whether a part of a comparison is a combination of bits without brackets."""
    return at_the_edge and isinstance(node, ast.BinOp) and isinstance(node.op, _BITWISE)


def _operate(operation: Callable[[Any, Any], Any], *parts: Any) -> tuple[Any, int]:
    """What an operation makes of two numbers in the type that they have in common, and how many bits that has if it is
    unsigned: 0 if it is not."""
    known = [np.asarray(part) for part in parts]
    if any(part.dtype.kind == "f" for part in known):
        return operation(*known), 0
    bits = max((8 * part.dtype.itemsize for part in known if part.dtype.kind == "u"), default=0)
    known = [part.astype(np.int64) for part in known]
    return operation(
        *(part % (1 << 32) if bits == 32 else _not_negative(part) if bits else part for part in known)
    ), bits


def _result(number: Any, bits: int) -> Any:
    """A number as its type of so many bits holds it; an error where C++ leaves open what it is, or an int cannot."""
    if bits == 32:
        return np.asarray(number % (1 << 32)).astype(np.uint32)[()]
    if bits:
        return np.asarray(_not_negative(number)).astype(np.uint64)[()]
    if np.asarray(number).dtype.kind == "i" and np.any(np.abs(number) >= 1 << 31):
        raise OverflowError
    return number


def _not_negative(number: Any) -> Any:
    if np.any(np.asarray(number) < 0):
        raise LookupError("a negative number")
    return number


def names_in(source: str, given: Values, first_round: bool = False) -> dict[str, Any]:
    """`given`, and the source's macros and variables with the first values that their declarations give them.

    A name that is declared twice with different values, or set again, is left out, even a given one: what it is depends
    on the line. So is the parameter of a template, and one that a function, lambda or macro calls a parameter by,
    unless all calls pass on what has its name; and the variable of a loop, unless the first round is asked for: then it
    has the value with which the loop begins.
    """
    rest, heads = _without_heads(source)
    again = set(_SET_AGAIN.findall(_DECLARED.sub(";", rest)))
    for _, declaration in _DECLARED.findall(rest):
        again |= {name for part in parts(declaration) for name in _SET_AGAIN.findall(part.partition("=")[2])}
    for head in heads:
        own = set(loop_variables(f"for ({head}"))
        again |= set(_SET_AGAIN.findall(_DECLARED.sub(";", head))) - own | (set() if first_round else own)
    declared: list[tuple[str, str, str]] = [("", *macro) for macro in _DEFINED.findall(source)]
    for kind, declaration in _DECLARED.findall(source):
        declared += [
            (kind, name.strip(), first.strip())
            for name, _, first in (part.partition("=") for part in parts(declaration))
        ]
    for template in re.findall(r"\btemplate\s*<([^<>]*)>", source):
        again |= set(_PARAMETER.findall(template))
    by_reference = any("&" in head[1] for head, _ in functions(source)) or _SETTING_MACRO.search(source)
    for pattern in _SET_BY_OTHERS if by_reference else _SET_BY_OTHERS[:-1]:
        again |= set(pattern.findall(source))
    again |= {
        name for head, names in functions(source) for name in names if not _is_passed_on(source, head, names, name)
    }
    pending = [entry for entry in dict.fromkeys(declared) if entry[1] not in again]
    names = [name for _, name, _ in pending]
    pending = [entry for entry in pending if names.count(entry[1]) == 1 and entry[1] not in given]
    values = {name: number for name, number in given.items() if name not in again and name not in names}
    for _ in pending:
        left = []
        for kind, name, first in pending:
            known = _typed(first, values) if kind or _ONE_TERM.fullmatch(first) else None
            known = None if known is None else _as_declared(kind, known)
            if known is None:
                left.append((kind, name, first))
            else:
                values[name] = known
        if len(left) == len(pending):
            break
        pending = left
    return values


def _as_declared(kind: str, number: Any) -> Any:
    """What a variable of a type is that begins with a number; None where the type cannot hold it."""
    number = np.asarray(number)
    if kind in ("", "auto"):
        known = number
    elif kind == "bool":
        known = number != 0
    elif number.dtype.kind == "f":
        return None
    elif kind == "int":
        known = (number.astype(np.int64) + (1 << 31)) % (1 << 32) - (1 << 31)
    elif kind.startswith("unsigned"):
        known = (number.astype(np.int64) % (1 << 32)).astype(np.uint32)
    elif np.all(number >= 0):
        known = number.astype(np.uint64)
    else:
        return None
    return known[()] if known.ndim or known.dtype.kind == "u" else known.item()


@lru_cache(maxsize=8)  # a verdict asks it of the same source for each case
def launched(source: str, entry: str) -> str:
    """A source, without comments, with nothing in the lines of #if 0, of other kernels, and of functions that are not
    called."""
    source = re.sub(
        r"^[ \t]*#if 0\b.*?^[ \t]*#(?:endif|else)\b",
        lambda left_out: "\n" * left_out[0].count("\n"),
        source,
        flags=re.DOTALL | re.MULTILINE,
    )
    for head in reversed(list(re.finditer(r"__(global|device)__[^;{}]*\{", source))):
        name = re.search(r"(\w+)\s*\([^()]*\)[^()]*$", head[0])
        other = (
            not re.search(rf"\b{re.escape(entry)}\s*\(", head[0])
            if head[1] == "global"
            else name is not None and len(re.findall(rf"\b{name[1]}\b", source)) == 1
        )
        if other:
            end = len(source) - len(bracketed(source[head.end() :], "{}")[1])
            source = source[: head.start()] + "\n" * source.count("\n", head.start(), end) + source[end:]
    return source


def loop_variables(source: str) -> list[str]:
    """The names that the heads of a source's loops declare."""
    return [part.split("=")[0].strip() for declared in _LOOP_VARIABLE.findall(source) for part in parts(declared)]


def functions(source: str) -> list[tuple[re.Match[str], list[str]]]:
    """The heads of a source's functions for the device, of its lambdas, and of its macros, with the names of their
    parameters."""
    return [(head, _PARAMETER.findall(head[1])) for head in _FUNCTION.finditer(source)]


def _is_passed_on(source: str, head: re.Match[str], names: list[str], name: str) -> bool:
    """Whether a function's parameter has the name of the argument in every call: then it is no other number there."""
    called = re.match(r"(\w+)\s*=|.*?(\w+)\s*\((?!\s*\))", head[0], re.DOTALL)
    function = called[1] or called[2] if called else "operator"
    calls = [
        parts(bracketed(source[call.end() :])[0])
        for call in re.finditer(rf"\b{function}\s*(?:<[^<>;]*>\s*)?\(", source)
        if not head.start() <= call.start() < head.end()
    ]
    number = names.index(name)
    return bool(calls) and all(len(call) == len(names) and call[number].strip() == name for call in calls)


def arrays(source: str) -> list[tuple[str, str]]:
    """The arrays that a source declares: ('As', '[BM][BK]'). Parameters are none."""
    declared = []
    for declaration in re.findall(r"\b(?:float4?|double|int|__half)\s+([^;()]*\[[^;()]*);", source):
        for part in parts(declaration):
            if array := re.match(r"\s*(\w+)\s*((?:\[[^][]+\])+)", part):
                declared.append((array[1], array[2]))
    return declared


def _without_heads(source: str) -> tuple[str, list[str]]:
    """A source without what stands in the brackets of its loops, and that."""
    kept, heads, rest = [], [], source
    while match := re.search(r"\bfor\s*\(", rest):
        kept.append(rest[: match.start()])
        head, rest = bracketed(rest[match.end() :])
        heads.append(head)
        rest = ";" + rest
    return "".join([*kept, rest]), heads


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
