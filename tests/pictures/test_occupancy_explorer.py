"""The explorer of occupancy."""

from gemm_kernels import OwnKernel, get
from gpusim import compiler, devices
from helpers.pictures.occupancy import explorer as occupancy
from tests.pictures.driving import drive, shown

OWN = OwnKernel(
    'extern "C" __global__ void mine(float *x) { __shared__ volatile float s[2048]; s[threadIdx.x] = *x; *x = s[0]; }',
    "mine",
    (128,),
)


def test_settings_show_picture_or_sentence_and_free_figures(monkeypatch):
    explorer = occupancy.explore(kernel="naive")
    explorer.kernel.options = [
        pair for pair in explorer.kernel.options if pair[0] in ("naive", "coalesced", "these numbers")
    ]
    explorer.device.options = [(name, devices.get(name)) for name in ("NVIDIA H200", "Tesla T4", "NVIDIA RTX A6000")]
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 30 and seen["sentence"] > 2


def test_the_sliders_take_what_the_compiler_gives_the_kernel():
    explorer = occupancy.explore(kernel="shared_memory")
    kernel = get("shared_memory")
    compiled = compiler.compile(kernel.source, kernel.entry, options=("-std=c++17",))
    taken = explorer.choice.resources
    assert (taken.threads, taken.registers, taken.shared_bytes) == (1024, compiled.registers, 2 * 32 * 32 * 4)


def test_a_slider_leaves_the_kernels_numbers():
    explorer = occupancy.explore(kernel="shared_memory")
    explorer.registers.value += 1
    assert explorer.kernel.value is None
    assert explorer.choice.name == explorer.kernel.label == "these numbers"


def test_kernel_beyond_shared_memory_is_answered_by_a_sentence():
    explorer = occupancy.explore(kernel="naive")
    explorer.device.value = devices.get("Tesla T4")
    explorer.shared.value = explorer.shared.max
    assert shown(explorer) == "picture"
    explorer.threads.value, explorer.registers.value = 1024, 255
    assert shown(explorer) == "sentence"
    assert "registers" in explorer.stage.sentence.value


def test_a_learners_kernel_is_compiled_for_the_chosen_gpu():
    explorer = occupancy.explore(OWN)
    assert explorer.choice.name == "mine"
    assert explorer.choice.resources.shared_bytes == 8192
    assert explorer.choice.resources.threads == 128


def test_a_learners_mistake_is_shown_as_the_compilers_message():
    explorer = occupancy.explore(OwnKernel('extern "C" __global__ void mine() { x = 1; }', "mine"))
    assert shown(explorer) == "sentence"
    assert "x" in explorer.stage.sentence.value and "undefined" in explorer.stage.sentence.value


def test_recorded_kernels_show_recorded_learners_predicted_speed():
    assert "recorded on NVIDIA H200" in occupancy.explore(kernel="naive").later()()
    mine = OwnKernel(get("naive").source.replace("naive", "mine"), "sgemm_mine", (16, 16))
    explorer = occupancy.explore(mine)
    assert "GFLOPS, predicted for NVIDIA H200 (" in explorer.later()()
    explorer.registers.value += 1
    assert explorer.later() is None
    assert occupancy.explore(OWN).later()() == ""
    assert occupancy.explore(kernel="naive", device="Tesla T4").later() is None
