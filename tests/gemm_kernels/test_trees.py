"""Sums of small trees: what they say, how they are fitted, and how estimates are corrected by them."""

import math

import numpy as np
import pytest

from gemm_kernels import by_shape, choices, fastest, get
from gemm_kernels.trees import Tree, total
from helpers.tools.measuring import boosting

H100 = "NVIDIA H100 80GB HBM3"


def test_tree_answers_are_binary_digits_highest_first():
    tree = Tree((("M", 10), ("K", 5)), (0.0, 1.0, 2.0, 4.0))
    said = [total([tree], {"M": M, "K": K}) for M, K in ((10, 5), (10, 6), (11, 5), (11, 6))]
    assert said == [0.0, 1.0, 2.0, 4.0]
    assert total([tree, tree], {"M": 11, "K": 6}) == 8.0 and total([], {}) == 0.0


def test_fitted_trees_find_joint_effects_of_two_features():
    chance = np.random.default_rng(1)
    features = chance.random((4000, 3))
    numbers = np.where((features[:, 0] > 0.5) & (features[:, 2] > 0.25), 1.0, 0.0)
    trees = boosting.fit(("a", "b", "c"), features[:3000], numbers[:3000], np.ones(3000), trees=60)
    new = [total(trees, dict(zip("abc", row, strict=True))) for row in features[3000:].tolist()]
    assert np.mean((np.array(new) - numbers[3000:]) ** 2) < 0.05 * np.var(numbers)


def test_what_has_no_weight_is_not_learnt():
    features = np.array([[0.0], [1.0]] * 200)
    numbers, weights = np.array([0.0, 1.0] * 200), np.array([1.0, 0.0] * 200)
    trees = boosting.fit(("a",), features, numbers, weights, trees=30)
    assert total(trees, {"a": 1.0}) == 0.0


def test_estimates_are_multiplied_by_the_trees_correction():
    large, small, shape = get("persistent"), get("persistent", BM=64, WM=16, TM=8), (300, 250, 240)
    assert large.params["BM"] > 64
    large_tiles = Tree((("BM", 64.0),), (0.0, math.log(1.5)))
    slower = Tree((("to_least", 1.5),), (0.0, math.log(2)))  # the question is about the smallest estimate, too
    estimates = {large: 2.0, small: 5.0}
    assert by_shape.corrected(estimates, shape, 132, [large_tiles]) == pytest.approx({large: 3.0, small: 5.0})
    assert by_shape.corrected(estimates, shape, 132, [slower]) == pytest.approx({large: 2.0, small: 10.0})
    assert by_shape.corrected(estimates, shape, 132, []) == estimates


@pytest.mark.parametrize("shape", [(300, 250, 240), (301, 250, 241), (5000, 17, 3000), (2333, 3444, 555)])
def test_unmeasured_shape_gets_the_least_corrected_estimate(shape):
    choice = choices.of(H100)
    assert shape not in choice.fastest and choice.trees
    every = {
        get(candidate.kernel, **candidate.params): candidate.costs for candidate in choice.candidates if candidate.costs
    }
    likely = by_shape.promising(every, shape, choice.sms, choice.promising_short)
    estimates = {kernel: by_shape.estimate(kernel, every[kernel], shape, choice.sms) for kernel in likely}
    expected = by_shape.corrected(estimates, shape, choice.sms, choice.trees)
    assert len(expected) > 20
    assert fastest(*shape, H100) == min(expected, key=expected.get).for_rows(shape[1])
