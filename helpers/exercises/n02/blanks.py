"""What the learner writes in notebook 02: the first matrix multiplication, and then the same for every size."""

from __future__ import annotations

from helpers.exercises.framework import slips, texts
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import ThreadMapOf
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.text_slips import COMMA_IN_INDEX

BLOCK = (8, 16)  # rows and columns of C: the two differ, so that a mix-up of x and y shows
NO_ELEMENT = (
    "The grid is rounded up to whole blocks: a thread whose row is M or more, or whose column is N or more, must do "
    "nothing."
)

ONE_K_TOO_MANY = "The last k is K - 1: compare k with K by <, not by <=."

NAIVE = Blank(
    **texts.of("02", "naive"),
    difficulty=1,
    problem=Gemm(
        "sgemm", BLOCK, BLOCK, scaled=False, rows_along="x", shapes=((16, 48, 24), (8, 16, 5), (32, 16, 7), (24, 32, 1))
    ),
    picture=ThreadMapOf("C", Case({"M": 16, "N": 48, "K": 4}), "your kernel"),
    wrong=(
        Wrong("swapped", "x and y trade places: here x is the row index and y is the column index."),
        Wrong("without_block", "Every block computes the same corner of C: where a block begins, blockIdx times "
              "blockDim, is missing."),
        Wrong("block_alone", "All threads of a block compute the same element: threadIdx is missing."),
        Wrong("grid_for_block", "Blocks begin at blockIdx · gridDim, and gridDim counts blocks, not threads: it "
              "must be blockIdx · blockDim."),
        Wrong("pitch_of_A", slips.sentence("A_width_N")),
        Wrong("pitch_of_B", slips.sentence("B_width_K")),
        Wrong("rows_of_B", slips.sentence("B_transposed")),
        Wrong("one_short", slips.sentence("first_k_missing")),
        Wrong("last_product", slips.sentence("only_last_k")),
        Wrong("sum_in_int", "The sum is an int: every addition cuts off what stands after the decimal point. Make it "
              "a float."),
        Wrong("never_set", "A sum must begin somewhere: the variable is declared without a value."),
        Wrong("comma_in_index", COMMA_IN_INDEX),
        Wrong("one_k_too_many", ONE_K_TOO_MANY, (("k < K", "k <= K"),)),
        Wrong("loop_to_N", "The loop over k goes to N; A has K columns.", (("k < K", "k < N"),)),
        Wrong("A_at_col", "A is read in column col. Along the sum k moves on in A, too: A[row * K + k].",
              (("A[row * K + k]", "A[row * K + col]"),)),
        Wrong("k_for_K", "In A the row is multiplied by the small k, which says where the sum is. A row of A is K "
              "floats long: A[row * K + k].",
              (("A[row * K + k]", "A[row * k + k]"),)),
        Wrong("A_added", "Row and column are added. There are row whole rows of K floats before element (row, k): "
              "A[row * K + k].", (("A[row * K + k]", "A[row + k]"),)),
        Wrong("A_by_columns", "A is read at row k and column row; it must be row row and column k: A[row * K + k].",
              (("A[row * K + k]", "A[k * K + row]"),)),
        Wrong("B_traded", "B is read at row col and column k; it must be row k and column col: B[k * N + col].",
              (("B[k * N + col]", "B[col * N + k]"),)),
        Wrong("C_added", "Row and column are added, so that many threads store in the same place: C[row * N + col].",
              (("C[row * N + col]", "C[row + col]"),)),
        Wrong("C_width_K", "C is written as if its rows were K elements long; they are N long: C[row * N + col].",
              (("C[row * N + col]", "C[row * K + col]"),)),
        Wrong("pitch_of_C", "C is written as if its rows were M elements long; they are N long: C[row * N + col]."),
        Wrong("adds_to_C", slips.sentence("C_added_to_C")),
    ),
)  # fmt: skip

BETA = Blank(
    **texts.of("02", "beta"),
    difficulty=2,
    problem=Gemm("sgemm", BLOCK, BLOCK, Tiles(BM=8, BN=16), rows_along="x"),
    picture=ThreadMapOf("C", Case({"M": 19, "N": 37, "K": 3}), "your kernel", thread=5),
    wrong=(
        Wrong("no_guard", NO_ELEMENT),
        Wrong("one_too_many", "Rows are 0 to M - 1 and columns 0 to N - 1: a thread whose row is M, or whose column is "
              "N, has no element, either. Ask for >=, not for >.", text=r">\s*[MN]\b"),
        Wrong("guard_with_and", "A thread is outside of C if its row is M or more, or if its column is N or more: one "
              "of the two is enough: ||, not &&.", text="&&"),
        Wrong("guard_swapped", slips.GUARD_SWAPPED),
        Wrong("in_the_loop", "beta · C is added in every iteration of the loop, K times, and then multiplied by alpha: "
              "it belongs after the loop."),
        Wrong("beta_ignored", slips.sentence("beta_ignored")),
        Wrong("reads_always", slips.OLD_C_READ),
        Wrong("beta_is_1", slips.sentence("beta_taken_for_1")),
        Wrong("alpha_on_both", slips.sentence("alpha_on_both")),
        Wrong("product_lost", slips.sentence("nothing_added")),
    ),
)  # fmt: skip
