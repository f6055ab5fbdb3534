"""The nine kernels that the learner of notebook 18 writes, each a member of the family."""

from __future__ import annotations

from dataclasses import replace

from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.answers import LEARNERS
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.judge import Goal, Judged
from helpers.exercises.framework.pictures import Drawn, SectorsOf
from helpers.exercises.n18 import pictures
from helpers.exercises.n18.members import (
    FRAGMENT,
    Batch,
    ColumnScales,
    Convolution,
    DoubleFragments,
    Dropout,
    FusedSteps,
    Grouped,
    GroupScales,
    TransposedOperand,
    cases,
    of_rows,
)


def _most_scattered(judged: Judged) -> str:
    """The array whose load requests touch the most sectors."""
    sectors, requests = (
        {
            parameter.name: judged.recording.total(quantity, "global", "ld", parameter.name)
            for parameter in judged.kernel.compiled.parameters
        }
        for quantity in ("sectors", "requests")
    )
    means = {name: sectors[name] / count for name, count in requests.items() if count}
    name = max(means, key=means.__getitem__)
    return (
        f"A load request to {name} touches {means[name]:.1f} sectors on average. In a row of A or B neighbours in "
        "memory are neighbours in k."
    )


def _coalesced(at_most: float) -> Goal:
    return replace(goals.sectors_a_load(at_most), explain=_most_scattered)


def _stored_in_one_go(sectors: int) -> Goal:
    """Sectors stored, where C is stored once."""
    once = goals.stored_once()
    return replace(
        goals.store_sectors(sectors),
        explain=lambda j: "" if once.reached(once.measure(j)) else once.explain(j),
    )


# Two members have them.
REPLACED = "Each product replaces the sum so far: it must be added, +=."
A_TURNED = "A's tile is stored in one order of its two indices and read in the other one: As[y][k]."
BY_ONE = "An iteration adds T products, so the tiles move on by T: k0 += T."

TURNED = (
    "The tile must be turned once: what is loaded with k = x and column y goes to Bs[x][y], and Bs[k][x] is the "
    "element of k and column x."
)

WORDS_TURNED = (
    "The tile must be turned once: the int with word x and column y goes to Bs[x][y], and Bs[w][x] is that of word w "
    "and column x."
)

NO_END_OF_K = "Behind k = K a row of {} is over, and there are gaps or other rows, not zeros: ask for k0 + x < K."

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
    **texts.of("18", "transposed_operand"),
    difficulty=2,
    problem=TransposedOperand("gemm_nt", TRANSPOSED),
    picture=Drawn(pictures.of_turned_store),
    goals=(_coalesced(4.0), goals.conflicts()),
    judged=TRANSPOSED[0],
    wrong=(
        Wrong("index_alone", "Neighbours in x read elements that are ldb floats apart: let x be the k of the load, and "
              "turn the tile instead, Bs[x][y].",
              (("Bs[x][y]", "Bs[y][x]"), ("first_col + y < N && k0 + x < K", "first_col + x < N && k0 + y < K"),
               ("B[(first_col + y) * ldb + k0 + x]", "B[(first_col + x) * ldb + k0 + y]"))),
        Wrong("no_padding", "With rows of T floats the lanes of a column store to banks that are 16 apart, which are "
              "two: make the rows of Bs two floats longer.", (("[T + 2]", "[T]"),)),
        Wrong("one_float", "With rows of T + 1 floats lanes (0, 0) and (15, 1) of a warp meet in bank 0, because a "
              "warp is two rows of 16 threads: T + 2.", (("[T + 2]", "[T + 1]"),)),
        Wrong("not_turned", TURNED, (("Bs[x][y]", "Bs[y][x]"),)),
        Wrong("turned_twice", TURNED, (("Bs[k][x]", "Bs[x][k]"),)),
        Wrong("rows_of_k_in_b", "Rows of B begin ldb floats apart, which may be more than K.",
              (("(first_col + y) * ldb", "(first_col + y) * K"),)),
        Wrong("rows_of_k_in_a", "Rows of A begin lda floats apart, which may be more than K.",
              (("row * lda", "row * K"),)),
        Wrong("rows_of_n", "Rows of C begin ldc floats apart, which may be more than N.", (("row * ldc", "row * N"),)),
        Wrong("wrong_ld", "lda and ldb have changed places.",
              (("row * lda", "row * ldb"), ("+ y) * ldb", "+ y) * lda"))),
        Wrong("as_if_k_n", "That is an element of a B of K rows and N columns. It is stored as (N, K): the column of "
              "the factor is the row of the array.",
              (("B[(first_col + y) * ldb + k0 + x]", "B[(k0 + x) * ldb + first_col + y]"),)),
        Wrong("guard_as_before", "The guard must ask for what is loaded: here y belongs to the column and x to k.",
              (("first_col + y < N && k0 + x < K", "first_col + x < N && k0 + y < K"),)),
        Wrong("guard_of_sum", "The guard asks for another column than is loaded: that is first_col + y, and col is the "
              "column of the sum.", (("first_col + y < N && k0", "first_col + x < N && k0"),)),
        Wrong("replaced", REPLACED, (("sum += As", "sum = As"),)),
        Wrong("a_turned", A_TURNED, (("As[y][k]", "As[k][y]"),)),
        Wrong("by_one", BY_ONE, (("k0 += T", "k0 += 1"),)),
        Wrong("no_end_of_k_in_b", NO_END_OF_K.format("B"), (("first_col + y < N && k0 + x < K", "first_col + y < N"),)),
        Wrong("no_end_of_k_in_a", NO_END_OF_K.format("A"), (("row < M && k0 + x < K", "row < M"),)),
        Wrong("no_end_of_k", "Behind k = K there are gaps, or other rows, and not zeros: ask for k0 + x < K in both "
              "loads.",
              ((" && k0 + x < K", ""),)),
        Wrong("nothing_instead", "Where B has no element the tile keeps what was there before: store 0 first.",
              (("        Bs[x][y] = 0.0f;\n", ""),)),
        Wrong("first_columns", "Every block takes the first rows of B: first_col is missing in its index.",
              (("(first_col + y) * ldb", "y * ldb"),)),
        Wrong("no_first_barrier", "A thread may multiply before the others have loaded: a barrier is missing "
              "before the products.",
              (("        __syncthreads();\n        for (int k = 0", "        for (int k = 0"),)),
        Wrong("no_second_barrier", "The next tile may be loaded while others still multiply: a barrier is missing "
              "behind the products.", (("Bs[k][x];\n        __syncthreads();\n", "Bs[k][x];\n"),)),
        Wrong("no_edge", "At the edge a tile sticks out of C: ask for row < M and col < N before you store.",
              (("    if (row < M && col < N) C[", "    C["),)),
    ),
)  # fmt: skip

BATCHES = cases(
    "count M N K gridDim.z gap_behind_A_and_C one_B",
    (3, 16, 32, 16, 3, 0, 0),
    (5, 18, 21, 17, 2, 0, 0),
    (4, 20, 17, 9, 4, 7, 0),
    (5, 17, 19, 20, 3, 5, 1),
    (7, 1, 3, 2, 7, 0, 0),
    (1, 33, 5, 1, 1, 3, 1),
)

BATCH = Blank(
    **texts.of("18", "batch"),
    difficulty=1,
    problem=Batch("gemm_batch", BATCHES),
    picture=SectorsOf(((4, "ld"), (6, "ld")), BATCHES[0], LEARNERS),
    goals=(goals.stored_once(),),
    judged=BATCHES[1],
    wrong=(
        Wrong("first_product", "Every product reads the first A: matrix p begins p * step_a floats further.",
              (("A + p * step_a + first", "A + first"),)),
        Wrong("first_factor", "Every product reads the first B: matrix p begins p * step_b floats further.",
              (("B + p * step_b + first", "B + first"),)),
        Wrong("first_result", "All products are stored into the first C: matrix p begins p * step_c floats further.",
              (("C[p * step_c + row", "C[row"),)),
        Wrong("no_gaps", "The step from one A to the next is step_a, which may be more than M * K.",
              (("p * step_a", "p * M * K"),)),
        Wrong("own_factors", "The step from one B to the next is step_b. It is 0 where all products share one matrix.",
              (("p * step_b", "p * K * N"),)),
        Wrong("results_without_gaps", "The step from one C to the next is step_c, which may be more than M * N.",
              (("p * step_c", "p * M * N"),)),
        Wrong("one_each", "A block computes one product, and there may be more products than the grid's z is long: "
              "go on with p += gridDim.z.",
              (("for (int p = blockIdx.z; p < count; p += gridDim.z) {", "{\n        const int p = blockIdx.z;"),)),
        Wrong("by_one", "A block goes on to the products of other blocks, too: the next one of its own is gridDim.z "
              "further.", (("p += gridDim.z", "p += 1"),)),
        Wrong("all_products", "Every block computes all products: the first one of its own is blockIdx.z.",
              (("int p = blockIdx.z", "int p = 0"), ("p += gridDim.z", "++p"))),
        Wrong("rows_of_a_thread", "product wants A from the first row of the *tile* on; which row a thread has it "
              "finds itself.", (("step_a + first_row * K", "step_a + row * K"),)),
        Wrong("columns_of_a_thread", "product wants B from the first column of the *tile* on; which column a thread "
              "has it finds itself.", (("step_b + first_col", "step_b + col"),)),
        Wrong("rows_of_n", "A row of A has K floats: first_row * K.", (("first_row * K", "first_row * N"),)),
        Wrong("columns_times_k", "Columns of B are neighbours in memory: the tile begins first_col floats further.",
              (("step_b + first_col", "step_b + first_col * K"),)),
        Wrong("early_return", "product waits at barriers, so all threads of the block must call it: a thread outside C "
              "goes through the loop, too, and stores nothing.",
              (("    for (int p", "    if (row >= M || col >= N) return;\n    for (int p"),)),
        Wrong("first_tile", "Every block computes the first tile: product wants A from the tile's first row on, "
              "first_row * K floats further, and B from its first column on.",
              ((" + first_row * K", ""), (" + first_col;", ";"))),
        Wrong("all_of_both", "product wants what is *left* from the tile's first row and column on: M - first_row and "
              "N - first_col.", (("product(M - first_row, N - first_col", "product(M, N"),)),
        Wrong("all_rows", "From the tile's first row on there are M - first_row rows left, not M.",
              (("product(M - first_row", "product(M"),)),
        Wrong("all_columns", "From the tile's first column on there are N - first_col columns left, not N.",
              (("N - first_col, K", "N, K"),)),
        Wrong("ld_of_a", "The rows of A are K floats long, and those of B N: product(rows, cols, K, a, K, b, N).",
              (("a, K, b, N", "a, N, b, N"),)),
        Wrong("ld_of_b", "The rows of B are N floats long: product(rows, cols, K, a, K, b, N).",
              (("a, K, b, N", "a, K, b, K"),)),
        Wrong("turned_blocks", "blockIdx.y counts tiles down the rows, and blockIdx.x along the columns.",
              (("first_row = blockIdx.y * T, first_col = blockIdx.x * T", "first_row = blockIdx.x * T, first_col = "
                "blockIdx.y * T"),)),
        Wrong("no_edge", "At the edge a tile sticks out of C: ask for row < M and col < N before you store.",
              (("if (row < M && col < N) C[", "C["),)),
        Wrong("no_row_edge", "Below the last row of C a store goes behind the product: ask for row < M.",
              (("row < M && ", ""),)),
        Wrong("no_column_edge", "Right of the last column of C a store goes beyond its row: ask for col < N.",
              ((" && col < N", ""),)),
    ),
)  # fmt: skip

LAYERS = cases("M N K", (16, 32, 16), (18, 21, 17), (33, 16, 5), (1, 19, 20), (17, 1, 3), (1, 1, 1))

FUSED_STEPS = Blank(
    **texts.of("18", "fused_steps"),
    difficulty=2,
    problem=FusedSteps("gemm_gelu", LAYERS),
    picture=SectorsOf(((5, "ld"), (6, "ld"), (7, "st")), LAYERS[0], LEARNERS),
    goals=(_stored_in_one_go(128),),
    judged=cases("M N K", (32, 32, 16))[0],
    wrong=(
        Wrong("bias_of_row", "There is one bias for each column of C: bias[col].", (("bias[col]", "bias[row]"),)),
        Wrong("first_bias", "Every column has a bias of its own: bias[col].", (("bias[col]", "bias[0]"),)),
        Wrong("bias_twice", "The bias is added to the sum once, and nothing is multiplied by it.",
              (("value + bias[col]", "value * bias[col]"),)),
        Wrong("no_half", "The share of the normal distribution is *half* of 1 + erf: 0.5 is missing.",
              (("0.5f * value * (1.0f", "value * (1.0f"),)),
        Wrong("no_root", "The error function is asked at value / sqrt(2), which is value * 0.7071.",
              (("erff(value * 0.70710678f)", "erff(value)"),)),
        Wrong("times_root", "The error function is asked at value *divided* by the root of 2: value * 0.7071.",
              (("erff(value * 0.70710678f)", "erff(value * 1.41421356f)"),)),
        Wrong("no_one", "Here the share is half of erf, and goes from -1/2 to 1/2: it is half of 1 + erf, from 0 to 1.",
              (("(1.0f + erff(", "(erff("),)),
        Wrong("no_value", "That is the share alone. GELU is the value times it.", (("0.5f * value * (", "0.5f * ("),)),
        Wrong("tanh", "That is the approximation by tanh, which differs by up to 0.0005: use erff.",
              (("(1.0f + erff(value * 0.70710678f))",
                "(1.0f + tanhf(0.79788456f * (value + 0.044715f * value * value * value)))"),)),
        Wrong("relu", "That is ReLU. GELU is smooth: value times the share of a normal distribution below it.",
              (("0.5f * value * (1.0f + erff(value * 0.70710678f))", "fmaxf(value, 0.0f)"),)),
        Wrong("silu", "That is SiLU, value / (1 + exp(-value)). GELU has the normal distribution: erff.",
              (("0.5f * value * (1.0f + erff(value * 0.70710678f))", "value / (1.0f + expf(-value))"),)),
        Wrong("row_of_residual", "R has a row for each row of C: R[row * N + col], not only its first one.",
              (("R[row * N + col]", "R[col]"),)),
        Wrong("residual_turned", "R is row-major, as C is: R[row * N + col].",
              (("R[row * N + col]", "R[col * N + row]"),)),
        Wrong("no_residual", "The residual is never added.", (("value + R[row * N + col]", "value"),)),
        Wrong("then_first", "The steps have changed places: the first one is applied to the value, and the other one "
              "to what it returns.",
              (("then(first(value, row, col), row, col)", "first(then(value, row, col), row, col)"),)),
        Wrong("only_then", "The first step is left out: the other one gets the value itself.",
              (("then(first(value, row, col), row, col)", "then(value, row, col)"),)),
        Wrong("only_first", "The second step is left out.",
              (("then(first(value, row, col), row, col)", "first(value, row, col)"),)),
        Wrong("added", "Both add their results. A step gets what the step before it has returned.",
              (("then(first(value, row, col), row, col)", "first(value, row, col) + then(value, row, col)"),)),
        Wrong("place_turned", "The place is (row, col), in this order.",
              (("epilogue(sum, row, col)", "epilogue(sum, col, row)"),)),
        Wrong("residual_before", "The residual is added after GELU, not before it: Both<Both<Bias, Gelu>, Residual>.",
              (("Both<Both<Bias, Gelu>, Residual> epilogue = {{{bias}, {}}, {R, N}}",
                "Both<Both<Bias, Residual>, Gelu> epilogue = {{{bias}, {R, N}}, {}}"),)),
        Wrong("bias_last", "The bias is added before GELU: GELU of the sum and the bias together.",
              (("Both<Both<Bias, Gelu>, Residual> epilogue = {{{bias}, {}}, {R, N}}",
                "Both<Both<Gelu, Bias>, Residual> epilogue = {{{}, {bias}}, {R, N}}"),)),
        Wrong("stored_twice", "The sum is stored, loaded again and stored a second time. Apply the epilogue to the sum "
              "in its register.",
              (("if (row < M && col < N) C[row * N + col] = epilogue(sum, row, col);",
                "volatile float *c = C;\n    if (row < M && col < N) c[row * N + col] = sum;\n"
                "    if (row < M && col < N) c[row * N + col] = epilogue(c[row * N + col], row, col);"),)),
        Wrong("no_edge", "At the edge a tile sticks out of C, and of bias and R: ask for row < M and col < N before "
              "you apply the epilogue.",
              (("if (row < M && col < N) C[", "C["),)),
    ),
)  # fmt: skip

EIGHT_BITS = cases("M N K", (16, 32, 128), (18, 21, 66), (33, 16, 7), (1, 19, 130), (17, 1, 4), (1, 1, 1), (1, 2, 1700))

COLUMN_SCALES = Blank(
    **texts.of("18", "column_scales"),
    difficulty=2,
    problem=ColumnScales("gemm_int8", EIGHT_BITS),
    picture=SectorsOf(((3, "ld"), (4, "ld")), EIGHT_BITS[0], LEARNERS),
    goals=(_coalesced(4.0), goals.conflicts()),
    judged=EIGHT_BITS[0],
    wrong=(
        Wrong("scale_of_row", "The columns of C have the scales of B: scale_b[col].",
              (("scale_b[col]", "scale_b[row]"),)),
        Wrong("scale_of_column", "The rows of C have the scales of A: scale_a[row].",
              (("scale_a[row]", "scale_a[col]"),)),
        Wrong("scales_crossed", "Rows have the scales of A, and columns those of B: they have changed places.",
              (("scale_a[row] * scale_b[col]", "scale_a[col] * scale_b[row]"),)),
        Wrong("one_scale", "Every column has a scale of its own: scale_b[col], not scale_b[0].",
              (("scale_b[col]", "scale_b[0]"),)),
        Wrong("no_row_scale", "The scale of the row is missing.", (("scale_a[row] * ", ""),)),
        Wrong("no_column_scale", "The scale of the column is missing.", ((" * scale_b[col]", ""),)),
        Wrong("divided", "A scale says what a whole number stands for: multiply by it.",
              (("* scale_b[col]", "/ scale_b[col]"),)),
        Wrong("added_scales", "Each factor has its scale, so the product has both: multiply them.",
              (("scale_a[row] * scale_b[col]", "(scale_a[row] + scale_b[col])"),)),
        Wrong("words_multiplied", "An int holds four numbers, and * multiplies the ints as they are: __dp4a multiplies "
              "number by number.", (("__dp4a(As[y][w], Bs[w][x], sum)", "sum + As[y][w] * Bs[w][x]"),)),
        Wrong("float_sum", "From 2^24 on a float no longer has every whole number, so the sum is rounded: keep it an "
              "int until the end.", (("int sum = 0;", "float sum = 0.0f;"),)),
        Wrong("sum_replaced", "__dp4a returns its third argument plus four products: give it the sum so far.",
              (("Bs[w][x], sum)", "Bs[w][x], 0)"),)),
        Wrong("sum_doubled", "__dp4a has added the sum already: = is enough.", (("sum = __dp4a", "sum += __dp4a"),)),
        Wrong("unsigned_numbers", "The numbers have signs, and __dp4a of unsigned reads -1 as 255: keep the arguments "
              "int.",
              (("sum = __dp4a(As[y][w], Bs[w][x], sum)",
                "sum = __dp4a((unsigned)As[y][w], (unsigned)Bs[w][x], (unsigned)sum)"),)),
        Wrong("index_alone", "Neighbours in x read ints that are a row apart: let x be the word of the load, and turn "
              "the tile instead, Bs[x][y].",
              (("Bs[x][y]", "Bs[y][x]"), ("first_col + y < N && w0 + x < words", "first_col + x < N && w0 + y < words"),
               ("B[(first_col + y) * words + w0 + x]", "B[(first_col + x) * words + w0 + y]"))),
        Wrong("not_turned", WORDS_TURNED, (("Bs[x][y]", "Bs[y][x]"),)),
        Wrong("turned_twice", WORDS_TURNED, (("Bs[w][x]", "Bs[x][w]"),)),
        Wrong("guard_as_before", "The guard must ask for what is loaded: here y belongs to the column and x to the "
              "word.",
              (("first_col + y < N && w0 + x < words", "first_col + x < N && w0 + y < words"),)),
        Wrong("no_end_of_row", "Behind its last word a row is over, and what follows is the next row: ask for w0 + x < "
              "words in both loads.", ((" && w0 + x < words", ""),)),
        Wrong("nothing_instead", "Where B has no element the tile keeps what was there before: store 0 first.",
              (("        Bs[x][y] = 0;\n", ""),)),
        Wrong("no_first_barrier", "A thread may multiply before the others have loaded: a barrier is missing "
              "before the products.",
              (("        __syncthreads();\n        for (int w = 0", "        for (int w = 0"),)),
        Wrong("no_second_barrier", "The next tile may be loaded while others still multiply: a barrier is missing "
              "behind the products.", (("Bs[w][x], sum);\n        __syncthreads();\n", "Bs[w][x], sum);\n"),)),
        Wrong("first_words", "Every tile of A is the first one: w0 is missing in the index.",
              (("A[row * words + w0 + x]", "A[row * words + x]"),)),
        Wrong("first_columns", "Every block takes the first rows of B: first_col is missing in its index.",
              (("(first_col + y) * words", "y * words"),)),
    ),
)  # fmt: skip

GROUPS = cases("M N K", (16, 32, 128), (18, 21, 96), (33, 16, 32), (1, 17, 160), (1, 1, 32))

GROUP_ALONE = (
    "The second group of a tile has the sum of the first one in its own: for each group the sum begins at 0, and w at "
    "first."
)

GROUP_SCALES = Blank(
    **texts.of("18", "group_scales"),
    difficulty=3,
    problem=GroupScales("gemm_groups", GROUPS),
    picture=SectorsOf(((5, "ld"), (6, "ld")), GROUPS[0], LEARNERS),
    wrong=(
        Wrong("scale_of_first_group", "Every group has its own scales: the group's number is (w0 + first) / WORDS, and "
              "w0 is missing.", (("(w0 + first) / WORDS", "first / WORDS"),)),
        Wrong("scale_of_tile", "A tile has two groups, each with its own scales: first is missing in the group's "
              "number.",
              (("(w0 + first) / WORDS", "w0 / WORDS"),)),
        Wrong("group_of_words", "A group has 8 words: divide by WORDS.", (("(w0 + first) / WORDS", "(w0 + first)"),)),
        Wrong("part_goes_on", "The sum of a group begins at 0: otherwise the groups before are scaled again.",
              (("float sum = 0.0f;", "float sum = 0.0f;\n    int part = 0;"), ("            int part = 0;\n", ""))),
        Wrong("part_of_tile", GROUP_ALONE,
              (("        for (int first = 0", "        int part = 0;\n        for (int first = 0"),
               ("            int part = 0;\n", ""))),
        Wrong("whole_tile", "The group is 8 words long: w < first + WORDS.", (("w < first + WORDS", "w < T"),)),
        Wrong("from_the_begin", GROUP_ALONE, (("int w = first;", "int w = 0;"),)),
        Wrong("replaced", "A group replaces the sum so far: it must be added, +=.", (("sum += part", "sum = part"),)),
        Wrong("edge_too_late", "An element whose row is M, or whose column is N, lies outside: >=, not >.",
              (("row >= M || col >= N", "row > M || col > N"),)),
        Wrong("number_of_tile", "That is the number of the tile, and a tile has two groups: (w0 + first) / WORDS.",
              (("(w0 + first) / WORDS", "w0 / T"),)),
        Wrong("first_words", "Both groups multiply the first 8 words of the tile: those of the second begin at first.",
              (("int w = first; w < first + WORDS", "int w = 0; w < WORDS"),)),
        Wrong("scales_of_columns", "scale_b is (N, groups): a column's scales are neighbours, scale_b[col * groups + "
              "group].",
              (("scale_b[col * groups + group]", "scale_b[group * N + col]"),)),
        Wrong("scales_of_rows", "scale_a is (M, groups): a row's scales are neighbours, scale_a[row * groups + group].",
              (("scale_a[row * groups + group]", "scale_a[group * M + row]"),)),
        Wrong("scales_crossed", "Rows have the scales of A, and columns those of B: they have changed places.",
              (("scale_a[row * groups + group] * scale_b[col * groups + group]",
                "scale_a[col * groups + group] * scale_b[row * groups + group]"),)),
        Wrong("no_row_scale", "The scale of the row's group is missing.", (("scale_a[row * groups + group] * ", ""),)),
        Wrong("no_column_scale", "The scale of the column's group is missing.",
              ((" * scale_b[col * groups + group]", ""),)),
        Wrong("no_last_group", "The last tile may lack its second group, which has no scales: ask for group < groups.",
              ((" || group >= groups", ""),)),
        Wrong("not_turned", WORDS_TURNED, (("Bs[x][y]", "Bs[y][x]"),)),
        Wrong("turned_twice", WORDS_TURNED, (("Bs[w][x]", "Bs[x][w]"),)),
        Wrong("no_second_barrier", "The next tile may be loaded while others still multiply: a barrier is missing "
              "behind the groups.", (("        }\n        __syncthreads();\n", "        }\n"),)),
    ),
)  # fmt: skip

FIRST_TILE = (
    "Of each expert only the first tile is computed: an expert with more than T rows has several, and the first row is "
    "offsets[expert] + tile * T."
)

ROWS_LEFT = (
    "The tile ends where its expert does: offsets[expert + 1] - first_row rows are left. Below them stand rows of the "
    "next expert, which another block stores."
)

ROWS_OF = ((16, 32, 16), (20, 5, 33), (0, 17, 0, 9, 0), (1, 1, 30, 0, 2), (0, 0, 3), (40,))

GROUPED = Blank(
    **texts.of("18", "grouped"),
    difficulty=2,
    problem=Grouped("gemm_grouped", of_rows(17, 9, *ROWS_OF), rows_of=ROWS_OF),
    picture=Drawn(pictures.of_experts),
    wrong=(
        Wrong("tiles_rounded_down", "What is left of an expert's rows needs a tile, too: round up.",
              ((" + T - 1) / T", ") / T"),)),
        Wrong("one_tile_each", FIRST_TILE,
              (("    int expert = 0, tile = blockIdx.y;\n    while (expert < experts) {\n"
                "        const int tiles = (offsets[expert + 1] - offsets[expert] + T - 1) / T;\n"
                "        if (tile < tiles) break;\n        tile -= tiles;\n        ++expert;\n    }\n"
                "    if (expert == experts) return;\n",
                "    int expert = blockIdx.y, tile = 0;\n    if (expert >= experts) return;\n"
                "    if (offsets[expert] == offsets[expert + 1]) return;\n"),)),
        Wrong("not_subtracted", "The tiles of the experts before must be subtracted: a number among all tiles says "
              "nothing beside the tiles of one expert.", (("        tile -= tiles;\n", ""),)),
        Wrong("one_subtracted", "An expert has `tiles` tiles, not one: tile -= tiles.",
              (("tile -= tiles", "tile -= 1"),)),
        Wrong("or_equal", "Tiles are counted from 0: an expert with `tiles` of them has the numbers below tiles.",
              (("tile < tiles", "tile <= tiles"),)),
        Wrong("no_way_out", "The grid has more blocks than there are tiles: one that finds no expert returns.",
              (("    if (expert == experts) return;\n", ""),)),
        Wrong("tile_of_all", "blockIdx.y counts the tiles of all experts; `tile` is that within the expert.",
              (("offsets[expert] + tile * T", "blockIdx.y * T"),)),
        Wrong("tile_of_all_in_expert", "blockIdx.y counts the tiles of all experts, and what is left of it, "
              "`tile`, those of this one.",
              (("offsets[expert] + tile * T", "offsets[expert] + blockIdx.y * T"),)),
        Wrong("rows_of_others", "The expert begins at offsets[expert]: that is missing in the first row.",
              (("offsets[expert] + tile * T", "tile * T"),)),
        Wrong("first_tile", FIRST_TILE,
              (("offsets[expert] + tile * T", "offsets[expert]"),)),
        Wrong("expert_of_row", "Tiles are T rows high: tile * T.", (("+ tile * T,", "+ tile,"),)),
        Wrong("first_factor", "Every expert has a matrix of its own, which begins expert * K * N floats further.",
              (("B + expert * K * N + first_col", "B + first_col"),)),
        Wrong("factor_of_tile", "The matrix is that of the expert, not of the tile.",
              (("B + expert * K * N", "B + tile * K * N"),)),
        Wrong("factor_of_k", "A matrix of B has K * N floats.", (("expert * K * N", "expert * N"),)),
        Wrong("rows_of_all", ROWS_LEFT,
              (("rows = offsets[expert + 1] - first_row", "rows = offsets[experts] - first_row"),)),
        Wrong("all_rows_stored", "Below the expert's last row stand rows of the next one, which another block stores: "
              "ask for threadIdx.y < rows.", (("threadIdx.y < rows && ", ""),)),
        Wrong("stored_to_the_end", ROWS_LEFT,
              (("threadIdx.y < rows", "row < offsets[experts]"),)),
        Wrong("whole_tiles", "An expert's last tile may have fewer rows than T: product wants those that are left, "
              "rows.",
              (("product(rows", "product(T"),)),
        Wrong("no_column_edge", "Right of the last column of C a store goes beyond its row: ask for col < N.",
              ((" && col < N", ""),)),
        Wrong("result_turned", "C is row-major, C[row * N + col]: the row and the column have changed places.",
              (("C[row * N + col]", "C[col * N + row]"),)),
        Wrong("rows_times_n", "A row of A has K floats: first_row * K.", (("A + first_row * K", "A + first_row * N"),)),
        Wrong("row_of_thread", "product wants A from the first row of the *tile* on; which row a thread has it finds "
              "itself.", (("A + first_row * K", "A + row * K"),)),
        Wrong("ld_of_b", "The rows of B are N floats long: product(rows, cols, K, a, K, b, N).",
              ((", K, b, N)", ", K, b, K)"),)),
        Wrong("all_columns", "From the tile's first column on there are N - first_col columns left, not N.",
              (("product(rows, N - first_col", "product(rows, N"),)),
    ),
)  # fmt: skip

BORDER = (
    "Outside the image there are zeros, and in memory there is another row, another image, or nothing: compare h and w "
    "with 0, and with H and W."
)

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
    **texts.of("18", "implicit"),
    difficulty=3,
    problem=Convolution("convolution", IMAGES, output="Y"),
    picture=Drawn(pictures.of_image),
    wrong=(
        Wrong("rows_of_p", "A row of the result has Q places: q = row % Q.",
              (("q = row % Q, p = row / Q % P", "q = row % P, p = row / P % Q"),)),
        Wrong("no_images", "p must stay below P: row / Q counts on through all images.", (("row / Q % P", "row / Q"),)),
        Wrong("first_image", "Every row looks at the first image: the image's number is missing in the index.",
              (("(image * H + h) * W", "h * W"),)),
        Wrong("images_of_result", "An image of X has H rows, and one of the result P.",
              (("(image * H + h)", "(image * P + h)"),)),
        Wrong("channels_last", "Channels are the fastest part of k: c = k % C.",
              (("c = k % C, s = k / C % S, r = k / (C * S)", "s = k % S, r = k / S % S, c = k / (S * S)"),)),
        Wrong("filter_turned", "Columns of the filter come before its rows: s = k / C % S, r = k / (C * S).",
              (("s = k / C % S, r = k / (C * S)", "r = k / C % S, s = k / (C * S)"),)),
        Wrong("no_columns", "s must stay below S: k / C counts on through all rows of the filter.",
              (("k / C % S", "k / C"),)),
        Wrong("no_stride", "From one place to the next the filter moves `stride` pixels: p * stride and q * stride.",
              (("p * stride + r", "p + r"), ("q * stride + s", "q + s"))),
        Wrong("stride_of_filter", "The places are `stride` apart, and the pixels under the filter are neighbours.",
              (("p * stride + r", "(p + r) * stride"), ("q * stride + s", "(q + s) * stride"))),
        Wrong("no_pad", "The image begins `pad` rows and columns below the first pixel under the filter: subtract it.",
              (("+ r - pad", "+ r"), ("+ s - pad", "+ s"))),
        Wrong("pad_added", "The border lies *before* row 0: subtract pad.",
              (("+ r - pad", "+ r + pad"), ("+ s - pad", "+ s + pad"))),
        Wrong("mirrored", "Filters are not mirrored in deep learning: + r and + s.",
              (("p * stride + r", "p * stride - r"), ("q * stride + s", "q * stride - s"))),
        Wrong("no_border", BORDER,
              (("        if (h < 0 || h >= H || w < 0 || w >= W) return 0.0f;\n", ""),)),
        Wrong("no_columns_outside", "Left and right of the image stand pixels of the rows above and below, not zeros: "
              "ask for w, too.", ((" || w < 0 || w >= W", ""),)),
        Wrong("no_lower_border", BORDER,
              (("h < 0 || h >= H || w < 0 || w >= W", "h >= H || w >= W"),)),
        Wrong("no_upper_border", "A row or a column may also lie behind the image: h >= H, w >= W.",
              (("h < 0 || h >= H || w < 0 || w >= W", "h < 0 || w < 0"),)),
        Wrong("border_of_result", "The image has H rows and W columns; P and Q are those of the result.",
              (("h >= H", "h >= P"), ("w >= W", "w >= Q"))),
        Wrong("channels_first", "X has its channels last: ((image * H + h) * W + w) * C + c.",
              (("((image * H + h) * W + w) * C + c", "((image * C + c) * H + h) * W + w"),)),
        Wrong("rows_of_h", "A row of an image has W pixels: (image * H + h) * W + w.",
              (("(image * H + h) * W + w", "(image * H + h) * H + w"),)),
        Wrong("k_of_tile", "Every tile of A is the first one: k0 is missing in its column.",
              (("A.at(row, k0 + x)", "A.at(row, x)"),)),
        Wrong("place_turned", "at wants the row first: A.at(row, k0 + x).",
              (("A.at(row, k0 + x)", "A.at(k0 + x, row)"),)),
        Wrong("replaced", REPLACED, (("sum += As", "sum = As"),)),
        Wrong("a_turned", A_TURNED, (("As[y][k]", "As[k][y]"),)),
        Wrong("by_one", BY_ONE, (("k0 += T", "k0 += 1"),)),
        Wrong("b_turned", "B's tile is stored in one order of its two indices and read in the other one: Bs[k][x].",
              (("Bs[k][x]", "Bs[x][k]"),)),
        Wrong("no_bounds", "at asks whether h and w lie in the image, and not whether the matrix has this row and this "
              "k: if (row < M && k0 + x < K).", (("if (row < M && k0 + x < K) ", ""),)),
        Wrong("no_end_of_k", "Behind its last column the matrix has no elements, and at may look at another pixel: "
              "ask for k0 + x < K, and B for k0 + y < K.", ((" && k0 + x < K", ""), ("k0 + y < K && ", ""))),
        Wrong("row_by_x", "The row in which B is read follows x, where it must follow y: y is the k of B's tile.",
              (("B[(k0 + y) * N + col]", "B[(k0 + x) * N + col]"),)),
        Wrong("no_first_barrier", "A thread may multiply before the others have loaded: a barrier is missing "
              "before the products.",
              (("        __syncthreads();\n        for (int k = 0", "        for (int k = 0"),)),
        Wrong("no_second_barrier", "The next tile may be loaded while others still multiply: a barrier is missing "
              "behind the products.", (("Bs[k][x];\n        __syncthreads();\n", "Bs[k][x];\n"),)),
    ),
)  # fmt: skip

KEPT = "chance(counter, seed) < limit ? 0.0f : sum * kept"
NUMBERED = "const unsigned counter = row * N + col;"
NOT_THE_TILES = (
    "The counter depends on the tile: with another tile size other elements would be dropped. Use the element's "
)
DROPOUT = Blank(
    **texts.of("18", "dropout"),
    difficulty=2,
    problem=Dropout("gemm_dropout", LAYERS),
    picture=SectorsOf(((8, "st"),), LAYERS[0], LEARNERS),
    wrong=(
        Wrong("by_column", "All rows drop the same columns: the row belongs into the counter, too.",
              ((NUMBERED, "const unsigned counter = col;"),)),
        Wrong("by_row", "A row is dropped whole or not at all: the column belongs into the counter, too.",
              ((NUMBERED, "const unsigned counter = row;"),)),
        Wrong("by_thread", f"{NOT_THE_TILES}number in C, row * N + col.",
              ((NUMBERED, "const unsigned counter = threadIdx.y * T + threadIdx.x;"),)),
        Wrong("by_tile", f"{NOT_THE_TILES}number in C, row * N + col.",
              ((NUMBERED, "const unsigned counter = (blockIdx.y * gridDim.x + blockIdx.x) * T * T + threadIdx.y * T + "
                "threadIdx.x;"),)),
        Wrong("by_column_of_tiles", f"{NOT_THE_TILES}number in C, row * N + col.",
              ((NUMBERED, "const unsigned counter = blockIdx.x * T * T + threadIdx.y * T + threadIdx.x;"),)),
        Wrong("rows_of_m", "A row of C has N elements: row * N + col.",
              ((NUMBERED, "const unsigned counter = row * M + col;"),)),
        Wrong("rows_of_k", "A row of C has N elements: row * N + col.",
              ((NUMBERED, "const unsigned counter = row * K + col;"),)),
        Wrong("down_columns", "Elements are counted row by row: row * N + col.",
              ((NUMBERED, "const unsigned counter = col * M + row;"),)),
        Wrong("row_and_column", "Elements on a diagonal would meet the same chance: the row is times N.",
              ((NUMBERED, "const unsigned counter = row + col;"),)),
        Wrong("from_one", "The first element has the number 0.",
              ((NUMBERED, "const unsigned counter = row * N + col + 1;"),)),
        Wrong("others_dropped", "Dropped is what is *below* limit, and not the others.",
              ((KEPT, "chance(counter, seed) < limit ? sum * kept : 0.0f"),)),
        Wrong("limit_dropped", "An element whose chance is limit itself stays: ask for less than limit.",
              ((KEPT, "chance(counter, seed) <= limit ? 0.0f : sum * kept"),)),
        Wrong("not_grown", "The elements that stay are multiplied by kept, so that their mean does not change.",
              ((KEPT, "chance(counter, seed) < limit ? 0.0f : sum"),)),
        Wrong("divided", "kept is 1 / (1 - probability) already: multiply by it.",
              ((KEPT, "chance(counter, seed) < limit ? 0.0f : sum / kept"),)),
        Wrong("zeros_not_stored", "An element that is dropped is stored, too, as 0: C holds anything before.",
              (("if (row < M && col < N) C[row * N + col] = " + KEPT,
                "if (row < M && col < N && chance(counter, seed) >= limit) C[row * N + col] = sum * kept"),)),
        Wrong("none_dropped", "Nothing is dropped: elements whose chance is below limit are 0.",
              ((KEPT, "sum * kept"),)),
        Wrong("no_seed", "Every training step would drop the same elements: the seed is the second argument.",
              (("chance(counter, seed)", "chance(counter, 0)"),)),
        Wrong("arguments_turned", "The counter is the first argument, and the seed the second one.",
              (("chance(counter, seed)", "chance(seed, counter)"),)),
    ),
)  # fmt: skip

WARPS = cases("M N K", (8, 16, 8), (10, 13, 6), (17, 8, 3), (1, 9, 5), (9, 1, 2), (1, 1, 1))

A_TAKEN, B_TAKEN = "A[a_row * K + k]", "B[k * N + b_col]"
DOUBLE_FRAGMENTS = Blank(
    **texts.of("18", "double_fragments"),
    difficulty=2,
    problem=DoubleFragments("dgemm", WARPS, tile=(FRAGMENT, FRAGMENT)),
    picture=SectorsOf(((3, "ld"), (4, "ld"), (5, "st")), WARPS[0], LEARNERS),
    goals=(goals.products_by_tensor_cores("DMMA"),),
    wrong=(
        Wrong("in_floats", "A float keeps 24 bits of the 53 of a double: a and b are doubles.",
              (("const double a =", "const float a ="), ("const double b =", "const float b ="))),
        Wrong("guarded", "The product is the whole warp's: a lane beyond the last k takes part, with zeros.",
              (("        multiply(sums", "        if (k < K) multiply(sums"),)),
        Wrong("sums_as_b", "A lane's sums are in columns lane % 4 * 2 and the next one; lane / 4 is that of its b.",
              (("lane % 4 * 2 + i", "lane / 4 + i"),)),
        Wrong("sums_apart", "A lane's two sums are neighbours: lane % 4 * 2 + i.",
              (("lane % 4 * 2 + i", "lane % 4 + i * 4"),)),
        Wrong("sums_overlap", "Two lanes store to the same column: the columns of a lane begin at lane % 4 * 2.",
              (("lane % 4 * 2 + i", "lane % 4 + i"),)),
        Wrong("b_turned", "B has N elements in a row: k * N + b_col.", ((B_TAKEN, "B[b_col * K + k]"),)),
        Wrong("a_turned", "A has K elements in a row: a_row * K + k.", ((A_TAKEN, "A[k * M + a_row]"),)),
        Wrong("lanes_turned", "The k of a lane is lane % 4, for there are four, and its row of A is lane / 4.",
              (("a_row = blockIdx.y * 8 + lane / 4, b_col", "a_row = blockIdx.y * 8 + lane % 8, b_col"),
               ("k0 + lane % 4", "k0 + lane / 8"))),
        Wrong("b_lanes_turned", "A lane's column of B is lane / 4, as its row of A is.",
              (("b_col = blockIdx.x * 8 + lane / 4", "b_col = blockIdx.x * 8 + lane % 8"),)),
        Wrong("b_as_sums", "A lane's column of B is lane / 4; lane % 4 * 2 is that of its first sum.",
              (("b_col = blockIdx.x * 8 + lane / 4", "b_col = blockIdx.x * 8 + lane % 4 * 2"),)),
        Wrong("k_turned", "The k of a lane is lane % 4, in A and in B.", (("k0 + lane % 4", "k0 + lane / 8"),)),
        Wrong("first_rows", "Every block takes the first rows of A: blockIdx.y * 8 is missing.",
              ((A_TAKEN, "A[lane / 4 * K + k]"),)),
        Wrong("first_columns", "Every block takes the first columns of B: blockIdx.x * 8 is missing.",
              ((B_TAKEN, "B[k * N + lane / 4]"),)),
        Wrong("first_k", "Every product takes the first four k: k is k0 + lane % 4.",
              (("k = k0 + lane % 4", "k = lane % 4"),)),
        Wrong("whole_pieces", "The last piece of k may have fewer than four: k0 < K.",
              (("k0 < K; k0 += 4", "k0 + 4 <= K; k0 += 4"),)),
        Wrong("by_eight", "A product adds four k, so the loop goes on by four.", (("k0 += 4", "k0 += 8"),)),
        Wrong("one_sum", "A lane has two sums, and stores both.", (("i < 2; ++i", "i < 1; ++i"),)),
        Wrong("same_sum", "The second column gets the second sum: sums[i].", (("= sums[i]", "= sums[0]"),)),
        Wrong("rows_of_m", "A row of C has N elements: a_row * N + col.", (("C[a_row * N", "C[a_row * M"),)),
    ),
)  # fmt: skip
