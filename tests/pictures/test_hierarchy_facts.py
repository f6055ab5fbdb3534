"""Who owns which part of C."""

import numpy as np
import pytest

from gemm_kernels import OwnKernel, get
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.hierarchy.facts import levels_of
from tests.pictures.facts_data import hierarchy

SIZE = 256
PARAMS = {"BM": 64, "BN": 128, "BK": 8, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "STAGES": 2, "BLOCKS": 1}
SMALL = get("warptiled", **PARAMS).launch(SIZE, SIZE, 16)


def test_a_warps_tile_and_needs_follow_from_its_lanes_stores():
    data = hierarchy()
    assert data.tile == (16, 32) and data.warps == 4
    assert data.window(3) == (slice(8, 16), slice(16, 32))
    assert data.needs(3) == (8, 16) and data.needs(3, 5) == (2, 2)
    assert data.elements(0) == 128


def test_owners_and_wavefronts_are_those_that_were_recorded():
    data, recording = levels_of(SMALL), run.record(SMALL)
    assert recording.level == "sass"
    for warp in range(data.warps):
        rows = recording.requests(space="global", op="st", warp=warp, array="C")
        for row in rows:
            for word in range(row["width"] // 4):
                element = row["offset"][row["active"]] // 4 + word
                lanes = np.flatnonzero(row["active"])
                assert (data.owner[element // SIZE, element % SIZE] == 32 * warp + lanes).all()
        loads = recording.requests(space="shared", op="ld", warp=warp)
        assert sum(load.wavefronts for load in data.loads[warp].values()) * SMALL.shape[2] == loads["wavefronts"].sum()


def test_a_kernel_that_stores_nothing_to_c_gets_a_sentence():
    silent = 'extern "C" __global__ void silent(int M, int N, int K, float a, const float *A, const float *B, float b, '
    kernel = OwnKernel(silent + "float *C) {}", "silent", (32,), depth=2)
    with pytest.raises(CannotTell, match="Block \\(0, 0\\) of silent stores nothing to an array called C"):
        levels_of(kernel.launch(64, 64, 4))
