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
TENSOR_MEMORY = (
    "Tensor memory and its products (tcgen05) are not modelled: mma.sync and nvcuda::wmma multiply matrices of a warp."
)
SPARSE = (
    "Of products of sparse matrices those of integers are modelled, and on sm_90 those of floating-point numbers: "
    "compile for it, or take the whole matrix, zeros and all, and mma without .sp."
)
SCALED = (
    "Products whose factors bring scales along are not modelled: multiply the sums over elements that share a scale."
)
FEW_BITS = "Numbers of 4 and 6 bits and scales of 8 are not modelled; of numbers of 8 bits e4m3 and e5m2 are."
MATRICES_OF_BYTES = (
    "Of ldmatrix and stmatrix the forms for elements of 16 bits are modelled: take each pair of bytes for one."
)
SEVERAL_GPUS = "Memory that several GPUs have in common is not modelled: there is one GPU."
TAKEN_OVER = (
    "Blocks that take over the work of others before these begin are not modelled: deal the work out by an atomic "
    "counter, or by the number of the block."
)
OF_256_BITS = "Accesses of 256 bits are not modelled: make two of 128 bits, of float4 say."
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
    **dict.fromkeys(("tcgen05", "UTC", "UVIRTCOUNT", "LDTM", "STTM"), TENSOR_MEMORY),
    **dict.fromkeys(("multimem", "LDGMC", "STGMC", "REDGMC"), SEVERAL_GPUS),
    **dict.fromkeys(("clusterlaunchcontrol", "UGETNEXTWORKID"), TAKEN_OVER),
    "mma.sp": SPARSE,
    **dict.fromkeys(("HGMMA", "IGMMA", "QGMMA", "BGMMA", "WARPGROUP", "wgmma"), WARP_GROUPS),
}
_NARROW = ("E2M1", "E2M3", "E3M2", "E8", "e2m1", "e2m3", "e3m2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2")
_BY_PART = {
    "SP": SPARSE,
    **dict.fromkeys(("SF", "block_scale"), SCALED),
    **dict.fromkeys(_NARROW, FEW_BITS),
    **dict.fromkeys(("M816", "MT1616", "MT168", "m16n16", "m8n16", "m16n8"), MATRICES_OF_BYTES),
    **dict.fromkeys(("256", "v8"), OF_256_BITS),
    "b128": WIDE_ATOMICS,
}


def instead_of(opcode: str) -> str:
    """A sentence for an opcode with its modifiers, "TEX.LL" or "cp.async.bulk.wait_group"; "" if there is none."""
    for beginning, sentence in _BY_BEGINNING.items():
        if opcode.startswith(beginning):
            return sentence
    parts = opcode.split(".")
    return next((sentence for part, sentence in _BY_PART.items() if part in parts), "")
