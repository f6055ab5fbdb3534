"""How far a load from shared memory stands from the first use of its value in the machine code."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers.measure.states import states
from helpers.pictures.load_to_use.facts import load_to_use


@pytest.fixture(scope="module")
def median():
    """Kernel -> the median distance of its loads."""
    return {
        name: np.median(load_to_use(get(name)))
        for name in ("padded", "swizzled", "interleaved", "vectorized", "vectorized_ptx", "ping_pong")
    }


def test_every_wide_load_of_the_loop_is_found():
    assert len(load_to_use(get("padded"))) == 32


def test_swizzled_loads_fragments_early_and_padded_just_in_time(median):
    assert median["padded"] < 8 < 30 < median["swizzled"]


def test_loads_pinned_by_ptx_stand_further_from_their_use(median):
    assert median["vectorized_ptx"] > 2 * median["vectorized"] and median["ping_pong"] > 30


@pytest.mark.parametrize(("near", "far"), [("padded", "swizzled"), ("vectorized", "vectorized_ptx")])
def test_loads_further_from_their_use_wait_less_on_an_h200(near, far, median):
    near_wait, other = (states(name, 2048).waiting("short_scoreboard") for name in (near, far))
    assert other < 0.7 * near_wait and median[far] > median[near]
