"""helpers.gallery: every stored picture on one page, with its place and its caption."""

import json

import pytest

from helpers import gallery


def test_every_picture_is_found_with_its_cell_and_its_alternative_text(tmp_path):
    bundle = {"image/png": ["AAAA", "BBBB"], "text/plain": "plain <caption>"}
    outputs = [
        {"output_type": "stream", "text": "no picture"},
        {"output_type": "display_data", "data": bundle, "metadata": {"image/png": {"alt": "a & b"}}},
        {"output_type": "display_data", "data": bundle, "metadata": {}},
    ]
    path = tmp_path / "00-x.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": outputs}]}))
    found = gallery.pictures(path)
    assert found == [
        gallery.Picture("00-x.ipynb", 2, "AAAABBBB", "a & b"),
        gallery.Picture("00-x.ipynb", 2, "AAAABBBB", "plain <caption>"),
    ]
    page = gallery.page(found)
    assert "<h1>2 pictures in 1 notebooks</h1>" in page
    assert page.count('src="data:image/png;base64,AAAABBBB"') == 2
    assert "00-x.ipynb, cell 2: a &amp; b" in page and "plain &lt;caption&gt;" in page


def test_a_file_that_is_no_notebook_is_named(tmp_path):
    (tmp_path / "x.ipynb").write_text("[]")
    with pytest.raises(ValueError, match="x.ipynb is no notebook"):
        gallery.pictures(tmp_path / "x.ipynb")
