"""One warp's request to shared memory: phases, wavefronts and banks."""

import numpy as np
import pytest

from gemm_kernels import get
from gpusim.counters import counting
from helpers.pictures.bank_board.facts import SharedAccess, places
from tests.pictures.facts_data import ALL, LANES, shared_access as access, transposed


@pytest.mark.parametrize("op", ["ld", "st"])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_wavefronts_of_the_cells_are_those_of_the_counters(width, op):
    chance = np.random.default_rng(width)
    for _ in range(300):
        addresses = chance.integers(0, chance.choice([1, 4, 40, 400]), 32) * width
        distance = chance.choice([1, 2])
        if chance.random() < 0.5:  # lanes i and i ^ 1, or i and i ^ 2, share
            addresses = addresses[LANES & ~distance]
        active = chance.random(32) < chance.choice([0.2, 0.9, 1.0])
        access = SharedAccess("load", op, width, addresses, active)
        assert len({cell.wavefront for cell in access.cells}) == access.wavefronts
        assert access.wavefronts == counting.wavefronts(addresses[None], active[None], width, op == "st")[0]
        served = sorted(lane for cell in access.cells for lane in cell.lanes)
        assert served == np.flatnonzero(active).tolist()


def test_loads_sharing_addresses_merge_phases_and_stores_do_not():
    y = LANES // 2 % 4
    assert access(4 * y, width=16, op="ld").phases == (tuple(range(16)), tuple(range(16, 32)))
    assert len(access(4 * y, width=16, op="st").phases) == 4
    assert access(0, width=8, op="ld").phases == (tuple(range(32)),)


def test_no_bank_serves_two_words_in_one_wavefront():
    chance = np.random.default_rng(0)
    for width in (4, 8, 16):
        access = SharedAccess("load", "ld", width, chance.integers(0, 99, 32) * width, ALL)
        taken = [(cell.wavefront, cell.bank + n) for cell in access.cells for n in range(cell.span)]
        assert len(taken) == len(set(taken))
        assert all(cell.word % 32 == cell.bank for cell in access.cells)


def test_a_warp_has_32_lanes():
    with pytest.raises(ValueError, match="32 lanes"):
        SharedAccess("load", "ld", 4, np.zeros(31, np.int64), ALL)


def test_transposed_store_waits_seven_times_until_padded_by_four():
    assert (transposed(128).wavefronts, transposed(128).needed) == (8, 1)
    assert (transposed(132).wavefronts, transposed(129).wavefronts) == (1, 4)


def test_ladders_conflict_is_in_the_store_of_the_transposed_tile():
    stores = {}
    for name in ("transposed", "padded", "swizzled"):
        store = next(request for request in places(get(name).launch(256, 256, 16)) if request.name == "store to As")
        stores[name] = [access.wavefronts for access in places(get(name).launch(256, 256, 16))[store]]
    assert set(stores["transposed"]) == {8}
    assert set(stores["padded"]) == set(stores["swizzled"]) == {1}


def test_line_naming_both_tiles_is_separated_by_addresses():
    source = get("shared_memory", T=16).source
    start, end = source.index("        As[y][x] ="), source.index("        A += T;")
    launch = get("shared_memory", T=16).launch(32, 32, 32)
    dense = launch.with_source(source[:start] + " ".join(source[start:end].split()) + "\n" + source[end:])
    stores = [request.name for request in places(dense) if request.op == "st"]
    assert sorted(stores) == ["store to As", "store to Bs"]
    assert len({request.line for request in places(dense) if request.op == "st"}) == 1


def test_fragment_loads_are_counted_as_the_hardware_runs_them():
    loads = {}
    for name in ("transposed", "interleaved"):
        by_place = places(get(name).launch(256, 256, 16))
        loads[name] = {
            (request.width, by_place[request][0].wavefronts) for request in by_place if request.name == "load from Bs"
        }
    assert loads == {"transposed": {(16, 8)}, "interleaved": {(16, 4)}}  # four floats by one LDS.128, not one by one
