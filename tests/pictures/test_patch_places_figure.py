"""The picture of who loads and who computes what: each element once, and the arithmetic beside it."""

import pytest

from helpers.pictures.patch.places_figure import Block, patch_places_figure

BLOCKS = (Block(), Block(rows=4, columns=8, depth=2, tall=2, wide=2))


@pytest.mark.parametrize("block", BLOCKS)
def test_together_the_threads_load_every_element_of_a_tile_once(block):
    for width, count in ((block.depth, block.rows * block.depth), (block.columns, block.columns * block.depth)):
        loaded = [element for thread in range(block.threads) for element in block.loaded(thread, width, count)]
        assert sorted(loaded) == [divmod(number, width) for number in range(count)]


@pytest.mark.parametrize("block", BLOCKS)
def test_together_the_patches_cover_the_tile(block):
    corners = [block.patch(thread) for thread in range(block.threads)]
    covered = {(row + y, col + x) for row, col in corners for y in range(block.tall) for x in range(block.wide)}
    assert len(covered) == block.rows * block.columns == block.threads * block.tall * block.wide


def test_the_arithmetic_stands_beside_the_tiles():
    words = {text.get_text() for text in patch_places_figure(Block(), thread=6, k=1).axes[0].texts}
    assert {"x = 2,  y = 1", "row = y · 2 = 2,  col = x · 2 = 4", "loads of A: elements 6 and 22"} <= words
    assert {"(6 / 4, 6 % 4) = (1, 2)", "(22 / 8, 22 % 8) = (2, 6)"} <= words


@pytest.mark.parametrize(("thread", "k"), [(16, 0), (0, 4), (-1, 0)])
def test_a_thread_or_a_step_that_is_not_there_is_refused(thread, k):
    with pytest.raises(ValueError, match="The block has threads 0 to 15 and k from 0 to 3"):
        patch_places_figure(Block(), thread, k)
