"""How candidates for `fastest` are compared: which are tried at a shape, and what their costs are fitted to."""

import pickle
from concurrent.futures import Future
from functools import partial

import numpy as np
import pytest

from gemm_kernels import by_shape, get
from gpusim import devices
from helpers.measure.bench import Accepted, Refusal
from helpers.recordings import suites
from helpers.recordings.compared import EVENTS
from helpers.tools.measuring import choosing, side_by_side

H200 = devices.get("NVIDIA H200")
KERNELS = choosing.candidates(H200.sms)


def test_shapes_are_distinct_and_name_the_suites_once():
    assert len(set(choosing.shapes())) == len(choosing.shapes())
    said = [*suites.FASTEST_OTHERS, *choosing.MORE_SHAPES]
    assert len(set(said)) == len(said)
    assert {*suites.FASTEST_OTHERS} <= {*choosing.shapes()}
    assert not {*suites.unseen_shapes()} & {*choosing.shapes()}


def test_a_shape_is_tried_with_what_may_be_the_fastest_there():
    large, small = (by_shape.promising(KERNELS, (size, size, size), H200.sms) for size in (4096, 300))
    assert len(large) == len([kernel for kernel in KERNELS if by_shape.suits(kernel, (4096, 4096, 4096))]) < len(small)
    assert len(small) == by_shape.PROMISING
    assert any(kernel.tile == (192, 256) for kernel in large) and not any(kernel.tile == (192, 256) for kernel in small)
    column = by_shape.promising(KERNELS, (5000, 1, 4000), H200.sms)
    assert {kernel for kernel in KERNELS if kernel.name == "matrix_vector"} <= {*column}


def test_tiles_over_256_columns_are_tried_for_large_products():
    wide = {kernel for kernel in KERNELS if kernel.tile[1] > 256}
    assert {kernel.tile for kernel in wide} == {(96, 512), (64, 512), (128, 384)}
    assert wide & {*by_shape.promising(KERNELS, (2048, 2048, 2048), H200.sms)}
    assert not any(by_shape.suits(kernel, (2047, 2048, 2048)) for kernel in wide)


def test_costs_are_fitted_to_graph_times_where_the_suite_is():
    cold = choosing.Measured((4096, 4096, 4096), 3.0, None, {0: 2.0, 1: 4.0}, {})
    assert cold.as_the_suite_times == cold.times
    small = choosing.Measured((64, 64, 64), 9.0, 3.0, {0: 8.0, 1: 10.0, 2: 40.0}, {0: 4.0, 1: 6.0})
    assert small.as_the_suite_times == {0: 4.0, 1: 6.0, 2: pytest.approx(40 * 0.55 * choosing.FAR_PENALTY)}


def test_what_several_gpus_measure_comes_back_as_if_one_had(monkeypatch):
    """The other process without its GPU: it is called here, and its answer sent as processes do."""

    def measured(kernels, shape, which, *, budget_s):
        assert budget_s == 0.5
        refusal = Refusal(kernels[which[0]], ValueError("is wrong"))
        return choosing.Measured(shape, 1.0, None, dict.fromkeys(which, 2.0), {}), [refusal]

    def answered(function, tasks, gpus):
        assert gpus == ["0", "1"]
        for task in reversed(tasks):
            future = Future()
            future.set_result(pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(task))))))
            yield task, future

    monkeypatch.setattr(choosing, "measure", measured)
    monkeypatch.setattr(side_by_side, "results", answered)
    plan = {(64, 64, 64): [5, 7], (128, 64, 64): [9]}
    single, several = (
        {shape: measure() for shape, measure in choosing.measure_each(KERNELS, plan, H200.sms, gpus, budget_s=0.5)}
        for gpus in ([], ["0", "1"])
    )
    assert {shape: each for shape, (each, _) in single.items()} == {shape: each for shape, (each, _) in several.items()}
    for shape, (_, (refusal,)) in single.items():
        (there,) = several[shape][1]
        assert there.kernel == refusal.kernel and str(there.error) == str(refusal.error)


@pytest.mark.parametrize(("N", "widest"), [(64, 0), (66, 2), (67, 1)])
def test_candidates_are_measured_with_their_rows_code(monkeypatch, N, widest):
    """Without a GPU: kernels are accepted or refused by their numbers, and timed by them."""
    which = [number for number, kernel in enumerate(KERNELS) if kernel.name in ("persistent", "clustered")][:5]
    seen = []

    def accept(kernels, check):
        seen.extend(kernels)
        accepted = [Accepted(kernel, partial(print, position), 0.0) for position, kernel in enumerate(kernels)]
        return accepted[1:], [Refusal(kernels[0], ValueError("is wrong"))]

    def interleave(launches, budget_s, warm_up_s):
        return np.array([[9.0] * len(launches)])

    for name, instead in (("accept", accept), ("interleave", interleave), ("way", lambda *shape: EVENTS)):
        monkeypatch.setattr(choosing, name, instead)
    measured, (refusal,) = choosing.measure(KERNELS, (8, N, 8), which)
    assert [kernel.widest for kernel in seen] == [widest] * 5 and [kernel.params for kernel in seen] == [
        KERNELS[number].params for number in which
    ]
    assert list(measured.times) == which[1:] and refusal.kernel == KERNELS[which[0]]


LONG, SHORT = [(size, size, size) for size in (256, 512, 1024)], [(800, 800, 16), (400, 400, 16)]
TRIED, OTHER = (get("persistent", WORKERS=0, BLOCKS=blocks) for blocks in (1, 2))


def as_usual(kernel, shape):
    """Milliseconds by the rough estimate, and three times as many where k is short."""
    return 1e3 * by_shape.rough_seconds(kernel, shape, H200.sms) * (3 if shape in SHORT else 1)


def tried_at_long_k_only():
    """Times of two candidates, of which the first was not tried where k is short."""
    where = [(shape, (0, 1)) for shape in LONG] + [(shape, (1,)) for shape in SHORT]
    times = [{which: as_usual((TRIED, OTHER)[which], shape) for which in tried} for shape, tried in where]
    return [choosing.Measured(shape, 1.0, None, ms, {}) for (shape, _), ms in zip(where, times, strict=True)]


def test_error_of_rough_estimates_is_known_per_kind_of_shape():
    usual = choosing.usually([TRIED, OTHER], tried_at_long_k_only(), H200.sms)
    assert usual == {(False, False): pytest.approx(1), (False, True): pytest.approx(3)}


def test_untried_candidates_costs_follow_the_shapes_usual_ratio():
    pytest.importorskip("scipy", reason="costs are fitted with SciPy (make tune)")
    rows = tried_at_long_k_only()
    usual = choosing.usually([TRIED, OTHER], rows, H200.sms)
    guided, alone = (
        by_shape.estimate(TRIED, choosing.costs(TRIED, 0, rows, H200.sms, ratios), SHORT[0], H200.sms)
        for ratios in (usual, {})
    )
    goal = as_usual(TRIED, SHORT[0]) / 1e3
    assert abs(guided / goal - 1) < abs(alone / goal - 1) / 2


def test_rows_at_8_bytes_are_half_as_odd_to_persistent():
    def odd(name, N):
        return by_shape.amounts(get(name), (256, N, 80), sms=132)["odd_rounds"]

    assert odd("persistent", 512) == odd("stream_k", 512) == 0
    assert odd("persistent", 510) == odd("persistent", 511) / 2 > 0
    assert odd("stream_k", 510) == odd("stream_k", 511) > 0


def test_older_times_are_kept_as_parts_of_what_cublas_took():
    before = choosing.Measured((64, 64, 64), 4.0, 2.0, {0: 2.0, 1: 8.0}, {0: 1.0})
    now = choosing.Measured((64, 64, 64), 6.0, 3.0, {2: 3.0}, {2: 1.2})
    both = choosing.added(before, now)
    assert both == choosing.Measured((64, 64, 64), 6.0, 3.0, {0: 3.0, 1: 12.0, 2: 3.0}, {0: 1.5, 2: 1.2})
    assert both.score(0) == before.score(0) and both.score(2) == now.score(2)
    cold = choosing.Measured((4096, 4096, 4096), 2.0, None, {0: 2.0}, {})
    assert choosing.added(cold, cold) == choosing.added(None, cold) == cold


def test_missing_shape_is_measured_beside_its_rivals_alone():
    shape = (300, 300, 300)
    every = choosing.wanting(KERNELS, shape, H200.sms)
    times = {which: 1.0 + position / 20 for position, which in enumerate(every)}
    whole = choosing.Measured(shape, 1.0, None, times, {})
    assert choosing.wanting(KERNELS, shape, H200.sms, whole) == []
    without = choosing.Measured(shape, 1.0, None, {which: times[which] for which in every if which != every[7]}, {})
    assert choosing.wanting(KERNELS, shape, H200.sms, without) == [*every[:3], every[7]]
