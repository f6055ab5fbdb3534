"""What "You are here" says at the head of a notebook is what Nsight Compute recorded of its kernels on an H200."""

import numpy as np
import pytest

from gemm_kernels import get, launch_of
from helpers import course, devices, plan, run
from helpers.measure.states import states
from tests.notebooks.support import H200, counters

SIZE = 2048  # M = N = K, the largest that was recorded
CYCLES = "smsp__cycles_active.avg"
WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
FMAS = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
SHARED_PIPE = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
WAITS = {  # what a warp waits for -> the reasons under which Nsight Compute counts it
    "hbm": ("long_scoreboard",),
    "shared": ("short_scoreboard", "mio_throttle", "lg_throttle"),
    "registers": ("dispatch_stall",),
}
KERNELS = {  # the kernel of the ladder that a notebook begins with, and the one that it ends with
    "02": (None, "naive"),
    "03": ("naive", "coalesced"),
    "04": ("coalesced", "shared_memory"),
    "06": ("shared_memory", "block_tile_2d"),
    "07": ("block_tile_2d", "block_tile_2d"),
    "08": ("block_tile_2d", "interleaved"),
    "09": ("interleaved", "vectorized"),
    "10": ("vectorized", "async_copy"),
    "11": ("async_copy", "warptiled"),
    "14": (None, "stream_k"),
    "15": ("stream_k", None),
}
MARKS = [(n, mark, k) for n, both in KERNELS.items() for mark, k in zip(("now", "then"), both, strict=True) if k]


def starts_of_fmas(name: str) -> float:
    """The share of the cycles in which a scheduler starts an FMA."""
    return SIZE**3 / devices.WARP / H200.sms / devices.SCHEDULERS / states(name, SIZE).metrics[CYCLES]


def limit(name: str) -> str:
    """The place that limits a kernel: the busiest unit if that is the lanes or shared memory, else what warps wait for.

    The lanes are busy from four FMAs in five cycles on; shared memory is, if its share of busy cycles is larger than
    that of the cycles in which an instruction is issued.
    """
    found = states(name, SIZE)
    if starts_of_fmas(name) > 0.8:
        return "lanes"
    if found.metrics[SHARED_PIPE] / H200.sms / found.metrics[CYCLES] > found.issuing:
        return "shared"
    waits = {place: found.waiting(*reasons) for place, reasons in WAITS.items()}
    return max(waits, key=waits.__getitem__)


@pytest.mark.parametrize(("number", "mark", "kernel"), MARKS)
def test_the_place_that_is_marked_is_the_one_that_limits_the_kernel_by_the_recordings(number, mark, kernel):
    assert getattr(plan.course().notebook(number), mark).place == limit(kernel)


def test_after_the_bank_conflicts_a_third_of_the_cycles_issues_nothing_so_that_issue_slots_are_free():
    assert all(states(name, SIZE).issuing < 0.7 for name in ("interleaved", "vectorized"))


def test_small_matrices_make_fewer_blocks_than_there_are_sms_where_autotuning_begins():
    now = plan.course().notebook("13").now
    assert now.place == "lanes" and "fewer blocks than there are SMs" in now.why
    assert all(np.prod(get("serpentine").grid(size, size)) < H200.sms for size in (128, 256, 512, 1024))


def test_before_the_bank_conflicts_shared_memory_takes_longer_for_the_loads_than_the_multiply_adds_take():
    told = "shared memory takes more cycles for its loads than their multiply-adds take"
    assert plan.course().notebook("06").then.why == plan.course().notebook("07").now.why == told
    mine = course.kernel("patch")
    recorded = run.record(launch_of(mine, 128, 128, 64)).counters
    for counted in (recorded, counters("block_tile_2d")):
        assert counted[WAVEFRONTS] > counted[FMAS] / devices.WARP / devices.SCHEDULERS
