"""Picture 4b: a race is a matter of time, so its picture has an axis of time."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.pictures.barriers.figure import race_figure
from helpers.pictures.tile_phases.facts import Race
from tests.pictures.figure_data import words

STORE, READ = "As[y][x] = *A; // load", "acc += As[y][k];"
RACE = Race("the first __syncthreads()", "As[5][6]", (1, 0, 0), 21, (6, 5, 0), STORE, 29, (3, 5, 0), READ)
NEXT = replace(RACE, missing="the second __syncthreads()", overwrites=True)
BLOCK = (8, 8, 1)


def events(drawn) -> list[float]:
    """Where the events lie on the axis of time, from the top of the picture down."""
    events = [artist for artist in drawn.axes[0].get_children() if artist.get_label() == "event"]
    corners = sorted((event.get_paths()[0].vertices[0] for event in events), key=lambda corner: corner[1])
    return [float(corner[0]) for corner in corners]


def test_without_first_barrier_a_read_may_precede_the_store():
    drawn = race_figure(RACE, "a kernel", BLOCK)
    assert drawn.caption.replace("\u00a0", " ") == (
        "Without the first __syncthreads(), thread (3, 5) may read As[5][6] (line 29) before thread (6, 5) has stored "
        "it (line 21): C is right or wrong by chance."
    )


def test_without_second_barrier_next_tile_may_precede_last_read():
    said = race_figure(NEXT, "a kernel", BLOCK).caption.replace("\u00a0", " ")
    assert "thread (6, 5) may store the next tile's float in As[5][6] (line 21)" in said
    assert "before thread (3, 5) has read this tile's (line 29)" in said


@pytest.mark.parametrize("race", [RACE, NEXT])
def test_barrier_orders_the_events_that_swap_without_it(race):
    first, second, late, early = events(race_figure(race, "a kernel", BLOCK))
    assert first < second and early < late


def test_barrier_stands_between_the_two_events_and_is_drawn_once():
    drawn = race_figure(RACE, "a kernel", BLOCK)
    (barrier,) = [artist for artist in drawn.axes[0].get_children() if artist.get_label() == "barrier"]
    (x,) = np.unique(barrier.get_segments()[0][:, 0])
    first, second, *_ = events(drawn)
    assert first < x < second


def test_threads_are_named_with_their_warps_and_their_lines():
    shown = [word.replace("\u00a0", " ") for word in words(race_figure(RACE, "a kernel", BLOCK))]
    assert shown.count("thread (6, 5), warp 1") == 2 and shown.count("thread (3, 5), warp 1") == 2
    assert "thread (6, 5) stores, line 21" in shown and "As[y][x] = *A;" in shown and "acc += As[y][k];" in shown


def test_phase_is_the_tiles_and_the_next_is_stored_over_it():
    assert {"phase 2: loads", "phase 2: multiplies"} <= set(words(race_figure(RACE, "a kernel", BLOCK, 1)))
    assert {"phase 2: multiplies", "phase 3: loads"} <= set(words(race_figure(NEXT, "a kernel", BLOCK, 1)))
