"""Notebook 00: what its prose says of the GPU, of a layer and of the way ahead is so."""

from gpusim import devices
from helpers import course
from helpers.exercises import n00
from helpers.pictures.limits.figure import limits_table
from helpers.pictures.machine.facts import machine
from tests.notebooks.support import H200, cells, cube, suite


def test_the_limits_in_words_are_those_of_the_table():
    assert {limits.max_block for limits in devices.LIMITS.values()} == {(1024, 1024, 64)}
    assert {limits.max_threads_per_block for limits in devices.LIMITS.values()} == {1024}


def test_last_kernel_passes_cublas_and_is_100_times_the_first():
    (_, first), (_, last) = course.ends_of_the_way()
    assert 100 < last / first < 115
    assert last > suite("ladder").cublas(cube(course.WAY_SIZE))


def test_a_minute_becomes_a_little_more_than_half_a_second():
    products = 2048 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 14336 * 4096) + 2 * 32 * 2048 * 2048 * 128
    slow, fast = (32 * 2 * products / (1e9 * gflops) for _, gflops in course.ends_of_the_way())
    assert 55 < slow < 65 and 0.5 < fast < 0.6


def test_picture_of_the_gpu_shows_what_was_measured():
    gpu = machine(H200)
    hbm = gpu.memory("hbm")
    assert round(gpu.floats_per_cycle(hbm)) == 4 and 200 < hbm.latency < 1000
    assert all(memory.bytes * (H200.sms if memory.for_each_sm else 1) < hbm.bytes for memory in gpu.memories[1:])


def test_one_layer_in_the_table_is_what_the_model_multiplies():
    assert [row[1:5] for row in n00.layer_table().rows][:3] == [
        ("2048", "4096", "4096", "1"), ("2048", "1024", "4096", "2"), ("2048", "2048", "128", "32"),
    ]  # fmt: skip
    assert "One layer: 481 · 10⁹ products" in n00.layer_table().caption


def test_prefill_decode_and_training_are_shapes_of_one_layer():
    read, write, train = list(n00.ELSEWHERE.values())[:3]
    assert read == n00.LAYER["to the hidden size"][:3] and write == (1, *read[1:])
    assert sorted(train) == sorted(read), "the same three sizes, another one added up"


def test_the_example_says_whose_kernel_it_is():
    (cell,) = (cell for cell in cells("00") if "course.whose" in cell.source)
    assert cell.outputs[0].text == "the course's kernel, as NumPy computes it: True\n"


def test_the_table_of_the_gpu_has_limits_and_units():
    rows = {row[0]: row[1:] for row in limits_table([H200, devices.get("A100 80GB")]).rows}
    assert rows["single-precision units of an SM, and in all"] == ("128, 16\u202f896", "64, 6\u202f912")
    assert rows["tensor cores of an SM, and in all"] == ("4, 528", "4, 432")
    assert rows["double-precision units of an SM, and in all"][1] == "32, 3\u202f456"
    assert rows["of them along x, y, z, at most"][0] == "1\u202f024 × 1\u202f024 × 64"
