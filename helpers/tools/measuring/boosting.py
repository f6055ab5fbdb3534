"""Fit a sum of small trees to numbers, as `gemm_kernels.trees` evaluates it: gradient boosting in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gemm_kernels.trees import Tree

TREES, DEPTH = 400, 5
RATE = 0.15  # the part of what is left that a tree takes away
CALM = 5.0  # a leaf's mean counts as if it had so many zeros more: what few numbers say is doubted
ROWS, COLUMNS = 0.4, 0.3  # of all, at random, that a tree and a question are fitted to: trees differ, and are quick
LIMITS = 31  # that are tried for a feature: its quantiles, to four digits


def fit(
    names: Sequence[str], features: np.ndarray, numbers: np.ndarray, weights: np.ndarray, trees: int = TREES
) -> list[Tree]:
    """Trees whose sum is near the numbers, by least squares. features: a row for each number, a column for each name.

    All nodes of a level ask the same question, the one that leaves least between the numbers and the means of the
    leaves. The same trees every time.
    """
    chance = np.random.default_rng(0)
    shares = np.linspace(0, 1, LIMITS + 2)[1:-1]
    quantiles = np.quantile(features, shares, axis=0, method="nearest")
    limits = [np.unique([float(f"{limit:.4g}") for limit in some]) for some in quantiles.T]
    above = np.stack([np.searchsorted(some, column) for some, column in zip(limits, features.T, strict=True)], axis=1)
    left, grown = numbers.copy(), []
    for _ in range(trees):
        rows = chance.random(len(left)) < ROWS
        here, weight, leaf = above[rows], weights[rows], np.zeros(int(rows.sum()), int)
        wanted = left[rows] * weight
        asked: list[tuple[int, int]] = []
        for level in range(DEPTH):
            columns = chance.permutation(len(names))[: max(1, int(COLUMNS * len(names)))]
            gains = [_gains(leaf, 2**level, here[:, column], len(limits[column]), wanted, weight) for column in columns]
            best = max(range(len(columns)), key=lambda column: gains[column].max())
            column, limit = int(columns[best]), int(gains[best].argmax())
            asked.append((column, limit))
            leaf = 2 * leaf + (here[:, column] > limit)
        count = 2**DEPTH
        values = RATE * np.bincount(leaf, wanted, count) / (np.bincount(leaf, weight, count) + CALM)
        grown.append(
            Tree(
                tuple((names[column], float(limits[column][limit])) for column, limit in asked),
                tuple(round(value, 4) for value in values.tolist()),
            )
        )
        every = np.zeros(len(left), int)
        for column, limit in asked:
            every = 2 * every + (above[:, column] > limit)
        left -= np.array(grown[-1].values)[every]
    return grown


def _gains(
    leaf: np.ndarray, leaves: int, above: np.ndarray, limits: int, wanted: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """For each limit of a feature: how much nearer to the numbers the means of both sides are, in all leaves.

    above: how many limits each row is above.
    """
    cell, room = leaf * (limits + 1) + above, leaves * (limits + 1)
    sums, counts = (np.bincount(cell, weights, room).reshape(leaves, -1).cumsum(1) for weights in (wanted, weight))
    below, at_most = sums[:, :-1], counts[:, :-1]
    beyond, more = sums[:, -1:] - below, counts[:, -1:] - at_most
    return (below**2 / (at_most + CALM) + beyond**2 / (more + CALM)).sum(0)
