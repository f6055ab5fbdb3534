"""Notebook 11: what its prose says of the space, of predictors and of the search is counted and recorded."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers.analysis import landscape
from helpers.analysis.block_shapes import rank_correlation
from helpers.measure.tuning import busy, space, suits
from tests.notebooks.support import H200, answered, gain, linked_terms, said, speeds


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"autotuning", "configuration", "rank correlation"}
    assert terms <= linked_terms("11")


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("legal_tiles.check", "my_answer = None", "my_answer = 12"),
        ("rounds_of_blocks.check", "my_answer = None", "my_answer = 4"),
        ("small_matrix.check", "BM=128, BN=128, BK=8, TM=8, TN=8", "BM=32, BN=32, BK=8, TM=4, TN=4"),
        ("check_configuration", '"WM": 64, "WN": 64, "TM": 8, "TN": 8}', '"WM": 32, "WN": 32, "TM": 8, "TN": 4}'),
    ],
)
def test_what_a_learner_writes_in_the_cell_of_an_exercise_reaches_its_check(call, before, after):
    assert answered("11", call, before, after).passed


def test_the_parameters_are_as_many_as_the_prose_says():
    (nine,) = said("11", r"our kernel has (\w+) parameters")
    assert len(get("warptiled").params) == nine == said("10", r"A kernel has (\w+) parameters")[0]
    assert {*get(landscape.KERNEL).params} - {*get("warptiled").params} == {"SLICES"}
    fewest, most, several = said("11", r"Take (\w+) to (\w+) values for each of (\w+) parameters")
    found = [len(values) for values in landscape.SPACE.values()]
    assert len(found) == several and fewest <= min(found) <= max(found) <= most
    assert all(value & (value - 1) == 0 for values in landscape.SPACE.values() for value in values)
    assert get(landscape.KERNEL).params["SLICES"] == 1, "Here it is 1."


def test_most_combinations_fall_to_the_rule_of_the_32_lanes_and_less_than_a_tenth_is_legal():
    broken = [one.broken for one in landscape.space()]
    assert sum("the lanes of a warp" in rule for rule in broken) > len(broken) / 2
    assert broken.count("") < len(broken) / 10


def test_three_predictors_have_three_winners_and_the_one_with_the_fewest_reads_spills():
    predicted = landscape.landscape_of(H200)
    best = {by: predicted.best(by) for by in ("occupancy", "intensity", "floats_a_fma")}
    assert len({tuple(one.params.values()) for one in best.values()}) == 3
    assert best["floats_a_fma"].predicted.limiter == "spills"
    assert max(best["occupancy"].params[name] for name in ("TM", "TN")) == 4, "Occupancy wants small patches"


def test_the_large_tile_is_as_bad_at_2304_as_the_speaker_says():
    shares = {size: busy(128, 256, size, size, H200.sms) for size in (2048, 2304)}
    assert shares[2304] < 0.65 and shares[2048] > 0.95


def test_no_predictor_orders_every_size_and_at_4096_occupancy_orders_it_the_wrong_way_round():
    agree = {by: [] for by in ("occupancy", "intensity", "floats_a_fma")}
    for size in (256, 1024, 4096):
        run = [one for one in landscape.landscape_of(H200, size).legal if one.gflops]
        for by, found in agree.items():
            sign = -1 if by == "floats_a_fma" else 1
            found.append(rank_correlation([sign * one.value(by) for one in run], [one.gflops for one in run]))
    assert all(min(found) < 0.3 for found in agree.values())
    assert agree["occupancy"][-1] < -0.3


def test_all_that_was_measured_is_a_candidate_and_not_exactly_what_suits_today():
    candidates = {tuple(one.items()): one for one in space(H200)}
    differ = []
    for size in (256, 1024, 4096):
        run = {tuple(one.params.items()) for one in landscape.landscape_of(H200, size).legal if one.gflops}
        assert run <= candidates.keys()
        differ.append(run != {key for key, one in candidates.items() if suits(one, (size,) * 3, H200.sms)})
    assert any(differ), "the prose says that *suits* was changed a little after the search"


def test_the_search_bought_next_to_nothing_at_large_squares_and_very_much_at_small_ones():
    gains = {size: gain("autotuned", "rasterized", size) for size in (256, 512, 1024, 2048, 4096)}
    assert all(abs(gains[size]) < 0.03 for size in (2048, 4096)) and all(gains[size] > 1 for size in (256, 512, 1024))


def test_small_tiles_win_at_small_sizes_and_large_ones_at_large_sizes():
    areas = []
    for size in (128, 256, 512, 1024, 2048, 4096):
        by_hand = {name: gflops for name, gflops in speeds(size).items() if not get(name).chosen_by_shape}
        areas.append(int(np.prod(get(max(by_hand, key=by_hand.get)).tile)))
    assert areas == sorted(areas) and areas[-1] > 4 * areas[0]
