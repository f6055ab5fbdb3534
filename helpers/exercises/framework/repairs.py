"""A cause that is proven by trying it: one small change of one line with which a wrong kernel is right.

Each candidate undoes a usual slip at one place: x and y exchanged, the indices of an element, the length of a row, a
comparison, a summand too many or too few, a line or a barrier that is missing. Only lines that the solution does not
have are changed; it is read with the learner's names for its variables. What is said of the one that passes is true
whatever the learner meant: with it the kernel is right.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import combinations
from os.path import commonprefix

from helpers.exercises.framework import integers
from helpers.pictures import theme

PROVEN = "the kernel is right."  # the end of every sentence
TRADED = "have changed places"  # of names that are declared by one another's expressions
REACHED = "the goal is reached."  # the end where the kernel is right already
MOST = 16  # candidates that are compiled and launched
AFTER = 4  # lines behind those that race, in which a barrier may belong
NEAR, MOST_LINES = 0.6, 3  # how alike lines are that are compared, and how many are changed together
_AXIS = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\.([xy])\b")
_PAIRS = re.compile(r"\b(\w+)(\[(?:[^][]|\[[^][]*\])*\])(\[(?:[^][]|\[[^][]*\])*\])")
_PRODUCT = re.compile(r"\[([^][*+]+|\([^()]*\)) \* (\w+) \+ ([^][*]+)\]")
_COMPARED = re.compile(r"(?<=[\w)\]] )(<=|>=|<|>)(?= )")
_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_ACCESS = re.compile(r"\w+(?:\[(?:[^][]|\[[^][]*\])*\])+")
_BARRIER = "__syncthreads();"
_SIZE = r"[A-Z][A-Z\d_]*"

Change = tuple[int, int, str]  # where it begins and ends in the line, and the text in its place


def explained(
    source: str,
    solution: str,
    passes: Callable[[str], bool],
    towards: Collection[str] | None = None,
    racing: Collection[int] = (),
    stopped: int | None = None,
    stored: Collection[int] = (),
    computes: Callable[[str], bool] = lambda source: False,
) -> str:
    """The sentence of the first candidate that passes, "" if none does.

    Args:
        passes: Whether a source is right in all cases, and reaches the goals.
        towards: Only candidates that have these lines of the solution.
        racing: The lines that race for shared memory, between which a barrier may be missing.
        stopped: The line in which a thread was stopped: one that is put in behind it would only make the compiler leave
            it out.
        stored: The lines in which several threads store to one element.
        computes: Whether a source is right, whatever it reaches: it tells the one line that is wrong from those that
            only cost time, where several had to be changed together.
    """
    tried = {source: ""}
    solution = with_names_of(source, solution)
    most_loops = max(_loops(source), _loops(solution))  # a loop in a loop repeats work
    for sentence, lines in _candidates(source.splitlines(), solution, towards, racing, stopped, stored):
        changed = "\n".join([*lines, ""])
        if len(tried) > MOST:
            break
        if changed not in tried and _loops(changed) <= most_loops:
            if passes(changed):
                several = sum((Counter(lines) - Counter(source.splitlines())).values()) > 1
                single = (said for text, said in tried.items() if said and several and computes(text))
                return next(single, sentence)
            tried[changed] = sentence
    return ""


def _loops(text: str) -> int:
    return len(re.findall(r"\bfor\s*\(", _without_comments(text)))


_DECLARED = re.compile(r"(?<![\w.])(int|unsigned|float|double)\s+(\w+)\s*=\s*([^;]*);")
_DECLARATION = re.compile(rf"\s*(?:const\s+)?{_DECLARED.pattern}\s*")  # a line that is one, and nothing else


def with_names_of(source: str, solution: str, text: str | None = None) -> str:
    """The solution, or a text with its variables, with the names that a source gives to the same ones.

    The same are a variable that only the solution declares and one that only the source does, both with the same type:
    those whose first values have most words in common, and fewest that the other has not. In a function in which the
    source has the solution's name, too, it stays.
    """
    names = _same_variables(_without_comments(source), _without_comments(solution))
    text, renamed, end = solution if text is None else text, [], 0
    own = {
        name: set(re.findall(r"(?<![\w.])\w+", _without_comments(source[begin:stop])))
        for name, begin, stop in _functions(source)
    }

    def with_names(part: str, kept: Collection[str] = ()) -> str:
        other = {name: its for name, its in names.items() if name not in kept}
        return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda word: other.get(word[0], word[0]), part)

    for name, begin, stop in _functions(text):
        renamed += [with_names(text[end:begin]), with_names(text[begin:stop], own.get(name, ()))]
        end = stop
    return "".join([*renamed, with_names(text[end:])])


def _functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, where it begins with its parameters, where it ends) of each function."""
    bare, end = re.sub(r"//.*", lambda comment: " " * len(comment[0]), text), 0
    for head in re.finditer(r"\b(\w+)\s*\([^;{}]*\)\s*\{", bare):
        if head.start() >= end:
            end = len(bare) - len(integers.bracketed(bare[head.end() :], "{}")[1])
            yield head[1], head.end(1), end


def _same_variables(source: str, solution: str) -> dict[str, str]:
    """By the names that only the solution declares those of the same variables in the source."""
    own, due = _variables(source), _variables(solution)
    names: dict[str, str] = {}
    spans = [slice(begin, stop) for _, begin, stop in _functions(solution)] or [slice(None)]
    near = {name: " ".join(solution[span] for span in spans if name in _variables(solution[span])) for name in due}

    def likeness(pair: tuple[str, str]) -> int:
        first = Counter({names.get(word, word): count for word, count in due[pair[0]][1].items()})
        other = own[pair[1]][1]
        return 2 * (first & other).total() - (first - other).total() - (other - first).total()

    def may_be_same(pair: tuple[str, str]) -> bool:
        first = {names.get(word, word) for word in due[pair[0]][1]}
        return due[pair[0]][0] == own[pair[1]][0] and not first.isdisjoint(own[pair[1]][1])

    pairs = [
        (name, other)
        for name in due
        for other in own
        if name not in own and other not in due and not re.search(rf"(?<![\w.]){other}\b", near[name])
    ]
    while likely := [pair for pair in pairs if may_be_same(pair)]:
        name, other = max(likely, key=likeness)
        names[name] = other
        pairs = [pair for pair in pairs if pair[0] != name and pair[1] != other]
    return names


def _variables(text: str) -> dict[str, tuple[str, Counter[str]]]:
    """The variables that a text without comments declares, each with its type and the words of its first value."""
    return {
        name.partition("[")[0].strip(): (kind, _words(name.partition("[")[2] + first))
        for kind, declarators in re.findall(
            r"(?<![\w.])(int|unsigned|float|double)\s+(\w+\s*(?:\[[^;=]*\]\s*)?=[^;]*);", text
        )
        for name, _, first in (part.partition("=") for part in integers.parts(declarators))
    }


def _words(expression: str) -> Counter[str]:
    """The words of an expression; 0 is 0.0f."""
    return Counter(re.findall(r"[\w.]+", re.sub(r"\b0(?:\.0*f?)?(?![\w.])", "0", expression)))


def _without_comments(text: str) -> str:
    return "\n".join(line.split("//")[0] for line in text.splitlines())


def _candidates(
    lines: list[str],
    solution: str,
    towards: Collection[str] | None,
    racing: Collection[int],
    stopped: int | None,
    stored: Collection[int],
) -> Iterator[tuple[str, list[str]]]:
    """(what is said of it, the lines with it), the likeliest first."""
    foreign, sizes = _foreign_lines(lines, solution), _sizes(solution)
    barrier_missing = sum(_BARRIER in line.split("//")[0] for line in lines) < solution.count(_BARRIER)
    places = _places_for_barriers(lines, solution)
    if stored and towards is None:
        yield from _by_fewer_threads(lines, solution, stored)
    if racing and towards is None:
        yield from _barriers_as_in_the_solution(lines, solution.splitlines())
    if racing and towards is None and barrier_missing:
        yield from _with_barrier(lines, [n for n in places if min(racing) <= n < max(racing) + AFTER])
        yield from _with_barrier(lines, [n for n in places if n >= max(racing) + AFTER])  # behind a body of many lines
    if racing and towards is None:
        yield from _barrier_exchanged(lines)
    if towards is None:
        yield from _as_in_another_line(lines)
    yield from _as_in_the_solution(lines, foreign, solution.splitlines() if towards is None else towards)
    if racing and towards is None:
        yield from _with_barriers_too(lines, foreign, solution.splitlines())
    if towards is not None:
        return
    yield from _one_line_moved(lines, solution.splitlines())
    yield from _one_line_more(lines, solution.splitlines(), foreign, stopped)
    yield from _one_line_less(lines, foreign)
    axes = {axis[0] for axis in _AXIS.finditer(solution)}
    for kind in (_axes, _indices, _lengths, _comparisons, _summands):
        for number in foreign:
            line = lines[number - 1]
            for begin, end, other in kind(line.split("//")[0], sizes):
                if kind is _axes and not axes.issuperset(axis[0] for axis in _AXIS.finditer(other)):
                    continue  # an axis that the launch may not have: it would be right by a 0
                changed = line[:begin] + other + line[end:]
                yield _sentence(number, line, changed), [*lines[: number - 1], changed, *lines[number:]]
    if barrier_missing:
        yield from _with_barrier(lines, reversed(places))


def _by_fewer_threads(lines: list[str], solution: str, stored: Collection[int]) -> Iterator[tuple[str, list[str]]]:
    """A condition of the solution's on some statements, each of which is one line."""
    if any(not lines[at - 1].split("//")[0].rstrip().endswith(";") for at in stored):
        return
    for head in re.finditer(r"\bif\s*\(", solution):
        condition = f"if ({integers.bracketed(solution[head.end() :])[0]})"
        if not any(code(condition) in code(lines[at - 1]) for at in stored):
            several = "s" * (len(stored) > 1)
            where = f"the statement{several} in line{several} {theme.runs(sorted(stored))}"
            changed = [f"{condition} {line.lstrip()}" if at in stored else line for at, line in enumerate(lines, 1)]
            yield f"With `{condition}` before {where} {PROVEN}", changed


def _with_barrier(lines: list[str], numbers: Iterable[int]) -> Iterator[tuple[str, list[str]]]:
    """A barrier behind each of some lines in turns."""
    for number in numbers:
        yield f"With {_BARRIER} behind line {number} {PROVEN}", [*lines[:number], _BARRIER, *lines[number:]]


def _places_for_barriers(lines: list[str], solution: str) -> list[int]:
    """The lines of the kernel in which a statement ends, in as many loops as some barrier of the solution is in.

    In more loops it would be passed more often than is needed, and in a function it is not where it is missing.
    """
    depths = _depths(lines)
    due = {
        depth
        for line, depth in zip(solution.splitlines(), _depths(solution.splitlines()), strict=True)
        if _BARRIER in line.split("//")[0]
    }
    ends = (line.split("//")[0].rstrip().endswith((";", "}")) for line in lines)
    return [n for n, (end, depth) in enumerate(zip(ends, depths, strict=True), 1) if end and depth in due]


def _depths(lines: list[str]) -> list[int]:
    """In how many loops the end of each line of the kernel is; -1 in a condition or a function, and outside."""
    text = "\n".join(line.split("//")[0] for line in lines)
    ends = [match.start() for match in re.finditer(r"\n|\Z", text)]
    bodies = [
        (match.end(), len(text) - len(integers.bracketed(text[match.end() :], "{}")[1]) - 1)
        for match in re.finditer(r"__global__[^{;]*\{|\]\s*\([^()]*\)\s*\{", text)
    ]
    kernel, *functions = sorted(bodies) or [(0, len(text))]
    loops = [(start, end) for _, start, end, _ in integers.loops(text)]
    depths = []
    for at in ends:
        depth = sum(start < at < end for start, end in loops)
        braces = text[kernel[0] : at].count("{") - text[kernel[0] : at].count("}")
        outside = not kernel[0] <= at <= kernel[1] or any(start <= at <= end for start, end in functions)
        depths.append(-1 if outside or braces > depth else depth)
    return depths


def _barrier_exchanged(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """A barrier and the statement before it, or behind it, in the other order."""
    for number, line in enumerate(lines, 1):
        if code(line) != _BARRIER:
            continue
        for first in (number - 1, number):
            pair = lines[first - 1 : first + 1]
            if len(pair) == 2 and all(text.split("//")[0].rstrip().endswith(";") for text in pair):
                said = " and ".join(f"`{text.split('//')[0].strip()}`" for text in pair)
                yield (
                    f"With lines {first} and {first + 1} exchanged, {said}, {PROVEN}",
                    [*lines[: first - 1], *reversed(pair), *lines[first + 1 :]],
                )


def _aligned(lines: list[str], solution: list[str]) -> dict[int, int]:
    """The number of a line of the solution -> the number of the line that stands in its place, as far as the order of
    the lines with code tells it."""
    numbers, codes = zip(*(_with_code(text) for text in (lines, solution)), strict=True)
    aligned = {}
    for kind, i, j, k, m in difflib.SequenceMatcher(None, *codes, autojunk=False).get_opcodes():
        if kind == "equal" or kind == "replace" and j - i == m - k:
            aligned |= dict(zip(numbers[1][k:m], numbers[0][i:j], strict=True))
    return aligned


def _with_code(lines: list[str]) -> tuple[list[int], list[str]]:
    """The lines with code: their numbers, and their code."""
    known = [(number, code(line)) for number, line in enumerate(lines, 1) if code(line)]
    return [number for number, _ in known], [bare for _, bare in known]


def _barriers_as_in_the_solution(
    lines: list[str], solution: list[str], few: int = 2
) -> Iterator[tuple[str, list[str]]]:
    """All barriers where the solution has them, where so many at least are not there yet, or elsewhere."""
    bare, due = ([line if code(line) != _BARRIER else "" for line in text] for text in (lines, solution))
    aligned, places = _aligned(bare, due), []
    for number, line in enumerate(solution, 1):
        if code(line) == _BARRIER:
            above = next((at for at in range(number - 1, 0, -1) if code(due[at - 1])), 0)
            if above not in aligned or _is_head(code(due[above - 1])):
                return
            places.append(aligned[above])
    own = [at for at, line in enumerate(lines, 1) if code(line) == _BARRIER]
    behind = {next((n for n in range(at - 1, 0, -1) if code(bare[n - 1])), 0): at for at in own}
    more, fewer = [at for at in places if at not in behind], [behind[at] for at in behind if at not in places]
    if not more or len(more) + len(fewer) < few:
        return
    without = f", and without {_lines(fewer)}," if fewer else ""
    changed = [
        "\n".join([*([] if at in fewer else [line]), *([_BARRIER] if at in more else [])])
        for at, line in enumerate(lines, 1)
    ]
    yield f"With {_BARRIER} behind {_lines(more)}{without} {PROVEN}", changed


def _with_barriers_too(lines: list[str], foreign: list[int], solution: list[str]) -> Iterator[tuple[str, list[str]]]:
    """A line that is nearly one of the solution's, made that one, and its barriers."""
    for number, other in _near(lines, foreign, solution):
        changed = [*lines[: number - 1], other, *lines[number:]]
        for said, whole in _barriers_as_in_the_solution(changed, solution, few=1):
            mine, due = _fragments(lines[number - 1], other)
            yield f"In line {number}, `{mine}`: with `{due}` in its place, and w{said.removeprefix('W')}", whole


def _one_line_moved(lines: list[str], solution: list[str]) -> Iterator[tuple[str, list[str]]]:
    """A line of the solution's that stands elsewhere, moved to where the solution has it."""
    aligned = _aligned(lines, solution)
    placed = set(aligned.values())
    for number, line in enumerate(solution, 1):
        bare = code(line)
        if not bare.endswith(";") or number in aligned:
            continue
        above = next((at for at in range(number - 1, 0, -1) if code(solution[at - 1])), 0)
        here = [at for at, other in enumerate(lines, 1) if at not in placed and code(other) == bare]
        if len(here) != 1 or above not in aligned or _is_head(code(solution[above - 1])):
            continue
        if _is_head(_above(list(map(code, lines)), here[0] - 1)):
            continue  # what follows would be the body
        rest = ["" if at == here[0] else other for at, other in enumerate(lines, 1)]
        behind = aligned[above]
        text = line.split("//")[0].strip()
        yield (
            f"With line {here[0]}, `{text}`, moved behind line {behind} {PROVEN}",
            [*rest[:behind], lines[here[0] - 1], *rest[behind:]],
        )


def _as_in_another_line(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The variable of a loop times a size, where an index has it alone and one in another line has the product.

    All lines are asked: one of the solution's is wrong in a loop that counts otherwise.
    """
    codes = [line.split("//")[0] for line in lines]
    for name in dict.fromkeys(re.findall(r"\bfor\s*\(\s*int\s+(\w+)", "\n".join(codes))):
        alone = re.compile(rf"(?<![\w.*])(?<!\* ){name}\b(?! ?[\w.*\[])(?=[^][]*\])")
        products = dict.fromkeys(re.findall(rf"\[[^][]*\b({name} \* {_SIZE}|{_SIZE} \* {name})\b", "\n".join(codes)))
        for number, line in enumerate(codes, 1) if len(products) == 1 else ():
            changed = alone.sub(next(iter(products)), line)
            if changed != line and name not in re.sub(r"\[[^][]*\]", "", line):
                yield _sentence(number, line, changed), [*lines[: number - 1], changed, *lines[number:]]


def _as_in_the_solution(
    lines: list[str], foreign: list[int], solution: Collection[str]
) -> Iterator[tuple[str, list[str]]]:
    """A line that is nearly one of the solution's, made that one; then all such lines together.

    A declaration is not made a statement: what it declares would be missing, or of no use.
    """
    pairs = list(_near(lines, foreign, solution))
    for number, other in pairs:
        yield _sentence(number, lines[number - 1], other), [*lines[: number - 1], other, *lines[number:]]
    for count in range(2, min(len(pairs), MOST_LINES) + 1):
        for chosen in combinations(pairs, count):
            changed = dict(chosen)
            names, rest = _exchanged([(lines[number - 1], other) for number, other in chosen])
            parts = dict.fromkeys(_fragments(line, other) for line, other in rest)
            with_these = [f"`{other}` for `{mine}`" for mine, other in parts]
            said = f"With {' and '.join(with_these)}"
            if names:
                said = f"{names} {TRADED}: with {' and '.join(['the one for the other', *with_these])}"
            yield (
                f"{said} in {_lines(list(changed))} {PROVEN}",
                [changed.get(number, line) for number, line in enumerate(lines, 1)],
            )


def _near(lines: list[str], foreign: list[int], solution: Collection[str]) -> Iterator[tuple[int, str]]:
    """The lines that are nearly one of the solution's, by number, and that one, without its comment."""
    mine, missing = Counter(map(code, lines)), []
    for line in solution:
        mine[code(line)] -= 1
        if code(line) and mine[code(line)] < 0:
            missing.append(line.split("//")[0].rstrip())
    for number in foreign:
        text = lines[number - 1].split("//")[0].rstrip()
        near = difflib.get_close_matches(text, missing, n=1, cutoff=NEAR)
        if near and not (_DECLARATION.fullmatch(text) and not _DECLARED.search(near[0])):
            yield number, near[0]


_NAMED = re.compile(r"\s*(?:const\s+)?int\s+(\w+)\s*=\s*(.*?)\s*;")


def _exchanged(pairs: list[tuple[str, str]]) -> tuple[str, list[tuple[str, str]]]:
    """'row and col' of lines that declare the same names by the same expressions, each by another's, and the other
    lines; "" and all lines if there are none."""
    named = [pair for pair in pairs if all(map(_NAMED.match, pair))]
    sides = [[_NAMED.match(line) for line in side] for side in zip(*named, strict=True)] or [[], []]
    mine, due = ({match[1]: code(match[2]) for match in side} for side in sides)  # type: ignore[index]
    if mine == due or mine.keys() != due.keys() or sorted(mine.values()) != sorted(due.values()):
        return "", pairs
    return " and ".join(mine), [pair for pair in pairs if pair not in named]


_ASSIGNED = re.compile(r"(?:else\b)?(?:[A-Za-z_]\w*\s+)*((?:\*\s*)?\w+\s*(?:\[[^=]*\])?)\s*=(?!=)\s*(.*);")


def _sets(line: str) -> tuple[str, str]:
    """The variable, or the element, that a line sets, and to what; ("", "") for another line."""
    text = line.split("//")[0].strip()
    while head := re.match(r"(?:for|if|while)\s*\(", text):
        text = integers.bracketed(text[head.end() :])[1].lstrip()
    match = _ASSIGNED.match(text)
    return (code(match[1]), match[2]) if match else ("", "")


def _one_line_more(
    lines: list[str], solution: list[str], foreign: list[int], stopped: int | None
) -> Iterator[tuple[str, list[str]]]:
    """A line of the solution that is missing, in place of one that sets the same variable, which else would be in vain,
    or in front of each line like the one that it stands before there.

    First where the line above is like the one above it there, too: a `}` is before many lines.
    """
    mine = [code(line) for line in lines]
    missing = Counter(map(code, solution)) - Counter(mine)
    for number, line in enumerate(solution):
        bare = code(line)
        above, following = (
            next((other for other in map(code, some) if other), "")
            for some in (solution[:number][::-1], solution[number + 1 :])
        )
        if bare and missing[bare]:
            text = line.split("//")[0].strip()
            name = _sets(text)[0]
            same = [at for at in foreign if name and _sets(lines[at - 1])[0] == name]
            for at in same:
                yield _sentence(at, lines[at - 1], line), [*lines[: at - 1], line, *lines[at:]]
            if any(not re.fullmatch(r"[\d.]+f?|\{\}", _sets(lines[at - 1])[1]) for at in same):
                continue
            yield from _in_place_of_all(lines, foreign, line, name, stopped)
            places = [n for n, other in enumerate(mine) if other == following]
            for at in sorted(places, key=lambda n: above != _above(mine, n)):
                if above != _above(mine, at) and _is_head(_above(mine, at)):
                    continue  # it would be the body in place of what is
                yield f"With `{text}` in front of line {at + 1} {PROVEN}", [*lines[:at], line, *lines[at:]]


def _in_place_of_all(
    lines: list[str], foreign: list[int], line: str, name: str, stopped: int | None
) -> Iterator[tuple[str, list[str]]]:
    """A line of the solution in place of those that set elements of the same variable, which it would else overwrite,
    and of the one in which a thread was stopped.

    name: what it sets.
    """
    base = re.sub(r"\W.*", "", name.lstrip("*"))
    sets = rf"(?<![\w.]){base}\s*(?:\[[^=;]*\])?\s*=(?!=)"
    numbers = [at for at in foreign if base and (at == stopped or re.search(sets, lines[at - 1].split("//")[0]))]
    if len(numbers) == 1:
        yield _sentence(numbers[0], lines[numbers[0] - 1], line), [*lines[: numbers[0] - 1], line, *lines[numbers[0] :]]
    elif numbers:
        kept = [line if at == numbers[0] else "" if at in numbers else text for at, text in enumerate(lines, 1)]
        yield f"With `{line.split('//')[0].strip()}` in place of {_lines(numbers)} {PROVEN}", kept


def _above(codes: list[str], at: int) -> str:
    """The last of the first lines that has code."""
    return next(filter(None, codes[:at][::-1]), "")


def _is_head(line: str) -> bool:
    """Whether the body of a line's head is the statement in the next line."""
    return line.endswith((")", "else"))


def _one_line_less(lines: list[str], foreign: list[int]) -> Iterator[tuple[str, list[str]]]:
    """A line that the solution does not have, left out. After a head without a brace it stays: what follows would be
    the body."""
    for number in foreign:
        text = lines[number - 1].split("//")[0].strip()
        if text.endswith(";") and not _is_head(_above(list(map(code, lines)), number - 1)):
            yield f"Without line {number}, `{text}`, {PROVEN}", [*lines[: number - 1], "", *lines[number:]]


def _lines(numbers: list[int]) -> str:
    """'line 3', 'lines 3 to 5'."""
    return f"line{'s' if len(numbers) > 1 else ''} {theme.runs(numbers)}"


def _sentence(number: int, line: str, other: str) -> str:
    before, after = _fragments(line, other)
    return f"In line {number}, `{before}`: with `{after}` in its place {PROVEN}"


def _fragments(line: str, other: str) -> tuple[str, str]:
    """The parts of two lines in which they differ: an element of an array, if it is there once, else the whole
    statements."""
    line, other = (text.split("//")[0].strip() for text in (line, other))
    begin = len(commonprefix([line, other]))
    rest = [text[begin:][::-1] for text in (line, other)]
    same = len(commonprefix(rest))
    accesses = [
        next(
            (
                match[0]
                for match in _ACCESS.finditer(text)
                if match.start() <= begin and len(text) - same <= match.end()
            ),
            "",
        )
        for text in (line, other)
    ]
    told_apart = all(accesses) and line.count(accesses[0]) == 1
    return (accesses[0], accesses[1]) if told_apart else (line, other)


def _foreign_lines(lines: list[str], solution: str) -> list[int]:
    """The numbers of the lines that the solution does not have."""
    known = Counter(code(line) for line in solution.splitlines())
    return [n for n, line in enumerate(lines, 1) if code(line) and not known[code(line)]]


def code(line: str) -> str:
    """A line without its comment and its spaces, and without what makes no other kernel of it: `const`, and `k++` for
    `++k` at the end of a loop's head."""
    bare = re.sub(r"\bconst\b", "", line.split("//")[0])
    return "".join(re.sub(r"; *(\w+) *\+\+ *\)", r"; ++\1)", bare).split())


def _sizes(solution: str) -> tuple[str, ...]:
    """What the lengths of rows and tiles are called: names in capitals that a product has. Of several that are the same
    number none: which is meant no trial tells."""
    names = dict.fromkeys(re.findall(rf"\* ({_SIZE})\b", solution))
    numbers = integers.names_in(_without_comments(solution), {})
    often = Counter(numbers[name] for name in names if name in numbers)
    return tuple(name for name in names if name not in numbers or often[numbers[name]] == 1)


def lines_named(sentence: str) -> set[int]:
    """The lines that a sentence speaks of; of one in front of a line, or behind it, both that it would be between."""
    lines: set[int] = set()
    for side, named in re.findall(r"(in front of |behind )?\b[Ll]ines? ((?:\d+(?:, | and | to )?)+)", sentence):
        numbers = [int(number) for number in re.findall(r"\d+", named)]
        lines |= {*range(min(numbers), max(numbers) + 1)} if " to " in named else {*numbers}
        lines |= {number + 1 if side == "behind " else number - 1 for number in numbers if side}
    return lines


def _axes(line: str, _: tuple[str, ...]) -> Iterator[Change]:
    """x for y, everywhere in the line, or at one place."""
    axes = list(_AXIS.finditer(line))
    other = {"x": "y", "y": "x"}
    if len(axes) > 1:
        begin, end = axes[0].start(), axes[-1].end()
        yield begin, end, _AXIS.sub(lambda axis: f"{axis[1]}.{other[axis[2]]}", line[begin:end])
    for axis in axes:
        yield axis.start(), axis.end(), f"{axis[1]}.{other[axis[2]]}"


def _indices(line: str, _: tuple[str, ...]) -> Iterator[Change]:
    """The two indices of an element exchanged, in one access, or in all of the line."""
    pairs, products = list(_PAIRS.finditer(line)), list(_PRODUCT.finditer(line))
    for pair in pairs:
        yield pair.start(), pair.end(), f"{pair[1]}{pair[3]}{pair[2]}"
    if len(pairs) > 1:
        begin, end = pairs[0].start(), pairs[-1].end()
        yield begin, end, _PAIRS.sub(r"\1\3\2", line[begin:end])
    for product in products:
        last = product[3].strip()
        yield (
            product.start(),
            product.end(),
            f"[{f'({last})' if ' ' in last else last} * {product[2]} + {product[1].strip('()')}]",
        )


def _lengths(line: str, sizes: tuple[str, ...]) -> Iterator[Change]:
    """Another size as a factor."""
    for match in re.finditer(rf"(?:(?<=\* )|(?<=% )|(?<=/ )){_SIZE}\b", line):
        for size in sizes:
            if size != match[0]:
                yield match.start(), match.end(), size


def _comparisons(line: str, _: tuple[str, ...]) -> Iterator[Change]:
    """A comparison with or without what is equal, and both conditions or one of them."""
    for match in _COMPARED.finditer(line):
        yield match.start(), match.end(), _OTHER[match[0]]
    for match in re.finditer(r"&&|\|\|" if "return" in line else r"\|\|", line):  # a guard is not loosened
        yield match.start(), match.end(), "||" if match[0] == "&&" else "&&"


def _summands(line: str, _: tuple[str, ...]) -> Iterator[Change]:
    """One summand of an index, or of a variable, left out."""
    for match in re.finditer(r"\w+(?: \* \w+)? \+ (?=[\w(])|(?<=[\w)\]]) [-+] \w+(?: \* \w+)?(?=[];)\]])", line):
        yield match.start(), match.end(), ""
