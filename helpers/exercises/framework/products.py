"""Which products of a multiplication are the wrong ones: what `probes` finds, in a sentence to the learner.

A sentence is given only for what was found in every element, or it says of which element it speaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from helpers.exercises.framework.probes import CannotProbe, Probe, Taken
from helpers.exercises.framework.slips import Tiles
from helpers.pictures.theme import plural, runs

Index = tuple[Any, Any]


@dataclass(frozen=True)
class Point:
    """Where an element of C lies, and the k of a product: arrays that broadcast to (M, N).

    row, col: in C.  y, x: in the block's tile.  in_tile: k inside the tile along k; for kernels without tiles y, x and
    in_tile are those of the block alone.
    """

    M: int
    N: int
    K: int
    row: np.ndarray
    col: np.ndarray
    k: np.ndarray
    tiles: Tiles

    @property
    def y(self) -> np.ndarray:
        return self.row % (self.tiles.BM or self.M)

    @property
    def x(self) -> np.ndarray:
        return self.col % (self.tiles.BN or self.N)

    @property
    def in_tile(self) -> np.ndarray:
        return self.k % (self.tiles.BK or self.K)


@dataclass(frozen=True)
class Pattern:
    """Another element than the one that is needed. index: (row, column) of the matrix, for a place."""

    sentence: str
    index: Callable[[Point], Index]


TRADED = "Row and column trade places: what belongs to row r and column c is in row c and column r."


def _linear(index: Any, width: int) -> Index:
    return index // width, index % width


# Of A the element in row `row` at k is needed, of B the one at k in column `col`.
OF_A = (
    Pattern("The sum of C[r, c] is made with row c of A, and row r is needed.", lambda p: (p.col, p.k)),
    Pattern("A is read as if it were stored column by column, at row + k * M; it is row-major: row * K + k.",
            lambda p: _linear(p.row + p.k * p.M, p.K)),
    Pattern("A is read at k * K + row, as if row and k traded places; row-major it is row * K + k.",
            lambda p: _linear(p.row + p.k * p.K, p.K)),
    Pattern("A is read as if its rows were N floats long; they are K long: row * K + k.",
            lambda p: _linear(p.row * p.N + p.k, p.K)),
    Pattern("A is read as if its rows were M floats long; they are K long: row * K + k.",
            lambda p: _linear(p.row * p.M + p.k, p.K)),
    Pattern("A is read in the row of the tile that has the number of the element's column there.",
            lambda p: (p.row - p.y + p.x, p.k)),
    Pattern("Row and k trade places inside the tiles of A.",
            lambda p: (p.row - p.y + p.in_tile, p.k - p.in_tile + p.y)),
    Pattern("Every product of a tile uses one k of A, the number of the element's row in the tile.",
            lambda p: (p.row, p.k - p.in_tile + p.y)),
    Pattern("All products use the first tile along k of A.",
            lambda p: (p.row, p.in_tile)),
    Pattern("Every block takes its tile of A from the first rows.",
            lambda p: (p.y, p.k)),
    Pattern("Every block takes its tile of A from the first rows, and each time the first one.",
            lambda p: (p.y, p.in_tile)),
    Pattern("A is read one element too far: at row * K + k + 1.", lambda p: _linear(p.row * p.K + p.k + 1, p.K)),
    Pattern("The sums are those of the next row of A, row + 1.", lambda p: (p.row + 1, p.k)),
    Pattern("All rows of a thread's patch hold what belongs to the first one.",
            lambda p: (p.row - p.row % (p.tiles.TM or 1), p.k)),
    Pattern("Every product uses the first k of A.", lambda p: (p.row, 0)),
    Pattern("Every product of a tile uses its first k of A.",
            lambda p: (p.row, p.k - p.in_tile)),
    Pattern("The tile of A begins in the row with the number of the block's first column.",
            lambda p: (p.col - p.x + p.y, p.k)),
)  # fmt: skip
OF_B = (
    Pattern("The sum of C[r, c] is made with column r of B, and column c is needed.", lambda p: (p.k, p.row)),
    Pattern("B is read as if it were stored column by column, at k + col * K; it is row-major: k * N + col.",
            lambda p: _linear(p.k + p.col * p.K, p.N)),
    Pattern("B is read at col * N + k, as if k and col traded places; row-major it is k * N + col.",
            lambda p: _linear(p.k + p.col * p.N, p.N)),
    Pattern("B is read as if its rows were K floats long; they are N long: k * N + col.",
            lambda p: _linear(p.k * p.K + p.col, p.N)),
    Pattern("B is read as if its rows were M floats long; they are N long: k * N + col.",
            lambda p: _linear(p.k * p.M + p.col, p.N)),
    Pattern("B is read in the column of the tile that has the number of the element's row there.",
            lambda p: (p.k, p.col - p.x + p.y)),
    Pattern("Column and k trade places inside the tiles of B.",
            lambda p: (p.k - p.in_tile + p.x, p.col - p.x + p.in_tile)),
    Pattern("Every product of a tile uses one k of B, the number of the element's column in the tile.",
            lambda p: (p.k - p.in_tile + p.x, p.col)),
    Pattern("All products use the first tile along k of B.",
            lambda p: (p.in_tile, p.col)),
    Pattern("Every block takes its tile of B from the first columns.", lambda p: (p.k, p.x)),
    Pattern("Every block takes its tile of B from the first columns, and each time the first one.",
            lambda p: (p.in_tile, p.x)),
    Pattern("The k at which a tile begins is added to B's column: it is a row of B, and must be multiplied by N, too.",
            lambda p: _linear(p.k - p.in_tile + p.in_tile * p.N + p.col, p.N)),
    Pattern("B is read one row too far: in row k + 1.", lambda p: (p.k + 1, p.col)),
    Pattern("The sums are those of the next column of B, col + 1.", lambda p: _linear(p.k * p.N + p.col + 1, p.N)),
    Pattern("All columns of a thread's patch hold what belongs to the first one.",
            lambda p: (p.k, p.col - p.col % (p.tiles.TN or 1))),
    Pattern("Every product uses the first k of B.", lambda p: (0, p.col)),
    Pattern("Every product of a tile uses its first k of B.",
            lambda p: (p.k - p.in_tile, p.col)),
    Pattern("The tile of B begins in the column with the number of the block's first row.",
            lambda p: (p.k, p.row - p.y + p.x)),
)  # fmt: skip


MOST_COMPARED = 96  # elements of C on which two patterns are tried


def explained(probe: Probe, tiles: Tiles) -> tuple[str, ...]:
    """What is wrong with the products of a kernel's sums, in one or two sentences; () if they are the right ones, or if
    the kernel cannot be asked."""
    try:
        return tuple(_explained(probe, tiles))
    except CannotProbe:
        return ()


def _explained(probe: Probe, tiles: Tiles) -> Iterator[str]:
    M, N, K = probe.shape
    written = ~probe.unwritten
    if not written.any():
        return
    if not probe.count[written].any():
        if K > 1 and not probe.with_beta.any() and not probe.values[2].any():
            yield "No product is in C: where all numbers of A and B are 1, and C was 0, all that is stored is 0."
        return
    degrees = probe.degrees
    if missing := [name for name, degree in zip("AB", degrees, strict=True) if degree == 0]:
        yield f"No number of {' or of '.join(missing)} is in C."
        return
    if degrees != (1, 1) or (probe.count[written] % 1).any() or (probe.count[written] < 0).any():
        return  # no sum of products, each of them whole and added
    A, B, C = probe.values
    wrong = written & ((A[:M] @ B[:K]) != C)
    if not wrong.any():
        return
    pair = _patterns(probe, wrong, tiles)
    if len(pair) == 1:
        yield from pair
        return
    first = tuple(int(n) for n in np.argwhere(wrong)[0])
    asked = sorted({0, min(1, K - 1), min(2, K - 1), K // 2, K - 1})
    with_B, with_A = [probe.of_A(k) for k in asked], [probe.of_B(k) for k in asked]
    moved = _moved(probe, wrong, with_B, with_A, first)
    if pair == (OF_A[0].sentence, OF_B[0].sentence):
        pair = (TRADED,)
    if moved or pair:  # a whole sum in another place is read in another row and another column, too
        yield from (moved,) if moved else pair
        return
    uses_A, uses_B = probe.ks(of_A=True), probe.ks(of_A=False)
    if uses_A is not None and uses_B is not None:
        missed = uses_A[first] != 1
        exact = np.einsum("ijk,ik,kj->ij", uses_A, A[:M], B[:K]) == C  # all of them are products of this row and column
        if missed.any() and np.array_equal(uses_A[first], uses_B[first]) and exact[first]:
            same = bool((uses_A[wrong] == uses_A[first]).all() and exact[wrong].all()) and not probe.unwritten.any()
            yield _missing(uses_A[first], first, K, same)
            return
    for k, of_A, of_B in zip(asked, with_B, with_A, strict=True):
        sentence = _one_product(k, of_A, of_B, first, probe.shape)
        if sentence:
            yield sentence
            return


def _patterns(probe: Probe, wrong: np.ndarray, tiles: Tiles) -> tuple[str, ...]:
    """The patterns, of A, of B, or one of each, by which the elements of C come out as they do, bit for bit: first
    some of them are compared, then all."""
    places = np.argwhere(wrong)
    if len(places) < 2:
        return ()
    right = np.random.default_rng(0).permutation(np.argwhere(~wrong & ~probe.unwritten))[:MOST_COMPARED]
    few = places[:: max(1, len(places) // MOST_COMPARED)][: 2 * MOST_COMPARED]
    some, most = (np.concatenate([chosen, right]) for chosen in (few, places))  # a pattern speaks of all elements
    pairs = (pair for pair in _pairs(probe, some, tiles) if pair in _pairs(probe, most, tiles, pair))
    return next((pair for pair in pairs if _holds_in_others(probe, pair)), ())


def _holds_in_others(probe: Probe, pair: tuple[str, ...]) -> bool:
    """Whether patterns hold in the other launches of whole tiles, too, as far as these can be asked: in one shape a
    size may be equal to another number."""
    for case in probe.problem.cases:
        tiles = probe.problem._inputs(case).tiles
        depths = zip((tiles.BM, tiles.BN, tiles.BK), case.sizes.values(), strict=True)
        if case is probe.case or min(case.sizes.values()) < 2 or any(size % (tile or 1) for tile, size in depths):
            continue
        other = replace(probe, case=case)
        try:
            written = np.argwhere(~other.unwritten)[:: max(1, other.unwritten.size // (4 * MOST_COMPARED))]
            if len(written) and pair not in _pairs(other, written, tiles, pair):
                return False
        except CannotProbe:
            continue
    return True


def _pairs(
    probe: Probe, chosen: np.ndarray, tiles: Tiles, only: Collection[str] | None = None
) -> Iterator[tuple[str, ...]]:
    """The sentences of all patterns, or of some, and of their pairs, by which chosen elements of C come out."""
    M, N, K = probe.shape
    A, B, C = probe.values
    row, col, k = chosen[:, 0][:, None], chosen[:, 1][:, None], np.arange(K)[None, :]
    point = Point(M, N, K, row, col, k, tiles)
    has_tiles = tiles.BK is not None and "__shared__" in probe.kernel.compiled.source
    of_A = [(Pattern("", lambda p: (p.row, p.k)), A[row, k])]
    of_B = [(Pattern("", lambda p: (p.k, p.col)), B[k, col])]
    for patterns, matrix, known in ((OF_A, A, of_A), (OF_B, B, of_B)):
        for pattern in patterns:
            of_tiles = re.search(r"\btiles?\b", pattern.sentence) is not None
            if only is not None and pattern.sentence not in only or of_tiles and not has_tiles:
                continue
            rows, cols = (np.broadcast_to(index, (len(chosen), K)) for index in pattern.index(point))
            if rows.max() < len(matrix) and cols.max() < matrix.shape[1]:
                known.append((pattern, matrix[rows, cols]))
    wanted = C[row[:, 0], col[:, 0]]
    for a, left in sorted(of_A, key=lambda pair: pair[0].sentence != ""):
        for b, right in of_B:
            if ((left * right).sum(axis=1) == wanted).all():
                yield tuple(pattern.sentence for pattern in (a, b) if pattern.sentence)


def _at(first: tuple[int, ...], taken: Taken) -> str:
    return f"{taken.row[first]:.0f}, {taken.col[first]:.0f}"


def _moved(probe: Probe, wrong: np.ndarray, with_B: list[Taken], with_A: list[Taken], first: tuple[int, ...]) -> str:
    """Wrong elements that hold the whole sum of another element."""
    M, N, K = probe.shape
    if (probe.count[wrong] != K).any() or any((factor.count[wrong] != 1).any() for factor in (*with_B, *with_A)):
        return ""
    rows, cols = with_B[0].row, with_A[0].col
    if any((factor.row[wrong] != rows[wrong]).any() or (factor.col[wrong] != factor.k).any() for factor in with_B):
        return ""
    if any((factor.col[wrong] != cols[wrong]).any() or (factor.row[wrong] != factor.k).any() for factor in with_A):
        return ""
    row, col = int(rows[first]), int(cols[first])
    A, B, C = probe.values
    if (row, col) == first or (
        np.einsum("ek,ke->e", A[rows[wrong].astype(int)], B[:K, cols[wrong].astype(int)]) != C[wrong]
    ).any():
        return ""
    if row >= M or col >= N:
        sizes = f"{plural(M, 'row')} of {N}"
        return f"C[{first[0]}, {first[1]}] holds the sum of row {row} and column {col}, and C has {sizes}."
    return (
        f"The sum itself is whole: what is in C[{first[0]}, {first[1]}] is the value of C[{row}, {col}]. "
        f"{_difference(probe, wrong, rows, cols)}"
    ).rstrip()


def _difference(probe: Probe, wrong: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> str:
    """What all moved elements have in common. Those that no thread stores hold no sum at all, and those that are
    made of what lies outside of A or B hold that of no element."""
    inside = (rows[wrong] < wrong.shape[0]).all() and (cols[wrong] < wrong.shape[1]).all()
    stored = " that are stored" if probe.unwritten.any() else ""
    row, col = np.broadcast_arrays(np.arange(wrong.shape[0])[:, None], np.arange(wrong.shape[1])[None, :])
    if (rows[wrong] == col[wrong]).all() and (cols[wrong] == row[wrong]).all():
        return f"In all wrong elements{stored} rows and columns trade places."
    if inside and (rows[wrong] == row[wrong]).all():
        return f"All wrong elements{stored} hold the sum of their own row and of another column than their own."
    if inside and (cols[wrong] == col[wrong]).all():
        return f"All wrong elements{stored} hold the sum of their own column and of another row than their own."
    return ""


def _missing(uses: np.ndarray, first: tuple[int, ...], K: int, same: bool) -> str:
    """Products that are not there, or there more than once: as sets of k."""
    where = "Every wrong element" if same else f"C[{first[0]}, {first[1]}]"
    missing, often = np.flatnonzero(uses == 0), np.flatnonzero(uses > 1)
    if len(missing) == K:
        return f"{where} has none of its products."
    parts = []
    if len(missing):
        parts.append(f"lacks the products with k = {runs(missing.tolist())}")
    if len(often):
        times = sorted({int(use) for use in uses[often]})
        what = "those" if parts else "the products"
        parts.append(f"has {what} with k = {runs(often.tolist())} "
                     f"{' or '.join('twice' if n == 2 else f'{n} times' for n in times)}")  # fmt: skip
    return f"{where} {' and '.join(parts)}."


def _one_product(k: int, of_A: Taken, of_B: Taken, first: tuple[int, ...], shape: tuple[int, int, int]) -> str:
    """The product with one k, where it is another one than needed. What lies behind A or B is no element of them."""
    row, col = first
    M, _, K = shape
    if of_A.count[first] == 1 and of_A.row[first] < M and (of_A.row[first], of_A.col[first]) != (row, k):
        return f"For C[{row}, {col}], row {k} of B is multiplied by A[{_at(first, of_A)}], and A[{row}, {k}] is needed."
    if of_B.count[first] == 1 and of_B.row[first] < K and (of_B.row[first], of_B.col[first]) != (k, col):
        return (
            f"For C[{row}, {col}], column {k} of A is multiplied by B[{_at(first, of_B)}], and B[{k}, {col}] is needed."
        )
    for name, other, count in (("column", "A", of_B.count[first]), ("row", "B", of_A.count[first])):
        if count != 1 and count >= 0 and count == round(count):
            times = "no product" if count == 0 else f"{count:.0f} products"
            return f"For C[{row}, {col}], {name} {k} of {other} is in {times}, and one is needed."
    return ""
