"""The diff between two sources: what is marked, what is folded, what the caption counts."""

from gemm_kernels import get
from helpers.pictures.source_diff import Line, source_diff

OLD = "// what it does\nvoid f(int a,\n       int b) {\n  one;\n  two;\n  three;\n  four;\n  five;\n}\n"
NEW = "// another idea\nvoid longer(int a,\n            int b) {\n  one;\n  2;\n  three;\n  four;\n  five;\n}\n"


def marks(diff):
    return "".join(line.mark for line in diff.lines)


def test_a_changed_line_is_shown_as_it_was_and_as_it_is():
    diff = source_diff(OLD, NEW, ("f", "longer"), same=("f", "longer"), context=9)
    assert marks(diff) == "   -+    "
    assert [line for line in diff.lines if line.mark in "-+"] == [Line("-", "  two;"), Line("+", "  2;")]
    assert diff.caption == "From f to longer: 1 of 8\u00a0lines changed."


def test_without_a_common_name_only_the_names_line_changes():
    assert marks(source_diff(OLD, NEW, ("f", "longer"), context=9)) == "-+  -+    "


def test_unchanged_code_is_folded_around_the_change():
    diff = source_diff(OLD, NEW, ("f", "longer"), same=("f", "longer"), context=1)
    assert marks(diff) == "… -+ …"
    assert [line.text for line in diff.lines if line.mark == "…"] == [
        "2\u00a0unchanged lines",
        "3\u00a0unchanged lines",
    ]


def test_the_comment_that_opens_a_file_is_left_out():
    assert "idea" not in source_diff(OLD, NEW, ("f", "g")).text()


def test_lines_removed_and_added_are_counted_apart():
    assert source_diff("a;\nb;\n", "a;\n", ("x", "y")).caption == "From x to y: 1\u00a0line removed, 0 added."


def test_the_same_code_is_said_to_be_the_same():
    assert source_diff(OLD, OLD, ("x", "y")).caption == "x and y are the same code."


def test_html_escapes_code_and_marks_changes_without_colour():
    html = source_diff("if (a < b) c;\n", "if (a > b) c;\n", ("x", "y")).html()
    assert "- if (a &lt; b) c;" in html and "+ if (a &gt; b) c;" in html


def test_naive_and_coalesced_differ_in_two_lines_and_their_name():
    naive, coalesced = get("naive"), get("coalesced")
    diff = source_diff(
        naive.source, coalesced.source, ("naive", "coalesced"), same=(naive.function, coalesced.function)
    )
    changed = [line.text.split("=")[0].split()[-1] for line in diff.lines if line.mark in "-+"]
    assert changed == ["row", "col", "row", "col"]


def test_folded_diff_shows_its_caption_and_keeps_the_lines():
    diff = source_diff(OLD, NEW, ("x", "y"))
    shown = diff.folded()._repr_mimebundle_()
    assert shown["text/html"] == f"<details><summary>{diff.caption}</summary>{diff.html()}</details>"
    assert shown["text/plain"].startswith(diff.caption) and "\n" not in shown["text/plain"]
