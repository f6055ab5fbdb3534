"""Which thread stored which element of an array."""

import numpy as np

from helpers.analysis.elements import Strip


def test_threads_without_a_store_are_idle_and_elements_without_one_are_missed():
    one = Strip("a launch", "A", blocks=2, block=4, elements=6, writes=np.array([(0, 0), (1, 1), (5, 1)]))
    assert one.idle.tolist() == [False, False, True, True, True, False, True, True]
    assert one.writers.tolist() == [1, 2, 0, 0, 0, 0]
