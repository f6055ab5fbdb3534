"""What an NVIDIA GPU answers to kernels whose threads meet: barriers with a number, mbarrier, `grid.sync()`.

With them programs, random ones and some written by hand, on which PTX level and machine code once disagreed. The
machine code is compiled where the simulator is, and that very CUBIN runs on the GPU, with the same arguments:

    python -m tests.gpusim.goldens.meeting prepare FOLDER   anywhere: compile, write CUBINs and arguments
    python -m tests.gpusim.goldens.meeting record FOLDER    on a machine with a GPU and CuPy: the golden
    python -m tests.gpusim.goldens.meeting compare          anywhere: on which kernels do the two differ?

The golden holds eight bytes of SHA-256 of all that a kernel wrote; NaN count as one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.gpusim.goldens.provenance import provenance

ARCH = "sm_90"
GOLDEN = Path(__file__).parent / f"meeting_{ARCH}.json"


@dataclass(frozen=True)
class Case:
    """A kernel called `kernel` and what it is launched with; `arguments()` makes fresh ones."""

    source: str
    arguments: Callable[[], Sequence]
    grid: int = 1
    block: int = 128
    options: tuple[str, ...] = ("-std=c++17",)
    cooperative: bool = False


def cases() -> dict[str, Case]:
    """By name."""
    from tests.gpusim import (
        random_programs,
        test_cooperative,
        test_mbarrier,
        test_named_barriers,
        test_ptx_instructions as instructions,
    )

    def named(body: str, block: int = 128) -> Case:
        arguments = lambda: (np.zeros(128, np.int32), np.int32(3), np.int32(64))  # noqa: E731
        return Case(test_named_barriers.HEAD + body, arguments, block=block)

    def objects(body: str, n: int, block: int, head: str = test_mbarrier.HEAD) -> Case:
        return Case(head + body + "}", lambda: (np.zeros(128, np.int32), np.int32(n)), block=block)

    def integers(*shapes: int) -> Callable[[], Sequence]:
        return lambda: tuple(np.random.default_rng(n).integers(-99, 99, n, dtype=np.int32) for n in shapes)

    rows = {f"barriers with a number, {name}": named(body) for name, (body, _) in test_named_barriers.CASES.items()}
    rows["a warp that is not full at a barrier of two"] = named(test_named_barriers.NOT_FULL, 40)
    rows["all warps in turns"] = named(test_named_barriers.IN_TURNS)
    for name, (body, n, block) in test_mbarrier.CASES.items():
        rows[f"mbarrier, {name}"] = objects(body, n, block)
    rows["cuda::barrier"] = objects("", 128, 128, test_mbarrier.BARRIER_OF_LIBCUDACXX)
    rows["states of an mbarrier"] = Case(test_mbarrier.STATES, lambda: (np.zeros(16, np.uint64), np.int32(5)), block=1)
    for blocks in (3, 132):
        arguments = lambda blocks=blocks: (*integers(128 * blocks, blocks, 128 * blocks)(), np.int32(128 * blocks - 5))  # noqa: E731
        rows[f"grid.sync() of {blocks} blocks"] = Case(
            test_cooperative.SUM_OF_ALL, arguments, blocks, options=(), cooperative=True
        )
    four = np.uint32([5, 7, 9, 0xFFFFFFFF]), np.uint32([5, 9, 7, 1])
    rows["carries"] = Case(instructions.CARRIES, lambda: (*four, np.zeros(12, np.int32)), block=4)
    for seed in random_programs.DISPUTED:
        arguments = lambda seed=seed: random_programs.arguments(seed)  # noqa: E731
        source, sizes = random_programs.program(seed), (random_programs.BLOCKS, random_programs.THREADS)
        rows[f"random program {seed}"] = Case(source, arguments, *sizes, options=random_programs.OPTIONS)
    return rows


def digest(results: Sequence[np.ndarray]) -> str:
    """Of what a kernel wrote, and read."""
    whole = [
        np.where(result != result, result.dtype.type(np.nan), result) if result.dtype.kind == "f" else result
        for result in results
    ]
    return hashlib.sha256(b"".join(array.tobytes() for array in whole)).digest()[:8].hex()


def prepare(folder: Path) -> None:
    """Compile every kernel."""
    from gpusim import compiler

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (name, case) in enumerate(cases().items()):
        compiled = compiler.compile(case.source, "kernel", arch=ARCH, options=case.options)
        (folder / f"{number}.cubin").write_bytes(compiled.cubin)
        np.savez(folder / f"{number}.npz", *case.arguments())
        rows.append({"name": name, "grid": case.grid, "block": case.block, "cooperative": case.cooperative})
        version = ".".join(map(str, compiled.compiler_version))
    (folder / "cases.json").write_text(json.dumps({"nvrtc": version, "cases": rows}))


def record(folder: Path) -> None:
    """Run every kernel on the GPU; write the golden into the folder after each."""
    import cupy

    given = json.loads((folder / "cases.json").read_text())
    origin = provenance(ARCH, "python -m tests.gpusim.goldens.meeting record", nvrtc=given["nvrtc"])
    rows: dict[str, str] = {}
    answers: dict[str, np.ndarray] = {}
    for number, case in enumerate(given["cases"]):
        module = cupy.RawModule(path=str(folder / f"{number}.cubin"), enable_cooperative_groups=case["cooperative"])
        with np.load(folder / f"{number}.npz") as kept:
            host = [kept[f"arr_{k}"] for k in range(len(kept.files))]
        arguments = [cupy.asarray(value) if value.ndim else value[()] for value in host]
        module.get_function("kernel")((case["grid"],), (case["block"],), tuple(arguments))
        arrays = [cupy.asnumpy(argument) for argument in arguments if isinstance(argument, cupy.ndarray)]
        rows[case["name"]] = digest(arrays)
        answers |= {f"{case['name']} {position}": array for position, array in enumerate(arrays)}
        np.savez(folder / "answers.npz", **answers)
        (folder / GOLDEN.name).write_text(json.dumps({"provenance": origin, "kernels": rows}, indent=1) + "\n")


def golden() -> dict[str, str]:
    """By the name of a kernel, the digest of what the GPU answered."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))["kernels"]


def simulated(case: Case) -> str:
    """The digest of what the simulator answers, as machine code."""
    import gpusim

    module = gpusim.RawModule(
        code=case.source, options=case.options, arch=ARCH, enable_cooperative_groups=case.cooperative
    )
    values = case.arguments()
    with gpusim.record(level="sass", checks="off"):
        module.get_function("kernel")((case.grid,), (case.block,), tuple(values))
    return digest([value for value in values if isinstance(value, np.ndarray)])


def compare() -> None:
    """Print the kernels that differ."""
    known = golden()
    wrong = [name for name, case in cases().items() if simulated(case) != known.get(name)]
    print(f"{len(cases()) - len(wrong)} of {len(cases())} kernels are equal; these are not: {wrong}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "record", "compare"))
    parser.add_argument("folder", type=Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.mode == "compare":
        compare()
    else:
        (prepare if arguments.mode == "prepare" else record)(arguments.folder)


if __name__ == "__main__":
    main()
