"""Each architecture that kernels can be compiled for, by one kernel; `architectures` as a command tries them all."""

import pytest

from gemm_kernels import ladder, tensor
from helpers import compiler, devices
from tests.simulator import architectures

# Small kernels, each with something of its own: copies, vectors, meetings of lanes, tensor cores.
KERNELS = {
    "sm_70": "naive", "sm_75": "coalesced", "sm_80": "shared_memory", "sm_86": "naive", "sm_87": "shared_memory",
    "sm_89": "coalesced", "sm_90": "block_tile_1d", "sm_100": "coalesced", "sm_101": "naive", "sm_103": "shared_memory",
    "sm_120": "block_tile_1d", "sm_121": "coalesced",
}  # fmt: skip


@pytest.mark.parametrize("arch", KERNELS)
def test_a_kernel_multiplies_on_every_architecture_at_both_levels(arch):
    assert architectures.answer(ladder.get(KERNELS[arch]), arch) == architectures.RIGHT


def test_every_architecture_of_the_compiler_that_has_limits_is_tried():
    assert set(KERNELS) == {arch for arch in compiler.architectures() if arch in devices.LIMITS} == set(devices.LIMITS)


@pytest.mark.parametrize(
    ("kernel", "arch", "reason"),
    [
        (ladder.get("async_copy"), "sm_75", "needs sm_80"),
        (tensor.get("mma"), "sm_70", "needs sm_80"),
    ],
)
def test_a_kernel_that_an_architecture_cannot_have_is_not_counted_as_right(kernel, arch, reason):
    assert architectures.answer(kernel, arch).startswith(reason)
