"""Notebook 05: the numbers in its prose are those of the occupancy model, its claims those of the recordings."""

import pytest

from gemm_kernels import get
from helpers import devices
from helpers.analysis.block_shapes import recorded
from helpers.occupancy import occupancy
from tests.notebooks.support import H200, linked_terms, said

A6000, ADA = (devices.get(name) for name in ("NVIDIA RTX A6000", "RTX 6000 Ada"))


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"latency", "schedulers", "resident", "occupancy", "registers", "stalls"}
    assert terms <= linked_terms("05")


def test_the_worked_example_leaves_a_third_of_the_warps_and_smaller_blocks_would_fill_the_sm():
    warps, most = said("05", r"Its (\d+) warps are two thirds of the (\d+) that the SM could hold")
    assert (warps, most) == (1024 // 32, A6000.warps_per_sm)
    assert occupancy(A6000, 1024, 37, 8192).fraction == pytest.approx(2 / 3)
    threads, most = said("05", r"Blocks of (\d+) threads would fill the SM, if each thread had no more than (\d+) reg")
    shares = [occupancy(A6000, threads, registers, 8192).fraction for registers in (most, most + 1)]
    assert shares == [1.0, pytest.approx(2 / 3)]


def test_a_scheduler_has_at_most_sixteen_warps():
    most, warps = said("05", r"(\w+) is the most that a scheduler of an H200 can have: (\d+) warps on an SM")
    assert H200.warps_per_sm == warps == 4 * most


def test_32_registers_for_2048_threads_are_all_there_are():
    each, threads, all_of_them = said("05", r"(\d+) registers for each of (\d+) threads are exactly the (\d+ \d+)")
    assert H200.registers_per_sm == each * threads == all_of_them
    assert [occupancy(H200, 1024, registers).fraction for registers in (each, each + 1)] == [1.0, 0.5]


def test_the_published_shared_limit_is_that_of_a_carve_out_of_64_kb():
    blocks, _, kilobytes = said("05", r"(\d+) · (\d+) bytes fit into (\d+) KB")
    assert occupancy(ADA, 256, 118, 8192, shared_capacity=kilobytes * 1024).limits["shared"] == blocks


def test_the_answers_to_the_explorers_questions():
    blocks, warps = said("05", r"(\d+) blocks of one warp each are half of the (\d+) warps")
    assert occupancy(H200, 32, 16).warps == blocks == warps / 2
    threads, registers = said("05", r"Blocks of (\d+) threads with (\d+) registers")
    assert occupancy(H200, threads, registers).fraction == 1.0 > occupancy(A6000, threads, registers).fraction
    enough, less = said("05", r"(\d+) for a thread will do, so (\d+) less")
    assert [occupancy(H200, 256, each, 8192).blocks for each in (enough + less, enough + 1, enough)] == [2, 2, 3]


def test_a_block_of_64_threads_in_one_row_is_full_and_as_slow_as_one_of_32():
    speed = {shape: recorded(get("coalesced"), shape, 2048).gflops for shape in ((32, 1), (64, 1), (32, 2))}
    assert speed[64, 1] == pytest.approx(speed[32, 1], rel=0.02) and speed[32, 2] > 1.4 * speed[32, 1]
