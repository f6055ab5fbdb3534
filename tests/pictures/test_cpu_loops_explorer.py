"""Timing multiplications on the CPU, and the picture of what a loop pulls out of memory."""

import time

import numpy as np
import pytest

from helpers.pictures import theme
from helpers.pictures.cpu_loops import explorer as cpu_loops
from helpers.pictures.cpu_loops.explorer import Timed
from tests.pictures.figure_data import boxes_of


def test_the_fastest_run_counts_and_its_result_is_kept(monkeypatch):
    monkeypatch.setattr(cpu_loops, "CLOCK", time.perf_counter)
    naps = iter((0.02, 0.002, 0.02))
    run = cpu_loops.timed(lambda: time.sleep(next(naps)) or "C", budget_s=0.03)
    assert run.result == "C" and 0.002 <= run.seconds < 0.02


@pytest.mark.skipif(cpu_loops.CLOCK is time.perf_counter, reason="no fine clock of a thread here")
def test_what_others_do_meanwhile_is_not_counted():
    run = cpu_loops.timed(lambda: time.sleep(0.05), budget_s=0.0)
    assert run.seconds < 0.02


def test_a_slow_function_runs_once():
    calls = []
    cpu_loops.timed(lambda: calls.append(time.sleep(0.02)), budget_s=0.01)
    assert len(calls) == 1


def test_the_table_has_gflops_and_factors_of_the_first():
    runs = {"loop": Timed(None, 2.0), "BLAS": Timed(None, 0.001)}
    table = cpu_loops.speed_table(runs, 1000, 1000, 500)
    assert table.rows == (("loop", "2\u202f000", "0.5", "1 ×"), ("BLAS", "1", "1\u202f000", "2\u202f000 ×"))
    assert table.caption == "BLAS is 2\u202f000 times as fast as loop (measured here, on the CPU)."


@pytest.mark.parametrize("innermost", ["k", "row", "col"])
def test_each_innermost_loop_does_its_multiply_adds(innermost):
    random = np.random.default_rng(1)
    A, B, C = (random.random((6, 6)) for _ in range(3))
    expected = C.copy()
    first, second = 2, 5
    for trip in range(6):
        row, col, k = {"k": (first, second, trip), "row": (trip, first, second), "col": (first, trip, second)}[
            innermost
        ]
        expected[row, col] += A[row, k] * B[k, col]
    cpu_loops._STEPS[innermost](A, B, C, first, second)
    assert np.allclose(C, expected)


def test_order_table_has_the_pictured_lines_beside_the_time():
    table = cpu_loops.order_table(64)
    assert [row[:2] for row in table.rows] == [("k", "18"), ("row", "33"), ("col", "3")]
    assert all(float(row[2]) > 0 for row in table.rows)


def test_a_loop_that_there_is_not_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="There is no loop 'i'; the loops run over k, row, col"):
        cpu_loops.innermost_nanoseconds("i")


def artists(figure: theme.Figure, label: str) -> list:
    return [artist for artist in figure.axes[0].get_children() if artist.get_label() == label]


def test_the_picture_counts_the_lines_of_sixteen_iterations():
    figure = cpu_loops.picture()
    assert figure.caption == (
        "Cache lines for 16 iterations – k innermost: 18 (A 1, B 16, C 1); row innermost: 33 (A 16, B 1, C 16); "
        "col innermost: 3 (A 1, B 1, C 1)."
    )
    used = {array: [len(artist.get_paths()) for artist in artists(figure, f"used {array}")] for array in "ABC"}
    assert used == {"A": [16, 16, 1], "B": [16, 1, 16], "C": [1, 16, 16]}


def test_prefetched_elements_are_hatched_as_far_as_the_corner():
    figure = cpu_loops.picture(["k"])
    assert len(boxes_of(figure, "brought B")) == 16 * 15
