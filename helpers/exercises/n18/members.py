"""What the kernels of notebook 18 are launched on, and what must come out: a problem for each member of the family.

All numbers are such that every sum is exact in any order, so that a right kernel is right bit for bit. GELU alone is
not: an element is right there within ROUNDING of its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.exercises.framework.problems import Case, Guess, Setup, blocks, values

T = 16  # rows and columns of a tile, as the sources have it
BLOCK = (T, T)
BEYOND_A_FLOAT = 2.0**-26  # for which a float beside a multiple of STEP has no bit
FRAGMENT = 8  # rows and columns that a tensor core computes of doubles
LONG = 1024  # numbers along k, all of them large, whose sum a float need not have
WORD, GROUP = 4, 32  # int8 in an int, and along k with one scale
ROUNDING = 1e-5  # of GELU, relative to the element, or to 1 where that is smaller
DIGITS = 2  # after the point, of what is further away,
ASIDE = 1e-4  # when this is added: sums are multiples of 1/64, some of them between two such numbers


@dataclass(frozen=True, eq=False)
class Rounded(Setup):
    """A launch whose results are right if they are within ROUNDING."""

    def left(self, args: Sequence[Any]) -> np.ndarray:
        """What the kernel left. An element that is near enough counts as the expected one; of any other two digits are
        kept, so that the same mistake in other words leaves the same."""
        remains = super().left(args)
        near = np.abs(remains - self.expected) <= ROUNDING * np.maximum(1, np.abs(self.expected))
        return np.where(near, self.expected, np.round(remains + ASIDE, DIGITS))


@dataclass(frozen=True, eq=False)
class Member:
    """What all members have: one output in rows and columns, and no scalars."""

    entry: str
    cases: tuple[Case, ...]
    output: str = "C"
    scalars: tuple[str, ...] = ()
    tile: tuple[int, int] = (T, T)

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return index

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output.reshape(-1, output.shape[-1])

    def guesses(self) -> Iterator[Guess]:
        return iter(())


def cases(names: str, *sizes: tuple[int, ...]) -> tuple[Case, ...]:
    """A case for each tuple: `names` are those of its sizes, "M N K"."""
    return tuple(Case(dict(zip(names.split(), size, strict=True))) for size in sizes)


def exact(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A · B, float32, of factors whose sums are exact."""
    return (A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32)


def ints(*numbers: int) -> tuple[np.int32, ...]:
    """Arguments of a kernel that are int."""
    return tuple(map(np.int32, numbers))


class TransposedOperand(Member):
    """C = A · Bᵀ, with rows that begin lda, ldb and ldc floats apart. What lies between the rows of C is NaN, and
    stays."""

    def prepare(self, case: Case) -> Setup:
        M, N, K, lda, ldb, ldc = case.sizes.values()
        A, B = values(M, lda, 1), values(N, ldb, 2)
        C = np.full((M, ldc), np.nan, np.float32)
        expected = C.copy()
        expected[:, :N] = exact(A[:, :K], B[:, :K].T)
        args = (*ints(M, N, K), A, *ints(lda), B, *ints(ldb), C, *ints(ldc))
        return Setup((blocks(N, T), blocks(M, T)), BLOCK, 0, args, C, expected)


class Batch(Member):
    """`count` products of one shape with steps between them; gaps between the matrices of C are NaN, and stay.

    Sizes beside count, M, N and K: z of the grid; floats behind each matrix of A and of C; 1 if all products have the
    same B.
    """

    def prepare(self, case: Case) -> Setup:
        count, M, N, K, z, gap, shared = case.sizes.values()
        A, B = values(count, M * K + gap, 3), values(1 if shared else count, K * N, 4)
        C = np.full((count, M * N + gap), np.nan, np.float32)
        expected = C.copy()
        for p in range(count):
            product = exact(A[p, : M * K].reshape(M, K), B[0 if shared else p].reshape(K, N))
            expected[p, : M * N] = product.ravel()
        steps = np.int64(M * K + gap), np.int64(0 if shared else K * N), np.int64(M * N + gap)
        args = (*ints(count, M, N, K), A, steps[0], B, steps[1], C, steps[2])
        return Setup((blocks(N, T), blocks(M, T), z), BLOCK, 0, args, C, expected)


def gelu(values: np.ndarray) -> np.ndarray:
    """value · Φ(value), float64."""
    return 0.5 * values * (1 + np.vectorize(math.erf, otypes=[np.float64])(values / math.sqrt(2)))


class FusedSteps(Member):
    """C = GELU(A · B + bias) + R. rounded: what is judged has fewer digits than what the kernel leaves."""

    rounded = True

    def prepare(self, case: Case) -> Setup:
        M, N, K = case.sizes.values()
        # Sums of a few: a GELU of numbers that are far from 0 is the number, or 0, whatever is computed
        A, B, bias, R = values(M, K, 5) / 8, values(K, N, 6) / 8, values(1, N, 7)[0] / 2, values(M, N, 8)
        C = np.full((M, N), np.nan, np.float32)
        summed = exact(A, B).astype(np.float64) + bias
        expected = (gelu(summed) + R).astype(np.float32)
        args = (*ints(M, N, K), A, B, bias, R, C)
        return Rounded((blocks(N, T), blocks(M, T)), BLOCK, 0, args, C, expected)


def chance(counter: np.ndarray, seed: int) -> np.ndarray:
    """The 32 bits of the source's function of the same name, uint32."""
    x = counter.astype(np.uint32) * np.uint32(0x9E3779B9) + np.uint32(seed)
    x = (x ^ x >> 16) * np.uint32(0x7FEB352D)
    x = (x ^ x >> 15) * np.uint32(0x846CA68B)
    return x ^ x >> 16


class Dropout(Member):
    """C = A · B, an element in four dropped. The chance of one that stays is the limit itself."""

    def prepare(self, case: Case) -> Setup:
        M, N, K = case.sizes.values()
        seed, kept = np.uint32(1000 * M + N), np.float32(4 / 3)
        chances = chance(np.arange(M * N).reshape(M, N), int(seed))
        limit = chances[chances >= 2**30].min(initial=2**32 - 1)
        A, B = values(M, K, 11), values(K, N, 12)
        C = np.full((M, N), np.nan, np.float32)
        expected = np.where(chances < limit, np.float32(0), exact(A, B) * kept)
        args = (*ints(M, N, K), seed, limit, kept, A, B, C)
        return Setup((blocks(N, T), blocks(M, T)), BLOCK, 0, args, C, expected)


class DoubleFragments(Member):
    """C = A · B of doubles, an 8 x 8 tile for each warp."""

    def prepare(self, case: Case) -> Setup:
        M, N, K = case.sizes.values()
        A, B = (values(*shape, seed).astype(np.float64) for shape, seed in (((M, K), 13), ((K, N), 14)))
        A[:, ::2] += BEYOND_A_FLOAT  # never on both sides of a product, which stays exact so
        B[1::2] += BEYOND_A_FLOAT
        C = np.full((M, N), np.nan)
        return Setup((blocks(N, FRAGMENT), blocks(M, FRAGMENT)), (32,), 0, (*ints(M, N, K), A, B, C), C, A @ B)


def packed(numbers: np.ndarray, words: int) -> np.ndarray:
    """(rows, words) int32 of (rows, K) int8: four numbers in each, the first one in the lowest byte, zeros behind."""
    bytes_ = np.zeros((len(numbers), WORD * words), np.int8)
    bytes_[:, : numbers.shape[1]] = numbers
    return bytes_.view("<i4").astype(np.int32)


class ColumnScales(Member):
    """int8 times int8, with a scale for each row of A and for each column of C. Scales are powers of two. Sums
    of LONG are larger than 2^24."""

    def prepare(self, case: Case) -> Setup:
        M, N, K = case.sizes.values()
        generator = np.random.default_rng([M, N, K])
        least = -128 if K < LONG else 100
        A, B = (generator.integers(least, 128, (rows, K)).astype(np.int8) for rows in (M, N))
        scale_a, scale_b = (np.ldexp(1.0, generator.integers(-6, 3, rows)).astype(np.float32) for rows in (M, N))
        words = blocks(K, WORD)
        C = np.full((M, N), np.nan, np.float32)
        expected = exact(A, B.T) * scale_a[:, None] * scale_b
        args = (*ints(M, N, words), packed(A, words), packed(B, words), scale_a, scale_b, C)
        return Setup((blocks(N, T), blocks(M, T)), BLOCK, 0, args, C, expected)


class GroupScales(Member):
    """int8 times int8, with scales for each group of GROUP numbers along k. Numbers are small, so that sums of floats
    are exact, too."""

    def prepare(self, case: Case) -> Setup:
        M, N, K = case.sizes.values()
        generator, groups = np.random.default_rng([K, N, M]), blocks(K, GROUP)
        A, B = (generator.integers(-16, 16, (rows, K)).astype(np.int8) for rows in (M, N))
        scales = [np.ldexp(1.0, generator.integers(-2, 2, (rows, groups))).astype(np.float32) for rows in (M, N)]
        words = groups * GROUP // WORD
        C = np.full((M, N), np.nan, np.float32)
        scaled = [operand * np.repeat(scale, GROUP, 1)[:, :K] for operand, scale in zip((A, B), scales, strict=True)]
        args = (*ints(M, N, words), packed(A, words), packed(B, words), *scales, C)
        return Setup((blocks(N, T), blocks(M, T)), BLOCK, 0, args, C, exact(scaled[0], scaled[1].T))


@dataclass(frozen=True, eq=False)
class Grouped(Member):
    """Rows of one A shared out among experts, each with a B of its own.

    rows_of: of each case, how many rows each expert has. A case's sizes are experts, rows, N and K.
    """

    rows_of: tuple[tuple[int, ...], ...] = ()

    def offsets(self, case: Case) -> np.ndarray:
        """(experts + 1,) int32: where the rows of each expert begin."""
        rows = self.rows_of[self.cases.index(case)]
        return np.concatenate([[0], np.cumsum(rows)]).astype(np.int32)

    def prepare(self, case: Case) -> Setup:
        experts, rows, N, K = case.sizes.values()
        offsets = self.offsets(case)
        A, B = values(rows, K, 9), values(experts * K, N, 10).reshape(experts, K, N)
        C = np.full((rows, N), np.nan, np.float32)
        parts = [exact(A[a:b], B[e]) for e, (a, b) in enumerate(zip(offsets, offsets[1:], strict=False))]
        args = (*ints(experts), offsets, *ints(N, K), A, B, C)
        grid = blocks(N, T), blocks(rows, T) + experts
        return Setup(grid, BLOCK, 0, args, C, np.concatenate(parts))


def of_rows(N: int, K: int, *rows_of: tuple[int, ...]) -> tuple[Case, ...]:
    """A case of a grouped product for each tuple of rows."""
    return cases("experts rows N K", *((len(rows), sum(rows), N + n, K + 2 * n) for n, rows in enumerate(rows_of)))


def result_size(size: int, filter_: int, stride: int, pad: int) -> int:
    """Rows, or columns, of a convolution's result."""
    return (size + 2 * pad - filter_) // stride + 1


class Convolution(Member):
    """Y (images · P · Q, N) of X (images, H, W, C) and filters (R · S · C, N)."""

    def patches(self, case: Case) -> np.ndarray:
        """(M, K) float32: the matrix that the kernel never stores."""
        images, H, W, C, R, S, _, stride, pad = case.sizes.values()
        X = np.pad(self.images(case), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        P, Q = result_size(H, R, stride, pad), result_size(W, S, stride, pad)
        windows = np.lib.stride_tricks.sliding_window_view(X, (R, S), axis=(1, 2))[:, ::stride, ::stride]
        return windows[:, :P, :Q].transpose(0, 1, 2, 4, 5, 3).reshape(images * P * Q, R * S * C)

    @staticmethod
    def images(case: Case) -> np.ndarray:
        """X (images, H, W, C) float32."""
        images, H, W, C = list(case.sizes.values())[:4]
        return values(images * H * W, C, 11).reshape(images, H, W, C)

    def prepare(self, case: Case) -> Setup:
        images, H, W, C, R, S, N, stride, pad = case.sizes.values()
        P, Q = result_size(H, R, stride, pad), result_size(W, S, stride, pad)
        M, K = images * P * Q, R * S * C
        X, B, Y = self.images(case), values(K, N, 12), np.full((M, N), np.nan, np.float32)
        args = (*ints(M, N, K), X, *ints(H, W, C, P, Q, S, stride, pad), B, Y)
        return Setup((blocks(N, T), blocks(M, T)), BLOCK, 0, args, Y, exact(self.patches(case), B))
