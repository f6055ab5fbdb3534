"""Each architecture that kernels can be compiled for, by one kernel; `architectures` as a command tries them all."""

import pytest

from gemm_kernels import ladder, tensor
from helpers import compiler, devices
from tests.simulator import architectures, test_sass

# Small kernels, two of them with barriers and tiles; test_sass has more, for the architectures that are not here.
OTHERS = [arch for arch in devices.LIMITS if arch not in test_sass.ARCHITECTURES]
KERNELS = dict.fromkeys(OTHERS, "coalesced") | {"sm_87": "shared_memory", "sm_120": "shared_memory"}


@pytest.mark.parametrize("arch", KERNELS)
def test_a_kernel_multiplies_on_every_architecture_at_both_levels(arch):
    assert architectures.answer(ladder.get(KERNELS[arch]), arch) == architectures.RIGHT


def test_every_architecture_with_limits_is_one_that_the_compiler_knows():
    assert set(devices.LIMITS) <= set(compiler.architectures())


@pytest.mark.parametrize(
    ("kernel", "arch", "reason"),
    [
        (ladder.get("async_copy"), "sm_75", "needs sm_80"),
        (tensor.get("mma"), "sm_70", "needs sm_80"),
    ],
)
def test_a_kernel_that_an_architecture_cannot_have_is_not_counted_as_right(kernel, arch, reason):
    assert architectures.answer(kernel, arch).startswith(reason)
