"""Parameters at random: what Python's rules accept compiles and is right, what they reject the compiler rejects, too.

Right: on the simulator, at a shape at random, every bit, with the code that such rows run. Rejected: by a static_assert
with the rule's own sentence; the rules that cannot be tried (a division by zero stops the compiler before it reads
them) are in test_rules.py.
"""

import math
import random

import numpy as np
import pytest

from gemm_kernels import get
from gemm_kernels.ladder import LADDER, SPECIALISTS
from gemm_kernels.launch import OPTIONS
from gemm_kernels.rules import broken, instantiation, read
from gpusim import compiler
from tests.gemm_kernels.test_numeric import is_product, launched, random_matrices

OWN_SOURCE = [kernel for kernel in LADDER + SPECIALISTS if kernel.name == kernel.file]
ACCEPTED, REJECTED = 3, 3  # parameter sets a kernel
WIDTHS = (4, 2, 1)  # one for each set: the rows of B and C start at 16, 8 or 4 bytes
LARGEST = 90  # M, N and K
UNROLLED = 256  # FMAs that a thread's code writes out: more are the same ones again, and take a second to compile
CHOICES = {
    "T": (1, 2, 5, 8, 12, 16, 33, 40, 64, 100),
    "block_x": (1, 3, 20, 64, 1025),
    "block_y": (1, 2, 7, 16, 1025),
    "BM": (8, 16, 32, 48, 64, 128),
    "BN": (8, 16, 32, 64, 128),
    "BK": (2, 4, 8, 16, 32),
    "WM": (16, 32, 64),
    "WN": (8, 16, 32, 64),
    "TM": (1, 2, 4, 8),
    "TN": (1, 2, 4, 8),
    "SLICES": (1, 2, 3, 4),
    "STAGES": (1, 2, 3, 4),
    "BLOCKS": (1, 2),
    "WORKERS": (0, 1, 5, 12, 40),
    "LOOPS": (1, 2),
    "CLUSTER": (1, 2, 4, 8),
    "WARPS": (1, 2, 3, 4, 8),
    "LOADS": (1, 2, 3),
}


def verdict(kernel, params):
    """The sentence of the first broken rule, or None."""
    rule = broken(kernel.rules, params)
    return rule.sentence if rule else None


def at_random(kernel, chance, accepted, count):
    """So many different parameter sets that the rules accept, or reject, by trying."""
    failures = []
    while len(failures) < count:
        params = {name: chance.choice(CHOICES[name]) for name in kernel.params}
        if (verdict(kernel, params) is None) == accepted and params not in failures and unrolled(params) <= UNROLLED:
            failures.append(params)
    return failures


def unrolled(params):
    """FMAs that the code of a thread writes out for a tile."""
    return math.prod(params.get(name, 1) for name in ("TM", "TN", "BK")) // params.get("SLICES", 1)


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("kernel", OWN_SOURCE, ids=lambda kernel: kernel.name)
def test_parameters_that_the_rules_accept_compile_and_are_right(kernel):
    chance = random.Random(f"accepted {kernel.name}")
    for params, width in zip(at_random(kernel, chance, True, ACCEPTED), WIDTHS, strict=True):
        M, N, K = (chance.randint(1, LARGEST) for _ in range(3))
        N = N // 4 * 4 + width
        tried = get(kernel.name, **params).for_rows(N)
        A, B, C = random_matrices(M, N, K, seed=5)
        C[:] = np.nan
        assert is_product(tried, launched(tried, A, B, C), A, B), (tried.entry, M, N, K)


@pytest.mark.parametrize("kernel", [kernel for kernel in OWN_SOURCE if kernel.template], ids=lambda kernel: kernel.name)
def test_rejected_parameters_get_the_compilers_same_sentence(kernel):
    for params in at_random(kernel, random.Random(f"rejected {kernel.name}"), False, REJECTED):
        entry = instantiation(read(kernel.source, kernel.function), kernel.function, params)
        with pytest.raises(compiler.CompileError) as error:
            compiler.compile(kernel.source, entry, options=OPTIONS)
        assert verdict(kernel, params) in " ".join(str(error.value).split()), entry
