"""What the gallery draws: each picture of the course at three settings."""

import re
from pathlib import Path

import pytest

from helpers import pictures
from helpers.pictures import theme
from helpers.pictures.faults import faults
from helpers.tools.gallery import pictures as gallery, small_pictures


def test_every_picture_has_three_settings_and_a_name_of_its_own():
    names = [picture.name for picture in gallery.PICTURES]
    numbers = [name[:2] for name in names if name[:2].isdecimal()]
    assert len(names) == len(set(names)) and numbers == sorted(numbers)
    for picture in gallery.PICTURES:
        labels = [label for label, _ in picture.settings]
        assert len(labels) - labels.count(gallery.TWIN) == 3 == len(set(labels) - {gallery.TWIN})
        assert picture.question.endswith("?")


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("picture", gallery.PICTURES, ids=lambda picture: picture.name)
def test_every_setting_is_drawn_with_all_letters_apart(picture):
    for label, draw_setting in picture.settings:
        drawn = draw_setting()
        if isinstance(drawn, theme.Figure):
            assert faults(drawn) == [], label
        else:
            assert "<" in drawn.html(), label


def test_every_figure_is_drawn_by_explorers_or_gallery():
    folder = Path(gallery.__file__).parent
    house = Path(pictures.__file__).parents[1]
    explorers = [*(house / "pictures").glob("*/explorer.py"), *(house / "pictures").glob("*.py")]
    files = [*folder.rglob("*.py"), *(house / "exercises").rglob("*.py"), *explorers]
    sources = "".join(path.read_text(encoding="utf-8") for path in files)
    drawing = (house / "pictures").rglob("*.py")
    figures = {name for path in drawing for name in re.findall(r"^def (\w+_figure)\(", path.read_text(), re.MULTILINE)}
    assert len(figures) > 25
    assert {name for name in figures if f"{name}(" not in sources} == set()


def test_the_small_pictures_state_their_numbers():
    captions = {
        "strip": small_pictures.strip(3, 16, 40)(),
        "errors": small_pictures.errors(19, 37, (slice(None), slice(32, 37)))(),
        "lanes": small_pictures.warp_fill(33)(),
        "order": small_pictures.order("shared_memory", phases=2)(),
    }
    assert all(isinstance(drawn, theme.Figure) for drawn in captions.values())
    texts = {name: drawn.caption.replace("\u00a0", " ").replace("\u202f", " ") for name, drawn in captions.items()}
    assert "8 threads wrote nothing" in texts["strip"]
    assert texts["errors"] == "95 of 703 elements of C are wrong, all in columns 32 to 36."
    assert "A block of 33 uses 52 % of the lanes" in texts["lanes"]
    assert texts["order"].startswith("4 loads of warp 0")
