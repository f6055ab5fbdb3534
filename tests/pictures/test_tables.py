"""Tables: the worked examples of coalescing to the number, and what a notebook shows of them."""

import re

import pytest

from helpers.pictures.tables import AddressRow, Table, address_rows, address_table, counter_table
from tests.pictures.figure_data import LANES, access


def store(first_row: int, block_x: int, width: int, warp: int = 0):
    """The store of C by one warp, x along the columns."""
    return access("C", "st", (first_row + LANES // block_x) * width + LANES % block_x, warp=warp)


def test_a_lane_becomes_its_thread_row_column_index_and_gap():
    rows = address_rows(store(0, 16, 1024), (16, 16), 1024)
    assert rows[0] == AddressRow((0, 0), (0, 0), 0, row=0, col=0, index=0, gap=None)
    assert rows[15] == AddressRow((15, 0), (0, 0), 0, row=0, col=15, index=15, gap=1)
    assert rows[16] == AddressRow((0, 1), (0, 0), 0, row=1, col=0, index=1024, gap=1009)
    assert rows[31].index == 1039


def test_a_column_of_sentences_is_never_a_word_wide():
    page = Table(("name", "idea", "n"), (("a", "A sentence that is longer than a line of words may be.", "1"),), "All:",
                 words=frozenset({0, 1})).html()  # fmt: skip
    cells = re.findall(r'<td style="([^"]*)">', page)
    assert ["min-width: 14em" in cell for cell in cells] == [False, True, False]


def test_a_shape_is_not_broken_into_lines():
    table = Table(("shape", "what"), (("2 × (64 × 32)", "M × N"),), "")
    assert "2\u00a0×\u00a0(64\u00a0×\u00a032)" in table.html() and "M × N" in table.html()
    assert "2 × (64 × 32)" in table.text()


def test_threads_of_a_later_warp_are_counted_on():
    rows = address_rows(store(14, 16, 1024, warp=7), (16, 16), 1024)
    assert (rows[0].thread, rows[31].thread) == ((0, 14), (15, 15))
    assert (rows[0].index, rows[31].index) == (14336, 15375)


def test_inactive_lanes_are_not_listed():
    partial = access("C", "st", LANES, active=LANES < 3)
    assert len(address_rows(partial, (32, 1), 1024)) == 3


def test_a_run_of_neighbours_is_folded_to_its_ends():
    table = address_table([store(0, 32, 1024)], (32, 1), 1024)
    assert [row[0] for row in table.rows] == ["(0, 0)", "⋮", "(31, 0)"]
    assert table.marked == frozenset()
    launch, counted = "block (32, 1), 1\u202f024\u00a0columns", "4\u00a0sectors per request"
    assert table.caption == f"store of C, {launch}: no gap above 1 inside a warp, {counted}."


def test_a_gap_inside_a_warp_is_marked_and_counted():
    table = address_table([store(0, 16, 1024), store(2, 16, 1024, warp=1)], (16, 16), 1024)
    assert [row[-1] for row in table.rows] == ["", "⋮", "1", "1\u202f009", "⋮", "1"] * 2
    assert table.marked == {(3, 6), (9, 6)}
    assert table.begins == {6}
    assert "1 gap of 1\u202f009 elements in each warp, 4\u00a0sectors per request." in table.caption


def test_a_broadcast_has_no_gap():
    assert "no gap" in address_table([access("B", "ld", 7)], (32, 1), 1024).caption


def test_a_notebook_gets_html_and_text_with_the_same_cells():
    table = Table(("a", "b"), (("1 < 2", "x"), ("3", "y")), "Caption & number.", frozenset({(0, 1)}))
    bundle = table._repr_mimebundle_()
    assert "1 &lt; 2" in bundle["text/html"] and "Caption &amp; number." in bundle["text/html"]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", bundle["text/html"]) == ["1 &lt; 2", "x", "3", "y"]
    assert bundle["text/plain"].splitlines() == ["Caption & number.", "    a    b", "1 < 2  x *", "    3    y"]


def test_html_holds_no_script_class_or_id():
    markup = address_table([store(0, 16, 1024)], (16, 16), 1024).html()
    assert not re.search(r"<script|class=|id=", markup)


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="Row 1 has 1 cells, but the header names 2 columns"):
        Table(("a", "b"), (("1", "2"), ("3",)), "x")


def test_counters_stand_in_rows_and_kernels_in_columns():
    table = counter_table(
        {"naive": {"requests": 1048576, "mean": 16.5}, "coalesced": {"requests": 8, "mean": 2.5}}, "x"
    )
    assert table.header == ("", "naive", "coalesced")
    assert table.rows == (("requests", "1\u202f048\u202f576", "8"), ("mean", "16.5", "2.5"))


def test_kernels_with_different_counters_are_refused():
    with pytest.raises(ValueError, match="coalesced counts"):
        counter_table({"naive": {"requests": 1}, "coalesced": {"sectors": 1}}, "x")


def test_a_column_of_sentences_is_aligned_to_the_left():
    table = Table(("n", "idea"), (("1", "short"), ("10", "a longer one")), "caption", words=frozenset({1}))
    assert table.text().split("\n") == ["caption", " n  idea", " 1  short", "10  a longer one"]
    assert table.html().count("text-align: left") == 3 and table.html().count("text-align: right") == 3


def test_a_folded_table_opens_from_its_title():
    table = Table(("a",), (("1",),), "Numbers")
    assert table.folded("A & B").html() == f"<details><summary>A &amp; B</summary>{table.html()}</details>"
    assert table.folded("A").text() == table.text()
