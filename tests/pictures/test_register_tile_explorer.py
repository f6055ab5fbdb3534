"""The explorer of register tiling."""

from gemm_kernels import OwnKernel, get
from gpusim import compiler, devices
from helpers.pictures import speeds
from helpers.pictures.register_tile import explorer as register_tile
from tests.pictures.driving import drive, shown


def test_settings_show_picture_or_sentence_and_free_figures(monkeypatch):
    monkeypatch.setattr(register_tile, "predicted", lambda launch: "")  # which takes its time at each of them
    small = {"BM": (16, 32), "BN": (16, 32), "BK": (4, 8), "TM": (2, 4), "TN": (2, 4)}  # 32 kernels compile in a test
    monkeypatch.setattr(register_tile, "SIZES", small)
    explorer = register_tile.explore(BM=32, BN=32, TM=4, TN=4)
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 30 and seen["sentence"] > 0


def test_a_broken_rule_is_answered_with_its_sentence():
    explorer = register_tile.explore(BM=32, BN=32, BK=8, TM=4, TN=4)
    explorer.sizes["TM"].value = explorer.sizes["TN"].value = 1
    assert shown(explorer) == "sentence"
    assert "must" in explorer.stage.sentence.value and "TM = 1" in explorer.stage.sentence.value
    explorer.sizes["TM"].value = explorer.sizes["TN"].value = 2
    assert shown(explorer) == "picture"


def test_note_says_what_the_compiler_gave_the_kernel():
    explorer = register_tile.explore(BM=32, BN=32, BK=8, TM=4, TN=4)
    kernel = get("block_tile_2d").replace(BM=32, BN=32, BK=8, TM=4, TN=4)
    registers = compiler.compile(kernel.source, kernel.entry, options=("-std=c++17",)).registers
    assert f"64 threads, {registers} registers per thread" in explorer.stage.note.value


def test_steps_follow_the_sizes_and_a_finished_one_stays():
    explorer = register_tile.explore(BM=32, BN=32, BK=8, TM=2, TN=2)
    assert (explorer.k.max, explorer.move.max) == (7, 4 + 4)
    explorer.move.value = explorer.move.max
    explorer.sizes["TM"].value = explorer.sizes["TN"].value = 4
    assert (explorer.thread.max, explorer.move.max, explorer.move.value) == (63, 8 + 16, 8 + 16)


def test_a_kernel_of_ones_own_is_explored_without_the_sizes():
    kernel = get("block_tile_1d").replace(BM=32, BN=32, BK=8, TM=8)
    explorer = register_tile.explore(OwnKernel.of(kernel))
    assert shown(explorer) == "picture"
    assert len(explorer.controls) == 3
    assert "8 × 1" in register_tile.picture_of(explorer.choice).caption


def test_static_twin_goes_from_two_loads_per_fma_to_a_quarter():
    caption = register_tile.small_multiples().caption.replace("\u00a0", " ")
    assert "1 × 1: 2 floats / 1 FMA = 2" in caption and caption.endswith("8 × 8: 16 floats / 64 FMAs = 0.25.")


def test_tiles_that_were_timed_at_2048_alone_show_their_speed():
    kernel = get("block_tile_2d").replace(BM=64, BN=64, BK=16, TM=2, TN=2)
    assert speeds.recorded(kernel).M == 2048 and speeds.recorded(get("block_tile_2d")).M == 4096
    note = register_tile.cost_of(kernel, devices.DEFAULT).replace("\u202f", " ").replace("\u00a0", " ")
    gflops = f"{speeds.recorded(kernel).gflops:,.0f}".replace(",", " ")
    assert note.endswith(f"{gflops} GFLOPS at 2 048³, recorded on NVIDIA H200.")
