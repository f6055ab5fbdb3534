"""What an NVIDIA GPU answers to random programs (`random_programs`), bit for bit.

The machine code is compiled where the simulator is, and that very CUBIN runs on the GPU, with the same arguments:

    python -m tests.gpusim.goldens.programs prepare FOLDER   anywhere: compile, write CUBINs and arguments
    python -m tests.gpusim.goldens.programs record FOLDER    on a machine with a GPU and CuPy: the golden
    python -m tests.gpusim.goldens.programs compare          anywhere: on which programs do the two differ?

The golden holds eight bytes of SHA-256 for each program, of all that it wrote; NaN count as one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np

from tests.gpusim import random_programs
from tests.gpusim.goldens.provenance import provenance

ARCH = "sm_90"
GOLDEN = Path(__file__).parent / f"programs_{ARCH}.json"
SEEDS = range(240)
DIGEST = 8  # bytes


def prepare(folder: Path) -> None:
    """Compile every program."""
    from gpusim import compiler

    folder.mkdir(parents=True, exist_ok=True)
    for seed in SEEDS:
        compiled = compiler.compile(random_programs.program(seed), "kernel", arch=ARCH, options=random_programs.OPTIONS)
        (folder / f"{seed}.cubin").write_bytes(compiled.cubin)
        np.savez(folder / f"{seed}.npz", *random_programs.arguments(seed))
        (folder / "nvrtc").write_text(".".join(map(str, compiled.compiler_version)))


def digest(results: list[np.ndarray]) -> str:
    """Of what a program wrote."""
    return (
        hashlib.sha256(b"".join(random_programs.bits(result).tobytes() for result in results)).digest()[:DIGEST].hex()
    )


def record(folder: Path) -> None:
    """Run every program on the GPU; write the golden into the folder."""
    import cupy

    rows = {}
    for seed in SEEDS:
        kernel = cupy.RawModule(path=str(folder / f"{seed}.cubin")).get_function("kernel")
        with np.load(folder / f"{seed}.npz") as kept:
            a, b, whole, numbers, n = (kept[f"arr_{k}"] for k in range(5))
        written = cupy.asarray(whole), cupy.asarray(numbers)
        grid, block = (random_programs.BLOCKS,), (random_programs.THREADS,)
        kernel(grid, block, (cupy.asarray(a), cupy.asarray(b), *written, np.int32(n)))
        rows[str(seed)] = digest([cupy.asnumpy(array) for array in written])
    made_by = (folder / "nvrtc").read_text()
    origin = provenance(ARCH, "python -m tests.gpusim.goldens.programs record", nvrtc=made_by)
    (folder / GOLDEN.name).write_text(json.dumps({"provenance": origin, "programs": rows}, indent=1) + "\n")


def golden() -> dict[int, str]:
    """By seed, the digest of what the GPU answered."""
    rows = json.loads(GOLDEN.read_text(encoding="utf-8"))["programs"]
    return {int(seed): row for seed, row in rows.items()}


def simulated(seed: int) -> str:
    """The digest of what the simulator answers."""
    import gpusim

    source = random_programs.program(seed)
    kernel = gpusim.RawModule(code=source, options=random_programs.OPTIONS, arch=ARCH).get_function("kernel")
    values = random_programs.arguments(seed)
    with gpusim.record(level="sass", checks="off"):
        kernel((random_programs.BLOCKS,), (random_programs.THREADS,), tuple(values))
    return digest(values[2:4])


def compare() -> None:
    """Print the programs that differ."""
    known = golden()
    wrong = [seed for seed in known if simulated(seed) != known[seed]]
    print(f"{len(known) - len(wrong)} of {len(known)} programs are equal; these are not: {wrong}")


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
