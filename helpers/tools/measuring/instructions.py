"""What `mma.sync` alone can reach: products of registers, without a load or a store between them.

Needs a GPU.
"""

from __future__ import annotations

import numpy as np

BLOCK, TURNS, OPERANDS = 256, 20_000, 4096  # threads on each SM; times that all products are repeated; random words
ROWS, COLS = 4, 8  # operands of 16 rows and of 8 columns that a warp has in registers
KINDS = {"bf16": 16, "f16": 16, "s8": 32, "e4m3": 32}  # k of one product
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


def rates() -> dict[str, float]:
    """Format -> operations a second of all SMs, at the clock that the GPU keeps under this load."""
    import cupy

    from helpers.measure.timing import interleave

    sms = cupy.cuda.Device().attributes["MultiProcessorCount"]
    drawn = cupy.random.default_rng(1).integers(0, 2**31, OPERANDS).astype(np.uint32) & np.uint32(0x3F3F3F3F)  # no NaN
    never = cupy.zeros(1, np.uint32)
    kernels = [cupy.RawKernel(source_of(kind), "multiply", options=("-std=c++17",)) for kind in KINDS]
    launches = [lambda kernel=kernel: kernel((sms,), (BLOCK,), (drawn, np.int32(TURNS), never)) for kernel in kernels]
    ms = np.median(interleave(launches, 0.3, 0.06), axis=0)
    work = {kind: 2.0 * 16 * 8 * k * ROWS * COLS * TURNS * (BLOCK // 32) * sms for kind, k in KINDS.items()}
    return {kind: work[kind] / time * 1e3 for kind, time in zip(KINDS, ms, strict=True)}
