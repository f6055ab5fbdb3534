"""What notebooks promise: the real kernel through CuPy, speeds that a GPU measures, a map of threads, a widget."""

import re

import pytest

from tests.notebooks.support import NUMBERS, cells

FROM = "12"  # the notebooks that keep all of it
KEPT = [number for number in NUMBERS if number >= FROM]
LAUNCH = re.compile(r"gpu\.RawModule\(|course\.(multiply|run_program)\(")
MEASURED = re.compile(
    r"measure\.performance\(|lane_speeds\.tflops\(|settings\.measure_at\(|precisions\.speeds\(|reductions\.\w+\("
)
MAP_OF_THREADS = re.compile(
    r"(one_fma|settings|lanes)\.picture_of\(|schedules_figure\(|(raster|two_levels)\.show\(|thread_map|hierarchy|"
    r"fragments"
)
FIXED = re.compile(r"\b(h200|H200|DEFAULT)\.(peak_fp32_gflops|clock_mhz|sms)\b|recorded_on\(")


def code(number: str, *, visible: bool = False) -> list[str]:
    """The code cells; visible: without those that are folded away."""
    found = (cell for cell in cells(number) if cell.cell_type == "code")
    return [cell.source for cell in found if not (visible and "hide-input" in cell.metadata.get("tags", ()))]


@pytest.mark.parametrize("number", KEPT)
def test_a_visible_cell_launches_the_kernel_through_cupy(number):
    assert any(LAUNCH.search(source) for source in code(number, visible=True))


@pytest.mark.parametrize("number", KEPT)
def test_a_gpu_measures_the_speeds_that_a_notebook_shows(number):
    assert any(MEASURED.search(source) for source in code(number))


@pytest.mark.parametrize("number", KEPT)
def test_threads_are_drawn_and_a_widget_explores_them(number):
    everything = code(number)
    assert any(MAP_OF_THREADS.search(source) for source in everything)
    assert any(re.search(r"\.explore\(", source) for source in everything)


@pytest.mark.parametrize("number", KEPT)
def test_a_speed_measured_here_is_not_compared_with_the_h200(number):
    wrong = [source for source in code(number) if MEASURED.search(source) and FIXED.search(source)]
    assert wrong == []
