"""The six kernels that the learner of notebook 18 writes, each a member of the family."""

from __future__ import annotations

from helpers.exercises.framework import goals
from helpers.exercises.framework.answers import LEARNERS
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.pictures import Drawn, SectorsOf
from helpers.exercises.n18 import pictures
from helpers.exercises.n18.members import (
    Batch,
    ColumnScales,
    Convolution,
    FusedSteps,
    Grouped,
    GroupScales,
    TransposedOperand,
    cases,
    of_rows,
)

TRANSPOSED = cases(
    "M N K lda ldb ldc",
    (16, 32, 48, 48, 48, 32),
    (32, 16, 32, 40, 36, 24),
    (19, 21, 18, 20, 23, 25),
    (1, 17, 31, 33, 32, 18),
    (17, 1, 5, 7, 6, 3),
    (1, 1, 1, 1, 1, 1),
)

TRANSPOSED_OPERAND = Blank(
    name="transposed_operand",
    notebook="18",
    title="Write it: a transposed operand, and rows with gaps",
    difficulty=2,
    task="C = A · Bᵀ: B is stored as (N, K), so that column n of the second factor is row n of the array. Rows of A, B "
    "and C begin lda, ldb and ldc floats apart, and what lies between the rows of C stays as it is. The goals: loads "
    "are coalesced, and no wavefront is lost to bank conflicts.",
    hints=(
        "Neighbours in x must read neighbours in memory. In a row of B those are neighbours in k, so x is the k of "
        "both loads, and y is the row of A and the column of the second factor.",
        "The element that thread (x, y) has loaded of B is that of k = x and column y, so it goes to Bs[x][y]. With "
        "rows of T + 1 two of the 32 lanes still meet in a bank, because a warp is two rows of 16 threads: count x * "
        "(T + 1) + y. With T + 2 all differ.",
        "Bs[x][y] = 0.0f; if (first_col + y < N && k0 + x < K) Bs[x][y] = B[(first_col + y) * ldb + k0 + x]; the sum "
        "is that of notebook 04, and C[row * ldc + col] = sum.",
    ),
    problem=TransposedOperand("gemm_nt", TRANSPOSED),
    picture=SectorsOf(((3, "ld"), (5, "ld")), TRANSPOSED[0], LEARNERS),
    goals=(goals.sectors_a_load(4.0), goals.conflicts()),
    judged=TRANSPOSED[0],
    wrong=(),
)  # fmt: skip

BATCHES = cases(
    "count M N K z gap shared",
    (3, 16, 32, 16, 3, 0, 0),
    (5, 18, 21, 17, 2, 0, 0),
    (4, 20, 17, 9, 4, 7, 0),
    (5, 17, 19, 20, 3, 5, 1),
    (7, 1, 3, 2, 7, 0, 0),
    (1, 33, 5, 1, 1, 3, 1),
)

BATCH = Blank(
    name="batch",
    notebook="18",
    title="Write it: many products in one launch",
    difficulty=1,
    task="`count` products of one shape, in one launch. The grid has a third axis, and where there are more products "
    "than it is long, each block computes several. A step may be 0: then all products share a matrix.",
    hints=(
        "A block's x and y say which tile of C is its own, as ever. Its z says of which product.",
        "Matrix p of A begins at A + p * step_a, and the block's tile first_row rows further down, each K floats long. "
        "Of B it begins first_col columns further right.",
        "for (int p = blockIdx.z; p < count; p += gridDim.z): product(M - first_row, N - first_col, K, A + p * step_a "
        "+ first_row * K, K, B + p * step_b + first_col, N); then C[p * step_c + row * N + col], if row < M && col < "
        "N.",
    ),
    problem=Batch("gemm_batch", BATCHES),
    picture=SectorsOf(((4, "ld"), (6, "ld")), BATCHES[0], LEARNERS),
    wrong=(),
)  # fmt: skip

LAYERS = cases("M N K", (16, 32, 16), (18, 21, 17), (33, 16, 5), (1, 19, 20), (17, 1, 3), (1, 1, 1))

FUSED_STEPS = Blank(
    name="fused_steps",
    notebook="18",
    title="Write it: bias, GELU and residual, before C is stored",
    difficulty=2,
    task="A layer of a network: C = GELU(A · B + bias) + R, in one launch. Write the three steps, how two steps become "
    "one, and the kernel that applies them to its sum. The goal: C is stored once, and never loaded.",
    hints=(
        "Each step gets a value and returns one. Which of them look at col, and which at row, too?",
        "Both calls `first`, and gives what it returns to `then`, with the same place. The kernel needs nothing of "
        "that: it calls one epilogue.",
        "Bias: value + bias[col]. Gelu: 0.5f * value * (1.0f + erff(value * 0.70710678f)). Residual: value + R[row * N "
        "+ col]. Both: then(first(value, row, col), row, col). const Both<Both<Bias, Gelu>, Residual> epilogue = "
        "{{{bias}, {}}, {R, N}};",
    ),
    problem=FusedSteps("gemm_gelu", LAYERS),
    picture=SectorsOf(((5, "ld"), (6, "ld"), (7, "st")), LAYERS[0], LEARNERS),
    goals=(goals.store_sectors(128),),
    judged=cases("M N K", (32, 32, 16))[0],
    wrong=(),
)  # fmt: skip

EIGHT_BITS = cases("M N K", (16, 32, 128), (18, 21, 66), (33, 16, 7), (1, 19, 130), (17, 1, 4), (1, 1, 1))

COLUMN_SCALES = Blank(
    name="column_scales",
    notebook="18",
    title="Write it: int8, with a scale for each column",
    difficulty=2,
    task="C = A · Bᵀ of int8, four of them in an int. One instruction, __dp4a, multiplies four pairs and adds them to "
    "an int. At the end the sum becomes a float, and is multiplied by the scale of its row of A and that of its "
    "column. The goals: loads are coalesced, and no wavefront is lost to bank conflicts.",
    hints=(
        "It is gemm_nt with ints in the tiles, and with a word of four numbers in place of a float.",
        "The sum is an int as long as something is added: whole numbers are exact in any order. Scales do not depend "
        "on k, so they are needed once, behind the loop.",
        "sum = __dp4a(As[y][w], Bs[w][x], sum); and at the end C[row * N + col] = sum * scale_a[row] * scale_b[col].",
    ),
    problem=ColumnScales("gemm_int8", EIGHT_BITS),
    picture=SectorsOf(((3, "ld"), (4, "ld")), EIGHT_BITS[0], LEARNERS),
    goals=(goals.sectors_a_load(4.0), goals.conflicts()),
    judged=EIGHT_BITS[0],
    wrong=(),
)  # fmt: skip

GROUPS = cases("M N K", (16, 32, 128), (18, 21, 96), (33, 16, 32), (1, 17, 160), (1, 1, 32))

GROUP_SCALES = Blank(
    name="group_scales",
    notebook="18",
    title="A challenge: a scale for every 32 numbers",
    difficulty=3,
    task="The same with finer scales: along k each group of 32 numbers of a row of A, and of a column of the second "
    "factor, has a scale of its own. Now a scale does depend on k. Sums of a group stay whole numbers.",
    hints=(
        "A tile of 16 words has two groups of 8 words. A scale belongs to one row and one group, so it can be taken "
        "out of the sum of that group, and no further.",
        "For first = 0 and first = WORDS: the group's number is (w0 + first) / WORDS. Its sum of eight __dp4a begins "
        "at 0, and is multiplied by both scales when it is complete. The last tile may lack its second group.",
        "sum += part * scale_a[row * groups + group] * scale_b[col * groups + group], where part is an int and sum a "
        "float, inside `if (row < M && col < N && group < groups)`, between the two barriers.",
    ),
    problem=GroupScales("gemm_groups", GROUPS),
    picture=SectorsOf(((5, "ld"), (6, "ld")), GROUPS[0], LEARNERS),
    wrong=(),
)  # fmt: skip

ROWS_OF = ((16, 32, 16), (20, 5, 33), (0, 17, 0, 9, 0), (1, 1, 30, 0, 2), (0, 0, 3), (40,))

GROUPED = Blank(
    name="grouped",
    notebook="18",
    title="Write it: which product does my block belong to?",
    difficulty=2,
    task="A layer of experts: the rows of A have been sorted by expert, and the rows from offsets[e] on belong to "
    "expert e, who multiplies them by a matrix of its own. How many rows that are is known on the GPU alone, so "
    "the grid has room for the worst case, and each block finds out for itself what it has to do.",
    hints=(
        "An expert with r rows has (r + T - 1) / T tiles, and one without rows has none. Go through the experts, and "
        "subtract the tiles of each from the block's number until it is smaller than what the next one has.",
        "If no expert is left, the block has nothing to do. Otherwise what is left of the number is the tile within "
        "the expert, so its first row is offsets[expert] + tile * T, and the expert ends at offsets[expert + 1].",
        "while (expert < experts) { tiles = (offsets[expert + 1] - offsets[expert] + T - 1) / T; if (tile < tiles) "
        "break; tile -= tiles; ++expert; } The expert's B begins at B + expert * K * N. Store if threadIdx.y < rows && "
        "col < N.",
    ),
    problem=Grouped("gemm_grouped", of_rows(17, 9, *ROWS_OF), rows_of=ROWS_OF),
    picture=Drawn(pictures.of_experts),
    wrong=(),
)  # fmt: skip

IMAGES = cases(
    "images H W C R S N stride pad",
    (1, 4, 4, 4, 1, 1, 16, 1, 0),
    (1, 5, 6, 3, 3, 3, 17, 1, 1),
    (2, 7, 5, 2, 3, 2, 5, 2, 1),
    (3, 4, 6, 1, 2, 3, 3, 1, 0),
    (2, 5, 8, 5, 1, 3, 18, 3, 2),
    (1, 3, 3, 20, 3, 3, 1, 1, 0),
)

IMPLICIT = Blank(
    name="implicit",
    notebook="18",
    title="Write it: a convolution without its matrix",
    difficulty=2,
    task="A convolution is a product: each place of the result is a row, with all pixels under the filter side by "
    "side, and each filter is a column. That matrix would be R · S times as large as the images. Do not store it: "
    "find the element where it lies in the images. Images have channels last, and `pad` rows and columns of zeros "
    "around them.",
    hints=(
        "row counts places of the result: q fastest, then p, then the image. k counts what lies under the filter: "
        "channels fastest, then columns s, then rows r. / and % find each.",
        "The filter of place (p, q) begins at row p * stride - pad and column q * stride - pad of the image. Compare "
        "with 0 and with H or W before you load.",
        "q = row % Q, p = row / Q % P, image = row / (Q * P); c = k % C, s = k / C % S, r = k / (C * S); h = p * "
        "stride + r - pad; X[((image * H + h) * W + w) * C + c]. In the loop: if (row < M && k0 + x < K) As[y][x] = "
        "A.at(row, k0 + x).",
    ),
    problem=Convolution("convolution", IMAGES, output="Y"),
    picture=Drawn(pictures.of_image),
    wrong=(),
)  # fmt: skip
