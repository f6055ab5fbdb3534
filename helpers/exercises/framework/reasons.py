"""Why a kernel fails, proven by its text and by numbers: what holds for every exercise.

Each function looks for one kind of cause, and returns the sentence, or "". A sentence says only what was computed: the
value of an index for the thread that went wrong, a condition that sent a thread home, the products of a sum.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import gpusim
from gpusim.compiler import CompileError
from gpusim.devices import WARP, unravel
from gpusim.errors import GLOBAL_RACE, SHARED_RACE, ArgumentError, KernelError, OutOfBounds, SimulatorError
from helpers.exercises.framework import (
    contents,
    convergence,
    endless,
    feedback,
    integers,
    overall,
    products,
    slips,
    text_slips,
    trial,
)
from helpers.exercises.framework.answers import Clue
from helpers.exercises.framework.facts import PART, SUBSCRIPTS, Facts
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.judge import Examination
from helpers.exercises.framework.maps import MatrixMap
from helpers.exercises.framework.probes import CannotProbe, Probe
from helpers.exercises.framework.problems import Problem
from helpers.pictures import theme
from helpers.run import simulated

Index = tuple[int, int, int]
Detector = Callable[[Facts], str | tuple[str, ...]]
_PROVEN = re.compile(r"\b(?:the kernel|this launch) is right\b|\bnever ends\b")  # by a trial, or by the text
_OUTSIDE = re.compile(r"index (-?\d+) of (\w+)")
COPY_AT_END = "ends with an asynchronous copy under way"  # a finding that leaves the numbers as they are
MOST_THREADS = 1 << 18  # of a launch whose indices are all computed


def of(
    source: str, examination: Examination, problem: Problem, solution: str, detectors: Sequence[Detector] | None = None
) -> tuple[str, ...]:
    """The reasons for the first failure, or the clues to it, one or two that belong together; () if there are none.

    detectors: of what; None for all that are asked first.
    """
    detectors = DETECTORS if detectors is None else detectors
    failure = examination.first_failure
    if failure is None or examination.kernel is None:
        return ()
    return _first_reason(Facts(source, examination, failure, problem, solution), detectors)


def of_others(source: str, examination: Examination, problem: Problem, solution: str) -> tuple[str, ...]:
    """The reasons for another failure than the first one, which says more; () if there is none."""
    failure = examination.first_failure
    if (
        failure is None
        or examination.kernel is None
        or SHARED_RACE in {finding.kind for finding in failure.report.findings}
    ):
        return ()
    for other in examination.outcomes:  # a case with wrong numbers may say more than one with a hazard
        if other is not failure and other.wrong.any() and other.output is not None and not other.report.findings:
            sentences = _first_reason(Facts(source, examination, other, problem, solution), (*DETECTORS, *LAST))
            if sentences:
                return tuple(Clue(f"With {other.case.label(problem.scalars)}: {sentence}") for sentence in sentences)
    return ()


def _first_reason(facts: Facts, detectors: Sequence[Detector]) -> tuple[str, ...]:
    for detector in detectors:
        try:
            sentences = detector(facts)
        except (LookupError, TypeError, ValueError, SimulatorError):  # a text like none before it: then it is not this
            continue
        if sentences:
            return tuple(map(_marked, (sentences,) if isinstance(sentences, str) else sentences))
    return ()


def _marked(sentence: str) -> str:
    """A clue, unless it is proven."""
    return sentence if _PROVEN.search(sentence) else Clue(sentence)


def _probe(facts: Facts) -> Probe:
    return Probe(facts.examination.kernel, facts.problem, facts.failure.case)  # type: ignore[arg-type]


def _where(thread: Index) -> str:
    return f"({thread[0]}, {thread[1]})" if thread[2] == 0 else f"({thread[0]}, {thread[1]}, {thread[2]})"


# --- shared memory


def _concerned(facts: Facts) -> Iterator[tuple[int, str, Index, Index, tuple[int, ...]]]:
    """(line, array, block, thread, index) of the accesses in shared memory that went wrong; the index as the simulator
    names it, () where it does not."""
    error = facts.failure.error
    if isinstance(error, KernelError) and error.thread is not None and error.block is not None:
        for name in dict.fromkeys(re.findall(r"\b(\w+)\s*\[", facts.lines[error.line - 1] if error.line else "")):
            if said := _said_index(facts, name):
                yield error.line, name, error.block, error.thread, said
    for finding in facts.failure.report.findings:
        for line in finding.lines:
            yield line, finding.array, finding.block, finding.thread, finding.index
            if finding.other_thread is not None:
                yield line, finding.array, finding.other_block or finding.block, finding.other_thread, finding.index


def leaves_its_row(facts: Facts) -> str:
    """An index of a tile that is as large as the tile is wide, for a thread that went wrong there."""
    for line, name, block, thread, said in _concerned(facts):
        shape = facts.shape(name)
        if not shape or len(said) != len(shape):
            continue
        accesses = facts.accesses(line, name)
        in_a_loop = facts.failure.error is not None and len(accesses) == 1  # in any round of it
        names = facts.values(block, thread, first_round=not in_a_loop)
        for written in accesses:
            if len(written) != len(shape) or "0" in written[:-1]:  # [0][i] counts all elements of a tile
                continue
            indices = _indices_of(facts, line, written, names, said, shape, in_a_loop)
            for dimension, (text, size) in enumerate(zip(written, shape, strict=True)):
                index = indices[dimension]
                if index is None or 0 <= index < size:
                    continue
                has = theme.plural(size, _axis(dimension, len(shape)).removesuffix("s"))
                declared = name + "".join(f"[{size}]" for size in shape)
                of_block = f" of block {_where(block)}" if any(block) else ""
                return (
                    f"In line {line}, {name}{''.join(f'[{part}]' for part in written)}: `{text}` is {int(index)} for "
                    f"thread {_where(thread)}{of_block}, but {declared} has {has}."
                )
    return ""


_COUNTS_UP = re.compile(r"[\w\s]*?(\w+)\s*=\s*([^;]*);\s*\1\s*(<=?)([^;]*);\s*(?:\+\+\1|\1\s*(?:\+\+|\+=([^;,]*)))\s*")


def _comes_to(source: str, line: int, text: str, value: int, names: Mapping[str, Any]) -> bool:
    """Whether an expression takes a value in some round of the loops that a line is in."""
    rounds, heads = {}, re.finditer(r"\bfor\s*\(", source)
    for head, (first_line, _, end, _) in zip(heads, integers.loops(source), strict=True):
        counts = _COUNTS_UP.fullmatch(integers.bracketed(source[head.end() :])[0])
        if counts and first_line <= line <= integers.line_of(source, end) and re.search(rf"\b{counts[1]}\b", text):
            first, last, step = (integers.value(part or "1", names) for part in (counts[2], counts[4], counts[5]))
            if None in (first, last, step) or step <= 0 or last - first > MOST_THREADS:
                return False
            rounds[counts[1]] = np.arange(first, last + (counts[3] == "<="), step)
    grid = np.meshgrid(*rounds.values(), sparse=True)
    taken = integers.value(text, {**names, **dict(zip(rounds, grid, strict=True))}) if rounds else None
    return taken is not None and bool(np.any(taken == value))


def _indices_of(
    facts: Facts,
    line: int,
    written: Sequence[str],
    names: Mapping[str, Any],
    said: Sequence[int],
    shape: Sequence[int],
    in_a_loop: bool,
) -> list[int | None]:
    """The indices of an access if they lead to an element as it is named; else all are None: it is another access of
    the line, or another round.

    in_a_loop: the thread stopped at this access, so that what the text does not tell follows from the element.
    """
    indices = [integers.value(text, names) for text in written]
    unknown = [dimension for dimension, index in enumerate(indices) if index is None]
    steps = [int(np.prod(shape[dimension + 1 :])) for dimension in range(len(shape))]
    left = sum(map(operator.mul, said, steps)) - sum(
        index * step for index, step in zip(indices, steps, strict=True) if index is not None
    )
    if unknown and not in_a_loop:
        return [None] * len(indices)
    if len(unknown) == 1 and left % steps[unknown[0]] == 0:
        number = left // steps[unknown[0]]
        indices[unknown[0]] = _if_reached(facts, line, written[unknown[0]], number, names)
    elif unknown or left:
        return [None] * len(indices)
    return indices


def _if_reached(facts: Facts, line: int, text: str, number: int, names: Mapping[str, Any]) -> int | None:
    """A number that must be an expression's; None if the loops by whose variables it counts do not come to it."""
    counted = set(integers.loop_variables(facts.text)) & set(re.findall(r"\w+", text))
    return number if not counted or _comes_to(facts.text, line, text, number, names) else None


def _said_index(facts: Facts, name: str) -> tuple[int, ...]:
    """The indices of an array in the simulator's words on an access outside of it: (8, 0) for As[8][0]."""
    said = re.search(rf"outside {name}: {name}((?:\[-?\d+\])+)", str(facts.failure.error or ""))
    return tuple(map(int, re.findall(r"-?\d+", said[1]))) if said else ()


def _axis(dimension: int, of: int) -> str:
    return "elements" if of == 1 else "columns" if dimension == of - 1 else "rows" if dimension == of - 2 else "tiles"


_IN_ROOM = re.compile(r"at byte (\d+) of shared memory, which has (\d+) bytes")


def leaves_the_room(facts: Facts) -> str:
    """An index into dynamic shared memory that is as large as the launch gives floats."""
    error = facts.failure.error
    said = _IN_ROOM.search(str(error or ""))
    if said is None or not isinstance(error, KernelError) or error.thread is None or error.line is None:
        return ""
    names = facts.values(error.block, error.thread, first_round=True)
    for name in dict.fromkeys(re.findall(r"\b(\w+)\s*\[", facts.lines[error.line - 1])):
        if name in facts.parameters:  # in global memory
            continue
        for (text,) in (access for access in facts.accesses(error.line, name) if len(access) == 1):
            index = integers.value(text, names)
            if index is not None and 4 * int(index) == int(said[1]):
                return (
                    f"In line {error.line}, {name}[{text}]: `{text}` is {int(index)} for thread {_where(error.thread)} "
                    f"({_known(text, names)}), and the block's shared memory has room for {int(said[2]) // 4} floats."
                )
    return ""


def _known(text: str, names: Mapping[str, Any]) -> str:
    """'row is 8, N is 32': the names of an expression that are one number each."""
    known = sorted(
        {word for word in re.findall(r"(?<![\w.])[a-zA-Z_][\w.]*", text) if word in names and np.ndim(names[word]) == 0}
    )
    return ", ".join(
        f"{name} is {names[name]:g}" if isinstance(names[name], float) else f"{name} is {int(names[name])}"
        for name in known
    )


_WIDE = re.compile(r"accessed (\d+) bytes at an address that is not a multiple of \d+ \(byte (\d+) of (\w+)")


def not_a_multiple(facts: Facts) -> str:
    """The index at which a wide access begins, where it is no multiple of the floats that it takes."""
    error = facts.failure.error
    said = _WIDE.search(str(error or ""))
    if said is None or not isinstance(error, KernelError) or error.thread is None or error.line is None:
        return ""
    in_shared = re.search(r"in (\w+)((?:\[\d+\])+)\)", str(error))
    name = in_shared[1] if in_shared else said[3]
    declared = re.search(rf"\b(float|double)\s+(?:[^;()]*,\s*)?{name}\s*\[", facts.text)
    of_bytes = {"float": 4, "double": 8}[declared[1]] if declared else 0
    dtype = getattr(facts.parameters.get(name), "dtype", np.dtype(np.float32))
    size = of_bytes if in_shared else dtype.itemsize * (dtype.kind == "f")
    if size not in (4, 8):
        return ""  # an index does not count floats
    taken, elements = int(said[1]) // size, "doubles" if size == 8 else "floats"
    index = int(re.findall(r"\d+", in_shared[2])[-1]) if in_shared else int(said[2]) // size
    names, accesses = facts.values(error.block, error.thread), facts.accesses(error.line, name)
    whole_rows = facts.shape(name)[-1:] and facts.shape(name)[-1] % taken == 0
    # Of what the text does not tell the address does, if a single access begins where the array does.
    alone = len(accesses) == 1 and not re.search(r"\)\s*(?:\[|\+)", facts.lines[error.line - 1])
    follows = alone and (len(facts.shape(name)) == 1 if in_shared else not _begins_elsewhere(facts, name))
    for written in accesses if whole_rows or not in_shared else ():
        value = integers.value(written[-1], names)
        if index % taken and (in_shared or len(written) == 1) and (value == index or value is None and follows):
            return (
                f"In line {error.line}, {name}{''.join(f'[{part}]' for part in written)}: `{written[-1]}` is {index} "
                f"for thread {_where(error.thread)}, and {taken} {elements} at once begin at a multiple of {taken}."
            )
    if in_shared and size == 4:
        return _unaligned_tile(facts, name, tuple(map(int, re.findall(r"\d+", in_shared[2]))), int(said[2]), taken)
    return "" if in_shared else _unaligned_row(facts, name, index, taken)


def _unaligned_tile(facts: Facts, name: str, said: tuple[int, ...], byte: int, taken: int) -> str:
    """That the rows of a tile are no multiple of a wide access long, which begins at the first place of such a row."""
    shape = facts.shape(name)
    if len(shape) != 2 or len(said) != 2 or said[1] % taken or shape[1] % taken == 0:
        return ""
    begins = byte - 4 * (said[0] * shape[1] + said[1])  # of the tile
    if begins % (4 * taken):
        return ""
    return (
        f"The rows of {name} are {shape[1]} floats long, so row {said[0]} does not begin at a multiple "
        f"of {4 * taken} bytes. With a multiple of {taken} floats every row does."
    )


def _unaligned_row(facts: Facts, name: str, index: int, taken: int) -> str:
    """That the row of a matrix, in which an access is one of whole groups, begins where no wide access may."""
    matrix = facts.parameters.get(name)
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or not isinstance(facts.problem, Gemm):
        return ""
    (row, column), width = divmod(index, matrix.shape[1]), matrix.shape[1]
    if column % taken or width % taken == 0 or facts.problem.column_major:
        return ""
    byte, named = row * width * matrix.itemsize, _size_named(facts, width)
    return (
        f"The rows of {name} have {named}{theme.plural(width, 'float')}, so that row {row} begins at byte {byte}, "
        f"which is no multiple of {taken * matrix.itemsize}. All rows begin at one only where a row has a multiple of "
        f"{taken} floats."
    )


def _size_named(facts: Facts, number: int) -> str:
    """'K = ' for the one size of the failed case that is a number, "" if none is, or several are."""
    names = [name for name, size in facts.failure.case.sizes.items() if size == number]
    return f"{names[0]} = " if len(names) == 1 else ""


def _begins_elsewhere(facts: Facts, name: str) -> bool:
    """Whether the text moves a pointer, or a parameter of a function has its name: its index is not the array's."""
    moved = re.search(rf"\b{name}\s*(?:[-+]?=[^=]|\+\+|--)|(?:\+\+|--)\s*{name}\b", facts.text)
    return moved is not None or _is_given(facts.text, name)


def nothing_stored(facts: Facts) -> str:
    """That no thread stores to the output at all."""
    if facts.failure.output is None or facts.failure.report.findings or any(_stores(facts, facts.examination.kernel)):
        return ""
    return f"Here no thread stores anything in {facts.problem.output}."


def added_by_several(facts: Facts) -> str:
    """That several threads change an element by an operator such as +=, which is a load and a store."""
    finding = feedback.first_reported(facts.failure, facts.problem) if facts.failure.report.findings else None
    if finding is None or not feedback.both_store(finding) or len(set(finding.lines)) != 1:
        return ""
    changed = re.search(
        rf"\b{finding.array}\s*(?:{SUBSCRIPTS})?\s*([-+*/&|^]=|\+\+|--)", facts.lines[finding.lines[0] - 1]
    )
    if changed is None:
        return ""
    return (
        f"Line {finding.lines[0]} changes {finding.array} by {changed[changed.lastindex]}, which loads the element and "
        "stores it: what another thread stores there in between is lost."
    )


def never_stored(facts: Facts) -> str:
    """What a block reads of an array in shared memory and stores nowhere, as whole rows or columns."""
    finding = feedback.first_reported(facts.failure, facts.problem) if facts.failure.report.findings else None
    if finding is None or feedback.UNWRITTEN not in finding.message:
        return ""
    touched = _touched(facts, finding.array, finding.block)
    compound = rf"\b{finding.array}\s*{SUBSCRIPTS}\s*[-+*/]=|\batomic\w+\s*\(\s*&?\s*{finding.array}\b"
    changing = {line for line in touched["st"] if re.search(compound, facts.lines[line - 1])}
    stored, read = (
        np.array(sorted(set().union(*(elements for line, elements in touched[op].items() if line not in changing))))
        for op in ("st", "ld")
    )
    if not len(read) or set(map(tuple, read.tolist())) <= set(map(tuple, stored.tolist())):
        return ""
    name, dimensions = finding.array, read.shape[1]
    start = f"Block {_where(finding.block)} stores"
    if changing:  # it puts nothing new there: what a line reads of the array and stores again was there before
        lines = (
            f"Line {min(changing)} changes" if len(changing) == 1 else f"Lines {theme.runs(sorted(changing))} change"
        )
        if not len(stored):
            where = _where(finding.block)
            return f"{lines} what {name} holds already, and in block {where} no other line stores there (as compiled)."
        start = f"{lines} what {name} holds already. Elsewhere, block {_where(finding.block)} stores"
    if not len(stored):
        return ""
    sets = [tuple(sorted(set(touched[:, axis].tolist())) for touched in (stored, read)) for axis in range(dimensions)]
    short = [axis for axis, (of_stores, of_reads) in enumerate(sets) if not set(of_reads) <= set(of_stores)]
    if len(short) == 1 and len(stored) == np.prod([len(of_stores) for of_stores, _ in sets]):  # all of each row
        some, others = (
            f"{_axis(short[0], dimensions)[: -1 if len(numbers) == 1 else None]} {theme.runs(numbers)}"
            for numbers in sets[short[0]]
        )
        return f"{start} {some} of {name}, and reads {others} (as compiled)."
    return f"{start} {theme.plural(len(stored), 'element')} of {name}, and reads others, too (as compiled)."


def _touched(facts: Facts, name: str, block: Index) -> dict[str, dict[int, set[tuple[int, ...]]]]:
    """{"ld": {line: elements}, "st": …}: what the threads of a block access of an array in shared memory.

    Nothing where the array's elements are not known, as in one of structs: such accesses are located by byte only.
    """
    kernel = facts.examination.kernel
    arrays = gpusim.SharedNames(kernel.pointers.shared_arrays, {}, kernel.compiled.source, kernel.name)  # type: ignore[union-attr]
    launch = trial.record(kernel, facts.problem.prepare(facts.failure.case), blocks=(block,)).launches[-1]  # type: ignore[arg-type]
    touched: dict[str, dict[int, set]] = {"ld": {}, "st": {}}
    for trace in launch.traces:
        if trace.space == "shared":
            line = launch.program.instructions[trace.instruction].line
            active = trace.addresses if trace.active is None else trace.addresses[trace.active]
            for byte in np.unique(active[:, None] + np.arange(0, trace.width, 2)).tolist():
                array, index, element = arrays.locate(trace.instruction, byte)
                if array == name and element != f"byte {index[0]} of {name}":
                    for op in {"ld": ("ld",), "ldsm": ("ld",), "atom": ("ld", "st"), "red": ("ld", "st")}.get(
                        trace.op, ("st",)
                    ):
                        touched[op].setdefault(line, set()).add(index)
    return touched


def _is_right_with(facts: Facts, changes: Mapping[int, tuple[str, str]], case: Any = None) -> bool:
    """Whether the kernel is right in all cases, or in one, with other text in some lines."""
    lines = facts.source.splitlines()
    for number, (before, after) in changes.items():
        lines[number - 1] = lines[number - 1].replace(before, after)
    return _is_right(facts, "\n".join([*lines, ""]), case)


def _is_right(facts: Facts, source: str, case: Any = None) -> bool:
    """Whether a source is right in all cases, the one that failed before the others, or in one."""
    failed = facts.failure.case
    cases = [case] if case else [failed, *(other for other in facts.problem.cases if other is not failed)]
    return trial.is_right(source, facts.problem, cases)


def waits_for_a_warp(facts: Facts) -> str:
    """A __syncwarp() where threads of several warps meet."""
    for finding in facts.failure.report.findings:
        if finding.kind != SHARED_RACE or finding.other_thread is None:
            continue
        size = (*facts.setup.block, 1, 1)[:3]
        numbers = [
            int(np.ravel_multi_index(thread[::-1], size[::-1])) // WARP
            for thread in (finding.thread, finding.other_thread)
        ]
        for number, line in enumerate(facts.lines, 1):
            call = re.search(r"__syncwarp\s*\([^()]*\)", line)
            if (
                call
                and numbers[0] != numbers[1]
                and _is_right_with(facts, {number: (call[0], "__syncthreads()")}, facts.failure.case)
            ):
                return (
                    f"{call[0]} in line {number} waits for the lanes of one warp. Thread {_where(finding.thread)} is "
                    f"in warp {numbers[0]} of its block, thread {_where(finding.other_thread)} in warp {numbers[1]}: "
                    "__syncthreads() waits for all warps."
                )
    return ""


# --- outside of the matrices


def _is_given(text: str, expression: str) -> bool:
    """Whether a name of an expression is what a function, or a lambda, of the source is called with."""
    given = {name for _, names in integers.functions(text) for name in names}
    return not given.isdisjoint(re.findall(r"\w+", expression))


def leaves_the_matrix(facts: Facts) -> str:
    """Which part of an index is too large: the row, the column, or the length of a row that it is made with."""
    error = facts.failure.error
    if not isinstance(error, OutOfBounds) or error.thread is None or not isinstance(facts.problem, Gemm | MatrixMap):
        return ""
    outside = _OUTSIDE.search(str(error))
    if outside is None or getattr(facts.problem, "column_major", False):
        return ""
    index, name = int(outside[1]), outside[2]
    matrix = facts.parameters.get(name)
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2:
        return ""
    rows, width = matrix.shape
    names = facts.values(error.block, error.thread)
    written = facts.accesses(error.line, name)
    lines = [error.line] if written else range(1, len(facts.lines) + 1)  # the compiler may name another line
    for line, text in ((at, access[0]) for at in lines for access in facts.accesses(at, name) if len(access) == 1):
        split = _row_and_column(text)
        if split is None:
            continue
        row, stride, col = split
        length = integers.value(stride, names)
        if length is None or _begins_elsewhere(facts, name):
            continue
        alone = len(facts.accesses(line, name)) == 1
        if length != width:
            named = _size_named(facts, width)
            changed = re.sub(rf"\b{stride}\b", named.partition(" ")[0] or str(width), text)
            if alone and stride in facts.parameters and _goes_on_with(facts, line, f"[{text}]", f"[{changed}]"):
                return (
                    f"In line {line}, {name}[{text}] multiplies by `{stride}` = {length}, and the rows of {name} have "
                    f"{named}{theme.plural(width, 'float')}."
                )
            continue
        y, x = integers.value(row, names), integers.value(col, names)
        if not written and (None in (y, x) or _is_given(facts.text, text)):
            continue
        if x is None and y is not None and alone:
            x = _if_reached(facts, line, col, index - y * length, names)
        elif y is None and x is not None and alone:
            y = _if_reached(facts, line, row, (index - x) // length, names)
        if y is None or x is None or y * length + x != index:
            continue  # another access of the line, or a name that is another variable there
        where = f"In line {line}, for thread {_where(error.thread)} of block {_where(error.block)}"
        for part, value, size, what in (
            (row, y, rows, f"{name} has {theme.plural(rows, 'row')}"),
            (col, x, width, f"a row of {name} has {theme.plural(width, 'float')}"),
        ):
            if not 0 <= value < size:
                return f"{where}: `{part}` is {int(value)}, and {what}, {theme.runs(range(size))}."
    return ""


def _goes_on_with(facts: Facts, number: int, before: str, after: str) -> bool:
    """Whether no thread leaves an array in a line of the launch that failed, with other text in it."""
    lines = facts.source.splitlines()
    lines[number - 1] = lines[number - 1].replace(before, after)
    try:
        kernel = simulated("\n".join([*lines, ""]), facts.problem.entry)
    except (CompileError, SimulatorError):
        return False
    error = trial.run(kernel, facts.problem, facts.failure.case).error
    return not isinstance(error, OutOfBounds) or error.line != number


_SIZE_FIRST = re.compile(r"^([A-Z][A-Z\d_]*)\s*\*\s*((?![A-Z][A-Z\d_]*$)[\w.]+|\([^()]*\))$")


_BRACKETS = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)")


def _row_and_column(text: str) -> tuple[str, str, str] | None:
    """('row', 'K', 'k') of 'row * K + k': the last product with a sum behind it, or before it. Of 'K * row' the length
    is what is written as a size."""
    if re.search(r"[-&|^<>?]", _BRACKETS.sub("", text)):
        return None  # what binds less than a product, or is taken away
    parts = [_SIZE_FIRST.sub(r"\2 * \1", part) for part in _summands(text)]
    made = [n for n, part in enumerate(parts) if re.fullmatch(r"(.+)\*\s*([\w.]+)", part)]
    if len(made) != 1 or len(parts) < 2:
        return None
    row, stride = re.fullmatch(r"(.+)\*\s*([\w.]+)", parts[made[0]]).groups()  # type: ignore[union-attr]
    row = row.strip()
    if "*" in _BRACKETS.sub("", row):
        return None  # a length of several factors, or a row of several
    row = row[1:-1] if row.startswith("(") and row.endswith(")") else row
    return row, stride, " + ".join(part for n, part in enumerate(parts) if n != made[0])


def _summands(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "+" and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [*parts, text[begin:].strip()]


def one_for_all(facts: Facts) -> str:
    """An index outside of an array that is the same number in every thread of the launch."""
    error = facts.failure.error
    outside = _OUTSIDE.search(str(error or ""))
    if not isinstance(error, OutOfBounds) or error.line is None or outside is None or _threads(facts) == (1, 1):
        return ""
    name = outside[2]
    for (text,) in (access for access in facts.accesses(error.line, name) if len(access) == 1):
        index = integers.value(text, facts.all_threads)
        if index is not None and np.ndim(index) == 0 and int(index) == int(outside[1]):
            size = np.size(facts.parameters[name])
            return (
                f"In line {error.line}, {name}[{text}]: `{text}` is {int(index)} in every thread, and {name} has "
                f"{theme.plural(size, 'element')}, {theme.runs(range(size))}."
            )
    return ""


# --- the launch, and the head of the kernel


def another_head(facts: Facts) -> str:
    """That a kernel takes other parameters than the one that the exercise launches."""
    if not isinstance(facts.failure.error, ArgumentError):
        return ""
    solution = text_slips.without_comments(facts.solution)
    due = re.search(rf"__global__[^{{]*\b{_name_of(facts.problem.entry)}\s*(\([^{{]*\))", solution)
    return (
        f"This exercise launches its kernel with {' '.join(due[1].split())}: keep the head that its cell has."
        if due
        else ""
    )


def _name_of(entry: str) -> str:
    return re.escape(entry.partition("<")[0])


def axis_without_threads(facts: Facts) -> str:
    """That an index is made of an axis along which the launch has one thread, or one block, where the launch is right
    with the axis along which it has several."""
    for match in re.finditer(r"\b(threadIdx|blockIdx)\.([xyz])", facts.text):
        sizes = {"threadIdx": facts.setup.block, "blockIdx": facts.setup.grid}[match[1]]
        several = [axis for axis, size in zip("xyz", sizes, strict=False) if size > 1]
        if match[2] in several or len(several) != 1 or match[0] in facts.solution or _is_zero_as_due(facts.text, match):
            continue
        line, instead = integers.line_of(facts.text, match.start()), f"{match[1]}.{several[0]}"
        if _is_right_with(facts, {line: (match[0], instead)}, facts.failure.case):
            return f"Line {line} has {match[0]}, which is 0 in all threads. With {instead} this launch is right."
    return ""


def _is_zero_as_due(text: str, match: re.Match[str]) -> bool:
    """Whether an index that is 0 in every thread is asked for in words that suit every launch: beside that of another
    axis, threadIdx.y * blockDim.x + threadIdx.x, or compared with 0."""
    before, behind = re.split(r"[;{},=]", text[: match.start()])[-1], re.split(r"[;{},=]", text[match.end() :])[0]
    others = re.findall(rf"\b{match[1]}\.([xyz])", before + behind)
    compared = re.match(r"\s*==\s*0\b", text[match.end() :]) or re.search(r"\b0\s*==\s*$", text[: match.start()])
    return any(axis != match[2] for axis in others) or compared is not None


# --- blocks


def same_in_every_block(facts: Facts) -> str:
    """That the text asks for no block's number along an axis along which there are several blocks: nothing is stored
    but what is the first blocks' along it, or a single block along it would be right."""
    if re.search(r"cooperative_groups|ctaid|\bblockIdx\b(?!\s*\.\s*[xyz]\b)|=\s*atomic", facts.text):
        return ""  # it may be asked for in other words
    missing = {
        axis: blocks
        for axis, blocks in zip("xyz", facts.setup.grid, strict=False)
        if blocks > 1 and f"blockIdx.{axis}" in facts.solution
        and not re.search(rf"\bblockIdx\s*\.\s*{axis}\b", facts.text)
    }  # fmt: skip
    if (
        not missing
        or facts.failure.output is None
        or not (_leaves_out(facts, missing) or _is_right_in_one_block(facts, missing))
    ):
        return ""
    names = " and ".join(f"blockIdx.{axis}" for axis in missing)
    along = " and ".join(f"{blocks} blocks along {axis}" for axis, blocks in missing.items())
    return f"The kernel does not ask for {names}, and this launch has {along}."


def asks_for_warpid(facts: Facts) -> str:
    """That a kernel reads %warpid, which PTX promises nothing about (PTX ISA, "Special Registers: %warpid")."""
    if not re.search(r"%warpid\b", facts.text):
        return ""
    return (
        "%warpid may change while a thread runs, and need not be the linear id divided by 32: NVIDIA advises to work "
        "the warp's number out from threadIdx."
    )


def _leaves_out(facts: Facts, axes: Collection[str]) -> bool:
    """Whether the wrong element that is shown is stored by no thread, and in the solution by a block that is not the
    first one along some axes, and all that are stored are elements of those that are."""
    stores = trial.stores(facts.examination.kernel, facts.problem, facts.failure.case)  # type: ignore[arg-type]
    element = np.flatnonzero(facts.failure.wrong)[:1]
    if not stores.any() or stores.reshape(-1)[element]:
        return False
    shown = _cells(facts.problem.index(np.unravel_index(element, facts.setup.output.shape)))  # type: ignore[arg-type]
    solved = _stores(facts, simulated(facts.solution, facts.problem.entry))
    first = set().union(
        *(_cells(places) for block, places in solved if not any(block["xyz".index(axis)] for axis in axes))
    )
    stored = set().union(*(_cells(places) for _, places in _stores(facts, facts.examination.kernel)))
    return stored <= first and not shown <= first


def _is_right_in_one_block(facts: Facts, axes: Collection[str]) -> bool:
    """Whether the launch would be right with a single block along some axes."""
    setup = facts.problem.prepare(facts.failure.case)
    grid = tuple(1 if axis in axes else blocks for axis, blocks in zip("xyz", setup.grid, strict=False))
    try:
        for _ in range(facts.failure.case.launches):
            trial.launch(facts.examination.kernel, replace(setup, grid=grid))
    except SimulatorError:
        return False
    return bool(trial.same(setup.left(setup.args), setup.expected).all())


_BLOCK_BEGINS = re.compile(
    r"\b(?:(?P<before>\w+)\s*\*\s*blockIdx\.(?P<a>[xyz])|blockIdx\.(?P<b>[xyz])\s*\*\s*(?P<behind>\w+))"
    r"\s*\+\s*threadIdx\.(?P<c>[xyz])\b(?!\s*\*)"
)


def of_another_block_size(facts: Facts) -> str:
    """That a block's number is multiplied by another number than the launch has threads in a block."""
    for match in _BLOCK_BEGINS.finditer(facts.text):
        axis, size = match["a"] or match["b"], match["before"] or match["behind"]
        threads = dict(zip("xyz", (*facts.setup.block, 1, 1), strict=False))[axis]
        value = integers.value(size, facts.all_threads)
        due = f"blockIdx.{axis} * blockDim.{axis}"
        if axis == match["c"] and value not in (None, threads) and np.ndim(value) == 0 and due in facts.solution:
            line, whole = integers.line_of(facts.text, match.start()), f"{due} + threadIdx.{axis}"
            what = "" if size.isdigit() else f", where {size} is {int(value)}"  # type: ignore[arg-type]
            if _is_right_with(facts, {line: (match[0], whole)}, facts.failure.case):
                return (
                    f"Line {line} has {match[0]}{what}, and a block of this launch has "
                    f"{theme.plural(threads, 'thread')} along {axis}. With {whole} this launch is right."
                )
    return ""


_NAMED_SIZE = re.compile(
    r"^[ \t]*(?:#define\s+(\w+)\s+|(?:static\s+)?constexpr\s+int\s+(\w+)\s*=\s*)(\d+)\s*;?[ \t]*(?://.*)?$",
    re.MULTILINE,
)


def not_the_launched_tile(facts: Facts) -> str:
    """That a name which is the side of the launch's blocks in the solution is another number here."""
    due = {match[1] or match[2]: int(match[3]) for match in _NAMED_SIZE.finditer(facts.solution)}
    due = {name: size for name, size in due.items() if re.search(rf"blockIdx\.\w \* {name}\b", facts.solution)}
    across, down = (*facts.setup.block, 1)[:2]
    for match in _NAMED_SIZE.finditer(facts.text):
        name, size = match[1] or match[2], int(match[3])
        if name in due and size != due[name] and across == down == due[name]:
            line = integers.line_of(facts.text, match.start(3))
            if _is_right_with(facts, {line: (match[3], str(due[name]))}, facts.failure.case):
                return (
                    f"{name} is {size} in line {line}, and the exercise launches blocks of {across} × {down} threads."
                )
    return ""


# --- conditions


def sent_home(facts: Facts) -> str:
    """The element that is seen to be wrong is not written, although the index of a thread is its: the condition that
    keeps the thread away."""
    output, findings = facts.failure.output, facts.failure.report.findings
    races = any(finding.kind == SHARED_RACE for finding in findings)
    if output is None or races or facts.setup.output.size > MOST_THREADS:
        return ""
    name = trial.output_name(facts.examination.kernel, facts.setup)  # type: ignore[arg-type]
    unwritten = facts.failure.wrong & trial.same(output, facts.setup.output)
    if not unwritten.any() or _begins_elsewhere(facts, name):
        return ""
    stores = _stored_at(facts, name)
    if other_length := next(filter(None, (_of_other_length(facts, line, text) for line, text in stores)), ""):
        return other_length
    element = int(np.flatnonzero(facts.failure.wrong)[0])
    if findings or not unwritten.reshape(-1)[element]:
        return ""  # what is said of the launch speaks of another element
    if trial.writer(facts.examination.kernel, facts.problem, facts.failure.case, element) is not None:  # type: ignore[arg-type]
        return ""
    where = f"{name}[{', '.join(map(str, facts.problem.index(np.unravel_index(element, output.shape))))}]"
    indices = [integers.value(text, facts.all_threads) for _, text in stores]
    for (line, text), index in zip(stores, indices, strict=True):
        owners = [] if index is None else np.argwhere((index == element) & _in_its_row(facts, text))
        kept = _kept_away(facts, line, element, *map(int, owners[0])) if len(owners) else ""
        if kept:
            return f"{kept} Its index in line {line}, `{text}`, is that of {where}, which no thread stores."
    otherwise = re.search(rf"&\s*{name}\b|\b{name}\b(?!\s*\[)", text_slips.last_kernel(facts.text)[1])
    if len(stores) != 1 or indices[0] is None or otherwise or np.any(indices[0] == element):
        return ""
    return _out_of_reach(facts, *stores[0], element, where)


def _in_its_row(facts: Facts, text: str) -> np.ndarray:
    """Whether an index `row * N + col` has a column below N, in each thread; true of any other index."""
    split = _row_and_column(text)
    length, column = (integers.value(part, facts.all_threads) for part in split[1:]) if split else (None, None)
    inside = True if length is None or column is None else (column >= 0) & (column < length)
    return np.broadcast_to(inside, _threads(facts))


def _stored_at(facts: Facts, name: str) -> list[tuple[int, str]]:
    """(line, index) of the stores to an array of one index."""
    stored = rf"\b{name}\s*{SUBSCRIPTS}\s*[-+*/]?=(?!=)"
    stores = ((n, PART.findall(index)) for n, line in enumerate(facts.lines, 1) for index in re.findall(stored, line))
    return [(line, index[0]) for line, index in stores if len(index) == 1]


def _indices(facts: Facts, block: int, thread: int) -> tuple[Index, Index]:
    """The indices of a block and of a thread whose numbers are given."""
    grid, size = ((*sizes, 1, 1)[:3] for sizes in (facts.setup.grid, facts.setup.block))
    return tuple(map(int, unravel(block, grid))), tuple(map(int, unravel(thread, size)))  # type: ignore[return-value]


def _out_of_reach(facts: Facts, line: int, text: str, element: int, named: str) -> str:
    """That no thread's index is an element's: which rows and columns the threads' indices are, and which there are.

    element: its linear index.  named: as it is called.
    """
    start = f"No thread's index in line {line} is that of {named}"
    split, shape = _row_and_column(text), facts.problem.as_matrix(facts.failure.expected).shape
    length = shape[0] if getattr(facts.problem, "column_major", False) else shape[-1]
    if split and not np.array_equal(integers.value(split[1], facts.all_threads), length):
        split = None  # its rows are not those of the matrix
    reached = [integers.value(part, facts.all_threads) for part in (split[0], split[2])] if split else [None]
    if None in [reach if reach is None else 0 for reach in reached]:
        values = theme.runs(np.unique(integers.value(text, facts.all_threads)).tolist())
        size = theme.plural(facts.failure.expected.size, "element")
        return f"{start}: over all threads `{text}` is {values}, and {facts.problem.output} has {size}."
    sets = [np.unique(reach).tolist() for reach in reached]
    own = divmod(element, length)
    if all(number in numbers for number, numbers in zip(own, sets, strict=True)):
        return f"{start}: no thread has `{split[0]}` = {own[0]} and `{split[2]}` = {own[1]} at once."  # type: ignore[index]
    ranges = " and ".join(
        f"`{part}` is {theme.runs(numbers)}" for part, numbers in zip((split[0], split[2]), sets, strict=True)
    )  # type: ignore[index]
    sizes = map(theme.plural, shape, ("row", "column") if len(shape) == 2 else ("element",))
    return f"{start}: over all threads {ranges}, and {facts.problem.output} has {' and '.join(sizes)}."


def _of_other_length(facts: Facts, line: int, text: str) -> str:
    """That an index of the output is made with another length than that of its rows, or, where it is stored column by
    column, of its columns."""
    split, shape = _row_and_column(text), facts.problem.as_matrix(facts.failure.expected).shape
    if split is None or len(shape) != 2 or min(shape) == 1:
        return ""
    length = integers.value(split[1], facts.all_threads)
    by_columns = getattr(facts.problem, "column_major", False)
    due, lines = (shape[0], "columns") if by_columns else (shape[1], "rows")
    if length is None or np.ndim(length) or length == due:
        return ""
    names = [key for key, size in facts.failure.case.sizes.items() if size == due and key in facts.parameters]
    row, _, col = split  # an index into all elements in a row may be such a product and a sum, too
    rewritten = f"({row}) * {names[0] if names else due} + {col}"
    if not _is_right_with(facts, {line: (f"[{text}]", f"[{rewritten}]")}, facts.failure.case):
        return ""
    return (
        f"In line {line}, `{text}` takes the {lines} of {facts.problem.output} to be `{split[1]}` = {length} elements "
        f"long, and they have {f'{names[0]} = ' if names else ''}{due}."
    )


def _threads(facts: Facts) -> tuple[int, int]:
    return int(np.prod(facts.setup.grid)), int(np.prod(facts.setup.block))


def _kept_away(facts: Facts, store: int, element: int, block: int, thread: int) -> str:
    """The first condition by which a thread leaves before a line that stores, or is not let in to it. If it were let by
    there, it would store the element."""
    where = _indices(facts, block, thread)
    names = facts.values(*where)
    for match in re.finditer(r"\bif\s*\(", facts.text):
        condition, rest = integers.bracketed(facts.text[match.end() :])
        holds, leaves = integers.value(condition, names), rest.lstrip(" {").startswith("return")
        number = integers.line_of(facts.text, match.start())
        last = integers.line_of(facts.text, integers.end_of_statement(facts.text, match.start()) - 1)
        if holds is None or bool(holds) != leaves or number > store or not leaves and last < store:
            continue
        let_by = f"({condition}) && !({_is_thread(where)})" if leaves else f"({condition}) || {_is_thread(where)}"
        begin = match.end() + facts.text[match.end() :].index(condition)
        changed = f"{facts.text[:begin]}{let_by}{facts.text[begin + len(condition) :]}"
        if not _stores_with(facts, changed, element):
            continue
        values = f" ({known})" if (known := _known(condition, names)) else ""
        does = "holds, so it returns" if leaves else "does not hold"
        thread_of_block = f"thread {_where(where[1])} of block {_where(where[0])}"
        return f"For {thread_of_block}, `{condition}` in line {number} {does}{values}."
    return ""


def _is_thread(where: tuple[Index, Index]) -> str:
    """The condition that holds for one thread of the launch."""
    return " && ".join(
        f"{name}.{axis} == {number}"
        for name, index in zip(("blockIdx", "threadIdx"), where, strict=True)
        for axis, number in zip("xyz", index, strict=True)
    )


def _stores_with(facts: Facts, source: str, element: int) -> bool:
    """Whether a thread stores an element in the launch that failed, and no wrong number, with another source."""
    try:
        kernel = simulated(source, facts.problem.entry)
    except (CompileError, SimulatorError):
        return False
    left = trial.run(kernel, facts.problem, facts.failure.case)
    if left.output is not None and left.wrong.reshape(-1)[element] and not np.isnan(left.output.reshape(-1)[element]):
        return False
    return trial.writer(kernel, facts.problem, facts.failure.case, element) is not None


def asked_too_late(facts: Facts) -> str:
    """A condition that would have kept a thread away, below the line in which it leaves an array."""
    error = facts.failure.error
    if not isinstance(error, OutOfBounds) or error.thread is None or error.block is None or error.line is None:
        return ""
    if re.search(r"__sync|_sync\b", facts.text):
        return ""  # where others wait for a thread, it must not leave
    names, above = facts.values(error.block, error.thread), facts.lines[error.line - 1]
    for number in range(error.line + 1, len(facts.lines) + 1):
        for match in re.finditer(r"\bif\s*\(", facts.lines[number - 1]):
            condition, rest = integers.bracketed(facts.lines[number - 1][match.end() :])
            holds = integers.value(condition, names)
            if not _compares_with_a_size(facts, condition):
                continue  # it does not ask for the thread's element
            leaves = rest.lstrip(" {").startswith("return")
            home = f"if ({condition if leaves else f'!({condition})'}) return;"
            if holds is None or bool(holds) != leaves:
                continue
            if not _is_right_with(facts, {error.line: (above, f"{home} {above}")}, facts.failure.case):
                continue  # where others need what the thread loads, it must not leave
            return (
                f"Line {number} asks `{condition}`, which {'holds' if holds else 'does not hold'} for thread "
                f"{_where(error.thread)} of block {_where(error.block)} ({_known(condition, names)}), and line "
                f"{error.line} stands above it. With `{home}` in front of line {error.line} this launch is right."
            )
    return ""


def _compares_with_a_size(facts: Facts, condition: str) -> bool:
    sizes = "|".join(name for name, given in facts.parameters.items() if isinstance(given, np.integer))
    return re.search(rf"[<>]=?\s*(?:{sizes})\b|\b(?:{sizes})\s*[<>]", condition) is not None


_OTHER_SIGN = {">": "<", ">=": "<", "==": "<", "<": ">", "<=": ">="}


def never_entered(facts: Facts) -> str:
    """A loop whose condition does not hold when it begins, for any thread of the launch that failed, and does with
    another comparison, with which the launch is right."""
    for loop in re.finditer(r"\bfor\s*\(", facts.text):
        head = integers.bracketed(facts.text[loop.end() :])[0].split(";")
        begins = re.fullmatch(r"\s*(?:[\w ]+\s)?(\w+)\s*=([^=;].*)", head[0])
        compared = re.fullmatch(r"\s*(\w+)\s*([<>]=?|==)\s*(.+)", head[1]) if len(head) == 3 else None
        if begins is None or compared is None:
            continue
        names, condition = facts.all_threads, head[1].strip()
        first = integers.value(begins[2], names)
        holds = None if first is None else integers.value(condition, {**names, begins[1]: first})
        line, instead = (
            integers.line_of(facts.text, loop.start()),
            condition.replace(compared[2], _OTHER_SIGN[compared[2]]),
        )
        if (
            holds is None
            or np.any(holds)
            or not _is_right_with(facts, {line: (condition, instead)}, facts.failure.case)
        ):
            continue
        known = _known(condition, {name: value for name, value in names.items() if name != begins[1]})
        return (
            f"In this launch the loop in line {line} is never entered: {begins[1]} begins at {begins[2].strip()}, and "
            f"`{condition}` does not hold{f' ({known})' if known else ''}. With `{instead}` this launch is right."
        )
    return ""


_MEANT = {">": "!=", "<": "!=", ">=": "==", "<=": "=="}


def asks_less_of_a_scalar(facts: Facts) -> str:
    """A comparison of alpha or beta by < or > that decides otherwise than == or != in the launch that failed."""
    scalars = {name: arg.item() for name, arg in facts.parameters.items() if isinstance(arg, np.floating)}
    for match in re.finditer(r"(?<![\w.])(\w+)\s*([<>]=?)\s*(\d+(?:\.\d*)?)[fF]?(?![\w.])", facts.text):
        name, sign, number = match.groups()
        if name not in scalars or not re.search(rf"\b{name}\s*[!=]=", facts.solution):
            continue
        does, should = (integers.value(f"{name} {other} {number}", scalars) for other in (sign, _MEANT[sign]))
        line, instead = integers.line_of(facts.text, match.start()), match[0].replace(sign, _MEANT[sign])
        if does != should and _is_right_with(facts, {line: (match[0], instead)}, facts.failure.case):
            return (
                f"`{match[0]}` in line {line} {'holds' if does else 'does not hold'} for {name} = {scalars[name]:g}. "
                f"With `{instead}` this launch is right."
            )
    return ""


def not_sent_home(facts: Facts) -> str:
    """A thread without an element that a condition ought to have stopped: it would have, if it asked for more."""
    error = facts.failure.error
    if not isinstance(error, OutOfBounds) or error.thread is None or error.block is None:
        return ""
    names = facts.values(error.block, error.thread)
    begins = integers.line_of(facts.text, facts.text.find("__global__"))
    for number, line in enumerate(facts.lines, 1):
        if begins <= (error.line or 0) < number:  # asked when it is too late
            break
        for match in re.finditer(r"\bif\s*\(", line):
            condition, rest = integers.bracketed(line[match.end() :])
            leaves = rest.lstrip(" {").startswith("return")
            holds = integers.value(condition, names)
            if holds is None or bool(holds) == leaves or not _compares_with_a_size(facts, condition):
                continue
            for better in _better(condition, leaves):
                if better == condition or bool(integers.value(better, names)) != leaves:
                    continue
                if _is_right_with(facts, {number: (condition, better)}, facts.failure.case):
                    values = _known(condition, names)
                    does = "does not hold, so it goes on" if leaves else "holds, so it goes on"
                    return (
                        f"For thread {_where(error.thread)} of block {_where(error.block)}, `{condition}` in line "
                        f"{number} {does} ({values}). With `{better}` this launch is right."
                    )
    return ""


def without_braces(facts: Facts) -> str:
    """Two statements behind a head without braces, where the kernel is right with both of them in braces."""
    text, error = facts.text, facts.failure.error
    for head in re.finditer(r"\b(if|for|while)\s*\(", text):
        rest = integers.bracketed(text[head.end() :])[1].lstrip()
        body, end = len(text) - len(rest), integers.end_of_statement(text, head.start())
        second = len(text) - len(text[end:].lstrip())
        line, other = (integers.line_of(text, at) for at in (head.start(), second))
        if other == line:
            continue
        if rest.startswith(("{", ";")) or re.match(r"[{}]|else\b|return\s*[^;\s]", text[second:]) or not text[second:]:
            continue
        indents = [len(facts.lines[n - 1]) - len(facts.lines[n - 1].lstrip()) for n in (line, other)]
        if indents[1] <= indents[0] and (head[1] != "if" or other != getattr(error, "line", None)):
            continue
        behind = integers.end_of_statement(text, second)
        if _is_right(facts, f"{text[:body]}{{ {text[body:behind]} }}{text[behind:]}"):
            return (
                f"Line {other} does not depend on the {head[1]} in line {line}: without braces only one statement "
                "does, the first. With both in { } the kernel is right."
            )
    return ""


def _better(condition: str, leaves: bool) -> tuple[str, ...]:
    """What a condition may have been meant to be. leaves: a thread for which it holds returns."""
    if re.search(r"!(?!=)", condition):
        return ()
    inside, outside = "<" in condition and ">" not in condition, ">" in condition and "<" not in condition
    exchanged = re.sub(r"\b[MN]\b", lambda name: "MN"[name[0] == "M"], condition)
    if leaves and inside:
        return f"!({condition})", exchanged
    if leaves and outside:
        return condition.replace("&&", "||"), re.sub(r">(?!=)", ">=", condition), exchanged
    if not leaves and inside:
        return condition.replace("||", "&&"), condition.replace("<=", "<"), exchanged
    return ()


# --- values


def reads_where_beta_is_0(facts: Facts) -> str:
    """That a kernel whose C is right reads the old C where beta is 0. Numbers show it only where they are NaN, and are
    not thrown away."""
    cases = [case for case in facts.problem.cases if not case.beta]
    if not isinstance(facts.problem, Gemm) or not facts.problem.scaled or not cases:
        return ""
    setup = facts.problem.prepare(min(cases, key=lambda case: sorted(case.sizes.values())))
    lines = _reading_the_old(facts, setup, ("ld",))
    if not lines:
        return ""
    name = trial.output_name(facts.examination.kernel, setup)  # type: ignore[arg-type]
    return (
        f"With beta = 0, line {lines[0]} reads the old {name}, which may hold anything then: it must not even be read "
        "there."
    )


def _reading_the_old(facts: Facts, setup: Any, ops: Collection[str]) -> list[int]:
    """The lines, in the order of their coming, that read elements of the output before anything is stored there.

    ops: what reads.
    """
    launch = trial.record(facts.examination.kernel, setup).launches[-1]  # type: ignore[arg-type]
    name = trial.output_name(facts.examination.kernel, setup)  # type: ignore[arg-type]
    new, lines = np.zeros(setup.output.size, bool), {}
    for trace in sorted(launch.traces, key=lambda trace: trace.step):
        if trace.space == "global" and trace.array == name:
            elements = trial.elements(trace, setup.output.itemsize)
            if trace.op in ops and not new[elements].all():
                lines[launch.program.instructions[trace.instruction].line] = True
            new[elements] |= trace.op != "ld"
    return [*lines]


def wrong_products(facts: Facts) -> tuple[str, ...]:
    """Which products of a multiplication are wrong."""
    hazards = any(COPY_AT_END not in finding.message for finding in facts.failure.report.findings)
    if not isinstance(facts.problem, Gemm) or hazards:
        return ()
    passed = (outcome.case.sizes.values() for outcome in facts.examination.outcomes if outcome.passed)
    stopped = facts.failure.error is not None
    if stopped and any(min(sizes) > 1 for sizes in passed):
        return ()  # the products are right where every thread has an element
    inputs = facts.problem._inputs(facts.failure.case)
    sentences = products.explained(_probe(facts), inputs.tiles)
    if stopped:  # C holds nothing then: what is left to say is how the matrices are read
        sentences = tuple(sentence for sentence in sentences if re.match(r"[AB] is read", sentence))
    return tuple(sentence for sentence in sentences if _is_of_the_text(facts, sentence))


_TAKEN_LENGTH = re.compile(r"^[AB] is read as if its rows were (\w+) floats long")


def _is_of_the_text(facts: Facts, sentence: str) -> bool:
    """Whether the length of rows that a sentence names is more than compared in the kernel: another number of the text
    may be the same in the case that failed."""
    match = _TAKEN_LENGTH.match(sentence)
    body = re.sub(r"[<>]=?\s*\w+", "", text_slips.last_kernel(facts.text)[1])
    return match is None or re.search(rf"\b{match[1]}\b", body) is not None


def one_buffer_read(facts: Facts) -> str:
    """That of the two buffers of a square tile one is never read, though the launch has several tiles along k."""
    depth = facts.problem.tiles.BK if isinstance(facts.problem, Gemm) else None
    if depth is None or facts.failure.case.sizes["K"] <= depth or facts.failure.report.findings:
        return ""
    for name in dict(integers.arrays(facts.text)):
        shape = facts.shape(name)
        if shape == (2, depth, depth) and re.search(rf"__shared__[^;]*\b{name}\s*\[", facts.text):
            read, stored = (
                {element[0] for elements in of_lines.values() for element in elements}
                for of_lines in map(_touched(facts, name, (0, 0, 0)).get, ("ld", "st"))
            )
            if len(read) == 1 and stored == {0, 1}:
                (never,) = stored - read
                return f"Block (0, 0) stores to {name}[{never}], and none of its threads ever reads {name}[{never}]."
    return ""


def reads_old(facts: Facts) -> str:
    """The old contents of the output, NaN, are in the new ones."""
    output, name = facts.failure.output, facts.problem.output
    others = any(finding.kind != GLOBAL_RACE for finding in facts.failure.report.findings)
    if output is None or others or not np.isnan(output).any() or not np.isnan(facts.setup.output).all():
        return ""
    written = trial.output_name(facts.examination.kernel, facts.setup)  # type: ignore[arg-type]
    lines = _reading_the_old(facts, facts.setup, ("ld", "atom", "red"))
    adds = rf"\b{written}\s*\[[^;=]*\]\s*\+=|\batomicAdd\s*\(\s*&?\s*{written}\b"
    added = re.search(adds, facts.lines[lines[0] - 1]) if len(lines) == 1 else None
    if isinstance(facts.problem, Gemm):
        try:
            if not _probe(facts).spoilt.any():
                return ""
        except CannotProbe:
            return ""
    elif (
        not added
        or not np.isnan(output[trial.stores(facts.examination.kernel, facts.problem, facts.failure.case) > 0]).any()
    ):  # type: ignore[arg-type]
        return ""
    instead = bool(added) and _is_right_with(facts, {lines[0]: ("+=", "=")}, facts.failure.case)
    if facts.failure.report.findings and not instead:
        return ""  # a race is shown, and this is no reason for it
    if added:
        how = " (+=)" if "+=" in added[0] else ""
        said = f"Line {lines[0]} adds to {name}{how}, and before the launch {name} is NaN."
        return f"{said} With = in its place this launch is right." if instead else said
    return slips.OLD_C_READ if facts.problem.scalars else f"{name} is read, and begins with NaN."


def of_another_element(facts: Facts) -> str:
    """All wrong elements hold what belongs to other ones."""
    output, expected, wrong = facts.failure.output, facts.failure.expected, facts.failure.wrong
    if output is None or facts.failure.report.findings or isinstance(facts.problem, Gemm):
        return ""
    values, places, often = np.unique(expected, return_index=True, return_counts=True)
    if wrong.sum() < 16 or np.isnan(output[wrong]).any() or len(values) < 16 or (often > 1).mean() > 0.1:
        return ""
    at = np.searchsorted(values, output[wrong])
    if (at >= len(values)).any() or (values[np.minimum(at, len(values) - 1)] != output[wrong]).any():
        return ""
    if (often[at] > 1).mean() > 0.1 or len(np.unique(at)) == 1:  # what many hold, as 0, is the value of none
        return ""
    here, there = np.argwhere(wrong), np.argwhere(np.ones(expected.shape))[places[at]]
    names = [[facts.problem.index(tuple(int(n) for n in cell))[-1] for cell in cells] for cells in (here, there)]
    if any(isinstance(name, str) and name != same for name, same in zip(*names, strict=True)):
        return ""  # numbers of two kinds that happen to be equal
    first, other = (
        f"{facts.problem.output}[{', '.join(map(str, facts.problem.index(tuple(int(n) for n in element))))}]"
        for element in (np.argwhere(wrong)[0], np.unravel_index(int(places[at[0]]), expected.shape))
    )
    return (
        f"{first} holds the number that is right for {other}, and every wrong element holds one that is right for "
        "another."
    )


def of_another_block(facts: Facts) -> str:
    """A tile in which nothing is stored: its block stores where other blocks do, or nowhere."""
    problem, findings = facts.problem, facts.failure.report.findings
    if not isinstance(problem, Gemm) or facts.failure.output is None or problem.rows_along not in ("x", "y"):
        return ""
    if findings or not facts.failure.wrong.any():
        return ""
    mine, right = (
        {block: (places, _cells(places)) for block, places in _stores(facts, kernel)}
        for kernel in (facts.examination.kernel, simulated(facts.solution, problem.entry))
    )
    seen = tuple(map(int, problem.index(tuple(np.argwhere(facts.failure.wrong)[0]))))
    stored = set().union(*(cells for _, cells in mine.values()))
    for block, (due, cells) in right.items():
        if seen not in cells or stored & cells:
            continue
        own = "nothing"
        if block in mine:
            if not mine[block][1] & set().union(*(others for other, (_, others) in mine.items() if other != block)):
                return ""  # blocks may have other tiles
            own = _rows_and_columns_of(mine[block][0])
        return f"Block {_where(block)} stores {own}; in the solution it stores {_rows_and_columns_of(due)}."
    return ""


def _cells(places: Sequence[np.ndarray]) -> set[tuple[Any, ...]]:
    """(row, column) of each element."""
    return set(zip(*(np.asarray(some).tolist() for some in places), strict=True))


def _rows_and_columns_of(places: Sequence[np.ndarray]) -> str:
    """'in rows 0 to 15 and columns 16 to 31'"""
    numbers = {what: np.unique(some).tolist() for what, some in zip(("row", "column"), places, strict=True)}
    runs = (f"{what}{'' if len(some) == 1 else 's'} {theme.runs(some)}" for what, some in numbers.items())
    return f"in {' and '.join(runs)} of C"


def _stores(facts: Facts, kernel: Any) -> Iterator[tuple[Index, tuple[np.ndarray, ...]]]:
    """(block, (rows, columns)) of all elements of the output that a block stores to."""
    setup = facts.problem.prepare(facts.failure.case)
    try:
        traces = trial.record(kernel, setup).launches[-1].traces
    except SimulatorError:
        return
    name, stores = trial.output_name(kernel, setup), {}
    for trace in traces:
        if trace.space == "global" and trace.op != "ld" and trace.array == name:
            stores.setdefault(trace.block, []).append(trial.elements(trace, setup.output.itemsize))
    for block, places in stores.items():
        index = np.unravel_index(np.unique(np.concatenate(places)), setup.output.shape)
        yield block, facts.problem.index(index)  # type: ignore[arg-type, misc]


def stored_twice(facts: Facts) -> str:
    """Elements that no thread stores, and those that are stored several times: in each tile, where tiles are alike."""
    races = any(finding.kind != GLOBAL_RACE for finding in facts.failure.report.findings)
    if (
        facts.failure.output is None or races or "atomic" in facts.text
    ):  # what is changed by an atomic function is no store
        return ""
    stores = trial.stores(facts.examination.kernel, facts.problem, facts.failure.case)  # type: ignore[arg-type]
    due = ~trial.same(facts.failure.expected, facts.setup.output)  # what keeps its old value need not be stored
    if not (due & (stores.reshape(due.shape) == 0)).any():
        return ""
    seen = np.flatnonzero(facts.failure.wrong)[:1]
    is_seen = not facts.failure.report.findings and bool((stores.reshape(-1)[seen] == 0).all())
    stores = facts.problem.as_matrix(stores.reshape(facts.failure.expected.shape))
    none, several = np.argwhere((stores == 0) & facts.problem.as_matrix(due)), np.argwhere(stores > 1)
    name = facts.problem.output
    tiles = _tiles(stores, facts.problem.tile) if due.all() and due.ndim > 1 else None
    if tiles is not None and (tiles == tiles[:1]).all():
        sets = [_rows_and_columns(chosen) for chosen in (tiles[0] == 0, tiles[0] > 1)]
        verb = "is" if sets[1].startswith(("row ", "column ")) else "are"
        more = f", and {sets[1]} {verb} stored several times" if sets[1] else ""
        if not stores.any() or not is_seen and not (facts.failure.report.findings and sets[1]):
            return ""  # it says nothing of what is seen to be wrong
        if sets[0]:
            where = f"In every tile of {name} no" if len(tiles) > 1 else f"In {name} no"
            return f"{where} thread stores {sets[0]}{more}."
    if not len(several) or not is_seen:
        return ""
    first, other = (f"{name}[{', '.join(map(str, elements[0].tolist()[-due.ndim :]))}]" for elements in (none, several))
    return f"No thread stores {first}, and {other} is stored several times."


def _tiles(stores: np.ndarray, tile: tuple[int, int]) -> np.ndarray | None:
    """A matrix cut into tiles (tiles, rows, columns); None if they are not whole."""
    if stores.ndim != 2 or stores.shape[0] % tile[0] or stores.shape[1] % tile[1]:
        return None
    down, across = stores.shape[0] // tile[0], stores.shape[1] // tile[1]
    return stores.reshape(down, tile[0], across, tile[1]).swapaxes(1, 2).reshape(-1, *tile)


def _rows_and_columns(chosen: np.ndarray) -> str:
    """'rows 20 to 31' of a tile, 'rows 0 to 3 of columns 4 to 7'; '' if these are no whole rows and columns."""
    rows, cols = np.flatnonzero(chosen.any(axis=1)), np.flatnonzero(chosen.any(axis=0))
    if not len(rows) or not chosen[np.ix_(rows, cols)].all():
        return ""
    words = [
        f"{what}{'' if len(numbers) == 1 else 's'} {theme.runs(numbers.tolist())}"
        for what, numbers, size in (("row", rows, chosen.shape[0]), ("column", cols, chosen.shape[1]))
        if len(numbers) < size
    ]
    return " of ".join(words) or "any element"


# What the text and the indices of the thread that went wrong prove comes before what numbers say.
BY_TEXT: tuple[Detector, ...] = (
    another_head, without_braces, endless.explained, convergence.explained, waits_for_a_warp,
    axis_without_threads, never_entered, asks_less_of_a_scalar, same_in_every_block, of_another_block_size,
    not_the_launched_tile, leaves_its_row, leaves_the_room, one_buffer_read, not_sent_home, asked_too_late, one_for_all,
)  # fmt: skip
DETECTORS: tuple[Detector, ...] = (
    *BY_TEXT, leaves_the_matrix, not_a_multiple, reads_old, sent_home, wrong_products, overall.other_formula,
    overall.factor_or_constant, overall.rounded, contents.explained, of_another_element, of_another_block,
)  # fmt: skip
# What was seen, and not why: only where nothing else explains it.
LAST: tuple[Detector, ...] = (nothing_stored, stored_twice, added_by_several, never_stored)
