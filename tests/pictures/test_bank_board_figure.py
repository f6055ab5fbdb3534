"""Picture 7: lanes and banks, wavefront by wavefront."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from helpers.pictures import theme
from helpers.pictures.bank_board import figure as picture
from helpers.pictures.bank_board.figure import bank_board_figure, bank_boards_figure, lanes_text
from tests.pictures.facts_data import LANES, shared_access as access, transposed
from tests.pictures.figure_data import plain


def cells(drawn, label: str) -> np.ndarray:
    """(cells, 4) left, top, width and height in pixels of the cells of one kind."""
    artists = [artist for artist in drawn.axes[0].collections if artist.get_label() == label]
    corners = [path.vertices[:4] for artist in artists for path in artist.get_paths()]
    return np.array([(*c.min(axis=0), *(c.max(axis=0) - c.min(axis=0))) for c in corners]).reshape(-1, 4)


def test_transposed_store_waits_seven_times_until_padded_by_four():
    assert (transposed(128).wavefronts, transposed(128).needed) == (8, 1)
    assert (transposed(132).wavefronts, transposed(129).wavefronts) == (1, 4)
    waiting = cells(bank_board_figure(transposed(128), "t"), "words that wait")
    assert len(waiting) == 28
    assert set(waiting[:, 0]) == {picture.LEFT + picture.CELL * bank for bank in range(4)}
    assert len(cells(bank_board_figure(transposed(132), "t"), "words that wait")) == 0


def test_a_cell_stands_at_its_bank_and_its_wavefront():
    drawn = bank_board_figure(transposed(128), "t")
    first = cells(drawn, "words")
    assert first.tolist() == [[picture.LEFT + 25 * bank, picture.BOARD_TOP, 25.0, 36.0] for bank in range(4)]
    lowest = cells(drawn, "words that wait")[:, 1].max()
    assert lowest == picture.BOARD_TOP + 7 * 36


def test_32_wavefronts_fit_an_explorer_and_raise_a_still_board():
    still, explorer = (bank_board_figure(access(LANES * 32), "t", whole=whole) for whole in (False, True))
    for drawn, height in ((still, 32 * picture.LEAST_ROW), (explorer, picture.BOARD_HEIGHT)):
        waiting = cells(drawn, "words that wait")
        assert len(waiting) == 31
        assert waiting[:, 1].max() + waiting[0, 3] == pytest.approx(picture.BOARD_TOP + height)


def test_a_broadcast_is_one_cell_with_all_lanes():
    conflict = access(7, op="ld", name="load from As")
    assert [cell.lanes for cell in conflict.cells] == [tuple(range(32))]
    assert plain(picture.caption(conflict)) == "Load from As: 1 wavefront: one word broadcast to 32 lanes."


def test_wide_accesses_are_served_in_phases():
    wide = access(LANES * 4, width=16, op="ld", name="load from Bs")
    assert wide.phases == tuple(tuple(range(8 * n, 8 * n + 8)) for n in range(4))
    assert {cell.span for cell in wide.cells} == {4}
    assert plain(picture.caption(wide)) == (
        "Load from Bs: 4 wavefronts for 128 bits per lane, one for each quarter of the warp."
    )
    drawn = bank_board_figure(wide, "t")
    assert len([a for a in drawn.axes[0].collections if a.get_label() == "phases"]) == 3


def test_z_order_of_lanes_halves_the_phases_of_both_fragments():
    y, x = LANES // 2 % 4, LANES // 8 * 2 + LANES % 2
    straight_y, straight_x = LANES // 8, LANES % 8
    z = [access(4 * axis, width=16, op="ld") for axis in (y, x)]
    straight = [access(4 * axis, width=16, op="ld") for axis in (straight_y, straight_x)]
    assert [access.wavefronts for access in z] == [2, 2]
    assert [access.wavefronts for access in straight] == [2, 4]
    assert "2 wavefronts where 4 are usual" in plain(picture.caption(z[1]))


def test_lanes_that_take_no_part_are_not_drawn_on_the_board():
    partial = access(LANES, active=LANES < 3)
    assert [cell.lanes for cell in partial.cells] == [(0,), (1,), (2,)]
    no_lanes = access(LANES, active=LANES < 0)
    assert bank_board_figure(no_lanes, "t").caption == "Store to As: no lane takes part."


def test_the_caption_names_the_busiest_bank():
    assert plain(picture.caption(transposed(128))) == (
        "Store to As: 8 wavefronts where 1 would do. Bank 0 holds 8 of the words and serves one at a time."
    )
    wide = access(LANES * 8, width=16, name="load from Bs", op="ld")
    assert plain(picture.caption(wide)).startswith("Load from Bs: 8 wavefronts where 4 would do. Bank 0 holds 2")


def test_a_ray_leads_from_every_lane_to_its_bank():
    drawn = bank_board_figure(transposed(132), "t")
    rays = next(a for a in drawn.axes[0].collections if a.get_label() == "rays").get_segments()
    ends = {(round((a[0] - picture.LEFT - 12.5) / 25), round((b[0] - picture.LEFT - 12.5) / 25)) for a, b in rays}
    assert ends == {(int(lane), int((lane % 8 * 132 + lane // 8) % 32)) for lane in LANES}


def test_working_shows_the_first_lane_and_one_waiting_for_it():
    drawn = bank_board_figure(transposed(128), "t", "As[a_k][a_row] = x;")
    texts = [plain(text.get_text()) for text in drawn.axes[0].texts]
    assert any("lane 1: byte 512 is word 128, bank 128 % 32 = 0" in text for text in texts)
    assert "As[a_k][a_row] = x;" in texts


def test_lanes_are_listed_as_they_fit():
    assert lanes_text([4], 22, 13.5) == "4"
    assert lanes_text([0, 2, 4], 95, 13.5) == "0, 2, 4"
    assert lanes_text(range(16), 95, 13.5) == "0–15"
    assert lanes_text([0, 2, 4, 6, 8, 10, 12, 14], 60, 13.5) == "8 lanes"
    assert lanes_text([0, 1, 2, 3], 22, 13.5) == "4×"


def test_colours_are_the_tiles():
    drawn = bank_board_figure(access(LANES, array="B"), "t")
    words = next(a for a in drawn.axes[0].collections if a.get_label() == "words")
    assert to_hex(words.get_facecolor()[0]).upper() == theme.B


def test_small_boards_show_the_worst_and_count_the_good_ones():
    boards = [("one", transposed(128)), ("two", transposed(132)), ("three", access(LANES, op="ld"))]
    drawn = bank_boards_figure(boards, "three")
    assert plain(drawn.caption) == (
        "Worst is the store to As of one: 8 wavefronts where 1 would do. Without a conflict: 2 of 3."
    )
    assert len(cells(drawn, "words that wait")) == 28
    assert bank_boards_figure(boards[1:], "t").caption == "None of these requests has a bank conflict."
    with pytest.raises(ValueError, match="at least one"):
        bank_boards_figure([], "none")


def test_waiting_words_are_framed_for_the_colour_blind():
    conflict = transposed(128)
    for drawn in (bank_board_figure(conflict, "t"), bank_boards_figure([("t", conflict)], "boards")):
        framed, waiting = cells(drawn, "frames of words that wait"), cells(drawn, "words that wait")
        assert len(framed) == len(waiting) == 28
        assert np.abs(framed[:, :2] - waiting[:, :2]).max() <= 2
