"""The explorer of a patch of C and its edges."""

import pytest

from helpers.pictures.patch import explorer as patch
from tests.pictures.driving import drive


def test_every_patch_is_drawn(monkeypatch):
    assert drive(patch.explore(), monkeypatch)["sentence"] == 0


def test_edges_grow_with_the_side_and_the_patch_with_its_square():
    small, large = patch.patch(1, 1), patch.patch(64, 64)
    assert (small.floats, small.fmas, large.floats, large.fmas) == (2, 1, 128, 4096)
    assert small.roof == pytest.approx(0.25 * 4800) and large.roof == pytest.approx(16 * 4800, rel=0.2)


def test_the_caption_says_what_memory_allows():
    explorer = patch.explore(8, 8)
    assert "16\u00a0floats feed 64\u00a0multiply-adds, 0.25 for each" in patch.small_multiples([(8, 8)]).caption
    assert explorer.rows.value == explorer.columns.value == 8
