"""What "You are here" says at the end of a notebook is what Nsight Compute recorded of its kernels on an H200."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers import plan
from helpers.pictures.budget import facts as budget
from tests.notebooks.support import H200, cells

PLACES = {  # place -> the parts of a k-step that belong to it
    "hbm": ("long_scoreboard",),
    "shared": ("short_scoreboard", "mio_throttle", "lg_throttle"),
    "registers": ("dispatch_stall",),
}
MARKED = [notebook for notebook in plan.course().notebooks if "02" <= notebook.number <= "11"]
MARKS = [(notebook.number, mark.place, mark.kernel) for notebook in MARKED for mark in (notebook.now, notebook.then)]
LAST_STEP = 8  # cells from the end, in which the picture stands


@pytest.mark.parametrize(("number", "part", "kernel"), MARKS)
def test_the_place_that_is_marked_costs_most_idle_cycles(number, part, kernel):
    parts = budget.k_step(kernel).parts
    lost = {name: sum(parts.get(reason, 0.0) for reason in reasons) for name, reasons in PLACES.items()}
    assert max(lost, key=lost.__getitem__) == part, (number, lost)


def test_four_of_five_cycles_of_the_last_kernel_start_an_fma():
    step = budget.k_step("stream_k")
    assert 0.78 < step.fma / (step.total - step.empty) < 0.84
    assert {plan.course().notebook(number).then.place for number in ("12", "14")} == {"lanes"}


@pytest.mark.parametrize("number", [notebook.number for notebook in plan.course().notebooks if notebook.now])
def test_picture_stands_at_the_end_where_it_reveals_nothing(number):
    places = [position for position, cell in enumerate(cells(number)) if f'course.here("{number}")' in cell.source]
    assert len(places) == 1 and places[0] >= len(cells(number)) - LAST_STEP


def test_small_matrices_leave_sms_idle_where_autotuning_begins():
    now = plan.course().notebook("13").now
    assert now.place == "lanes" and "fewer blocks than SMs" in now.why
    assert all(np.prod(get("serpentine").grid(size, size)) < H200.sms for size in (128, 256, 512, 1024))
