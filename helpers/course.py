"""What a notebook of the course writes at its top: `from helpers import course`. It brings the cell magic `%%cuda`.

    %%cuda naive
    extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
        …
    }

The cell is CUDA C++, line for line as the messages count it. If `naive` is an exercise, the cell is checked: the
verdict comes first, then the picture of what the learner's threads do. Under any other name it is compiled and kept as
my/<name>.cu, with the compiler's warnings shown. `course.source(name)` is the kept text, and
`course.kernel(name)` the kernel that `course.record` and the explorers take, for the cells after it.

What draws, explores, profiles or reads recordings is loaded by the function that first needs it: matplotlib and the
pictures would be two thirds of what a first cell waits for.
"""

from __future__ import annotations

import difflib
import keyword
import re
import runpy
import sys
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.display import display

import gemm_kernels
import gpusim
from gemm_kernels import Launch, OwnKernel, get as get_kernel
from gemm_kernels.kernel import check_sizes
from gemm_kernels.launch import OPTIONS
from gpusim import compiler
from gpusim.compiler import CompileError, nvrtc
from gpusim.sentences import BadInput, NoSuchName, names_one_of
from helpers import gpu, plan, run
from helpers.exercises.framework import catalogue, kept
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import COURSE, LEARNER, Blank, Plain
from helpers.exercises.framework.exercise import Exercise, KernelExercise
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.multiplications import LAST, SHOWN, kernel_of
from helpers.exercises.framework.progress import short

if TYPE_CHECKING:
    from gpusim import Recording
    from helpers.pictures.tables import Table
    from helpers.pictures.theme import Figure
    from helpers.pictures.widgets import Explorer
    from helpers.profile import Page
    from helpers.recordings.measurement import Measurement

nvrtc.prepare()  # the compiler gets ready while the rest of a first cell runs

WAY = {  # the kernels that stand for their notebooks where the course says where it leads
    "02": "naive", "03": "coalesced", "04": "shared_memory", "06": "block_tile_2d", "09": "vectorized",
    "11": "warptiled", "14": "stream_k",
}  # fmt: skip
LAUNCH = {field.name for field in fields(OwnKernel) if field.init} - {"source"}
WAY_SIZE = 2048  # M = N = K
USUAL = MappingProxyType({"block_x": 32, "block_y": 8})  # the block of naive and coalesced
PICTURES = (
    "thread_map", "coalescing", "tile_phases", "barriers", "occupancy", "register_tile", "bank_board", "vector_width",
    "pipeline", "hierarchy", "roofline", "heat_source", "hot_lines", "diff",
)  # the explorers of any kernel  # fmt: skip
QUOTED = re.compile(r"^( *line \d+): .*$", re.MULTILINE)  # a line of the source in a message
PROGRAMS = Path(gemm_kernels.__file__).with_name("host")


@dataclass(frozen=True)
class Compiled:
    """A kernel of the learner's own, which belongs to no exercise.

    names: the kernels in it.  warnings: what the compiler said, word for word.  path: the file that it is kept in, or
    "" if none could be written.  asked: what the learner is asked back about the name, or "".
    """

    names: tuple[str, ...]
    warnings: str
    path: str
    asked: str = ""

    def __str__(self) -> str:
        where = f", kept in {self.path}" if self.path else ""
        templates = [name for name in self.names if "<" in name]
        later = f"A template is compiled when you give its arguments: entry={templates[0]!r}." if templates else ""
        sentences = (self.asked, f"Compiled: {', '.join(self.names)}{where}.", later, self.warnings)
        return "\n\n".join(part for part in sentences if part)


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
        _answer(exercise, text)
    else:
        raise UsageError(f"The answer to the exercise {name!r} is no kernel: {name}.check(…) takes it.")


def source(name: str) -> str:
    """The CUDA C++ that the course goes on with: the learner's accepted kernel, or for a blank that is still open the
    course's solution. ValueError, with a sentence, for a name under which nothing is known."""
    exercise = _exercise(name)
    if isinstance(exercise, Blank):
        return exercise.written.source
    text = kept.source(name)
    if text is None:
        raise BadInput(
            f"Nothing is kept under the name {name!r}: write the kernel in a cell that begins %%cuda {name}."
        )
    return text


def whose(name: str) -> str:
    """'your kernel', or "the course's kernel" while the exercise of this name is not solved: for what a cell prints."""
    exercise = _exercise(name)
    mine = not isinstance(exercise, Blank) or exercise.written.by == LEARNER
    return "your kernel" if mine else "the course's kernel"


def is_open(name: str) -> bool:
    """Whether a notebook goes on with a solution that the learner has neither written nor asked for."""
    exercise = _exercise(name)
    return isinstance(exercise, Blank) and exercise.written.by == COURSE


def with_barriers(name: str, number: int) -> OwnKernel:
    """`kernel(name)` where its source has so many __syncthreads(), else the course's solution, which has them: for a
    picture of what each is good for. A kernel may wait in other ways, too."""
    from helpers.pictures.barriers.explorer import barriers_of  # not before a kernel is taken apart

    own, exercise = kernel(name), _exercise(name)
    if len(barriers_of(own.source)) == number or not isinstance(exercise, Blank):
        return own
    return replace(kernel_of(exercise, exercise.solved), name=f"{name} ({COURSE})")


def message(name: str, error: object) -> str:
    """What an error or the sanitizer says of an exercise's kernel, without its lines while the exercise is open: they
    are the solution's."""
    return QUOTED.sub(r"\1 of the course's kernel", str(error)) if is_open(name) else str(error)


def kernel(name: str, shape: tuple[int, int, int] | None = None, **launch: Any) -> OwnKernel:
    """A kernel as explorers, `record` and `run` take it. shape: (M, N, K) to look at; None: what suits the picture.

    The multiplication of a blank: the learner's accepted kernel, or the course's solution while the blank is open. Or a
    kernel that was kept by `%%cuda NAME`, with its launch: `course.kernel("mine", block=256, grid=4, args=(x, 1000))`,
    as for OwnKernel; entry= chooses one of several kernels, or the arguments of a template.

    ValueError, with a sentence, where the name is neither, or where its kernel
    cannot be launched.
    """
    exercise = _exercise(name)
    if unknown := sorted(set(launch) - LAUNCH):
        raise BadInput(f"A launch has no {unknown[0]!r}; it has {', '.join(sorted(LAUNCH))}.")
    if isinstance(exercise, Blank) and isinstance(exercise.problem, Gemm):
        written = exercise.written
        return replace(kernel_of(exercise, written.source), shape=shape, name=f"{name} ({written.by})", **launch)
    if exercise is not None:
        raise BadInput(f"{name!r} is no multiplication to write; use OwnKernel(source, …) for a kernel of your own.")
    text = source(name)
    names = compiler.kernel_names(text)
    if "entry" not in launch and (len(names) != 1 or "<" in names[0]):
        raise BadInput(
            f"{name!r} has {', '.join(names)}: say which one is launched, a template with its arguments, as in "
            f"course.kernel({name!r}, entry={names[0]!r}, …)."
        )
    return OwnKernel(text, **{"entry": names[0], "shape": shape, **launch})


def record(kernel: OwnKernel, M: int = 128, N: int = 128, K: int = 64) -> Recording:
    """A launch of a kernel in the simulator, recorded: `course.record(course.kernel("mine", …)).counters`.

    M, N, K: the sizes of a multiplication whose kernel names no shape. Raises the errors of the simulator and
    the compiler.
    """
    check_sizes(M=M, N=N, K=K)
    own = _own(kernel)
    return run.record_whole(own.launch(*(own.shape or (M, N, K))))


def explore(kernel: OwnKernel, picture: str = "coalescing") -> Explorer:
    """An explorer of a kernel: `course.explore(course.kernel("mine", …), "thread_map")`.

    picture: one of PICTURES. ValueError, with all of them, for another.
    """
    if not names_one_of(picture, PICTURES):
        raise BadInput(f"There is no explorer {picture!r} of a kernel; there are {', '.join(PICTURES)}.")
    return import_module(f"helpers.pictures.{picture}.explorer").explore(_own(kernel))


def _own(kernel: OwnKernel) -> OwnKernel:
    from helpers.pictures.own_kernel import taken

    own = taken(kernel)
    if own is None:
        raise BadInput('There is no kernel to look at: None was given. Try course.kernel("naive").')
    return own


def multiply(name: str, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A · B by the multiplication that the course goes on with under this name, on whichever device there is.

    A (M, K) and B (K, N) are float32; every element of the result (M, N) was written by the kernel.
    ValueError where the name is not that of a multiplication; LaunchFailed, or the simulator's error, where the launch
    fails.
    """
    return run.multiply(kernel(name), A, B)


def sectors(name: str, block: tuple[int, int] | None = None) -> Figure:
    """What warp 0 of that kernel asks memory for at k = 0, M = N = K = 1024. block: threads along x and y, if not
    those that the kernel was written for."""
    from helpers.pictures import theme
    from helpers.pictures.coalescing.facts import gemm_accesses
    from helpers.pictures.coalescing.figure import sectors_figure

    launch = kernel(name).launch(1024, 1024, 1024)
    if block is not None:
        x, y, _ = kernel(name, block=block).block  # which refuses what is no block
        launch = launch.in_blocks(x, y)
    title = f"{name}, block {theme.index((*launch.block[:2], 0))}: warp 0, k = 0"
    return sectors_figure(gemm_accesses(run.record(launch)), title)


def profile(launch: Launch | Recording, *, cold: bool = True) -> Page:
    """One page about a launch, without a GPU: its predicted time, what limits it, what its warps wait for, hot lines.

    launch: `kernel.launch(M, N, K)`, or the recording of any kernel.  cold: whether the
    L2 cache holds none of its data at the beginning.
    """
    if not isinstance(launch, (Launch, gpusim.Recording)):
        raise BadInput(
            f"A profile is made of a launch, not of {type(launch).__name__}: of kernel.launch(2048, 2048, 2048), as in "
            "course.profile(course.kernel('naive').launch(2048, 2048, 2048)), or of a recording."
        )
    from helpers.profile import Page, profile as profile_of

    return Page(profile_of(launch, cold=cold))


def my_ladder(size: int = SHOWN, until: str = LAST) -> Table:
    """Every multiplication that the learner wrote, beside the course's where a blank is still open; see `rungs`.

    until: the last notebook whose kernels are shown, "04".
    """
    check_sizes(size=size)
    if not names_one_of(until, plan.course().numbers):
        raise BadInput(f"There is no notebook {until!r}; there are {', '.join(plan.course().numbers)}.")
    from helpers.exercises.framework import rungs

    return rungs.my_ladder(size, until)


def speed(name: str, size: int = SHOWN, *, live: bool = False) -> Measurement:
    """The speed of the plain kernel that solves a blank, recorded at M = N = K = size (`.gflops`, `.label`).

    live: measured now where there is a GPU. ValueError, with a sentence, where it was not recorded.
    """
    from helpers.exercises.framework import rungs

    check_sizes(size=size)
    recorded = rungs.recorded(name, size) if isinstance(name, str) else None
    if live and recorded is not None and gpu.backend() == "gpu":
        blank = next(candidate for candidate in rungs.rungs() if candidate.name == name)
        (recorded,) = rungs.timed([rungs.kernel_of(blank, blank.solved).launch(size, size, size)])
    if recorded is None:
        known = ", ".join(blank.name for blank in rungs.rungs())
        raise BadInput(f"{name!r} was not recorded at {size}; recorded are {known} at {rungs.SIZES}.")
    return recorded


def way(size: int = WAY_SIZE) -> Figure:
    """Where the course leads: its first and its last kernel beside cuBLAS, as recorded.

    Between them stands one kernel of every notebook that has one, without its speed: the notebooks ask for predictions
    of what each of them gains.
    """
    from helpers.pictures import bars, theme

    (number, first), *between, (end, last) = _way(size)
    rows = [bars.Bar(f"{number} {first.kernel}", first.gflops)]
    rows += [bars.Bar(f"{number} {speed.kernel}", None) for number, speed in between]
    rows += [bars.Bar("cuBLAS", last.cublas_gflops, theme.REFERENCE), bars.Bar(f"{end} {last.kernel}", last.gflops)]
    return bars.gflops_figure(rows, f"Two matrices of {size} × {size} multiplied, notebook by notebook", last.label)


def ends_of_the_way(size: int = WAY_SIZE) -> tuple[tuple[str, float], tuple[str, float]]:
    """The first and the last kernel of that picture: (name, GFLOPS) of each."""
    (_, first), *_, (_, last) = _way(size)
    return (first.kernel, first.gflops), (last.kernel, last.gflops)


def _way(size: int) -> list[tuple[str, Measurement]]:
    from helpers.measure.performance import performance

    check_sizes(size=size)
    return [(number, performance(usual(name), size, size, size).measurement) for number, name in WAY.items()]


def machine() -> Figure:
    """The picture of the GPU that the course records on: its memories, with their bandwidths and latencies."""
    from helpers.pictures.machine import facts as memories, figure as machine_picture

    return machine_picture.machine_figure(memories.machine())


def here(number: str) -> Figure:
    """The small picture of the same GPU at the end of a notebook, "04": where most cycles went before, and go now.

    Below it stands which share of cuBLAS's speed the kernels of both ends reach. ValueError, with a sentence, for a
    notebook whose row in course.toml has no `now` and `then`.
    """
    notebook = plan.course().notebook(number)
    if notebook.now is None or notebook.then is None:
        raise BadInput(f"Notebook {number} makes no kernel faster: its row in {plan.FILE} has no now and no then.")
    from helpers import recordings
    from helpers.pictures.machine import facts as memories, figure as machine_picture

    names = dict.fromkeys(mark.kernel for mark in (notebook.now, notebook.then) if mark.kernel)
    measured = [recordings.gflops(usual(name), WAY_SIZE, WAY_SIZE, WAY_SIZE) for name in names]
    source = f"M = N = K = {WAY_SIZE}, {measured[0].label}" if measured else ""
    shares = {name: row.of_cublas for name, row in zip(names, measured, strict=True)}
    return machine_picture.here_figure(memories.machine(), notebook.now, notebook.then, shares, source)


def usual(name: str) -> gemm_kernels.Kernel:
    """A kernel of the ladder as the course launches it: where the block is free, in blocks of 32 × 8 threads."""
    kernel = get_kernel(name)
    return kernel.replace(**USUAL) if USUAL.keys() <= kernel.params.keys() else kernel


def program(name: str) -> Plain:
    """A whole program around a kernel, to be run outside of this course. ValueError, with the names there are."""
    return Plain(_program(name).read_text(encoding="utf-8"))


def run_program(name: str, kernel: str) -> None:
    """Run a whole program in Python on the kernel that the course goes on with under a name.

    Its `import cupy` brings CuPy where there is a GPU, and without one what answers to CuPy's calls here.
    RuntimeError where the program finds the result wrong; ValueError where a name is not known.
    """
    from unittest.mock import patch

    file, text = _program(name), source(kernel)
    if file.suffix != ".py":
        raise BadInput(f"{name!r} is no program in Python; there is 'multiply.py'.")
    with TemporaryDirectory() as folder, ExitStack() as patches:
        path = Path(folder) / f"{kernel}.cu"
        path.write_text(text, encoding="utf-8")
        patches.enter_context(patch.object(sys, "argv", [str(file), str(path)]))
        if gpu.backend() == "simulator":
            patches.enter_context(patch.dict(sys.modules, {"cupy": gpu}))
        try:
            runpy.run_path(str(file))
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{name} found that the result of {kernel} is wrong.") from None


def _program(name: str) -> Path:
    programs = sorted(path.name for path in PROGRAMS.iterdir() if path.is_file())
    if not names_one_of(name, programs):
        known = ", ".join(programs)
        raise BadInput(f"There is no program {name!r} in {PROGRAMS.parent.name}/{PROGRAMS.name}; there are {known}.")
    return PROGRAMS / name


def _answer(exercise: KernelExercise, text: str) -> None:
    """Show the verdict on a kernel, and below it what the kernel does, if it can be drawn."""
    verdict = exercise.check(text)
    display(verdict)
    untouched = verdict.passed is None
    if verdict.alone:
        return
    if isinstance(exercise, Blank) if untouched else verdict.picture is not None:
        return  # an empty body does nothing that could be drawn; of a wrong kernel the map of the errors says more
    picture = exercise.show(text)
    if not isinstance(picture, Verdict):
        display(picture)


def _exercise(name: str) -> Exercise | None:
    try:
        return catalogue.get(name)
    except ValueError:
        return None


def _keep(name: str, text: str) -> None:
    names = tuple(compiler.kernel_names(text))
    if not names:
        display(
            Verdict(False, "There is no kernel in this cell: a kernel is a function that begins with __global__ void.")
        )
        return
    plain = [name for name in names if "<" not in name]
    try:
        compiled = compiler.compile_module(text, plain, options=OPTIONS) if plain else {}
        if not plain:  # templates alone: their text is checked all the same
            compiler.module_variables(text, options=OPTIONS)
    except CompileError as error:
        display(Verdict(False, str(error)))
        return
    path = kept.keep(name, text)
    warnings = next((kernel.log for kernel in compiled.values()), "")
    others = [exercise.name for exercise in catalogue.EXERCISES if isinstance(exercise, KernelExercise)]
    near = difflib.get_close_matches(name, others, 1, 0.8)
    asked = f"No exercise is called {name}; did you mean {near[0]}? Compiled only, not checked." if near else ""
    where = "" if path is None else short(path) if kept.where_kept(path) else f"my/{path.name}"
    display(Verdict(None if near else True, str(Compiled(names, warnings, where, asked))))


def __getattr__(name: str) -> Any:
    """Of names that are not here (PEP 562): NoSuchName, with those that there are."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise NoSuchName("course", name, __dir__())


def __dir__() -> list[str]:
    """What a notebook calls."""
    hidden = ("_", "cuda", "load_ipython_extension")
    return sorted(
        name
        for name, value in globals().items()
        if isfunction(value) and value.__module__ == __name__ and not name.startswith(hidden)
    )


def load_ipython_extension(shell: object) -> None:
    """Register %%cuda. Called at import inside a notebook, and by `%load_ext helpers.course`."""
    shell.register_magic_function(cuda, "cell", "cuda")  # type: ignore[attr-defined]


if get_ipython() is not None:
    load_ipython_extension(get_ipython())
