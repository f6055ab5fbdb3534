"""Why a kernel does not compile, where the compiler's words do not say it: proven by the text of the kernel."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from helpers.exercises.framework import integers, text_slips
from helpers.exercises.framework.integers import line_of
from helpers.pictures import theme

BUILT_IN = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "__syncthreads", "__syncwarp", "__shared__", "reinterpret_cast",
)  # fmt: skip
IN_BRACES = "Several statements that belong together stand in braces."
MOST_LETTERS = 2  # of a name that a loop may count by
Span = tuple[int, int]  # a part of the text: where it begins, and where it ends


def explanation(message: str, source: str, solution: str = "") -> str:
    """The sentence that explains why a source does not compile, "" where the compiler's words are all there is.

    solution: the exercise's, which says whether its launch gives shared memory.
    """
    if sentence := _comment_in_formula(message, source):
        return sentence
    for sentence in (
        slip(message, source) for slip in (_of_javascript, _define_as_statement, _colon, _if_behind_value)
    ):
        if sentence:
            return sentence
    for error in message.split("\n\n"):
        if "modifiable lvalue" in error and (
            sentence := _assigned(error, source) or _constant(error, source, solution)
        ):
            return sentence
    if sentence := _given_declared(message, source) or _sized_at_launch(message, source, solution):
        return sentence
    for error in message.split("\n\n"):  # the first one is often the cause of the others
        for pattern, explain in _COMPILER:
            if (match := re.search(pattern, error)) and (sentence := explain(match, source)):
                return sentence
    return ""


def _code(source: str) -> str:
    """A source without its comments, and with spaces in its strings."""
    return text_slips.without_strings(text_slips.without_comments(source))


def _error_lines(message: str) -> list[int]:
    """The lines in which the compiler finds errors."""
    return [int(line) for line in re.findall(r":(\d+): error: ", message)]


# --- names and the part of the text in which they hold


@dataclass(frozen=True)
class Declared:
    """A declaration of a variable.

    position: where its name is.  scope: the part of the text in which it holds.  owner: the head, `if (…)`, whose only
    statement it is, with its position; None where it stands in braces.
    """

    position: int
    scope: Span
    owner: tuple[str, int] | None


_TYPE = re.compile(r"\b(?:float[24]?|double|int|unsigned|bool|auto|size_t|long|char|half|__half)\b(?!\s*[(>*]\s*[)>])")


def _declarations(text: str, name: str) -> Iterator[Declared]:
    """Where a name is declared, but for parameters and the variables of loops."""
    for match in _TYPE.finditer(text):
        before = text[: match.start()]
        if before.count("(") > before.count(")"):
            continue
        statement = text[match.end() :].partition(";")[0]
        position = match.end()
        for part in integers.parts(statement):
            declared = re.match(rf"[\s*]*(?:__restrict__\s+)?{re.escape(name)}\b(?=\s*(?:[=\[]|$))", part)
            if declared:
                at = position + declared.end() - len(name)
                owner = _head_before(
                    re.sub(r"(?:\b(?:const|static|constexpr|unsigned|extern|__shared__)\s*)+$", "", before)
                )
                end = match.end() + len(statement)
                yield Declared(at, (at, end) if owner else _braces_around(text, at), owner)
            position += len(part) + 1


def _head_before(text: str) -> tuple[str, int] | None:
    """The if (…), for (…), while (…) or else with which a text ends, and its place."""
    text = text.rstrip()
    if match := re.search(r"\belse$", text):
        return "else", match.start()
    if not text.endswith(")"):
        return None
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            match = re.search(r"\b(?:if|for|while)\s*$", text[:at])
            return (" ".join(text[match.start() :].split()), match.start()) if match else None
    return None


def _braces_around(text: str, position: int) -> Span:
    """The braces that hold a place, and end after it; the whole text outside of all."""
    depth = 0
    for begin in range(position - 1, -1, -1):
        depth += (text[begin] == "}") - (text[begin] == "{")
        if depth < 0:
            return begin, len(text) - len(integers.bracketed(text[begin + 1 :], "{}")[1])
    return 0, len(text)


def _use(message: str, text: str, name: str) -> int | None:
    """The place at which the compiler does not know a name; None where the line has it by a macro alone."""
    said = re.search(rf':(\d+): error: identifier "{name}" is undefined', message)
    lines = text.split("\n")
    if said is None or int(said[1]) > len(lines):
        return None
    line, pointed = lines[int(said[1]) - 1], _pointed_at(message)
    begin = pointed[2] if pointed is not None and line[pointed[2] :].startswith(name) else 0
    match = re.search(rf"(?<![\w.]){name}\b", line[begin:])
    return sum(len(before) + 1 for before in lines[: int(said[1]) - 1]) + begin + match.start() if match else None


def _unknown_name(match: re.Match[str], source: str) -> str:
    """Why a name is not known where it is used: its loop is over, it is declared below, it ended with its braces, or
    it is another name."""
    name, text = match[1], _code(source)
    use = _use(match.string, text, name)
    if use is None or re.match(rf"{name}\s*=(?!=)", text[use:]) and re.search(r"[;{}(]\s*$", text[:use]):
        return ""  # its type is missing, which the message says
    return (
        _without_operator(text, name, use)
        or _outside_of_kernel(text, name, use)
        or _of_python(text, name, use)
        or _of_two_counters(text, name, use)
        or _of_a_loop(text, name, use)
        or _of_a_declaration(text, name, use)
        or _of_another_counter(text, name, use)
        or _other_spelling(text, name, use)
        or _of_formulas(text, name)
        or _of_another_kernel(text, name, use)
    )  # fmt: skip


def _outside_of_kernel(text: str, name: str, use: int) -> str:
    """That a name of the kernel is used behind the brace that ends it."""
    head = max(text.rfind("__global__", 0, use), 0)
    begin = text.find("{", head)
    behind = integers.bracketed(text[begin + 1 :], "{}")[1]
    end = len(text) - len(behind) - 1
    if (
        begin < 0
        or end >= use
        or not behind
        or not re.search(rf"\b{name}\b", text[head:end])
        or re.search(r"[{}]|\b(?:__device__|template|struct)\b", text[end + 1 : use])
    ):
        return ""
    opened, closed, used = (line_of(text, at) for at in (begin, end, use))
    return (
        f"The brace that line {opened} opens is closed in line {closed}: there the kernel ends, and line {used} is "
        "behind it."
    )


def _of_two_counters(text: str, name: str, use: int) -> str:
    """That the head of a loop begins with one name and counts another one."""
    for head in re.finditer(r"\bfor\s*\(\s*(?:const\s+|unsigned\s+)*(?:int|size_t|unsigned|auto)\s+(\w+)", text):
        opened = text.index("(", head.start()) + 1
        inside, _ = integers.bracketed(text[opened:])
        counted = re.search(rf"(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--|[-+*/]=|>>=|<<=)", inside)
        own = re.search(rf"(?:\+\+|--)\s*{head[1]}\b|\b{head[1]}\s*(?:\+\+|--|[-+*/]=|>>=|<<=)", inside)
        if opened <= use < opened + len(inside) and counted and not own and head[1] != name:
            return f"The loop in line {line_of(text, head.start())} declares {head[1]} and counts {name}."
    return ""


def _of_a_loop(text: str, name: str, use: int) -> str:
    """That a name is the variable of a loop that is over."""
    loops = [
        match
        for match in re.finditer(
            rf"\bfor\s*\(\s*(?:const\s+|unsigned\s+)*(?:int|size_t|unsigned|auto)\s+{name}\b", text
        )
        if match.start() < use < _braces_around(text, match.start())[1]
    ]
    if not loops:
        return ""
    loop = loops[-1]
    line, opened = line_of(text, loop.start()), text.index("(", loop.start()) + 1
    inside, behind = integers.bracketed(text[opened:])
    if behind.lstrip().startswith(";"):
        return f"Line {line} has for ({' '.join(inside.split())}); {text_slips.EMPTY_LOOP}"
    if behind.lstrip().startswith("{"):
        end = line_of(text, len(text) - len(integers.bracketed(behind.lstrip()[1:], "{}")[1]) - 1)
        return f"{name} belongs to the loop in line {line}, and ends with its braces in line {end}."
    only, _, rest = behind.partition(";")
    if re.fullmatch(r"\s*__sync\w+\s*\([^()]*\)", only):
        return (
            f"{name} belongs to the loop in line {line}, and `{only.strip()};` behind for (…) is all that this repeats."
        )
    if not re.search(rf"\b{name}\b", rest.partition(";")[0]):
        return ""
    return (
        f"{name} belongs to the loop in line {line}, and without {{ }} only the one statement behind for (…) is in "
        f"the loop. {IN_BRACES}"
    )


def _of_a_declaration(text: str, name: str, use: int) -> str:
    """That a name is declared too late, or in a part of the text that is over."""
    declared = list(_declarations(text, name))
    below = [
        part for part in declared if part.position > use and part.scope[0] < use < part.scope[1] and part.owner is None
    ]
    if below:
        line, due = line_of(text, below[0].position), line_of(text, use)
        if line != due and (known := _function_of(text, name)):
            lines = f"the function of lines {known[0]} to {known[1]}, and from line {line} on"
            return f"{name} is known in {lines}. Line {due} stands in neither."
        where = f"behind its use in line {due}" if line == due else f"below line {due}, where it is used"
        return f"{name} is declared in line {line}, {where}: C++ reads from top to bottom."
    above = [part for part in declared if part.position < use]
    if declared and not above and declared[0].owner is None:
        line = line_of(text, declared[0].position)
        return f"{name} is declared in line {line}, inside of other braces, and is not known outside of them."
    if not above or any(part.scope[0] < use < part.scope[1] for part in above):
        return ""
    last = above[-1]
    line = line_of(text, last.position)
    if last.owner is not None:
        return _swallowed(text, name, line, *last.owner)
    end = line_of(text, last.scope[1] - 1)
    return f"{name} is declared in line {line}, inside of braces, and ends with them in line {end}."


def _function_of(text: str, name: str) -> tuple[int, int] | None:
    """The first and the last line of the function, or lambda, that has a parameter of a name."""
    for head, names in integers.functions(text):
        brace = re.match(r"\s*(?:const\s*)?\{", text[head.end() :])
        if brace and name in names:
            behind = integers.bracketed(text[head.end() + brace.end() :], "{}")[1]
            return line_of(text, head.start()), line_of(text, len(text) - len(behind) - 1)
    return None


def _swallowed(text: str, name: str, line: int, head: str, position: int) -> str:
    """That a declaration is the only statement of an if, a loop or an else."""
    at = line_of(text, position)
    declared = f"The declaration of {name} in line {line}"
    sentence = f"{declared} is all that `{head}` in line {at} has, and {name} ends with it."
    if head.startswith("if") and re.search(r">=?", head) and at < line:
        return f"{sentence} If these threads are to leave, return; is missing behind the condition."
    return f"{sentence} {IN_BRACES}"


def _of_another_counter(text: str, name: str, use: int) -> str:
    """That a loop declares a name which its body does not have, while the body has one that is not declared."""
    for head in re.finditer(r"\bfor\s*\(\s*(?:const\s+|unsigned\s+)*(?:int|size_t|unsigned|auto)\s+(\w+)", text):
        opened = text.index("(", head.start()) + 1
        inside, behind = integers.bracketed(text[opened:])
        rest = behind.lstrip()
        body = integers.bracketed(rest[1:], "{}")[0] if rest.startswith("{") else rest.partition(";")[0]
        begins = len(text) - len(rest)
        if (
            begins <= use <= begins + len(body) + 1
            and len(name) <= MOST_LETTERS
            and not re.search(rf"\b{head[1]}\b", body)
        ):
            line = line_of(text, head.start())
            return (
                f"The loop in line {line} declares {head[1]}, and what it repeats has {name}, which is not known there."
            )
    return ""


_OF_PYTHON = {
    "print": "print is Python's. A kernel prints by printf, with a text that says how: printf(\"%d\\n\", index);",
    "range": "range is Python's. In C++: for (int k = 0; k < K; ++k)",
    "True": "In C++ it is true, with a small letter.", "False": "In C++ it is false, with a small letter.",
}  # fmt: skip


def _of_python(text: str, name: str, use: int) -> str:
    """What C++ has in place of a name of Python's."""
    called = re.match(r"\s*\(", text[use + len(name) :])
    own = text_slips.types(text, name)
    return _OF_PYTHON.get(name, "") if not own and (called or name in ("True", "False")) else ""


def _without_operator(text: str, name: str, use: int) -> str:
    """That a name is two names of the text, a number and an array, with nothing between them: cA[index]."""
    if not re.match(r"\s*\[", text[use + len(name) :]):
        return ""
    numbers = re.findall(r"\b(?:float|double)\s+(\w+)\s*[,)=;]", text)
    arrays = re.findall(r"\bfloat\s*\*\s*(?:__restrict__\s*)?(\w+)\s*[,)]", text)
    for number in numbers:
        array = name.removeprefix(number)
        if array != name and array in arrays:
            return f"{name} is a name of its own. {number} times an element of {array} is {number} * {array}[…]."
    return ""


# What the formula of a thread's number calls otherwise than CUDA.
_IN_FORMULAS = {
    **{axis: f"threadIdx.{axis}" for axis in "xyz"},
    **{f"b{axis}": f"blockDim.{axis}" for axis in "xyz"},
}


def _of_formulas(text: str, name: str) -> str:
    """What CUDA calls the quantities of a formula, as it stands in a book: x + bx * (y + by * z)."""
    names = [
        other
        for other in _IN_FORMULAS
        if re.search(rf"(?<![\w.]){other}\b", text)
        and not re.search(rf"\b(?!return\b)\w+[\s*&]+{other}\s*[=;,)[]", text)  # declared
    ]
    if name not in names or not {"x", "y", "bx"}.issubset(names):
        return ""
    means = ", ".join(f"{other} is {_IN_FORMULAS[other]}" for other in names)
    return f"If this is the formula of a thread's number, {means}."


def _of_another_kernel(text: str, name: str, use: int) -> str:
    """That nothing of this kernel is called so, with what it has; "" in a function or a structure before it."""
    if use < text.rfind("__global__"):
        return ""
    body = text_slips.last_kernel(text)[1]
    has = [
        other[1]
        for match in _TYPE.finditer(body)
        for part in integers.parts(body[match.end() :].partition(";")[0])
        if (other := re.match(r"[\s*]*(?!(?:int|long|char)\b)(\w+)", part))  # unsigned int i; a variable called half
    ]
    names = [other for other in dict.fromkeys(has) if text_slips.types(body, other)]
    if name in names:
        loops = re.finditer(rf"\bfor\s*\(\s*(?:const\s+|unsigned\s+)*\w+\s+{name}\b", text)
        lines = sorted({line_of(text, loop.start()) for loop in loops})
        if not lines:
            return ""
        of = f"loop in line {lines[0]}" if len(lines) == 1 else f"loops in lines {theme.runs(lines)}"
        return f"{name} is the variable of the {of}, and is not known outside of {'it' if len(lines) == 1 else 'them'}."
    if (
        "__global__" not in text
        or not names
        or text_slips.types(text, name)
        or re.search(rf"(?<![\w.]){name}\s*(?:\(|::|<\s*\w+\s*>)|#define {name}\b|,\s*[*&]?\s*{name}\s*[=;,[{{]", text)
        or re.search(rf"\b(?:const|let|var)\s+{name}\b|\b{name}\b[^;]*=>", text)
    ):
        return ""  # a function, a type, a macro, or a declaration that these words do not know
    declares = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"Nothing in this kernel is called {name}; it declares {declares}."


def _other_spelling(text: str, name: str, use: int) -> str:
    """A name of the text, or of CUDA, that is spelled much like one that is not known, and is known where that is."""
    if len(name) == 1:
        return ""  # every letter is another name
    names = {*BUILT_IN, *re.findall(r"\b[A-Za-z_]\w*\b", text)} - {name}
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.8)
    same = [word for word in sorted(names) if word.lower() == name.lower()]
    if not same and not near:
        return ""
    word = (same or near)[0]
    declared = list(_declarations(text, word))
    if declared:
        known = any(part.position < use and part.scope[0] < use < part.scope[1] for part in declared)
    else:
        known = word in BUILT_IN or bool(_TYPE.fullmatch(word) or text_slips.types(text, word))
        known = known or re.search(rf"#define[ \t]+{word}\b", text) is not None
    return f"Did you mean {word}?" if known else ""


# --- what cannot be changed, and what cannot count


_CARET = re.compile(r":(\d+): error: [^\n]*\n *\d+ \| ([^\n]*)\n *\| ( *)\^")


def _pointed_at(message: str) -> tuple[int, str, int] | None:
    """(line, its text, column from 0) of the first error."""
    pointed = _CARET.search(message)
    return (int(pointed[1]), pointed[2], len(pointed[3])) if pointed else None


def _assigned(message: str, source: str) -> str:
    """What text_slips says of the line in which something is changed that cannot be."""
    sentence, lines = text_slips.explanation(source), _error_lines(message)
    return sentence if lines and sentence.startswith(f"Line {lines[0]} has ") else ""


_CHANGE = r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"


def _constant(message: str, source: str, solution: str) -> str:
    """That a kernel changes what it has declared const, or stores into an array that it may only read."""
    pointed, text = _pointed_at(message), _code(source)
    changed = re.match(r"([A-Za-z_]\w*)(\s*\[)?", pointed[1][pointed[2] :]) if pointed else None
    if pointed is None or changed is None:
        return ""
    number, line, column = pointed
    word = changed[1]
    behind = line[column + changed.end() :]
    behind = integers.bracketed(behind, "[]")[1] if changed[2] else behind
    if not re.match(_CHANGE, behind) and not re.search(r"(?:\+\+|--)\s*$", line[:column]):
        return ""
    given = re.search(rf"\bconst\s+\w+\s*\*\s*(?:__restrict__\s+)?{word}\b", text_slips.last_kernel(text)[0])
    if given and changed[2]:
        results = text_slips.results(text)
        into = f" The result goes into {results[0]}." if results == text_slips.results(solution)[:1] else ""
        return f"{word} is a {' '.join(given[0].split())}: the kernel may read it, and not store into it.{into}"
    declared = re.search(rf"\bconst\s+(?:unsigned\s+)?\w+\s+(?:\w+\s*=[^;,]*,\s*)*{word}\s*=", text)
    again = re.findall(rf"\b(?:int|unsigned|size_t|float|double|bool|auto)\s+{word}\s*[=;,)]", text)
    if declared is None or len(again) > 1:
        return ""
    begin = sum(len(part) + 1 for part in text.split("\n")[: number - 1])
    if counters := _of_two_counters(text, word, begin + column):
        return counters
    at = line_of(text, declared.start())
    return f"{word} is const (line {at}): it keeps its first value. Leave const out in line {at} if it is to change."


def _no_integer(match: re.Match[str], source: str) -> str:
    """That an index is made with a variable of type float."""
    pointed, text = _pointed_at(match.string), _code(source)
    begin = pointed[1].rfind("[", 0, pointed[2] + 1) + 1 if pointed else 0
    if pointed is None or not begin or "]" in pointed[1][begin : pointed[2]]:
        return ""
    index = integers.bracketed(pointed[1][begin:], "[]")[0]
    if re.search(r"\b(?:int|unsigned|size_t|long)\b", index):
        return ""  # what is made a whole number there
    index = re.sub(r"\w+\s*\[[^][]*\]|\w+\s*\([^()]*\)", "", index)
    for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*\()", index):
        declared = re.search(rf"\b(float|double)\s+{name}\s*([=;,)])", text)
        if declared and text_slips.types(text, name) == {declared[1]}:
            line = line_of(text, declared.start())
            return f"{name} is a {declared[1]} (line {line}), and an index is a whole number."
    return ""


# --- what is a triple, what returns nothing, what has its size at the launch


def _without_component(match: re.Match[str], source: str) -> str:
    """threadIdx, blockIdx, blockDim or gridDim where one of its three numbers is needed."""
    text, lines = _code(source), _error_lines(match.string)
    begin = sum(len(line) + 1 for line in text.split("\n")[: lines[0] - 1]) if lines else len(text)
    line = text[begin:].partition("\n")[0]
    alone = re.search(r"\b(threadIdx|blockIdx|blockDim|gridDim)\b(?!\s*\.)", line)
    if alone is None or "argument types are" in match.string:  # of a function that may take all three
        return ""
    return (
        f"Line {lines[0]} has {alone[1]} alone, and that is three numbers, one along each axis. Here one is needed: "
        f"{alone[1]}.x, .y or .z."
    )


def _returns_a_value(match: re.Match[str], source: str) -> str:
    """That a kernel cannot give its result back."""
    text = text_slips.without_comments(source)
    said = re.search(r":(\d+): error: return value type does not match", match.string)
    at = sum(len(line) + 1 for line in text.split("\n")[: int(said[1])]) if said else len(text)
    kernel = text[max(text.rfind("__global__", 0, at), 0) : at]
    if "__global__" not in kernel or re.search(r"\b__device__|\]\s*\([^()]*\)|\bvoid\b", kernel.partition("{")[2]):
        return ""  # another function, or a lambda
    results = text_slips.results(text[:at])
    into = f" into {results[0]}: {results[0]}[…] = …;" if len(results) == 1 else "."
    return f"A kernel returns nothing, it is void. Each thread stores its result{into}"


def _is_of_launch(text: str, name: str) -> bool:
    """Whether a variable is set to what the launch says, and to nothing else: a size of its grid or block, or a
    parameter of the kernel."""
    sets = re.findall(rf"(?<![\w.]){name}\s*(?:[-+*/%]?=(?!=)([^;,]+)|\+\+|--)", text)
    parameters = re.findall(r"\b(?:int|unsigned|size_t)\s+(\w+)\s*[,)]", text_slips.last_kernel(text)[0])
    words = re.findall(r"(?<![\w.])[A-Za-z_]\w*", sets[0]) if sets else [name]
    known = ("blockDim", "gridDim", *parameters)
    return len(sets) <= 1 and any(word in known for word in words) and all(word in (*known, "int") for word in words)


_SHARED_ARRAY = re.compile(
    r"\b(?P<extern>extern\s+)?__shared__\s+(?:__align__\s*\([^)]*\)\s*)?(?P<type>\w+)\s+(?P<arrays>[^;]*\[[^;]*);"
)


def _sized_at_launch(message: str, source: str, solution: str) -> str:
    """That an array in shared memory has no size, or one that the compiler does not know."""
    text = text_slips.without_comments(source)
    arrays = list(_SHARED_ARRAY.finditer(text))
    for match in arrays:
        line, kind = line_of(text, match.start()), match["type"]
        name = re.match(r"\w+", match["arrays"])[0]  # type: ignore[index]
        sizes = " ".join(re.findall(r"\[([^][]*)\]", match["arrays"])).strip()
        unsized = f"extern __shared__ {kind} {name}[];"
        in_line = re.search(rf":{line}: error: (?:incomplete type|expression must have a constant|identifier)", message)
        if not in_line:
            continue
        if not match["extern"] and not sizes and "incomplete type" in message and "extern __shared__" in solution:
            return (
                f"Line {line} declares {name} without a size. Only memory that the launch gives has none, and extern "
                f"says so: {unsized}"
            )
        late = [part for part in re.findall(r"[A-Za-z_]\w*", sizes) if _is_of_launch(text, part)]
        if late and "extern __shared__" in solution:
            known = (
                f"{late[0]} is known at the launch alone, and so is the size of {name}: the launch gives the memory."
            )
            if whole := next(
                (other["arrays"].split("[")[0] for other in arrays if other["extern"] and other != match), ""
            ):
                return f"{known} {whole} is all of it: let {name} be a pointer behind the elements of {whole}."
            declared = dict.fromkeys(re.findall(r"(\w+)\s*\[([^][]*)", ", ".join(other["arrays"] for other in arrays)))
            others = [
                other
                for other, size in declared
                if other != name and any(_is_of_launch(text, part) for part in re.findall(r"[A-Za-z_]\w*", size))
            ]
            pointer = f" It is all of that memory: let {others[0]} be a pointer behind its elements." if others else ""
            return f"{known} Then extern stands before the array, and no size behind it: {unsized}{pointer}"
        if late and not match["extern"] and "constant value" in message:
            return (
                f"{late[0]} is known at the launch alone, and the size of {name} must be known when the kernel is "
                "compiled: as a number, by #define, or as a constexpr int."
            )
    return ""


# --- what else the compiler's words leave open


_JAVASCRIPT = (
    (r"\bfor\s*\(\s*(?:const|let|var)?\s*(\w+)\s+(?:of|in)\b", "`for ({0} of …)` is no loop of C++, which counts: "
     "`for (int {0} = 0; {0} < K; ++{0})`, with the number of its rounds in place of K."),
    (r"=\s*(?:\([\w\s,]*\)|\w+)\s*(=>)", "=> makes no function in C++: write what it returns where it is needed."),
    (r"(=>)", "=> is no operator of C++: >= asks whether a value is as large as another one, or larger."),
    (r"(===|!==)", "{0} is no operator of C++: == asks whether two values are the same, and != whether they are not."),
    (r"\b(let|var)\s+\w+\s*=", "{0} is no word of C++: a variable is declared with its type, int for whole numbers, "
     "and float for others."),
    (r"\b(const)\s+\w+\s*=", "A variable of C++ is declared with its type, which is missing behind {0}: const int for "
     "whole numbers, const float for others."),
)  # fmt: skip


def _of_javascript(message: str, source: str) -> str:
    """A word or a sign of JavaScript in the first line in which the compiler finds an error."""
    number = min(_error_lines(message), default=0)
    text = "".join(_code(source).split("\n")[number - 1 : number])
    for pattern, sentence in _JAVASCRIPT:
        if match := re.search(pattern, text):
            return f"In line {number}: {sentence.format(match[1])}"
    return ""


def _define_as_statement(message: str, source: str) -> str:
    """A ; behind a number that a macro stands for, or a = in front of it, which the compiler meets where it is used."""
    lines = source.split("\n")
    in_error = "\n".join(text for line in _error_lines(message) for text in lines[line - 1 : line])
    for match in re.finditer(r"(?m)^[ \t]*#define[ \t]+(\w+)[ \t]*(=[ \t]*[^\s/][^/\n]*?)[ \t]*(?://.*)?$", source):
        if re.search(rf"\b{match[1]}\b", in_error):
            return (
                f"No = after #define: line {line_of(source, match.start())} puts `{match[2]}` in place of each "
                f"{match[1]} below."
            )
    for match in re.finditer(r"(?m)^[ \t]*#define[ \t]+(\w+)[ \t]+[\w.()+*/ -]+;[ \t]*(?://.*)?$", source):
        used = re.search(rf"\b{match[1]}\b", in_error)
        if used and not re.search(r"\w\s*\(|\+\+|--|\b(?:return|break|continue)\b", match[0].partition(match[1])[2]):
            return (
                f"No ; after #define: line {line_of(source, match.start())} puts everything that follows {match[1]}, "
                f"with its ;, in place of each {match[1]} below."
            )
    return ""


def _comment_in_formula(message: str, source: str) -> str:
    """A // for a division; what the compiler's message says of it already is not said again."""
    known, lines = "// begins a comment" in message, source.splitlines()
    for number, line in enumerate(lines, 1):
        following = next(
            (n for n, other in enumerate(lines[number:], number + 1) if other.split("//")[0].strip()), number
        )
        if not {number, following}.intersection(_error_lines(message)):
            continue
        code, slashes, rest = line.partition("//")
        if re.match(r"\s*(?:\}\s*)?(?:if|else|for|while|do)\b", code):
            continue  # what follows such a head is a comment
        if following > number and re.match(r"\s*[-+*/%&|?:.,)]", lines[following - 1]):
            continue  # there the formula goes on
        if slashes and re.search(r"[\w)\]]\s*$", code) and re.match(r"\s*[\w(][^;]*;[;\s]*$", rest) and "=" in code:
            unread = f"in line {number} is not read."
            if known:
                return f"What follows // {unread}"
            return f"// begins a comment in C++: what follows it {unread}"
    return ""


def _colon(_: str, source: str) -> str:
    """A colon behind the head of an if or a loop, as in Python."""
    text = _code(source)
    for match in re.finditer(r"\b(if|for|while)\s*(\()|\b(else)\s*(?=:)", text):
        behind = integers.bracketed(text[match.end() :])[1] if match[2] else text[match.end() :]
        if re.match(r" *:(?!:)", behind):
            word = match[3] or f"{match[1]} (…)"
            return (
                f"Line {line_of(text, match.start())} has a colon behind {word}. In C++ there is none: one statement "
                "follows, or several in braces { }."
            )
    return ""


def _if_behind_value(_: str, source: str) -> str:
    """Python's `a if b else c`."""
    text = _code(source)
    match = re.search(r"=(?!=)\s*([^;={}\n]*[\w)\]])\s+if\b([^;{}\n]*?)\belse\b\s*([^;{}\n]*);", text)
    if match is None:
        return ""
    value, condition, other = (part.strip() for part in match.groups())
    return (
        f"Line {line_of(text, match.start())} has if behind a value, as Python does. In C++ the condition comes first: "
        f"({condition}) ? {value} : {other}"
    )


def _given_declared(message: str, source: str) -> str:
    """An element of an array of the parameters that is declared where it is to be stored: float C[index] = …"""
    text = text_slips.without_comments(source)
    for given in text_slips.results(text):
        for match in re.finditer(rf"\bfloat\s+{given}\s*(\[[^;=]*[A-Za-z_][^;=]*\])\s*=(?!\s*\{{)", text):
            line = line_of(text, match.start())
            if line in _error_lines(message) and match.start() > text.rfind("__global__"):
                return (
                    f"With its type in front, line {line} declares another {given}. {given} is there already; leave "
                    f"the type out: {given}{match[1]} = …;"
                )
    return ""


def _alone(match: re.Match[str], source: str) -> str:
    """The name of an array without an index, where one of its floats is needed, or the number that is called nearly
    so."""
    head = text_slips.last_kernel(text_slips.without_comments(source))[0]
    arrays = re.findall(r"\bfloat\s*\*\s*(?:__restrict__\s*)?(\w+)", head)
    pointed = _pointed_at(match.string)
    if pointed is None:
        return ""
    at = re.match(r"\w+\b(?!\s*[\[,)])", pointed[1][pointed[2] :]) or re.search(
        r"\w+(?=\s*$)", pointed[1][: pointed[2]]
    )
    alone = [name for name in arrays if at is not None and at[0] == name]
    if not alone:
        return ""
    numbers = re.findall(r"\b(?:float|int)\s+(\w+)\s*[,)]", head)
    other = next((name for name in numbers if name != alone[0] and name.lower() == alone[0].lower()), None)
    if other is not None:
        return f"{alone[0]} is an array; the number is called {other}, and C++ tells capital letters from small ones."
    return _POINTER_ALONE.format(alone[0])


_POINTER_ALONE = (
    "The name of an array alone is a pointer, the place where its floats begin; one of its floats has an index, as in "
    "{0}[i]."
)


def _in_round_brackets(_: re.Match[str], source: str) -> str:
    """An element of an array with its index in round brackets."""
    text = text_slips.without_comments(source)
    head, body = text_slips.last_kernel(text)
    for name in re.findall(r"\bfloat\s*\*\s*(?:__restrict__\s*)?(\w+)", head):
        if called := re.search(rf"(?<![\w.]){name}\s*\(([^(),]*)\)", body):
            return (
                f"{called[0]} calls a function, and {name} is an array: its index stands in square brackets, "
                f"{name}[{called[1].strip()}]."
            )
    return ""


def _of_line(pattern: str, sentence: str) -> Callable[[re.Match[str], str], str]:
    """The sentence for an error whose line has a pattern."""
    return lambda match, _: sentence if re.search(pattern, match.string) else ""


def _atomic(match: re.Match[str], _: str) -> str:
    """What an atomic function was given in place of an address and a value."""
    first, second = [*match[2].replace("const ", "").split(", "), ""][:2]
    if "[" not in first and first.count("*") != 1:
        has = "a value" if "*" not in first else "the address of a pointer"
        return (
            f"{match[1]} takes first the address of what is changed, and here the first argument is {has}. A parameter "
            "float *total is an address itself; that of one element of it is &total[i]."
        )
    if "*" in second:
        return (
            f"{match[1]} takes one address, that of what is changed, and here the second argument is an address, too: "
            "one element of an array has an index."
        )
    return ""


def _already_declared(match: re.Match[str], source: str) -> str:
    """That a result, an array of the kernel's parameters, is declared once more."""
    text, name = text_slips.without_comments(source), match[2]
    begin = text.rfind("__global__")
    if name not in text_slips.results(text) or int(match[1]) <= line_of(text, text.find("{", max(begin, 0))):
        return ""
    return (
        f"{name} is an array that the kernel is given, and is declared by that. To store into it, leave the type "
        f"out and say where: {name}[…] = …;"
    )


def _order_of_fragments(match: re.Match[str], _: str) -> str:
    """That the fragments of a call of mma_sync stand in another order."""
    kinds = re.findall(r"\b(accumulator|matrix_a|matrix_b)\b", match[1])
    if kinds == ["accumulator", "matrix_a", "matrix_b", "accumulator"]:
        return ""
    return "mma_sync takes the sums, the fragment of A, the fragment of B and the sums again, in this order."


_FLOAT4_BY_VALUE = _of_line(
    r"reinterpret_cast\s*<\s*(?:const\s+)?float4\s*>",
    "Four neighbouring floats are a float4 through a pointer: take the address of the first, cast it, and follow it. "
    "Reading, that is *reinterpret_cast<const float4 *>(&B[i]).",
)


def _said_line(match: re.Match[str], source: str) -> str:
    return text_slips.without_comments(source).split("\n")[int(match[1]) - 1]


def _pointer_without_star(match: re.Match[str], source: str) -> str:
    """A float that is declared where a pointer is meant."""
    declared = re.findall(r"\bfloat\s+(\w+)\s*=\s*([^;,]+);", _said_line(match, source))
    if len(declared) != 1:
        return ""
    name, first = declared[0]
    pointed = _pointed_at(match.string)
    if pointed is not None and not pointed[1][pointed[2] :].startswith(first.strip()):
        return ""
    return (
        f"`{first.strip()}` is an address, and line {match[1]} declares {name} as a float. A pointer is declared with "
        f"a star: {match[2] or ''}float *{name} = {first.strip()};"
    )


def _float_for_pointer(match: re.Match[str], source: str) -> str:
    """An element where its address is meant."""
    declared = re.findall(r"\*\s*(?:const\s+)?(\w+)\s*=\s*((\w+)\s*\[[^;,]*\])\s*;", _said_line(match, source))
    if len(declared) != 1:
        return ""
    name, element, array = declared[0]
    given = rf"\bconst\s+float\s*\*\s*(?:__restrict__\s*)?{array}\b"
    const = "const " if re.search(given, text_slips.without_comments(source)) else ""
    return (
        f"{element} is a float, and {name} in line {match[1]} is a pointer: it takes the address of that float, "
        f"{const}float *{name} = &{element};"
    )


def _array_for_pointer(match: re.Match[str], source: str) -> str:
    """An array that is declared where a pointer to another one is meant."""
    declared = re.search(r"\b(\w+)\s+(\w+)\s*\[\s*\]\s*=\s*(([A-Za-z_]\w*)[^;{,]*);", _said_line(match, source))
    if declared is None:
        return ""
    kind, name, other, first = declared.groups()
    text = text_slips.without_comments(source)
    if re.search(r"[\[(]", other) or not re.search(rf"\b{kind}\s*\*\s*{first}\b|\b{kind}\s+{first}\s*\[", text):
        return ""
    const = "const " if re.search(rf"\bconst\s+{kind}\s*\*\s*{first}\b", text) else ""
    return (
        f"{name}[] in line {match[1]} is an array of its own, and cannot be another one's memory. A pointer can: "
        f"{const}{kind} *{name} = {other.strip()};"
    )


def _extern_alone(match: re.Match[str], source: str) -> str:
    """Memory that the launch gives, without the word that it is shared."""
    declared = re.search(r"\bextern\s+(?!__shared__)(\w+)\s+(\w+)\s*\[\s*\]\s*;", _said_line(match, source))
    if declared is None:
        return ""
    kind, name = declared.groups()
    return f"What the launch gives is shared memory, and is declared so: extern __shared__ {kind} {name}[];"


# What the compiler says, and the sentence for a source about which it says that; "" where it does not follow.
_COMPILER: tuple[tuple[str, Callable[[re.Match[str], str], str]], ...] = (
    (r'identifier "(\w+)" is undefined', _unknown_name),
    (r"\b(?:dim3|uint3)\b", _without_component),
    (r"return value type does not match", _returns_a_value),
    (r':(\d+): error: a value of type "(const )?float \*" cannot be used to initialize an entity of type '
     r'"(?:const )?float"', _pointer_without_star),
    (r':(\d+): error: a value of type "(const )?float" cannot be used to initialize an entity of type '
     r'"(?:const )?float \*"', _float_for_pointer),
    (r':(\d+): error: initialization with "{...}" expected for aggregate', _array_for_pointer),
    (r":(\d+): error: A namespace scope variable without memory space", _extern_alone),
    (r"must have integral", _no_integer),
    (r':(\d+): error: "(\w+)" has already been declared', _already_declared),
    (r'must have arithmetic|cannot be assigned to an entity of type "(?:const )?float \*"', _alone),
    (r"must have \(pointer-to-\) ?function type", _in_round_brackets),
    (r'invalid type conversion|cast to type "float4" is not allowed', _FLOAT4_BY_VALUE),
    (r"no suitable (?:constructor|conversion)[^\n]*float4", _FLOAT4_BY_VALUE),
    (r'function "(atomic\w+)" matches[^\n]*\n\s*argument types are: \((.*)\)', _atomic),
    (r'"nvcuda::wmma::mma_sync" matches[^\n]*\n\s*argument types are: (.*)', _order_of_fragments),
    (r'no operator "(?:\+=|\+|\*|-)" matches[^\n]*\n\s*operand types are: [^*\n-][^\n]*\bfloat4\b|'
     r'no operator "(?:\+=|\+|\*|-)" matches[^\n]*\n\s*operand types are: (?:const )?float4\b', lambda *_:
        "A float4 is four floats, and C++ neither adds nor multiplies them at once: name its parts, v.x, v.y, v.z and "
        "v.w.",
    ),
)  # fmt: skip
