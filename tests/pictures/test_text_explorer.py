"""The explorers whose stage is text: the source with its costs, and the diff with its counters."""

import pytest

from gemm_kernels import OwnKernel, get
from helpers import run
from helpers.pictures.diff import explorer as diff
from helpers.pictures.heat_source import explorer as heat_source
from helpers.pictures.heat_source.explorer import source_of
from tests.pictures.driving import drive, shown

OWN_SOURCE = """
extern "C" __global__ void
mine(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    C[threadIdx.x] = A[2 * threadIdx.x];
}
"""
OWN = OwnKernel(OWN_SOURCE, "mine", (64,))


def few(control, *names: str) -> None:
    """Leave only the options with these names."""
    control.options = [pair for pair in control.options if pair[0] in names]


def test_every_setting_of_the_heat_explorer_shows_a_source(monkeypatch):
    explorer = heat_source.explore(OWN)
    few(explorer.launch, "mine", "naive", "coalesced", "shared_memory")
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 50 and seen["sentence"] == 0


@pytest.mark.parametrize("level", ["sass", "ptx"])
def test_the_heat_is_what_was_recorded(level):
    launch = heat_source.shown(get("transposed"))
    recording = run.record(launch, level=level)
    source = source_of(launch, level)
    assert source.instructions == recording.instructions()
    assert sum(line.sectors for line in source.lines) == recording.total("sectors", "global")
    assert sum(line.wavefronts for line in source.lines) == recording.total("wavefronts", "shared")
    store = next(line for line in source.lines if "As[a_k][a_row + y] =" in line.text)
    assert store.wavefronts == 8 * store.shared_requests
    assert any(line.startswith("STS") for line in store.sass) and any(
        line.startswith("st.shared") for line in store.ptx
    )


def test_learners_kernel_comes_first_with_the_compilers_sentence():
    assert shown(heat_source.explore(OWN)) == "picture"
    broken = OwnKernel(OWN_SOURCE.replace("A[2", "Q[2"), "mine", (32,), name="broken")
    explorer = heat_source.explore(broken)
    assert shown(explorer) == "sentence"
    assert "Q" in explorer.stage.sentence.value


def test_text_scrolls_in_a_frame_of_fixed_height():
    explorer = heat_source.explore(OWN)
    frame = explorer.stage.frame
    assert frame.layout.height == f"{heat_source.HEIGHT}px" and frame.layout.overflow == "auto"
    assert "threadIdx.x" in explorer.stage.picture.value


def test_every_pair_of_kernels_shows_a_diff(monkeypatch):
    explorer = diff.explore("coalesced")
    for control in (explorer.old, explorer.new):
        few(control, "naive", "coalesced", "shared_memory")
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 50 and seen["sentence"] == 0


def test_padding_moves_the_stores_wavefronts_and_nothing_else():
    step = diff.step_between(get("transposed"), get("padded"))
    assert [(counter.name, counter.old, counter.new) for counter in step.moved] == [
        ("shared stores: wavefronts", 9216, 2048)
    ]
    assert "simulated in machine code" in step.caption


def test_explorer_begins_with_the_kernel_that_the_step_changes():
    explorer = diff.explore("swizzled")
    assert explorer.old.value.name == "transposed"
    assert explorer.stage.note.value.startswith("An exclusive or permutes")
    explorer.old.value = get("swizzled")
    assert "are the same code" in explorer.stage.picture.value


def test_an_output_of_a_text_keeps_no_picture():
    assert "image/png" not in diff.explore("swizzled")._repr_mimebundle_()
