"""The picture of the order of a warp's loads, stores and reads."""

import pytest

from helpers.pictures import page
from helpers.pictures.order.facts import COPY, LOAD, READ, STORE, Event
from helpers.pictures.order.figure import caption, order_figure

LOW, HIGH = (0, 1023), (1024, 2047)
EVENTS = [
    Event(LOAD, "A"), Event(STORE, LOW), Event(LOAD, "B"), Event(STORE, HIGH), Event(LOAD, "A"),
    Event(READ, LOW), Event(READ, HIGH), Event(STORE, LOW), Event(READ, LOW),
]  # fmt: skip


def test_the_reads_between_a_load_and_its_store_are_counted():
    assert caption(EVENTS).startswith("3\u00a0loads of warp 0. Between a load and the store")
    assert "2\u00a0reads from shared memory." in caption(EVENTS)


def test_asynchronous_copies_wait_for_no_store():
    events = [Event(LOAD, "A"), Event(COPY, (0, 63)), Event(READ, (0, 63))]
    assert caption(events) == "Warp 0 starts 1\u00a0asynchronous copy and makes 1\u00a0read from shared memory."


def test_every_event_has_its_mark_in_the_row_of_its_place():
    figure = order_figure(EVENTS, "a kernel")
    marks = {artist.get_label(): len(artist.get_paths()) for artist in figure.axes[0].collections if artist.get_paths()}
    assert (marks["load of A"], marks["load of B"]) == (2, 1)
    assert marks["store to shared memory"] == 3 and marks["read from shared memory"] == 3
    names = [text.get_text() for text in figure.axes[0].texts]
    assert {"matrix A", "matrix B", "shared bytes 0 to 1\u202f023"} <= set(names)
    assert all(page.text_width(name) < 205 for name in names if name.startswith("shared"))


def test_part_of_shared_memory_has_its_name_in_the_source():
    figure = order_figure(EVENTS, "a kernel", {LOW: "As[0]"})
    names = [text.get_text() for text in figure.axes[0].texts]
    assert "As[0]" in names and "shared bytes 1\u202f024 to 2\u202f047" in names


def test_an_array_that_is_no_matrix_has_the_colour_of_no_store():
    figure = order_figure([Event(LOAD, "x"), Event(STORE, LOW)], "a kernel")
    assert "array x" in [text.get_text() for text in figure.axes[0].texts]
    drawn = [artist for artist in figure.axes[0].collections if artist.get_label() and len(artist.get_facecolor())]
    colours = {artist.get_label(): tuple(artist.get_facecolor()[0]) for artist in drawn}
    assert colours["load of x"] != colours["store to shared memory"]


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="no load, store or read"):
        order_figure([], "a kernel")
