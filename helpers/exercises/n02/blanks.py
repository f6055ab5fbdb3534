"""What the learner writes in notebook 02: the first matrix multiplication, one thread for each element."""

from __future__ import annotations

from helpers.exercises.framework import slips
from helpers.exercises.framework.blank import NEVER_SET, Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import ThreadMapOf
from helpers.exercises.framework.problems import Case

BLOCK = (8, 16)  # rows and columns of C: the two differ, so that a mix-up of x and y shows

NAIVE = Blank(
    name="naive",
    notebook="02",
    title="Write it: one thread, one element",
    difficulty=1,
    task="Write a kernel in which every thread computes one element of C = A · B. It is launched with blocks of 8 × 16 "
    "threads and with exactly as many threads as C has elements: x is the row index, y is the column index. A has M "
    "rows of K floats, B has K rows of N floats, C has M rows of N floats.",
    hints=(
        "Notebook 00 computed one index from blockIdx.x, blockDim.x and threadIdx.x. Here you need two: one from the x "
        "members and one from the y members.",
        "Element (row, col) of a matrix whose rows are W floats long lies at row * W + col. Start a float at 0, and in "
        "a loop over k add the product of one element of A and one element of B. Which of their indices does k take?",
        "int row = blockIdx.x * blockDim.x + threadIdx.x, and col likewise from y; then add up "
        "A[row * K + k] * B[k * N + col] for k from 0 to K - 1. What is left is to store the sum in C.",
    ),
    problem=Gemm(
        "sgemm", BLOCK, BLOCK, scaled=False, rows_along="x", shapes=((16, 48, 24), (8, 16, 5), (32, 16, 7), (24, 32, 1))
    ),
    picture=ThreadMapOf("C", Case({"M": 16, "N": 48, "K": 4}), "your kernel"),
    wrong=(
        Wrong("swapped", "x and y trade places: here x is the row index and y is the column index."),
        Wrong("without_block", "Every block computes the same corner of C: where a block begins, blockIdx times "
              "blockDim, is missing."),
        Wrong("block_alone", "All threads of a block compute the same element: threadIdx is missing."),
        Wrong("grid_for_block", "A block begins at blockIdx · blockDim. gridDim counts blocks, not threads."),
        Wrong("pitch_of_A", slips.sentence("A_width_N")),
        Wrong("pitch_of_B", slips.sentence("B_width_K")),
        Wrong("rows_of_B", slips.sentence("B_transposed")),
        Wrong("one_short", slips.sentence("first_k_missing")),
        Wrong("last_product", slips.sentence("only_last_k")),
        Wrong("sum_in_int", "The sum is an int: every addition cuts off what stands after the decimal point. Make it "
              "a float."),
        Wrong("never_set", NEVER_SET),
        Wrong("pitch_of_C", "C is written as if its rows were M elements long; they are N long: C[row * N + col]."),
        Wrong("adds_to_C", slips.sentence("C_added_to_C")),
    ),
)  # fmt: skip
