"""A learner's kernel on one case, in the simulator: what it left, or how it went wrong, and who wrote what.

Nothing that a kernel does ends this process: a loop without end is stopped after MAX_INSTRUCTIONS, accesses outside the
arrays are refused, and whatever goes wrong comes back as a value.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import gpusim
from gpusim.compiler import CompileError
from gpusim.devices import unravel
from gpusim.errors import SHARED_RACE, KernelError, OutOfBounds, SimulatorError
from helpers.exercises.framework.problems import Case, Problem, Setup
from helpers.run import call, checked, recorded, simulated, unchecked, unoptimised

if TYPE_CHECKING:
    from gpusim import Kernel, Recording, Report
    from gpusim.counters.recorded import RecordedLaunch
    from gpusim.counters.trace import Trace

# The longest solution needs a quarter of this, and a loop without end is stopped within a second.
MAX_INSTRUCTIONS = 16_000
MOST_PRINTED, MOST_LETTERS = 12, 240  # lines, and letters of each: a printf may never end its line
OWN_ARRAY = re.compile(
    r"^(?!.*\b(?:__shared__|extern|__device__|__constant__)\b)\s*(?:\w+\s+)+\w+\s*\[[^\]]+\]", re.MULTILINE
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one case came to.

    output: what the kernel left, None if it did not run to its end.  expected: what is right.  error: what stopped it.
    report: what the sanitizer looked at and found in a kernel that ran to its end.  printed: by the kernel's printf.
    parameters: what the learner calls them.
    """

    case: Case
    output: np.ndarray | None
    expected: np.ndarray
    error: SimulatorError | None = None
    report: Report = field(default_factory=lambda: gpusim.Report(""))
    printed: str = ""
    parameters: tuple[str, ...] = ()

    @property
    def wrong(self) -> np.ndarray:
        """Bool, of the output's shape: which elements are not right, bit for bit."""
        if self.output is None:
            return np.ones(self.expected.shape, bool)
        return ~same(self.output, self.expected)

    @property
    def passed(self) -> bool:
        """Right, and no hazard."""
        return self.error is None and not self.report.findings and not self.wrong.any()

    @property
    def signature(self) -> tuple[Any, ...]:
        """What two kernels that make the same mistake have in common: results, and where and how it went wrong.

        Source lines and the names of shared arrays are left out: learners write them as they like.
        """
        if self.error is not None:
            where = (self.error.block, self.error.thread) if isinstance(self.error, KernelError) else ()
            return type(self.error), where, anonymous(str(self.error), self.parameters)
        numbers = {name: number for number, name in enumerate(self.parameters)}
        hazards = {
            (f.kind, numbers.get(f.array), f.index, f.block, f.thread, f.other_block, f.other_thread, f.count)
            for f in self.report.findings
        }
        return self.output.tobytes(), frozenset(hazards)  # type: ignore[union-attr]


def anonymous(message: str, parameters: Sequence[str]) -> str:
    """The first line of a simulator's message without names and lines: 'index 703 of #7' for the eighth parameter."""
    what = re.sub(r"\bline \d+", "line", message.partition("\n")[0].partition(": ")[2])
    for number, name in enumerate(parameters):
        what = re.sub(rf"\b{re.escape(name)}\b", f"#{number}", what)
    for name in set(re.findall(r"(\b[A-Za-z_]\w*)\[", what)):  # of shared arrays
        what = re.sub(rf"\b{name}\b", "@", what)
    return what


def same(array: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Bool: where two arrays hold the same number. A NaN is like any other NaN: a NaN has no meaning."""
    return (array == other) | ((array != array) & (other != other))


def run(kernel: Kernel, problem: Problem, case: Case) -> Outcome:
    """Launch on a case under the sanitizer, and say what came of it."""
    setup, printed = problem.prepare(case), io.StringIO()
    names = tuple(parameter.name for parameter in kernel.compiled.parameters)
    try:
        with redirect_stdout(printed):
            report = checked(kernel, *_launch(setup), times=case.launches, max_instructions=MAX_INSTRUCTIONS)
    except SimulatorError as stopped:
        return Outcome(case, None, setup.expected, stopped, printed=printed.getvalue(), parameters=names)
    outcome = Outcome(case, setup.left(setup.args), setup.expected, None, report, printed.getvalue(), names)
    if _is_short_circuit(report, kernel):
        outcome = _as_written(outcome, kernel, problem)
    if outcome.wrong.any() and not report.findings and OWN_ARRAY.search(kernel.compiled.source):
        return _in_memory(outcome, kernel, problem)
    return outcome


def is_right(source: str, problem: Problem, cases: Iterable[Case]) -> bool:
    """Whether a source compiles, and passes in cases, of which the first that fails is the last one tried."""
    return bool(outcomes_of_right(source, problem, cases))


def outcomes_of_right(source: str, problem: Problem, cases: Iterable[Case]) -> tuple[Outcome, ...]:
    """The outcomes of a source that compiles, and passes in all cases; () for another, which is not tried further."""
    try:
        kernel = simulated(source, problem.entry)
    except (CompileError, SimulatorError):
        return ()
    outcomes = []
    for case in cases:
        outcomes.append(run(kernel, problem, case))
        if not outcomes[-1].passed:
            return ()
    return tuple(outcomes)


def _in_memory(outcome: Outcome, kernel: Kernel, problem: Problem) -> Outcome:
    """The outcome with what goes wrong in an array that the compiler keeps in registers, where it leaves nothing of it:
    the kernel is compiled once more, without optimisation, so that the array is in memory."""
    setup = problem.prepare(outcome.case)
    try:
        with redirect_stdout(io.StringIO()):
            report = checked(unoptimised(kernel), *_launch(setup), max_instructions=4 * MAX_INSTRUCTIONS)
    except OutOfBounds as error:
        return replace(outcome, output=None, error=error)
    except (SimulatorError, CompileError):
        return outcome
    is_new = (np.isnan(outcome.output) & ~np.isnan(outcome.expected)).any()  # type: ignore[arg-type]
    return replace(outcome, report=report) if is_new and report.findings else outcome


def _is_short_circuit(report: Report, kernel: Kernel) -> bool:
    """Whether all findings are races for shared variables that the source reads behind && or ||, where C++ reads them
    only in threads for which what stands in front does not decide already. The compiler may load them in all threads,
    and throw away what is not needed."""
    lines = kernel.compiled.source.splitlines()
    return bool(report.findings) and all(
        finding.kind == SHARED_RACE
        and any(
            re.search(rf"(?:&&|\|\|)[^;]*\b{re.escape(finding.array)}\b", lines[line - 1]) for line in finding.lines
        )
        for finding in report.findings
    )


def _as_written(outcome: Outcome, kernel: Kernel, problem: Problem) -> Outcome:
    """The outcome without races that only the compiler's loads make: compiled without optimisation, a thread loads what
    its source reads."""
    setup = problem.prepare(outcome.case)
    try:
        with redirect_stdout(io.StringIO()):
            report = checked(
                unoptimised(kernel), *_launch(setup), times=outcome.case.launches, max_instructions=4 * MAX_INSTRUCTIONS
            )
    except (SimulatorError, CompileError):
        return outcome
    return outcome if report.findings else replace(outcome, report=report)


def record(
    kernel: Kernel, setup: Setup, *, blocks: Any = "all", only_traced: bool = False, checks: str = "off"
) -> Recording:
    """One launch with the addresses of these blocks, whatever the sanitizer thinks of it. Raises SimulatorError."""
    with redirect_stdout(io.StringIO()):
        return recorded(
            kernel, *_launch(setup),
            blocks=blocks, only_traced=only_traced, checks=checks, max_instructions=4 * MAX_INSTRUCTIONS,
        )  # fmt: skip


def output_name(kernel: Kernel, setup: Setup) -> str:
    """What the learner's kernel calls the array that is judged."""
    return kernel.compiled.parameters[setup.position].name


def launch(kernel: Any, setup: Setup) -> None:
    """Launch a function of the simulator's or of CuPy's."""
    call(kernel, *_launch(setup))


def launch_in_order(kernel: Kernel, setup: Setup, *, opposite: bool) -> None:
    """Launch with the atomic operations of threads in the usual order, or in the opposite one, without the sanitizer.
    Raises SimulatorError."""
    with redirect_stdout(io.StringIO()):
        unchecked(kernel, *_launch(setup), reverse_atomics=opposite)


def _launch(setup: Setup) -> tuple[Any, ...]:
    return setup.grid, setup.block, setup.args, setup.shared_bytes


def stores(kernel: Kernel, problem: Problem, case: Case) -> np.ndarray:
    """How often each element is stored in a launch, of the output's shape. What ends early has stored so far."""
    setup = problem.prepare(case)
    count = np.zeros(setup.output.size, int)
    for trace in _traces_of_stores(kernel, setup):
        np.add.at(count, elements(trace, setup.output.itemsize), 1)
    return count.reshape(setup.output.shape)


def stored_by_several(kernel: Kernel, problem: Problem, case: Case) -> np.ndarray:
    """Bool, of the output's shape: which elements several threads store in a launch."""
    setup = problem.prepare(case)
    first, last = np.full(setup.output.size, np.inf), np.full(setup.output.size, -1.0)
    for trace in _traces_of_stores(kernel, setup):
        threads = np.arange(len(trace.addresses)) if trace.active is None else np.flatnonzero(trace.active)
        across, down, _ = (*setup.grid, 1, 1)[:3]
        x, y, z = trace.block
        stored = elements(trace, setup.output.itemsize)
        numbers = np.repeat((x + across * (y + down * z)) * len(trace.addresses) + threads, len(stored) // len(threads))
        np.minimum.at(first, stored, numbers)
        np.maximum.at(last, stored, numbers)
    return (last > first).reshape(setup.output.shape)


def _traces_of_stores(kernel: Kernel, setup: Setup) -> list[Trace]:
    """The stores to the output with an active thread; none of a launch that is stopped."""
    try:
        traces = record(kernel, setup).launches[-1].traces
    except SimulatorError:
        return []
    name = output_name(kernel, setup)
    stores = (trace for trace in traces if trace.space == "global" and trace.op != "ld" and trace.array == name)
    return [trace for trace in stores if trace.active is None or trace.active.any()]


def elements(trace: Trace, size: int = 4) -> np.ndarray:
    """The elements of an array that an instruction accesses, by linear index. size: bytes of one."""
    active = trace.addresses if trace.active is None else trace.addresses[trace.active]
    first = (active - trace.base) // size
    return (first[:, None] + np.arange(max(trace.width // size, 1))).reshape(-1)


@dataclass(frozen=True)
class Writer:
    """Who wrote an element last, and with which line of the source."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int


def writer(kernel: Kernel, problem: Problem, case: Case, element: int) -> Writer | None:
    """Who stored the element with this linear index of the output last, in any launch of a case; None if no thread
    did."""
    setup = problem.prepare(case)
    position, byte = setup.place_of(element)
    last = None
    for _ in range(case.launches):
        try:
            launch = record(kernel, setup).launches[-1]
        except SimulatorError:
            break
        last = _last_writer(launch, kernel.compiled.parameters[position].name, byte) or last
    return last


def _last_writer(launch: RecordedLaunch, name: str, byte: int) -> Writer | None:
    """Who stored to a byte of an array last in one launch."""
    last = None
    for trace in sorted(launch.traces, key=lambda trace: trace.step):
        if trace.space != "global" or trace.op == "ld" or trace.array != name:
            continue
        first = trace.addresses - trace.base
        hit = (first <= byte) & (byte < first + trace.width)
        if trace.active is not None:
            hit &= trace.active
        for thread in np.flatnonzero(hit)[-1:].tolist():
            index = unravel(thread, launch.facts.block)
            last = Writer(trace.block, index, launch.program.instructions[trace.instruction].line)
    return last
