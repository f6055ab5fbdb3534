"""Picture 9: the model's timeline."""

import numpy as np
import pytest

from helpers.pictures.pipeline import figure as picture
from helpers.pictures.pipeline.figure import comparison, pipeline_figure, pipelines_figure
from helpers.pictures.pipeline.model import Pipeline, Work, steady_state, timeline
from tests.pictures.figure_data import boxes_of, plain

WORK = Work(20, 20, 160)


def extents(drawn, label: str) -> np.ndarray:
    """(artists, 2) left and right in pixels."""
    sides = [(corners[:, 0].min(), corners[:, 0].max()) for corners in boxes_of(drawn, label)]
    return np.array(sides).reshape(-1, 2)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("warps", [1, 8])
def test_bars_stand_where_the_model_says(stages, warps):
    data = comparison(Pipeline(WORK, stages, warps=warps))
    drawn = pipeline_figure(data)
    scale = (picture.RIGHT - picture.LEFT) / data.single.end

    def cycles(label: str) -> list[tuple[int, int]]:
        return sorted({tuple(pair) for pair in np.rint((extents(drawn, label) - picture.LEFT) / scale).tolist()})

    shown = data.shown
    assert cycles("multiplies") == sorted((s.start, s.stop) for s in shown.spans if s.part == "multiply")
    assert cycles("flights") == sorted({(flight.start, flight.stop) for flight in shown.flights})
    assert cycles("idle") == sorted(shown.idle)


def test_the_axis_ends_where_the_single_buffer_is_done():
    done = extents(pipeline_figure(comparison(Pipeline(WORK, 1))), "done")
    assert done[0, 0] == pytest.approx(picture.RIGHT)
    data = comparison(Pipeline(WORK, 2))
    done = extents(pipeline_figure(data), "done")
    share = (done[0, 0] - picture.LEFT) / (picture.RIGHT - picture.LEFT)
    assert share == pytest.approx(data.shown.end / data.single.end)


def test_the_lower_bars_are_the_steady_states():
    data = comparison(Pipeline(WORK, 2))
    idle = extents(pipeline_figure(data), "idle a block")
    steady = [steady_state(Pipeline(WORK, stages)) for stages in (1, 2, 3, 4)]
    expected = [picture.BARS_WIDTH * interval.idle / steady[0].cycles for interval in steady]
    assert (idle[:, 1] - idle[:, 0]).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("pipeline", "shown", "other"),
    [
        (Pipeline(WORK, 1), "1 warp with a single buffer hides 0", "with a double buffer it would hide 160."),
        (Pipeline(WORK, 2), "1 warp with a double buffer hides 160", "8 warps with a single buffer hide 400 already."),
        (
            Pipeline(WORK, 2, warps=2),
            "2 warps with a double buffer hide 360",
            "with a single buffer they hide 200 already.",
        ),
    ],
)
def test_the_caption_says_that_it_is_a_model_and_what_is_hidden(pipeline, shown, other):
    expected = f"Model, not measured: {shown} of 400 cycles of latency; {other}"
    assert plain(picture.caption(comparison(pipeline))) == expected


def test_the_title_names_the_kernel_whose_work_it_is():
    texts = [text.get_text() for text in pipeline_figure(comparison(Pipeline(WORK)), "vectorized").axes[0].texts]
    assert any(text.startswith("Model: single buffer") and text.endswith("work of vectorized") for text in texts)


def test_a_fast_memory_leaves_no_idle_cycle():
    drawn = pipeline_figure(comparison(Pipeline(WORK, 2, latency=0)))
    assert len(extents(drawn, "idle")) == 0


def test_too_many_warps_are_refused():
    with pytest.raises(ValueError, match="At most 8 warps"):
        pipeline_figure(comparison(Pipeline(WORK, warps=9)))
    with pytest.raises(ValueError, match="at least one"):
        pipelines_figure([], "t")


def test_the_twin_draws_all_on_one_axis_of_time():
    shown = [timeline(Pipeline(WORK, stages)) for stages in (1, 2, 4)]
    drawn = pipelines_figure(shown, "t")
    multiplies = extents(drawn, "multiplies")
    scale = (picture.RIGHT - picture.LEFT - 24) / shown[0].end
    widths = multiplies[:, 1] - multiplies[:, 0]
    assert widths.tolist() == pytest.approx([160 * scale] * 24)
    assert plain(drawn.caption).endswith("single buffer 400, double buffer 240, 4 stages 0.")
