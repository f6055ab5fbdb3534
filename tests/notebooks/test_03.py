"""Notebook 03: its claims are those of the recorded addresses and of the recordings."""

import re

import pytest

from gemm_kernels import get
from helpers.pictures.block_shapes import facts as block_shapes
from tests.notebooks.support import cells, counters, prose, sources


def recorded(name: str) -> block_shapes.BlockShape:
    return block_shapes.counted(get(name), (32, 8), 2048)


def test_the_drawing_by_hand_has_each_lane_once_on_either_side():
    rows = re.findall(
        r"row \d +│ (.{15}) │ (.{15}) │ +row \d +│ (.{15}) │ (.{15}) │", "\n".join(sources("03", "markdown"))
    )
    left, right = ("".join(a + b for a, b in sides) for sides in ([r[:2] for r in rows], [r[2:] for r in rows]))
    assert len(rows) == 8 and re.findall(r"\d", left) == re.findall(r"\d", right) == list("01234567")


def test_time_fell_by_about_twice_the_factor_of_the_sectors():
    slow, fast = recorded("naive"), recorded("coalesced")
    fewer = slow.sectors_per_request / fast.sectors_per_request
    assert f"The sectors fell by a factor of {fewer:.1f}" in prose("03")
    assert fast.speed / slow.speed == pytest.approx(2 * fewer, rel=0.15)


def test_the_means_are_those_of_the_two_loads():
    assert f"{recorded('coalesced').sectors_per_request} sectors per request instead of" in prose("03")
    assert f"instead of {recorded('naive').sectors_per_request}." in prose("03")
    assert recorded("naive").sectors_per_request == (32 + 1) / 2
    assert recorded("coalesced").sectors_per_request == (1 + 4) / 2


def test_kernels_request_alike_and_naive_costs_more_sectors():
    naive, coalesced = counters("naive"), counters("coalesced")
    requests, sectors = (f"l1tex__t_{what}_pipe_lsu_mem_global_op_ld.sum" for what in ("requests", "sectors"))
    assert naive[requests] == coalesced[requests] and naive[sectors] > 4 * coalesced[sectors]


def test_gap_of_a_square_block_is_that_of_its_address_table():
    (table,) = (cell for cell in cells("03") if "launch.in_blocks(16, 16)" in cell.source)
    printed, shown = (output.get("text") or output["data"]["text/plain"] for output in table.outputs)
    text = printed + shown.replace("\u202f", "")
    assert text.count("1009 *") == 3 and "grid (64, 64): 4096 blocks; warps in each: 8" in text


def test_square_block_is_faster_than_the_line_despite_its_gap():
    line, square = (block_shapes.recorded(get("coalesced"), block, 2048).gflops for block in ((32, 1), (16, 16)))
    assert line < square
