"""Known slips of matrix multiplications, as formulas: what C would hold after exactly this mistake.

A slip is one of three: another product than A·B, another epilogue than alpha·P + beta·C, or a store that does not reach
all of C. A diagnosis is a slip, or one of each of two kinds, that reproduces all of C in every launch, bit for bit. The
matrices hold so few different numbers that all sums are exact (`problems`), so the order of summation does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from helpers.exercises.framework.problems import NotApplicable


@dataclass(frozen=True)
class Tiles:
    """The tile sizes that slips may concern, None where a kernel has none: BM, BN of a block's tile of C, BK its depth,
    TM, TN of a thread's patch."""

    BM: int | None = None
    BN: int | None = None
    BK: int | None = None
    TM: int | None = None
    TN: int | None = None


@dataclass(frozen=True, eq=False)
class Inputs:
    """A (M, K), B (K, N), C (M, N) in float64 as a launch finds them, its scalars, and the kernel's tiles."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    alpha: float
    beta: float
    tiles: Tiles

    @property
    def M(self) -> int:
        return self.A.shape[0]

    @property
    def N(self) -> int:
        return self.B.shape[1]

    @property
    def K(self) -> int:
        return self.A.shape[1]


class LeavesArrays(Exception):
    """Here the slip would not give wrong values but read outside the arrays."""


Product = Callable[[Inputs], np.ndarray]
Epilogue = Callable[[Inputs, np.ndarray], np.ndarray]
Store = Callable[[Inputs, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Slip:
    """name: for metadata and tests.  sentence: what the mistake is and where to look for it.  row_major: it exists only
    for row-major matrices."""

    name: str
    sentence: str
    formula: Product | Epilogue | Store
    row_major: bool = False


def product(i: Inputs) -> np.ndarray:
    """What is right: A·B."""
    return i.A @ i.B


def epilogue(i: Inputs, P: np.ndarray) -> np.ndarray:
    """What is right: alpha·P + beta·C, C not read with beta = 0."""
    return i.alpha * P + (i.beta * i.C if i.beta else 0.0)


def store(i: Inputs, value: np.ndarray) -> np.ndarray:
    """What is right: every element of C is written."""
    return value


# --- products -------------------------------------------------------------------------------------------------------


def _some_k(choose: Callable[[Inputs, np.ndarray], np.ndarray]) -> Product:
    """A·B with each k counted as often as `choose` says, given 0 … K − 1."""

    def formula(i: Inputs) -> np.ndarray:
        return (i.A * choose(i, np.arange(i.K))) @ i.B

    return formula


def _needs(size: int | None) -> int:
    """A tile size, or NotApplicable for a kernel without one, or with one that makes no difference."""
    if size is None or size < 2:
        raise NotApplicable
    return size


def _BK(i: Inputs) -> int:
    return _needs(i.tiles.BK)


def _last_tile_of_k(i: Inputs, k: np.ndarray) -> np.ndarray:
    return k // _BK(i) == (i.K - 1) // _BK(i)


def _gathered(flat: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Elements of an array by linear index; a slip that leaves the array is reported as such, not by its values."""
    if index.max() >= flat.size:
        raise LeavesArrays
    return flat.reshape(-1)[index]


def _axes(i: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """row (M, 1, 1), col (1, N, 1), k (1, 1, K)"""
    return np.arange(i.M)[:, None, None], np.arange(i.N)[None, :, None], np.arange(i.K)[None, None, :]


def _indexed(a: Callable[..., np.ndarray] | None = None, b: Callable[..., np.ndarray] | None = None) -> Product:
    """The sum over k of two elements by linear index. a, b: (inputs, row, col, k) -> index; None for the right one."""

    def formula(i: Inputs) -> np.ndarray:
        row, col, k = _axes(i)
        index_a = row * i.K + k if a is None else a(i, row, col, k)
        index_b = k * i.N + col if b is None else b(i, row, col, k)
        return (_gathered(i.A, index_a) * _gathered(i.B, index_b)).sum(axis=2)

    return formula


def _in_tile(
    a: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None,
    b: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None,
) -> Product:
    """The sum over k of two elements of square tiles, one for each thread of a block, in which what lies outside of
    the matrices is 0. a, b: (row, col, k, side) -> (row, column) of the matrix; None for the right one."""

    def formula(i: Inputs) -> np.ndarray:
        side = _BK(i)
        if (side, side) != (i.tiles.BM, i.tiles.BN):
            raise NotApplicable
        row, col, _ = _axes(i)
        k = np.arange(-(-i.K // side) * side)[None, None, :]
        of_A = (row, k) if a is None else a(row, col, k, side)
        of_B = (k, col) if b is None else b(row, col, k, side)
        return (_or_zero(i.A, *of_A) * _or_zero(i.B, *of_B)).sum(axis=2)

    return formula


def _or_zero(matrix: np.ndarray, row: np.ndarray, col: np.ndarray) -> np.ndarray:
    """Elements of a matrix, and 0 for those that lie outside."""
    inside = (row < matrix.shape[0]) & (col < matrix.shape[1])
    return np.where(inside, matrix[np.minimum(row, matrix.shape[0] - 1), np.minimum(col, matrix.shape[1] - 1)], 0.0)


def _sum_cut_to_integer(i: Inputs) -> np.ndarray:
    """The sum after each product without what follows its point."""
    sums = np.zeros((i.M, i.N))
    for k in range(i.K):
        sums = np.trunc(sums + i.A[:, k, None] * i.B[None, k])
    return sums


def _sum_of_elements(i: Inputs) -> np.ndarray:
    return i.A.sum(axis=1)[:, None] + i.B.sum(axis=0)[None, :]


PRODUCTS: tuple[Slip, ...] = (
    Slip("nothing_added", "The product is missing.",
         lambda i: np.zeros((i.M, i.N))),
    Slip("last_k_missing", "The last product, k = K − 1, is missing: the loop over k ends one step too early.",
         _some_k(lambda i, k: k < i.K - 1)),
    Slip("first_k_missing", "The first product, k = 0, is missing: the loop over k begins one step too late.",
         _some_k(lambda i, k: k > 0)),
    Slip("only_last_k", "Only the last product is there: with each k the sum begins anew.",
         _some_k(lambda i, k: k == i.K - 1)),
    Slip("only_first_k", "Only the first product, k = 0, is there.",
         _some_k(lambda i, k: k == 0)),
    Slip("first_k_twice", "The first product, k = 0, is counted twice.", _some_k(lambda i, k: 1 + (k == 0))),
    Slip("last_k_twice", "The last product, k = K − 1, is counted twice.", _some_k(lambda i, k: 1 + (k == i.K - 1))),
    Slip("every_k_twice", "Every product is counted twice.", _some_k(lambda i, k: 2 * np.ones_like(k))),
    Slip("A_width_N", "A is read as if its rows were N elements long; they are K long: A[row * K + k].",
         _indexed(a=lambda i, row, col, k: row * i.N + k), row_major=True),
    Slip("A_width_M", "A is read as if its rows were M elements long; they are K long: A[row * K + k].",
         _indexed(a=lambda i, row, col, k: row * i.M + k), row_major=True),
    Slip("B_width_K", "B is read as if its rows were K elements long; they are N long: B[k * N + col].",
         _indexed(b=lambda i, row, col, k: k * i.K + col), row_major=True),
    Slip("B_width_M", "B is read as if its rows were M elements long; they are N long: B[k * N + col].",
         _indexed(b=lambda i, row, col, k: k * i.M + col), row_major=True),
    Slip("A_transposed", "A is read as if it were stored column by column (A[row + k * M]); it is row-major: "
         "A[row * K + k].", _indexed(a=lambda i, row, col, k: row + k * i.M), row_major=True),
    Slip("B_transposed", "B is read as if it were stored column by column (B[k + col * K]); it is row-major: "
         "B[k * N + col].", _indexed(b=lambda i, row, col, k: k + col * i.K), row_major=True),
    Slip("both_transposed", "A and B are both read as if they were stored column by column; they are row-major.",
         _indexed(lambda i, row, col, k: row + k * i.M, lambda i, row, col, k: k + col * i.K), row_major=True),
    Slip("A_by_col", "For C[r, c], A is read in row c, not in row r.",
         _indexed(a=lambda i, row, col, k: col * i.K + k)),
    Slip("B_by_row", "For C[r, c], B is read in column r, not in column c.",
         _indexed(b=lambda i, row, col, k: k * i.N + row)),
    Slip("row_col_swapped", "Rows and columns trade places where A and B are read: C[r, c] holds what belongs to "
         "C[c, r].", _indexed(lambda i, row, col, k: col * i.K + k, lambda i, row, col, k: k * i.N + row)),
    Slip("sum_not_product", "A and B are added where they should be multiplied.", _sum_of_elements),
    Slip("sum_is_an_int", "The sum is an int: after each product it is cut to a whole number. Make it a float.",
         _sum_cut_to_integer),
    Slip("product_subtracted", "The products are subtracted where they should be added.",
         lambda i: -(i.A @ i.B)),
    Slip("tail_of_k_missing", "The last k are missing where the tile's depth does not divide K: the number of tiles is "
         "rounded down, and it must be rounded up.", _some_k(lambda i, k: k < i.K // _BK(i) * _BK(i))),
    Slip("last_tile_of_k_missing", "The last tile along k is missing, whole or not: the loop over tiles ends one round "
         "too early.", _some_k(lambda i, k: ~_last_tile_of_k(i, k))),
    Slip("first_tile_of_k_missing", "The first tile along k is missing: the loop over tiles begins one round too late.",
         _some_k(lambda i, k: k >= _BK(i))),
    Slip("only_first_tile_of_k", "Only the first tile along k counts: there is no second round.",
         _some_k(lambda i, k: k < _BK(i))),
    Slip("only_last_tile_of_k", "Only the last tile along k counts: the sum starts again from 0 in every round. "
         "It must be set to 0 once, before the loop over tiles.", _some_k(_last_tile_of_k)),
    Slip("first_tile_of_k_twice", "The first tile along k is counted twice.",
         _some_k(lambda i, k: 1 + (k < _BK(i)))),
    Slip("last_tile_of_k_twice", "The last tile along k is counted twice: it is multiplied in the loop and again after "
         "it.", _some_k(lambda i, k: 1 + _last_tile_of_k(i, k))),
    Slip("last_k_of_tile_missing", "Each tile loses its last k: the loop inside the tile ends one step too early.",
         _some_k(lambda i, k: k % _BK(i) != _BK(i) - 1)),
    Slip("first_k_of_tile_missing", "Each tile loses its first k: the loop inside the tile begins one step too late.",
         _some_k(lambda i, k: k % _BK(i) != 0)),
    Slip("A_stands_still", "Every round multiplies the first tile of A: the column that is loaded does not move on by "
         "the tile's depth.",
         _indexed(a=lambda i, row, col, k: row * i.K + k % _BK(i))),
    Slip("B_stands_still", "Every round multiplies the first tile of B: the row that is loaded does not move on by the "
         "tile's depth.",
         _indexed(b=lambda i, row, col, k: k % _BK(i) * i.N + col)),
    Slip("tiles_stand_still", "Every round multiplies the first tiles of A and B: k does not move on by the tile's "
         "depth where they are loaded.",
         _indexed(lambda i, row, col, k: row * i.K + k % _BK(i), lambda i, row, col, k: k % _BK(i) * i.N + col)),
    Slip("k_moves_by_1", "From tile to tile k moves on by 1, so that most products are counted several times: it must "
         "move on by the tile's depth.", _some_k(lambda i, k: np.minimum(k + 1, _BK(i)))),
    Slip("A_of_first_block", "Every block loads its tile of A from the first rows: the row at which the block's tile "
         "begins is missing.",
         _indexed(a=lambda i, row, col, k: row % _needs(i.tiles.BM) * i.K + k)),
    Slip("B_of_first_block", "Every block loads its tile of B from the first columns: the column at which the block's "
         "tile begins is missing.",
         _indexed(b=lambda i, row, col, k: k * i.N + col % _needs(i.tiles.BN))),
    Slip("row_x_of_As", "The sum reads row x of A's tile; the thread's row is y.",
         _in_tile(a=lambda row, col, k, side: (row - row % side + col % side, k))),
    Slip("column_y_of_Bs", "The sum reads column y of B's tile; the thread's column is x.",
         _in_tile(b=lambda row, col, k, side: (k, col - col % side + row % side))),
    Slip("As_read_transposed", "A's tile is stored in one order of its two indices and read in the other: k is the "
         "second one.",
         _in_tile(a=lambda row, col, k, side: (row - row % side + k % side, k - k % side + row % side))),
    Slip("Bs_read_transposed", "B's tile is stored in one order of its two indices and read in the other: k is the "
         "first one.",
         _in_tile(b=lambda row, col, k, side: (k - k % side + col % side, col - col % side + k % side))),
    Slip("one_row_of_A", "All rows of a thread's patch hold what belongs to the first one.",
         _indexed(a=lambda i, row, col, k: (row - row % _needs(i.tiles.TM)) * i.K + k)),
    Slip("one_column_of_B", "All columns of a thread's patch hold what belongs to the first one.",
         _indexed(b=lambda i, row, col, k: k * i.N + col - col % _needs(i.tiles.TN))),
)  # fmt: skip


# --- epilogues ------------------------------------------------------------------------------------------------------


# A NaN that was read looks like one that is left where nothing is stored, so this is no formula.
OLD_C_READ = (
    "With beta = 0 the old C must not be read: it may hold NaN, and 0 · NaN is NaN. It may be read only where beta is "
    "not 0."
)

EPILOGUES: tuple[Slip, ...] = (
    Slip("beta_ignored", "The old C is lost: beta · C is missing.", lambda i, P: i.alpha * P),
    Slip("alpha_ignored", "alpha is missing: the product must be multiplied by it.",
         lambda i, P: P + (i.beta * i.C if i.beta else 0.0)),
    Slip("scalars_ignored", "alpha and beta are both missing: C is the bare product.", lambda i, P: P),
    Slip("alpha_twice", "alpha is applied twice.",
         lambda i, P: i.alpha * i.alpha * P + (i.beta * i.C if i.beta else 0.0)),
    Slip("alpha_on_both", "alpha multiplies beta · C, too: it belongs to the product alone.",
         lambda i, P: i.alpha * (P + (i.beta * i.C if i.beta else 0.0))),
    Slip("beta_on_both", "beta multiplies the product, too: it belongs to the old C alone.",
         lambda i, P: i.beta * (i.alpha * P + (i.C if i.beta else 0.0))),
    Slip("alpha_beta_swapped", "alpha and beta trade places.",
         lambda i, P: i.beta * P + (i.alpha * i.C if i.beta else 0.0)),
    Slip("cut_to_integer", "The result is cut to a whole number: it passes through a variable of type int.",
         lambda i, P: np.trunc(epilogue(i, P))),
    Slip("beta_taken_for_1", "The old C is added as it is: beta is missing.", lambda i, P: i.alpha * P + i.C),
    Slip("beta_left_out", "The old C is added without beta: it must be multiplied by it.",
         lambda i, P: i.alpha * P + (i.C if i.beta else 0.0)),
    Slip("beta_negated", "beta · C is subtracted where it should be added.",
         lambda i, P: i.alpha * P - (i.beta * i.C if i.beta else 0.0)),
    Slip("C_added_to_C", "The result is added to the old C: it must replace it.",
         lambda i, P: i.C + epilogue(i, P)),
)  # fmt: skip


# --- stores ---------------------------------------------------------------------------------------------------------


def _only(chosen: Callable[[Inputs, np.ndarray, np.ndarray], np.ndarray]) -> Store:
    """Only the elements that `chosen` says are written, given row (M, 1) and col (1, N)."""

    def formula(i: Inputs, value: np.ndarray) -> np.ndarray:
        return np.where(chosen(i, np.arange(i.M)[:, None], np.arange(i.N)[None, :]), value, i.C)

    return formula


def _column_by_column(i: Inputs, value: np.ndarray) -> np.ndarray:
    return value.T.reshape(i.M, i.N)


def _flipped_patch(i: Inputs, value: np.ndarray) -> np.ndarray:
    """Every thread stores its patch with y and x traded."""
    if i.tiles.TM != i.tiles.TN:
        raise NotApplicable
    T = _needs(i.tiles.TM)
    row, col = np.arange(i.M)[:, None], np.arange(i.N)[None, :]
    from_row, from_col = row - row % T + col % T, col - col % T + row % T
    inside = (from_row < i.M) & (from_col < i.N)
    flipped = value[np.minimum(from_row, i.M - 1), np.minimum(from_col, i.N - 1)]
    return np.where(inside, flipped, epilogue(i, np.zeros((i.M, i.N))))  # sums of rows and columns that are zeros


# Threads beside the matrices get past such a guard, so this is no formula.
GUARD_SWAPPED = "M and N trade places in the guard: rows are below M, columns below N."

STORES: tuple[Slip, ...] = (
    Slip("stored_by_columns", "The store writes C[row + col * M], but C is row-major: C[row * N + col].",
         _column_by_column, row_major=True),
    Slip("nothing_stored", "No thread stores anything.", _only(lambda i, row, col: np.zeros((i.M, i.N), bool))),
    Slip("last_row_unwritten", "The last row of C is not written: compare the row with M, not with M − 1.",
         _only(lambda i, row, col: row < i.M - 1)),
    Slip("last_column_unwritten", "The last column of C is not written: compare the column with N, not with N − 1.",
         _only(lambda i, row, col: col < i.N - 1)),
    Slip("last_row_and_column_unwritten", "The last row and the last column of C are not written: compare with M and "
         "N, not with M − 1 and N − 1.", _only(lambda i, row, col: (row < i.M - 1) & (col < i.N - 1))),
    Slip("first_row_unwritten", "The first row of C is not written: rows are counted from 0.",
         _only(lambda i, row, col: row > 0)),
    Slip("first_column_unwritten", "The first column of C is not written: columns are counted from 0.",
         _only(lambda i, row, col: col > 0)),
    Slip("tail_rows_unwritten", "Rows of the last tile are not written where the tile does not divide M: only whole "
         "tiles are.", _only(lambda i, row, col: row < i.M // _needs(i.tiles.BM) * _needs(i.tiles.BM))),
    Slip("tail_columns_unwritten", "Columns of the last tile are not written where the tile does not divide N: only "
         "whole tiles are.", _only(lambda i, row, col: col < i.N // _needs(i.tiles.BN) * _needs(i.tiles.BN))),
    Slip("tails_unwritten", "Rows and columns of the last tiles are not written where the tile does not divide M or "
         "N: only whole tiles are.",
         _only(lambda i, row, col: (row < i.M // _needs(i.tiles.BM) * _needs(i.tiles.BM))
               & (col < i.N // _needs(i.tiles.BN) * _needs(i.tiles.BN)))),
    Slip("one_row_of_patch", "Each thread writes only the first row of its patch.",
         _only(lambda i, row, col: row % _needs(i.tiles.TM) == 0)),
    Slip("one_column_of_patch", "Each thread writes only the first column of its patch.",
         _only(lambda i, row, col: col % _needs(i.tiles.TN) == 0)),
    Slip("patch_flipped", "In each thread's patch rows and columns trade places.",
         _flipped_patch),
)  # fmt: skip

ALL: dict[str, Slip] = {slip.name: slip for slip in (*PRODUCTS, *EPILOGUES, *STORES)}
RIGHT = Slip("", "", product), Slip("", "", epilogue), Slip("", "", store)


def sentence(name: str) -> str:
    """The sentence that explains a slip."""
    return ALL[name].sentence


def result(chosen: Sequence[Slip], inputs: Inputs, launches: int = 1, P: np.ndarray | None = None) -> np.ndarray:
    """C (M, N) in float32 after the launches, if these slips (product, epilogue, store) were made.

    P: the product, if it is known already. Raises NotApplicable and LeavesArrays.
    """
    make, finish, write = (slip.formula for slip in chosen)
    with np.errstate(invalid="ignore"):
        P = make(inputs) if P is None else P  # type: ignore[call-arg, arg-type]
        P = np.broadcast_to(P, inputs.C.shape)
        C = inputs.C
        for _ in range(launches):
            now = replace(inputs, C=C)
            C = write(now, finish(now, P))  # type: ignore[call-arg, arg-type]
    return C.astype(np.float32)


def combinations(scaled: bool, row_major: bool) -> Iterator[tuple[Slip, Slip, Slip]]:
    """Single slips first, then pairs of different kinds.

    scaled: whether the kernel has alpha and beta.  row_major: whether its matrices are.
    """
    right_product, right_epilogue, right_store = RIGHT
    finishes = EPILOGUES if scaled else ()
    products, stores = ([slip for slip in some if row_major or not slip.row_major] for some in (PRODUCTS, STORES))
    for slip in products:
        yield slip, right_epilogue, right_store
    for slip in finishes:
        yield right_product, slip, right_store
    for slip in stores:
        yield right_product, right_epilogue, slip
    for first in products:
        for second in finishes:
            yield first, second, right_store
        for second in stores:
            yield first, right_epilogue, second
    for first in finishes:
        for second in stores:
            yield right_product, first, second
