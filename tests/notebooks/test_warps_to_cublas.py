"""Notebooks 10 to 12: their terms are in the glossary, and what their prose says of counts and recordings is so."""

import re
from pathlib import Path

import numpy as np
import pytest

from gemm_kernels import LADDER, autotuned, get
from helpers import devices, exercises
from helpers.analysis import landscape
from helpers.analysis.block_shapes import rank_correlation
from helpers.analysis.ladder import ladder_of
from helpers.authoring.notebooks import form
from helpers.exercises import n10, n11, n12
from helpers.explore import hierarchy
from helpers.explore.hierarchy import LANE_MAPS, ZIGZAG, Tiled
from helpers.measure import profiles, recordings
from helpers.measure.tuning import busy, space, suits

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
H200 = devices.get("NVIDIA H200")
SQUARES, OTHERS = (ladder_of(H200.name, suite) for suite in ("ladder", "shapes"))
LOADS = "smsp__sass_inst_executed_op_shared_ld.sum"
WAVES = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
FMAS = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
MOVED = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"


def cells(number: str, kind: str) -> list[str]:
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    found = form.read(path.read_text(encoding="utf-8")).cells
    return [cell.source for cell in found if cell.cell_type == kind]


def prose(number: str) -> str:
    """The Markdown of a notebook, on one line."""
    return " ".join(" ".join(cells(number, "markdown")).split())


def speeds(*shape: int) -> dict[str, float]:
    """kernel -> GFLOPS as recorded; one number stands for a cube."""
    cube = shape * 3 if len(shape) == 1 else shape
    data = SQUARES if cube in SQUARES.shapes else OTHERS
    return {name: point.gflops for name, point in data.at(cube).items()}


def gain(new: str, old: str, *shape: int) -> float:
    return speeds(*shape)[new] / speeds(*shape)[old] - 1


def counters(name: str) -> dict[str, float]:
    return dict(profiles.profile(get(name), 1024, 1024, 1024).counters)


@pytest.mark.parametrize(
    ("number", "terms"),
    [
        ("10", {"warp tile", "lane map"}),
        ("11", {"autotuning", "configuration", "rank correlation"}),
        ("12", {"quartiles", "geometric mean", "split-K", "epilogue", "staged epilogue", "rasterization"}),
    ],
)
def test_the_terms_that_a_notebook_explains_are_linked_to_the_glossary(number, terms):
    assert terms <= set(re.findall(r"\[\*\*([^\]*]+)\*\*\]\(glossary\.md\)", prose(number)))


@pytest.mark.parametrize(
    ("number", "call", "before", "after"),
    [
        ("10", "warp_reads.check", "my_answer = None", "my_answer = 96"),
        ("10", "n10.check_floats", "WM, WN = None, None", "WM, WN = 32, 64"),
        ("10", "n10.check_wavefronts", "my_answer = None", "my_answer = 6"),
        ("10", "warp_place.check", "warp_row = warp % (BM / WM)", "warp_row = warp / (BN / WN)"),
        ("10", "lane_map.check", "lane / 8, lane_x = lane % 8", "lane / 2 % 4, lane_x = lane / 8 * 2 + lane % 2"),
        ("11", "legal_tiles.check", "my_answer = None", "my_answer = 12"),
        ("11", "rounds_of_blocks.check", "my_answer = None", "my_answer = 4"),
        ("11", "small_matrix.check", "BM=128, BN=128, BK=8, TM=8, TN=8", "BM=32, BN=32, BK=8, TM=4, TN=4"),
        ("11", "check_configuration", '"WM": 64, "WN": 64, "TM": 8, "TN": 8}', '"WM": 32, "WN": 32, "TM": 8, "TN": 4}'),
        ("12", "n12.check_share", "my_answer = None", "my_answer = 51.4"),
        ("12", "n12.check_full", "my_answer = None", "my_answer = 2304"),
        ("12", "n12.check_group", "rows_together = None", "rows_together = 16"),
    ],
)
def test_what_a_learner_writes_in_the_cell_of_an_exercise_reaches_its_check(number, call, before, after):
    (source,) = [source for source in cells(number, "code") if f"{call}(" in source]
    assert source.count(before) == 1
    graded = ("warp_reads", "warp_place", "lane_map", "legal_tiles", "rounds_of_blocks", "small_matrix")
    names = {one: exercises.get(one) for one in graded}
    names |= {"n10": n10, "n12": n12, "n11": n11}
    shown = []
    lines = source.replace(before, after).split("\n")
    checked = next(number for number, line in enumerate(lines) if f"{call}(" in line)
    if not lines[checked].startswith("display("):
        lines[checked] = f"display({lines[checked]})"
    exec("\n".join(lines), {**names, "display": lambda *what: shown.extend(what)})
    assert shown[-1].passed is True, shown[-1]


# --- notebook 10


@pytest.fixture(scope="module")
def wavefronts():
    """(lane map or kernel) -> wavefronts of a load of As and of Bs, counted in the machine code."""
    tile = Tiled.of(n10.TILE)
    kernels = {name: hierarchy.with_lane_map(tile, name) for name in LANE_MAPS} | {"strip": Tiled.of(get("async_copy"))}
    return {
        name: tuple(hierarchy.levels_of(one)[0].loads[0][tile].each for tile in ("As", "Bs"))
        for name, one in kernels.items()
    }


def test_only_the_zigzag_has_two_wavefronts_for_both_loads(wavefronts):
    assert "three on average: two for each load of A, four for each load of B" in prose("10")
    assert wavefronts["strip"] == (2, 4)
    assert "row by row costs no fewer wavefronts than the old strip, column by column the same" in prose("10")
    assert wavefronts["row by row"] == (2, 4) and wavefronts["column by column"] == (4, 2)
    assert "only the zigzag has two for both" in prose("10") and wavefronts[ZIGZAG] == (2, 2)


def test_neighbours_in_the_zigzag_share_their_row_or_their_column():
    assert "Lanes i and i ^ 1 differ in `lane % 2` alone, so they share `lane_y`" in prose("10")
    assert "*(4 and 5 the row, 4 and 6 the column.)*" in prose("10") and "*(2 and 1.)*" in prose("10")
    rows = 8  # LANES_Y of the tile of the notebook
    place = [(lane // 2 % rows, lane // 2 // rows * 2 + lane % 2) for lane in range(32)]
    assert len(set(place)) == 32 and place[5] == (2, 1)
    assert all(place[i][0] == place[i ^ 1][0] and place[i][1] == place[i ^ 2][1] for i in range(32))


def test_the_other_lane_map_that_the_notebook_gives_away_passes():
    assert n10.TILE.params["WM"] // n10.TILE.params["TM"] == 8
    told = re.search(r'lane_y = "([^"]+)" and lane_x = "([^"]+)"', prose("10"))
    assert told and n10.check_lane_map(*told.groups()).passed


def test_small_matrices_lose_where_blocks_are_fewer_than_sms_and_large_ones_gain_a_few_per_cent():
    assert "where they are fewer than SMs the other SMs have nothing to do" in prose("10")
    for size in (256, 512, 1024, 2048, 4096, 8192):
        won = gain("warptiled", "async_copy", size)
        few = np.prod(get("warptiled").grid(size, size)) < 0.9 * H200.sms
        assert won < -0.3 if few else 0 < won < 0.06, (size, won)
    assert counters("warptiled")[WAVES.format("ld")] * 2 == counters("async_copy")[WAVES.format("ld")]


def test_shared_memory_needs_more_cycles_than_the_fmas_only_before_the_conflicts_are_gone():
    assert "Above 100 % shared memory needs more cycles than the FMAs do" in prose("10")
    share = {}
    for name in ("block_tile_2d", "padded", "interleaved", "async_copy", "warptiled"):
        waves = sum(counters(name)[WAVES.format(op)] for op in ("ld", "st"))
        share[name] = waves / (counters(name)[FMAS] / 32 / 4)
    assert min(share["block_tile_2d"], share["padded"]) > 1 > max(share["async_copy"], share["warptiled"])
    assert gain("interleaved", "block_tile_2d", 4096) > 3 * gain("warptiled", "async_copy", 4096)


def test_serpentine_moves_what_warptiled_moves_and_is_faster():
    assert "the same bytes in the same requests as warptiled; its speed is another" in prose("10")
    one, other = counters("serpentine"), counters("warptiled")
    names = (
        LOADS,
        *(WAVES.format(op) for op in ("ld", "st")),
        *(MOVED.format(what) for what in ("requests", "sectors")),
    )
    assert all(one[name] == other[name] for name in names)
    assert gain("serpentine", "warptiled", 4096) > 0.01


def test_a_thread_of_the_largest_tile_reads_six_times_the_floats_of_its_warp_for_an_fma():
    assert "(64 + 64) / (64 · 64) for the warp; (16 + 8) / (16 · 8) for the thread, six times as much" in prose("10")
    p = get("warptiled").params
    thread, warp = ((p[a] + p[b]) / (p[a] * p[b]) for a, b in (("TM", "TN"), ("WM", "WN")))
    assert (p["WM"], p["WN"], p["TM"], p["TN"]) == (64, 64, 16, 8) and thread == 6 * warp


# --- notebook 11


def test_the_parameters_are_as_many_as_the_prose_says():
    assert "Our kernel has nine parameters by now" in prose("11") and "A kernel has nine parameters" in prose("10")
    assert len(get("warptiled").params) == 9 and {*get(landscape.KERNEL).params} - {*get("warptiled").params} == {
        "SLICES"
    }
    assert "Take two to four values for each of seven parameters, all powers of two." in prose("11")
    assert len(landscape.SPACE) == 7 and all(2 <= len(values) <= 4 for values in landscape.SPACE.values())
    assert all(value & (value - 1) == 0 for values in landscape.SPACE.values() for value in values)
    assert get(landscape.KERNEL).params["SLICES"] == 1, "Here it is 1."


def test_most_combinations_fall_to_the_rule_of_the_32_lanes_and_less_than_a_tenth_is_legal():
    assert "Most fall to one rule: a warp has 32 lanes." in prose("11")
    broken = [one.broken for one in landscape.space()]
    assert sum("the lanes of a warp" in rule for rule in broken) > len(broken) / 2
    assert broken.count("") < len(broken) / 10


def test_three_predictors_have_three_winners_and_the_one_with_the_fewest_reads_spills():
    assert "Three predictors, three winners" in prose("11")
    predicted = landscape.landscape_of(H200)
    best = {by: predicted.best(by) for by in ("occupancy", "intensity", "floats_a_fma")}
    assert len({tuple(one.params.values()) for one in best.values()}) == 3
    assert best["floats_a_fma"].predicted.limiter == "spills"
    assert max(best["occupancy"].params[name] for name in ("TM", "TN")) == 4, "Occupancy wants small patches"


def test_the_large_tile_is_as_bad_at_2304_as_the_speaker_says():
    shares = {size: busy(128, 256, size, size, H200.sms) for size in (2048, 2304)}
    assert shares[2304] < 0.65 and shares[2048] > 0.95 and "Why is 2304 so bad for the large tile" in prose("11")


def test_no_predictor_orders_every_size_and_at_4096_occupancy_orders_it_the_wrong_way_round():
    assert "None of the predictors is good at every size" in prose("11")
    agree = {by: [] for by in ("occupancy", "intensity", "floats_a_fma")}
    for size in (256, 1024, 4096):
        run = [one for one in landscape.landscape_of(H200, size).legal if one.gflops]
        for by, found in agree.items():
            sign = -1 if by == "floats_a_fma" else 1
            found.append(rank_correlation([sign * one.value(by) for one in run], [one.gflops for one in run]))
    assert all(min(found) < 0.3 for found in agree.values())
    assert agree["occupancy"][-1] < -0.3


def test_all_that_was_measured_is_a_candidate_and_not_exactly_what_suits_today():
    assert "All that was measured is among the candidates of step 5." in prose("11")
    candidates = {tuple(one.items()): one for one in space(H200)}
    differ = []
    for size in (256, 1024, 4096):
        run = {tuple(one.params.items()) for one in landscape.landscape_of(H200, size).legal if one.gflops}
        assert run <= candidates.keys()
        differ.append(run != {key for key, one in candidates.items() if suits(one, (size,) * 3, H200.sms)})
    assert any(differ) == ("*suits* was changed a little after the search" in prose("11"))


def test_the_search_bought_next_to_nothing_at_large_squares_and_very_much_at_small_ones():
    assert "For large squares next to nothing" in prose("11")
    gains = {size: gain("autotuned", "rasterized", size) for size in (256, 512, 1024, 2048, 4096)}
    assert all(abs(gains[size]) < 0.03 for size in (2048, 4096)) and all(gains[size] > 1 for size in (256, 512, 1024))


def test_small_tiles_win_at_small_sizes_and_large_ones_at_large_sizes():
    assert "At small sizes small tiles win, by far; at large sizes large ones do." in prose("11")
    areas = []
    for size in (128, 256, 512, 1024, 2048, 4096):
        by_hand = {name: gflops for name, gflops in speeds(size).items() if not get(name).chosen_by_shape}
        areas.append(int(np.prod(get(max(by_hand, key=by_hand.get)).tile)))
    assert areas == sorted(areas) and areas[-1] > 4 * areas[0]


# --- notebook 12


def shares() -> dict[tuple[int, int, int], float]:
    """Shape -> the ladder's best over cuBLAS, with the squares that only the search has timed."""
    found = n12.shares()
    for one in recordings.load(H200.name, "finals"):
        shape = (one.M, one.N, one.K)
        if shape not in (*SQUARES.shapes, *OTHERS.shapes):
            found[shape] = max(one.of_cublas, found.get(shape, 0))
    return found


def test_the_shapes_that_are_lost_are_the_four_that_the_notebook_explains():
    lost = {shape for shape, share in shares().items() if share < 1}
    assert lost == {(1, 4096, 4096), (1536,) * 3, (2049,) * 3, (128, 4096, 4096)}
    assert "Four shapes are lost even by the best kernel of the ladder up to *autotuned*." in prose("12")
    assert "**1 × 4096 × 4096**" in prose("12") and "**1536** and **2049**" in prose("12")
    assert not {shape for shape in lost if shape in SQUARES.shapes}


def test_the_lost_squares_come_out_uneven_and_the_flat_one_does_not():
    assert "A few SMs get a block more than the others" in prose("12") and "all SMs are used" in prose("12")
    for size in (1536, 2049):
        one = autotuned(size, size, size)
        blocks = np.prod(one.grid(size, size))
        assert busy(*one.tile, size, size, H200.sms) < 0.8 and 0 < blocks % H200.sms < H200.sms / 3
    flat = autotuned(128, 4096, 4096)
    assert busy(*flat.tile, 128, 4096, H200.sms) > 0.95 and np.prod(flat.tile) < np.prod(get("serpentine").tile) / 4
    assert autotuned(1, 4096, 4096).tile[0] > 8, "nearly all of the tile is not there"


def test_no_single_kernel_is_as_good_as_cublas_everywhere():
    assert "No single kernel of the ladder is as good as cuBLAS everywhere." in prose("12")
    for kernel in LADDER:
        found = [
            data.at(shape)[kernel.name].of_cublas
            for data in (SQUARES, OTHERS)
            for shape in data.shapes
            if kernel.name in data.at(shape)
        ]
        assert min(found) < 1, kernel.name
        if not kernel.chosen_by_shape:
            assert np.exp(np.mean(np.log(found))) < 1, kernel.name


def test_the_coalesced_kernel_is_the_step_that_bought_most_at_4096():
    here = speeds(4096)
    order = ["naive", "coalesced", "shared_memory", "block_tile_1d", "block_tile_2d", "padded", "interleaved"]
    steps = {new: here[new] / here[old] for old, new in zip(order, order[1:], strict=False)}
    assert max(steps, key=steps.get) == "coalesced" and "*(The coalesced kernel, by far" in prose("12")


def test_split_k_wins_where_rasterized_has_no_block_for_most_sms():
    assert "at 512 it wins all the same, because nearly all SMs have work" in prose("12")
    assert all(gain("split_k", "rasterized", size) > 1 for size in (128, 256, 512, 1024))
    assert all(gain("split_k", "rasterized", size) < 0 for size in (2048, 4096))
    assert 0.9 < np.prod(get("split_k").grid(512, 512)) / H200.sms <= 1


def test_short_sums_turn_the_order_of_the_kernels_around():
    assert "the order of the kernels is turned around here" in prose("12")
    short, long = speeds(4096, 4096, 128), speeds(4096)
    assert short["ping_pong"] > short["serpentine"] and long["ping_pong"] < long["serpentine"]
    assert gain("staged_epilogue", "wide_copies", 4096, 4096, 128) > 5 * abs(
        gain("staged_epilogue", "wide_copies", 4096)
    )


def test_the_counters_of_the_last_kernels_are_what_the_prose_says():
    assert "*wide_copies* halves the requests and saves instructions." in prose("12")
    before, wide, staged = (counters(name) for name in ("serpentine", "wide_copies", "staged_epilogue"))
    assert 0.45 < wide[MOVED.format("requests")] / before[MOVED.format("requests")] < 0.55
    assert wide["smsp__inst_executed.sum"] < before["smsp__inst_executed.sum"]
    p = get("staged_epilogue").params
    assert staged["launch__shared_mem_per_block_dynamic"] == 4 * p["BM"] * p["BN"], "for a whole tile of C"
    sectors = MOVED.format("sectors")
    assert counters("rasterized")[sectors] == staged[sectors] == wide[sectors] == before[sectors]
    assert counters("split_k")[sectors] > 3 * before[sectors], "several times the sectors"


def test_rasterization_buys_about_a_per_cent():
    assert "*(A per cent.)*" in prose("12")
    shapes = ((4096,), (8192, 1024, 4096), (8192,))
    assert all(0 < gain("rasterized", "staged_epilogue", *shape) < 0.02 for shape in shapes)


def test_a_kernel_that_is_good_at_4096_is_at_less_than_half_the_speed_of_cublas_at_512():
    assert "at less than half its speed at 512" in prose("12")
    for name in ("serpentine", "rasterized"):
        assert SQUARES.at((4096,) * 3)[name].of_cublas > 0.95 and SQUARES.at((512,) * 3)[name].of_cublas < 0.5


def test_what_the_explorer_s_questions_should_have_found():
    small = [size for size in (128, 256, 512, 1024, 2048) if gain("shared_memory", "serpentine", size) > 0]
    assert small == [128, 256, 512] and "At the small ones, where their small tiles give many blocks." in prose("12")
    assert "At the largest squares, both of them." in prose("12")
    every = [data.at(shape)["autotuned"] for data in (SQUARES, OTHERS) for shape in data.shapes]
    fastest = [max(every, key=lambda point: point.gflops), max(every, key=lambda point: point.cublas)]
    assert all(len({*point.shape}) == 1 and point.shape[0] >= 4096 for point in fastest)


def test_the_larger_tile_is_the_better_one_from_2048_on_and_odd_rows_cost_tuned_less_than_cublas():
    assert "From 2048 on: it is the first size at which the larger tile, too, gives nearly every SM a block." in prose(
        "12"
    )
    assert all(gain("serpentine", "ping_pong", size) < 0 for size in (256, 512, 1024))
    assert all(gain("serpentine", "ping_pong", size) > 0 for size in (2048, 4096))
    assert np.prod(get("serpentine").grid(2048, 2048)) > 0.9 * H200.sms
    assert "cuBLAS loses a larger part than <i>stream_k</i>" in prose("12")
    assert "and a smaller one than <i>autotuned</i>" in prose("12")
    for odd, even in ((4095, 4096), (2049, 2048)):
        last, searched = (speeds(odd)[name] / speeds(even)[name] for name in ("stream_k", "autotuned"))
        cublas = [data.cublas((size,) * 3) for data, size in ((OTHERS, odd), (SQUARES, even))]
        assert searched < cublas[0] / cublas[1] < last < 1
