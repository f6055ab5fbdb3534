"""Traffic formulas against sums by hand."""

import pytest

from helpers.pictures.traffic import compulsory, flops, shared_loads_per_fma, tile_intensity, tiled


def test_compulsory_traffic_reads_inputs_once_and_writes_c_once():
    assert compulsory(4092, 4092, 4092, beta=1.0).total == 4 * 4 * 4092**2
    assert compulsory(2, 3, 5).total == 4 * (2 * 5 + 5 * 3 + 2 * 3)


def test_the_naive_kernel_asks_for_550_gigabytes_at_4096():
    traffic = tiled(4096, 4096, 4096, 1, 1)
    assert traffic.loads == 2 * 4096**3 * 4
    assert traffic.total == 4096**2 * (2 * 4096 + 1) * 4
    assert round(traffic.total / 1e9) == 550
    assert traffic.intensity == pytest.approx(0.25, rel=1e-3)


def test_a_tile_divides_the_loads_by_its_side():
    naive, shared = (tiled(256, 256, 256, side, side) for side in (1, 32))
    assert naive.loads == 32 * shared.loads
    assert tile_intensity(32, 32) == 32 / 4
    assert shared.flops / shared.loads == tile_intensity(32, 32)


def test_a_partial_tile_still_loads_whole_rows_and_columns():
    traffic = tiled(100, 90, 77, 32, 32)
    assert traffic.load_A == 4 * 100 * 77 * 3
    assert traffic.load_B == 4 * 77 * 90 * 4


def test_flops_count_a_multiply_and_an_add_for_each_product():
    assert flops(2, 3, 5) == 60


def test_register_tiles_lower_the_shared_loads_of_an_fma():
    assert [shared_loads_per_fma(*tile) for tile in ((1, 1), (8, 1), (8, 8))] == [2.0, 1.125, 0.25]
