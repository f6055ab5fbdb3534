"""Texts that a command writes into a page: only what is between the markers changes, and one command line is all's."""

import pytest

from helpers.recordings import NoRecording
from helpers.tools.pages.markers import Markers, command_line

LIST = Markers("list", "make list")


def page(inner: str) -> str:
    return f"before\n<!-- list: begin, written by `make list` -->\n{inner}<!-- list: end -->\nafter\n"


def test_only_what_is_between_the_markers_changes():
    assert LIST.replaced(page("old\nlines\n"), "new", "a.md") == page("new\n")
    assert LIST.replaced(page("new\n"), "", "a.md") == page("")


def test_page_without_a_marker_is_named_with_what_belongs_there():
    with pytest.raises(ValueError, match=r"a\.md has lost its markers; put <!-- list: begin, .* where list belongs"):
        LIST.replaced("no list <!-- list: end -->", "new", "a.md")


def run(arguments, wanted, **pictures) -> int:
    return command_line(arguments, "some.module", "What it does.\n\nMore.", "make list", wanted, **pictures)


def test_outdated_page_is_reported_and_written_by_fix_alone(tmp_path, capsys):
    file, picture = tmp_path / "a.md", tmp_path / "images" / "a.png"
    file.write_text("old")
    drawn = {"pictures": lambda: {picture: b"PNG"}}
    assert run([], lambda: {file: "new"}, **drawn) == 1
    assert capsys.readouterr().err == "a.md is not up to date; `make list` writes it\n"
    assert file.read_text() == "old" and not picture.exists()
    assert run(["--fix"], lambda: {file: "new"}, **drawn) == 0
    assert file.read_text() == "new" and picture.read_bytes() == b"PNG"
    assert run([], lambda: {file: "new"}) == 0


@pytest.mark.parametrize("error", [ValueError, NoRecording])
def test_a_text_that_cannot_be_made_is_a_sentence_for_the_author(error, capsys):
    def wanted():
        raise error("There is nothing to write.")

    assert run(["--fix"], wanted) == 1
    assert capsys.readouterr().err == "There is nothing to write.\n"
