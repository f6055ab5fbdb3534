"""Record what an NVIDIA GPU answers to products of integers of a few bits, to differences of bytes, and to integers
that are limited to a few bits and packed.

    python -m tests.gpusim.goldens.few_bits     on a machine with a GPU and CuPy: write the recording

Of every form the digest of all results is kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.gpusim.goldens.provenance import provenance

RECORDING = Path(__file__).parent / "few_bits_sm_90.json"
BLOCKS, WORDS, RESULTS = 64, 320, 128  # of a warp each; 32-bit words that it is given, and that it gives
BITS = {"b1": 1, "s4": 4, "u4": 4}
PRODUCTS = (
    "m16n8k256.row.col.s32.b1.b1.s32.and.popc", "m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
    "m16n8k128.row.col.s32.b1.b1.s32.xor.popc", "m16n8k128.row.col.s32.b1.b1.s32.and.popc",
    "m8n8k128.row.col.s32.b1.b1.s32.and.popc", "m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    "m16n8k64.row.col.satfinite.s32.s4.s4.s32", "m16n8k32.row.col.satfinite.s32.s4.u4.s32",
    "m8n8k32.row.col.satfinite.s32.u4.u4.s32",
)  # fmt: skip
DIFFERENCES = tuple(
    f"vabsdiff4.u32.{types}{ending}"
    for types in ("u32.u32", "s32.s32")
    for ending in ("", ".add", " b0", " b20", " b321")  # the bytes of the result that are not those of c
)
PACKS = (
    *(f"cvt.pack.sat.{to}.s32" for to in ("u16", "s16")),
    *(f"cvt.pack.sat.{to}.s32.b32" for to in ("u8", "s8", "u4", "s4", "u2", "s2")),
)
FORMS = (*PRODUCTS, *DIFFERENCES, *PACKS)


def source_of(form: str) -> str:
    """A kernel `k` of one warp a block, which takes words and leaves results."""
    return f"""extern "C" __global__ void k(const unsigned *x, unsigned *o) {{
        x += {WORDS} * blockIdx.x; o += {RESULTS} * blockIdx.x;
        int i = threadIdx.x;
        {_product(form) if form in PRODUCTS else _pack(form) if form in PACKS else _difference(form)}
    }}"""


def _pack(form: str) -> str:
    """All distances from the limits of the format are tried: numbers of every length, of both signs."""
    above = ", %3" if form.endswith(".b32") else ""
    return f"""for (int j = 0; j < 4; ++j) {{
            int high = (int)x[i + 32 * j] >> (i + 8 * j) % 32, low = (int)x[i + 32 * j + 128] >> i, d;
            asm volatile("{form} %0, %1, %2{above};" : "=r"(d) : "r"(high), "r"(low), "r"(x[i + 256]));
            o[4 * i + j] = d;
        }}"""


def _difference(form: str) -> str:
    opcode, _, part = form.partition(" ")
    result = f"%0.{part}" if part else "%0"
    return (
        f'unsigned d; asm volatile("{opcode} {result}, %1, %2, %3;" '
        ': "=r"(d) : "r"(x[i]), "r"(x[i + 32]), "r"(x[i + 64])); o[i] = d;'
    )


def _product(form: str) -> str:
    m, n, k = map(int, re.match(r"m(\d+)n(\d+)k(\d+)", form).groups())
    bits = next(BITS[word] for word in form.split(".") if word in BITS)
    counts = (m * k * bits // 1024, k * n * bits // 1024, m * n // 32)
    position = iter(range(99))
    d, a, b, c = ("{" + ", ".join(f"%{next(position)}" for _ in range(count)) + "}" for count in (counts[2], *counts))
    first = (0, 256, 128)  # of A, B and C among the words
    given = ", ".join(
        f'"r"(x[i + {start + 32 * number}])'
        for start, count in zip(first, counts, strict=True)
        for number in range(count)
    )
    taken = ", ".join(f'"=r"(d[{number}])' for number in range(counts[2]))
    return f"""unsigned d[4];
        asm volatile("mma.sync.aligned.{form} {d}, {a}, {b}, {c};" : {taken} : {given});
        for (int j = 0; j < {counts[2]}; ++j) o[4 * i + j] = d[j];"""


def words() -> np.ndarray:
    """What all blocks are given: sums that must be limited among them, and bytes without their upper halves."""
    x = np.random.default_rng(77).integers(0, 1 << 32, (BLOCKS, WORDS), np.uint32)
    x[::2, 128:256] = np.where(x[::2, 128:256] & 1, 2**31 - 5, 2**31 + 5)
    x[1::4] &= 0x00FF00FF
    return x


def digest(form: str, launch: Callable[[str, np.ndarray, np.ndarray], np.ndarray]) -> str:
    """The digest of the results that `launch(source, words, results before)` returns."""
    results = launch(source_of(form), words(), np.full((BLOCKS, RESULTS), 0xDEADBEEF, np.uint32))
    return hashlib.sha256(results.tobytes()).hexdigest()[:16]


def main() -> None:
    import cupy

    def launch(source: str, given: np.ndarray, results: np.ndarray) -> np.ndarray:
        results = cupy.asarray(results)
        cupy.RawModule(code=source).get_function("k")((BLOCKS,), (32,), (cupy.asarray(given), results))
        return results.get()

    origin = provenance("sm_90", "tests/gpusim/goldens/few_bits.py")
    recording = {"provenance": origin, "digests": {form: digest(form, launch) for form in FORMS}}
    RECORDING.write_text(json.dumps(recording, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
