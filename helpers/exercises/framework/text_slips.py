"""Slips that stand in the text of a kernel: it compiles, and may run right by luck, but cannot be what is meant."""

from __future__ import annotations

import re
from collections.abc import Callable

from helpers.exercises.framework import integers
from helpers.pictures import theme

COMMA_IN_INDEX = (
    "In C++ the comma in square brackets is no second index. What stands before it is thrown away, so that A[row, k] "
    "is A[k]. An array that the kernel was given has one index, A[row * K + k]; one that is declared with two sizes "
    "has two pairs of brackets, As[y][k]."
)
COMPARED = ": == compares, and the result is thrown away; = assigns."

# A part of a condition, and what may stand in any place, with why it cannot be meant. {1} and so on are groups.
_CONDITIONS = (
    (re.compile(r"[(\s]*(?:not\b|!)\s*([\w.]+)\s*(?:[<>]=?|==)\s*[\w.]+[)\s]*"),
     "! is done before the comparison: !{1} is 0 or 1, and that is compared. A whole comparison stands in brackets "
     "behind !."),
    (re.compile(r"[(\s]*(\w+)\s*=(?!=)\s*([\w.]+)[)\s]*"),
     "= assigns: the condition sets {1} to {2}, and holds where that is not 0. == asks whether two numbers are equal, "
     "!= whether they differ."),
)  # fmt: skip
_CHAINED = re.compile(  # and no type of a type: array<array<float, 4>, 4>
    r"[\w.]+\s*<=?\s*[\w.]+(?:\s*[-+*/]\s*[\w.]+)*\s*<=?\s*[\w.]+\b(?![\w\s,.]*>)"
)
_PATTERNS = (
    (re.compile(r"__sync(?:threads|warp)\s*;"),
     ": the name of a function alone calls nothing. Without () there is no barrier."),
    (re.compile(r"(?<=[;{})])\s*\w+(?:\[[^][]*\])?\s*=\+\s*\w+"),
     ": =+ assigns what follows it, with a sign; += adds."),
    (re.compile(r"(?:\*\s*(\w+)|(\w+\s*\[[^][]*\]))\s*=\s*"
                r"atomic(?:Add|Sub|Max|Min|And|Or|Xor)\s*\(\s*(?:\1|&\s*\2)\s*,(?:[^();]|\([^();]*\))*\)\s*(?=;)"),
     ": the function returns what was there before, and = stores that over the new number. Call it alone."),
    (re.compile(r"(?:(?<=[;{}])|\belse\b)\s*(\w+)(?:\[[^][]*\])?\s*==(?:[^=;?&|()]|\([^()]*\))*;"), COMPARED),
)  # fmt: skip
EMPTY_LOOP = "The ; behind for (…) is its whole body: the loop repeats nothing, and what follows is not in it."
EMPTY_IF = "The ; behind if (…) is all that depends on the condition: what follows does not."


def found_in(source: str, is_right: Callable[[str], bool] = lambda _: False) -> str | None:
    """The sentence of the first slip that makes a kernel right by luck alone, with its line; None if there is none.

    is_right: whether a changed source is right; only then the change is advised.
    """
    code = without_comments(source)
    text = without_strings(code)
    comma = re.search(r"\b(?!auto\b|return\b)\w+\s*\[[^][(){};<>]*,[^][(){};<>]*\]", text)
    if comma is not None:
        return f"Line {_line(text, comma)} has {comma[0]}.\nWhy: {COMMA_IN_INDEX}"
    return _one_too_far(text, code, is_right)


def explanation(source: str, is_right: Callable[[str], bool] = lambda _: True) -> str:
    """Of a kernel that fails: what stands in its text and cannot be meant, with its line; "" if there is nothing.

    is_right: whether a changed source is right; of a float that is put into an int it is asked.
    """
    code = without_comments(source)
    text = without_strings(code)
    for pattern, why in _PATTERNS:
        if match := pattern.search(_blank_heads(text) if why == COMPARED else text):
            return f"Line {_line(text, match)} has {' '.join(match[0].split()).rstrip(';')}{why}"
    return (
        _chained_comparisons(text)
        or _in_conditions(text)
        or _without_effect(text)
        or _declared_again(text)
        or _zero_last(text)
        or _thrown_away(text)
        or _cut_to_int(text, code, is_right)
        or _same_memory(text)
    )


_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(source: str) -> str:
    """A source, every line and column where it was, without its comments."""
    return _COMMENT.sub(_blank, "\n".join(source.splitlines()))


def _blank(part: re.Match[str]) -> str:
    """A string as it is, nothing for what ends its line, and spaces for a comment inside of one."""
    if part[0].startswith('"'):
        return part[0]
    return "" if part[0].startswith("//") else re.sub(r"[^\n]", " ", part[0])


def without_strings(text: str) -> str:
    """A text with spaces in its strings: PTX and formats of printf have braces and semicolons of their own."""
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', lambda string: f'"{" " * (len(string[0]) - 2)}"', text)


def _line(text: str, match: re.Match[str]) -> int:
    """The line in which what was found begins, without the spaces before it."""
    return integers.line_of(text, match.start() + len(match[0]) - len(match[0].lstrip()))


# The head of a loop that does nothing but count: what it counts by is its own.
_COUNTS = re.compile(
    r"\s*(?:unsigned\s+)?(?:int|unsigned|size_t)\s+(\w+)\s*=[^;]*;"
    r"(?:[^;=*\[]|[<>]=)*;\s*(?:\+\+|--)?\1(?:\+\+|--|\s*[-+]=\s*\w+)?\s*"
)


def _chained_comparisons(text: str) -> str:
    """The lines in which comparisons follow one another as in Python; "" if there are none."""
    chains = list(_CHAINED.finditer(text))
    if not chains:
        return ""
    lines = sorted({_line(text, match) for match in chains})
    have = f"Line {lines[0]} has" if len(lines) == 1 else f"Lines {theme.runs(lines)} have comparisons such as"
    return (
        f"{have} {' '.join(chains[0][0].split())}. C++ compares in turns: the first comparison gives 0 or 1, and that "
        "is compared with what follows. Write two conditions and && between them."
    )


def _in_conditions(text: str) -> str:
    """What cannot be meant in the brackets of an if or a for, or right behind them."""
    for match in re.finditer(r"\b(if|for)\s*\(", text):
        inside, behind = integers.bracketed(text[match.end() :])
        has = f"Line {_line(text, match)} has {match[1]} ({' '.join(inside.split())})"
        if thrown_away := re.match(r"\s*(\w+(?:\[[^][]*\])?\s*==[^=;?&|]*;)", behind):
            line = integers.line_of(text, len(text) - len(behind) + thrown_away.start(1))
            return f"Line {line} has {thrown_away[1].rstrip(';')}{COMPARED}"
        if match[1] == "for":
            if behind.startswith(";") and _COUNTS.fullmatch(inside) and not re.search(r"\w\s*\(", inside):
                return f"{has}; {EMPTY_LOOP}"
            continue
        if behind.startswith(";") and not behind[1:].lstrip().startswith("else"):
            return f"{has}; {EMPTY_IF}"
        parts = re.split(r"&&|\|\||\band\b|\bor\b", inside)
        for part in parts:
            for pattern, why in _CONDITIONS:
                # Of several parts = takes them all, but in brackets of its own.
                own = len(parts) == 1 or part.lstrip().startswith("(") and part.count("(") == part.count(")")
                if (slip := pattern.fullmatch(part)) and (own or not why.startswith("= ")):
                    return f"{has}. {why.format(slip[0], *slip.groups())}"
    return ""


_ELEMENT = r"\w+(?:\[(?:[^][]|\[[^][]*\])*\])+"
_ZERO = r"0(?:\.0*)?[fF]?"
_STATEMENT = re.compile(r"[^;{}]*;")
_HEADS = re.compile(r"\s*(?:else\b\s*)?(?:\b(?:if|for|while)\s*(?:constexpr\s*)?\()?")
_EFFECT = re.compile(r"^return\b|(?<![=!<>])=(?!=)|\+\+|--|[A-Za-z_]\w*\s*(?:<[^;]*>\s*)?\(|::|->|\?|#|\"")
_DECLARES = re.compile(r"[A-Za-z_]\w*(?:\s+|\s*[*&]\s*(?=\w+\s*[,;])|\s*<[^;]*>\s*)[A-Za-z_]\w*|[A-Za-z_]\w*$")


def _without_effect(text: str) -> str:
    """A statement that computes a value and does nothing with it."""
    for statement in _STATEMENT.finditer(_blank_heads(text)):
        part = statement[0][:-1]
        while (head := _HEADS.match(part)) and head[0].strip():
            part = part[head.end() :]
            part = integers.bracketed(part)[1] if head[0].endswith("(") else part
        value = part.strip()
        if not re.search(r"\S\s*[-+*/%]\s*\S", value) or _EFFECT.search(value) or _DECLARES.match(value):
            continue
        pointer = re.match(r"(\w+)\s*\*", value)  # float *at[2];
        if pointer and (re.fullmatch(_KINDS, pointer[1]) or not types(text, pointer[1])):
            continue
        line = integers.line_of(text, statement.end() - 1 - len(part.lstrip()))
        has = f"Line {line} computes {' '.join(value.split())} and does nothing with it"
        summand = re.match(r"(\w+)\s*([-+])", value)
        if summand and re.search(rf"(?<!const )\b(?:float|double|int)\s+{summand[1]}\s*=", text[: statement.start()]):
            return f"{has}: {summand[1]} stays what it was. {summand[2]}= changes it, {summand[2]} alone does not."
        return f"{has}."
    return ""


def last_kernel(text: str) -> tuple[str, str]:
    """The head and the body of the last kernel of a text."""
    head, _, body = text[max(text.rfind("__global__"), 0) :].partition("{")
    return head, body


def results(text: str) -> list[str]:
    """The arrays that the last kernel of a text may store into."""
    return re.findall(r"(?<!const )\bfloat\s*\*\s*(?:__restrict__\s*)?(\w+)", last_kernel(text)[0])


_STORED_THEN_ZERO = re.compile(
    rf"(?P<element>{_ELEMENT})\s*=(?!=)(?P<value>[^;]*);\s*(?P<zero>(?P=element)\s*=\s*{_ZERO}\s*;)"
)


def _zero_last(text: str) -> str:
    """An element that is stored, and set to 0 by the statement behind that."""
    for match in _STORED_THEN_ZERO.finditer(text):
        if re.search(r"\+\+|--|\w\(", match["element"]) or re.search(r"\bfor\s*\([^{}]*$", text[: match.start()]):
            continue  # the second time it may be another element
        if re.search(r"\w", match["value"]) and not re.fullmatch(rf"\s*{_ZERO}\s*", match["value"]):
            stored, zeroed = (integers.line_of(text, match.start(part)) for part in ("element", "zero"))
            return f"Line {zeroed} sets {match['element']} to 0, over what line {stored} stores there."
    return ""


def _thrown_away(text: str) -> str:
    """A statement that calls a function for its result, and does nothing with it."""
    own = re.findall(r"__device__\s+(?:__forceinline__\s+|inline\s+)*(?!void\b)\w+\s+(\w+)\s*\([^)&*]*\)\s*\{", text)
    own = [name for name in own if not re.search(rf"\bvoid\s+{name}\s*\(", text)]
    called = "|".join([*map(re.escape, own), r"__shfl\w*_sync", "__ballot_sync", "__popc"])
    match = re.search(rf"(?<=[;{{}}])\s*({called})\s*\((?:[^;(){{}}]|\([^;()]*\))*\)\s*;", text)
    return f"Line {_line(text, match)} calls {match[1]} and does nothing with what it returns." if match else ""


_LOOP = re.compile(r"\bfor\s*\(\s*(?:unsigned\s+)?int\s+(\w+)\s*=[^;]*;\s*\1\s*(<=?)\s*([^;]+);([^)]*)\)")


def _one_too_far(text: str, code: str, is_right: Callable[[str], bool]) -> str | None:
    """A loop that goes up to the size of an array of the kernel, or beyond, and indexes it by its variable.

    code: the text with its strings.
    """
    all_arrays = integers.arrays(text)
    given = re.findall(r"\b(?:int|unsigned|size_t)\s+(\w+)\s*[,)>]", text)  # of some function: there it is another one
    names = {name: number for name, number in integers.names_in(text, {}).items() if name not in given}
    declared_once = [
        (array, sizes)
        for array, sizes in all_arrays
        if [name for name, _ in all_arrays].count(array) == 1
        and not re.search(rf"\b\w+\s*[*&]\s*(?:__restrict__\s+)?{array}\s*[,)=]", text)
    ]
    for loop in _LOOP.finditer(text):
        counter, last, is_below = loop[1], _size(loop[3], names), loop[2] == "<"
        if not re.fullmatch(rf"\s*(?:\+\+{counter}|{counter}\+\+|{counter}\s*\+=\s*1)\s*", loop[4]):
            continue
        if is_below:
            if not isinstance(last, int):
                continue
            last -= 1
        body = text[loop.end() :].lstrip()
        body = integers.bracketed(body[1:], "{}")[0] if body.startswith("{") else body.partition(";")[0]
        heads = (integers.bracketed(body[head.end() :])[0] for head in re.finditer(r"\b(?:for|while)\s*\(", body))
        changes = rf"(?:--|\+\+)\s*{counter}\b|\b{counter}\s*(?:[-+*/]?=(?!=)|\+\+|--)"
        if re.search(rf"\bif\b|\?|&&|\|\||{changes}", body) or any(
            re.search(rf"\b{counter}\b", head) for head in heads
        ):
            continue  # the last element may not be asked for
        for array, sizes in declared_once:
            if is_below and re.search(rf"__shared__[^;]*\b{array}\b", text):
                continue  # the simulator names the access
            declared = [_size(part, names) for part in re.findall(r"\[([^][]+)\]", sizes)]
            for used in re.findall(rf"\b{array}((?:\[[^][]+\])+)", body):
                indices = re.findall(r"\[([^][]+)\]", used)
                for at, (index, size) in enumerate(zip(indices, declared, strict=False)):
                    beyond = size == last or isinstance(size, int) and isinstance(last, int) and last > size
                    if index.strip() != loop[1] or not beyond:
                        continue
                    # A loop to below something may be right, and its variable index the wrong array.
                    if not is_below or is_right(code):
                        line = integers.line_of(text, loop.start())
                        what = ("element", "column", "row", "part")[min(len(declared) - at, 3) if declared[1:] else 0]
                        return (
                            f"Line {line} has {' '.join(loop[0].split())}.\nWhy: {loop[1]} goes up to {last}, and "
                            f"{array}{sizes} has no {what} {last}: {what}s are counted from 0."
                            f"{'' if is_below else _bounded(code, loop, is_right)}"
                        )
    return None


def _bounded(code: str, loop: re.Match[str], is_right: Callable[[str], bool]) -> str:
    """The head with which a loop that goes one too far is right; "" if none of those that are tried is."""
    less = loop[0].replace("<=", "<", 1)
    for head, advice in (
        (less, "Write <, not <=."),
        (re.sub(r"=[^;=]*;", "= 0;", less, count=1), "Begin with 0, and write <, not <=."),
    ):
        if is_right(code[: loop.start()] + head + code[loop.end() :]):
            return f" {advice}"
    return ""


def _size(text: str, names: integers.Values) -> int | str:
    """A size as a number, or as it is written: of a template's parameter no more is known."""
    number = integers.value(text, names)
    return text.strip() if number is None else int(number)


_KINDS = r"(?:float[24]?|double|int[24]?|uint[24]?|unsigned|long|short|char|bool|size_t|half|__half|auto)"


def types(text: str, name: str) -> set[str]:
    """The types with which a text declares a name, wherever it does."""
    name = re.escape(name)
    single = rf"\b(?!return\b|else\b|case\b|goto\b)([A-Za-z_]\w*)\s+{name}\s*[=;,:)\[({{]"
    pointer = rf"\b({_KINDS})\s*[*&]\s*(?:__restrict__\s*)?{name}\s*[=;,)]"
    among_others = rf"\b({_KINDS})\s[^;{{}}]*,\s*[*&]?\s*{name}\s*[=;,\[]"
    return {kind for pattern in (single, pointer, among_others) for kind in re.findall(pattern, text)}


def _cut_to_int(text: str, code: str, is_right: Callable[[str], bool]) -> str:
    """A variable of type int to which floats are added, or that is set to one where a float would be right.

    code: the text with its strings.
    """
    statements = _blank_heads(text)
    for declared in re.finditer(r"\bint\s+(\w+)\s*(?:=[^;,]*)?;", statements):
        name = declared[1]
        if len(re.findall(rf"\bint\s+{name}\b", text)) > 1 or types(text, name) != {"int"}:
            continue
        for added in re.finditer(rf"(?:[;{{}})]\s*|\bint\s+|\belse\s+){name}\s*\+?=(?!=)([^;,]*);", statements):
            outside = re.sub(r"\[[^][]*\]", "[]", added[1])
            outside = outside.partition("?")[2] or outside  # of a condition both results
            if re.search(r"\(\s*(?:unsigned|int|long|short|char|size_t)\b|\w+\s*\(|[<>&?|]|==|!=", outside):
                continue  # a conversion that is meant, a comparison, or more than these words can tell
            words = re.findall(r"(?<![.\w])([A-Za-z_]\w*)\b(?![.\w])", outside)
            if any(_is_float(text, word, re.search(rf"\b{word}\s*\[", outside) is not None) for word in words):
                adds = re.search(rf"\+=|(?<![.\w]){name}\b", text[added.start() : added.end()].partition(name)[2])
                if not adds and not is_right(f"{code[: declared.start()]}float{code[declared.start() + 3 :]}"):
                    continue
                line = integers.line_of(text, added.start(1))
                return (
                    f"{name} is of type int (line {_line(text, declared)}): line {line} puts a float into it, and cuts "
                    "off what stands behind the point."
                )
    return ""


def _is_float(text: str, name: str, is_array: bool) -> bool:
    """Whether a name is a float, or an array of floats, wherever it is declared."""
    of_array = rf"\b(?:float|double)\s*(?:\*\s*(?:__restrict__\s*)?|&\s*)?{name}\s*[,)\[]"
    declared = re.search(of_array if is_array else rf"\b(?:float|double)\s+{name}\s*[=;,)]", text)
    return declared is not None and types(text, name) <= {"float", "double"}


def _blank_heads(text: str) -> str:
    """A source of the same length, with spaces in the brackets of its loops."""
    for loop in re.finditer(r"\bfor\s*\(", text):
        inside = re.match(r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*", text[loop.end() :])
        end = loop.end() + (inside.end() if inside else 0)
        text = text[: loop.end()] + " " * (end - loop.end()) + text[end:]
    return text


def _declared_again(text: str) -> str:
    """A variable without a value, or 0, that an inner block declares once more: what it computes there is lost, and the
    outer one, which is used afterwards, is not changed by anything."""
    for outer in re.finditer(rf"\b(?<!const )(?:float|double|int)\s+(\w+)\s*(=\s*{_ZERO}\s*)?;", text):
        name = outer[1]
        if re.search(rf"#define[^\n]*\b{name}\b", text):
            continue
        scope = integers.bracketed(text[outer.end() :], "{}")[0]
        inner = re.search(rf"\b(?:float|double|int)\s+{name}\s*=[^;]*;", scope)
        if inner is None:
            continue
        hidden, rest = integers.bracketed(scope[inner.end() :], "{}")
        before, set_in = (
            scope[: inner.start()],
            rf"(?<![\w.]){name}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\b{name}\s*(?:\+\+|--)",
        )
        set_in = rf"{set_in}|(?:\+\+|--|&)\s*{name}\b"
        if re.search(r"\w\s*&\s*\w+\s*[,)]|#define\s+\w+\(|\basm\b|\[&", text):
            set_in = rf"{set_in}|[(,]\s*{name}\s*[,)]"  # what takes it may change it
        if re.search(r"\)\s*$", before):  # if (…) float old = …; is over with its ;
            hidden, rest = "", scope[inner.end() :]
        set_there = re.search(set_in, hidden) or outer[2] is None or not re.search(rf"\b{name}\b", hidden)
        if set_there and re.search(rf"\b{name}\b", rest) and not re.search(set_in, before + rest):
            line = integers.line_of(text, outer.end() + inner.start())
            return (
                f"Line {line} declares another {name}, which ends with the statement or the braces that it stands in: "
                f"the {name} of line {_line(text, outer)} is never changed."
            )
    return ""


def _same_memory(text: str) -> str:
    """Several arrays of the last kernel that are extern __shared__: each is the whole of what the launch gives."""
    extern = re.compile(r"\bextern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?(\w+)\s+(\w+)\s*\[\s*\]")
    arrays = list(extern.finditer(text, max(text.rfind("__global__"), 0)))
    names = list(dict.fromkeys(array[2] for array in arrays))
    if len(names) < 2 or len({array[1] for array in arrays}) > 1:  # of two types: one memory, read in two ways
        return ""
    first, second = names[:2]
    lines = [_line(text, array) for array in arrays[:2]]
    where = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} and {lines[1]}"
    return (
        f"{first} and {second} ({where}) are the same memory: every array that is extern __shared__ begins where "
        f"the memory of the launch begins. A second array in it is a pointer behind the elements of the first."
    )
