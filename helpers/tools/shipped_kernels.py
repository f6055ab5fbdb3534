"""Writes the compiled kernels that come with the project: `python -m helpers.tools.shipped_kernels`.

They are the kernels of the ladder and those beside and beyond it with their default parameters, the small ones that the
explorers' sliders step through, and every version of an exercise's kernel, of which a check tries the wrong ones,
unless it includes headers of CUDA; compiled for the course's default GPU as a notebook compiles them, with what
nvdisasm prints of those that `compiler.forms` does not know everything of. Run it again when a kernel changes, or the
pinned compiler: a test says so.
"""

import contextlib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import gemm_kernels
from gemm_kernels import ladder
from gemm_kernels.launch import OPTIONS
from gpusim import compiler
from gpusim.compiler import CompiledKernel, cache, cubin, disassembly, listing, shipped
from gpusim.compiler.build import include_options
from helpers import exercises
from helpers.exercises.framework.exercise import KernelExercise
from helpers.pictures.bank_board import tile_store
from helpers.pictures.barriers import explorer as barriers
from helpers.pictures.live import CannotShow
from helpers.pictures.operands import facts as operands
from helpers.pictures.register_tile import explorer as register_tile
from helpers.pictures.register_tile.explorer import TELLING
from helpers.pictures.shuffle import explorer as shuffle
from helpers.pictures.tile_phases import explorer as tile_phases
from helpers.pictures.tree import explorer as tree
from helpers.pictures.vector_width import facts as vector_width
from helpers.pictures.warp_paths import facts as warp_paths

MOST_BYTES = 10 * 2**18  # so that the project stays quick to clone
KERNELS = ladder.LADDER + ladder.SPECIALISTS + ladder.UPPER + ladder.TRIED
EXERCISES = [
    exercise
    for exercise in exercises.EXERCISES
    # CUDA's own headers lie in another folder on each machine, which is a part of an entry's name.
    if isinstance(exercise, KernelExercise) and not include_options(exercise.solved)
]


def compiled(kernel: gemm_kernels.Kernel) -> CompiledKernel:
    """A kernel of `KERNELS`, compiled as a notebook compiles it."""
    return compiler.compile(kernel.source, kernel.entry, options=OPTIONS)


def small_ones() -> list[tuple[str, str]]:
    """(source, entry) of the kernels that explorers step through: tiles, tiles without a barrier, stores and copies,
    trees, shuffles, a branch and a member of the family."""
    tiled = [tile_phases.shown(gemm_kernels.get("shared_memory", T=size)) for size in tile_phases.TILES]
    racing = [barriers.without(launch, number) for launch in tiled for _, number in barriers.REMOVED if number]
    settings = [{"BM": side, "BN": side, "BK": depth, "TM": patch, "TN": patch} for side, depth, patch in TELLING]
    settings += [{name: size} for name, sizes in register_tile.SIZES.items() for size in sizes]
    patches = []
    for sizes in settings:
        with contextlib.suppress(CannotShow):  # sizes that break a rule
            patches.append(register_tile.kernel_with(**sizes))
    kernels = [(tile.source, tile.entry) for tile in (*tiled, *racing, *patches)]
    kernels += [(tile_store.TILE_SOURCE, f"store_tile<{vector}>") for vector in tile_store.VECTORS.values()]
    kernels += [(vector_width.COPY_SOURCE, width.entry) for width in vector_width.WIDTHS]
    kernels += [(tree.SOURCE, tree.entry(threads, order)) for threads in tree.BLOCKS for order in tree.ORDERS]
    kernels += [(shuffle.SOURCE, "shuffled"), (warp_paths.SOURCE, "two_paths")]
    kernels += [(operands.SOURCE.read_text(encoding="utf-8"), entry) for entry in operands.ENTRIES]
    named = {(kernel.source, kernel.entry) for kernel in KERNELS}
    return [kernel for kernel in dict.fromkeys(kernels) if kernel not in named]


def versions(exercise: KernelExercise) -> list[tuple[str, str]]:
    """(source, entry) of an exercise's kernel: the starter, the solution and all known wrong solutions."""
    sources = (exercise.starter, exercise.solved, *map(exercise.wrong_source, exercise.wrong))
    return [(source, exercise.problem.entry) for source in dict.fromkeys(sources)]


def groups() -> list[dict[str, dict[str, bytes]]]:
    """All entries by name, as the compiler and nvdisasm make them on this machine; the versions of an exercise are a
    group, every other kernel is one by itself."""
    alone = [[(kernel.source, kernel.entry)] for kernel in KERNELS] + [[small] for small in small_ones()]
    return [_entries(group) for group in (*alone, *map(versions, EXERCISES))]


def _entries(kernels: Sequence[tuple[str, str]]) -> dict[str, dict[str, bytes]]:
    """The entries of some kernels, compiled in a cache of their own."""
    with tempfile.TemporaryDirectory() as folder, cache.kept_in(folder):
        made = [compiler.compile(source, entry, options=OPTIONS) for source, entry in kernels]
        parts_of = {path.stem: cache.read(path.stem) or {} for path in Path(folder).iterdir()}
        shipped_as = [(kernel, replace(kernel, cubin=without_ptx(kernel.cubin))) for kernel in made]
        unknown = [pair for pair in shipped_as if listing.without_nvdisasm(pair[1]) is None]
        texts = {
            disassembly.shipped_name(two): {"text": disassembly.module_text(kernel).encode()} for kernel, two in unknown
        }
    return {**{name: {**parts, "cubin": without_ptx(parts["cubin"])} for name, parts in parts_of.items()}, **texts}


def without_ptx(image: bytes) -> bytes:
    """A CUBIN with zeros for the text of the PTX, which debuggers look for in it: an entry has that in a part of its
    own, and in the CUBIN it takes half of the room."""
    text = cubin.read(image).data(".nv_debug_ptx_txt")
    return image.replace(text, bytes(len(text))) if text else image


def main() -> None:
    shipped.PATH.unlink(missing_ok=True)  # nothing of it may be read
    shipped.write(groups())
    sys.stdout.write(f"{shipped.PATH}: {shipped.PATH.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
