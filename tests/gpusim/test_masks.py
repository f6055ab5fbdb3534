"""Threads of one warp that execute the same `__…_sync` function with different masks: each mask is a group of its own.

Programming guide, 'Warp Shuffle Functions' and its neighbours: the threads that a mask names execute the function with
the same mask. By both engines and at both levels, against values computed from the groups.
"""

import numpy as np
import pytest

import gpusim
from gpusim.engine import compiled

BODIES = {
    "sums": "y[t] = __reduce_add_sync(mask, x[t]);",
    "largest": "y[t] = __reduce_max_sync(mask, x[t]);",
    "ballots": "y[t] = __ballot_sync(mask, x[t] & 1);",
    "votes": "y[t] = __all_sync(mask, x[t] & 7);",
    "equals": "y[t] = __match_any_sync(mask, x[t] & 1);",
    "shuffles": "y[t] = __shfl_sync(mask, x[t], __ffs(mask) - 1);",
}
GROUPS = {
    "bytes": "unsigned mask = 0xffu << (t & 24);",
    "one and the rest": "unsigned mask = (t & 31) == 5 ? 0x20u : 0xffffffdfu;",
    "keys": "unsigned mask = __match_any_sync(~0u, x[t] & 3);",
}
SOURCE = "".join(
    f'extern "C" __global__ void k{number}(const unsigned *x, unsigned *y) {{\n'
    f"  unsigned t = threadIdx.x; {GROUPS[groups]} {body} }}\n"
    for number, (groups, body) in enumerate((groups, body) for groups in GROUPS for body in BODIES.values())
)
CASES = [(groups, name) for groups in GROUPS for name in BODIES]


def expected(groups: str, name: str, x: np.ndarray) -> np.ndarray:
    y, lane = np.zeros(64, np.uint32), np.arange(64) % 32
    label = {"bytes": lane // 8, "one and the rest": lane == 5, "keys": x & 3}[groups]
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for thread in range(64):
        first = thread // 32 * 32
        own = x[first : first + 32]
        same = label[first : first + 32] == label[thread]
        y[thread] = {
            "sums": own[same].sum(),
            "largest": own[same].max(),
            "ballots": bits[same & (own & 1 == 1)].sum(),
            "votes": (own[same] & 7 != 0).all(),
            "equals": bits[same & (own & 1 == x[thread] & 1)].sum(),
            "shuffles": own[same][0],
        }[name]
    return y


@pytest.mark.parametrize("engine", ["C", "NumPy"])
@pytest.mark.parametrize(("level", "arch"), [("sass", "sm_90"), ("sass", "sm_80"), ("ptx", "sm_90")])
def test_threads_with_different_masks_are_different_groups(level, arch, engine, monkeypatch):
    kinds, execute = [], compiled.execute

    def executed(*arguments):
        kinds.append(execute(*arguments) if engine == "C" else None)
        return kinds[-1]

    monkeypatch.setattr(compiled, "execute", executed)
    module = gpusim.RawModule(code=SOURCE, arch=arch)
    module.compile()
    x = np.random.default_rng(15).integers(0, 1000, 64).astype(np.uint32)
    wrong = []
    for number, (groups, name) in enumerate(CASES):
        y = np.zeros(64, np.uint32)
        with gpusim.record(level=level, checks="raise"):
            module.get_function(f"k{number}")((1,), (64,), (x, y))
        if (y != expected(groups, name, x)).any():
            wrong.append(f"{name} of {groups}")
    assert not wrong
    assert level == "ptx" or compiled.library() is None or (None in kinds) == (engine == "NumPy")
