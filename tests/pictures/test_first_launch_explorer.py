"""The explorer of notebook 00."""

import pytest

from gpusim.errors import OutOfBounds
from helpers.pictures.first_launch import explorer as first_launch
from helpers.pictures.live import CannotShow
from tests.pictures.driving import drive

SOURCE = """
extern "C" __global__ void scale_matrix(float *A, int N, float c) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < N) A[index] = c * A[index];
}
"""


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = first_launch.explore(SOURCE)
    seen = drive(explorer, monkeypatch, settings=60)
    assert seen["picture"] > 50 and seen["sentence"] == 0


def test_every_element_is_written_by_the_thread_with_its_number():
    strip = first_launch.launch(SOURCE, grid=3, block=16, elements=40)
    assert strip.writes.tolist() == [[n, n] for n in range(40)]


def test_the_number_of_blocks_stays_within_the_picture():
    explorer = first_launch.explore(SOURCE, grid=16, block=4)
    explorer.block.value = 32
    assert explorer.grid.max == explorer.grid.value == 2


def test_unguarded_kernel_leaves_the_array_and_explorer_says_so():
    unguarded = SOURCE.replace("if (index < N) ", "")
    with pytest.raises(OutOfBounds, match="index 40 of A, which has 40 elements"):
        first_launch.launch(unguarded, grid=3, block=16, elements=40)
    assert "index 40 of A" in first_launch.explore(unguarded, grid=3).stage.sentence.value


def test_kernel_writing_one_element_often_is_drawn_not_refused():
    racing = SOURCE.replace("blockIdx.x * blockDim.x + ", "")
    assert "16\u00a0elements got 3 writes each" in first_launch.picture(racing, 3, 16, 40).caption


def test_a_source_without_a_kernel_is_answered_in_a_sentence():
    with pytest.raises(CannotShow, match="found none"):
        first_launch.launch("int x;", 1, 1, 1)


def test_the_static_twin_shows_too_few_enough_and_just_right():
    caption = first_launch.small_multiples(SOURCE).caption
    assert "8\u00a0elements were not written" in caption and "every element was written" in caption


def test_small_launch_takes_microseconds_nearly_all_overhead():
    said = first_launch.explore(SOURCE).later()()
    assert said.startswith("40\u00a0multiplications in 4") and "GFLOPS, predicted for NVIDIA H200" in said
    assert float(said.split(" are ")[1].split(" GFLOPS")[0]) < 0.1
