"""The configurations of a kernel: legal, predicted, searched."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers.pictures.tuning import facts as landscape
from helpers.pictures.tuning.model import predict
from tests.pictures.facts_data import H200, MEASURED, SEARCH


def test_cell_is_the_best_over_all_other_parameters():
    grid = MEASURED.grid("BM", "WM", "gflops")
    assert grid[0].tolist() == [1000, 2000] and grid[1, 0] == 3000 and np.isnan(grid[1, 1])
    assert MEASURED.grid("BM", "WM", "floats_a_fma")[0].tolist() == [0.06, 0.02]  # the fewest
    assert MEASURED.grid("BM", "WM", "occupancy")[0].tolist() == [100 * 4 / 64, 100 * 8 / 64]


def test_legal_is_what_the_kernels_rules_allow():
    data = landscape.landscape_of(H200)
    for configuration in data.configurations[:: len(data.configurations) // 60]:
        if configuration.broken:
            with pytest.raises(ValueError, match="Found BM"):
                get(landscape.KERNEL).replace(**configuration.params)
        else:
            assert configuration.predicted == predict(H200, get(landscape.KERNEL).replace(**configuration.params))
    assert 0 < len(data.legal) < len(data.configurations)


def test_speeds_come_from_the_recorded_search(searched):
    data = landscape.landscape_of(H200, 4096)
    assert data.source == "recorded on NVIDIA H200 by the search, cost of a launch included"
    best = {
        configuration.params["BM"] * configuration.params["BN"]: configuration.gflops
        for configuration in data.legal
        if configuration.gflops and configuration.params["BK"] == 8
    }
    assert best == {128 * 256: SEARCH[0].gflops, 128 * 128: SEARCH[1].gflops}
    assert any(configuration.params["BK"] == 64 for configuration in data.legal)
    assert len(data.configurations) == len(landscape.space()) + 1


def test_the_space_holds_the_first_guess():
    first = get(landscape.FIRST_GUESS).params
    assert all(first[name] in landscape.SPACE[name] for name in landscape.SPACE)
