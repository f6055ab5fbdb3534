"""The choice of a kernel by shape: as measured where that was done, by the smallest estimate elsewhere."""

import json

import pytest

import gemm_kernels
from gemm_kernels import dispatch, fastest, get
from helpers import devices
from helpers.measure import choosing, recordings

GPU = dispatch.DEFAULT_GPU
RECORDED = json.loads(dispatch.FILE.read_text(encoding="utf-8"))[GPU]
SHAPES = [tuple(shape) for *shape, _ in RECORDED["fastest"]]
OTHER_SHAPES = [(2, 3, 4), (300, 250, 240), (301, 250, 241), (5000, 17, 3000), (9, 9, 50_000), (3333, 4444, 5555)]
VECTOR_SHAPES = [(1, 1, 1), (1, 5000, 3000), (1, 4095, 17), (5000, 1, 3000), (77, 1, 123_456)]


def estimates(shape):
    """Kernel -> seconds, of all candidates that have costs and suit the shape."""
    choices = dispatch.of(GPU)
    every = [one for one in choices.candidates if one.costs and dispatch.suits(one.kernel, shape)]
    return {one.kernel.entry: dispatch.estimate(one, shape, choices.sms) for one in every}


def test_a_recorded_shape_gets_the_kernel_that_was_the_fastest_there():
    for M, N, K, which in RECORDED["fastest"]:
        expected = RECORDED["candidates"][which]
        found = fastest(M, N, K)
        assert (found.name, dict(found.params)) == (expected["kernel"], expected["params"])


@pytest.mark.parametrize("shape", OTHER_SHAPES)
def test_another_shape_gets_the_candidate_with_the_smallest_estimate(shape):
    assert shape not in SHAPES
    expected = estimates(shape)
    chosen = fastest(*shape)
    assert len(expected) > 10 and min(expected.values()) > 0
    assert chosen.name == dispatch.ESTIMATED and expected[chosen.entry] == min(expected.values())


def test_an_estimate_is_what_the_amounts_of_work_cost():
    kernel = get("stream_k", WORKERS=0)
    shape = (256, 512, 80)  # two tiles down, two along, ten rounds of 8
    amounts = dispatch.amounts(kernel, shape, sms=3)
    assert amounts == {
        "launch": 1, "rounds": 20, "block_rounds": 20, "tiles": 2, "block_tiles": 2, "shared": 0, "parts": 0,
        "bytes": 4 * (256 * 80 + 80 * 512 + 2 * 256 * 512),
    }  # fmt: skip
    candidate = dispatch.Candidate(kernel, {"launch": 0.5, "rounds": 0.25})
    assert dispatch.estimate(candidate, shape, sms=3) == 0.5 + 20 * 0.25


def test_workers_share_the_rounds_of_tiles_that_would_be_a_last_turn():
    kernel = get("stream_k")
    assert kernel.params["WORKERS"] == 132
    four = dispatch.amounts(kernel, (256, 512, 8 * 132), sms=132)  # 4 tiles of 132 rounds for 132 workers
    assert (four["rounds"], four["shared"], four["parts"]) == (4, 1, 33)
    even = dispatch.amounts(kernel, (128 * 132, 256, 80), sms=132)  # one tile for each
    assert (even["rounds"], even["tiles"], even["shared"], even["parts"]) == (10, 1, 0, 0)


@pytest.mark.parametrize("shape", SHAPES + OTHER_SHAPES + VECTOR_SHAPES)
def test_the_loops_are_those_for_the_rows_of_b(shape):
    for kernel in (fastest(*shape), dispatch.stream_k(*shape)):
        if kernel.name == dispatch.ESTIMATED:
            assert kernel.params["LOOPS"] == (2 if shape[1] % 4 == 0 else 1)


@pytest.mark.parametrize("shape", VECTOR_SHAPES)
def test_one_row_gets_a_vector_times_a_matrix_and_one_column_a_matrix_times_a_vector(shape):
    M, N, _ = shape
    names = {kernel.name for kernel in gemm_kernels.VECTORS}
    assert fastest(*shape).name in names
    assert fastest(*shape).name == "vector_matrix" or N == 1
    assert fastest(*shape).name == "matrix_vector" or M == 1
    assert dispatch.stream_k(*shape).name == "stream_k"


def test_stream_k_has_the_parameters_that_the_choice_has_where_that_is_the_same_kernel():
    assert dispatch.stream_k(4096, 4096, 4096) == fastest(4096, 4096, 4096)
    assert dispatch.stream_k(1, 4096, 4096) != fastest(1, 4096, 4096)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [((0, 5, 5), "M = 0, but a matrix has"), ((5, -1, 5), "N = -1, but"), ((1, 5, 0), "K = 0, but a matrix has")],
)
def test_a_matrix_without_rows_or_columns_is_answered_with_a_sentence(shape, sentence):
    with pytest.raises(ValueError, match=sentence):
        fastest(*shape)
    with pytest.raises(ValueError, match=sentence):
        dispatch.stream_k(*shape)


def test_a_gpu_that_nobody_compared_on_is_answered_with_what_to_do():
    with pytest.raises(ValueError, match=r"on 'GPU Y'\. Run `python -m helpers\.measure choose` .* 'NVIDIA H200'"):
        fastest(64, 64, 64, gpu="GPU Y")
    assert dispatch.gpus() == (GPU,) and "GPU Y" not in dispatch.gpus()


def computed():
    """What `choose` would write, from what it measured."""
    measured = choosing.read_measured(recordings.choices_path(GPU))
    return choosing.choices(choosing.candidates(), measured, devices.get(GPU).sms)


def test_the_choice_is_what_is_computed_from_what_was_measured(monkeypatch):
    monkeypatch.setattr(choosing, "costs", lambda *about: None)  # which need SciPy
    again = computed()
    assert (again["sms"], again["fastest"]) == (RECORDED["sms"], RECORDED["fastest"])
    without = [{"kernel": one["kernel"], "params": one["params"]} for one in RECORDED["candidates"]]
    assert again["candidates"] == without


def test_the_costs_are_what_is_fitted_to_what_was_measured():
    pytest.importorskip("scipy", reason="costs are fitted with SciPy (make tune)")
    for again, kept in zip(computed()["candidates"], RECORDED["candidates"], strict=True):
        assert again.get("seconds", {}) == pytest.approx(kept.get("seconds", {}), rel=1e-3)


def test_the_recording_has_every_shape_and_the_candidates_in_the_order_of_their_numbers():
    content = recordings.read(recordings.choices_path(GPU))
    kernels = choosing.candidates()
    assert content["candidates"] == [kernel.entry for kernel in kernels]
    assert [tuple(row[:3]) for row in content["rows"]] == SHAPES == choosing.shapes()
    for one in choosing.read_measured(recordings.choices_path(GPU)):
        assert one.times and all(choosing.suits(kernels[which], one.shape) for which in one.times)
        assert set(one.in_graph) <= set(one.times) and min(one.times.values()) > 0
