"""Notebooks 04 to 06: their terms are in the glossary, and the numbers in their prose are right."""

import re
from pathlib import Path

import pytest

from gemm_kernels import get
from helpers import compiler, devices
from helpers.analysis.block_shapes import recorded
from helpers.authoring.notebooks import form
from helpers.explore import launches, machine_code
from helpers.gpu import KERNEL_OPTIONS
from helpers.measure import recordings
from helpers.models.traffic import shared_loads_per_fma
from helpers.occupancy import occupancy

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
H200, A6000, ADA = (devices.get(name) for name in ("NVIDIA H200", "NVIDIA RTX A6000", "RTX 6000 Ada"))
SHARED, ONE_D, TWO_D = (get(name) for name in ("shared_memory", "block_tile_1d", "block_tile_2d"))


def prose(number: str) -> str:
    """The Markdown of a notebook, on one line."""
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    cells = form.read(path.read_text(encoding="utf-8")).cells
    return " ".join(" ".join(cell.source for cell in cells if cell.cell_type == "markdown").split())


@pytest.mark.parametrize(
    ("number", "terms"),
    [
        ("04", {"shared memory", "tile", "phases", "barrier", "race", "sanitizer", "FMA", "wavefronts", "register"}),
        ("05", {"latency", "schedulers", "resident", "occupancy", "registers", "stalls"}),
        ("06", {"fragment", "inner product", "outer product", "PTX", "SASS", "Unrolling", "spills", "local memory"}),
    ],
)
def test_the_terms_that_a_notebook_explains_are_linked_to_the_glossary(number, terms):
    assert terms <= set(re.findall(r"\[\*\*([^\]*]+)\*\*\]\(glossary\.md\)", prose(number)))


# --- notebook 04


def test_a_tile_of_64_would_need_too_many_threads_and_32_is_below_the_ridge():
    assert "64 · 64 = 4096 threads" in prose("04") and "Even 32 stays below the ridge." in prose("04")
    assert H200.max_threads_per_block < 64 * 64
    assert H200.peak_fp32_gflops / H200.memory_gb_per_s > 32 / 4


def test_an_sm_does_four_fmas_of_a_warp_in_a_cycle_and_an_fma_needs_more_than_one_wavefront():
    assert "in one cycle the SM could do four FMAs of a warp" in prose("04")
    assert H200.fp32_lanes_per_sm == 4 * 32
    run = machine_code.record_as_run(SHARED, SHARED.block, 64, 64, 256)
    fmas = run.counters["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] / 32
    assert run.total("wavefronts", "shared") > fmas


def test_the_coalesced_kernel_read_a_by_one_sector():
    assert "one sector for 32 lanes" in prose("04")
    run = launches.record_launch(get("coalesced"), (32, 32), 64, 64, 64)
    assert run.total("sectors", "global", "ld", "A") == run.total("requests", "global", "ld", "A")


# --- notebook 05


def test_the_worked_example_leaves_a_third_of_the_warps_and_smaller_blocks_would_fill_the_sm():
    assert "Its 32 warps are two thirds of the 48 that the SM could hold." in prose("05")
    assert occupancy(A6000, 1024, 37, 8192).fraction == pytest.approx(2 / 3)
    assert "Blocks of 512 threads would fill the SM, if each thread had no more than 40 registers." in prose("05")
    assert [occupancy(A6000, 512, registers, 8192).fraction for registers in (40, 41)] == [1.0, pytest.approx(2 / 3)]


def test_a_scheduler_has_at_most_sixteen_warps():
    assert "Sixteen is the most that a scheduler of an H200 can have: 64 warps on an SM" in prose("05")
    assert H200.warps_per_sm == 4 * 16


def test_32_registers_for_2048_threads_are_all_there_are():
    assert "32 registers for each of 2048 threads are exactly the 65 536" in prose("05")
    assert H200.registers_per_sm == 32 * 2048
    assert [occupancy(H200, 1024, registers).fraction for registers in (32, 33)] == [1.0, 0.5]


def test_the_published_shared_limit_is_that_of_a_carve_out_of_64_kb():
    assert "7 · 9216 bytes fit into 64 KB" in prose("05")
    assert occupancy(ADA, 256, 118, 8192, shared_capacity=64 * 1024).limits["shared"] == 7


def test_the_answers_to_the_explorers_questions():
    assert "32 blocks of one warp each are half of the 64 warps" in prose("05")
    assert occupancy(H200, 32, 16).warps == 32
    assert "Blocks of 1024 threads with 32 registers" in prose("05")
    assert occupancy(H200, 1024, 32).fraction == 1.0 > occupancy(A6000, 1024, 32).fraction
    assert "80 for a thread will do, so 20 less" in prose("05")
    assert [occupancy(H200, 256, registers, 8192).blocks for registers in (100, 81, 80)] == [2, 2, 3]


def test_a_block_of_64_threads_in_one_row_is_full_and_as_slow_as_one_of_32():
    assert "(64, 1) fills the SM just as well as (32, 2), and is as slow as (32, 1)" in prose("05")
    speed = {shape: recorded(get("coalesced"), shape, 2048).gflops for shape in ((32, 1), (64, 1), (32, 2))}
    assert speed[64, 1] == pytest.approx(speed[32, 1], rel=0.02) and speed[32, 2] > 1.4 * speed[32, 1]


# --- notebook 06


def test_from_8_by_8_to_16_by_8_the_occupancy_halves_and_the_loads_fall_by_a_quarter():
    assert "From 8 × 8 to 16 × 8 the occupancy halves, while the loads fall by no more than a quarter" in prose(
        "06"
    ).replace("And from", "From")
    assert shared_loads_per_fma(16, 8) == 0.75 * shared_loads_per_fma(8, 8)
    shares = []
    for kernel in (TWO_D, TWO_D.replace(TM=16)):
        taken = compiler.compile(kernel.source, kernel.entry, arch=H200.arch, options=KERNEL_OPTIONS)
        shares.append(occupancy(H200, kernel.threads, taken.registers, taken.shared_bytes).fraction)
    assert shares[1] == shares[0] / 2


def test_256_sums_do_not_fit_into_registers():
    assert "A thread has at most 255 registers, and 256 sums do not fit." in prose("06")
    kernel = TWO_D.replace(TM=16, TN=16, BM=256, BN=256)
    assert compiler.compile(kernel.source, kernel.entry, arch=H200.arch, options=KERNEL_OPTIONS).local_bytes > 1024


def test_up_to_1024_the_2d_tile_has_fewer_blocks_than_there_are_sms_and_a_simpler_kernel_wins():
    assert "Up to 1024 the 2-D tile has fewer blocks than the GPU has SMs" in prose("06")
    for size in (256, 512, 1024, 2048):
        blocks = TWO_D.grid(size, size)
        small = blocks[0] * blocks[1] < H200.sms
        fastest = max((SHARED, ONE_D, TWO_D), key=lambda kernel: recordings.gflops(kernel, size, size, size).gflops)
        assert small == (size <= 1024) == (fastest is not TWO_D)


def test_one_line_costs_four_times_as_many_wavefronts_as_the_other():
    assert "one of them costs four times as many wavefronts as the other" in prose("06")
    run = machine_code.record_as_run(TWO_D, TWO_D.block, 128, 128, 64)
    costs = {
        line.text.split("=")[-1].strip()[:2]: line.total("wavefronts", "shared", "ld")
        for line in run.by_line()
        if line.total("requests", "shared", "ld")
    }
    assert costs["Bs"] == 4 * costs["As"]


def test_thread_40_has_the_patch_that_is_said():
    assert "Thread 40 is number 8 in row 2 of that arrangement." in prose("06")
    assert divmod(40, 16) == (2, 8) and TWO_D.threads == 256
