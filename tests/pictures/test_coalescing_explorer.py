"""The explorer of notebook 03, driven by its controls, and its static twin."""

import gc
import random
import re

import pytest
from matplotlib.figure import Figure

from gemm_kernels import OwnKernel, get
from helpers import run
from helpers.measure import Performance
from helpers.pictures.block_shapes.facts import SHORT_K, recorded
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.coalescing.explorer import BLOCK_DIMS, Choice
from helpers.pictures.coalescing.facts import warp_access
from helpers.pictures.speeds import predicted
from helpers.pictures.widgets import STATIC_NOTE


@pytest.fixture
def explorer():
    return coalescing.explore(block=(32, 2), width=64)


def shows_a_picture(explorer) -> bool:
    stage = explorer.stage
    return stage.picture.layout.display == "" and bytes(stage.picture.value).startswith(b"\x89PNG")


def is_on_the_page(widget, shown) -> bool:
    return any(child is widget or is_on_the_page(widget, child) for child in getattr(shown, "children", ()))


def coalesced_option(explorer):
    return explorer.kernel.options[1][1]


def test_explorer_begins_with_a_picture_and_its_recorded_speed(explorer):
    assert shows_a_picture(explorer)
    measured = recorded(get("naive"), (32, 2), 2048)
    assert f"{measured.gflops:.0f} GFLOPS, recorded on NVIDIA H200." in explorer.stage.note.value


@pytest.mark.parametrize(
    ("control", "value"), [("k", 40), ("warp", 1), ("block_x", 8), ("block_y", 16), ("width", 100)]
)
def test_every_control_changes_the_picture(explorer, control, value):
    before = explorer.stage.picture.value
    getattr(explorer, control).value = value
    assert explorer.stage.picture.value != before


def test_the_axis_order_changes_the_kernel_and_its_speed(explorer):
    before = explorer.stage.note.value
    explorer.kernel.value = coalesced_option(explorer)
    assert explorer.choice.launch.name == "coalesced"
    assert explorer.stage.note.value.startswith("coalesced") and explorer.stage.note.value != before


def test_what_is_drawn_is_what_was_recorded():
    launch = get("naive").launch(coalescing.ROWS, 100, SHORT_K).in_blocks(8, 8)
    choice = Choice(launch, warp=1, k=7)
    load = warp_access(run.record(launch), "A", "ld", 7, warp=1)
    picture = coalescing.picture_of(choice)
    assert f"Load of A: {load.sectors}\u00a0sectors for {load.useful_bytes}\u00a0useful bytes" in picture.caption


def test_refused_launch_is_a_sentence_in_place_of_the_picture(explorer):
    explorer.block_x.value = 64
    explorer.block_y.value = 64
    assert not shows_a_picture(explorer)
    assert "64 × 64 × 1 = 4096 threads is more than the 1024" in explorer.stage.sentence.value
    explorer.block_y.value = 1
    assert shows_a_picture(explorer)


def test_a_warp_outside_the_matrix_is_a_sentence_too(explorer):
    explorer.kernel.value = coalesced_option(explorer)
    explorer.block_x.value = 1024  # the matrices are 64 columns wide: warps 2 to 31 return early
    explorer.block_y.value = 1
    explorer.warp.value = 5
    assert "warp 5" in explorer.stage.sentence.value and not shows_a_picture(explorer)


def test_sliders_reach_as_far_as_the_block_and_the_loop(explorer):
    assert (explorer.warp.max, explorer.k.max) == (1, SHORT_K - 1)
    explorer.block_y.value = 32
    assert explorer.warp.max == 31
    explorer.warp.value = 31
    explorer.block_y.value = 1
    assert (explorer.warp.max, explorer.warp.value) == (0, 0)


def test_controls_have_labels_and_report_while_they_move(explorer):
    sliders = (explorer.block_x, explorer.block_y, explorer.width, explorer.warp, explorer.k)
    assert all(slider.description and slider.continuous_update for slider in sliders)
    assert list(explorer.kernel.tooltips) == ["x is the row index", "x is the column index"]
    assert explorer.block_x.options == BLOCK_DIMS


def test_the_height_of_the_stage_never_changes(explorer):
    frame = explorer.stage.frame
    before = frame.layout.get_state(("height", "width"))
    explorer.block_x.value = explorer.block_y.value = 64
    assert frame.layout.get_state(("height", "width")) == before == {"height": None, "width": "900px"}
    assert f".{frame._dom_classes[-1]} {{ aspect-ratio: 900 / {coalescing.FIGURE_HEIGHT}; }}" == explorer.stage.sheet


def test_random_settings_never_raise_and_keep_no_figure(explorer):
    chance = random.Random(3)
    controls = (explorer.block_x, explorer.block_y, explorer.kernel)
    for _ in range(25):
        control = chance.choice(controls)
        values = control.options if control is not explorer.kernel else [value for _, value in control.options]
        control.value = chance.choice(list(values))
    gc.collect()
    assert [thing for thing in gc.get_objects() if isinstance(thing, Figure)] == []


def test_a_learners_own_kernel_is_a_third_choice():
    own = OwnKernel(get("coalesced").source, "sgemm_coalesced", (32, 1), shape=(96, 64, 5), name="mine")
    explorer = coalescing.explore(own)
    assert explorer.choice == Choice(own.launch(96, 64, 5)) and explorer.k.max == 4
    assert shows_a_picture(explorer)
    assert explorer.stage.note.value == "mine was not recorded on a GPU."
    explorer.complete()
    note = explorer.stage.note.value
    assert re.fullmatch(
        r"mine was not recorded on a GPU\. At 2.048³: .+ GFLOPS, predicted for NVIDIA H200 \(.+ to .+\)\.", note
    )
    assert predicted(own.launch(96, 64, 5).covering((2048,) * 3, 32, 1)) in note


def test_kernel_that_fails_to_compile_gets_the_compilers_words():
    explorer = coalescing.explore(OwnKernel('extern "C" __global__ void sgemm_mine(int M) { flot x; }', "sgemm_mine"))
    assert "flot" in explorer.stage.sentence.value and not shows_a_picture(explorer)


def test_the_step_explorer_moves_k_alone():
    explorer = coalescing.explore_steps(get("naive"), width=64)
    before = explorer.stage.picture.value
    explorer.k.value = 9
    assert explorer.stage.picture.value != before and explorer.k.max == 63


def test_without_widgets_an_explorer_is_one_line_of_text(explorer):
    assert repr(explorer).endswith(STATIC_NOTE) and "\n" not in repr(explorer)


def test_static_twin_shows_speed_only_for_recorded_widths():
    settings = [("coalesced", (32, 1), 128), ("coalesced", (32, 1), 100)]
    texts = [text.get_text() for text in coalescing.small_multiples(settings).axes[0].texts]
    assert texts.count("not timed") == 1
    assert "128\u00a0columns" in texts and "100\u00a0columns" in texts


def test_on_a_gpu_the_chosen_shape_can_be_measured_here(monkeypatch):
    asked = []

    def performance(kernel, M, N, K):
        asked.append((kernel.name, kernel.block, M, N, K))
        return Performance(None, "naive at 2048×2048×2048: 123 GFLOPS, measured here")

    monkeypatch.setattr(coalescing.gpu, "backend", lambda: "gpu")
    monkeypatch.setattr(coalescing, "performance", performance)
    explorer = coalescing.explore(block=(32, 2), width=64)
    assert is_on_the_page(explorer.measure, explorer)
    explorer.measure.click()
    assert asked == [("naive", (32, 2, 1), 2048, 2048, 2048)]
    assert explorer.stage.note.value.endswith("123 GFLOPS, measured here")


def test_without_a_gpu_there_is_no_button_to_measure(explorer):
    assert not is_on_the_page(explorer.measure, explorer)
