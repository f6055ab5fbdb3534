"""All exercises, by name and by notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helpers.exercises import (
    bank_waits,
    beating,
    lane_maps,
    latency_hiding,
    register_reuse,
    search_space,
    thread_indices,
    tile_reuse,
    vector_moves,
)
from helpers.exercises import n00 as notebook_00
from helpers.exercises import n01 as notebook_01
from helpers.exercises import n02 as notebook_02
from helpers.exercises import n03 as notebook_03
from helpers.exercises import n04 as notebook_04
from helpers.exercises import n05 as notebook_05
from helpers.exercises import n06 as notebook_06
from helpers.exercises import n07 as notebook_07
from helpers.exercises import n08 as notebook_08
from helpers.exercises import n09 as notebook_09
from helpers.exercises import n10 as notebook_10
from helpers.exercises import n11 as notebook_11
from helpers.exercises.framework import progress
from helpers.exercises.framework.exercise import Exercise
from helpers.exercises.framework.predict import Prediction

EXERCISES: tuple[Exercise, ...] = tuple(
    exercise
    for notebook in (
        notebook_00,
        notebook_01,
        notebook_02,
        notebook_03,
        notebook_04,
        notebook_05,
        notebook_06,
        notebook_07,
        notebook_08,
        notebook_09,
        notebook_10,
        notebook_11,
    )
    for exercise in notebook.EXERCISES
)

# The questions that come before a picture, notebook by notebook, in their order.
PREDICTIONS: Mapping[str, tuple[Callable[..., Prediction], ...]] = {
    "00": (notebook_00.predict_last_threads, notebook_00.predict_blocks),
    "01": (notebook_01.predict_flops, notebook_01.predict_lines),
    "02": (thread_indices.predict_owner, thread_indices.predict_idle_lanes),
    "03": (notebook_03.predict_naive_load,),
    "04": (tile_reuse.predict_uses,),
    "05": (notebook_05.predict_blocks,),
    "06": (register_reuse.predict_loads,),
    "07": (bank_waits.predict_store,),
    "08": (vector_moves.predict_sectors,),
    "09": (latency_hiding.predict_idle,),
    "10": (lane_maps.predict_floats,),
    "11": (search_space.predict_legal,),
    "12": (beating.predict_wins,),
}

# What notebooks ask beside their exercises: (name in the progress, title).
QUESTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "00": (("every_element", "Every element, once"),),
    "04": (("bytes_of_tiles", "Bytes with tiles"),),
    "09": (
        ("bytes_of_buffers", "Bytes of two buffers"),
        ("stages_that_never_wait", "Stages that never wait"),
    ),
    "10": (
        ("cheapest_warp_tile", "The cheapest warp tile"),
        ("wavefronts_row_by_row", "Wavefronts, row by row"),
        ("own_lane_map", "A lane map of your own"),
    ),
    "11": (("legal_configuration", "A configuration that keeps the rules"),),
    "12": (
        ("share_of_the_peak", "What 4.0 ms are worth"),
        ("block_for_every_sm", "A block for every SM"),
        ("rows_together", "Rows of tiles together"),
    ),
}


def get(name: str) -> Exercise:
    """The exercise with this name. ValueError, with the names there are, if there is none."""
    for exercise in EXERCISES:
        if exercise.name == name:
            return exercise
    raise ValueError(f"There is no exercise {name!r}; there are {', '.join(one.name for one in EXERCISES)}.")


def of_notebook(notebook: str) -> tuple[Exercise, ...]:
    """The exercises of a notebook, "04", in their order."""
    return tuple(exercise for exercise in EXERCISES if exercise.notebook == notebook)


def progress_map() -> progress.ProgressMap:
    """What is open, tried and solved."""
    notebooks = dict.fromkeys([*(exercise.notebook for exercise in EXERCISES), *QUESTIONS])
    rows = [
        progress.Row(
            notebook, (*QUESTIONS.get(notebook, ()), *((one.name, one.title) for one in of_notebook(notebook)))
        )
        for notebook in notebooks
    ]
    return progress.progress_map(rows)
