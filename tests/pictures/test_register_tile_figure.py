"""Picture 6: a thread's tile in registers, step by step."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from gemm_kernels import get
from helpers.pictures import theme
from helpers.pictures.register_tile.facts import RegisterTile
from helpers.pictures.register_tile.figure import LIGHT, register_tile_figure, register_tiles_figure
from tests.pictures.facts_data import first_phase as tile


@pytest.fixture(scope="module")
def data() -> RegisterTile:
    """Thread 21 of 64: rows 8 … 11 (thread row 2), columns 20 … 23 (thread column 5)."""
    return tile(get("block_tile_2d").replace(BM=32, BN=32, BK=8, TM=4, TN=4), 21, 8)


def boxes(drawn, label: str) -> int:
    artists = [artist for artist in drawn.axes[0].collections if artist.get_label() == label]
    return sum(len(artist.get_paths()) for artist in artists)


def test_the_caption_states_floats_fmas_and_their_quotient(data):
    caption = register_tile_figure(data).caption.replace("\u00a0", " ")
    assert caption == (
        "4 × 4 elements per thread: 8 floats from shared memory feed 16 FMAs, 0.5 per FMA. "
        "With one element per thread it is 2 per FMA, 4 times as many."
    )


@pytest.mark.parametrize(("move", "loaded", "done"), [(0, 0, 0), (5, 5, 0), (8, 8, 0), (11, 8, 3), (24, 8, 16)])
def test_reads_come_first_and_then_the_outer_product_grows(data, move, loaded, done):
    drawn = register_tile_figure(data, 2, move)
    assert boxes(drawn, "read of A") + boxes(drawn, "read of B") == loaded
    assert boxes(drawn, "done") == done
    words = [text.get_text() for text in drawn.axes[0].texts]
    assert f"floats  {loaded} of 8" in words and f"FMAs  {done} of 16" in words


def test_the_current_product_is_outlined_with_its_two_factors(data):
    assert boxes(register_tile_figure(data, 0, 12), "now") == 3
    assert boxes(register_tile_figure(data, 0, 8), "now") == 0


def test_the_gauge_has_the_recorded_quotient_beside_the_formulas(data):
    drawn = register_tile_figure(data)
    lengths = {
        label: [
            np.ptp(artist.get_paths()[0].vertices[:, 0])
            for artist in drawn.axes[0].collections
            if artist.get_label() == label
        ]
        for label in ("formula", "recorded")
    }
    assert lengths["recorded"][0] == pytest.approx(lengths["formula"][2])  # 4 × 4
    assert lengths["formula"][0] / lengths["formula"][3] == pytest.approx(2 / 0.25)


def test_a_move_that_does_not_exist_is_refused_with_a_sentence(data):
    with pytest.raises(ValueError, match="Step 0 has 24 reads and FMAs; there is no move 25"):
        register_tile_figure(data, 0, 25)


def test_patches_side_by_side_state_each_quotient(data):
    drawn = register_tiles_figure([tile(get("shared_memory").replace(T=8), 0, 8), data], "two")
    assert drawn.caption.replace("\u00a0", " ").endswith(
        "1 × 1: 2 floats / 1 FMA = 2; 4 × 4: 8 floats / 16 FMAs = 0.5."
    )
    greens = [len(a.get_paths()) for a in drawn.axes[0].collections if _is(a, theme.C)]
    assert 16 in greens
    with pytest.raises(ValueError, match="at least one"):
        register_tiles_figure([], "none")


def _is(artist, colour: str) -> bool:
    rgb = tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return len(artist.get_facecolor()) > 0 and np.allclose(artist.get_facecolor()[0][:3], rgb)


@pytest.mark.parametrize("k", [0, 7])
def test_what_a_step_reads_is_wide_enough_and_inside_the_tile(k):
    large = RegisterTile(
        "large", 0, np.arange(128), np.arange(128), np.arange(8), np.arange(8), np.arange(8),
        tuple(tuple([("A", row) for row in range(8)] + [("B", column) for column in range(8)]) for _ in range(8)),
    )  # fmt: skip
    axes = register_tile_figure(large, k).axes[0]
    marks = next(collection for collection in axes.collections if collection.get_label() == "column of A")
    tiles = next(collection for collection in axes.collections if to_rgba(LIGHT["A"]) in collection.get_facecolor())
    x = np.array([path.vertices[:, 0] for path in marks.get_paths()])
    tile = tiles.get_paths()[0].vertices[:, 0]
    assert np.ptp(x) >= 4 and tile.min() - 0.01 <= x.min() and x.max() <= tile.max() + 0.01
