"""One warp's access: its counts, and finding it in a recording."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.coalescing.facts import WarpAccess, warp_access
from tests.pictures.figure_data import LANES, access


def test_a_row_apart_is_a_sector_each():
    scattered = access("A", "ld", LANES * 1024)
    assert (scattered.sectors, scattered.tags, scattered.useful_bytes, scattered.moved_bytes) == (32, 32, 128, 1024)
    assert scattered.used_share == 0.125


def test_neighbours_fill_four_sectors_of_one_line():
    row = access("B", "ld", LANES)
    assert (row.sectors, row.tags, row.useful_bytes, row.used_share) == (4, 1, 128, 1.0)
    assert not row.is_broadcast


def test_one_word_for_all_lanes_is_a_broadcast_of_one_sector():
    broadcast = access("B", "ld", 5)
    assert (broadcast.sectors, broadcast.useful_bytes, broadcast.is_broadcast) == (1, 4, True)


def test_a_single_active_lane_is_no_broadcast():
    assert not access("B", "ld", 5, active=LANES == 3).is_broadcast


def test_inactive_lanes_cost_nothing():
    few_lanes = access("A", "ld", LANES * 1024, active=LANES < 5)
    assert (few_lanes.sectors, few_lanes.useful_bytes) == (5, 20)


def test_a_request_without_a_lane_is_empty():
    no_lanes = access("A", "ld", LANES, active=np.zeros(32))
    assert (no_lanes.sectors, no_lanes.moved_bytes, no_lanes.used_share, no_lanes.base) == (0, 0, 0.0, 0)
    assert no_lanes.sector_starts.tolist() == []


def test_sectors_are_cut_at_addresses_in_unaligned_arrays_too():
    unaligned = access("B", "ld", LANES, base=512 * 1000 + 16)
    assert unaligned.sectors == 5
    assert unaligned.sector_starts.tolist() == [-16, 16, 48, 80, 112]


def test_a_warp_has_32_lanes():
    with pytest.raises(ValueError, match="32 lanes.*shape \\(31,\\)"):
        WarpAccess("A", "ld", 0, (0, 0, 0), 0, np.zeros(31), np.zeros(32), np.ones(32, bool))


@pytest.fixture(scope="module")
def recording():
    return run.record(get("coalesced").launch(M=32, N=48, K=9).in_blocks(16, 4))


def test_the_kth_load_of_a_warp_is_the_one_of_step_k(recording):
    warp, k = 1, 7  # warp 1 of a 16 wide block holds rows 2 and 3
    a = warp_access(recording, "A", k=k, warp=warp)
    b = warp_access(recording, "B", k=k, warp=warp)
    row, col = 2 + LANES // 16, LANES % 16
    assert (a.offset // 4 == row * 9 + k).all()
    assert (b.offset // 4 == k * 48 + col).all()
    assert (a.step, a.warp, a.op, a.width) == (7, 1, "ld", 4)


def test_the_store_comes_with_the_recordings_own_counts(recording):
    row = recording.requests(space="global", op="st", warp=1)[0]
    store = warp_access(recording, "C", "st", warp=1)
    assert (store.sectors, store.tags) == (int(row["sectors"]), int(row["tags"])) == (4, 2)


def test_a_step_too_far_names_the_last_one(recording):
    with pytest.raises(CannotTell, match="made 9 load requests to A; number 9 is not among them. Try k = 8"):
        warp_access(recording, "A", k=9)


def test_unread_array_is_answered_with_the_read_ones(recording):
    with pytest.raises(CannotTell, match="no load of 'Q'. It has one of A, B"):
        warp_access(recording, "Q")


def test_a_warp_outside_the_block_is_named(recording):
    with pytest.raises(CannotTell, match="warp 2 of block \\(0, 0, 0\\) has no recorded load"):
        warp_access(recording, "A", warp=2)
