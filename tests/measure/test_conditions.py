"""The comparison under every condition: its turns, its shapes, on a stand-in for CuPy that keeps time by counting."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from helpers.measure import timing
from helpers.measure.frozen import frozen_shapes
from helpers.recordings.suites import (
    FASTEST_OTHERS,
    FASTEST_SQUARES,
    UNSEEN_FLOPS,
    shapes_like_unseen,
)


@pytest.fixture
def calls(monkeypatch):
    """Names in the order in which they are called, while CuPy's events read how many there were."""
    done: list[str] = []

    class Event:
        def record(self, stream):
            self.at = len(done)

    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(Event=Event, get_elapsed_time=lambda begin, end: end.at - begin.at)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(timing.gpu, "synchronize", lambda: None)
    return done


def turns(calls, launches, before):
    milliseconds = timing.take_turns(launches, None, 1e-9, before, warm_up_s=0.0)
    count = len(milliseconds) * len(launches)
    return milliseconds, calls[-2 * count :]


def test_each_launch_is_timed_alone_behind_its_own_flush(calls):
    launches = [lambda name=name: calls.append(name) for name in "abc"]
    before = [lambda name=name: calls.append(f"before {name}") for name in "abc"]
    milliseconds, order = turns(calls, launches, before)
    assert (milliseconds == 1).all()
    assert all(flush == f"before {launch}" for flush, launch in zip(order[::2], order[1::2], strict=True))


def test_order_of_kernels_changes_from_round_to_round(calls):
    launches = [lambda name=name: calls.append(name) for name in "abcd"]
    milliseconds, order = turns(calls, launches, lambda: calls.append("flush"))
    rounds = np.array(order[1::2]).reshape(len(milliseconds), 4)
    assert all(sorted(names) == list("abcd") for names in rounds.tolist())
    after_a = {names[names.index("a") + 1] for names in rounds.tolist() if names.index("a") < 3}
    assert len(after_a) > 1


def test_frozen_shapes_are_those_of_their_seed():
    known = {*FASTEST_OTHERS, *((size, size, size) for size in FASTEST_SQUARES)}
    drawn = shapes_like_unseen(np.random.default_rng(20261128))
    fresh = [shape for shape, _ in zip(drawn, range(40), strict=False) if shape not in known]
    assert frozen_shapes() == tuple(fresh)
    assert all(UNSEEN_FLOPS[0] <= 2 * M * N * K <= UNSEEN_FLOPS[1] for M, N, K in frozen_shapes())
