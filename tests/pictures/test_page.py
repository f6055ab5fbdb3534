"""What pictures that are laid out in CSS pixels are made of."""

import pytest

from helpers.pictures import page, theme


@pytest.mark.parametrize(
    ("points", "room", "pixels"),
    [(0, 0, 11), (0, 60, 11), (12, 0, 11), (12, 60, 12 / 72 * 100), (12, 14, 12.7)],
)
def test_numbers_grow_into_their_room_on_a_slide(points, room, pixels):
    axes = page.page(100, "A title", "A caption that states 3 numbers.", 1)[1]
    with theme.at_least(points):
        page.labels(axes, ["31"], 50, 50, 11.0, theme.INK, room=room)
    width = axes.patches[-1].get_path().get_extents().width
    plain = page._outline("31", 11.0, "center", False).get_extents().width
    assert width / plain * 11 == pytest.approx(pixels, rel=0.01)
