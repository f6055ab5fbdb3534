"""Whether all threads come to what they must come to together: the barriers of a block, the shuffles of a warp.

A GPU may seem to do what is meant even where some threads never come. It is not defined all the same (CUDA guide,
'Synchronization Functions'), so a kernel that passes is asked, too. Threads that have ended are not waited for (CUDA
guide, 'Independent Thread Scheduling'; synccheck and racecheck find nothing in such kernels on an H200): they are
missed at a barrier only if it is to order what they stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpusim.devices import WARP, unravel
from gpusim.errors import UNWRITTEN_SHARED
from helpers.exercises.framework import integers
from helpers.pictures import theme

if TYPE_CHECKING:
    from helpers.exercises.framework.facts import Facts

BARRIER = r"__syncthreads\w*\s*\("
_ALL_LANES = r"(?:0x[fF]{8}u?|~0u?|-1)\b"
SHUFFLE = r"__(?:shfl|ballot|any|all|match|reduce)\w*_sync\s*\(\s*"


def explained(facts: Facts) -> str:
    """The condition under which a barrier, or a shuffle that names all lanes, stands, or by which threads return or
    leave the loop before it, so that only some of them come to it; "" if none does.

    It speaks of the block in which the launch went wrong, where that is known. That a tile has elements which no thread
    has written is not the barrier's fault: there it says only which threads have left.
    """
    for line, condition, body, leaves, at in _conditions(facts.text):
        named = [
            name
            for name in re.findall(rf"\b(\w+)\s*=?\s*{_ALL_LANES}\s*;?[ \t]*$", facts.text, re.MULTILINE)
            if len(re.findall(rf"\b{name}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)", facts.text)) < 2
        ]
        shuffle = SHUFFLE + f"(?:{'|'.join([_ALL_LANES, *named])})" + r"(?!\w)"
        for what, pattern in (("a barrier of the block", BARRIER), ("a function that names all lanes", shuffle)):
            if not re.search("|".join([pattern, *_calling(facts.text, pattern)]), body):
                continue
            ended = leaves == "return" or re.search(r"\breturn\s*;", facts.text[:at])
            if pattern == shuffle and ended:
                continue  # lanes that have ended are not waited for (CUDA guide, 'Warp Shuffle Functions')
            for block in _blocks(facts):
                holds = _holds(facts, [f"({condition})", *_around(facts.text, at)], block)
                some = "" if holds is None else _some(holds, facts, pattern == BARRIER)
                if some:
                    of_block = f"{some} of block {_index(block)}"
                    have_left = f"{'has' if re.match('(?:thread|lane) ', some) else 'have'} left"
                    if _reads_unwritten(facts) and not leaves:
                        continue  # a barrier for all fills no tile
                    if _reads_unwritten(facts):
                        return (
                            f"By `if ({condition}) {leaves}` in line {line}, {of_block} {have_left} before a barrier."
                        )
                    if leaves == "return":
                        left = f"By `if ({condition}) return` in line {line}, {of_block} {have_left} before a barrier"
                        if stored := _stored_since_a_barrier(facts.text, at):
                            return (
                                f"{left}. It waits only for threads that have not ended, so it does not order what the "
                                f"others stored in {stored} in front of that line."
                            )
                        if facts.failure.passed:
                            continue
                        return f"{left}."
                    does = (
                        f"{what[0].upper()}{what[1:]} comes behind `if ({condition}) {leaves}` in line {line}, by "
                        f"which {of_block} {have_left} the round of the loop"
                        if leaves
                        else f"{what[0].upper()}{what[1:]} stands under `{condition}` in line {line}, which holds for "
                        f"{of_block} and not for the others"
                    )
                    return f"{does}: by CUDA's rules all of them must come to it, even where it seems to work without."
    return ""


def _stored_since_a_barrier(text: str, at: int) -> str:
    """A shared array to which something is assigned between the last barrier in front of a place and the place."""
    between = text[max((match.end() for match in re.finditer(BARRIER, text[:at])), default=0) : at]
    arrays = re.findall(r"__shared__[^;]*?(\w+)\s*\[", text)
    return next((name for name in arrays if re.search(rf"\b{name}\s*(?:\[[^;=]*\])+\s*[-+*/|^&]?=(?!=)", between)), "")


def _reads_unwritten(facts: Facts) -> bool:
    """Whether what went wrong is that shared memory is read where no thread has written, and no race."""
    findings = facts.failure.report.findings
    return bool(findings) and all(finding.kind == UNWRITTEN_SHARED for finding in findings)


def of_those_who_happen_to_be_here(facts: Facts) -> str:
    """A mask of `__activemask()` in a branch: no rule says that all lanes that took it come there together (CUDA guide,
    'Warp Vote Functions')."""
    for line, condition, body, leaves, at in _conditions(facts.text):
        if leaves or "__activemask" not in body:
            continue
        holds = [_holds(facts, [f"({condition})", *_around(facts.text, at)], block) for block in _blocks(facts)]
        if any(lanes is None or _some(lanes, facts, False) for lanes in holds):
            return (
                f"__activemask() stands under `{condition}` in line {line}. It names the lanes that happen to be there "
                "at one time, and CUDA does not promise that all those for which the condition holds are. "
                "__ballot_sync in front of the branch does."
            )
    return ""


def _blocks(facts: Facts) -> list[tuple[int, ...]]:
    """The block in which the launch went wrong; where that is not known the first one and the last."""
    error, findings = facts.failure.error, facts.failure.report.findings
    known = getattr(error, "block", None) or next((finding.block for finding in findings), None)
    grid = (*facts.setup.grid, 1, 1)[:3]
    return [known] if known else [(0, 0, 0), tuple(size - 1 for size in grid)]


def _index(index: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, index if index[2] else index[:2]))})"


def _some(holds: np.ndarray, facts: Facts, of_block: bool) -> str:
    """'the threads with x = 0 to 4', 'lanes 0 to 15 of warp 2': those of a block's threads, or of one of its warps'
    lanes, for which a condition holds; "" where it holds for all of them or for none."""
    if of_block:
        return _threads(holds, (*facts.setup.block, 1, 1)[:3]) if 0 < holds.sum() < len(holds) else ""
    for warp, lanes in enumerate(np.split(holds, range(WARP, len(holds), WARP))):
        if 0 < lanes.sum() < len(lanes):
            numbers = np.flatnonzero(lanes).tolist()
            return f"lane{'' if len(numbers) == 1 else 's'} {theme.runs(numbers)} of warp {warp}"
    return ""


def _threads(holds: np.ndarray, block: tuple[int, ...]) -> str:
    """Threads of a block in words: by their axes where these tell them apart, else by their numbers."""
    numbers = np.flatnonzero(holds).tolist()
    sides = [axis for axis in range(3) if block[axis] > 1]
    if len(sides) < 2:
        return f"thread{'' if len(numbers) == 1 else 's'} {theme.runs(numbers)}"
    index = unravel(np.arange(len(holds)), block)
    for chosen, prefix in ((holds, "the threads with "), (~holds, "all threads but those with ")):
        sets = [np.unique(index[axis][chosen]).tolist() for axis in sides]
        if np.prod([len(some) for some in sets]) == chosen.sum():
            words = [
                f"{'xyz'[axis]} = {theme.runs(some)}"
                for axis, some in zip(sides, sets, strict=True)
                if len(some) < block[axis]
            ]
            return prefix + " and ".join(words)
    return f"threads {theme.runs(numbers)}"


def _conditions(text: str) -> Iterator[tuple[int, str, str, str, int]]:
    """(line, condition, what depends on it, by which word the threads for which it holds leave, "" if by none, where it
    stands) of each if."""
    for match in re.finditer(r"\bif\s*\(", text):
        condition, rest = integers.bracketed(text[match.end() :])
        rest = rest.lstrip()
        body = integers.bracketed(rest[1:], "{}")[0] if rest.startswith("{") else rest.partition(";")[0] + ";"
        line, condition = integers.line_of(text, match.start()), " ".join(condition.split())
        yield line, condition, body, "", match.start()
        if left := re.match(r"\s*(return|break|continue)\s*;", body):
            rest = _rest_of_function(text, match.start())
            if left[1] != "return":
                rest = _rest_of_loop(text, match.start(), left[1])
            yield line, condition, rest, left[1], match.start()


def _around(text: str, at: int) -> Iterator[str]:
    """The conditions under which a place of a text stands: those of the ifs, and of the elses, around it."""
    for match in re.finditer(r"\bif\s*\(", text[:at]):
        condition, end = integers.bracketed(text[match.end() :])[0], integers.end_of_statement(text, match.start())
        if at < end:
            yield f"({condition})"
        elif at < _end_with_elses(text, end):
            yield f"!({condition})"


def _end_with_elses(text: str, end: int) -> int:
    """Where the elses end that follow the statement of an if."""
    while follows := re.match(r"\s*else\b", text[end:]):
        end = integers.end_of_statement(text, end + follows.end())
    return end


def _rest_of_loop(text: str, begin: int, word: str) -> str:
    """What follows a place, to the end of the innermost loop, or for break the innermost switch, in which it stands."""
    ends = []
    for head in re.finditer(r"\b(?:for|while|(switch))\s*\(|\bdo\b", text[:begin]):
        body = integers.bracketed(text[head.end() :])[1] if head[0].endswith("(") else text[head.end() :]
        if not head[1] or word == "break":
            ends.append(integers.end_of_statement(text, len(text) - len(body)))
    return text[begin : min((end for end in ends if begin < end), default=begin)]


_LAMBDA = re.compile(r"\]\s*(?:\([^()]*\)[^(){};]*)?$")


def _rest_of_function(text: str, begin: int) -> str:
    """What follows a place, to the end of the function, or of the lambda, in which it stands."""
    opened: list[int] = []
    for at, character in enumerate(text[:begin]):
        if character == "{":
            opened.append(at)
        elif character == "}" and opened:
            opened.pop()
    inside = next((n for n in reversed(range(len(opened))) if _LAMBDA.search(text[: opened[n]])), 0)
    depth = len(opened) - inside
    for at, character in enumerate(text[begin:], begin):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return text[begin:at]
    return text[begin:]


def _calling(text: str, pattern: str) -> list[str]:
    """Patterns of the calls of those functions of the source in which a pattern is."""
    conditions: list[str] = []
    for function in re.finditer(r"__device__[^;{}]*?\b(\w+)\s*\([^)]*\)\s*\{", text):
        if re.search("|".join([pattern, *conditions]), integers.bracketed(text[function.end() :], "{}")[0]):
            conditions.append(rf"\b{function[1]}\s*\(")
    return conditions


def _holds(facts: Facts, conditions: list[str], where: tuple[int, ...]) -> np.ndarray | None:
    """Bool for each thread of a block: all conditions hold. None if the text does not say, or if the first is the same
    for all threads."""
    block = (*facts.setup.block, 1, 1)[:3]
    threads = unravel(np.arange(int(np.prod(block))), block)
    names = facts.values(where, threads, first_round=True)
    values = [integers.value(condition, names) for condition in conditions]
    if any(value is None for value in values) or np.ndim(values[0]) == 0:
        return None
    return np.logical_and.reduce(np.broadcast_arrays(*values))
