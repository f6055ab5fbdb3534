"""Notebook 04: what its prose claims is so on the device and in recorded launches."""

import re
from functools import cache

import pytest

from gemm_kernels import get
from gpusim import Recording
from helpers import run
from helpers.measure.states import states
from helpers.pictures import traffic
from tests.notebooks.support import H200, cells, gain, prose

SHARED = get("shared_memory")
FMAS = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"

# The matrices of step 2, as far as its block needs them.
A = [[1, 2, 0, 3], [2, 0, 1, 1]]
B = [[1, 0], [3, 2], [2, 1], [0, 4]]


@cache
def long_loop() -> Recording:
    return run.record(SHARED.launch(1024, 1024, 1024))


def per_fma(unit: str, op: str) -> float:
    return long_loop().total(unit, "shared", op) / (long_loop().counters[FMAS] / 32 * 1024 / 1025)


def test_two_steps_by_hand_are_right_and_add_up_to_the_product():
    products = re.findall(r"(\d)·(\d) \+ (\d)·(\d) = (\d+)", prose("04"))
    sums = [int(total) for *_, total in products]
    assert [int(a) * int(b) + int(c) * int(d) for a, b, c, d, _ in products] == sums and len(sums) == 8
    product = [sum(row[k] * B[k][col] for k in range(4)) for row in A for col in (0, 1)]
    assert [first + second for first, second in zip(sums[:4], sums[4:], strict=True)] == product
    assert product == [7, 16, 4, 5]


def test_floats_that_named_threads_fetch_are_the_matrices_own():
    for letter, matrix in (("A", A), ("B", B)):
        for row, col, value in re.findall(rf"{letter}\[(\d), (\d)\] = (\d)", prose("04")):
            assert matrix[int(row)][int(col)] == int(value)


def test_tile_64_needs_too_many_threads_and_32_misses_the_ridge():
    assert H200.max_threads_per_block < 64 * 64
    ridge = H200.peak_fp32_gflops / H200.memory_gb_per_s
    assert f"it takes {ridge:.1f}, the ridge" in prose("04") and ridge > 32 / 4


def test_sm_starts_4_fmas_a_cycle_each_of_several_wavefronts():
    assert H200.fp32_lanes_per_sm == 4 * 32
    assert per_fma("wavefronts", "ld") > 1


def test_four_fmas_take_five_requests_and_six_wavefronts():
    assert round(4 * per_fma("requests", "ld"), 1) == 1 + 4
    assert round(4 * per_fma("wavefronts", "ld"), 1) == 2 + 4
    assert "together, per FMA | 1.25 | 1.5 |" in prose("04") and "adds 0.06 of each per FMA" in prose("04")
    assert per_fma("requests", "st") == pytest.approx(0.0625, abs=0.01)


def test_the_coalesced_kernel_read_a_by_one_sector():
    recording = run.record(get("coalesced").launch(64, 64, 64))
    assert recording.total("sectors", "global", "ld", "A") == recording.total("requests", "global", "ld", "A")


def test_tiled_is_faster_by_far_less_than_its_loads_fell():
    assert 0 < gain("shared_memory", "coalesced", 2048) < 1


def test_models_bound_is_the_same_in_notebooks_04_and_06():
    shown = [output for number in ("04", "06") for cell in cells(number) for output in cell.get("outputs", ())]
    printed = "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in shown)
    here = re.search(r"of the (\d+) that the model allows", printed)[1]
    there = re.search(r"shared_memory +1\.56 +(\S+?)\s{2,}", printed.replace("\u202f", "").replace("\u00a0", ""))[1]
    assert here == there


def test_tiles_of_one_and_of_all_are_the_two_limits_of_the_rule():
    (cell,) = (cell for cell in cells("04") if "def bytes_loaded" in cell.source)
    first, *_, last = cell.outputs[0].text.splitlines()
    assert first == "T =  1: 2097152 bytes by the rule,  0.25 operations per byte; 2097152 recorded"
    assert last.endswith(
        "32768 bytes by the rule, 16.00 operations per byte; no launch: a block of 64 · 64 = 4096 threads"
    )
    assert 4 * 2 * 64 * 64 == 32768, "A and B, each float once"


def test_asked_for_is_the_formula_in_the_text():
    assert "**M · N · (2K + 1)**" in prose("04")
    asked = traffic.tiled(4096, 4096, 4096, 1, 1).total
    assert asked == 4 * 4096 * 4096 * (2 * 4096 + 1) and f"{asked / 1e9:.1f}" == "549.8"


def test_the_fast_kernel_gets_six_times_as_much_of_a_byte():
    slow, fast = (states(name, 2048).metrics for name in ("shared_memory", "stream_k"))
    read, time = "lts__t_sectors_op_read.sum", "gpu__time_duration.sum"
    assert abs(fast[read] / fast[time] / (slow[read] / slow[time]) - 1) < 0.05
    assert round(slow[read] / fast[read]) == 6


def test_race_of_an_open_exercise_quotes_no_solution_line():
    (cell,) = (cell for cell in cells("04") if "course.message" in cell.source)
    assert "line 21 of the course's kernel\n" in cell.outputs[0].text and "Bs[y][x] =" not in cell.outputs[0].text
