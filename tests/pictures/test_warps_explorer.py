"""The explorers of notebook 16: every setting of a shuffle and of a tree shows a picture."""

import pytest

from helpers.pictures.shuffle import explorer as shuffle
from helpers.pictures.tree import explorer as tree
from tests.pictures.driving import drive


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("explorer", [shuffle, tree], ids=["shuffle", "tree"])
def test_every_setting_shows_a_picture(explorer, monkeypatch):
    seen = drive(explorer.explore(), monkeypatch, settings=8)
    assert seen["sentence"] == 0 and seen["picture"] >= 8


def test_a_step_stays_inside_a_smaller_tree():
    explorer = tree.explore(threads=128, step=7)
    explorer.threads.value = 32
    assert (explorer.step.value, explorer.step.max) == (5, 5)


def test_the_call_is_written_as_in_a_kernel():
    assert shuffle.Choice("up", 4, 8, "even lanes").call == "__shfl_up_sync(0x55555555, v, 4, 8)"
    assert shuffle.Choice().call == "__shfl_down_sync(0xffffffff, v, 8)"
