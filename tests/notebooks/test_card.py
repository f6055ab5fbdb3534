"""What notebooks promise: the real kernel through CuPy, speeds that a GPU measures, a map of threads, a widget."""

import re

import pytest

from tests.notebooks.support import NUMBERS, cells

LAUNCH = re.compile(r"^%%cuda \w|gpu\.RawModule\(|course\.(kernel|multiply|run_program)\(|run\.multiply\(")
MEASURED = re.compile(
    r"measure\.performance\(|(lane_speeds|one)\.tflops\(|settings\.measure_at\(|(precisions|pairs|residents)\.speeds\("
    r"|(reductions|smallest|family)\.\w+\(|cpu_loops\.(beside_blas|order_table)\("
)
UNTIMED = ("00",)  # a kernel of one block: there is no speed to speak of yet
PICTURES_OF_THREADS = (
    "bank_board copy_map fragments hierarchy hot_lines lanes n06 narrow_block numbering occupancy "
    "one_fma patch raster settings "
    "grouped implicit three_maps thread_map threads_of_a_block tile_phases two_levels two_of_thread vector_width "
    "first_launch"
)
MAP_OF_THREADS = re.compile(rf"\b({PICTURES_OF_THREADS.replace(' ', '|')})\b[.\w]*\(|schedules_figure\(")
FIXED = re.compile(r"\b(h200|H200|DEFAULT)\.(peak_fp32_gflops|clock_mhz|sms)\b|recorded_on\(")
TIMED = [number for number in NUMBERS if number not in UNTIMED]


def code(number: str, *, visible: bool = False) -> list[str]:
    """The code cells; visible: without those that are folded away."""
    code_cells = (cell for cell in cells(number) if cell.cell_type == "code")
    return [cell.source for cell in code_cells if not (visible and "hide-input" in cell.metadata.get("tags", ()))]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_visible_cell_launches_the_kernel_through_cupy(number):
    assert any(LAUNCH.search(source) for source in code(number, visible=True))


@pytest.mark.parametrize("number", TIMED)
def test_a_gpu_measures_the_speeds_that_a_notebook_shows(number):
    assert any(MEASURED.search(source) for source in code(number))


@pytest.mark.parametrize("number", NUMBERS)
def test_threads_are_drawn_and_a_widget_explores_them(number):
    everything = code(number)
    assert any(MAP_OF_THREADS.search(source) for source in everything)
    assert any(re.search(r"\.explore\(", source) for source in everything)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_speed_measured_here_is_not_compared_with_the_h200(number):
    wrong = [source for source in code(number) if MEASURED.search(source) and FIXED.search(source)]
    assert wrong == []
