"""Notebook 06: what its prose claims is so in the compiler, in the model and in the recordings."""

import math
from collections import Counter

import pytest

from gemm_kernels import get, launch_of
from gpusim.occupancy import occupancy
from helpers import course, cycles, exercises, recordings, run
from helpers.exercises import pairs
from helpers.pictures.traffic import shared_loads_per_fma
from helpers.pictures.vector_width.facts import lines_of
from tests.notebooks.support import H200, speeds

SHARED, ONE_D, TWO_D = (get(name) for name in ("shared_memory", "block_tile_1d", "block_tile_2d"))
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
SIZES = {"BM": 64, "BN": 64, "BK": 8, "TM": 4, "TN": 4}
WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"


def test_tiled_takes_a_quarter_of_a_request_for_a_and_one_for_b():
    launch = launch_of(course.kernel("tiled"), 64, 64, 64)
    (line,) = (line for line in lines_of(launch) if "As[y][k] * Bs[k][x]" in line.text)
    loads = Counter(instruction.split()[0] for instruction in line.sass)
    assert 4 * loads["LDS.128"] == loads["LDS"]  # of A four k at once, of B each by itself
    recording = run.record(launch)
    assert recording.total("requests", "shared", "ld") / (recording.counters[FFMA] / 32) == 1.25


def test_16_by_8_saves_a_quarter_and_nearly_doubles_registers():
    assert shared_loads_per_fma(16, 8) == 0.75 * shared_loads_per_fma(8, 8)
    before, after = (run.compiled(kernel, H200.arch).registers for kernel in (TWO_D, TWO_D.replace(TM=16)))
    assert 1.9 < after / before < 2


def test_halving_both_sides_of_a_patch_doubles_floats_per_fma():
    assert shared_loads_per_fma(4, 4) == 2 * shared_loads_per_fma(8, 8)
    assert TWO_D.replace(TM=4, TN=4).threads == 4 * TWO_D.threads


def test_2d_tile_loses_where_it_leaves_sms_idle():
    for size in (256, 512, 1024, 2048):
        blocks = TWO_D.grid(size, size)
        small = blocks[0] * blocks[1] < H200.sms
        fastest = max((SHARED, ONE_D, TWO_D), key=lambda kernel: recordings.gflops(kernel, size, size, size).gflops)
        assert small == (fastest is not TWO_D) == (size <= 1024)


def test_guarded_kernel_needs_fewer_instructions_than_the_plain():
    plain, guarded = (
        run.record(launch_of(kernel, 64, 64, 1024)) for kernel in (course.kernel("patch"), TWO_D.replace(**SIZES))
    )
    assert guarded.instructions() / guarded.counters[FFMA] < plain.instructions() / plain.counters[FFMA]


def test_options_of_the_small_prediction_match_their_reasons():
    small = exercises.n06.SMALL
    gflops = [recordings.gflops(kernel, small, small, small).gflops for kernel in (SHARED, TWO_D)]
    assert gflops[1] / gflops[0] == pytest.approx(1 / 4, rel=0.05)
    assert [math.prod(kernel.grid(small, small)) for kernel in (SHARED, TWO_D)] == [64, 4]
    assert round(speeds(4096)["block_tile_2d"] / speeds(4096)["shared_memory"], 1) == 3.6
    prediction = exercises.n06.predict_small()
    assert prediction.answer == "a quarter as fast" and "64 blocks" in prediction.reasons[prediction.answer]


def recorded(side: int, depth: int, wide: int = 0) -> float:
    kernel = get("block_tile_2d", BM=64, BN=64, BK=depth, TM=side, TN=wide or side)
    return recordings.gflops(kernel, 2048, 2048, 2048).gflops


def test_a_larger_patch_gains_much_to_4_by_4_and_little_beyond():
    assert recorded(4, 16) > 1.5 * recorded(2, 16) and recorded(8, 16) < 1.1 * recorded(4, 16)


def test_a_tile_twice_as_deep_gains_a_few_per_cent():
    assert all(1.05 < recorded(side, 16) / recorded(side, 8) < 1.1 for side in (4, 8))


def test_8_by_4_is_the_fastest_patch_in_a_tile_of_64_by_64():
    sides = (2, 4, 8)
    assert recorded(8, 16, 4) == max(recorded(tall, 16, wide) for tall in sides for wide in sides)


def test_patches_of_16_and_more_sums_rank_by_wavefronts():
    def wavefronts(tall: int, wide: int) -> float:
        launch = get("block_tile_2d", BM=64, BN=64, BK=16, TM=tall, TN=wide).launch(64, 64, 32)
        return run.record(launch).counters[WAVEFRONTS.format("ld")]

    needed = {patch: wavefronts(*patch) for patch in ((8, 4), (8, 8), (4, 4), (4, 8))}
    speed = {(tall, wide): recorded(tall, 16, wide) for tall, wide in needed}
    assert max(speed, key=speed.get) == min(needed, key=needed.get) == (8, 4)
    assert min(speed, key=speed.get) == max(needed, key=needed.get) == (4, 8)
    assert needed[8, 8] == needed[4, 4], "half as many floats, in as many wavefronts"


def test_naming_a_float_in_each_product_costs_no_more_loads():
    launch = launch_of(course.kernel("strip"), 64, 64, 64)
    text = exercises.get("strip").solved
    named = text.replace("const float b = Bs[k][x];", "").replace("* b;", "* Bs[k][x];")
    assert named.count("Bs[k][x]") == 1 and "const float b" not in named
    plain, other = (run.record(launch.with_source(source)) for source in (text, named))
    assert plain.total("requests", "shared", "ld") == other.total("requests", "shared", "ld")


def test_in_a_line_two_registers_more_cost_a_block_and_speed():
    square, line = (pairs.launches()[name] for name in (pairs.PATCH, pairs.IN_A_LINE))
    taken = [run.compiled(kernel) for kernel in (square, line)]
    assert taken[1].registers == taken[0].registers + 2
    blocks = [occupancy(H200, 256, resources.registers, resources.shared_bytes).blocks for resources in taken]
    assert blocks[1] == blocks[0] - 1
    before, after = pairs.speeds(pairs.PATCH, pairs.IN_A_LINE)
    assert after.gflops < 0.8 * before.gflops


def test_a_block_in_a_line_is_slower_for_its_registers_alone():
    square, line, bounded = (pairs.launches()[name] for name in (pairs.PATCH, pairs.IN_A_LINE, pairs.FOUR_BLOCKS))
    recorded_square, _, recorded_bounded = pairs.speeds(pairs.PATCH, pairs.IN_A_LINE, pairs.FOUR_BLOCKS)
    assert 0.98 < recorded_bounded.gflops / recorded_square.gflops < 1.05, "as fast as the square"
    assert run.compiled(bounded).registers == run.compiled(square).registers
    as_square, as_line, mended = (cycles.predict(launch).ms for launch in (square, line, bounded))
    assert as_line > mended and abs(mended - as_square) < 0.1 * as_square
