"""Small decision trees, whose sum says by how much an estimate is usually off. `helpers.tools.measuring.boosting` fits
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Tree:
    """A tree of which all nodes of a level ask the same question.

    questions: is this feature above this limit?  values: one for each row of answers; as binary digits, the first
    answer is the highest.
    """

    questions: tuple[tuple[str, float], ...]
    values: tuple[float, ...]


def total(trees: Iterable[Tree], features: Mapping[str, float]) -> float:
    """The sum of what the trees say of something with these features."""
    total = 0.0
    for tree in trees:
        leaf = 0
        for name, limit in tree.questions:
            leaf = 2 * leaf + (features[name] > limit)
        total += tree.values[leaf]
    return total
