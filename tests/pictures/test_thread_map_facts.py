"""Which thread stored each element of C."""

import numpy as np
import pytest

import gpusim
from helpers.pictures.thread_map.facts import thread_map
from tests.pictures.facts_data import map_by_hand as by_hand, recorded_stores as record


@pytest.fixture(scope="module")
def tall() -> gpusim.Recording:
    """naive, (32, 8) threads on 64 × 64: x runs down the rows."""
    return record("naive", (32, 8, 1), (2, 8, 1), (64, 64))


def test_the_recorded_owners_are_those_of_the_index_formula(tall):
    data = thread_map(tall, (64, 64), "naive")
    expected = by_hand(True, (32, 8, 1), (2, 8, 1), (64, 64))
    assert (data.owner_block == expected.owner_block).all()
    assert (data.owner_thread == expected.owner_thread).all()
    assert (data.writers == 1).all()


def test_the_map_is_what_the_recorded_requests_say(tall):
    data = thread_map(tall, (64, 64), "naive")
    for warp in (0, 7):
        request = tall.requests("global", "st", block=(1, 3), warp=warp, array="C")[0]
        row, col = np.divmod(request["offset"] // 4, 64)
        assert (data.owner_block[row, col] == 1 + 2 * 3).all()
        assert (data.owner_thread[row, col] == 32 * warp + np.arange(32)).all()
