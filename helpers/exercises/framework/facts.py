"""What reasons look at: a learner's source, and one case in which it fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpusim.devices import unravel
from helpers.exercises.framework import integers, text_slips
from helpers.exercises.framework.judge import Examination
from helpers.exercises.framework.problems import Problem
from helpers.exercises.framework.trial import Outcome

SUBSCRIPTS = r"((?:\[(?:[^][]|\[[^][]*\])*\])+)"  # with brackets in them, one level deep
PART = re.compile(r"\[((?:[^][]|\[[^][]*\])*)\]")
_TYPE = r"\b(?:float[24]?|double|int|unsigned|short|char|bool|u?int\d+_t|(?:__)?half2?|__nv_bfloat16)"


@dataclass(frozen=True, eq=False)
class Facts:
    """A learner's source and one case in which it fails."""

    source: str
    examination: Examination
    failure: Outcome
    problem: Problem
    solution: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the source without comments, other kernels, and functions that are not called."""
        text = text_slips.without_comments(self.source)
        return integers.launched(text, self.problem.entry.partition("<")[0]).split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def setup(self) -> Any:
        return self.problem.prepare(self.failure.case)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The kernel's parameters, as the learner calls them, and their arguments."""
        return dict(
            zip(
                (parameter.name for parameter in self.examination.kernel.compiled.parameters),
                self.setup.args,
                strict=False,
            )
        )

    def values(self, block: Any, thread: Any, first_round: bool = False) -> dict[str, Any]:
        """The names of the source for a thread, or for arrays of threads, as far as the text says what they are.

        first_round: with what the variables of loops are at first.
        """
        types = {parameter.name: parameter.type for parameter in self.examination.kernel.compiled.parameters}
        given = {
            name: np.uint32(arg) if re.search("unsigned|uint", types[name]) else arg.item()
            for name, arg in self.parameters.items()
            if isinstance(arg, np.number)
        }
        for name, index in (("blockIdx", block), ("threadIdx", thread)):
            given |= {f"{name}.{axis}": number for axis, number in zip("xyz", index, strict=True)}
        for name, sizes in (("blockDim", self.setup.block), ("gridDim", self.setup.grid)):
            given |= {f"{name}.{axis}": (*sizes, 1, 1)[n] for n, axis in enumerate("xyz")}
        return integers.names_in(self.text, given, first_round)

    @cached_property
    def all_threads(self) -> dict[str, Any]:
        """The names of the source for every thread of the launch, threads of a block beside each other."""
        grid, block = ((*sizes, 1, 1)[:3] for sizes in (self.setup.grid, self.setup.block))
        blocks = unravel(np.arange(int(np.prod(grid)))[:, None], grid)
        threads = unravel(np.arange(int(np.prod(block)))[None, :], block)
        return self.values(blocks, threads)

    def accesses(self, line: int, name: str) -> list[tuple[str, ...]]:
        """The indices of an array in a line, as they are written."""
        if not 0 < line <= len(self.lines):
            return []
        written = re.findall(rf"\b{re.escape(name)}\s*{SUBSCRIPTS}", self.lines[line - 1])
        return [tuple(PART.findall(indices)) for indices in written]

    def shape(self, name: str) -> tuple[int, ...]:
        """The sizes with which an array is declared, () if it is not, or twice, or if they are not known."""
        declared = re.findall(rf"{_TYPE}\s+(?:[^;(){{}}]*,\s*)?{name}\s*{SUBSCRIPTS}\s*[;=,){{]", self.text)
        if len(set(declared)) != 1:
            return ()
        sizes = [integers.value(size, self.values((0, 0, 0), (0, 0, 0))) for size in PART.findall(declared[0])]
        return () if None in sizes else tuple(sizes)
