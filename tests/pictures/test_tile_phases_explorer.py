"""The explorer of shared memory."""

from gemm_kernels import OwnKernel, get
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.tile_phases import explorer as tile_phases
from helpers.pictures.tile_phases.facts import phases_of
from tests.pictures.driving import drive, shown


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = tile_phases.explore()
    seen = drive(explorer, monkeypatch)
    assert seen["sentence"] == 0 and seen["picture"] > 50


def test_the_phases_follow_the_tile():
    explorer = tile_phases.explore(tile=16)
    assert explorer.phase.max == 3
    explorer.phase.value = 3
    explorer.launch.index = tile_phases.TILES.index(32)
    assert (explorer.phase.max, explorer.phase.value, explorer.thread.max) == (1, 1, 1023)


def test_a_kernel_of_the_ladder_with_other_tiles_can_be_explored():
    kernel = get("block_tile_2d").replace(BM=32, BN=32, BK=8, TM=4, TN=4)
    explorer = tile_phases.explore(OwnKernel.of(kernel))
    assert shown(explorer) == "picture"
    assert explorer.phase.max == 7


def test_learners_kernel_may_launch_with_any_whole_tiles():
    explorer = tile_phases.explore(OwnKernel.of(get("shared_memory").replace(T=8), shape=(8, 24, 40)))
    assert shown(explorer) == "picture" and explorer.phase.max == 4
    data = phases_of(explorer.launch.value)
    assert data.block_index == (1, 0, 0) and data.shapes == {"A": (8, 40), "B": (40, 24), "C": (8, 24)}
    assert data.bytes_loaded() == 4 * 2 * 8 * 40


def test_a_kernel_without_tiles_is_answered_in_a_sentence():
    kernel = get("coalesced")
    explorer = tile_phases.explore(OwnKernel(kernel.source, kernel.entry, (8, 8)))
    assert shown(explorer) == "sentence"
    assert "stores nothing to shared memory" in explorer.stage.sentence.value


def test_the_static_twin_shows_the_reuse():
    assert tile_phases.small_multiples().caption.startswith("T = 32: each load from global memory is used 32 times")


def test_speed_of_a_tile_is_shown_where_it_may_be_known():
    assert tile_phases.explore(tile=32).later() is None
    speed = theme.thousands(recordings.gflops(get("shared_memory"), 4096, 4096, 4096).gflops)
    note = tile_phases.explore(tile=32, speeds=True).later()()
    assert note == f"4\u202f096³: {speed} GFLOPS, recorded on NVIDIA H200."
