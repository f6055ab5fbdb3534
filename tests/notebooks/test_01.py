"""Notebook 01: its claims are those of the roofline and of the recordings."""

import re

import numpy as np

from gemm_kernels import get
from gpusim import devices
from helpers.exercises import n01
from helpers.pictures.roofline import model as roofline
from helpers.pictures.roofline.explorer import point_of
from tests.notebooks.support import H200, answered, cells, prose, said

ADA = devices.get("RTX 6000 Ada")


def test_the_product_by_hand_is_right():
    A, B = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[7, 8], [9, 10], [11, 12]])
    text = " ".join(prose("01").split())
    assert "A = 1 2 3 B = 7 8 C = {} {} 4 5 6 9 10 {} {} 11 12".format(*(A @ B).ravel()) in text


def test_memory_is_the_limit_at_the_depth_that_is_said():
    def bound(device: devices.Device, K: int) -> str:
        return roofline.fastest_time(device, 4096, 4096, K).bound

    ada, h200 = said("01", r"limit at K = (\d+)\. On the H200 arithmetic is, even at K = (\d+)")
    assert [bound(ADA, K) for K in (2 * ada, ada)] == ["compute", "memory"] and bound(H200, h200) == "compute"


def test_coalesced_beats_its_requests_and_warptiled_the_ridge():
    naive, coalesced, warptiled = (
        point_of(get(name), H200, (4096, 4096, 4096)) for name in ("naive", "coalesced", "warptiled")
    )
    assert coalesced.gflops > 2 * roofline.attainable_gflops(H200, coalesced.intensity)
    assert max(naive.intensity, coalesced.intensity) < 0.1 * roofline.ridge_point(H200) < warptiled.intensity
    assert warptiled.intensity > roofline.ridge_point(H200)


def test_cells_of_functions_and_loops_take_their_solutions():
    body = n01.LEAST_TIME.solved.text.split("\n", 1)[1]
    assert answered("01", "roof_function.check", "    return None", body).passed is True
    changed = answered("01", "order_of_loops.check", '("row", "col", "k")', '("row", "k", "col")')
    assert changed.passed is True


def test_arithmetic_takes_longest_on_all_five_gpus():
    floors = [roofline.fastest_time(devices.get(name), *n01.CUBE, beta=1.0) for name in n01.FIVE]
    assert all(floor.compute_ms > 4 * floor.memory_ms for floor in floors)
    assert [row[-1] for row in n01.floors().rows] == ["54 ×", "10 ×", "5 ×", "52 ×", "37 ×"]
    assert n01.predict_slack().answer == 10


def test_the_chain_of_one_thread_is_as_long_as_printed():
    (cell,) = (cell for cell in cells("01") if "multipliers" in cell.source and cell.cell_type == "code")
    text = cell.outputs[0].text
    assert f"H200: {132 * 128} multipliers · 2 · 1980 MHz = 66.9 TFLOPS" in text
    assert "256 × 256 × 128: at least    0.25 µs; 128 multiply-adds of 4 cycles one after another: 0.26 µs" in text
    times = [tuple(map(float, pair)) for pair in re.findall(r"at least +([\d.]+) µs; .*: ([\d.]+) µs", text)]
    assert abs(times[0][1] / times[0][0] - 1) < 0.1  # as long as the least time, for step 1's shape
    assert len(times) == 3 and all(chain < limits for limits, chain in times[1:])
