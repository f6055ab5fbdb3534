"""The picture of the GPU: its numbers are the recorded ones, its ways as wide as they are fast."""

import pytest

from gemm_kernels import get
from gpusim import devices
from helpers import course, plan, recordings
from helpers.pictures.machine.facts import PLACES, machine
from helpers.pictures.machine.figure import A_FLOAT, HERE_A_FLOAT, here_figure, machine_figure
from helpers.pictures.scheduler import model as latency
from helpers.plan import Mark
from helpers.recordings import NoRecording
from tests.pictures.figure_data import words


@pytest.fixture(scope="module")
def h200():
    return machine()


def labelled(drawn, label):
    """The boxes with a label, as (left, top, right, bottom)."""
    drawn_parts = [collection for collection in drawn.axes[0].collections if collection.get_label() == label]
    return [tuple(part.get_paths()[0].get_extents().extents) for part in drawn_parts]


def test_each_memory_is_nearer_and_faster_than_the_one_below_it(h200):
    assert tuple(memory.level for memory in h200.memories) == PLACES
    for far, near in zip(h200.memories, h200.memories[1:], strict=False):
        assert near.latency < far.latency and near.bytes_per_cycle > far.bytes_per_cycle


def test_schedulers_model_has_the_measured_latencies(h200):
    measured = {level: h200.memory(level).latency for level in ("shared", "hbm")}
    assert measured == {"shared": latency.SHARED.cycles, "hbm": latency.GLOBAL.cycles}


def test_dram_delivers_what_was_measured_below_the_data_sheet(h200):
    measured = h200.bytes_per_second(h200.memory("hbm"))
    assert 4.2e12 < measured < h200.device.memory_gb_per_s * 1e9


def test_shared_memory_hands_out_a_float_of_each_bank_in_a_cycle(h200):
    assert h200.floats_per_cycle(h200.memory("shared")) == devices.BANKS


def test_registers_cannot_bring_three_new_operands_a_cycle(h200):
    assert h200.floats_per_cycle(h200.memory("registers")) < 3 * h200.device.fp32_lanes_per_sm


def test_the_ways_are_as_wide_as_the_floats_that_pass_them(h200):
    ways = labelled(machine_figure(h200), "way")
    floats = [h200.floats_per_cycle(h200.memory(level)) for level in reversed(PLACES)]
    assert [right - left for left, _, right, _ in ways] == pytest.approx([A_FLOAT * count for count in floats])


def test_the_picture_names_sizes_and_owners(h200):
    text = " ".join(words(machine_figure(h200)))
    for part in (
        "256\u00a0KB in each SM",
        "228\u00a0KB in each SM",
        "60\u00a0MB",
        "141\u00a0GB",
        "one thread",
        "the threads of blocks",
    ):
        assert part in text


def test_small_picture_marks_previous_and_current_position(h200):
    drawn = here_figure(h200, Mark("hbm", "it is far"), Mark("registers", "they are few"))
    assert words(drawn).count("before") == words(drawn).count("now") == 1
    (frame,) = labelled(drawn, "before")
    assert frame == labelled(drawn, "hbm")[0]
    assert drawn.caption == "What costs most. Before: it is far. Now: they are few."
    ((_, top, _, bottom),) = labelled(drawn, "from shared")
    assert bottom - top == pytest.approx(devices.BANKS * HERE_A_FLOAT)


def test_one_place_can_be_both(h200):
    drawn = here_figure(h200, Mark("shared", "one way"), Mark("shared", "one way"))
    assert "now" in words(drawn) and not labelled(drawn, "before")
    assert drawn.caption == "What costs most: one way."
    drawn = here_figure(h200, Mark("shared", "one way"), Mark("shared", "another way"))
    assert "before and now" in words(drawn)


def test_the_bar_is_as_long_as_the_shares_of_cublas():
    drawn = course.here("03")
    before, now = (labelled(drawn, f"bar {which}")[0] for which in ("before", "now"))
    speeds = [recordings.gflops(get(name, block_x=32, block_y=8), 2048, 2048, 2048) for name in ("naive", "coalesced")]
    longer = (now[2] - now[0]) / (before[2] - before[0])
    assert longer == pytest.approx(speeds[1].of_cublas / speeds[0].of_cublas, rel=1e-3)
    assert any(
        word.startswith("naive 1\u202f% → coalesced 15\u202f% of cuBLAS (M = N = K = 2048, ") for word in words(drawn)
    )


@pytest.mark.parametrize("number", [notebook.number for notebook in plan.course().notebooks if notebook.now])
def test_every_notebooks_words_fit_on_two_lines_in_the_picture(number):
    drawn = course.here(number)
    assert drawn.texts[0].get_text().count("\n") <= 1
    renderer = drawn.canvas.get_renderer()
    assert max(text.get_window_extent(renderer).x1 for text in drawn.axes[0].texts) < 1296


def test_the_words_of_the_large_picture_stay_inside_it(h200):
    drawn = machine_figure(h200)
    renderer = drawn.canvas.get_renderer()
    assert max(text.get_window_extent(renderer).x1 for text in drawn.axes[0].texts) < 1296


def test_a_gpu_that_was_not_measured_is_a_sentence():
    with pytest.raises(NoRecording, match="no recording of the suite 'memories' on 'Tesla T4'"):
        machine(devices.get("T4"))


def test_a_notebook_that_makes_no_kernel_faster_has_no_place():
    with pytest.raises(ValueError, match="Notebook 01 makes no kernel faster"):
        course.here("01")
