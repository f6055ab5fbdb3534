"""Notebook 02: what its prose says of warps is so, in numbers and in recordings."""

from gemm_kernels import get
from helpers import course
from helpers.exercises import n02
from helpers.exercises.n02.blanks import BLOCK
from helpers.measure import recordings
from tests.notebooks.support import linked_terms, said


def test_it_links_the_terms_that_it_explains_to_the_glossary():
    terms = {"linear id", "lane", "warp", "column-major"}
    assert terms <= linked_terms("02")


def test_half_full_warps_are_half_as_fast_to_within_a_few_percent():
    for x, y in ((2, 8), (4, 4), (8, 2), (16, 1)):
        half, full = (
            recordings.gflops(get("naive", block_x=x, block_y=h), 2048, 2048, 2048).gflops for h in (y, 2 * y)
        )
        assert 1.9 < full / half < 2.1


def test_warp_3_of_a_square_block_has_the_rows_that_are_said():
    first, last, *rows = said("02", r"Ids (\d+) to (\d+): all x, with y = (\d+) and y = (\d+)")
    assert (first, last) == (3 * 32, 4 * 32 - 1)
    assert {id // 16 for id in range(first, last + 1)} == set(rows)


def test_the_shape_of_a_block_of_32_threads_makes_more_than_a_factor_of_five():
    along, across = (
        recordings.gflops(get("naive", block_x=x, block_y=y), 2048, 2048, 2048).gflops for x, y in ((16, 2), (2, 16))
    )
    assert across > 5 * along


def test_the_owner_of_the_example_is_the_thread_that_is_said():
    row, col, x, y, block_x, block_y = said(
        "02", r"C\[(\d), (\d)\] belongs to thread \((\d), (\d)\) of block \((\d), (\d)\)"
    )
    assert (row, col) == (block_x * 2 + x, block_y * 2 + y)


def test_whole_blocks_are_what_the_blank_promises():
    assert said("02", r"M was a multiple of (\d+) and N one of (\d+)") == BLOCK


def test_guard_alpha_and_beta_cost_next_to_nothing_and_size_t_is_in_the_loop():
    plain, guard, scaled, wide = n02.instructions_per_warp().values()
    assert abs(guard - plain) < 10 and abs(scaled - guard) < 10
    assert wide - scaled > 64  # more than one in each of the 64 iterations


def test_both_launches_at_the_end_reach_a_few_percent_of_cublas_at_best():
    naive = recordings.gflops(get("naive"), 2048, 2048, 2048)
    assert naive.of_cublas < course.speed("naive").of_cublas < 0.05
