"""Kernel names and their parameters, read from the source text.

Only good enough to name things to a learner ("array A"): sizes and offsets come from the CUBIN. Nothing here may fail
on odd text; what is not understood is left unnamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

IGNORED = re.compile(
    r'(?P<raw>\bR"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\')'
    r"|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_OBJECT_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(?:[ \t]+([^\n]*))?$", re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|\d[\w.']*|\S")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")

_OPENING, _CLOSING = "([{<", ")]}>"
_ATTRIBUTES = {
    *("__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__"),
    *("__attribute__", "__declspec", "alignas", "decltype"),
}
_NOT_SHOWN = {"restrict", "__restrict", "__restrict__", "__grid_constant__"}
_QUALIFIERS = _NOT_SHOWN | {"const", "volatile", "struct", "class", "enum", "union", "typename"}
_BUILT_IN_TYPES = {"void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "auto"}
_MACRO_DEPTH = 16


@dataclass(frozen=True)
class Declared:
    """One parameter as the source declares it; ``name`` is empty where the source gives none."""

    type: str
    name: str


@dataclass(frozen=True)
class Signature:
    """A ``__global__`` function of a source text.

    Attributes:
        template: its template parameters' names.
        within: the namespace that it is in, ``"conv::fast"``.
    """

    name: str
    parameters: tuple[Declared, ...]
    template: tuple[str, ...] = ()
    within: str = ""

    @property
    def usage(self) -> str:
        """How the kernel is asked for: ``copy`` or ``tile<BM, BK>``."""
        return f"{self.name}<{', '.join(self.template)}>" if self.template else self.name


def signatures(source: str, macros: Sequence[str] = ()) -> tuple[Signature, ...]:
    """Every kernel that the source defines or declares, in order.

    ``macros`` holds definitions as the compiler's ``-D`` takes them: ``"REAL=float"``.
    """
    return _signatures_of(source, tuple(macros))


@lru_cache(maxsize=4)  # each kernel of a module asks for all of them
def _signatures_of(source: str, macros: tuple[str, ...]) -> tuple[Signature, ...]:
    return tuple(_signatures(_tokens(source, macros)))


def kernel_names(source: str) -> tuple[str, ...]:
    """The kernels of a source in order, without repeats, templates as ``tile<BM, BK>``."""
    return tuple(dict.fromkeys(signature.usage for signature in signatures(source)))


def parameter_names(source: str, entry: str) -> tuple[str, ...]:
    """The names of a kernel's parameters in order; one that has no name is called ``"argument 3"``, counted from 1.

    ``entry`` is a kernel's name, with or without template arguments. Without such a kernel the result is empty.
    """
    declared = declared_parameters(source, entry)
    return tuple(each.name or unnamed(index) for index, each in enumerate(declared or ()))


def declared_parameters(
    source: str, entry: str, count: int | None = None, macros: Sequence[str] = ()
) -> tuple[Declared, ...] | None:
    """The parameters of kernel ``entry`` as declared; with ``count``, of the first definition that has so many.

    A source can hold several (``#if`` branches, overloads, specialisations): None means that none fits. Template
    arguments that ``entry`` names stand in the types: ``T *`` is ``float *`` for ``"k<float>"``.
    """
    name = base_name(entry)
    for signature in signatures(source, macros):
        if signature.name == name and count in (None, len(signature.parameters)):
            arguments = dict(zip(signature.template, _template_arguments(entry), strict=False))
            return tuple(Declared(_with_arguments(each.type, arguments), each.name) for each in signature.parameters)
    return None


def base_name(entry: str) -> str:
    """``"tile"`` of ``"space::tile<128, 8>"``."""
    return entry.split("<", 1)[0].strip().removeprefix("&").rsplit("::", 1)[-1].strip()


def unnamed(index: int) -> str:
    """What to call the parameter at ``index`` (from 0) when the source gives it no name."""
    return f"argument {index + 1}"


def _tokens(source: str, macros: Sequence[str]) -> list[str]:
    text = source.replace("\r\n", "\n").replace("\\\n", " ")
    text = IGNORED.sub(lambda match: " " if match["comment"] else '""', text)
    replacements = {name: value for name, _, value in (macro.partition("=") for macro in macros)}
    replacements |= {name: value or "" for name, value in _OBJECT_MACRO.findall(text)}
    expanded = {name: _TOKEN.findall(value) for name, value in replacements.items()}
    plain = _TOKEN.findall(_DIRECTIVE.sub("", text))
    return list(_expand(plain, expanded, _MACRO_DEPTH))


def _expand(tokens: list[str], macros: dict[str, list[str]], depth: int) -> Iterator[str]:
    for token in tokens:
        if token in macros and depth:
            yield from _expand(macros[token], macros, depth - 1)
        else:
            yield token


def _signatures(tokens: list[str]) -> Iterator[Signature]:
    template: tuple[str, ...] = ()
    position = 0
    scopes: list[str] = []  # the names of the namespaces that are open, "" for other braces
    opens = ""
    while position < len(tokens):
        token = tokens[position]
        if token == "namespace":
            name = tokens[position + 1 : position + 2]
            opens = "".join(_until_brace(tokens, position + 1)) if name and _IDENTIFIER.match(name[0]) else ""
        elif token == "{":
            scopes.append(opens)
            opens = ""
        elif token == "}" and scopes:
            scopes.pop()
        if token == "template" and tokens[position + 1 : position + 2] == ["<"]:
            end = _matching(tokens, position + 1)
            template = tuple(_template_name(part) for part in _split(tokens[position + 2 : end]))
            position = end
        elif token in (";", "}"):
            template = ()
        elif token == "__global__":
            signature = _signature(tokens, position + 1)
            if signature:
                name, parameters, position = signature
                yield Signature(name, parameters, template, "::".join(filter(None, scopes)))
                template = ()
        position += 1


def _until_brace(tokens: list[str], position: int) -> list[str]:
    """``a :: b`` of ``namespace a::b {``; nothing for ``namespace a = b;``."""
    end = position
    while end < len(tokens) and tokens[end] not in "{;=":
        end += 1
    return tokens[position:end] if tokens[end : end + 1] == ["{"] else []


def _signature(tokens: list[str], position: int) -> tuple[str, tuple[Declared, ...], int] | None:
    """The first ``name(...)`` from ``position`` on that is no attribute, before the body starts."""
    while position < len(tokens) and tokens[position] not in (";", "{", "}"):
        token = tokens[position]
        if _IDENTIFIER.match(token):
            opening = position + 1
            if tokens[opening : opening + 1] == ["<"] and token not in _ATTRIBUTES:  # k<float>(…), a specialisation
                opening = _matching(tokens, opening) + 1
            if tokens[opening : opening + 1] == ["("]:
                end = _matching(tokens, opening)
                if token not in _ATTRIBUTES:
                    parts = _split(tokens[opening + 1 : end])
                    return token, tuple(_declared(part) for part in parts if part != ["void"]), end
                position = end
        position += 1
    return None


def _matching(tokens: list[str], opening: int) -> int:
    """The index of the bracket that closes the one at ``opening``; the last token where there is none."""
    angle_counts = tokens[opening] == "<"
    depth = 0
    for index in range(opening, len(tokens)):
        token = tokens[index]
        if token in _OPENING and (token != "<" or angle_counts):
            depth += 1
        elif token in _CLOSING and (token != ">" or angle_counts):
            depth -= 1
            if depth == 0:
                return index
    return len(tokens) - 1


def _split(tokens: list[str]) -> list[list[str]]:
    """Split at the commas that are in no bracket."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in _OPENING) - (token in _CLOSING)
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _without_default(tokens: list[str]) -> list[str]:
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token in _OPENING) - (token in _CLOSING)
        if token == "=" and depth == 0:
            return tokens[:index]
    return tokens


def _template_name(tokens: list[str]) -> str:
    names = [token for token in _without_default(tokens) if _IDENTIFIER.match(token)]
    return names[-1] if names else "…"


def _template_arguments(entry: str) -> list[str]:
    tokens = _TOKEN.findall(entry)
    if "<" not in tokens:
        return []
    opening = tokens.index("<")
    return [_type_text(part) for part in _split(tokens[opening + 1 : _matching(tokens, opening)])]


def _with_arguments(type_text: str, arguments: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda word: arguments.get(word[0], word[0]), type_text)


def _declared(tokens: list[str]) -> Declared:
    tokens = [token for token in _without_default(tokens) if token not in _NOT_SHOWN]
    tokens = [token for index, token in enumerate(tokens) if not _in_attribute(tokens, index)]
    for index in range(len(tokens) - 3):  # float (*f)(float), float (&a)[4]
        if tokens[index] == "(" and tokens[index + 1] in ("*", "&") and _IDENTIFIER.match(tokens[index + 2]):
            name = tokens.pop(index + 2)
            return Declared(_type_text(tokens), name)
    is_array = False
    while tokens and tokens[-1] == "]":
        tokens = tokens[: len(tokens) - 1 - tokens[::-1].index("[")]
        is_array = True
    name = tokens.pop() if _ends_in_name(tokens) else ""
    while "*" in tokens and tokens[-1] in (
        "const",
        "volatile",
    ):  # of the pointer itself, which says nothing to a caller
        tokens = tokens[:-1]
    return Declared(_type_text(tokens + ["*"] if is_array else tokens), name)


def _in_attribute(tokens: list[str], index: int) -> bool:
    """Whether the token is part of a leading ``[[…]]``."""
    if tokens[:2] != ["[", "["] or "]" not in tokens:
        return False
    return index <= tokens.index("]") + 1


def _ends_in_name(tokens: list[str]) -> bool:
    if len(tokens) < 2 or not _IDENTIFIER.match(tokens[-1]) or tokens[-2] == "::":
        return False
    if tokens[-1] in _BUILT_IN_TYPES or tokens[-1] in _QUALIFIERS:
        return False
    return any(token not in _QUALIFIERS for token in tokens[:-1])


def _type_text(tokens: list[str]) -> str:
    text = ""
    for token in tokens:
        tight = not text or token in ("::", "<", ">", ",", ")", "]", "[") or text[-1] in "<(:[*&"
        if (token in ("*", "&") and text and text[-1] in "*&(") or (token == "(" and text.endswith(")")):
            tight = True
        text += token if tight else f" {token}"
    return text
