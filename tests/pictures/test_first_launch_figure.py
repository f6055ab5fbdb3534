"""The picture of threads over elements: what it draws is what was stored, and the caption counts it."""

import numpy as np
import pytest

from helpers.pictures import theme
from helpers.pictures.first_launch import figure as elements
from helpers.pictures.first_launch.facts import Strip
from helpers.pictures.first_launch.figure import caption, strips_figure
from tests.pictures.figure_data import boxes_of


def strip(writes: list[tuple[int, int]], blocks: int = 2, block: int = 4, count: int = 6) -> Strip:
    return Strip("a launch", "A", blocks, block, count, np.array(writes, np.int64).reshape(-1, 2))


STRAIGHT = [(n, n) for n in range(6)]


def artist(figure: theme.Figure, label: str):
    return [artist for artist in figure.axes[0].get_children() if artist.get_label() == label]


@pytest.mark.parametrize(
    ("drawn_strip", "sentence"),
    [
        (
            strip(STRAIGHT),
            "2\u00a0blocks of 4\u00a0threads, 8\u00a0threads for 6\u00a0elements: 2\u00a0threads wrote nothing.",
        ),
        (
            strip(STRAIGHT[:4], blocks=1),
            "1\u00a0block of 4\u00a0threads, 4\u00a0threads for 6\u00a0elements: 2\u00a0elements were not written.",
        ),
        (strip(STRAIGHT[:4], blocks=1, count=4), "every thread wrote one element, and every element was written."),
        (strip([(n, n % 4) for n in range(8)], count=4), "4\u00a0elements got 2 writes each."),
    ],
)
def test_caption_counts_what_went_wrong_or_says_all_is_well(drawn_strip, sentence):
    assert caption(drawn_strip).endswith(sentence)


def test_a_line_is_drawn_for_every_store_and_nothing_else():
    figure = strips_figure([strip([(0, 3), (7, 3)])], "title")
    segments = artist(figure, "writes")[0].get_segments()
    assert len(segments) == 2
    width = segments[1][0][0] - segments[0][0][0]  # from thread 0 to thread 7
    step = width / 7
    assert segments[0][1][0] == pytest.approx(elements.LEFT + 3.5 * step)
    assert segments[0][1][0] == segments[1][1][0]


def test_idle_threads_and_missed_elements_are_hatched_in_colour():
    figure = strips_figure([strip(STRAIGHT[:4])], "title")
    assert len(boxes_of(figure, "bad threads")) == 4 and len(boxes_of(figure, "bad A")) == 2
    assert not artist(strips_figure([strip(STRAIGHT[:4], blocks=1, count=4)], "t"), "bad A")


def test_several_launches_share_one_scale_and_one_caption():
    figure = strips_figure([strip(STRAIGHT), strip(STRAIGHT[:4], blocks=1)], "title")
    first, second = artist(figure, "writes")
    assert first.get_segments()[3][0][0] == second.get_segments()[3][0][0]
    assert (
        figure.caption
        == "2\u00a0blocks of 4: 2\u00a0threads wrote nothing; 1\u00a0block of 4: 2\u00a0elements were not written."
    )


def test_too_many_side_by_side_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="65 threads over 6\u00a0elements: a strip has room for 64"):
        strips_figure([strip([], blocks=65, block=1)], "title")
    with pytest.raises(ValueError, match="Between 1 and 4 launches"):
        strips_figure([], "title")


def test_where_numbers_would_touch_only_some_boxes_have_one(monkeypatch):
    shown = []
    labels = elements.page.labels
    monkeypatch.setattr(
        elements.page, "labels", lambda axes, texts, *rest: shown.append(texts) or labels(axes, texts, *rest)
    )
    for threads in (32, 64):
        strips_figure([strip([(n, n) for n in range(threads)], blocks=1, block=threads, count=threads)], "Threads")
    assert [len(texts) for texts in shown] == [32, 32, 32, 32] and shown[2][:3] == ["0", "2", "4"]
