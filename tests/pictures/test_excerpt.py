"""Parts of a source."""

import pytest

from gemm_kernels import get
from helpers.pictures.excerpt import excerpt

SOURCE = "a\n    b 1\n      c\n    b 2\nend\n"


def test_excerpt_ends_before_the_line_and_loses_indentation():
    assert excerpt(SOURCE, "b 1", "b 2") == "b 1\n  c\n"


def test_without_an_end_it_goes_to_the_end():
    assert excerpt(SOURCE, "c") == "      c\n    b 2\nend\n"


def test_the_end_is_looked_for_after_the_beginning():
    assert excerpt(SOURCE, "b", "b") == "b 1\n  c\n"


def test_a_text_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="No line from line 3 on contains 'zebra'"):
        excerpt(SOURCE, "b 1", "zebra")


@pytest.mark.parametrize("name", ["shared_memory", "block_tile_1d", "block_tile_2d"])
def test_the_loop_of_a_tiled_kernel_has_both_barriers(name):
    assert excerpt(get(name).source, "float acc", "// 4.").count("__syncthreads();") == 2
