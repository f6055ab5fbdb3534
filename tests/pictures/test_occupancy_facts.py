"""What a block of a compiled kernel takes."""

import pytest

from gemm_kernels import get
from helpers.pictures.occupancy.facts import resources_of


@pytest.mark.parametrize("arch", ["sm_86", "sm_90"])
def test_dynamic_shared_memory_is_part_of_what_a_block_takes(arch):
    kernel = get("async_copy")
    taken = resources_of(kernel, arch)
    assert taken.shared_bytes == kernel.shared_bytes
