"""Every kernel of the ladders for every architecture: `python -m tests.gpusim.architectures [sm_120 …]` counts them.

Each multiplies at an odd size as PTX and as machine code. Where nothing is contracted both give the same bits, and in
float32 those that the kernel gives for the default GPU; what compilers contract (`alpha * sum + beta * C`) differs in
the last bits. A kernel that an architecture cannot have is named with the reason.
"""

import collections
import os
import re
import sys
from collections.abc import Iterator
from functools import cache

import numpy as np

os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")

import gemm_kernels  # noqa: E402 (the backend is set above)
import gpusim  # noqa: E402
from gemm_kernels import ladder, tensor  # noqa: E402
from gemm_kernels.refused import Refused  # noqa: E402
from gpusim import compiler, devices  # noqa: E402
from gpusim.isa.sass import opcodes  # noqa: E402
from tests.gpusim import kernel_launches  # noqa: E402
from tests.gpusim.kernel_launches import Launch  # noqa: E402

SHAPE = (67, 45, 33)
SHAPES = {"vector_matrix": (1, 45, 33), "matrix_vector": (67, 1, 33)}
RIGHT = "right"
AS_WRITTEN = ("-fmad=false",)  # nothing is contracted
# Parameters of smaller tiles, in the order in which they are tried where the kernel's own want too much shared memory.
SMALLER = (
    {}, {"STAGES": 2}, {"BM": 32, "BN": 32, "WM": 32, "WN": 16, "TM": 4, "TN": 4},
    {"BM": 64, "BN": 64, "WM": 32, "WN": 32, "TM": 8, "TN": 4}, {"BM": 64, "BN": 64, "WM": 32, "WN": 32},
)  # fmt: skip
_NEEDS = re.compile(r"sm_\d+ or higher")


def kernels() -> Iterator[gemm_kernels.Kernel]:
    """All of the project."""
    yield from (*ladder.LADDER, *ladder.SPECIALISTS, *ladder.UPPER, *ladder.TRIED, *tensor.KERNELS)


def answer(kernel: gemm_kernels.Kernel, arch: str) -> str:
    """RIGHT; or why this architecture does not have the kernel. AssertionError if results differ."""
    shape = SHAPES.get(kernel.name, SHAPE)
    in_float32 = not isinstance(kernel, tensor.TensorKernel)
    make = kernel_launches.product if in_float32 else kernel_launches.of_tensors
    launch = make(within(kernel, devices.limits_for(arch).shared_bytes_per_block_optin), *shape)
    try:
        results = {multiplied(launch, arch, level, AS_WRITTEN) for level in levels_of(arch)}
    except compiler.CompileError as error:
        needed = _NEEDS.search(str(error))
        return f"needs {needed[0]}" if needed else "refused by the compiler"
    assert len(results) == 1, f"{kernel.name} for {arch}: PTX and machine code give other bits"
    if in_float32:
        expected = multiplied(launch, devices.DEFAULT.arch, "sass", AS_WRITTEN)
        assert results == {expected}, f"{kernel.name} gives other bits for {arch} than for {devices.DEFAULT.arch}"
        ours = np.frombuffer(multiplied(launch, arch, "auto"), np.float32)
        np.testing.assert_allclose(ours, np.frombuffer(expected, np.float32), 1e-4, 1e-5)
    return RIGHT


def within(kernel: gemm_kernels.Kernel, room: int) -> gemm_kernels.Kernel:
    """The kernel with the first parameters of SMALLER with which a block's shared memory is at most `room` bytes."""
    for params in SMALLER:
        try:
            smaller = kernel.replace(**{name: value for name, value in params.items() if name in kernel.params})
        except Refused:
            continue
        if smaller.shared_bytes <= room:
            return smaller
    raise AssertionError(f"{kernel.name} has no parameters for {room} bytes of shared memory")


def levels_of(arch: str) -> tuple[str, ...]:
    """The levels at which kernels for an architecture are executed."""
    return ("ptx",) if opcodes.family(arch) is None else ("ptx", "sass")


@cache
def multiplied(launch: Launch, arch: str, level: str, options: tuple[str, ...] = ()) -> bytes:
    """The bits of C."""
    arguments = launch.make_arguments()
    module = gpusim.RawModule(code=launch.source, options=options, name_expressions=[launch.entry], arch=arch)
    kernel = module.get_function(launch.entry)
    kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
    with gpusim.record(level=level, checks="off"):
        kernel(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    result = np.asarray(arguments[7])
    assert result.any(), "nothing was written"
    return result.tobytes()


def main() -> None:
    """Tell of all kernels for the architectures that are named, or for all that have limits in the table."""
    known = [arch for arch in compiler.architectures() if arch in devices.LIMITS]
    for arch in sys.argv[1:] or known:
        counts = collections.Counter(answer(kernel, arch) for kernel in kernels())
        summary = "; ".join(f"{count} {said}" for said, count in counts.most_common())
        sys.stdout.write(f"{arch}, {' and '.join(levels_of(arch))}: {summary}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
