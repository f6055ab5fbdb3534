"""helpers.tools.gallery.page: every figure at its settings on one page, and every stored picture on another."""

import json
import re

import pytest

from helpers.pictures import theme
from helpers.tools.gallery import page as gallery
from helpers.tools.gallery.pictures import PICTURES


def test_every_stored_picture_is_found_with_cell_and_alt_text(tmp_path):
    bundle = {"image/png": ["AAAA", "BBBB"], "text/plain": "plain <caption>"}
    outputs = [
        {"output_type": "stream", "text": "no picture"},
        {"output_type": "display_data", "data": bundle, "metadata": {"image/png": {"alt": "a & b"}}},
        {"output_type": "display_data", "data": bundle, "metadata": {}},
    ]
    path = tmp_path / "00-x.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": outputs}]}))
    pictures = gallery.stored_pictures(path)
    assert pictures == [
        gallery.Stored("00-x.ipynb", 2, "AAAABBBB", "a & b"),
        gallery.Stored("00-x.ipynb", 2, "AAAABBBB", "plain <caption>"),
    ]
    page = gallery.notebooks_page(pictures)
    assert "<h1>2 pictures in 1 notebooks</h1>" in page
    assert page.count('src="data:image/png;base64,AAAABBBB"') == 2
    assert "00-x.ipynb, cell 2: a &amp; b" in page and "plain &lt;caption&gt;" in page


def test_a_file_that_is_no_notebook_is_named(tmp_path):
    (tmp_path / "x.ipynb").write_text("[]")
    with pytest.raises(ValueError, match="x.ipynb is no notebook"):
        gallery.stored_pictures(tmp_path / "x.ipynb")


def test_the_page_shows_each_setting_beside_its_caption(tmp_path, monkeypatch):
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: b"\x89PNG")  # drawing all of them takes a while
    chosen = [picture for picture in PICTURES if picture.name in ("05-scheduler", "10-pipeline", "diff")]
    page = gallery.render(tmp_path, chosen).read_text()
    images = re.findall(r'<img src="([^"]+)"[^>]*alt="([^"]+)"', page)
    assert sorted(name for name, _ in images) == sorted(path.name for path in tmp_path.glob("*.png"))
    assert page.count("<figure>") == sum(len(picture.settings) for picture in chosen)
    assert all(caption.strip() for _, caption in images)
    assert all(f'href="#{picture.name}"' in page and f'id="{picture.name}"' in page for picture in chosen)


def test_one_command_writes_both_pages_with_links_to_each_other(tmp_path, capsys):
    assert gallery.main([str(tmp_path), "diff"]) == 0
    printed = capsys.readouterr().out
    figures, stored = (tmp_path / name for name in ("index.html", "notebooks.html"))
    assert str(figures) in printed and str(stored) in printed
    assert "From naive to coalesced" in figures.read_text() and 'href="notebooks.html"' in figures.read_text()
    assert stored.read_text().count("<figure>") > 50 and 'href="index.html"' in stored.read_text()


def test_name_without_a_picture_is_answered_with_existing_ones(tmp_path, capsys):
    assert gallery.main([str(tmp_path), "cubism"]) == 1
    assert "No picture is called like cubism; there are 00-first-launch, 00-bars" in capsys.readouterr().err
