"""Exercises of notebook 15, tensor cores: who holds which element, products by WMMA and by fragments, ldmatrix."""

from __future__ import annotations

import numpy as np

from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.functions import Case as Call, FunctionExercise, Version, judged
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import BankBoardOf, ThreadMapOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import WrongValue
from helpers.pictures.bank_board.facts import SharedAccess
from helpers.pictures.bank_board.figure import bank_board_figure

# --- who holds which element

_SIGNATURE = "def element_of_a(lane, register):"
EMPTY = Version(
    "starter",
    f"""{_SIGNATURE}
    # 1. Eight groups of four lanes: which group is the lane in, and which place has it there?
    # 2. Registers 0 and 1 are in rows group and group + 8; so are registers 2 and 3.
    # 3. Registers 0 and 1 are at k = place, registers 2 and 3 at k = place + 4.
    # 4. The number of the element: row * 8 + k.
    return None""",
)
WRITTEN = Version(
    "solution",
    f"""{_SIGNATURE}
    group, place = lane // 4, lane % 4
    row = group + register % 2 * 8
    k = place + register // 2 * 4
    return row * 8 + k""",
)
MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (WRITTEN.replace(name, *changes), because)
    for name, changes, because in (
        ("rows_last", [("register % 2 * 8", "register // 2 * 8"), ("register // 2 * 4", "register % 2 * 4")],
         "The registers go through k first and through the rows last: register 1 is in row group + 8, at the same k."),
        ("groups_of_eight", [("lane // 4, lane % 4", "lane // 8, lane % 8")],
         "A group has four lanes: lane 4 begins the next row."),
        ("turned", [("lane // 4, lane % 4", "lane % 8, lane // 8")],
         "Neighbouring lanes are neighbours in k, and not in the rows."),
        ("neighbours", [("place + register // 2 * 4", "2 * place + register // 2")],
         "A lane's elements in a row are four k apart. Neighbours in a row belong to neighbouring lanes."),
        ("rows_together", [("group + register % 2 * 8", "2 * group + register % 2")],
         "A lane's rows are 8 apart: group and group + 8."),
        ("columns_first", [("row * 8 + k", "k * 16 + row")], "The elements are numbered row by row, 8 to a row."),
    )
)  # fmt: skip


def judge_map(function) -> Verdict:
    """The function against all 32 lanes and 4 registers."""
    cases = [
        Call((lane, register), WRITTEN(lane, register), f"lane {lane}, register a{register}",
             f"it holds row {WRITTEN(lane, register) // 8}, k = {WRITTEN(lane, register) % 8}, "
             f"which is number {WRITTEN(lane, register)}")
        for register in range(4) for lane in range(32)
    ]  # fmt: skip
    return judged(function, cases, MISTAKES, "All 32 lanes and all 128 elements: each element is held exactly once.")


FRAGMENT_MAP = FunctionExercise(
    **texts.of("15", "fragment_map"),
    difficulty=2,
    variable="element_of_a",
    starter=EMPTY,
    solved=WRITTEN,
    because="A lane's group is its row and its place is its k; the first bit of the register adds 8 rows, the second "
    "one 4 to k.",
    judge=judge_map,
    wrong=tuple(WrongValue(wrong, because) for wrong, because in MISTAKES),
)  # fmt: skip

# --- a product by WMMA, and one by fragments

WARP_PRODUCT = Blank(
    **texts.of("15", "warp_product"),
    difficulty=1,
    problem=Gemm("sgemm", (32,), (16, 16), Tiles(BM=16, BN=16, BK=16), scaled=False,
                 shapes=((16, 32, 48), (48, 16, 32), (32, 48, 16))),
    picture=ThreadMapOf("C", Case({"M": 16, "N": 16, "K": 16}), "Who stores which element of C"),
    goals=(goals.products_by_tensor_cores("HMMA"),),
    judged=Case({"M": 16, "N": 16, "K": 32}),
    wrong=(
        Wrong("no_first_barrier", "Lanes load fragments of what other lanes have stored: wait for them first."),
        Wrong("bytes", "The length of a row is counted in elements, 16, not in their 32 bytes."),
        Wrong("swapped", "The fragments have changed places: a is loaded from the tile of B and b from the tile of A, "
              "and a product of matrices depends on the order."),
        Wrong("restarts", "The sums begin again in every iteration: what is left is the product of the last tiles."),
        Wrong("rows_of_16", "A row of C is N floats long, and rows of 16 are stored one after the other."),
        Wrong("transposed", "The sums are stored column by column. C is row-major: wmma::mem_row_major."),
    ),
)  # fmt: skip

FRAGMENTS = Blank(
    **texts.of("15", "fragments"),
    difficulty=2,
    problem=Gemm("sgemm", (32,), (16, 8), Tiles(BM=16, BN=8, BK=8), scaled=False,
                 shapes=((16, 24, 8), (32, 8, 24), (48, 16, 32))),
    picture=ThreadMapOf("C", Case({"M": 16, "N": 8, "K": 8}), "Who stores which element of C"),
    goals=(goals.products_by_tensor_cores("HMMA"),),
    judged=Case({"M": 16, "N": 8, "K": 16}),
    wrong=(
        Wrong("rows_last", "Registers 1 and 2 of A have changed places: register 1 is in row group + 8, the same k."),
        Wrong("neighbours", "A lane's elements of A in a row are four k apart, not neighbours."),
        Wrong("b_turned", "In B a lane's group is its column and its place its k; here it is the other way round."),
        Wrong("b_neighbours", "A lane's two elements of B are four k apart, as its elements of A are, not neighbours."),
        Wrong("rows_first", "Sums 1 and 2 have changed places: sum 1 is the next column in row group, and sum 2 begins "
              "row group + 8."),
        Wrong("stored_like_a", "The sums are not held as A is: a lane has two neighbours in row group, and two in row "
              "group + 8."),
        Wrong("a_turned", "In A a lane's group is its row and its place its k; here it is the other way round.",
              (("tile_row + group + n % 2 * 8, k = k0 + place + n / 2 * 4",
                "tile_row + place + n % 2 * 8 + n / 2 * 4, k = k0 + group"),)),
        Wrong("c_turned", "The transpose of each half of a tile is stored, 8 x 8 elements: a lane's sums are two "
              "neighbours in a row, not two rows of one column.",
              (("tile_row + group + n / 2 * 8, col = tile_col + place * 2 + n % 2",
                "tile_row + place * 2 + n % 2 + n / 2 * 8, col = tile_col + group"),)),
        Wrong("c_four_apart", "A lane's two sums of a row are neighbours, 2 * place and the next, and not four "
              "columns apart as its elements of A are.",
              (("col = tile_col + place * 2 + n % 2", "col = tile_col + place + n % 2 * 4"),)),
        Wrong("a_without_k0", "Every iteration multiplies the first 8 columns of A again: add k0 to their k.",
              (("k = k0 + place + n / 2 * 4", "k = place + n / 2 * 4"),)),
        Wrong("b_without_k0", "Every iteration multiplies the first 8 rows of B again: add k0 to their k.",
              (("B[(k0 + place + n * 4)", "B[(place + n * 4)"),)),
        Wrong("b_first_tile", "Every block reads the first 8 columns of B: add tile_col to the column.",
              (("* N + tile_col + group]", "* N + group]"),)),
        Wrong("a_first_tile", "Every block reads the first 16 rows of A: add tile_row to the row.",
              (("const int row = tile_row + group + n % 2 * 8, k", "const int row = group + n % 2 * 8, k"),)),
    ),
)  # fmt: skip

# --- rows for ldmatrix

NOT_IN_CHUNKS = (
    "Not every address is a multiple of 16 bytes: place counts chunks of eight elements, so its element is "
    "place(…) * 8."
)
IN_BYTES = "As counts elements, of which a chunk of 16 bytes has eight: place(…) * 8, and not * 16."
K_IS_NO_CHUNK = "k counts elements, and eight of them are a chunk: the step at k begins with chunk k / 8."
OWN_ELEMENTS = (
    "Here a lane names what it will receive. It should name a whole row of 16 bytes, whichever lane receives it: the "
    "instruction hands its elements to the lanes."
)
LEAVES_THE_ROW = "A row has four chunks, and a place behind 3 is in the next row. Two bits of the row must be enough."
TWO_ROWS = "Two rows fill all 32 banks: a row and the one two further need different orders."
BY_HAND = (
    "Right, but every lane loads its own pairs, four loads of a warp where one ldmatrix does. Name rows to "
    "load_matrices."
)

MATRIX_ROWS = Blank(
    **texts.of("15", "matrix_rows"),
    difficulty=2,
    problem=Gemm("sgemm", (32,), (16, 8), Tiles(BM=16, BN=8, BK=32), scaled=False,
                 shapes=((16, 24, 32), (32, 8, 96), (48, 16, 64))),
    picture=BankBoardOf(Case({"M": 16, "N": 8, "K": 32}), "ldmatrix in your kernel", op="ldsm"),
    goals=(goals.conflicts("ldsm"), goals.shared_bytes(1024), goals.loads_without_ldmatrix()),
    judged=Case({"M": 16, "N": 8, "K": 64}),
    wrong=(
        Wrong("k_first", "Matrices 1 and 2 have changed places: lanes 8 to 15 name rows 8 to 15 of the same chunk, and "
              "the next chunk begins at lane 16."),
        Wrong("neighbours", "Neighbouring lanes name neighbouring rows, not the two chunks of one row: lanes 0 to 7 "
              "are the eight rows of matrix 0. (Only lanes 0 and 31 name the right one.)"),
        Wrong("one_matrix", "All 32 lanes name rows of matrix 0. With .x4 lanes 8 to 15 name those of matrix 1, and so "
              "on."),
        Wrong("own_row", "Each lane names the row that it will receive from. Lane i names row i % 8 of matrix i / 8, "
              "whichever lane receives its elements."),
        Wrong("own_elements", OWN_ELEMENTS),
        Wrong("first_half", "Both steps multiply the first 16 k of the tile: chunk begins at k / 8."),
        Wrong("store_only", "The chunks are stored where place says, and looked for where they were before: the "
              "address for ldmatrix goes through place, too."),
        Wrong("element", NOT_IN_CHUNKS),
        Wrong("plain_element", NOT_IN_CHUNKS),
        Wrong("bytes", IN_BYTES),
        Wrong("plain_bytes", IN_BYTES),
        Wrong("k_as_chunk", K_IS_NO_CHUNK),
        Wrong("plain_k_as_chunk", K_IS_NO_CHUNK),
        Wrong("by_hand", BY_HAND),
        Wrong("plain_by_hand", BY_HAND),
        Wrong("plain", "Right, but every row keeps its chunks in the same order: rows 0, 2, 4 and 6 of a matrix begin "
              "in one bank, and ldmatrix takes four times as many wavefronts as it needs."),
        Wrong("low_bits", "Right, but row % 4 gives rows 0 and 4 the same order, and rows 0 and 1 different ones, "
              f"which they do not need. {TWO_ROWS}"),
        Wrong("one_bit", f"Right, but row % 2 is the same for rows 0, 2, 4 and 6, which meet in the banks. {TWO_ROWS}"),
        Wrong("by_fours", f"Right, but row / 4 is the same for rows 0 and 2, and for rows 4 and 6. {TWO_ROWS}"),
        Wrong("eight_chunks", LEAVES_THE_ROW),
        Wrong("not_folded", LEAVES_THE_ROW),
        Wrong("joined", "An or puts several chunks of a row at one place, and they overwrite each other. An exclusive "
              "or gives each a place of its own."),
        Wrong("padded", "Padding cures the conflicts, too, but costs 256 bytes that the permutation does not need."),
    ),
)  # fmt: skip


ROW_BYTES = 64  # of a tile with 32 k of float16
_LANES = np.arange(32, dtype=np.int64)
ONE_MATRIX = SharedAccess("load of one matrix by ldmatrix", "ld", 16, _LANES * ROW_BYTES, _LANES < 8, "A")


def predict_conflicts() -> Prediction:
    """Wavefronts of one matrix of ldmatrix from rows of 64 bytes. The answer is the rule's that the counters follow."""
    return predict(
        "Wavefronts for one matrix, 8 rows of 16 bytes, from a tile whose rows are 64 bytes long:",
        reasons={
            1: "Then the eight chunks would lie in different banks. Two rows fill all 32: where does row 2 begin?",
            2: "Only rows 0 and 1 begin in different banks. There are eight rows.",
            4: "Rows 0, 2, 4 and 6 begin in bank 0, the others in bank 16: four rows wait for each other.",
            8: "That is one wavefront for each row. Rows 0 and 1 lie in different banks, though.",
        },
        answer=ONE_MATRIX.wavefronts,
        picture=lambda: bank_board_figure(ONE_MATRIX, "One matrix from rows of 64 bytes"),
    )


PREDICTIONS = (predict_conflicts,)
QUESTIONS = ()
EXERCISES = (FRAGMENT_MAP, WARP_PRODUCT, FRAGMENTS, MATRIX_ROWS)
