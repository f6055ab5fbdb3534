"""The pipeline model against sums that a learner does by hand."""

import pytest

from helpers.pictures.pipeline.model import ByHand, Pipeline, Work, steady_state, timeline

WORK = Work(copy=10, store=20, multiply=100)


def run(stages: int, latency: int = 400, warps: int = 1, work: Work = WORK, blocks: int = 8):
    return timeline(Pipeline(work, stages, latency, blocks, warps))


def settled(stages: int, latency: int = 400, warps: int = 1):
    return steady_state(Pipeline(WORK, stages, latency, warps=warps))


def test_a_single_buffer_waits_the_whole_latency_for_every_block():
    result = settled(1)
    assert (result.cycles, result.idle, result.hidden) == (10 + 400 + 20 + 100, 400, 0)
    assert run(1).end == 8 * 530
    assert run(1).idle[:2] == ((10, 410), (540, 940))


@pytest.mark.parametrize(("latency", "exposed"), [(400, 300), (100, 0), (60, 0), (101, 1)])
def test_double_buffer_hides_latency_behind_one_blocks_products(latency, exposed):
    result = settled(2, latency)
    assert (result.cycles, result.idle, result.hidden) == (130 + exposed, exposed, latency - exposed)


def test_more_stages_hide_the_latency_behind_more_blocks():
    # From the end of a copy to its block's products: 100 of one block, then 110 of each block between, and the waits.
    assert settled(3, 400).idle == (400 - 100 - 110) / 2
    assert settled(4, 650).idle == (650 - 100 - 2 * 110) / 3
    assert (settled(3, 210).idle, settled(3, 210).cycles) == (0, 110)
    assert settled(4, 320).idle == 0


def test_more_stages_never_wait_longer():
    for latency in (0, 50, 150, 333, 700):
        waits = [settled(stages, latency).idle for stages in (1, 2, 3, 4)]
        assert waits == sorted(waits, reverse=True)


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 5, 8])
def test_other_warps_hide_the_latency_of_a_single_buffer(warps):
    # A round is the longer of one warp's own cycles and of what all warps issue.
    result = settled(1, 400, warps)
    assert result.cycles == max(530, warps * 130)
    assert result.idle == max(0, 530 - warps * 130)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_warps_with_more_work_than_latency_take_turns(stages):
    each = 110 + (20 if stages == 2 else 0)
    result = settled(stages, 400, 8)
    assert (result.cycles, result.idle) == (8 * each, 0)
    products = [span.warp for span in run(stages, 400, 3).spans if span.part == "multiply"]
    assert products[:6] == [0, 1, 2, 0, 1, 2]


def test_scheduler_issues_for_one_warp_at_a_time_and_loses_none():
    for stages in (1, 2, 3, 4):
        result = run(stages, 250, warps=3)
        times = [(span.start, span.stop) for span in result.spans]
        assert all(earlier[1] <= later[0] for earlier, later in zip(times, times[1:], strict=False))
        busy = sum(stop - start for start, stop in times)
        assert busy == 3 * 8 * (110 + (20 if stages < 3 else 0))
        assert busy + sum(stop - start for start, stop in result.idle) == result.end


def test_block_is_multiplied_after_arrival_and_copied_when_free():
    for stages in (1, 2, 3, 4):
        result = run(stages, 777, warps=2)
        arrival = {(flight.warp, flight.block): flight.stop for flight in result.flights}
        products = {(s.warp, s.block): s for s in result.spans if s.part == "multiply"}
        assert all(span.start >= arrival[key] for key, span in products.items())
        for span in result.spans:
            overwritten = (span.warp, span.block - stages)
            writes = "copy" if stages > 2 else "store"
            if span.part == writes and overwritten in products:
                assert span.start >= products[overwritten].stop


def test_blocks_in_flight_are_the_stages_ahead():
    for stages, most in ((1, 1), (2, 1), (3, 2), (4, 3)):
        flights = run(stages, 2000).flights
        assert max(sum(f.start < flight.stop <= f.stop for f in flights) for flight in flights) == most


def test_no_latency_is_no_idle_cycle():
    assert run(1, 0).idle == ()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Pipeline(WORK, stages=0), "stages must be at least 1"),
        (lambda: Pipeline(WORK, blocks=0), "blocks must be at least 1"),
        (lambda: Work(0, 1, 1), "at least one copy"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


# --- a few tiles by hand


def test_one_buffer_adds_the_times_and_two_take_the_longer():
    assert ByHand(4, 4, 3, 1).end == 4 * (4 + 3)
    assert ByHand(4, 4, 3, 2).end == 4 * 4 + 3
    assert ByHand(4, 4, 6, 2).end == 4 + 4 * 6


def test_a_load_waits_until_its_buffer_has_been_multiplied():
    model = ByHand(4, 4, 6, 2)
    assert model.loads == (0, 4, 10, 16) and model.products == (4, 10, 16, 22)
