"""Picture 4: what a tiled kernel loads and reads, phase by phase."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch

import gpusim
from gemm_kernels import get
from helpers.pictures import theme
from helpers.pictures.tile_phases.facts import TilePhases, tile_phases
from helpers.pictures.tile_phases.figure import TileSize, tile_phases_figure, tile_sizes_figure

SIZE = 16
SHAPES = {letter: (SIZE, SIZE) for letter in "ABC"}


def record(kernel, block_index=(0, 0, 0)) -> gpusim.Recording:
    module = gpusim.RawModule(code=kernel.source, options=("-std=c++17",), name_expressions=[kernel.entry])
    A, B, C = (np.zeros((SIZE, SIZE), np.float32) for _ in range(3))
    sizes = (np.int32(SIZE),) * 3
    with gpusim.record(blocks=[block_index], only_traced=True) as recording:
        args = (*sizes, np.float32(1), A, B, np.float32(0), C)
        module.get_function(kernel.entry)(kernel.grid(SIZE, SIZE), kernel.block, args)
    return recording


@pytest.fixture(scope="module")
def data() -> TilePhases:
    kernel = get("shared_memory").replace(T=4)
    unshared = record(get("naive").replace(block_x=8, block_y=8))
    return tile_phases(record(kernel, (2, 1, 0)), "a kernel", SHAPES, (2, 1, 0), unshared)


def labelled(drawn, label: str):
    return next(artist for artist in drawn.axes[0].get_children() if artist.get_label() == label)


def test_the_caption_states_the_reuse_that_the_recording_shows(data):
    caption = tile_phases_figure(data, 1, 6).caption.replace("\u00a0", " ")
    assert caption == (
        "Phase 2 of 4: 32 floats loaded from global memory, 128 reads served from shared memory: "
        "each load is used 4 times."
    )


def test_the_caption_says_of_each_tile_how_often_it_is_read():
    patches = get("block_tile_2d").replace(BM=16, BN=8, BK=4, TM=4, TN=2)  # 16 threads, each with 4 x 2 sums
    patched = tile_phases(
        record(patches), "a kernel", SHAPES, (0, 0, 0), record(get("naive").replace(block_x=8, block_y=8))
    )
    caption = tile_phases_figure(patched, 1, 0).caption.replace("\u00a0", " ")
    assert "each float of A is read 4 times, for 2 products each" in caption
    assert caption.endswith("each float of B is read 4 times, for 4 products each.")


def test_matrices_show_this_phases_loads_and_earlier_ones_paler(data):
    image = np.asarray(labelled(tile_phases_figure(data, 1, 0), "matrix A").get_array())
    strong = np.isclose(image, to_rgb(theme.A)).all(axis=2)
    expected = np.zeros((SIZE, SIZE), bool)
    expected[4:8, 4:8] = True  # block (2, 1) works on rows 4 … 7, phase 1 on k = 4 … 7
    assert (strong == expected).all()
    earlier = ~strong & ~np.isclose(image, 1).all(axis=2)
    assert (earlier == np.roll(expected, -4, axis=1)).all()


def test_the_selected_threads_row_column_and_element_are_marked(data):
    drawn = tile_phases_figure(data, 1, 6)  # thread (2, 1): row 5, column 10
    for label, rows, columns in (("read of A", 1, 4), ("read of B", 4, 1), ("mine", 1, 1)):
        corners = np.array([path.vertices[:4] for path in labelled(drawn, label).get_paths()])
        left, top = corners[:, :, 0].min(axis=1), corners[:, :, 1].min(axis=1)
        assert (len(np.unique(top.round(3))), len(np.unique(left.round(3)))) == (rows, columns)


def test_the_bars_are_the_bytes_of_the_recordings(data):
    drawn = tile_phases_figure(data, 1, 0)
    lengths = [np.ptp(labelled(drawn, f"bytes {number}").get_paths()[0].vertices[:, 0]) for number in (0, 1)]
    # 2 phases of 32 floats, against 2 · 16 floats for each of 16 elements.
    assert lengths[0] / lengths[1] == pytest.approx((2 * 32 * 4) / (16 * 2 * 16 * 4))
    assert data.bytes_loaded() == 4 * 32 * 4
    assert data.bytes_without_sharing == 16 * 2 * 16 * 4


def test_a_phase_that_does_not_exist_is_refused_with_a_sentence(data):
    with pytest.raises(ValueError, match="no phase 4 with a thread 0: the block has 4 phases and 16 threads"):
        tile_phases_figure(data, 4, 0)


def test_tile_sizes_are_compared_by_the_bytes_for_an_element(data):
    drawn = tile_sizes_figure([TileSize("T = 4", data, 1)], "one")
    assert "used 4 times" in drawn.caption and "costs 32 bytes" in drawn.caption and "asks for 128" in drawn.caption
    with pytest.raises(ValueError, match="at least one"):
        tile_sizes_figure([], "none")


@pytest.mark.parametrize("phase", [0, 1, 3])
def test_the_bytes_stand_above_their_arrow_whatever_the_phase(data, phase):
    axes = tile_phases_figure(data, phase, 0).axes[0]
    words = [text for text in axes.texts if text.get_text().startswith("load ")]
    arrows = [artist for artist in axes.get_children() if isinstance(artist, FancyArrowPatch)]
    assert len(words) == len(arrows) == 2
    for text, arrow in zip(words, arrows, strict=True):
        x, y = text.get_position()
        line = np.concatenate(arrow.get_path().to_polygons(closed_only=False))
        near = np.interp(x + np.linspace(-60, 60, 31), line[:, 0], line[:, 1])
        assert 4 < near.min() - y < 24
