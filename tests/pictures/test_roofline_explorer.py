"""The explorer of the roofline, and the bytes that it counts."""

from gemm_kernels import LADDER, OwnKernel, get
from gpusim import devices
from helpers import recordings
from helpers.pictures.roofline import explorer as roofline
from helpers.pictures.roofline.facts import bytes_moved
from tests.pictures.driving import drive

H200 = devices.get("H200")


def counted(kernel, shape) -> int:
    return bytes_moved(kernel.launch(*shape))


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    monkeypatch.setattr(roofline, "LADDER", [get(name) for name in ("naive", "coalesced", "shared_memory")])
    explorer = roofline.explore(kernels=("naive", "shared_memory"))
    seen = drive(explorer, monkeypatch)
    assert seen["sentence"] == 0 and seen["picture"] > 50


def test_recorded_speed_is_shown_on_its_gpu_alone():
    kernel = get("shared_memory")
    here, there = (roofline.point_of(kernel, devices.get(name), (4096,) * 3) for name in ("H200", "A100 40GB"))
    assert here.gflops == recordings.find(kernel, 4096, 4096, 4096).gflops
    assert there.gflops is None
    assert here.bytes_fetched == there.bytes_fetched


def test_last_kernel_is_explained_first_and_hiding_it_the_shape():
    explorer = roofline.explore(kernels=("naive", "shared_memory"))
    assert explorer.choice.selected == "shared_memory"
    explorer.kernels.value = ("naive",)
    assert explorer.choice.selected is None


def test_without_kernels_there_are_only_the_gpu_and_the_shape():
    explorer = roofline.explore(kernels=())
    assert len(explorer.controls) == 4
    explorer.M.value = 1
    assert "memory is the limit" in roofline.picture_of(explorer.choice).caption


def test_a_learners_kernel_is_counted_beside_the_ladders():
    kernel = get("shared_memory").replace(T=16)
    own = OwnKernel(kernel.source, kernel.entry, kernel.block, kernel.tile, name="mine")
    explorer = roofline.explore(own, kernels=("naive",))
    assert explorer.choice.selected == "mine"
    mine = roofline.roofline_of(explorer.choice).points[-1]
    assert mine.bytes_fetched == counted(kernel, (4096,) * 3)
    assert mine.gflops is None


def test_all_sizes_are_whole_tiles_or_smaller_than_one():
    tiles = {size for kernel in LADDER for size in kernel.tile}
    assert all(size % tile == 0 or size < tile for size in roofline.SIZES for tile in tiles)


def test_the_static_twin_has_a_shape_for_each_limit():
    caption = roofline.small_multiples().caption
    assert "memory limits" in caption and "arithmetic limits" in caption
