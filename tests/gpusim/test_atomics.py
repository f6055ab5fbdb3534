"""Atomic operations of many threads on one place, in one scan or one after the other."""

import numpy as np
import pytest

import gpusim
from gpusim.arithmetic import atomics
from gpusim.engine import accesses


def one_after_the_other(view, index, operands, apply):
    old = []
    for cell, *lane in zip(index, *operands, strict=True):
        old.append(view[cell])
        view[cell : cell + 1] = apply(view[cell : cell + 1], *(np.array([value]) for value in lane))
    return np.array(old, view.dtype)


@pytest.mark.parametrize(
    ("name", "type_", "dtype"),
    [
        *((name, "s32", np.int32) for name in ("add", "min", "max", "and", "or", "xor", "inc", "exch", "cas")),
        *((name, "u64", np.uint64) for name in ("add", "min", "max")), ("add", "f32", np.float32),
        ("add", "f64", np.float64), ("add", "f16", np.float16),
    ],
)  # fmt: skip
def test_atomics_of_many_lanes_are_as_one_after_another(name, type_, dtype):
    rng = np.random.default_rng(7)
    for cells in (1, 3, 40):
        for flushes in (False, True) if type_ == "f32" else (False,):
            bits = rng.integers(0, 256, 100 * np.dtype(dtype).itemsize, np.uint8).view(dtype)
            values = bits if np.dtype(dtype).kind in "iu" else rng.standard_normal(100).astype(dtype)
            if flushes:
                values[::9] = 1e-40  # subnormal
            index, apply = rng.integers(0, cells, 100), atomics.update(name, type_, flushes)
            updated, other = (values[:cells].copy() for _ in range(2))
            operands = [rng.choice(values[:4], 100), rng.choice(values[:4], 100)] if name == "cas" else [values]
            with np.errstate(all="ignore"):
                expected = one_after_the_other(updated, index, operands, apply)
                result = accesses._in_lane_order(other, index, operands, apply)
            assert result.tobytes() == expected.tobytes() and updated.tobytes() == other.tobytes()


@pytest.mark.parametrize("memory", ["global", "shared"])
def test_atomics_come_in_the_opposite_order_where_asked(memory):
    counter = "*count" if memory == "global" else "mine"
    code = f"""extern "C" __global__ void f(int *count, int *turns) {{
        __shared__ int mine;
        if (threadIdx.x == 0) mine = 0;
        __syncthreads();
        turns[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&{counter}, 1);
    }}"""
    function = gpusim.RawModule(code=code).get_function("f")
    count, turns = np.zeros(1, np.int32), np.zeros((3, 64), np.int32)
    with gpusim.sanitize(reverse_atomics=True):
        function((3,), (64,), (count, turns))
    in_order = np.arange(192).reshape(3, 64) if memory == "global" else np.tile(np.arange(64), (3, 1))
    assert (turns == (in_order[::-1, ::-1] if memory == "global" else in_order[:, ::-1])).all()
    function((3,), (64,), (count, turns))
    assert not (turns == np.sort(turns.ravel())[::-1].reshape(3, 64)).all()
