"""Writes the compiled kernels that come with the project: `python -m helpers.authoring.shipped_kernels`.

They are the kernels of the ladder and those beside and beyond it with their default parameters, and the small ones that
the explorers' sliders step through, compiled for the course's default GPU as a notebook compiles them; with what
nvdisasm prints of those that `compiler.forms` does not know everything of. Run it again when a kernel changes, or the
pinned compiler: a test says so.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import gemm_kernels
from gemm_kernels import ladder
from gemm_kernels.launch import OPTIONS
from helpers import compiler
from helpers.analysis import tile_store, vector_width
from helpers.compiler import CompiledKernel, cache, disassembly, listing, shipped
from helpers.explore import barriers, register_tile, tile_phases
from helpers.explore.live import CannotShow
from helpers.explore.register_tile import TELLING

MOST_BYTES = 9 * 2**18  # so that the project stays quick to clone
KERNELS = ladder.LADDER + ladder.SPECIALISTS + ladder.BEYOND + ladder.TRIED


def compiled(kernel: gemm_kernels.Kernel) -> CompiledKernel:
    """A kernel of `KERNELS`, compiled as a notebook compiles it."""
    return compiler.compile(kernel.source, kernel.entry, options=OPTIONS)


def small_ones() -> list[tuple[str, str]]:
    """(source, entry) of the kernels that explorers step through: tiles, tiles without a barrier, stores and copies."""
    tiled = [tile_phases.shown(gemm_kernels.get("shared_memory", T=size)) for size in tile_phases.TILES]
    racing = [barriers.without(launch, number) for launch in tiled for _, number in barriers.REMOVED if number]
    settings = [{"BM": side, "BN": side, "BK": depth, "TM": patch, "TN": patch} for side, depth, patch in TELLING]
    settings += [{name: size} for name, sizes in register_tile.SIZES.items() for size in sizes]
    patches = []
    for sizes in settings:
        with contextlib.suppress(CannotShow):  # sizes that break a rule
            patches.append(register_tile.kernel_with(**sizes))
    found = [(one.source, one.entry) for one in (*tiled, *racing, *patches)]
    found += [(tile_store.TILE_SOURCE, f"store_tile<{vector}>") for vector in tile_store.VECTORS.values()]
    found += [(vector_width.COPY_SOURCE, width.entry) for width in vector_width.WIDTHS]
    named = {(kernel.source, kernel.entry) for kernel in KERNELS}
    return [one for one in dict.fromkeys(found) if one not in named]


def entries() -> dict[str, dict[str, bytes]]:
    """All entries by name, as the compiler and nvdisasm make them on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[cache.ENVIRONMENT_VARIABLE] = folder
        kernels = [compiled(kernel) for kernel in KERNELS]
        kernels += [compiler.compile(source, entry, options=OPTIONS) for source, entry in small_ones()]
        found = {path.stem: cache.read(path.stem) for path in Path(folder).iterdir()}
        unknown = [one for one in kernels if listing.without_nvdisasm(one) is None]
    texts = {disassembly.shipped_name(one): {"text": disassembly.module_text(one).encode()} for one in unknown}
    return {**{name: parts for name, parts in found.items() if parts is not None}, **texts}


def main() -> None:
    shipped.PATH.unlink(missing_ok=True)  # nothing of it may be read
    shipped.write(entries())
    sys.stdout.write(f"{shipped.PATH}: {shipped.PATH.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
