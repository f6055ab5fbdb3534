"""What a kernel may do instead of what the simulator does not model, by instruction of either front end."""

import re

from helpers.compiler import CompiledKernel
from helpers.simulator.errors import UnsupportedInstruction

TEXTURES = (
    "Of textures and surfaces, cube maps, offsets, elements by several numbers, queries of sizes and atomic operations "
    "are not modelled: pass the size as an argument, and read by coordinates; or pass the array itself."
)
CLUSTERS = (
    "Clusters of blocks are not modelled: leave __cluster_dims__ away, and let blocks exchange values through global "
    "memory."
)
BULK = (
    "Copies in bulk, by the tensor memory accelerator, are not modelled: copy with cp.async, which "
    "__pipeline_memcpy_async makes."
)
WARP_GROUPS = "Products of warp groups are not modelled: mma.sync and nvcuda::wmma multiply matrices of a warp."
WIDE_ATOMICS = "Atomic operations go up to 64 bits here: keep what is updated together in 64 bits, or take a lock."

_BY_BEGINNING = {
    **dict.fromkeys(("TEX", "TLD", "TXD", "TXQ", "TMML", "SULD", "SUST", "SUATOM", "SURED"), TEXTURES),
    **dict.fromkeys(("tex.", "tld4", "txq", "suld", "sust", "sured", "suq"), TEXTURES),
    **dict.fromkeys(("UCGABAR", "barrier.cluster", "mapa", "getctarank"), CLUSTERS),
    **dict.fromkeys(("UBLK", "UTMA", "cp.async.bulk", "cp.reduce.async.bulk"), BULK),
    **dict.fromkeys(("HGMMA", "IGMMA", "QGMMA", "BGMMA", "WARPGROUP", "wgmma"), WARP_GROUPS),
}
_BY_PART = {"expect_tx": BULK, "complete_tx": BULK, "shared::cluster": CLUSTERS, "b128": WIDE_ATOMICS}


def refuse_clusters(kernel: CompiledKernel) -> None:
    """UnsupportedInstruction for a kernel whose `__cluster_dims__` asks for clusters of more than one block.

    Machine code shows little of them: a block's rank is the register that every address in shared memory is made of.
    """
    head = re.search(rf"\.entry\s+{re.escape(kernel.lowered_name)}\b[^{{]*", kernel.ptx)
    sizes = re.search(r"\.reqnctapercluster\s+([\d, ]+)", head[0]) if head else None
    if sizes and any(int(size) != 1 for size in sizes[1].split(",")):
        raise UnsupportedInstruction(f"{kernel.entry} asks for clusters of ({sizes[1].strip()}) blocks. {CLUSTERS}")


def instead_of(opcode: str, missing: str = "") -> str:
    """A sentence for an opcode with its modifiers, "TEX.LL" or "barrier.cluster.arrive"; "" if there is none.

    `missing` is the phrase that says what is not modelled, of an instruction that is known but for an operand.
    """
    for beginning, sentence in _BY_BEGINNING.items():
        if opcode.startswith(beginning):
            return sentence
    parts = opcode.split(".")
    if parts[0].startswith("ATOM") and "128" in parts:
        return WIDE_ATOMICS
    if parts[0] == "SYNCS":
        return BULK
    if "cluster" in missing:
        return CLUSTERS
    return next((sentence for part, sentence in _BY_PART.items() if part in parts), "")
