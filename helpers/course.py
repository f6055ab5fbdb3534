"""What a notebook of the course writes at its top: `from helpers import course`. It brings the cell magic `%%cuda`.

    %%cuda naive
    extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
        …
    }

The cell is CUDA C++, line for line as the messages count it. If `naive` is an exercise, the cell is checked: the
verdict comes first, then the picture of what the learner's threads do. Under any other name it is compiled and kept as
my/<name>.cu, with the compiler's warnings shown. `course.source(name)` is the kept text, and
`course.kernel(name)` the kernel that explorers show, for the cells after it.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass, replace

import numpy as np
from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.display import display

from gemm_kernels import OwnKernel
from helpers import compiler, plan, run
from helpers.analysis import memories
from helpers.analysis.access import gemm_accesses
from helpers.compiler import CompileError
from helpers.draw import machine as machine_picture
from helpers.draw import theme
from helpers.draw.sectors import sectors_figure
from helpers.draw.tables import Table
from helpers.exercises import get
from helpers.exercises.framework import kept, rungs
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Exercise, KernelExercise
from helpers.exercises.framework.gemm import Gemm
from helpers.measure.measurement import Measurement

OPTIONS = ("-std=c++17",)


@dataclass(frozen=True)
class Compiled:
    """A kernel of the learner's that is no exercise's.

    names: of the kernels in it.  warnings: the compiler's, as it words them.  place: the file it is kept in, "" if
    none could be written.
    """

    names: tuple[str, ...]
    warnings: str
    place: str

    def __str__(self) -> str:
        where = f", kept in {self.place}" if self.place else ""
        return "\n\n".join(part for part in (f"Compiled: {', '.join(self.names)}{where}.", self.warnings) if part)


def cuda(line: str, cell: str) -> None:
    """The magic `%%cuda NAME`: see the module. Raises UsageError, a sentence without a traceback, for a bad name."""
    name = line.strip()
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(
            f"%%cuda takes the name of an exercise, or one under which your kernel is kept: `%%cuda naive`. "
            f"{name!r} is no name of letters, digits and underscores."
            if name
            else "%%cuda needs a name: of an exercise, or one under which your kernel is kept, as in `%%cuda naive`."
        )
    text = f"\n{cell}"  # the magic is line 1 of the cell, so that the messages count as JupyterLab does
    exercise = _exercise(name)
    if exercise is None:
        _keep(name, text)
    elif isinstance(exercise, KernelExercise):
        answer(exercise, text)
    else:
        raise UsageError(f"The answer to the exercise {name!r} is no kernel: {name}.check(…) takes it.")


def answer(exercise: KernelExercise, text: str) -> None:
    """Show the verdict on a kernel, and below it what the kernel does, if it can be drawn."""
    verdict = exercise.check(text)
    display(verdict)
    if verdict.picture is not None or (isinstance(exercise, Blank) and verdict.passed is None):
        return  # the map of the errors says more; and an empty body does nothing that could be drawn
    picture = exercise.show(text)
    if isinstance(picture, theme.Figure):
        display(picture)


def source(name: str) -> str:
    """The CUDA C++ that the course goes on with: the learner's accepted kernel, or for a blank that is still open the
    course's solution. ValueError, with a sentence, for a name under which nothing is known."""
    exercise = _exercise(name)
    if isinstance(exercise, Blank):
        return exercise.written.source
    text = kept.source(name)
    if text is None:
        raise ValueError(
            f"Nothing is kept under the name {name!r}: write the kernel in a cell that begins %%cuda {name}."
        )
    return text


def kernel(name: str, shape: tuple[int, int, int] | None = None) -> OwnKernel:
    """The multiplication that the course goes on with, as explorers and `run` take it: the learner's accepted kernel,
    or the course's solution for a blank that is still open. shape: (M, N, K) to look at; None: what suits the picture.

    ValueError, with a sentence, where the name is no blank, or its kernel no multiplication of matrices.
    """
    exercise = _exercise(name)
    if not isinstance(exercise, Blank) or not isinstance(exercise.problem, Gemm):
        raise ValueError(f"{name!r} is no multiplication to write; use OwnKernel(source, …) for a kernel of your own.")
    written = exercise.written
    return replace(rungs.kernel_of(exercise, written.source), shape=shape, name=f"{name} ({written.by})")


def multiply(name: str, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A · B by the multiplication that the course goes on with under this name, on whichever device there is.

    A (M, K) and B (K, N) are float32; the result (M, N) is one that every element was written of. ValueError where the
    name is no multiplication; LaunchFailed, or the simulator's error, where the launch does not come to its end.
    """
    return run.multiply(kernel(name), A, B)


def sectors(name: str, block: tuple[int, int] | None = None) -> theme.Figure:
    """What warp 0 of that kernel asks memory for at k = 0, M = N = K = 1024. block: threads along x and y, if others
    than the kernel was written for."""
    launch = kernel(name).launch(1024, 1024, 1024)
    launch = launch.in_blocks(*block) if block else launch
    title = f"{name}, block {theme.index((*launch.block[:2], 0))}: warp 0, k = 0"
    return sectors_figure(gemm_accesses(run.record(launch)), title)


def my_ladder(size: int = rungs.SHOWN) -> Table:
    """Every multiplication that the learner wrote, beside the course's where a blank is still open; see `rungs`."""
    return rungs.my_ladder(size)


def speed(name: str, size: int = rungs.SHOWN) -> Measurement:
    """The speed of the plain kernel that solves a blank, recorded at M = N = K = size (`.gflops`, `.label`).

    ValueError, with a sentence, where it was not recorded.
    """
    found = rungs.recorded(name, size)
    if found is None:
        known = ", ".join(blank.name for blank in rungs.rungs())
        raise ValueError(f"{name!r} was not recorded at {size}; recorded are {known} at {rungs.SIZES}.")
    return found


def machine() -> theme.Figure:
    """The picture of the GPU that the course records on: its memories, how wide the ways are, how long they take."""
    return machine_picture.machine_figure(memories.machine())


def here(number: str) -> theme.Figure:
    """The small picture of the same GPU at the head of a notebook, "04": what limits its kernel, now and afterwards.

    ValueError, with a sentence, for a notebook whose row in course.toml has no `now` and `then`.
    """
    notebook = plan.course().notebook(number)
    if notebook.now is None or notebook.then is None:
        raise ValueError(f"Notebook {number} makes no kernel faster: its row in {plan.FILE} has no now and no then.")
    return machine_picture.here_figure(memories.machine(), notebook.now, notebook.then)


def _exercise(name: str) -> Exercise | None:
    try:
        return get(name)
    except ValueError:
        return None


def _keep(name: str, text: str) -> None:
    names = tuple(compiler.kernel_names(text))
    if not names:
        display(
            Verdict(False, "There is no kernel in this cell: a kernel is a function that begins with __global__ void.")
        )
        return
    plain = [one for one in names if "<" not in one]
    try:
        compiled = compiler.compile_module(text, plain, options=OPTIONS) if plain else {}
    except CompileError as error:
        display(Verdict(False, str(error)))
        return
    place = kept.keep(name, text)
    warnings = next((kernel.log for kernel in compiled.values()), "")
    display(Verdict(True, str(Compiled(names, warnings, f"my/{place.name}" if place else ""))))


def load_ipython_extension(shell: object) -> None:
    """Register %%cuda. Called at import inside a notebook, and by `%load_ext helpers.course`."""
    shell.register_magic_function(cuda, "cell", "cuda")  # type: ignore[attr-defined]


if get_ipython() is not None:
    load_ipython_extension(get_ipython())
