"""The page with every picture."""

import re

import pytest

from helpers.draw import theme
from helpers.explore import gallery


def test_every_picture_has_three_settings_and_a_name_of_its_own():
    names = [picture.name for picture in gallery.PICTURES]
    assert len(names) == len(set(names))
    for picture in gallery.PICTURES:
        assert sum(label != gallery.TWIN for label, _ in picture.settings) == 3
        assert picture.question.endswith("?")


def test_the_page_shows_each_setting_beside_its_caption(tmp_path, monkeypatch):
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: b"\x89PNG")  # drawing all of them takes a while
    index = gallery.render(tmp_path)
    page = index.read_text()
    images = re.findall(r'<img src="([^"]+)"[^>]*alt="([^"]+)"', page)
    assert len(images) == len(list(tmp_path.glob("*.png")))
    assert page.count("<figure>") == sum(len(picture.settings) for picture in gallery.PICTURES)
    assert all(caption.strip() for _, caption in images)


def test_pictures_can_be_chosen_by_name(tmp_path, capsys):
    gallery.main([str(tmp_path), "diff"])
    assert capsys.readouterr().out.strip() == str(tmp_path / "index.html")
    assert "From naive to coalesced" in (tmp_path / "index.html").read_text()
    with pytest.raises(SystemExit, match="No picture is called like cubism"):
        gallery.main([str(tmp_path), "cubism"])
    with pytest.raises(SystemExit, match="Say where to"):
        gallery.main([])
