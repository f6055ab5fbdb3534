"""What the innermost loop touches: strides, cache lines a step, and the walk itself counted element by element."""

import numpy as np
import pytest

from helpers.pictures.cpu_loops import model as loop_order
from helpers.pictures.cpu_loops.model import matrix_shape, stride, walk

SHAPE = {"M": 5, "N": 48, "K": 32}


@pytest.mark.parametrize(("array", "shape"), [("A", (5, 32)), ("B", (32, 48)), ("C", (5, 48))])
def test_the_matrices_have_the_shapes_of_a_product(array, shape):
    assert matrix_shape(array, **SHAPE) == shape


@pytest.mark.parametrize(
    ("innermost", "floats"),
    [("k", {"A": 1, "B": 48, "C": 0}), ("row", {"A": 32, "B": 0, "C": 48}), ("col", {"A": 0, "B": 1, "C": 1})],
)
def test_a_trip_moves_on_by_nothing_a_column_or_a_row(innermost, floats):
    assert {array: stride(array, innermost, **SHAPE) for array in "ABC"} == floats


@pytest.mark.parametrize("size", [16, 64, 2048])
@pytest.mark.parametrize(
    ("innermost", "lines"),
    [("k", {"A": 1, "B": 16, "C": 1}), ("row", {"A": 16, "B": 1, "C": 16}), ("col", {"A": 1, "B": 1, "C": 1})],
)
def test_sixteen_iterations_touch_the_same_lines_at_any_size(innermost, lines, size):
    assert loop_order.lines(innermost) == lines
    assert {array: walk(array, innermost, 16, size, size, size).lines for array in "ABC"} == lines


def test_a_walk_is_the_one_that_the_loops_themselves_make():
    M, N, K, steps = 5, 48, 32, 4
    for innermost in loop_order.LOOPS:
        touched = {array: np.zeros(matrix_shape(array, M, N, K), bool) for array in "ABC"}
        for trip in range(steps):
            at = {"row": 0, "col": 0, "k": 0, innermost: trip}
            touched["A"][at["row"], at["k"]] = True
            touched["B"][at["k"], at["col"]] = True
            touched["C"][at["row"], at["col"]] = True
        for array, expected in touched.items():
            assert np.array_equal(walk(array, innermost, steps, M, N, K).touched, expected)


def test_all_elements_of_an_entered_line_are_brought_along():
    down = walk("B", "k", 2, **SHAPE)
    assert down.entered.sum() == 2 * 16 and down.entered[1, :16].all() and not down.entered[2:].any()


def test_a_line_may_reach_into_the_next_row():
    narrow = walk("C", "col", 3, M=5, N=3, K=4)  # rows of 12 bytes: a line holds five of them and a third
    assert narrow.lines == 1 and narrow.entered.sum() == 15


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: walk("A", "i", 1, **SHAPE), "There is no loop 'i'"),
        (lambda: walk("A", "row", 6, **SHAPE), "The loop over row has 5 iterations, but 6 were asked for"),
    ],
)
def test_what_there_is_not_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
