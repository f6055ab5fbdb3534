"""What a kernel may do instead of what the simulator does not model, by instruction of either front end."""

TEXTURES = (
    "Of textures and surfaces, cube maps, offsets, elements by several numbers, queries of sizes and atomic operations "
    "are not modelled: pass the size as an argument, and read by coordinates; or pass the array itself."
)
TENSOR_MAPS = (
    "Copies that go by a tensor map are not modelled: copy row by row with cp.async.bulk, which needs no map, or with "
    "cp.async, which __pipeline_memcpy_async makes."
)
BULK = "Of copies in bulk those between global and shared memory and to shared memory of other blocks are modelled."
COUNTED_STORES = (
    "Stores whose bytes an mbarrier counts are not modelled: store through map_shared_rank(), and let each thread "
    "arrive with mbarrier.arrive."
)
WARP_GROUPS = "Products of warp groups are not modelled: mma.sync and nvcuda::wmma multiply matrices of a warp."
WIDE_ATOMICS = (
    "In PTX atomic operations go up to 64 bits here, in machine code up to 128: record at that level, which is taken "
    "where none is named."
)

_BY_BEGINNING = {
    **dict.fromkeys(("TEX", "TLD", "TXD", "TXQ", "TMML", "SULD", "SUST", "SUATOM", "SURED"), TEXTURES),
    **dict.fromkeys(("tex.", "tld4", "txq", "suld", "sust", "sured", "suq"), TEXTURES),
    **dict.fromkeys(
        ("UTMA", "cp.async.bulk.tensor", "cp.async.bulk.prefetch.tensor", "cp.reduce.async.bulk.tensor"), TENSOR_MAPS
    ),
    **dict.fromkeys(("UBLK", "cp.async.bulk", "cp.reduce.async.bulk"), BULK),
    **dict.fromkeys(("STAS", "REDAS", "st.async", "red.async"), COUNTED_STORES),
    **dict.fromkeys(("HGMMA", "IGMMA", "QGMMA", "BGMMA", "WARPGROUP", "wgmma"), WARP_GROUPS),
}
_BY_PART = {"b128": WIDE_ATOMICS}


def instead_of(opcode: str) -> str:
    """A sentence for an opcode with its modifiers, "TEX.LL" or "cp.async.bulk.wait_group"; "" if there is none."""
    for beginning, sentence in _BY_BEGINNING.items():
        if opcode.startswith(beginning):
            return sentence
    parts = opcode.split(".")
    return next((sentence for part, sentence in _BY_PART.items() if part in parts), "")
