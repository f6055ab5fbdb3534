"""The explorer of the roofs by precision: every GPU of the list, and what was recorded where."""

from gpusim import devices
from helpers import peaks
from helpers.pictures import precisions
from helpers.pictures.roofs import explorer as roofs
from tests.pictures.driving import drive


def test_every_gpu_and_size_shows_a_picture(monkeypatch):
    explorer = roofs.explore()
    seen = drive(explorer, monkeypatch, settings=20)
    assert seen["sentence"] == 0 and seen["picture"] > 20


def test_note_names_the_smallest_square_not_bound_by_memory():
    explorer = roofs.explore(device="NVIDIA A100-SXM4-40GB")
    need = peaks.of(explorer.choice.device).tflops["FP16"] / 1.555
    least = next(size for size in roofs.SIZES if size / 4 >= need)
    assert f"{least} for TF32, FP16, BF16" in explorer.draw()[1]


def test_our_kernels_stand_under_the_roofs_of_the_h200_alone():
    here, there = (roofs.roofs_of(devices.get(name), 4096) for name in ("H200", "A6000"))
    ours = {dot.format: dot.tflops for dot in here.dots if dot.side == "our last kernel"}
    assert ours["BF16"] * 1e3 == precisions.recorded().duel("mma_autotuned", 4096, "bf16").mine
    assert all(tflops < here.tflops[name] for name, tflops in ours.items())
    assert set(here.reached) == {"TF32", "BF16", "INT8"} and there.dots == () and there.reached == {}
    cublas = {dot.format: dot.tflops for dot in here.dots if dot.side == "cuBLAS"}
    together = precisions.by_format("NVIDIA H200", 4096)
    assert set(cublas) == set(peaks.FORMATS) and {name for name in cublas if cublas[name] != together[name]} == {"FP32"}
