"""The explorer of the order of blocks: blocks, turns, and what those that run together need."""

import pytest

from gpusim import devices
from helpers import recordings
from helpers.pictures.raster import explorer as raster
from tests.pictures.driving import drive
from tests.pictures.figure_data import plain


def test_every_setting_shows_a_picture(monkeypatch):
    explorer = raster.explore()
    seen = drive(explorer, monkeypatch, settings=15)
    assert seen["sentence"] == 0 and seen["picture"] >= 15


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (raster.Choice(512, (128, 256), 1), "8 blocks: 1 turn, 6.1 % of 132 SMs busy; 43 FLOP per byte loaded."),
        (
            raster.Choice(1536, (128, 128), 2),
            "144 blocks: 2 turns, 54.5 % of 132 SMs busy; 32 FLOP per byte loaded.",
        ),
        (raster.Choice(512, (64, 64), 1, devices.get("H20")), "64 blocks: 1 turn, 82.1 % of 78 SMs busy; 16 FLOP"),
    ],
)
def test_blocks_turns_and_bytes_are_counted(choice, words):
    assert plain(raster.facts_of(choice)).startswith(words)


def test_kernel_with_this_tile_and_order_has_its_recorded_speed():
    speed = recordings.find(raster.get("rasterized"), 4096, 4096, 4096).gflops
    assert f"rasterized: {raster.theme.thousands(speed)} GFLOPS, recorded" in raster.facts_of(raster.Choice(4096))
    assert "GFLOPS" not in raster.facts_of(raster.Choice(4096, device=devices.get("A6000")))


def test_rows_together_need_fewer_panels_at_4096():
    words = plain(raster.picture_of(raster.Choice(4096, (128, 128), 8)).caption)
    assert "row by row: 5 panels of A and 32 of B, 37 together" in words
    assert "8 rows of tiles together: 8 panels of A and 17 of B, 25 together" in words
