"""What the marks of a picture say to whoever points at them, and where they lie on it."""

import numpy as np
import pytest

from helpers.pictures import marks, page
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.first_launch import explorer as first_launch
from helpers.pictures.scheduler import explorer as scheduler
from helpers.pictures.thread_map import explorer as thread_map

ADD = """
__global__ void add(float *A, int N, float c) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) A[i] += c;
}
"""


def words_of(explorer) -> list[str]:
    picture, _ = explorer.draw()
    return [mark.words for mark in marks.of(picture)]


def test_marks_lie_on_their_box_and_long_words_are_refused():
    drawn, axes = page.page(200, "title", "A caption.")
    marks.tell(axes, page.boxes([90, 450], 50, 45, 20), ["one", "two"])
    height = 100 * float(drawn.get_size_inches()[1])
    first, second = marks.of(drawn)
    assert (first.words, second.words) == ("one", "two")
    assert np.allclose((first.left, first.top, first.width, first.height), (0.1, 50 / height, 0.05, 20 / height))
    assert np.isclose(second.left, 0.5)
    with pytest.raises(ValueError, match="There are 2 boxes, but words for 1"):
        marks.tell(axes, page.boxes([90, 450], 50, 45, 20), ["one"])


def test_layer_is_as_large_as_the_picture_and_its_words_are_text():
    drawn, axes = page.page(200, "title", "A caption with <b> & more.")
    marks.tell(axes, page.boxes(90, 50, 45, 20), ["a < b"])
    layer = marks.overlay(drawn, drawn.caption)
    assert f'viewBox="0 0 900 {100 * drawn.get_size_inches()[1]:g}"' in layer
    assert 'aria-label="A caption with &lt;b&gt; &amp; more."' in layer
    assert '<rect x="90.0" y="50.0" width="45.0" height="20.0"><title>a &lt; b</title></rect>' in layer


def test_lanes_and_sectors_say_their_bytes():
    words = words_of(coalescing.explore(width=256))
    assert "lane 3: load of A at bytes 768 to 771, float 192 of A" in words
    assert "a sector: bytes 0 to 31 of B, wanted by 32 lanes, 0 to 31" in words


def test_the_words_of_a_bank_say_lane_address_and_wait():
    words = words_of(bank_board.explore())
    assert "wavefront 1, bank 0: word 0 (byte 0) for lane 0" in words
    assert "wavefront 2, bank 0: word 128 (byte 512) for lane 1, after a wait for the bank" in words


def test_an_element_of_c_names_the_thread_that_computes_it():
    words = words_of(thread_map.explore(block=(16, 16)))
    assert "C[3, 5]: thread (5,\u00a03) of block (0,\u00a00), lane 21 of warp 1" in words


def test_a_cycle_says_what_its_warp_does():
    words = words_of(scheduler.explore(scheduler.Choice(warps=1, independent=1, latency=4)))
    assert "warp 0, cycle 0: issues" in words and "warp 0, cycle 1: waits for a result" in words


def test_thread_names_its_elements_and_an_element_its_writers():
    words = words_of(first_launch.explore(ADD, grid=2, block=16, elements=20))
    assert "thread 3 of block 1: writes A[19]" in words and "thread 4 of block 1: writes nothing" in words
    assert "A[19]: written by thread 3" in words
