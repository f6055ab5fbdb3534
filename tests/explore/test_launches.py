"""Small launches: the addresses and the costs are those of the whole launch."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers.analysis.access import gemm_accesses
from helpers.analysis.block_shapes import recorded, sectors_per_request, tags_per_request
from helpers.explore import launches
from helpers.explore.launches import Program
from helpers.simulator.errors import LaunchError


@pytest.mark.parametrize(("name", "sectors", "tags"), [("naive", 16.5, 16.5), ("coalesced", 2.5, 1.0)])
def test_one_block_costs_per_request_what_the_whole_launch_costs(name, sectors, tags):
    whole = launches.record_whole_launch(get(name), 64, 64, 64)
    one = launches.record_launch(get(name), (32, 32), 64, 64, 64)
    for recording in (whole, one):
        assert sectors_per_request(recording) == sectors
        assert tags_per_request(recording) == tags
    assert whole.total("requests", "global", "ld") == 64 * 64 // 32 * 64 * 2


def test_the_counters_are_the_ones_that_nsight_compute_names():
    counters = launches.record_whole_launch(get("coalesced"), 64, 64, 64).counters
    requests = counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
    assert (requests, counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]) == (16384, 16384 * 2.5)


def test_a_far_block_is_reached_without_running_the_ones_before_it():
    recording = launches.record_launch(get("coalesced"), (32, 1), 8, 1024, 4, blocks=((31, 5, 0),))
    store = gemm_accesses(recording, block=(31, 5, 0))[2]
    assert (store.offset // 4 == 5 * 1024 + 31 * 32 + np.arange(32)).all()
    assert recording.total("requests", "global", "st") == 1


def test_the_three_accesses_are_a_b_and_c():
    recording = launches.record_launch(get("naive"), (4, 8), 64, 64, 16)
    a, b, c = gemm_accesses(recording, k=3)
    lanes = np.arange(32)
    assert (a.offset // 4 == lanes % 4 * 16 + 3).all()
    assert (b.offset // 4 == 3 * 64 + lanes // 4).all()
    assert (c.offset // 4 == lanes % 4 * 64 + lanes // 4).all()
    assert [one.name for one in (a, b, c)] == ["load of A", "load of B", "store of C"]


def test_a_learners_own_kernel_is_recorded_like_the_ladders():
    kernel = get("coalesced")
    own = Program("mine", kernel.source.replace("blockIdx.x * blockDim.x", "1 + blockIdx.x * blockDim.x"), kernel.entry)
    (_, b, _) = gemm_accesses(launches.record_launch(own, (32, 1), 8, 64, 8))
    assert (b.offset[0] // 4, b.sectors) == (1, 5)


def test_a_launch_beyond_the_limits_is_the_simulators_sentence():
    with pytest.raises(LaunchError, match="64 × 64 × 1 = 4096 threads"):
        launches.record_launch(get("naive"), (64, 64), 64, 64, 8)


def test_a_block_shape_has_its_counts_and_its_recorded_speed():
    shape = launches.block_shape(get("coalesced"), (16, 16), 2048)
    measured = recorded(get("coalesced"), (16, 16), 2048)
    assert (shape.sectors_per_request, shape.tags_per_request) == (2.0, 1.5)
    assert shape.gflops == measured.gflops > 1000
    assert measured.label == "recorded on NVIDIA H200"


def test_a_shape_that_nobody_measured_has_no_speed():
    assert launches.block_shape(get("coalesced"), (48, 2), 2048).gflops is None
    assert recorded(get("coalesced"), (64, 64), 2048) is None
