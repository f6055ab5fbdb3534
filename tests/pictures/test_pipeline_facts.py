"""What a kernel issues for one K-block."""

import pytest

from gemm_kernels import OwnKernel, get
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.pipeline.facts import loop_of


def test_work_is_what_one_more_k_block_adds_to_machine_code():
    kernel = get("double_buffered")
    loop = loop_of(kernel)
    depth, warps = kernel.params["BK"], kernel.threads // 32
    rows, columns = kernel.tile
    recordings = [run.record(kernel.launch(rows, columns, n * depth)) for n in (8, 9)]
    more, less = (recording.instructions() for recording in reversed(recordings))
    assert loop.work.copy + loop.work.store + loop.work.multiply == round((more - less) / warps)
    floats = depth * (rows + columns)
    assert loop.work.copy == floats // 4 // kernel.threads  # float4 loads
    ffma = [recording.instructions("FFMA") for recording in recordings]
    assert loop.work.multiply > (ffma[1] - ffma[0]) / warps == kernel.params["TM"] * kernel.params["TN"] * depth


def test_work_that_does_not_grow_with_k_is_no_loop():
    still = 'extern "C" __global__ void still(int M, int N, int K, float a, const float *A, const float *B, float b, '
    still += "float *C) { C[threadIdx.x] = a * A[threadIdx.x]; }"
    with pytest.raises(CannotTell, match="no loop over K"):
        loop_of(OwnKernel(still, "still", (16, 16)))
