"""One launch: run it on whichever device there is; in the simulator record it, or let the sanitizer look at it.

    launch = get("coalesced").launch(M=1024, N=1024, K=64)      # or OwnKernel(…).launch(…)
    recording = run.record(launch)                              # what its first block does
    run.record_whole(launch).counters                           # of all blocks
    run.sanitize(launch).report                                 # races, reads of what nobody wrote
    C = run.multiply(get("coalesced"), A, B)                    # alpha·A·B + beta·C, checked

This is the only place that compiles a multiplication for a device, allows it its shared memory, and packs its eight
arguments. Kernels that are no multiplication are compiled by `simulated` and recorded by `recorded`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

import gpusim
from gemm_kernels import Kernel, Launch, OwnKernel
from gemm_kernels.kernel import check_sizes
from gemm_kernels.launch import OPTIONS
from gemm_kernels.workspaces import Workspaces
from gpusim import compiler, errors
from gpusim.sentences import BadInput, Sentence
from helpers import gpu, headers

Dims = tuple[int, int, int]
Level = Literal["auto", "sass", "ptx"]

ORIGIN: tuple[Dims, ...] = ((0, 0, 0),)

headers.register()


class LaunchFailed(Sentence, Exception):
    """A kernel did not start, faulted, or left elements of C unwritten; the message says which."""


# --- on whichever device there is ------------------------------------------------------------------------------------


def module(source: str, entry: str) -> Any:
    """CUDA C++ for the device, CuPy's or the simulator's RawModule; it is compiled at its first use.

    The simulator's takes arrays of the host, too, where `gpu.RawModule` refuses them.
    """
    make = gpu.RawModule if gpu.backend() == "gpu" else gpusim.RawModule
    return make(code=source, options=OPTIONS, name_expressions=[entry])


def function(source: str, entry: str) -> Any:
    """A compiled kernel for the device. entry: its name, or a template instantiation."""
    return module(source, entry).get_function(entry)


def load(kernel: Kernel) -> Callable[..., None]:
    """Compile a kernel of the ladder. Returns `launch(M, N, K, alpha, A, B, beta, C)` for device arrays of any shape.

    A (M, K), B (K, N) and C (M, N) are row-major float32 arrays of the device. The launch is asynchronous on a GPU: a
    fault inside the kernel is reported by the next `gpu.synchronize()`.
    """
    return launcher(kernel, function(kernel.source, kernel.entry))


def launcher(kernel: Kernel, compiled: Any) -> Callable[..., None]:
    """`launch(M, N, K, alpha, A, B, beta, C)` of an already compiled function, with the geometry of `kernel`."""
    block, shared_bytes = kernel.block, kernel.shared_bytes
    _allow(compiled, shared_bytes, kernel.name)
    workspaces = Workspaces(kernel.workspace_bytes)

    def launch(M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
        with _workspace(workspaces, C) as workspace:
            arguments = (*_arguments((M, N, K), alpha, A, B, beta, C), *workspace)
            compiled(kernel.grid(M, N), block, arguments, shared_mem=shared_bytes)

    return launch


def _workspace(workspaces: Workspaces, C: Any) -> contextlib.AbstractContextManager[tuple[Any, ...]]:
    """The workspace of the current stream, where C is."""
    zeros = np.zeros if isinstance(C, np.ndarray) else gpu.zeros
    return workspaces.current(gpu.current_stream, zeros)


def start(compiled: Any, launch: Launch, A: Any, B: Any, C: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
    """Launch an already compiled function, the simulator's or CuPy's."""
    if not launch.scaled and (alpha, beta) != (1.0, 0.0):
        raise BadInput(f"{launch.name} computes A · B alone: it takes no alpha ({alpha:g}) and no beta ({beta:g}).")
    arguments = _arguments(launch.shape, alpha, A, B, beta, C, launch.scaled)
    _allow(compiled, launch.shared_bytes, launch.name)
    with _workspace(Workspaces(launch.workspace_bytes), C) as workspace:
        call(compiled, launch.grid, launch.block, (*arguments, *workspace), launch.shared_bytes)


def run(launch: Launch, A: Any, B: Any, C: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
    """Compile and launch on device arrays A (M, K), B (K, N), C (M, N), float32, row-major; C is written in place."""
    start(function(launch.source, launch.entry), launch, A, B, C, alpha, beta)


def multiply(
    kernel: Kernel, A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None, alpha: float = 1.0, beta: float = 0.0
) -> np.ndarray:
    """alpha·A·B + beta·C by one launch of `kernel`, on whichever device there is. Host arrays in, host array out.

    A (M, K), B (K, N), C (M, N) are float32. Without C, the device's C is filled with NaN before the launch, so that an
    element that no thread writes cannot pass for a result. Raises LaunchFailed with a sentence if the launch is
    refused, if the kernel faults (the device is synchronised), or if elements of C stay unwritten.
    """
    if not hasattr(kernel, "launch"):
        raise BadInput(f'kernel is {kernel!r:.60}, expected a kernel, such as gemm_kernels.get("naive").')
    M, N, K = _shapes(A, B, C)
    if C is None and beta != 0.0:
        raise BadInput(f"beta is {beta} but no C was given: pass C, or use beta=0.")
    launch = kernel.launch(M, N, K)
    device_C = gpu.array(np.full((M, N), np.nan, np.float32) if C is None else C)
    compiled_function = function(launch.source, launch.entry)
    try:
        start(compiled_function, launch, gpu.asarray(A), gpu.asarray(B), device_C, alpha, beta)
        gpu.synchronize()
    except LaunchFailed:
        raise
    except Exception as error:
        if gpu.backend() == "simulator":
            raise  # the simulator's own sentence names the line and the thread
        raise LaunchFailed(_launch_sentence(launch, error)) from error
    result = gpu.asnumpy(device_C)
    if C is None and np.isfinite(A).all() and np.isfinite(B).all():
        _check_all_written(launch, result)
    return result


def call(compiled: Any, grid: Any, block: Any, args: Sequence[Any], shared_bytes: int = 0) -> None:
    """Launch any function, the simulator's or CuPy's, with so much dynamic shared memory."""
    _allow(compiled, shared_bytes)
    compiled(grid, block, tuple(args), shared_mem=shared_bytes)


def _arguments(shape: Dims, alpha: float, A: Any, B: Any, beta: float, C: Any, scaled: bool = True) -> tuple[Any, ...]:
    """A multiplication's arguments with the C types of its parameters: CuPy passes a Python float as a double, of which
    a kernel reads half."""
    sizes = tuple(np.int32(size) for size in shape)
    return (*sizes, np.float32(alpha), A, B, np.float32(beta), C) if scaled else (*sizes, A, B, C)


def _allow(compiled: Any, shared_bytes: int, name: str = "This kernel") -> None:
    """More than 48 KB is refused unless the function is allowed it first (CUDA C++ Programming Guide, "Shared
    Memory"). LaunchFailed, with a sentence, if a block of this GPU cannot have so much."""
    if not shared_bytes or shared_bytes <= compiled.max_dynamic_shared_size_bytes:
        return
    most = None if isinstance(compiled, gpusim.Kernel) else gpu.shared_bytes_per_block()  # it checks by itself
    if most is not None and shared_bytes > most:
        raise LaunchFailed(
            f"{name} needs {shared_bytes:,} bytes of shared memory for each block, and a block of this GPU has at most "
            f"{most:,}. Take smaller tiles or fewer stages: Kernel.within({most}) finds them for the course's kernels."
        )
    compiled.max_dynamic_shared_size_bytes = shared_bytes


def _shapes(A: np.ndarray, B: np.ndarray, C: np.ndarray | None) -> Dims:
    """(M, N, K), or ValueError with the two shapes that do not fit."""
    for name, matrix in (("A", A), ("B", B), ("C", C)):
        if matrix is None and name == "C":
            continue
        if not hasattr(matrix, "ndim"):
            raise BadInput(f"{name} is {matrix!r:.60}, expected a matrix, as np.ones((100, 70), np.float32).")
        if matrix.ndim != 2:
            raise BadInput(f"{name} has {matrix.ndim} dimension(s), expected a matrix (2).")
        if matrix.dtype != np.float32:
            raise BadInput(f"{name} is {matrix.dtype}, the kernels read float32: use {name}.astype(np.float32).")
    (M, K), (rows_B, N) = A.shape, B.shape
    if rows_B != K:
        raise BadInput(f"A has {K} columns and B has {rows_B} rows; both are K and must be equal.")
    if C is not None and C.shape != (M, N):
        raise BadInput(f"C has shape {C.shape}, expected (M, N) = {(M, N)}.")
    return M, N, K


def _check_all_written(launch: Launch, C: np.ndarray) -> None:
    unwritten = np.isnan(C)
    if unwritten.any():
        row, col = np.argwhere(unwritten)[0]
        raise LaunchFailed(
            f"{launch.name} left {unwritten.sum()} of {C.size} elements of C unwritten (still NaN), "
            f"the first at C[{row}, {col}]. The launch had grid {launch.grid} and block {launch.block}: "
            "check that the grid covers all of C, and that every thread inside C reaches its store."
        )


def _launch_sentence(launch: Launch, error: Exception) -> str:
    message = str(error)
    what = f"{launch.name} with grid {launch.grid}, block {launch.block}, {launch.shared_bytes} shared bytes"
    if "INVALID_VALUE" in message or "invalid argument" in message:
        return (
            f"{what} was refused ({message}). A block may have 1024 threads and at most 1024 × 1024 × 64 a dimension."
        )
    if "OUT_OF_RESOURCES" in message or "too many resources" in message:
        return f"{what} was refused ({message}): its registers or shared memory do not fit on one SM."
    return (
        f"{what} faulted ({message}). After a fault the GPU refuses every later call of this process: "
        f"restart this notebook's Python kernel, and set {gpu.BACKEND_VARIABLE}=simulator to see the line and the "
        "thread."
    )


# --- in the simulator ------------------------------------------------------------------------------------------------


def operands(M: int, N: int, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A (M, K), B (K, N), C (M, N) of zeros, for recordings, whose values nobody looks at."""
    check_sizes(M=M, N=N, K=K)
    try:
        return np.zeros((M, K), np.float32), np.zeros((K, N), np.float32), np.zeros((M, N), np.float32)
    except (MemoryError, ValueError):
        raise BadInput(
            f"Matrices of {M} × {K}, {K} × {N} and {M} × {N} do not fit into this machine's memory."
        ) from None


def record(launch: Launch, blocks: Sequence[Dims] = ORIGIN, *, level: Level = "auto") -> gpusim.Recording:
    """What the given blocks of a launch do, and no others: alpha is 1, beta 0.

    The addresses of a block depend on the matrices' widths and not on how many other blocks there are, so that a
    picture of one warp needs one block; the grid reaches as far as the blocks do. Recordings are kept for the next
    question about them. level: as for `gpusim.record`, which says where it has counted.
    Raises the simulator's and the compiler's errors, whose messages are sentences to a learner.
    """
    return _record(launch, tuple(blocks), level)


def record_whole(launch: Launch) -> gpusim.Recording:
    """Every block of a launch, for counters of all of it; addresses are kept of its first block."""
    return _record(launch, None, "auto")


@lru_cache(maxsize=16)
def _record(launch: Launch, blocks: tuple[Dims, ...] | None, level: Level) -> gpusim.Recording:
    grid = launch.grid if blocks is None else tuple(1 + max(block[axis] for block in blocks) for axis in range(3))
    traced = ORIGIN if blocks is None else blocks
    kernel = simulated(launch.source, launch.entry, launch.options)
    with gpusim.record(level, traced, only_traced=blocks is not None, checks="off") as recording:
        _start(kernel, replace(launch, grid=grid), *operands(*launch.shape))
    return recording


SCALED = ("M", "N", "K", "alpha", "A", "B", "beta", "C")
PLAIN = tuple(name for name in SCALED if name not in ("alpha", "beta"))
_ROLES = {role.lower(): role for role in SCALED} | {"width": "N", "size": "N"}


def role_of(name: str) -> str | None:
    """What a parameter of this name is to a multiplication: "A" of d_A or a; None if the name does not say."""
    plain = name.lower().strip("_")
    for prefix in ("d_", "dev_", "mat_", "matrix_", "mat", "d"):
        if plain.removeprefix(prefix) in _ROLES:
            return _ROLES[plain.removeprefix(prefix)]
    return None


def roles(parameters: Sequence[compiler.Parameter]) -> tuple[str, ...] | None:
    """What each parameter is to a multiplication, by its name or else by its place; None for other kernels."""
    named = tuple(role_of(parameter.name) for parameter in parameters)
    if None not in named and len(set(named)) == len(named) and {"A", "B", "C", "N"} <= {*named}:
        return tuple(map(str, named))
    for usual in (SCALED, PLAIN):
        if [parameter.is_pointer for parameter in parameters] == [name in ("A", "B", "C") for name in usual]:
            return usual
    return None


def _start(kernel: gpusim.Kernel, launch: Launch, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """Launch in the simulator: with the arguments that the launch has, or else with a multiplication's, each for the
    parameter that takes it. Arrays of a multiplication are called A, B and C, whatever their parameters are."""
    parameters = kernel.compiled.parameters
    if launch.arguments is not None:
        given = launch.arguments.given
        copies = [value.get() if hasattr(value, "get") else copy(value) for value in given]  # it may write to them
        typed = [_typed(kernel, parameter, value) for parameter, value in zip(parameters, copies, strict=False)]
        call(kernel, launch.grid, launch.block, [*typed, *copies[len(typed) :]], launch.shared_bytes)
        return
    workspace: tuple[Any, ...] = ()
    if launch.workspace_bytes is not None:
        parameters = parameters[:-1]
        workspace = (np.zeros(max(launch.workspace_bytes // 4, 1), np.float32),)
    names, (M, N, K) = roles(parameters), launch.shape
    if names is None:
        wanted = ", ".join(f"{parameter.type} {parameter.name}" for parameter in parameters)
        raise errors.ArgumentError(
            f"{launch.name} takes ({wanted}), which are not the M, N, K, A, B and C of a multiplication, with alpha "
            "and beta or without. Say its arguments and its grid: OwnKernel(source, entry, block=…, grid=…, args=(…))."
        )
    if not {"M", "K"} <= {*names} and not M == N == K:
        raise errors.ArgumentError(
            f"{launch.name} takes one size, so that its matrices are square; the shape is {M} × {N} × {K}. "
            f"Look at it with shape=({N}, {N}, {N})."
        )
    values = {"M": M, "N": N, "K": K, "alpha": 1.0, "beta": 0.0, "A": A, "B": B, "C": C}
    renamed = tuple(replace(parameter, name=role) for parameter, role in zip(parameters, names, strict=True))
    if renamed != tuple(parameters):
        others = kernel.compiled.parameters[len(renamed) :]
        kernel = gpusim.Kernel(replace(kernel.compiled, parameters=(*renamed, *others)), kernel.variables)
    arguments = [*(_typed(kernel, parameter, values[parameter.name]) for parameter in renamed), *workspace]
    call(kernel, launch.grid, launch.block, arguments, launch.shared_bytes)


def _typed(kernel: gpusim.Kernel, parameter: compiler.Parameter, value: Any) -> Any:
    """A Python number with the C type of its parameter; anything else as it is."""
    if not isinstance(value, int | float) or isinstance(value, np.generic):
        return value
    type_ = kernel.compiled.parameter_type(parameter.index)
    dtype = None if type_ is None or type_.pointers or type_.count > 1 else type_.dtype
    return value if dtype is None else dtype.type(value)


def forget() -> None:
    """Drop the recordings that are kept."""
    _record.cache_clear()


def counted_in(recording: gpusim.Recording) -> str:
    """A sentence that says where a recording was counted, and for which architecture."""
    arch = recording.launches[-1].facts.arch
    if recording.level == "sass":
        return f"Counted in the machine code (SASS) for {arch}."
    return f"An estimate: counted in PTX for {arch}, not in the machine code."


@dataclass(frozen=True, eq=False)
class Sanitized:
    """One launch under the sanitizer.  C: the result.  expected: what it should be.  report: what was found."""

    C: np.ndarray
    expected: np.ndarray
    report: gpusim.Report

    @property
    def right(self) -> bool:
        """Whether C is what it should be, in every element."""
        return bool(np.array_equal(self.C, self.expected))


def sanitize(launch: Launch) -> Sanitized:
    """Every block of a launch, with the sanitizer looking at every access.

    A and B hold small whole numbers, so that C is exact in any order of summation; alpha is 1, beta 0.
    """
    M, N, K = launch.shape
    rows, columns, steps = np.arange(M)[:, None], np.arange(N), np.arange(K)
    A = (1 + (3 * rows + 5 * steps) % 7).astype(np.float32)
    B = (1 + (2 * steps[:, None] + 7 * columns) % 11).astype(np.float32)
    C = np.full((M, N), np.nan, np.float32)
    with gpusim.sanitize("report") as reports:
        _start(simulated(launch.source, launch.entry, launch.options), launch, A, B, C)
    return Sanitized(C, A @ B, reports[0])


def compiled(kernel: Kernel | OwnKernel | Launch, arch: str | None = None) -> compiler.CompiledKernel:
    """A kernel as compiled: its registers, its code. arch: None for the simulator's. Raises CompileError."""
    chosen = {} if arch is None else {"arch": arch}
    return compiler.compile(kernel.source, kernel.entry, options=OPTIONS, **chosen)


# --- kernels that are no multiplication ------------------------------------------------------------------------------


@lru_cache(maxsize=96)
def simulated(source: str, entry: str, options: tuple[str, ...] = OPTIONS) -> gpusim.Kernel:
    """A kernel for the simulator. entry: its name, or a template instantiation. Raises CompileError."""
    return gpusim.RawModule(code=source, options=options, name_expressions=[entry]).get_function(entry)


def unoptimised(kernel: gpusim.Kernel) -> gpusim.Kernel:
    """The same kernel as code for a debugger, whose variables are all in memory. Raises CompileError."""
    code = kernel.compiled
    return _for_debugger(code.source, code.entry, code.options, code.arch)


@lru_cache(maxsize=8)
def _for_debugger(source: str, entry: str, options: tuple[str, ...], arch: str) -> gpusim.Kernel:
    module = gpusim.RawModule(code=source, options=(*options, "-G"), name_expressions=[entry], arch=arch)
    return module.get_function(entry)


def recorded(
    kernel: gpusim.Kernel,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    shared_bytes: int = 0,
    *,
    blocks: Any = "all",
    only_traced: bool = False,
    checks: str = "off",
    max_instructions: int | None = None,
) -> gpusim.Recording:
    """A launch of any kernel in the simulator, recorded; the options are those of `gpusim.record`."""
    with gpusim.record(
        blocks=blocks, only_traced=only_traced, checks=checks, max_instructions=max_instructions
    ) as recording:
        call(kernel, grid, block, args, shared_bytes)
    return recording


def unchecked(
    kernel: gpusim.Kernel,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    shared_bytes: int = 0,
    *,
    reverse_atomics: bool = False,
) -> None:
    """Launch any kernel without the sanitizer. reverse_atomics: as in `gpusim.sanitize`."""
    with gpusim.sanitize("off", reverse_atomics=reverse_atomics):
        call(kernel, grid, block, args, shared_bytes)


def checked(
    kernel: gpusim.Kernel,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    shared_bytes: int = 0,
    *,
    times: int = 1,
    max_instructions: int | None = None,
) -> gpusim.Report:
    """Launch any kernel so many times on the same arguments under the sanitizer: what it found in all of them."""
    with gpusim.sanitize("report", max_instructions=max_instructions) as reports:
        for _ in range(times):
            call(kernel, grid, block, args, shared_bytes)
    return sum(reports, gpusim.Report(""))
