"""Notebook 10: what its prose says of buffers and copies is so in recordings, counters and models."""

import numpy as np
import pytest

from gemm_kernels import get
from gpusim.occupancy import occupancy
from helpers import course, exercises, recordings, run
from helpers.exercises import n10
from helpers.pictures import CannotTell
from helpers.pictures.budget import facts as budget
from helpers.pictures.by_size.facts import ways
from helpers.pictures.copies.facts import stage_copies
from helpers.recordings.suites import DEEPER
from tests.notebooks.support import H200, SIZES, counters, gain, prose, said


def test_double_buffering_helps_lone_blocks_most_and_never_loses():
    shapes = [*SIZES, 128, 2049, 4095, (4096, 4096, 128), (128, 4096, 4096), (8192, 1024, 4096)]
    gains = {shape: gain("double_buffered", "vectorized", *np.atleast_1d(shape).tolist()) for shape in shapes}
    assert min(gains.values()) > 0 and min(gains, key=gains.get) == (4096, 4096, 128)
    grids = {size: np.prod(get("vectorized").grid(size, size)) for size in SIZES}
    alone = [size for size in SIZES if grids[size] < H200.sms]
    assert alone == [256, 512, 1024]
    assert min(gains[size] for size in alone) > 2 * max(gains[size] for size in SIZES if size not in alone)
    assert gains[2049] > 3 * gains[2048], "where a few blocks are left over"


def test_async_copies_lose_to_ping_pong_but_win_unaligned():
    large = [(2048,), (4096,), (8192,), (8192, 1024, 4096), (4096, 4096, 128)]
    assert sum(gain("async_copy", "ping_pong", *shape) < 0 for shape in large) > len(large) / 2
    assert all(gain("async_copy", "ping_pong", size) > 0 for size in (2049, 4095))


def test_block_lost_to_registers_costs_at_4096_but_not_at_1024():
    double = get("double_buffered")
    one_block, two_blocks = (
        {size: recordings.gflops(double.replace(BLOCKS=blocks), size, size, size).gflops for size in (1024, 4096)}
        for blocks in (1, 2)
    )
    assert (
        double.params["BLOCKS"] == 2
        and one_block[4096] < 0.98 * two_blocks[4096]
        and one_block[1024] > 1.02 * two_blocks[1024]
    )
    assert np.prod(double.grid(1024, 1024)) == 64 < H200.sms == 132


def test_async_copies_move_the_same_bytes_by_more_requests():
    before, after = counters("ping_pong"), counters("async_copy")
    moved = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
    assert after[moved.format("sectors")] == before[moved.format("sectors")]
    assert after[moved.format("requests")] > 2 * before[moved.format("requests")]
    assert after["smsp__sass_inst_executed_op_shared_st.sum"] == 0  # "makes no store to shared memory"
    more = after["smsp__inst_executed.sum"] / before["smsp__inst_executed.sum"] - 1
    assert 0 < more < 1 / (1 + gain("async_copy", "ping_pong", 4096)) - 1, "They explain a part of the lost cycles."


@pytest.mark.parametrize("name", ["next_tile", "three_stages"])
def test_the_cell_of_a_blank_takes_its_solution(name):
    blank = exercises.get(name)
    assert blank.check(blank.solved).passed


def test_ping_pong_gains_a_tenth_or_more_at_every_shape():
    assert "**ping_pong** gains about a tenth or more at every shape" in prose("10")
    squares = (1024, 2048, 2049, 4095, 4096, 8192)
    shapes = [(size,) * 3 for size in squares] + [(4096, 4096, 128), (128, 4096, 4096), (8192, 1024, 4096)]
    assert min(gain("ping_pong", "double_buffered", *shape) for shape in shapes) > 0.095


def test_second_buffer_gains_little_and_three_stages_lose():
    for size in (1024, 2048, 4096):
        tiled, two, three = (course.speed(name, size).gflops for name in ("tiled", "next_tile", "three_stages"))
        assert 0 < two / tiled - 1 < 0.06 < 0.08 < 1 - three / tiled


def test_eight_blocks_of_each_plain_kernel_are_on_an_sm():
    for name in ("tiled", "next_tile", "three_stages"):
        kernel = course.kernel(name)
        taken = run.compiled(kernel, H200.arch)
        blocks = occupancy(H200, kernel.threads, taken.registers, taken.shared_bytes).blocks
        assert (blocks, blocks * kernel.threads // 32) == (8, 64)


def test_what_the_cycles_are_lost_to_shrinks_as_the_prose_says():
    names = ("vectorized", "double_buffered", "ping_pong", "async_copy")
    single, double, ping_pong, copied = (budget.k_step(name).parts for name in names)

    def fragment(parts):
        return parts["short_scoreboard"] + parts.get("mio_throttle", 0)

    assert double["long_scoreboard"] < 0.15 * single["long_scoreboard"], "nearly gone"
    assert double["barrier"] < 0.5 * single["barrier"]
    assert 1.7 < double["dispatch_stall"] / single["dispatch_stall"] < 2, "nearly twice as much"
    assert 0.45 < ping_pong["dispatch_stall"] / double["dispatch_stall"] < 0.6, "halves"
    assert 0.28 < fragment(ping_pong) / fragment(double) < 0.4, "to a third"
    assert copied["dispatch_stall"] > ping_pong["dispatch_stall"]


def test_later_kernels_issue_in_more_of_the_cycles():
    steps = [budget.k_step(name) for name in ("vectorized", "double_buffered", "ping_pong")]
    issued = [(step.fma + step.other) / step.total for step in steps]
    assert issued == sorted(issued) and issued[-1] > issued[0] + 0.1


def test_a_thread_copies_to_the_same_place_of_every_stage():
    recording = run.record(course.kernel("three_stages").launch(16, 16, 64))
    copies = stage_copies(recording, {"A": 64, "B": 16}, 256, "A")
    assert [copy.stage for copy in copies] == [0, 1, 2, 0]
    thread = 2 * 16 + 5
    assert [(copy.row[thread], copy.column[thread]) for copy in copies] == [(2, 5 + 16 * tile) for tile in range(4)]
    assert {int(copy.offset[thread]) for copy in copies} == {thread}


def test_a_kernel_without_asynchronous_copies_has_no_map_of_them():
    recording = run.record(course.kernel("tiled").launch(16, 16, 64))
    with pytest.raises(CannotTell):
        stage_copies(recording, {"A": 64, "B": 16}, 256, "A")


def test_two_buffers_gain_more_up_to_1280_and_deep_tiles_above():
    (shared,) = said("10", r"from (\d+) on blocks share SMs")
    factors = {way.name: dict(zip(way.sizes, way.factors, strict=True)) for way in ways().ways}
    double, deeper = factors["double_buffered"], factors["vectorized, BK 16"]
    blocks = {size: np.prod(get("vectorized").grid(size, size)) for size in double}
    assert [size for size in double if blocks[size] > H200.sms] == [size for size in double if size >= shared]
    assert all(double[size] > deeper[size] for size in double if 2 * 8 < size < shared), "from three iterations on"
    otherwise = {size for size in double if size >= shared and double[size] > deeper[size]}
    left_over = {size: blocks[size] % (2 * H200.sms) / (2 * H200.sms) for size in double}
    assert otherwise == {2304, 3072, 3840}
    assert all(0 < left_over[size] < 0.5 for size in otherwise)
    assert n10.predict_deeper().answer == "the deeper tile"


def test_two_buffers_and_a_tile_twice_as_deep_take_equal_memory():
    double, deeper = run.compiled(get("double_buffered"), H200.arch), run.compiled(DEEPER, H200.arch)
    assert double.shared_bytes == deeper.shared_bytes
    assert occupancy(H200, DEEPER.threads, deeper.registers, deeper.shared_bytes).blocks == 2
    single = run.compiled(get("vectorized"), H200.arch)
    assert occupancy(H200, 256, single.registers, single.shared_bytes).blocks == 2
