"""What block shapes cost a request, and how that goes with their speed."""

import numpy as np
import pytest

from helpers.analysis.block_shapes import exceptions, rank_correlation
from tests.draw.test_block_shapes import SHAPES


def test_the_rank_correlation_is_spearmans():
    assert rank_correlation([1, 2, 3, 4], [9, 7, 5, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 2, 3], [1, 3, 2, 4]) == pytest.approx(
        np.corrcoef([0, 1.5, 1.5, 3], [0, 2, 1, 3])[0, 1]
    )


def test_a_correlation_of_constant_values_is_refused():
    with pytest.raises(ValueError, match="two different values"):
        rank_correlation([1, 1, 1], [1, 2, 3])


def test_exceptions_are_shapes_of_one_cost_and_different_speed():
    ((slow, fast),) = exceptions(SHAPES, "sectors")
    assert (slow.block, fast.block) == ((8, 32), (32, 8))
    assert exceptions(SHAPES, "tags") == []
