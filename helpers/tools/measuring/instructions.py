"""What `mma.sync` alone can reach: products of registers, without a load or a store between them.

Needs a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

BLOCK, TURNS, OPERANDS = 256, 20_000, 4096  # threads on each SM; times that all products are repeated; random words
SUSTAINED_S = 0.5  # until clock and power have settled, and while they are read
ROWS, COLS = 4, 8  # operands of 16 rows and of 8 columns that a warp has in registers
# k of one product. Not of FP8: for sm_90 the compiler makes halves of the numbers and adds products up by FADD, and
# our kernel, which multiplies halves itself, does neither.
KINDS = {"bf16": 16, "f16": 16, "tf32": 8, "s8": 32}
FORM = (
    "mma.sync.aligned.m16n8k{k}.row.col.{sums}.{kind}.{kind}.{sums} "
    "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
)
SOURCE = """
extern "C" __global__ void multiply(const unsigned *operands, int turns, unsigned *never) {{
    {sum} sums[{ROWS}][{COLS}][4] = {{}};
    unsigned a[{ROWS}][4], b[{COLS}][2];
    for (int i = 0; i < {ROWS} * 4; ++i) a[i / 4][i % 4] = operands[threadIdx.x + 7 * i];
    for (int i = 0; i < {COLS} * 2; ++i) b[i / 2][i % 2] = operands[threadIdx.x + 5 * i + 999];
    #pragma unroll 1
    for (int turn = 0; turn < turns; ++turn)
        #pragma unroll
        for (int i = 0; i < {ROWS}; ++i)
            #pragma unroll
            for (int j = 0; j < {COLS}; ++j) {{
                {sum} (&d)[4] = sums[i][j];
                asm volatile("{form}"
                             : "+{c}"(d[0]), "+{c}"(d[1]), "+{c}"(d[2]), "+{c}"(d[3])
                             : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
            }}
    {sum} all = 0;
    for (int i = 0; i < {ROWS} * {COLS} * 4; ++i) all += sums[i / (4 * {COLS})][i / 4 % {COLS}][i % 4];
    if (all == 1) *never = 1;   // hardly ever: the products are kept, and nothing is written
}}
"""


def source_of(kind: str) -> str:
    """The kernel for one format."""
    sums, sum_, constraint = ("s32", "int", "r") if kind == "s8" else ("f32", "float", "f")
    form = FORM.format(k=KINDS[kind], sums=sums, kind=kind)
    return SOURCE.format(ROWS=ROWS, COLS=COLS, form=form, sum=sum_, c=constraint)


@dataclass(frozen=True)
class Rate:
    """Operations a second of all SMs, and the clock and power at which they were reached."""

    rate: float
    mhz: int
    watts: float


def words(kind: str, seed: int = 1) -> np.ndarray:
    """OPERANDS words of random numbers from -1 to 1, or of any 8 bits: the power of a product depends on its bits."""
    chance = np.random.default_rng(seed)
    if kind == "s8":
        return chance.integers(0, 2**32, OPERANDS, dtype=np.uint32)
    numbers = chance.uniform(-1, 1, 4 * OPERANDS).astype(np.float32)
    if kind == "tf32":
        return numbers[:OPERANDS].view(np.uint32)
    if kind == "f16":
        return numbers[: 2 * OPERANDS].astype(np.float16).view(np.uint32)
    if kind == "bf16":
        return (numbers[: 2 * OPERANDS].view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
    return (chance.integers(0, 256, 4 * OPERANDS).astype(np.uint8) & 0xBF).view(np.uint32)  # E4M3 below 2, no NaN


def rates() -> dict[str, Rate]:
    """Format -> what it reaches, each by itself, at the clock that the GPU keeps under this load."""
    import cupy

    from helpers.measure.timing import sustained

    sms, never = cupy.cuda.Device().attributes["MultiProcessorCount"], cupy.zeros(1, np.uint32)
    reached = {}
    for kind, depth in KINDS.items():
        kernel = cupy.RawKernel(source_of(kind), "multiply", options=("-std=c++17",))
        launch = partial(kernel, (sms,), (BLOCK,), (cupy.asarray(words(kind)), np.int32(TURNS), never))
        ms, mhz, watts = sustained(launch, SUSTAINED_S)
        work = 2.0 * 16 * 8 * depth * ROWS * COLS * TURNS * (BLOCK // 32) * sms
        reached[kind] = Rate(work / ms * 1e3, mhz, watts)
        print(f"mma.sync {kind}: {reached[kind].rate / 1e12:.0f} TFLOPS at {mhz} MHz and {watts:.0f} W", flush=True)
    return reached
