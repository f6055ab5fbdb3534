"""Orders of tiles: each tile once, and the panels that the blocks need which run first."""

import pytest

from helpers.exercises import get
from helpers.exercises.framework import trial
from helpers.exercises.framework.problems import Case
from helpers.pictures.raster.facts import grouped, in_groups, recorded
from helpers.run import simulated

RASTER = get("raster")


def test_every_order_takes_each_tile_once():
    for rows in (1, 3, 8, 64):
        tiles = list(in_groups(rows, 64, 32))
        assert len(tiles) == len(set(tiles)) == 64 * 32


def test_one_row_at_a_time_is_the_order_of_the_grid():
    assert list(in_groups(1, 2, 3)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_the_last_group_has_the_rows_that_are_left():
    assert list(in_groups(2, 3, 2)) == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]


def test_panels_are_rows_and_columns_of_the_first_running_blocks():
    assert grouped(1, 4, 4, 4).panels == (1, 4)
    assert grouped(2, 4, 4, 4).panels == (2, 2)
    assert grouped(1, 4, 4, 5).panels == (2, 4)


@pytest.mark.parametrize(("version", "rows"), [("starter", 1), ("solution", 4)])
def test_the_order_of_a_kernel_is_read_from_its_stores(version, rows):
    kernel = simulated(RASTER.marked.version(version), "sgemm")
    recording = trial.record(kernel, RASTER.problem.prepare(Case({"M": 48, "N": 40, "K": 1})))
    assert recorded(recording, (8, 8), 4, "mine").order == tuple(in_groups(rows, 6, 5))


def test_a_kernel_that_stores_nothing_has_no_order():
    kernel = simulated(
        'extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {}', "sgemm"
    )
    recording = trial.record(kernel, RASTER.problem.prepare(Case({"M": 16, "N": 16, "K": 1})))
    with pytest.raises(ValueError, match="Only 0 of 4 blocks store to C"):
        recorded(recording, (8, 8), 4, "mine")
