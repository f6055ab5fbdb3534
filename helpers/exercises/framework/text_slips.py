"""Slips that stand in the text of a kernel: it compiles, and may run right by luck, but cannot be what is meant."""

from __future__ import annotations

import re
from collections.abc import Callable

from helpers.exercises.framework import integers

NEVER_SET = "A sum must begin somewhere: the variable is declared without a value, and the loop only adds to it."
COMMA_IN_INDEX = (
    "In C++ the comma in square brackets is no second index. What stands before it is thrown away, so that A[row, k] "
    "is A[k]. An array that the kernel was given has one index, A[row * K + k]; one that is declared with two sizes "
    "has two pairs of brackets, As[y][k]."
)
COMPARED = ": == compares, and the result is thrown away; = assigns."

# A part of a condition, and what may stand in any place, with why it cannot be meant. {1} and so on are groups.
_CONDITIONS = (
    (re.compile(r"[(\s]*(?:not\b|!)\s*([\w.]+)\s*(?:[<>]=?|==)\s*[\w.]+[)\s]*"),
     "! is done before the comparison: !{1} is 0 or 1, and that is compared. Put the comparison in brackets, !(…)."),
    (re.compile(r"[(\s]*(\w+)\s*=(?!=)\s*([\w.]+)[)\s]*"),
     "= assigns: the condition sets {1} to {2}, and holds where that is not 0. == asks whether two numbers are equal, "
     "!= whether they differ."),
    (re.compile(r"[(\s]*[\w.]+\s*<=?\s*[\w.]+\s*<=?\s*[\w.]+[)\s]*"),
     "C++ compares in turns: the first comparison gives 0 or 1, and that is compared with what follows. Write two "
     "conditions and && between them."),
)  # fmt: skip
_PATTERNS = (
    (re.compile(r"__sync(?:threads|warp)\s*;"),
     ": the name of a function alone calls nothing. Without () there is no barrier: write __syncthreads();"),
    (re.compile(r"threadIdx\.(\w)\s*\*\s*blockDim\.\1\s*\+\s*blockIdx\.\1\b"),
     ": block and thread are exchanged. The block begins at blockIdx * blockDim, and threadIdx counts on from there."),
    (re.compile(r"blockIdx\.(\w)\s*\*\s*threadIdx\.\w|threadIdx\.(\w)\s*\*\s*blockIdx\.\w"),
     ": a block's number times a thread's. A block begins at blockIdx * blockDim, and threadIdx counts on from there."),
    (re.compile(r"\w+(?:\[[^][]*\])?\s*=\+\s*\w+"), ": =+ assigns what follows it, with a sign; += adds."),
    (re.compile(r"reinterpret_cast\s*<\s*(?:const\s+)?float4\s*\*\s*>\s*\(\s*\w+\s*\)\s*\[(?![^]]*(?:/|>>))[^]]*\*\s*[NKM]\b[^]]*\]"),
     ": an index into a pointer to float4 counts groups of four, and this one counts floats. Divide it by 4."),
    (re.compile(r"(?:\*\s*(\w+)|(\w+\s*\[[^][]*\]))\s*=\s*atomic\w+\s*\(\s*(?:\1\b|&\s*\2)[^;]*"),
     ": the function returns what was there before, and = stores that over the new number. Call it alone."),
    (re.compile(r"(?:(?<=[;{}])|\belse\b)\s*(\w+)(?:\[[^][]*\])?\s*==[^=;]*;"), COMPARED),
)  # fmt: skip
EMPTY_LOOP = "The ; behind for (…) is its whole body: the loop does nothing, and what follows runs once."
EMPTY_IF = "The ; behind if (…) is all that depends on the condition: what follows is done in any case."


def found_in(source: str, is_right: Callable[[str], bool] = lambda _: False) -> str | None:
    """The sentence of the first slip that makes a kernel right by luck alone, with its line; None if there is none.

    is_right: whether a changed source is right; only then the change is advised.
    """
    text = without_comments(source)
    comma = re.search(r"\b\w+\s*\[[^][(){};]*,[^][(){};]*\]", text)
    if comma is not None:
        return f"Line {_line(text, comma)} has {comma[0]}.\nWhy: {COMMA_IN_INDEX}"
    for match in re.finditer(r"\b(?:float|double|int|unsigned)\s+(\w+)\s*;", text):
        name = re.escape(match[1])
        if re.search(rf"\b{name}\s*\+=", text) and not re.search(rf"\b{name}\s*=[^=]|&\s*{name}\b", text):
            line = _line(text, match)
            return f"{match[1]}, declared in line {line}, is never set. Here it may be 0 by luck.\nWhy: {NEVER_SET}"
    return _one_too_far(text, is_right)


def explanation(source: str) -> str:
    """Of a kernel that fails: what stands in its text and cannot be meant, with its line; "" if there is nothing."""
    text = _without_strings(without_comments(source))
    for pattern, why in _PATTERNS:
        if match := pattern.search(_blank_heads(text) if why == COMPARED else text):
            return f"Line {_line(text, match)} has {' '.join(match[0].split()).rstrip(';')}{why}"
    return (
        _in_conditions(text)
        or _without_effect(text)
        or _sides_exchanged(text)
        or _declared_again(text)
        or _set_back(text)
        or _zero_last(text)
        or _zero_inside(text)
        or _scaled_each_round(text)
        or _one_by_one(text)
        or _thrown_away(text)
        or _of_its_own(text)
        or _cut_to_int(text)
        or _same_memory(text)
    )


def without_comments(source: str) -> str:
    """A source, every line and column where it was, without its comments."""
    return re.sub(
        r"//[^\n]*|/\*.*?\*/",
        lambda comment: "" if comment[0].startswith("//") else re.sub(r"[^\n]", " ", comment[0]),
        "\n".join(source.splitlines()),
        flags=re.DOTALL,
    )


def _without_strings(text: str) -> str:
    """A text with spaces in its strings: PTX and formats of printf have braces and semicolons of their own."""
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', lambda string: f'"{" " * (len(string[0]) - 2)}"', text)


def _line(text: str, match: re.Match[str]) -> int:
    """The line in which what was found begins, without the spaces before it."""
    return integers.line_of(text, match.start() + len(match[0]) - len(match[0].lstrip()))


# The head of a loop whose variable goes away from the number at which the loop ends. Where the loop is not even
# entered, another way would not help.
_AWAY = re.compile(
    r"(?P<name>\w+)\s*=\s*(?P<first>[^;]*);\s*(?P=name)\s*"
    r"(?:(?P<less><=?)\s*(?P<end>[^;]*);\s*(?:--(?P=name)|(?P=name)\s*--)"
    r"|>=?[^;]*;\s*(?:\+\+(?P=name)|(?P=name)\s*\+\+))\s*$"
)


def _in_conditions(text: str) -> str:
    """What cannot be meant in the brackets of an if or a for, or right behind them."""
    for match in re.finditer(r"\b(if|for)\s*\(", text):
        inside, behind = integers.bracketed(text[match.end() :])
        has = f"Line {_line(text, match)} has {match[1]} ({' '.join(inside.split())})"
        if thrown_away := re.match(r"\s*(\w+(?:\[[^][]*\])?\s*==[^=;]*;)", behind):
            line = integers.line_of(text, len(text) - len(behind) + thrown_away.start(1))
            return f"Line {line} has {thrown_away[1].rstrip(';')}{COMPARED}"
        if match[1] == "for":
            if behind.startswith(";") and re.search(
                r";[^;]*;\s*(?:\+\+|--)?\w+(?:\+\+|--|\s*[-+]=\s*\w+)?\s*$", inside
            ):
                return f"{has}; {EMPTY_LOOP}"
            away = _AWAY.search(inside)
            if away and (away["end"] if away["less"] else away["first"]).strip() != "0":
                way = "down" if away["less"] else "up"
                return f"{has}: {away['name']} goes {way}, away from where the loop ends."
            continue
        if behind.startswith(";") and not behind[1:].lstrip().startswith("else"):
            return f"{has}; {EMPTY_IF}"
        for part in re.split(r"&&|\|\||\band\b|\bor\b", inside):
            for pattern, why in _CONDITIONS:
                if slip := pattern.fullmatch(part):
                    return f"{has}. {why.format(slip[0], *slip.groups())}"
    return ""


_ELEMENT = r"\w+(?:\[(?:[^][]|\[[^][]*\])*\])+"
_ZERO = r"0(?:\.0*)?[fF]?"
_STATEMENT = re.compile(r"[^;{}]*;")
_HEADS = re.compile(r"\s*(?:else\b\s*)?(?:\b(?:if|for|while)\s*(?:constexpr\s*)?\()?")
_EFFECT = re.compile(r"^return\b|(?<![=!<>])=(?!=)|\+\+|--|[A-Za-z_]\w*\s*(?:<[^;]*>\s*)?\(|::|->|\?|#|\"")
_DECLARES = re.compile(r"[A-Za-z_]\w*(?:\s+|\s*[*&]\s*(?=\w+\s*[,;]))[A-Za-z_]\w*|[A-Za-z_]\w*$")


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
        line = integers.line_of(text, statement.end() - 1 - len(part.lstrip()))
        has = f"Line {line} computes {' '.join(value.split())} and does nothing with it"
        summand = re.match(r"(\w+)\s*([-+*/])", value)
        if summand and re.search(rf"\b(?:float|double|int)\s+{summand[1]}\s*=", text[: statement.start()]):
            return f"{has}: {summand[1]} stays what it was. {summand[2]}= changes it, {summand[2]} alone does not."
        return f"{has}: what is to be stored is assigned, …[…] = …;"
    return ""


def last_kernel(text: str) -> tuple[str, str]:
    """The head and the body of the last kernel of a text."""
    head, _, body = text[max(text.rfind("__global__"), 0) :].partition("{")
    return head, body


def results(text: str) -> list[str]:
    """The arrays that the last kernel of a text may store into."""
    return re.findall(r"(?<!const )\bfloat\s*\*\s*(?:__restrict__\s*)?(\w+)", last_kernel(text)[0])


def _sides_exchanged(text: str) -> str:
    """A sum that is set to an element of the result, where nothing is stored into it."""
    kernel = text[max(text.rfind("__global__"), 0) :]
    for result in results(text):
        if re.search(rf"\b{result}\s*\[[^;=]*\]\s*[-+*/]?=(?!=)|[&=(,]\s*{result}\b(?!\s*\[)|&\s*{result}\b", kernel):
            continue
        taken = re.search(rf"(?<![\w.])(\w+)\s*=\s*({result}\s*\[[^;=]*\])\s*;", text)
        if taken and re.search(rf"(?<![\w.]){taken[1]}\s*\+=", text[: taken.start()]):
            return (
                f"Line {_line(text, taken)} sets {taken[1]} to {taken[2]}, and nothing is stored: what is changed "
                f"stands on the left of =."
            )
    return ""


_SET_TO_ZERO = re.compile(rf"(?<![\w.])(?:(?:float|double|int)\s+)?(\w+)\s*=\s*{_ZERO}\s*;")


def _set_back(text: str) -> str:
    """A sum that a loop sets back to 0 in each of its rounds, before it adds to it once."""
    for line, start, end, body in integers.loops(text):
        direct = _blank_heads(body)
        for _, begin, close, _ in integers.loops(body):  # what inner loops do is theirs
            direct = direct[:begin] + " " * (close - begin) + direct[close:]
        counter = re.match(
            r"\s*(?:const\s+|unsigned\s+)*\w+\s+(\w+)", text[text.rindex("for", 0, start) + 3 :].strip("( ")
        )
        for zero in _SET_TO_ZERO.finditer(direct):
            adds = re.compile(rf"(?<![\w.]){zero[1]}\s*(?:\+=|=\s*{zero[1]}\s*\+)")
            own = counter and re.search(rf"\w\s*\[[^;=]*\b{counter[1]}\b[^;=]*\]\s*\+?=(?!=)", direct)
            if len(adds.findall(direct, zero.end())) == len(adds.findall(body)) == 1 and not own:
                at = integers.line_of(text, start + text[start:end].index(zero[0]))
                return (
                    f"Line {at} sets {zero[1]} back to 0 in every round of the loop in line {line}, so that only the "
                    f"last round counts: {zero[1]} must begin in front of the loop."
                )
    return ""


_STORED_THEN_ZERO = re.compile(
    rf"(?:\bif\s*\((?P<condition>[^;{{}}]*)\)\s*)?(?P<element>{_ELEMENT})\s*=(?!=)(?P<value>[^;]*);"
    rf"\s*(?P<zero>(?P=element)\s*=\s*{_ZERO}\s*;)"
)


def _zero_last(text: str) -> str:
    """An element that is stored, and set to 0 by the statement behind that."""
    for match in _STORED_THEN_ZERO.finditer(text):
        if re.search(r"\w", match["value"]) and not re.fullmatch(rf"\s*{_ZERO}\s*", match["value"]):
            stored, zeroed = (integers.line_of(text, match.start(part)) for part in ("element", "zero"))
            return f"Line {zeroed} sets {match['element']} to 0, over what line {stored} has stored there."
    return ""


_INSIDE_IS_ZERO = re.compile(rf"(?P<condition>[^;=?{{}}]*<[^;=?{{}}]*)\?\s*{_ZERO}\s*:\s*(?P<element>{_ELEMENT})\s*;")


def _zero_inside(text: str) -> str:
    """A conditional expression that takes 0 where the indices are below their sizes, and the element elsewhere."""
    sizes = "|".join(re.findall(r"\bint\s+(\w+)\s*(?=[,)])", text)) or r"\b\B"
    for match in _INSIDE_IS_ZERO.finditer(text):
        condition = " ".join(match["condition"].split())
        if all(re.fullmatch(rf"[^<>=!|]*<\s*(?:{sizes})\s*", part) for part in condition.strip("() ").split("&&")):
            line = integers.line_of(text, match.start("element"))
            return (
                f"Line {line} takes 0 where `{condition}` holds, and reads {match['element']} where it does not: what "
                "stands behind ? is taken where the condition holds, what stands behind : elsewhere."
            )
    return ""


def _scaled_each_round(text: str) -> str:
    """A sum that is multiplied by alpha or beta in every round of a loop in which it grows."""
    scalars = re.findall(r"\bfloat\s+(\w+)\s*(?=[,)])", text)
    for loop in re.finditer(r"\bfor\s*\(", text):
        rest = integers.bracketed(text[loop.end() :])[1].lstrip()
        body = integers.statement(rest)
        for scaled in re.finditer(r"(?<![\w.\]])(\w+)\s*\*=\s*(\w+)\s*;", body):
            name, scalar = scaled[1], scaled[2]
            if (
                scalar in scalars
                and re.search(rf"(?<![\w.]){name}\s*\+=", body)
                and not re.search(rf"\b(?:float|double)\s+{name}\b", body)
            ):
                line = integers.line_of(text, len(text) - len(rest) + scaled.start())
                return (
                    f"Line {line} multiplies {name} by {scalar} in every round of the loop of line {_line(text, loop)}"
                    ": what earlier rounds have added is multiplied again each time. It belongs behind the loop."
                )
    return ""


def _one_by_one(text: str) -> str:
    """A loop over tiles that goes on by 1, though its variable is where the tile begins."""
    for loop in re.finditer(
        r"\bfor\s*\(\s*int\s+(\w+)\s*=\s*0\s*;([^;]*);\s*(?:\+\+\1|\1\+\+|\1\s*\+=\s*1)\s*\)", text
    ):
        name, body = loop[1], integers.statement(text[loop.end() :])
        begins = re.search(rf"[\[(+]\s*({name}\s*\+\s*(?:threadIdx\.)?[xy])\b(?!\s*\*)", body)
        elsewhere = re.search(rf"\b{name}\s*\*\s*\w+|\w+\s*\*\s*{name}\b", body)
        if "__syncthreads" in body and begins and elsewhere:
            at = len(text) - len(text[loop.end() :].lstrip())
            lines = [integers.line_of(text, at + part.start()) for part in (elsewhere, begins)]
            return (
                f"In line {lines[0]} {name} counts tiles, `{elsewhere[0]}`, and in line {lines[1]} `{begins[1]}` takes "
                f"it for the k at which a tile begins: that is {name} times the tile's depth."
            )
        if "__syncthreads" in body and begins:
            why = (
                f"{name} counts tiles, and is used as the k at which a tile begins: that is {name} times its depth."
                if "/" in loop[2]
                else f"{name} grows by 1, and a round takes a whole tile of k. It must grow by the tile's depth."
            )
            return f"Line {_line(text, loop)} has {' '.join(loop[0].split())}: {why}"
    return ""


def _thrown_away(text: str) -> str:
    """A statement that calls a function for its result, and does nothing with it."""
    own = re.findall(r"__device__\s+(?:__forceinline__\s+|inline\s+)*(?!void\b)\w+\s+(\w+)\s*\([^)&]*\)\s*\{", text)
    called = "|".join([*map(re.escape, own), r"__shfl\w*_sync", "__ballot_sync", "__popc"])
    for match in re.finditer(rf"(?<=[;{{}}])\s*({called})\s*\([^;]*\)\s*;", text):
        name = match[1]
        return (
            f"Line {_line(text, match)} calls {name} and does nothing with what it returns: assign it, v = {name}(…)."
        )
    return ""


_LOOP = re.compile(r"\bfor\s*\(\s*(?:unsigned\s+)?int\s+(\w+)\s*=[^;]*;\s*\1\s*(<=?)\s*([^;]+);([^)]*)\)")


def _one_too_far(text: str, is_right: Callable[[str], bool]) -> str | None:
    """A loop that goes up to the size of an array of the kernel, or beyond, and indexes it by its variable."""
    names = integers.names_in(text, {})
    for loop in _LOOP.finditer(text):
        last, is_below = _size(loop[3], names), loop[2] == "<"
        if is_below:
            if not isinstance(last, int) or not re.fullmatch(rf"\s*(?:\+\+{loop[1]}|{loop[1]}\+\+)\s*", loop[4]):
                continue
            last -= 1
        body = text[loop.end() :].lstrip()
        body = integers.bracketed(body[1:], "{}")[0] if body.startswith("{") else body.partition(";")[0]
        if re.search(r"\bif\b|\?", body):
            continue
        for array, sizes in integers.arrays(text):
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
                    if not is_below or is_right(text):
                        line = integers.line_of(text, loop.start())
                        what = ("element", "column", "row", "tile")[min(len(declared) - at, 3) if declared[1:] else 0]
                        return (
                            f"Line {line} has {' '.join(loop[0].split())}.\nWhy: {loop[1]} goes up to {last}, and "
                            f"{array}{sizes} has no {what} {last}: {what}s are counted from 0."
                            f"{'' if is_below else _bounded(text, loop, is_right)}"
                        )
    return None


def _bounded(text: str, loop: re.Match[str], is_right: Callable[[str], bool]) -> str:
    """The head with which a loop that goes one too far is right; "" if none of those that are tried is."""
    less = loop[0].replace("<=", "<", 1)
    for head, advice in (
        (less, "Write <, not <=."),
        (re.sub(r"=[^;=]*;", "= 0;", less, count=1), "Begin with 0, and write <, not <=."),
    ):
        if is_right(text[: loop.start()] + head + text[loop.end() :]):
            return f" {advice}"
    return ""


def _size(text: str, names: integers.Values) -> int | str:
    """A size as a number, or as it is written: of a template's parameter no more is known."""
    number = integers.value(text, names)
    return text.strip() if number is None else int(number)


def _of_two_threads(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """The names that a text gives thread 0 and thread 11 of a block; every parameter of a template is taken for 8."""
    sizes = {f"{name}.{axis}": 32 for name in ("blockDim", "gridDim") for axis in "xyz"}
    sizes |= {f"blockIdx.{axis}": 0 for axis in "xyz"}
    for parameters in re.findall(r"\btemplate\s*<([^>]*)>", text):
        sizes |= dict.fromkeys(re.findall(r"\b(?:int|unsigned)\s+(\w+)", parameters), 8)
    first, other = (
        integers.names_in(text, sizes | {f"threadIdx.{axis}": number for axis in "xyz"}, first_round=True)
        for number in (0, 11)
    )
    return first, other


def _in_loops(text: str, position: int, names: integers.Values) -> dict[str, int]:
    """The names with what the variables of the loops before a place begin with, the last loop of each."""
    match = dict(names)
    for loop in re.finditer(r"\bfor\s*\(\s*(?:unsigned\s+)?int\s+(\w+)\s*=([^;]*);", text[:position]):
        match.pop(loop[1], None)
        if (begins := integers.value(loop[2], match)) is not None:
            match[loop[1]] = begins
    return match


def _of_its_own(text: str) -> str:
    """What is each thread's own, and can only be meant to be shared: an array that is indexed by the thread's number,
    and a variable that one thread sets for all."""
    if "__syncthreads" not in text:
        return ""
    threads = _of_two_threads(text)
    for declared in re.finditer(
        r"(?m)^(?!.*\b(?:__shared__|extern|__device__)\b)[ \t]*float\s+(\w+)\s*\[[^\]]*\].*;", text
    ):
        name, line = declared[1], integers.line_of(text, declared.start())
        pointers = re.findall(rf"\bfloat\s*\*\s*(?:const\s+)?(\w+)\s*=\s*&?{re.escape(name)}\b", text)
        called = "|".join(map(re.escape, (name, *pointers)))
        for stored in re.finditer(rf"\b(?:{called})\s*\[([^][]*)\](?:\s*\[[^][]*\])*\s*=[^=]", text):
            part, two = (integers.value(stored[1], _in_loops(text, stored.start(), names)) for names in threads)
            if part is not None and two is not None and part != two:
                return (
                    f"Line {line} declares {name} without __shared__: each thread has an array of its own, of which it "
                    f"fills a part, and what other threads load is not in it. Write __shared__ float {name}…"
                )
    return _set_by_one(text, threads)


def _set_by_one(text: str, threads: tuple[integers.Values, integers.Values]) -> str:
    """A variable of each thread's own that thread 0 sets, and that all threads ask for behind a barrier."""
    for declared in re.finditer(r"(?m)^[ \t]*(bool|int|unsigned)\s+(\w+)\s*(?:=[^;]*)?;", text):
        name = declared[2]
        for match in re.finditer(r"\bif\s*\(", text[declared.end() :]):
            condition, rest = integers.bracketed(text[declared.end() + match.end() :])
            holds = [integers.value(condition, names) for names in threads]
            if None in holds or not holds[0] or holds[1]:
                continue
            rest = rest.lstrip()
            body, behind = integers.bracketed(rest[1:], "{}") if rest[:1] == "{" else rest.split(";", 1)
            asked = re.search(rf"\bif\s*\(\s*!?\s*{name}\b", behind)
            between = behind[: asked.start()] if asked else ""
            sets = rf"(?<![\w.]){name}\s*=(?!=)"
            if re.search(sets, body) and "__syncthreads" in between and not re.search(sets, between):
                return (
                    f"Line {_line(text, declared)} declares {name} without __shared__: each thread has a {name} of its "
                    f"own, and only thread 0 sets it. Write __shared__ {declared[1]} {name};"
                )
    return ""


def _cut_to_int(text: str) -> str:
    """A variable of type int to which floats are added, or that is set to one."""
    arrays = set(re.findall(r"\b(?:float|double)\s*(?:\*\s*(?:__restrict__\s*)?|&\s*)?(\w+)\s*[,)\[]", text))
    single = set(re.findall(r"\b(?:float|double)\s+(\w+)\s*[=;,)]", text))
    statements = _blank_heads(text)
    given = "|".join(re.findall(r"\bfloat\s+(\w+)\s*[,)]", text)) or r"\b\B"
    if converted := re.search(rf"\bint\s*\(\s*(?:{given})\s*\)|\(\s*int\s*\)\s*(?:{given})\b", text):
        return f"Line {_line(text, converted)} has {converted[0]}, which cuts off what stands behind the point."
    for declared in re.finditer(r"\bint\s+(\w+)\s*(?:=[^;,]*)?;", statements):
        name = declared[1]
        if len(re.findall(rf"\bint\s+{name}\b", text)) > 1:
            continue
        for added in re.finditer(rf"(?:[;{{}})]\s*|\bint\s+|\belse\s+){name}\s*\+?=(?!=)([^;,]*);", statements):
            outside = re.sub(r"\[[^][]*\]", "[]", added[1])
            outside = outside.partition("?")[2] or outside  # of a condition both results
            if re.search(r"\bint\s*\(|\(int\)|\w+\s*\(|[<>&?]|==|!=", outside):
                continue  # a conversion that is meant, a comparison, or more than these words can tell
            used = set(re.findall(r"(?<![.\w])([A-Za-z_]\w*)\b(?!\s*\[)", outside)) & single
            read = set(re.findall(r"\b([A-Za-z_]\w*)\s*\[", outside)) & arrays
            if used or read:
                line = integers.line_of(text, added.start(1))
                return (
                    f"{name} is of type int (line {_line(text, declared)}): line {line} puts a float into it, and cuts "
                    "off what stands behind the point. It must be a float."
                )
    return ""


def _blank_heads(text: str) -> str:
    """A source of the same length, with spaces in the brackets of its loops."""
    for loop in re.finditer(r"\bfor\s*\(", text):
        inside = re.match(r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*", text[loop.end() :])
        end = loop.end() + (inside.end() if inside else 0)
        text = text[: loop.end()] + " " * (end - loop.end()) + text[end:]
    return text


def _declared_again(text: str) -> str:
    """A variable that an inner block declares once more: what it computes there is lost, and the outer one, which is
    used afterwards, is not changed by anything. An array of the parameters, too."""
    for given in re.findall(r"(?<!const )\b(?:float|int)\s*\*\s*(?:__restrict__\s*)?(\w+)\s*[,)]", text):
        inner = re.search(rf"\b(?:float|int)\s+{given}\s*=[^;]*;", text)
        if inner and not re.search(rf"\b{given}\s*\[[^;=]*\]\s*[-+*/]?=(?!=)", text):
            return (
                f"Line {_line(text, inner)} declares another {given}, a number that ends with the statement or the "
                f"braces that it stands in, and nothing is stored in the array. Write {given}[…] = …;"
            )
    for outer in re.finditer(r"\b(?:float|double|int)\s+(\w+)\s*(?:=[^;]*)?;", text):
        name = outer[1]
        scope = integers.bracketed(text[outer.end() :], "{}")[0]
        inner = re.search(rf"\b(?:float|double|int)\s+{name}\s*=[^;]*;", scope)
        if inner is None:
            continue
        hidden, rest = integers.bracketed(scope[inner.end() :], "{}")
        before, set_in = scope[: inner.start()], rf"(?<![\w.]){name}\s*(?:[-+*/]?=(?!=)|\+\+|--)"
        if re.search(r"\)\s*$", before):  # if (…) float old = …; is over with its ;
            hidden, rest = "", scope[inner.end() :]
        set_there = re.search(set_in, hidden) or "=" not in outer[0] or not re.search(rf"\b{name}\b", hidden)
        if set_there and re.search(rf"\b{name}\b", rest) and not re.search(set_in, before + rest):
            line = integers.line_of(text, outer.end() + inner.start())
            return (
                f"Line {line} declares another {name}, which ends with the statement or the braces that it stands in: "
                f"the {name} of line {_line(text, outer)} is never changed. Leave the second declaration out."
            )
    return ""


def _same_memory(text: str) -> str:
    """Several arrays that are extern __shared__: each of them is the whole of what the launch gives."""
    arrays = list(re.finditer(r"\bextern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?\w+\s+(\w+)\s*\[\s*\]", text))
    names = list(dict.fromkeys(array[1] for array in arrays))
    if len(names) < 2:
        return ""
    first, second = names[:2]
    lines = f"{_line(text, arrays[0])} and {_line(text, arrays[1])}"
    return (
        f"{first} and {second} (lines {lines}) are the same memory: every array that is extern __shared__ begins where "
        f"the memory of the launch begins. Declare one, and let {second} be a pointer behind the elements of {first}."
    )
