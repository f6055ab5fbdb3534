"""Notebook 08: what its prose says of paddings and swizzles is what the banks do and what was recorded."""

import re

import numpy as np
import pytest

from gemm_kernels import get, launch_of
from gpusim.errors import Misaligned
from helpers import course, exercises, run
from helpers.measure.states import states
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.bank_board.facts import places
from helpers.pictures.bank_board.tile_store import Tile, tile_access
from helpers.pictures.budget import facts as budget
from helpers.pictures.load_to_use.facts import load_to_use
from tests.notebooks.support import SIZES, answered, counters, gain, prose

WAVES = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"


def test_transposed_the_loads_stay_wide_without_unrolling():
    def requests(name):
        source = exercises.get(name).solved.replace("for (int k = 0;", "\n#pragma unroll 1\nfor (int k = 0;")
        recording = run.record(launch_of(course.kernel(name), 64, 64, 64).with_source(source))
        return recording.total("requests", "shared", "ld") / (recording.counters[FFMA] / 32)

    assert requests("turned") == 0.125 < requests("patch")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("padding", "PAD = 0", "PAD = 4"),
        ("transpose_tile", 'declaration = "tile[T][T]"', 'declaration = "tile[T][T + 1]"'),
        ("swizzle", 'place_of_row = "row"', 'place_of_row = "row ^ (4 * k)"'),
    ],
)
def test_what_a_learner_writes_in_an_exercise_reaches_its_check(name, before, after):
    assert answered("08", f"{name}.check", before, after).passed


def test_swizzle_always_beats_padding_transposing_often_loses():
    assert sum(gain("transposed", "block_tile_2d", size) < 0 for size in SIZES) > len(SIZES) / 2
    assert all(gain("swizzled", "padded", size) > 0 for size in SIZES)
    instructions = {name: counters(name)["smsp__inst_executed.sum"] for name in ("padded", "swizzled")}
    assert 1 < instructions["swizzled"] / instructions["padded"] < 1.1


def test_repaired_loads_save_more_wavefronts_than_padding():
    def waves(name, op):
        return counters(name)[f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"]

    saved_by_padding = waves("transposed", "st") - waves("padded", "st")
    assert 0 < saved_by_padding < waves("padded", "ld") - waves("interleaved", "ld")
    assert all(gain("interleaved", "padded", size) > gain("padded", "transposed", size) for size in SIZES)


def test_padding_regains_transposings_loss_from_2048_on():
    for size in SIZES:
        assert gain("padded", "transposed", size) > 0
        assert (gain("padded", "block_tile_2d", size) > 0) == (size >= 2048)


def test_padding_wins_most_where_matrices_are_large():
    gains = [gain("padded", "transposed", size) for size in SIZES]
    assert min(gains[3:]) > max(gains[:3])


def test_the_answers_of_the_bank_board_s_questions_are_right():
    free = [pad for pad in range(9) if tile_access(Tile(32, pad, down=32)).wavefronts == 1]
    assert free == [1, 3, 5, 7]
    free = [pad for pad in range(9) if tile_access(Tile(32, pad, down=8)).wavefronts == 1]
    assert free == [4]
    fewest, refused = [], []
    for pad in range(9):
        try:
            fewest.append(tile_access(Tile(32, pad, down=8, bits=128)).wavefronts)
        except Misaligned:
            refused.append(pad)
    assert min(fewest) == 4 and refused == [pad for pad in range(9) if pad % 4]


def test_recall_questions_padding_is_the_least_without_conflicts():
    assert [tile_access(Tile(64, pad, down=16)).wavefronts == 1 for pad in range(3)] == [False, False, True]


def test_a_third_of_the_cycles_issues_nothing_without_conflicts():
    assert 0.30 < 1 - states("interleaved", 2048).issuing < 0.36
    assert budget.k_step("interleaved").largest == "long_scoreboard"


def test_rows_of_132_floats_are_good_and_rows_of_129_are_not():
    assert [tile_access(Tile(128, padding, down=8)).wavefronts for padding in (0, 4, 1)] == [8, 1, 4]


def test_tile_of_notebook_04_costs_1_5_wavefronts_no_conflict():
    by_place = places(bank_board.shown(get("shared_memory")))
    loads = {spot.name[-2:]: accesses for spot, accesses in by_place.items() if spot.op == "ld"}
    assert all(access.wavefronts == access.needed for accesses in loads.values() for access in accesses)
    (each,) = re.findall(r"four wavefronts for B and two for A: 6 / 4 = ([\d.]+) for each k", prose("08"))
    assert float(each) == loads["Bs"][0].wavefronts + loads["As"][0].wavefronts / 4
    assert len(loads["Bs"]) == 4 * len(loads["As"])


def test_transposing_costs_at_memory_more_than_registers_save():
    steps = {name: budget.k_step(name) for name in ("block_tile_2d", "transposed", "padded", "swizzled")}
    shared = {name: step.parts["short_scoreboard"] + step.parts["mio_throttle"] for name, step in steps.items()}
    closed = {name: step.parts["dispatch_stall"] for name, step in steps.items()}
    assert shared["transposed"] > 2 * shared["block_tile_2d"]
    assert closed["transposed"] == pytest.approx(closed["block_tile_2d"] / 3, rel=0.1)
    before, after = (steps[name].parts for name in ("block_tile_2d", "transposed"))
    grown = sum(after[reason] - before[reason] for reason in ("long_scoreboard", "barrier"))
    both = {name: shared[name] + closed[name] for name in steps}
    assert (
        grown > both["block_tile_2d"] - both["transposed"] > 0
        and steps["transposed"].total > steps["block_tile_2d"].total
    )
    assert shared["swizzled"] < shared["padded"] / 2
    stores = {name: counters(name)[WAVES.format("st")] for name in ("block_tile_2d", "transposed")}
    assert stores["transposed"] > 4 * stores["block_tile_2d"]


def test_only_two_kernels_load_far_ahead_of_use():
    far = {name: np.median(load_to_use(get(name))) for name in ("block_tile_2d", "transposed", "padded", "swizzled")}
    assert far["transposed"] == far["padded"] < 10 < 24 < min(far["block_tile_2d"], far["swizzled"])


def test_bank_conflicts_do_not_move_dispatch_stall():
    names = ("block_tile_2d", "transposed", "padded", "swizzled", "interleaved")
    stalls = dict(zip(names, (budget.k_step(name).parts["dispatch_stall"] for name in names), strict=True))
    assert stalls["block_tile_2d"] > 2 * max(stalls[name] for name in names[1:]), "large in the first alone"
    assert stalls["interleaved"] == pytest.approx(stalls["padded"], rel=0.1), "without the conflict it is as in padded"
