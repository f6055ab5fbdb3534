"""Letters that are kept: the same pixels as matplotlib's, and none laid out or drawn twice."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from helpers.pictures import letters, theme
from helpers.pictures.occupancy import explorer as occupancy
from helpers.pictures.roofline import explorer as roofline


@pytest.fixture
def forgotten(monkeypatch):
    for name in ("_widths", "_layouts", "_glyphs"):
        monkeypatch.setattr(letters, name, letters._Kept())


@pytest.mark.parametrize("explorer", [occupancy.explore, roofline.explore], ids=["page", "axes and turned letters"])
def test_pictures_have_the_bytes_of_matplotlibs_letters(forgotten, explorer):
    explorer = explorer()
    plain = explorer.draw()[0]
    FigureCanvasAgg(plain)
    own = theme.to_png(plain)
    assert [explorer.draw()[0].png() for _ in range(2)] == [own, own]


def test_drawn_letters_are_neither_laid_out_nor_drawn_again(forgotten, monkeypatch):
    assert letters.KNOWN  # this version of matplotlib has what is kept
    figure = lambda: theme.Figure(1.0, "A caption that states 3 numbers.")  # noqa: E731
    first = figure().png()

    def again(self, *what):
        raise AssertionError(what)

    for name in ("_laid_out", "_drawn"):
        monkeypatch.setattr(letters.Renderer, name, again)
    assert figure().png() == first
    with pytest.raises(AssertionError):
        theme.Figure(1.0, "Another caption that states 4.").png()


def test_what_is_kept_has_a_limit(monkeypatch):
    monkeypatch.setattr(letters, "MOST", 2)
    kept = letters._Kept()
    assert [kept.of(key, lambda key=key: key * 10) for key in (1, 2, 3, 3)] == [10, 20, 30, 30]
    assert len(kept) == 1
