"""What block shapes cost a request, and how that goes with their speed."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers.pictures.block_shapes.facts import counted, exceptions, rank_correlation, recorded
from tests.pictures.test_block_shapes_figure import SHAPES


def test_a_block_shape_has_its_counts_and_its_recorded_speed():
    shape = counted(get("coalesced"), (16, 16), 2048)
    measured = recorded(get("coalesced"), (16, 16), 2048)
    assert (shape.sectors_per_request, shape.tags_per_request) == (2.0, 1.5)
    assert shape.gflops == measured.gflops > 1000
    assert measured.label == "recorded on NVIDIA H200"


def test_an_unmeasured_shape_has_no_speed():
    assert counted(get("coalesced"), (48, 2), 2048).gflops is None
    assert recorded(get("coalesced"), (64, 64), 2048) is None


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
