"""Reading back what Nsight Compute and the driver said."""

import pytest

from gemm_kernels import get
from helpers.measure.profiles import driver_answers, ladder, profile
from helpers.recordings import NoRecording


def test_profile_says_its_occupancy_and_its_origin():
    profiled = profile(get("block_tile_2d"), 1024, 1024, 1024)
    assert profiled.occupancy == 0.25
    assert profiled.label == "recorded on NVIDIA H200 by Nsight Compute"


def test_unprofiled_shape_is_answered_with_profiled_ones():
    with pytest.raises(NoRecording, match="naive was not profiled at 7×7×7; the recorded shapes are: 256×256×32"):
        profile(get("naive"), 7, 7, 7)
    with pytest.raises(NoRecording, match="none with these parameters"):
        profile(get("shared_memory", T=8), 1024, 1024, 1024)


def test_drivers_answers_add_static_and_dynamic_shared_memory():
    arch, answers = driver_answers()
    assert arch == "sm_90"
    first = answers[1]  # 24 registers, 32 threads, 0 static and 129 dynamic bytes
    assert (first.registers, first.threads, first.shared_bytes, first.blocks) == (24, 32, 129, 32)


def test_the_ladder_leaves_out_what_was_not_profiled():
    names = [kernel.name for kernel, _ in ladder(1024, 1024, 1024)]
    assert names[:3] == ["naive", "coalesced", "shared_memory"]
    assert list(ladder(7, 7, 7)) == []
