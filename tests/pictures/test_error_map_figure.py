"""The map of a wrong result: every element by its colour, and where the errors lie in words."""

import numpy as np
import pytest

from helpers.pictures import theme
from helpers.pictures.error_map.figure import ErrorMap, caption, error_map_figure, pattern


def data(wrong: np.ndarray, unwritten: np.ndarray | None = None) -> ErrorMap:
    unwritten = np.zeros_like(wrong) if unwritten is None else unwritten
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return ErrorMap("C", wrong, unwritten, first, (16, 16))


def mask(rows: int, columns: int, *where: slice) -> np.ndarray:
    array = np.zeros((rows, columns), bool)
    array[where] = True
    return array


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ((slice(None), slice(32, 37)), "columns 32 to 36"),
        ((slice(18, 19), slice(None)), "row 18"),
        ((slice(16, 19), slice(0, 4)), "rows 16 to 18, columns 0 to 3"),
        ((slice(None), slice(None)), ""),
        ((slice(2, 3), slice(5, 6)), "row 2, column 5"),
    ],
)
def test_the_box_of_the_errors_is_put_into_words(where, words):
    assert pattern(mask(19, 37, *where)) == words


def test_rows_and_columns_are_named_as_sets_not_as_ranges():
    scattered = mask(19, 37, slice(None, None, 18), slice(None, None, 36))
    assert pattern(scattered) == "rows 0 and 18, columns 0 and 36"


def test_the_caption_counts_wrong_and_unwritten_elements():
    wrong = mask(19, 37, slice(None), slice(32, 37))
    assert caption(data(wrong)) == "95 of 703\u00a0elements of C are wrong, all in columns 32 to 36."
    assert caption(data(wrong, wrong)).endswith("all in columns 32 to 36: no thread wrote them.")
    some = mask(19, 37, slice(0, 1), slice(32, 37))
    assert caption(data(wrong, some)).endswith("; 5 of them were not written.")
    wrong_element = mask(19, 37, slice(2, 3), slice(5, 6))
    assert caption(data(wrong_element)) == "1 of 703\u00a0elements of C is wrong, in row 2, column 5."


def test_every_element_has_the_colour_of_its_verdict():
    wrong = mask(19, 37, slice(16, None), slice(None))
    figure = error_map_figure(data(wrong), "C")
    (image,) = figure.axes[0].images
    colours = np.asarray(image.get_array())
    assert colours.shape == (19, 37, 3)
    red = np.array([int(theme.TROUBLE[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    assert np.allclose(colours[wrong], red) and not np.isclose(colours[~wrong], red).all(axis=1).any()


@pytest.mark.parametrize("shape", [(1, 70), (70, 1), (19, 37), (200, 300)])
def test_long_and_large_results_fit_on_the_page(shape):
    wrong = np.ones(shape, bool)
    figure = error_map_figure(data(wrong), "C")
    (image,) = figure.axes[0].images
    left, right, bottom, top = image.get_extent()
    assert 0 < left < right < 900 and right - left <= 801 and bottom - top <= 241
    assert len(figure.png()) > 1000


def test_first_wrong_element_is_visible_however_small():
    for size, side in ((16, 240 / 16), (64, 12.0), (200, 12.0)):
        wrong = np.zeros((size, size), bool)
        wrong[0, 0] = True
        figure = error_map_figure(ErrorMap("C", wrong, np.zeros_like(wrong), (0, 0), (16, 16)), "C")
        frame = next(artist for artist in figure.axes[0].get_children() if artist.get_label() == "first")
        corners = frame.get_paths()[0].vertices
        assert np.ptp(corners[:, 0]) == pytest.approx(side)


def test_what_several_threads_store_is_counted_in_the_caption():
    wrong = mask(8, 8, slice(0, 2))
    shown = ErrorMap("C", wrong, np.zeros_like(wrong), (0, 0), (8, 8), mask(8, 8, slice(0, 1)))
    assert caption(shown).endswith("; 8 of them are stored by several threads.")
