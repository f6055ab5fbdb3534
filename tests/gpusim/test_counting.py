"""Sectors, tags and wavefronts against plain Python sets, and against the textbook cases."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.counters import counting

LANE = np.arange(32)
ALL = np.ones((1, 32), bool)


def request(addresses):
    """One request of 32 lanes as a (1, 32) array."""
    return np.broadcast_to(np.asarray(addresses, np.int64), (1, 32))


# ---- the rules again, lane by lane, with nothing but sets ---------------------------------------------------------


def touched_blocks(addresses, active, width, size):
    return {
        byte // size
        for address, on in zip(addresses, active, strict=True)
        if on
        for byte in range(address, address + width)
    }


def neighbours_share(addresses, active, lanes, distance):
    return all(
        not active[lane] or not active[lane ^ distance] or addresses[lane] == addresses[lane ^ distance]
        for lane in lanes
    )


def merges(addresses, active, width, lanes):
    """Whether a load serves these lanes by one wavefront: neighbours share, and no bank is asked for two words."""
    shares = any(neighbours_share(addresses, active, lanes, distance) for distance in (1, 2))
    cut_short = width == 16 and lanes[0] == 0 and active[31] and not all(active[:16])
    return shares and not cut_short and wavefronts_of_phase(addresses, active, width, lanes) == 1


def phases(addresses, active, width, stores):
    """The groups of lanes that are served one after the other."""
    everybody = range(32)
    if width <= 4:
        return [everybody]
    used = {address for address, on in zip(addresses, active, strict=True) if on}
    if width == 16 and len(used) == 1 and not stores:
        return [everybody] if sum(active) <= 16 else [range(16), range(16, 32)]
    result = []
    size = 32 if width == 8 else 16
    for start in range(0, 32, size):
        lanes = range(start, start + size)
        halves = [lanes[: size // 2], lanes[size // 2 :]]
        result += [lanes] if not stores and merges(addresses, active, width, lanes) else halves
    return result


def wavefronts_of_phases(addresses, active, width, stores):
    used = {address for address, on in zip(addresses, active, strict=True) if on}
    counts = [wavefronts_of_phase(addresses, active, width, p) for p in phases(addresses, active, width, stores)]
    # One address for more than half a warp takes two wavefronts at 128 bits, wherever those lanes are.
    return [1, 1] if width == 16 and len(used) == 1 and sum(active) > 16 and not stores else counts


def wavefronts_of_phase(addresses, active, width, lanes):
    words = {byte // 4 for lane in lanes if active[lane] for byte in range(addresses[lane], addresses[lane] + width)}
    return max((sum(word % 32 == bank for word in words) for bank in {word % 32 for word in words}), default=0)


def random_requests(width, count, rng):
    """(count, 32) addresses and masks: strides, skews, broadcasts, permutations, clusters, merged neighbours."""
    rows = []
    for _ in range(count):
        base = int(rng.integers(0, 64)) * 16
        stride = int(rng.integers(0, 40))
        skew = int(rng.integers(0, 5))
        units = [
            lambda s=stride, k=skew: LANE * s + LANE // 8 * k,
            lambda: rng.integers(0, rng.choice([2, 8, 64, 4096]), 32),
            lambda: rng.permutation(32),
            lambda s=stride: LANE // int(rng.choice([2, 4, 8, 16])) * s,
            lambda s=stride: LANE % int(rng.choice([2, 4, 8, 16])) * s,
            lambda s=stride: ((LANE >> 2 << 1) | (LANE & 1)) * s,
            lambda s=stride: (LANE // 2 % 4) * s + LANE // 16,
        ][rng.integers(7)]()
        rows.append(base + width * units)
    chance = rng.choice([1.0, 1.0, 0.9, 0.5, 0.1, 0.0], (count, 1))
    return np.array(rows, np.int64), rng.random((count, 32)) < chance


@pytest.mark.parametrize("width", counting.WIDTHS)
def test_counts_equal_those_of_sets_of_bytes(width):
    addresses, active = random_requests(width, 1500, np.random.default_rng(width))
    lanes = list(zip(addresses.tolist(), active.tolist(), strict=True))
    served = [wavefronts_of_phases(a, on, width, stores=False) for a, on in lanes]
    stored = [wavefronts_of_phases(a, on, width, stores=True) for a, on in lanes]
    expected = {
        counting.sectors: [len(touched_blocks(a, on, width, 32)) for a, on in lanes],
        counting.tags: [len(touched_blocks(a, on, width, 128)) for a, on in lanes],
        counting.useful_bytes: [len(touched_blocks(a, on, width, 1)) for a, on in lanes],
        counting.wavefronts: [sum(counts) for counts in served],
        counting.bank_conflicts: [sum(count - 1 for count in counts if count) for counts in served],
    }
    for function, values in expected.items():
        result = function(addresses, active, width)
        assert result.dtype == np.int64
        np.testing.assert_array_equal(result, values, err_msg=function.__name__)
    of_stores = counting.wavefronts(addresses, active, width, stores=True)
    np.testing.assert_array_equal(of_stores, [sum(counts) for counts in stored])
    conflicts = counting.bank_conflicts(addresses, active, width)
    np.testing.assert_array_equal(conflicts, [sum(count - 1 for count in counts if count) for counts in stored])
    together = set().union(*(touched_blocks(a, on, width, 32) for a, on in lanes))
    assert counting.sector_ids(addresses, active, width).tolist() == sorted(together)


@pytest.mark.parametrize("width", counting.WIDTHS)
def test_addresses_of_inactive_lanes_do_not_matter(width):
    rng = np.random.default_rng(3)
    addresses, active = random_requests(width, 200, rng)
    elsewhere = np.where(active, addresses, rng.integers(-(1 << 40), 1 << 40, addresses.shape))
    for function in (counting.sectors, counting.tags, counting.useful_bytes, counting.wavefronts):
        np.testing.assert_array_equal(
            function(elsewhere, active, width), function(addresses, active, width), err_msg=function.__name__
        )


# ---- global memory: known answers ---------------------------------------------------------------------------------


def test_a_coalesced_float_load_is_four_sectors_of_one_line():
    row = request(512 + 4 * LANE)
    assert counting.sectors(row, ALL, 4) == 4
    assert counting.tags(row, ALL, 4) == 1
    assert counting.useful_bytes(row, ALL, 4) == 128


def test_a_row_that_starts_between_sectors_costs_one_sector_more():
    row = request(512 + 4 + 4 * LANE)
    assert counting.sectors(row, ALL, 4) == 5
    assert counting.tags(row, ALL, 4) == 2


def test_column_of_a_wide_matrix_is_a_sector_and_line_a_lane():
    column = request(4096 * LANE)
    assert counting.sectors(column, ALL, 4) == 32
    assert counting.tags(column, ALL, 4) == 32
    assert counting.useful_bytes(column, ALL, 4) == 128


def test_async_copy_of_16_bytes_looks_lines_up_by_quarter_warps():
    aligned, between_lines = request(512 + 16 * LANE), request(512 + 32 + 16 * LANE)
    assert counting.tags(aligned, ALL, 16) == counting.tags(aligned, ALL, 16, asynchronous=True) == 4
    assert counting.tags(between_lines, ALL, 16) == 5
    assert counting.tags(between_lines, ALL, 16, asynchronous=True) == 8
    half = ALL & (LANE < 16)
    assert counting.tags(between_lines, half, 16, asynchronous=True) == 4
    assert counting.tags(request(512 + 4 * LANE), ALL, 4, asynchronous=True) == 1


def test_a_broadcast_is_one_sector():
    assert counting.sectors(request(516), ALL, 4) == 1
    assert counting.useful_bytes(request(516), ALL, 4) == 4


@pytest.mark.parametrize(("width", "expected"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)])
def test_a_coalesced_load_needs_the_sectors_that_its_bytes_fill(width, expected):
    assert counting.sectors(request(512 + width * LANE), ALL, width) == expected


def test_sector_ids_are_shared_between_requests():
    two = np.concatenate([request(4 * LANE), request(64 + 4 * LANE)])
    assert counting.sector_ids(two, np.ones((2, 32), bool), 4).tolist() == [0, 1, 2, 3, 4, 5]


# ---- shared memory: known answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", range(1, 34))
def test_stride_conflicts_as_often_as_it_shares_a_factor_with_32(stride):
    assert counting.wavefronts(request(4 * stride * LANE), ALL, 4) == np.gcd(stride, 32)


def test_a_broadcast_word_is_free():
    assert counting.wavefronts(request(64), ALL, 4) == 1
    assert counting.wavefronts(request(4 * (LANE % 2)), ALL, 4) == 1


def test_bytes_of_one_word_are_served_together():
    assert counting.wavefronts(request(LANE), ALL, 1) == 1
    assert counting.wavefronts(request(128 * LANE), ALL, 1) == 32


@pytest.mark.parametrize(
    ("leading_dimension", "floats_a_lane", "expected"), [(128, 1, 8), (132, 1, 1), (128, 4, 2), (132, 4, 1)]
)
def test_padding_by_4_ends_the_transposed_stores_conflicts(leading_dimension, floats_a_lane, expected):
    lanes_a_row = 8 // floats_a_lane  # the tile is 8 floats wide
    row, column = LANE // lanes_a_row, LANE % lanes_a_row * floats_a_lane
    assert counting.wavefronts(request(4 * (column * leading_dimension + row)), ALL, 4) == expected


@pytest.mark.parametrize(("width", "expected"), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)])
def test_full_row_of_distinct_words_moves_128_bytes_a_wavefront(width, expected):
    row = request(width * LANE)
    assert counting.wavefronts(row, ALL, width) == expected
    assert counting.ideal_wavefronts(ALL, width) == expected
    assert counting.bank_conflicts(row, ALL, width) == 0


@pytest.mark.parametrize(("width", "expected"), [(4, 1), (8, 1), (16, 2)])
def test_a_uniform_load_takes_two_wavefronts_at_128_bits(width, expected):
    assert counting.wavefronts(request(256), ALL, width) == expected
    assert counting.bank_conflicts(request(256), ALL, width) == 0


@pytest.mark.parametrize(("width", "expected"), [(4, 1), (8, 2), (16, 4)])
def test_a_uniform_store_is_not_merged(width, expected):
    assert counting.wavefronts(request(256), ALL, width, stores=True) == expected


def test_neighbours_merge_only_if_no_bank_is_asked_for_two_words():
    pairs = LANE // 2 * 8
    assert counting.wavefronts(request(pairs), ALL, 8) == 1
    assert counting.wavefronts(request(2 * pairs), ALL, 8) == 2  # 16 pairs, 2 to a bank: each half-warp on its own


def test_only_loads_of_128_bits_by_part_of_a_warp_are_uncertain():
    some = ALL & (LANE != 3)
    assert counting.is_certain(request(16 * (LANE // 2 % 4)), ALL, 16)
    assert not counting.is_certain(request(16 * (LANE // 2 % 8)), some, 16)
    assert counting.is_certain(request(16 * (LANE // 2 % 8)), some, 8)


def test_z_order_lane_map_merges_the_loads_of_both_fragments():
    def of_a(y):
        return counting.wavefronts(request(16 * y), ALL, 16).item()

    def of_b(x):
        return counting.wavefronts(request(16 * x), ALL, 16).item()

    assert (of_a(y=LANE // 2 % 4), of_b(x=2 * (LANE // 8) + LANE % 2)) == (2, 2)
    assert (of_a(y=LANE // 8), of_b(x=LANE % 8)) == (2, 4)


def test_phases_without_an_active_lane_take_no_wavefront():
    first_quarter = request(LANE < 8).astype(bool)
    assert counting.wavefronts(request(16 * LANE), first_quarter, 16) == 1
    assert counting.ideal_wavefronts(first_quarter, 16) == 1
    assert counting.ideal_wavefronts(first_quarter, 8) == 1


# ---- edges --------------------------------------------------------------------------------------------------------


def test_no_request_at_all_gives_an_empty_count():
    none, no_lane = np.empty((0, 32), np.int64), np.empty((0, 32), bool)
    for function in (counting.sectors, counting.tags, counting.useful_bytes, counting.wavefronts):
        assert function(none, no_lane, 16).shape == (0,)
    assert counting.ideal_wavefronts(no_lane, 16).shape == (0,)


def test_an_impossible_width_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="A lane accesses 1, 2, 4, 8 or 16 bytes at once, not 12."):
        counting.sectors(request(0), ALL, 12)


def test_a_misaligned_address_names_its_lane():
    with pytest.raises(ValueError, match=r"Lane 3 of request 0 accesses 8 bytes at byte address 28, .* multiple of 8"):
        counting.wavefronts(request(8 * LANE + 4 * (LANE == 3)), ALL, 8)


@pytest.mark.parametrize(
    ("row_bytes", "expected"),
    [
        pytest.param(512, 4, id="four rows at the same place in their lines"),
        pytest.param(308, 2, id="rows of 77 floats, of which two reach into one bank"),
        pytest.param(32, 1, id="one line"),
        pytest.param(512 + 32, 1, id="four places in four lines"),
    ],
)
def test_async_copy_takes_as_long_as_reading_its_source(row_bytes, expected):
    """Eight floats of each of four rows, to 32 words side by side."""
    lane = np.arange(32)[None, :]
    origin, to, everyone = lane // 8 * row_bytes + lane % 8 * 4, 4 * lane, np.ones((1, 32), bool)
    assert counting.copy_wavefronts(to, origin, everyone, 4).tolist() == [expected]
    assert counting.copy_wavefronts(origin, to, everyone, 4).tolist() == [expected]
    assert counting.copy_wavefronts(to, origin, lane < 8, 4).tolist() == [1]


COPIES = json.loads((Path(__file__).parent / "goldens" / "copies_sm_90.json").read_text(encoding="utf-8"))
WRITTEN = {
    "free": LANE,
    "four": LANE % 8 * 4 + LANE // 8 * 32,  # four lanes for each of eight banks
    "real": 4 * (LANE // 4 * 4 + (LANE % 4 ^ LANE // 8 % 4)),  # a swizzled tile, an element in four at a time
}


def copies_of_a_warp(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The words that 32 lanes read and write, by the name of what was recorded."""
    written, kind, *more = name.split()
    if kind.startswith("pitch"):
        read = int(more[0].removeprefix("base")) + LANE // 4 * int(kind.removeprefix("pitch")) + LANE % 4 * 4
    else:
        read = LANE * int(kind.removeprefix("n")) // 32 * int(more[0].removeprefix("stride")) * 32 + LANE
    return read, WRITTEN[written]


def test_copies_of_a_word_take_recorded_wavefronts_in_any_bank():
    counted = {}
    for name in COPIES["wavefronts"]:
        read, written = copies_of_a_warp(name)
        (counted[name],) = counting.copy_wavefronts(
            4 * written.reshape(1, 32), 4 * read.reshape(1, 32), ALL, 4
        ).tolist()
    assert counted == COPIES["wavefronts"] and len(counted) > 250


def test_copy_lane_that_reads_nothing_waits_for_the_writes_only():
    read, written = copies_of_a_warp("real pitch16 base0")
    to, origin = 4 * written.reshape(1, 32), 4 * read.reshape(1, 32)
    assert counting.copy_wavefronts(to, origin, ALL, 4).tolist() == [7]
    assert counting.copy_wavefronts(to, origin, ALL, 4, ~ALL).tolist() == [4]
    assert counting.copy_wavefronts(to, origin, ALL, 4, LANE.reshape(1, 32) < 8).tolist() == [4]


def test_a_request_may_have_fewer_lanes_than_a_warp():
    addresses, active = np.arange(8)[None, :] * 12, np.ones((1, 8), bool)
    assert counting.sectors(addresses, active, 4).tolist() == [3]
    assert counting.wavefronts(addresses * 32, active, 4).tolist() == [8]
