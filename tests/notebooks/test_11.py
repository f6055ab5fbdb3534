"""Notebook 11: what its prose says of lanes, wavefronts and speeds is what was counted and recorded."""

import re

import numpy as np
import pytest

from gemm_kernels import get
from helpers import course
from helpers.exercises import n11
from helpers.measure import registers
from helpers.measure.states import states
from helpers.pictures.bank_board.facts import SharedAccess, places
from helpers.pictures.budget import facts as budget
from helpers.pictures.hierarchy import explorer as hierarchy
from helpers.pictures.hierarchy.explorer import LANE_MAPS, ZIGZAG
from helpers.pictures.hierarchy.facts import levels_of
from tests.notebooks.support import H200, answered, counters, gain, prose, sources

LOADS = "smsp__sass_inst_executed_op_shared_ld.sum"
WAVES = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
FMAS = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
MOVED = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("exercises.n11.check_floats", "WM, WN = None, None", "WM, WN = 32, 32"),
    ],
)
def test_what_a_learner_writes_in_an_exercise_reaches_its_check(call, before, after):
    assert answered("11", call, before, after).passed


@pytest.fixture(scope="module")
def wavefronts():
    """(lane map or kernel) -> wavefronts of a load of As and of Bs, counted in the machine code."""
    tile = hierarchy.shown(n11.TILE)
    kernels = {name: hierarchy.with_lane_map(tile, name) for name in LANE_MAPS}
    kernels["strip"] = hierarchy.shown(get("async_copy"))
    return {
        name: tuple(levels_of(kernel).loads[0][tile].each for tile in ("As", "Bs")) for name, kernel in kernels.items()
    }


def test_only_the_zigzag_has_two_wavefronts_for_both_loads(wavefronts):
    assert wavefronts["strip"] == wavefronts["row by row"] == (2, 4) and wavefronts["column by column"] == (4, 2)
    assert wavefronts[ZIGZAG] == (2, 2)


def test_zigzag_neighbours_share_their_row_or_their_column():
    rows = 8  # LANES_Y of the tile of the notebook
    zigzag = [(lane // 2 % rows, lane // 2 // rows * 2 + lane % 2) for lane in range(32)]
    assert len(set(zigzag)) == 32 and zigzag[5] == (2, 1)
    assert all(zigzag[i][0] == zigzag[i ^ 1][0] and zigzag[i][1] == zigzag[i ^ 2][1] for i in range(32))


def test_the_other_lane_map_that_the_notebook_gives_away_passes():
    assert n11.TILE.params["WM"] // n11.TILE.params["TM"] == 8
    formulas = re.search(r'lane_y = "([^"]+)" and lane_x = "([^"]+)"', prose("11"))
    assert formulas and n11.check_lane_map(*formulas.groups()).passed


def test_fewer_blocks_than_sms_lose_large_matrices_gain_a_little():
    for size in (256, 512, 1024, 2048, 4096, 8192):
        won = gain("warptiled", "async_copy", size)
        few = np.prod(get("async_copy").grid(size, size)) < H200.sms
        assert won < -0.3 if few else 0 < won < 0.06, (size, won)
    assert counters("warptiled")[WAVES.format("ld")] * 2 == counters("async_copy")[WAVES.format("ld")]


def test_shared_loads_outlast_fmas_only_with_conflicts():
    share = {}
    for name in ("block_tile_2d", "padded", "interleaved", "async_copy", "warptiled"):
        share[name] = counters(name)[WAVES.format("ld")] / (counters(name)[FMAS] / 32 / 4)
    assert min(share["block_tile_2d"], share["padded"]) > 1 > max(share["async_copy"], share["warptiled"])
    assert gain("interleaved", "block_tile_2d", 4096) > 3 * gain("warptiled", "async_copy", 4096)


def test_warp_tiles_regain_most_of_what_async_copies_lost():
    assert 0 < gain("ping_pong", "warptiled", 4096) < 0.4 * gain("ping_pong", "async_copy", 4096)


def test_serpentine_moves_what_warptiled_moves_and_is_faster():
    with_serpentine, other = counters("serpentine"), counters("warptiled")
    names = (
        LOADS,
        *(WAVES.format(op) for op in ("ld", "st")),
        *(MOVED.format(what) for what in ("requests", "sectors")),
    )
    assert all(with_serpentine[name] == other[name] for name in names)
    assert gain("serpentine", "warptiled", 4096) > 0.01


def test_thread_of_the_largest_tile_reads_six_times_its_warp():
    p = get("warptiled").params
    thread, warp = ((p[a] + p[b]) / (p[a] * p[b]) for a, b in (("TM", "TN"), ("WM", "WN")))
    assert thread == 6 * warp


def test_async_copies_are_in_no_recorded_counter():
    assert all(counters(name)[WAVES.format("st")] == 0 for name in ("async_copy", "warptiled"))


def test_eight_lanes_by_hand_need_the_floats_of_their_edges():
    rows = re.findall(r"\| (\d) × (\d) \| (\d+) × (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", prose("11"))
    assert len(rows) == 3
    for down, across, *sums in (tuple(map(int, row)) for row in rows):
        height, width = 2 * down, 2 * across
        assert down * across == 8 and sums == [height, width, height, width, height + width, height * width]
    before, after = (int(row[6]) for row in rows[:2])
    assert before - after == before / 3


def test_the_learner_s_kernel_has_wavefronts_row_by_row():
    loads = levels_of(hierarchy.shown(course.kernel("warp_tile"))).loads[0]
    assert (loads["As"].each, loads["Bs"].each) == (2, 4)


def test_eight_lanes_by_hand_stand_where_the_blanks_formulas_say():
    (block_of_code,) = (block for block in re.findall(r"```(.*?)```", prose("11")) if "zigzag" in block)
    digits = [int(digit) for digit in re.findall(r"\d", block_of_code)]
    maps = [digits[4 * n : 4 * n + 4] + digits[12 + 4 * n : 16 + 4 * n] for n in range(3)]
    lane = np.arange(8)
    places = ((lane // 4, lane % 4), (lane % 2, lane // 2), (lane // 2 % 2, lane // 2 // 2 * 2 + lane % 2))
    for (row, column), drawn in zip(places, maps, strict=True):
        assert [drawn.index(number) for number in lane] == (4 * row + column).tolist()


@pytest.mark.parametrize("name", ["async_copy", "warptiled"])
def test_registers_lose_many_more_cycles_than_shared_memory(name):
    parts, recorded = budget.k_step(name).parts, states(name, 2048)
    assert parts["dispatch_stall"] > 3 * (parts["short_scoreboard"] + parts.get("mio_throttle", 0))
    wavefronts = recorded.metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]
    assert wavefronts / H200.sms / recorded.metrics["smsp__cycles_active.avg"] < 0.7, "never busy all the time"


def test_ping_pong_beats_warp_tiles_and_the_last_step_beats_it():
    assert gain("ping_pong", "warptiled", 4096) > 0 and gain("serpentine", "ping_pong", 4096) > 0


@pytest.mark.parametrize("name", ["warp_tile", "unmerged_lanes"])
def test_lanes_of_a_store_to_unpadded_as_meet_in_the_same_banks(name):
    stores = [access for spot, accesses in places(hierarchy.shown(course.kernel(name))).items() if spot.op == "st"
              and spot.name.endswith("As") for access in accesses]  # fmt: skip
    assert stores and all(store.wavefronts > store.needed for store in stores)


def test_merging_rule_holds_for_lanes_that_differ_in_one_half():
    names: dict = {}
    (code,) = (source for source in sources("11", "code") if source.startswith("def busiest("))
    exec(code, names)
    lanes = np.arange(32)
    patterns = [lanes // 2 * 16, lanes // 4 * 4 * 16 + lanes % 2 * 16, lanes * 16, lanes * 0, lanes // 2 * 32,
                np.where(lanes < 16, lanes // 2, lanes) * 16, np.where(lanes < 16, lanes, lanes // 2) * 16,
                lanes // 2 * 128]  # fmt: skip
    for addresses in patterns:
        access = SharedAccess("load from As", "ld", 16, addresses.astype(np.int64), np.ones(32, bool))
        assert names["wavefronts_128"](addresses.tolist()) == access.wavefronts, addresses


def test_measured_lane_map_gains_no_more_than_its_bound():
    rows, zigzag = (registers.recorded(name, kind="own").tflops for name in ("row by row", "zigzag"))
    assert 0 < zigzag / rows - 1 < 0.03
