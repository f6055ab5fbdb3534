"""Notebook 02: what its prose says of warps is so, in numbers and in recordings."""

import re

from gemm_kernels import get
from gpusim import devices
from helpers import course, recordings
from tests.notebooks.support import cells, prose


def test_half_full_warps_are_half_as_fast_within_a_few_per_cent():
    for x, y in ((2, 8), (4, 4), (8, 2), (16, 1)):
        half, full = (
            recordings.gflops(get("naive", block_x=x, block_y=h), 2048, 2048, 2048).gflops for h in (y, 2 * y)
        )
        assert 1.9 < full / half < 2.1


def test_block_turned_by_a_quarter_is_nearly_four_times_as_fast():
    slow, fast = (
        recordings.gflops(get("naive", block_x=x, block_y=y), 2048, 2048, 2048) for x, y in ((32, 8), (8, 32))
    )
    assert 3.6 < fast.gflops / slow.gflops < 4 and "Nearly four times as fast" in prose("02")


def test_fewer_rows_read_by_a_warp_are_faster():
    (cell,) = (cell for cell in cells("02") if "rows of A that a warp reads" in cell.source)
    rows = re.findall(r"\((\d+), (\d+)\) +(\d+) +(\d+)", cell.outputs[0]["data"]["text/plain"])
    assert [int(row[2]) for row in rows] == [32, 8, 2]
    speeds = [int(row[3]) for row in rows]
    assert speeds == sorted(speeds) and all(min(int(row[0]), 32) == int(row[2]) for row in rows)


def test_the_launch_in_two_dimensions_is_counted_as_printed():
    launch = course.kernel("naive").launch(256, 256, 128).in_blocks(16, 16)
    blocks, warps = launch.grid[0] * launch.grid[1], launch.threads // 32
    h200 = devices.get("NVIDIA H200")
    sms = blocks * launch.threads // h200.threads_per_sm
    (cell,) = (cell for cell in cells("02") if "h200.threads_per_sm" in cell.source)
    printed = f"grid (16, 16): {blocks} blocks of {warps} warps, {blocks * warps} warps, {blocks * 256} threads\n"
    assert cell.outputs[0].text == printed + f"They would fit on {sms} of the {h200.sms} SMs of an H200.\n"
    assert (blocks, warps, blocks * warps, blocks * 256, sms) == (256, 8, 2048, 65536, 32)


def test_error_of_an_open_exercise_quotes_no_solution_line():
    (cell,) = (cell for cell in cells("02") if "OutOfBounds as error" in cell.source)
    assert "line 9 of the course's kernel\n" in cell.outputs[0].text and "sum +=" not in cell.outputs[0].text


def test_last_launches_reach_a_few_percent_best_block_a_tenth():
    naive = recordings.gflops(course.usual("naive"), 2048, 2048, 2048)
    assert naive.of_cublas < course.speed("naive").of_cublas < 0.05
    assert 0.09 < recordings.gflops(get("naive", block_x=2, block_y=64), 2048, 2048, 2048).of_cublas < 0.12
