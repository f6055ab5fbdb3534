"""A launch: what a kernel of the ladder and a learner's own say of theirs, and blocks of another shape."""

import pytest

from gemm_kernels import LADDER, OwnKernel, get, launch_of

OWN = OwnKernel("…", "sgemm<4>", (8, 4), tile=(16, 32), depth=5, shape=(100, 70, 33), shared_bytes=64, buffers=3)


@pytest.mark.parametrize("kernel", LADDER, ids=lambda kernel: kernel.name)
def test_a_launch_says_what_its_kernel_says(kernel):
    launch = kernel.launch(300, 200, 100)
    facts = ("name", "source", "entry", "block", "shared_bytes", "tile", "depth", "buffers", "threads")
    assert [getattr(launch, fact) for fact in facts] == [getattr(kernel, fact) for fact in facts]
    assert (launch.shape, launch.grid) == ((300, 200, 100), kernel.grid(300, 200))
    assert launch == kernel.launch(300, 200, 100) and hash(launch) == hash(kernel.launch(300, 200, 100))


def test_steps_of_a_phase_and_tiles_at_a_time_are_kernel_facts():
    facts = {kernel.name: (kernel.depth, kernel.buffers) for kernel in LADDER}
    assert facts["naive"] == facts["coalesced"] == (1, 0)
    assert facts["shared_memory"] == (32, 1)
    assert facts["vectorized"] == (8, 1)
    assert facts["double_buffered"] == facts["ping_pong"] == (8, 2)
    assert facts["async_copy"] == (8, 3)


def test_a_learners_kernel_is_launched_like_one_of_the_ladder():
    launch = OWN.launch(100, 70, 33)
    assert (launch.name, launch.entry, launch.block, launch.grid) == ("sgemm", "sgemm<4>", (8, 4, 1), (3, 7, 1))
    assert (launch.shared_bytes, launch.tile, launch.depth, launch.buffers) == (64, (16, 32), 5, 3)


def test_a_learners_kernel_chooses_the_shape_of_its_launch():
    assert launch_of(OWN, 64, 64, 64).shape == (100, 70, 33)
    assert launch_of(get("naive"), 64, 32, 16).shape == (64, 32, 16)
    assert launch_of(OwnKernel("…", "k"), 64, 32, 16).shape == (64, 32, 64)  # a K that usual tiles divide


@pytest.mark.parametrize(("name", "grid"), [("naive", (13, 9, 1)), ("coalesced", (9, 13, 1))])
def test_other_blocks_get_the_grid_that_covers_C(name, grid):
    launch = get(name).launch(100, 70, 8).in_blocks(8, 8)
    assert (launch.block, launch.grid, launch.tile, launch.shape) == ((8, 8, 1), grid, (8, 8), (100, 70, 8))
    kernel = get(name, block_x=16, block_y=4)
    assert get(name).launch(100, 70, 8).in_blocks(16, 4) == kernel.launch(100, 70, 8)


def test_threads_keep_their_elements_in_other_blocks():
    launch = OWN.launch(100, 70, 33).in_blocks(4, 4)
    assert (launch.tile, launch.grid) == ((16, 16), (5, 7, 1))
    assert OWN.launch(100, 70, 33).in_blocks(1, 1, 64).block == (1, 1, 64)
