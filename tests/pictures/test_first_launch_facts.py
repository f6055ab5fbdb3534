"""Which thread stored which element of an array."""

import numpy as np

import gpusim
from helpers import run
from helpers.pictures.first_launch.facts import Strip, strip

SOURCE = """extern "C" __global__ void scale(int n, float *A) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[n - 1 - i] = 2;
}"""


def test_threads_without_store_are_idle_and_elements_missed():
    strip_ = Strip("a launch", "A", blocks=2, block=4, elements=6, writes=np.array([(0, 0), (1, 1), (5, 1)]))
    assert strip_.idle.tolist() == [False, False, True, True, True, False, True, True]
    assert strip_.writers.tolist() == [1, 2, 0, 0, 0, 0]


def test_threads_of_all_blocks_are_numbered_one_after_the_other():
    blocks = tuple((number, 0, 0) for number in range(3))
    recording = run.recorded(
        gpusim.RawModule(code=SOURCE).get_function("scale"), (3,), (4,), (np.int32(10), np.zeros(10, np.float32)),
        blocks=blocks,
    )  # fmt: skip
    written = strip(recording, 10, "a launch", "A")
    assert sorted(map(tuple, written.writes.tolist())) == [(thread, 9 - thread) for thread in range(10)]
    assert (written.blocks, written.block, written.idle.tolist()) == (3, 4, [False] * 10 + [True] * 2)
