"""Notebook 02: what its prose says of warps is so, in numbers and in recordings."""

from gemm_kernels import get
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
