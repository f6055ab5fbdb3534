"""Exercises of notebook 08, bank conflicts: wavefronts by hand, padding, a transposition, a swizzle."""

from __future__ import annotations

import numpy as np

from gemm_kernels import OwnKernel
from gpusim import counting
from helpers.exercises.framework import goals, slips, texts
from helpers.exercises.framework.answers import Slip, check_number
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.maps import MapInputs, MatrixMap
from helpers.exercises.framework.pictures import BankBoardOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.bank_board.facts import places

# --- wavefronts by hand: lane i stores one float to row i % DOWN, column i // DOWN of a tile with rows of PITCH floats

DOWN, PITCH = 8, 72
_WORDS = np.arange(32) % DOWN * PITCH + np.arange(32) // DOWN
WAVEFRONTS = int(counting.wavefronts(4 * _WORDS[None, :].astype(np.int64), np.ones((1, 32), bool), 4)[0])
BECAUSE_WAVEFRONTS = (
    f"Row r begins in bank {PITCH} · r % 32, which is {PITCH % 32} · r % 32: the rows r and r + {32 // (PITCH % 32)} "
    "begin in the same bank, and no third one does."
)
WAVEFRONT_SLIPS = (
    Slip(1, "That needs 32 lanes in 32 different banks. In which banks do rows 0 and 4 begin?"),
    Slip(8, "All rows would begin in the same bank if their length were a multiple of 32; 72 is not."),
    Slip(4, "The four columns of a row lie in neighbouring banks; they do not wait for each other."),
    Slip(32, "That is one wavefront for each lane, as if all words were in one bank."),
    Slip(16, "That is how many lanes are served in each wavefront. How many wavefronts are there then?"),
    Slip(3, "Count the lanes of the busiest bank: how many rows begin there?"),
)

WAVEFRONTS_BY_HAND = ValueExercise(
    **texts.of("08", "wavefronts_by_hand"),
    difficulty=1,
    variable="my_answer",
    starter=None,
    solved=WAVEFRONTS,
    because=BECAUSE_WAVEFRONTS,
    judge=lambda answer: check_number(
        answer, WAVEFRONTS, unit="wavefronts", because=BECAUSE_WAVEFRONTS, slips=WAVEFRONT_SLIPS
    ),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in WAVEFRONT_SLIPS),
)  # fmt: skip


# --- padding

BM, BN, BK = 64, 32, 8
ONE_TILE = Case({"M": BM, "N": BN, "K": BK})

NOT_A_MULTIPLE_OF_FOUR = (
    "A row must be a multiple of four floats long: the 128-bit load of a fragment needs an address that is a multiple "
    "of 16 bytes, in every row."
)

PADDING = KernelExercise(
    **texts.of("08", "padding"),
    difficulty=1,
    problem=Gemm("sgemm_padding", (128,), (BM, BN), Tiles(BM=BM, BN=BN, BK=BK, TM=4, TN=4)),
    picture=BankBoardOf(ONE_TILE, "your kernel", op="st"),
    goals=(goals.conflicts("st"), goals.shared_bytes(3200)),
    judged=ONE_TILE,
    wrong=(
        Wrong("starter", "A row of 64 floats is twice the 32 banks, so that all eight rows begin in bank 0."),
        Wrong("one", NOT_A_MULTIPLE_OF_FOUR),
        Wrong("two", NOT_A_MULTIPLE_OF_FOUR),
        Wrong("eight", "With eight floats the rows begin 8 banks apart: rows 0 and 4 meet in bank 0."),
        Wrong("twelve", "Right, but it takes more memory than needed: rows may begin 12 banks apart, and 4 are enough.",
              (("#define PAD 4", "#define PAD 12"),)),
        Wrong("sixteen", "With sixteen floats the rows begin 16 banks apart: rows 0, 2, 4 and 6 meet in bank 0.",
              (("#define PAD 4", "#define PAD 16"),)),
        Wrong("whole_row_of_banks", "32 floats are one whole row of banks: every row still begins in bank 0."),
    ),
)  # fmt: skip


# --- a transposition

TRANSPOSE_CASE = Case({"M": 64, "N": 96})


def _transposed(i: MapInputs) -> np.ndarray:
    return i.source.T


ROWS_OF_32 = (
    "Rows of 32 floats: lane x and lane x + 1 read words that are 32 apart, all of them in one bank. (Another row at "
    "the end changes nothing: it is the length of a row that decides where the next one begins.)"
)

TRANSPOSE_TILE = KernelExercise(
    **texts.of("08", "transpose_tile"),
    difficulty=1,
    problem=MatrixMap(
        "transpose",
        tuple(Case({"M": M, "N": N}) for M, N in ((32, 64), (64, 32), (35, 70), (70, 35), (1, 40), (33, 1), (1, 1))),
        _transposed,
        block=(32, 8),
        block_tile=(32, 32),
        transposed=True,
    ),
    picture=BankBoardOf(TRANSPOSE_CASE, "your kernel", op="ld"),
    goals=(goals.conflicts(), goals.load_sectors(768), goals.store_sectors(768)),
    judged=TRANSPOSE_CASE,
    wrong=(
        Wrong("starter", ROWS_OF_32),
        Wrong("wrong_end", ROWS_OF_32),
        Wrong("four_apart", "Four unused floats put neighbouring rows four banks apart: lanes x, x + 8, x + 16 and x + "
              "24 meet.", (("T][T + 1]", "T][T + 4]"),)),
        Wrong("even_pad", "Two unused floats put neighbouring rows two banks apart: lanes x and x + 16 meet."),
        Wrong("uncoalesced", "The conflicts are gone because the lanes now read along the tile's rows, but they store "
              "down a column of B, whose elements lie M floats apart."),
        Wrong("no_barrier", "Lanes read what other warps have loaded: wait for them with __syncthreads()."),
        Wrong("not_transposed", "The tile is stored as it was loaded, tile[y][x]: tiles trade places, their elements "
              "do not. Lane x of row y must store tile[x][y]."),
        Wrong("pitch_N", "A row of B is M elements long: B[row * M + col]."),
        Wrong("block_not_transposed", "The tile at blockIdx (x, y) of A belongs to row blockIdx.x and column "
              "blockIdx.y of the tiles of B."),
    ),
)  # fmt: skip


# --- a swizzle

SAME_PLACE = (
    "A row has the same place for all eight k, and these places are whole rows of the tile apart, so in the same "
    "bank. Each k needs another place."
)

SWIZZLE = KernelExercise(
    **texts.of("08", "swizzle"),
    difficulty=2,
    problem=Gemm("sgemm_swizzle", (128,), (BM, BN), Tiles(BM=BM, BN=BN, BK=BK, TM=4, TN=4)),
    picture=BankBoardOf(ONE_TILE, "your kernel", op="st"),
    goals=(goals.conflicts("st"), goals.shared_bytes(3072)),
    judged=ONE_TILE,
    wrong=(
        Wrong("starter", SAME_PLACE),
        Wrong("same_for_all_k", SAME_PLACE),
        Wrong("by_one", "An exclusive or with k alone shuffles eight neighbours among themselves: they share eight "
              "banks where 32 are free."),
        Wrong("by_eight", "8 · k runs through 0, 8, … 56, of which the bank is 0, 8, 16, 24, 0, …: two k meet in a "
              "bank."),
        Wrong("folded", "row & ~(4 * k) keeps several rows at one place: they overwrite each other. An exclusive or "
              "with 4 * k gives every row a place of its own."),
        Wrong("or", "An or with 4 * k keeps several rows at one place: they overwrite each other. An exclusive or "
              "gives every row a place of its own.", (("row ^ (4 * k)", "row | (4 * k)"),)),
        Wrong("reversed", SAME_PLACE, (("row ^ (4 * k)", "63 - row"),)),
        Wrong("added", "row + 4 * k leaves the row of As where row is large: each k begins four places further, and "
              "the last rows of k = 7 lie beyond the end of As."),
        Wrong("store_only", "The store goes through place, the load does not: it reads other rows than were stored."),
        Wrong("padded", "Padding cures the conflicts, too, but costs 128 bytes that the swizzle does not need."),
    ),
)  # fmt: skip


TURNED = Blank(
    **texts.of("08", "turned"),
    difficulty=1,
    problem=Gemm("sgemm", (16, 16), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=4, TN=4), scaled=False,
                 shapes=((64, 128, 24), (128, 192, 8), (64, 64, 16))),
    picture=BankBoardOf(Case({"M": 64, "N": 64, "K": 8}), "your kernel", op="ld"),  # its stores are to be predicted
    goals=(goals.shared_loads_per_fma(0.14), goals.neighbours_read(4), goals.floats_loaded(2048)),
    judged=Case({"M": 64, "N": 64, "K": 16}),
    before="patch",
    wrong=(
        Wrong("as_before", "Right, but the A tile is as it was in notebook 06: the neighbours of an element are other "
              "k of its row. Keep k as the first index, As[k][row], so that the four rows are neighbours.",
              (("As[BK][BM]", "As[BM][BK]"), ("As[i % BK][i / BK]", "As[i / BK][i % BK]"),
               ("As[k][row + i]", "As[row + i][k]"))),
        Wrong("no_second_barrier", "A warp that is done may load the next tiles while others still read these: a "
              "barrier belongs at the end of the loop, too."),
        Wrong("not_turned", "As is filled as if it were not transposed: the first index is k, the second the row."),
        Wrong("turned_twice", "The place in As is right, but the element of A is another one: element i is in row "
              "i / BK of the tile, at k = i % BK."),
        Wrong("half", "256 threads load 256 elements, and the tile has 512: each thread must load two."),
        Wrong("wrong_column", "The fragment a is taken from As[k][col …]; the patch's rows begin at `row`."),
        Wrong("same_element", slips.sentence("one_row_of_A")),
        Wrong("rows_apart", "The patch has four rows that are neighbours, row … row + 3; these are 16 apart."),
    ),
)  # fmt: skip


TWO_GROUPS = Blank(
    **texts.of("08", "two_groups"),
    difficulty=2,
    problem=Gemm("sgemm", (8, 8), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=8, TN=8), scaled=False,
                 shapes=((64, 128, 24), (128, 192, 8), (64, 64, 16))),
    picture=BankBoardOf(Case({"M": 64, "N": 64, "K": 8}), "your kernel", op="ld"),
    goals=(goals.conflicts("ld"), goals.floats_loaded(2048)),
    judged=Case({"M": 64, "N": 64, "K": 16}),
    before="turned",
    wrong=(
        Wrong("neighbours", "The two groups of a thread lie side by side, so lanes begin eight floats apart, and lane "
              "4 is back at the banks of lane 0."),
        Wrong("groups_overlap", "The right group of a thread begins where the left one of the next thread does: "
              "columns are computed twice, and others never. It must begin half a tile further, at left + BN / 2.",
              text=r"right = .*(?:left|threadIdx)"),
        Wrong("halves", "A group has four columns: the left group of thread x begins at column x * 4."),
        Wrong("left_twice", "The floats b[4] to b[7] are taken from the left group again.", text=r"\[left \+"),
        Wrong("b_side_by_side", "The floats b[4] to b[7] are those beside the left group; they must come from the "
              "right one, where the thread stores."),
        Wrong("a_at_column", "The floats of A are taken at the columns of the patch; its rows begin at `row`."),
        Wrong("replaced", "Only the last product is there: each k replaces the sum instead of adding to it."),
        Wrong("stored_side_by_side", "The right group is computed for columns that begin at `right`, but stored beside "
              "the left one."),
        Wrong("right_not_stored", "The right group is computed and never stored: sums[i][4 + j] belongs to column "
              "right + j.",
              (("C[(tile_row + row + i) * N + tile_col + right + j] = sums[i][4 + j];", ""),)),
        Wrong("left_not_stored", "The left group is computed and never stored: sums[i][j] belongs to column left + j.",
              (("C[(tile_row + row + i) * N + tile_col + left + j] = sums[i][j];", ""),)),
        Wrong("groups_traded", "The left group is stored at the columns of the right one, and the other way round."),
    ),
)  # fmt: skip


def predict_store() -> Prediction:
    """Wavefronts that a warp's store to the transposed A tile takes. The answer comes from a recording."""
    problem = TURNED.problem
    launch = bank_board.shown(
        OwnKernel(TURNED.solved, problem.entry, problem.block, problem.tile, problem.tiles.BK or 1, scaled=False)
    )
    accesses = places(launch)
    store = next(access for access in accesses if access.name == "store to As")
    return predict(
        "Wavefronts for one store of a warp to the transposed A tile:",
        reasons={
            1: "That needs all 32 words to lie in different banks. In which banks do the 8 rows of As begin?",
            4: "That is the number of neighbouring floats in each row of As. They lie in neighbouring banks.",
            8: "All rows begin in bank 0, because 64 is a multiple of 32: each of four banks has 8 words to store.",
            32: "That needs all words to lie in one bank, but the four floats of a row lie in four banks.",
        },
        answer=accesses[store][0].wavefronts,
        picture=lambda: bank_board.picture_of(launch, store),
    )


PREDICTIONS = (predict_store,)
QUESTIONS = ()
EXERCISES = (TURNED, WAVEFRONTS_BY_HAND, PADDING, SWIZZLE, TWO_GROUPS, TRANSPOSE_TILE)
