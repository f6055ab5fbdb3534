"""The explorer of the copy pipeline."""

from gemm_kernels import OwnKernel, get
from helpers.pictures.pipeline import explorer as pipeline
from helpers.pictures.pipeline.facts import Loop, loop_of
from helpers.pictures.pipeline.model import Pipeline, Work
from tests.pictures.driving import drive, shown


def named(explorer, name: str):
    return dict(explorer.kernel.options)[f"kernel {name}"]


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = pipeline.explore()
    loop = Loop("vectorized", Work(2, 5, 567), 1, 4)
    monkeypatch.setattr(pipeline, "loop_of", lambda kernel: loop)
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 55 and seen["sentence"] == 0


def test_a_kernel_brings_its_work_its_stages_and_its_warps():
    explorer = pipeline.explore()
    explorer.kernel.value = named(explorer, "double_buffered")
    loop = loop_of(get("double_buffered"))
    assert explorer.pipeline == Pipeline(loop.work, 2, 400, warps=loop.warps)
    assert shown(explorer) == "picture"
    assert "instructions of double_buffered" in explorer.stage.note.value


def test_a_slider_of_the_work_leaves_the_kernels_numbers():
    explorer = pipeline.explore()
    explorer.kernel.value = named(explorer, "double_buffered")
    explorer.latency.value = 600
    assert explorer.kernel.value.name == "double_buffered"
    explorer.multiply.value += 1
    assert explorer.kernel.value is None
    assert "instructions of" not in explorer.stage.note.value


def test_every_kernel_of_the_list_says_how_many_buffers_it_has():
    explorer = pipeline.explore()
    stages = {option.name: option.buffers for _, option in explorer.kernel.options if option is not None}
    assert stages == {
        "vectorized": 1,
        "double_buffered": 2,
        "ping_pong": 2,
        "async_copy": 3,
        "warptiled": get("warptiled").params["STAGES"],
    }


def test_learners_kernel_brings_its_work_or_lacks_a_k_loop():
    kernel = get("shared_memory").replace(T=8)
    explorer = pipeline.explore(OwnKernel.of(kernel))
    loop = loop_of(kernel)
    assert shown(explorer) == "picture" and explorer.pipeline.work == loop.work and loop.work.copy == 2
    still = 'extern "C" __global__ void still(int M, int N, int K, float a, const float *A, const float *B, float b, '
    still += "float *C) { C[threadIdx.x] = a * A[threadIdx.x]; }"
    explorer = pipeline.explore(OwnKernel(still, "still", (16, 16)))
    assert shown(explorer) == "sentence" and "no loop over K" in explorer.stage.sentence.value


def test_the_note_says_that_nothing_was_measured():
    explorer = pipeline.explore()
    assert explorer.stage.note.value == "A model: no time here was measured."


def test_the_static_twin_compares_the_stages():
    assert "double\u00a0buffer" in pipeline.small_multiples((1, 2)).caption


def test_recorded_stages_show_their_speed_others_a_prediction():
    explorer = pipeline.explore()

    def words_shown():
        explorer.complete()
        return explorer.stage.note.value

    assert words_shown() == "A model: no time here was measured."
    explorer.kernel.value = named(explorer, "async_copy")
    assert "instructions of async_copy" in explorer.stage.note.value
    assert "with 3 stages at 4\u202f096³" in words_shown() and "recorded on NVIDIA H200" in words_shown()
    explorer.stages.value = 4
    assert "with 4 stages at 2\u202f048³" in words_shown() and "GFLOPS, predicted for NVIDIA H200 (" in words_shown()
    explorer.stages.value = 1
    assert "STAGES must be at least 2" in words_shown()
    explorer.kernel.value = named(explorer, "ping_pong")
    explorer.stages.value = 4
    assert words_shown().startswith("A model: no time here was measured.")
