"""The explorer of the copy pipeline."""

from driving import drive, living_figures, shown

from gemm_kernels import get
from helpers.explore import pipeline
from helpers.explore.launches import record_launch
from helpers.explore.pipeline import Loop, loop_of
from helpers.models.pipeline import Pipeline, Work


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = pipeline.explore()
    loop = Loop("vectorized", Work(2, 5, 567), 1, 4)
    monkeypatch.setattr(pipeline, "loop_of", lambda kernel: loop)
    before = living_figures()
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 110 and seen["sentence"] == 0
    assert living_figures() <= before


def test_a_kernel_brings_its_work_its_stages_and_its_warps():
    explorer = pipeline.explore()
    explorer.kernel.value = "double_buffered"
    loop = loop_of(get("double_buffered"))
    assert explorer.pipeline == Pipeline(loop.work, 2, 400, warps=loop.warps)
    assert shown(explorer) == "picture"
    assert "instructions of double_buffered" in explorer.stage.note.value


def test_the_work_is_what_one_more_k_block_adds_to_the_machine_code():
    kernel = get("double_buffered")
    loop = loop_of(kernel)
    depth, warps = kernel.params["BK"], kernel.threads // 32
    rows, columns = kernel.tile
    recordings = [record_launch(kernel, kernel.block, rows, columns, n * depth, level="sass") for n in (8, 9)]
    more, less = (one.instructions() for one in reversed(recordings))
    assert loop.work.copy + loop.work.store + loop.work.multiply == round((more - less) / warps)
    floats = depth * (rows + columns)
    assert loop.work.copy == floats // 4 // kernel.threads  # float4 loads
    ffma = [one.instructions("FFMA") for one in recordings]
    assert loop.work.multiply > (ffma[1] - ffma[0]) / warps == kernel.params["TM"] * kernel.params["TN"] * depth


def test_a_slider_of_the_work_leaves_the_kernels_numbers():
    explorer = pipeline.explore()
    explorer.kernel.value = "double_buffered"
    explorer.latency.value = 600
    assert explorer.kernel.value == "double_buffered"
    explorer.multiply.value += 1
    assert explorer.kernel.value is None
    assert "instructions of" not in explorer.stage.note.value


def test_the_note_says_that_nothing_was_measured():
    explorer = pipeline.explore()
    assert explorer.stage.note.value == "A model: no time here was measured."


def test_the_static_twin_compares_the_stages():
    assert "double buffer" in pipeline.small_multiples((1, 2)).caption
