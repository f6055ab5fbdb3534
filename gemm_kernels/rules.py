"""What a kernel's parameters must obey, read from its CUDA source: the text that is compiled is where rules are stated.

`read(source, function)` finds a kernel's template parameters, its `static_assert`s, the constants that they are made of
and its `__launch_bounds__`. Each condition becomes one Python expression of the parameters, in C++'s arithmetic of
integers. What cannot be read so (a type, a call, a condition inside an `if constexpr`) is left to the compiler.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

Params = Mapping[str, int]


@dataclass(frozen=True)
class Rule:
    """A condition on the parameters. `sentence` is the text of the `static_assert` that states it in the source."""

    sentence: str
    holds: Callable[[Params], bool]


@dataclass(frozen=True)
class Rules:
    """What a kernel's source says about its parameters.

    parameters: the names of its template parameters, in order, of one that is a struct those of its fields; empty for a
        kernel that is no template.
    struct: the type of the parameter that is a struct, or "".
    asserted: its `static_assert`s, in order, so that one may divide by what an earlier one has found to be at least 1.
    threads: the threads of a block that `__launch_bounds__` promises, or None without it.
    defaults: the values of those parameters that an instantiation need not name.
    """

    parameters: tuple[str, ...] = ()
    asserted: tuple[Rule, ...] = ()
    threads: Callable[[Params], int] | None = None
    defaults: tuple[tuple[str, int], ...] = ()
    struct: str = ""


class Unreadable(ValueError):
    """An expression is not made of integers, known names and C++'s operators."""


def broken(rules: Sequence[Rule], params: Params) -> Rule | None:
    """The first rule that these parameters break, or None."""
    return next((rule for rule in rules if not rule.holds(params)), None)


@lru_cache(maxsize=256)
def read(source: str, function: str) -> Rules:
    """The rules of a kernel, by the name of its function. None at all if the source has no such kernel, or has parts
    that the preprocessor may leave out."""
    tokens = _tokens(source)
    kernel = _kernel(tokens, function)
    if kernel is None:
        return Rules()
    before, head, body = kernel
    parameters = _parameters(head, _structs(tokens))
    names = {parameter.expression: f"p[{parameter.name!r}]" for parameter in parameters}
    for name, expression in [*_constants(before), *_constants(body)]:
        _define(names, name, expression)
    asserted = []
    for index, token in enumerate(body):
        if token == "static_assert" and body[index + 1 : index + 2] == ["("]:
            condition, *sentence = _split(_inside(body, index + 1), ",")
            text = "".join(part[1:-1] for part in (sentence[0] if sentence else ()) if part.startswith('"'))
            try:
                asserted.append(Rule(text or f"{' '.join(condition)} must hold", _function(_python(condition, names))))
            except Unreadable:
                continue
    return Rules(
        tuple(parameter.name for parameter in parameters),
        tuple(asserted),
        _threads(head, names),
        tuple((parameter.name, parameter.default) for parameter in parameters if parameter.default is not None),
        next((parameter.struct for parameter in parameters if parameter.struct), ""),
    )


def of(source: str, entry: str) -> tuple[Rules, dict[str, int]]:
    """The rules of an instantiation, and its parameters: `of(source, "sgemm<32, 8>")`, or with names,
    `of(source, "sgemm<Params{.BM = 32, .BK = 8}>")`.

    No rules if an argument of the template is no whole number, or is missing and has no default that is one.
    """
    function, _, arguments = entry.strip().partition("<")
    rules = read(source, function.strip())
    given: dict[str, int] = {}
    for named, value in _arguments(list(_lexed(arguments.rstrip("> "))), rules.struct):
        name = named or next((name for name in rules.parameters if name not in given), "")
        if name not in rules.parameters or not re.fullmatch(r"-?\d+", value):
            return Rules(), {}
        given[name] = int(value)
    params = dict(rules.defaults) | given if given else {}
    return (rules, params) if len(params) == len(rules.parameters) else (Rules(), {})


def _arguments(tokens: Tokens, struct: str) -> Iterator[tuple[str, str]]:
    """(name, value) of the arguments of a template; "" for the name of one that is not named."""
    for part in _split(tokens, ",") if tokens else []:
        if part[:2] == [struct, "{"]:
            yield from _arguments(_inside(part, 1), struct)
        elif part[:1] == ["."] and part[2:3] == ["="]:
            yield part[1], "".join(part[3:])
        else:
            yield "", "".join(part)


def instantiation(rules: Rules, function: str, params: Params, more: Sequence[int] = ()) -> str:
    """A template's instantiation with these parameters, and with more arguments behind them: what `of` reads."""
    given = {name: params[name] for name in rules.parameters if name in params}
    if rules.struct:
        named = ", ".join(f".{name} = {value}" for name, value in given.items())
        arguments = [f"{rules.struct}{{{named}}}"]
    else:
        arguments = [str(value) for value in given.values()]
    return f"{function}<{', '.join([*arguments, *map(str, more)])}>"


# --- from text to tokens ----------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|(?P<skipped>\s+|//[^\n]*|/\*.*?\*/)|\d[\w.']*"
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\]|\\.)+\''
    r"|<<=|>>=|\.\.\.|::|->|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%&|^=]=|\+\+|--|.",
    re.S,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)", re.M)
_CLOSING = {"(": ")", "{": "}", "[": "]"}

Tokens = list[str]


def _tokens(source: str) -> Tokens:
    """The tokens of a source without comments and preprocessor lines, a `#define NAME text` put in place of its name.

    None if lines of the source are conditional (#if): which of them count is the preprocessor's to say.
    """
    defined: dict[str, Tokens] = {}
    source = re.sub(r"/\*.*?\*/", " ", source, flags=re.S)
    for directive in _DIRECTIVE.finditer(source):
        if directive[1].startswith("if"):
            return []
        constant = re.match(r"\s+(\w+)[ \t]+(.*)", directive[2], re.S)
        if directive[1] == "define" and constant:
            lexed = _lexed(constant[2])
            defined[constant[1]] = [part for token in lexed for part in defined.get(token, [token])]
    return [part for token in _lexed(_DIRECTIVE.sub("", source)) for part in defined.get(token, [token])]


def _lexed(text: str) -> Iterator[str]:
    return (token[0] for token in _TOKEN.finditer(text) if token.lastgroup is None)


def _inside(tokens: Tokens, opening: int) -> Tokens:
    """What stands between the bracket at `opening` and the one that closes it."""
    start, stop = tokens[opening], _CLOSING[tokens[opening]]
    depth = 0
    for index in range(opening, len(tokens)):
        depth += (tokens[index] == start) - (tokens[index] == stop)
        if depth == 0:
            return tokens[opening + 1 : index]
    return tokens[opening + 1 :]


def _split(tokens: Tokens, separator: str) -> list[Tokens]:
    """The parts between separators that stand in no bracket."""
    parts: list[Tokens] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _outermost(tokens: Tokens) -> Tokens:
    """The tokens that stand in no braces, a semicolon in place of each pair of them."""
    kept, depth = [], 0
    for token in tokens:
        depth += token == "{"
        if depth == 0:
            kept.append(token)
        elif token == "}":
            depth -= 1
            if depth == 0:
                kept.append(";")
    return kept


# --- what stands in a kernel ------------------------------------------------------------------------------------------


def _kernel(tokens: Tokens, function: str) -> tuple[Tokens, Tokens, Tokens] | None:
    """What stands before a kernel, its head up to its name, and its body, both without what stands in braces there."""
    for index, token in enumerate(tokens):
        if token != function or tokens[index + 1 : index + 2] != ["("]:
            continue
        begin = max((at for at in range(index) if tokens[at] in ";}"), default=-1) + 1
        after = index + 3 + len(_inside(tokens, index + 1))
        if "__global__" in tokens[begin:index] and tokens[after : after + 1] == ["{"]:
            return _outermost(tokens[:begin]), tokens[begin:index], _outermost(_inside(tokens, after))
    return None


def kernels(source: str) -> tuple[str, ...]:
    """The names of the kernels that a source defines, in order; none if the preprocessor may leave out parts of it."""
    tokens = _tokens(source)
    named = (token for token, after in zip(tokens, tokens[1:], strict=False) if after == "(" and token.isidentifier())
    return tuple(name for name in dict.fromkeys(named) if _kernel(tokens, name) is not None)


@dataclass(frozen=True)
class _Parameter:
    """expression: what the source calls it, "P.BM" for the field BM of a struct P.  default: a whole number, or None.
    struct: the type of P, or ""."""

    name: str
    expression: str
    default: int | None = None
    struct: str = ""


def _structs(tokens: Tokens) -> dict[str, list[str]]:
    """The names of the fields of each struct that has nothing but whole numbers."""
    fields_of = {}
    for index, (word, name, opening) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False)):
        if word == "struct" and opening == "{":
            statements = [words for words in _split(_inside(tokens, index + 2), ";") if words]
            if all(statement[0] == "int" for statement in statements):
                fields_of[name] = [part[0] for statement in statements for part in _split(statement[1:], ",")]
    return fields_of


def _parameters(head: Tokens, structs: Mapping[str, Sequence[str]]) -> list[_Parameter]:
    """The template's parameters, each field of a struct as one."""
    if "template" not in head:
        return []
    start = head.index("template") + 1
    depth = 0
    for stop in range(start, len(head)):
        depth += (head[stop] == "<") - (head[stop] == ">")
        if depth == 0:
            break
    parameters = []
    for declared, *default in (_split(part, "=") for part in _split(head[start + 1 : stop], ",") if part):
        kind, name = declared[0], declared[-1]
        if kind in structs:
            parameters += [_Parameter(field, f"{name}.{field}", None, kind) for field in structs[kind]]
        else:
            value = "".join(default[0]) if default else ""
            parameters.append(_Parameter(name, name, int(value) if value.isdigit() else None))
    return parameters


def _threads(head: Tokens, names: Mapping[str, str]) -> Callable[[Params], int] | None:
    at = head.index("__launch_bounds__") + 1 if "__launch_bounds__" in head else len(head)
    if head[at : at + 1] != ["("]:
        return None
    promised, *_ = _split(_inside(head, at), ",")
    try:
        return _function(_python(promised, names))
    except Unreadable:
        return None


def _constants(tokens: Tokens) -> Iterator[tuple[str, Tokens]]:
    """(name, expression) of constants: `constexpr int NAME = expression;`. What is no integer has no expression."""
    for index, token in enumerate(tokens):
        if token in ("constexpr", "const"):
            statement = list(itertools.takewhile(lambda word: word != ";", tokens[index:]))
            for part in _split(statement, ","):
                declared, *value = _split(part, "=")
                if declared and len(value) == 1:
                    yield declared[-1], [] if {"float", "double"} & set(statement) else value[0]


def _define(names: dict[str, str], name: str, expression: Tokens) -> None:
    """Give a constant its value, as an expression; one that is unreadable hides another one of its name."""
    try:
        names[name] = f"({_python(expression, names)})"
    except Unreadable:
        names.pop(name, None)


# --- from C++ to Python -----------------------------------------------------------------------------------------------

_BINARY = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
           ("*", "/", "%"))  # fmt: skip
_SIZES = {"char": 1, "bool": 1, "short": 2, "half": 2, "__half": 2, "int": 4, "unsigned": 4, "float": 4, "double": 8,
          "float2": 8, "float4": 16, "int4": 16, "size_t": 8}  # fmt: skip
_WORDS = {"true": "1", "false": "0"}


def _python(tokens: Tokens, names: Mapping[str, str]) -> str:
    """A C++ expression of integers as a Python expression. Raises Unreadable."""
    reader = _Reader(tokens, names)
    text = reader.conditional()
    if reader.position != len(tokens):
        raise Unreadable(" ".join(tokens))
    return text


class _Reader:
    """Reads an expression from left to right, by precedence."""

    def __init__(self, tokens: Tokens, names: Mapping[str, str]) -> None:
        self.tokens, self.names, self.position = tokens, names, 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or wanted and token != wanted:
            raise Unreadable(" ".join(self.tokens))
        self.position += 1
        return token

    def conditional(self) -> str:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take("?")
        yes = self.conditional()
        self.take(":")
        return f"({yes} if {condition} else {self.conditional()})"

    def binary(self, level: int) -> str:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in _BINARY[level]:
            operator = self.take()
            right = self.binary(level + 1)
            if operator in ("/", "%"):
                left = f"{'divide' if operator == '/' else 'remainder'}({left}, {right})"
            elif operator in ("&&", "||"):
                left = f"(True if {left} and {right} else False)" if operator == "&&" else (
                    f"(True if {left} or {right} else False)"
                )  # fmt: skip
            else:
                left = f"({left} {operator} {right})"
        return left

    def unary(self) -> str:
        operator = self.peek()
        if operator in ("!", "-", "+", "~"):
            self.take()
            return f"({'not' if operator == '!' else operator} {self.unary()})"
        return self.primary()

    def primary(self) -> str:
        token = self.take()
        if token == "(":
            inside = self.conditional()
            self.take(")")
            return inside
        if token == "sizeof" and self.peek() == "(":
            self.take("(")
            kind = self.take()
            self.take(")")
            if kind not in _SIZES:
                raise Unreadable(f"sizeof({kind})")
            return str(_SIZES[kind])
        number = re.fullmatch(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[1-9][\d']*|0)[uUlL]*", token)
        if number:
            return str(int(number[1].replace("'", ""), 0))
        if self.peek() == ".":
            token += self.take() + self.take()  # a field of a struct
        value = _WORDS.get(token, self.names.get(token))
        if value is None:
            raise Unreadable(token)
        return value


def _function(expression: str) -> Callable[[Params], int]:
    """The expression as a function of the parameters; where it divides by zero, no condition holds."""
    text = f"def of(p):\n try:\n  return {expression}\n except ZeroDivisionError:\n  return False\n"
    scope = {"divide": _divide, "remainder": _remainder}
    exec(compile(text, "<rule>", "exec"), scope)  # made of integers, operators and names of parameters alone
    return scope["of"]


def _divide(a: int, b: int) -> int:
    """C++'s a / b, which rounds towards zero: -7 / 2 is -3."""
    return a // b if a >= 0 < b else -(-a // b) if (a < 0) != (b < 0) else -a // -b


def _remainder(a: int, b: int) -> int:
    """C++'s a % b, which has the sign of a: -7 % 2 is -1."""
    return a % b if a >= 0 < b else a - b * _divide(a, b)
