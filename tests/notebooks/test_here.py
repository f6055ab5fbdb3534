"""What "You are here" says at the head of a notebook is what Nsight Compute recorded of its kernels on an H200."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers import devices, plan
from helpers.measure.states import states
from tests.notebooks.support import H200

SIZE = 2048  # M = N = K, the largest that was recorded
CYCLES = "smsp__cycles_active.avg"
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
