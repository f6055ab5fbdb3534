"""Solutions with one edit, none of them a known wrong solution, and what is said of each."""

from helpers.exercises.framework import slips

K_LOOP = "for (int k0 = 0; k0 < K;"

# (exercise, what stands in its solution, what stands there instead, what the verdict says)
CAUGHT = [
    ("warp_numbers", "threadIdx.x + blockDim.x *", "threadIdx.x - blockDim.x *", "W[2, 0] is"),
    ("rows_and_columns", "row < M &&", "row < N &&", "outside the arrays"),
    ("beta", "if (beta != 0.0f)", "if (beta != 1.0f)", slips.OLD_C_READ),
    ("beta", "A[row * K + k]", "A[row * M + k]", slips.sentence("A_width_M")),
    ("beta", "++k", "k += 2", "expected"),
    ("flat_block", "threadIdx.x % 16", "threadIdx.x % 15", "race in global memory"),
    ("column_major", "col * K + k", "row * K + k", slips.sentence("B_by_row")),
    ("barriers", "__syncthreads();\n    }", "}\n    __syncthreads();", "race in shared memory"),
    ("tile_edges", "row >= M ||", "row > M ||", "outside the arrays"),
    ("tile_edges", "row < M && k0 + x < K", "row < M && k0 + x < K - 1", "expected"),
    ("two_tiles", "int half = 0; half < 2; ++half) acc", "int half = 1; half < 2; ++half) acc", "expected"),
    ("outer_product", K_LOOP, "for (int k0 = 0; k0 < N;", "C[0, 0] is"),
    ("outer_product", "acc[y][x] += a_frag[y] * b_frag[x]", "acc[y][x] -= a_frag[y] * b_frag[x]", "expected"),
    ("padding", "#define PAD 4", "#define PAD 12", "3 456 bytes"),
    ("transpose_tile", "tile[x][y]", "tile[x][y + 1]", "tile"),
    ("swizzle", "row ^ (4 * k)", "row ^ (3 * k)", "lanes want different words of one bank"),
    ("four_at_once", "first + 4 * threadIdx.x", "first + 3 * threadIdx.x", "not a multiple of 16"),
    ("aligned_rows", "K % 4 == 0", "N % 4 == 0", "not a multiple of 16"),
    ("two_buffers", "load(1 - buffer, k0 + T)", "load(1 - buffer, k0 + T + 1)", "expected"),
    ("few_warps", "k1 < K", "k1 <= K", "outside the arrays"),
    ("lane_map", "lane / 8 * 2 + lane % 2", "lane / 8 * 2", "race in global memory"),
]
# No slip stands for these, although some come close: the same thread leaves the arrays, the same counter is missed.
UNEXPLAINED = {
    ("tile_edges", "row > M ||"), ("four_at_once", "first + 3 * threadIdx.x"),
    ("beta", "k += 2"), ("warp_numbers", "threadIdx.x - blockDim.x *"),
}  # fmt: skip
