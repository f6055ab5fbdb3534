"""The second ladder: C = alpha · A · B + beta · C by tensor cores, C in float32, A and B in a shorter format.

`TENSOR` goes from one call of WMMA to what `mma.sync` can give, for float16 and bfloat16 (BF16 = 0 or 1). `SINGLE`
takes float32 matrices: in TF32, and as sums of two TF32 numbers, or of two or three bfloat16 ones, whose products come
near float32's error or have it. `INTEGER` multiplies 8-bit integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemm_kernels.kernel import Family, Kernel
from gemm_kernels.refused import Refused
from gemm_kernels.rules import Params


@dataclass(frozen=True)
class TensorKernel(Kernel):
    """A kernel whose A and B are float16 or bfloat16, as uint16 bits, or float32 for `SINGLE`; C is float32.

    For `INTEGER` A and B are int8; alpha, beta and C are int32, and C is right modulo 2^32, as cuBLAS's is. A float as
    alpha would round sums of more than 24 bits, and what an integer product is for is that nothing is rounded.
    """

    @property
    def function(self) -> str:
        """The name of the CUDA function, without template arguments: "hgemm_ldmatrix"."""
        return f"hgemm_{self.file.rpartition('/')[2]}"

    @property
    def operands(self) -> str:
        """The format of A and B: "f16", "bf16", "f32" or "s8"."""
        if self.file == "tensor/int8":
            return "s8"
        return "f32" if "BF16" not in self.params else "bf16" if self.params["BF16"] else "f16"


def _tile(p: Params) -> tuple[int, int]:
    return p["BM"], p["BN"]


def _depth(p: Params) -> int:
    return p["BK"]


def _bytes(width: int):
    """Shared memory of STAGES tiles of A and of B with elements of so many bytes."""
    return lambda p: p["STAGES"] * width * p["BK"] * (p["BM"] + p["BN"])


ONE_WARP = Family(tile=lambda p: (16, 16), depth=lambda p: 16)
ONE_TILE = Family(tile=_tile, depth=_depth)
STAGES = Family(tile=_tile, depth=_depth, buffers=lambda p: p["STAGES"], shared_bytes=_bytes(2))
STAGES_OF_BYTES = Family(tile=_tile, depth=_depth, buffers=lambda p: p["STAGES"], shared_bytes=_bytes(1))
STAGES_OF_FLOATS = Family(tile=_tile, depth=_depth, buffers=lambda p: p["STAGES"], shared_bytes=_bytes(4))
STAGES_AND_SUMS = Family(
    tile=_tile, depth=_depth, buffers=lambda p: p["STAGES"],
    shared_bytes=lambda p: _bytes(4)(p) + 4 * p["BM"] * p["BN"],
)  # fmt: skip

MEDIUM = {"BF16": 1, "BM": 128, "BN": 128, "BK": 32, "WM": 64, "WN": 32}
LARGE = {"BF16": 1, "BM": 128, "BN": 256, "BK": 32, "WM": 64, "WN": 64, "STAGES": 4, "BLOCKS": 1}
LARGE_BYTES = {"BM": 256, "BN": 128, "BK": 64, "WM": 64, "WN": 64, "STAGES": 4, "BLOCKS": 1}
LARGE_FLOATS = {"BM": 128, "BN": 256, "BK": 16, "WM": 64, "WN": 64, "STAGES": 4, "BLOCKS": 1}
SPLIT_FLOATS = {"BM": 64, "BN": 128, "BK": 16, "WM": 32, "WN": 64, "STAGES": 4, "BLOCKS": 2}
TWO_BFLOATS = {"BM": 128, "BN": 256, "BK": 32, "WM": 64, "WN": 64, "STAGES": 3, "BLOCKS": 1}
THREE_BFLOATS = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "STAGES": 4, "BLOCKS": 2}

TENSOR: tuple[TensorKernel, ...] = (
    TensorKernel(
        "wmma", "WMMA",
        "A warp multiplies 16 x 16 x 16 by one call, which keeps to itself which lane holds what.",
        after=None, family=ONE_WARP, params={"BF16": 1}, file="tensor/wmma",
    ),
    TensorKernel(
        "mma", "mma.sync",
        "One instruction multiplies, and each lane fetches the elements that the tensor core wants of it.",
        after="wmma", family=ONE_WARP, params={"BF16": 1}, file="tensor/mma",
    ),
    TensorKernel(
        "mma_tiled", "Tiles in shared memory",
        "A block loads a tile of A and of B once, and each warp multiplies WM x WN elements of C from them.",
        after="mma", family=ONE_TILE, params=MEDIUM, file="tensor/tiled",
    ),
    TensorKernel(
        "ldmatrix", "ldmatrix",
        "One instruction gives each lane its elements of four 8 x 8 matrices, transposed where that is needed.",
        after="mma_tiled", family=ONE_TILE, params=MEDIUM, file="tensor/ldmatrix",
    ),
    TensorKernel(
        "ldmatrix_swizzled", "Swizzled",
        "An exclusive or permutes the chunks of 16 bytes in a row, and ldmatrix has no bank conflicts.",
        after="ldmatrix", family=ONE_TILE, params=MEDIUM, file="tensor/swizzled",
    ),
    TensorKernel(
        "mma_async_copy", "Asynchronous copies",
        "cp.async moves the next tiles past the registers while the tensor cores multiply.",
        after="ldmatrix_swizzled", family=STAGES, params=MEDIUM | {"STAGES": 4, "BLOCKS": 1}, file="tensor/async_copy",
    ),
    TensorKernel(
        "mma_ping_pong", "Ping-pong fragments",
        "While one set of fragments is multiplied, the next is on its way from shared memory.",
        after="mma_async_copy", family=STAGES, params=MEDIUM | {"STAGES": 4, "BLOCKS": 1}, file="tensor/ping_pong",
    ),
    TensorKernel(
        "mma_rasterized", "Large warp tiles, rasterized",
        "A warp computes 64 x 64 elements, and blocks that run together form a compact patch of C.",
        after="mma_ping_pong", family=STAGES, params=LARGE, file="tensor/rasterized",
    ),
    TensorKernel(
        "mma_staged_epilogue", "Staged epilogue",
        "The sums pass through shared memory, from where a warp reads and writes whole lines of C.",
        after="mma_rasterized", family=STAGES, params=LARGE, file="tensor/staged_epilogue",
    ),
    TensorKernel(
        "mma_autotuned", "Autotuned",
        "The same kernel with the parameters that a search found to be the fastest on an NVIDIA H200.",
        after="mma_staged_epilogue", family=STAGES, params=LARGE | {"BK": 64, "STAGES": 3},
        file="tensor/staged_epilogue",
    ),
)  # fmt: skip

SINGLE: tuple[TensorKernel, ...] = (
    TensorKernel(
        "tf32", "TF32",
        "float32 matrices, of whose elements the tensor core reads the first 19 bits.",
        after="mma_staged_epilogue", family=STAGES_OF_FLOATS, params={"ROUND": 0, **LARGE_FLOATS}, file="tensor/tf32",
    ),
    TensorKernel(
        "tf32x3", "3xTF32",
        "Each element is the sum of two TF32 numbers; three products of four give float32's error.",
        after="tf32", family=STAGES_AND_SUMS, params=SPLIT_FLOATS, file="tensor/tf32x3",
    ),
    TensorKernel(
        "bf16x3", "BF16x3",
        "Each element is the sum of two bfloat16 numbers: 16 bits, by three products twice as fast as TF32's.",
        after="tf32x3", family=STAGES_OF_FLOATS, params={"PARTS": 2, **TWO_BFLOATS},
        file="tensor/bf16_split",
    ),
    TensorKernel(
        "bf16x6", "BF16x6",
        "With three bfloat16 numbers no bit of a float32 is lost; six products of nine are enough.",
        after="bf16x3", family=STAGES_OF_FLOATS, params={"PARTS": 3, **THREE_BFLOATS},
        file="tensor/bf16_split",
    ),
)  # fmt: skip

INTEGER: tuple[TensorKernel, ...] = (
    TensorKernel(
        "int8", "INT8",
        "8-bit integers, summed in 32 bits: nothing is rounded, and two transposed bytes at a time become four.",
        after="mma_autotuned", family=STAGES_OF_BYTES, params=LARGE_BYTES, file="tensor/int8",
    ),
)  # fmt: skip


KERNELS = TENSOR + SINGLE + INTEGER


def get(name: str, **params: int) -> TensorKernel:
    """The kernel with this name, its parameters the defaults but for those given: `get("ldmatrix", BF16=0)`.

    ValueError, with a sentence, if there is no such kernel or if the parameters break one of its rules.
    """
    for kernel in KERNELS:
        if kernel.name == name:
            return kernel.replace(**params)
    raise Refused(f"there is no kernel {name!r}; there are {', '.join(k.name for k in KERNELS)}")
