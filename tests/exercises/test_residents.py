"""Which blocks sit on one SM together, and what a kernel whose launch gives it room is worth."""

import numpy as np
import pytest

from gpusim import devices
from helpers.exercises import residents
from helpers.pictures.occupancy.facts import resources_of
from helpers.pictures.seats.facts import seats

H200 = devices.DEFAULT


def test_blocks_that_overlap_the_middle_of_block_0_sat_with_it():
    on_sm = np.array([5, 7, 5, 5, 5])
    began, ended = np.array([0, 0, 40, 90, 60]), np.array([100, 100, 130, 190, 70])
    assert residents.together(on_sm, began, ended).tolist() == [0, 2], "3 begins later, 4 begins after the middle"


def test_marks_cost_the_tiled_kernel_no_register():
    plain, marked = (
        resources_of(kernel, H200.arch) for kernel in (residents.tiled(), residents.marked(residents.tiled()))
    )
    assert plain == marked


def test_a_kernel_without_a_place_for_marks_is_refused():
    with pytest.raises(ValueError, match="0 times: there is no one place for the marks"):
        residents.marked(residents.tiled().with_source("void k(float *D) {}"))


def test_warps_of_a_block_store_two_rows_each():
    (seat,) = seats(residents.tiled(), [132])
    assert seat.columns == (64, 79) and seat.rows[:2] == ((64, 65), (66, 67)) and len(seat.rows) == 8


def test_what_was_recorded_is_full_to_the_last_warp():
    resident = residents.residents()
    assert len(set(resident.blocks)) == 8 and 0 in resident.blocks and resident.used == H200.sms


def test_a_room_that_was_not_recorded_is_predicted():
    recorded, predicted = residents.speeds([(16, 2048), (16, 60000)])
    assert recorded == "6\u202f429 GFLOPS, recorded on NVIDIA H200" and predicted.endswith("predicted for NVIDIA H200")
