"""`__constant__` arrays, of which machine code has one behind the other: an index beyond one is found."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled
from helpers import gpu

HEAD = """__constant__ float before[8], weights[9], behind[8];
__constant__ int numbers[5];
extern "C" __global__ void kernel(float *o, const int *x, int n, int w) {
const int t = threadIdx.x;
float s = before[n & 7] + numbers[0];
s += behind[t & 7];
"""
READS = {
    "an index": "o[t] = s + weights[w];",
    "an index with a number": "o[t] = s + weights[w - n + 3];",
    "an index that differs from thread to thread": "o[t] = s + weights[(t & 7) + w];",
    "a loop": "for (int k = 0; k <= w; ++k)\ns += weights[k] * x[k];\no[t] = s;",
    "half of the threads": "if (x[t] & 1)\ns += weights[w];\no[t] = s;",
    "a pointer": "const float *p = weights + n;\no[t] = s + p[w - 3];",
}


@pytest.fixture(params=("compiled", "numpy", "ptx"))
def level(request, monkeypatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    return "ptx" if request.param == "ptx" else "sass"


def launched(level: str, body: str, w: int, options=()) -> np.ndarray:
    kernel = gpusim.RawModule(code=HEAD + body + "\n}", options=options).get_function("kernel")
    o = np.zeros(32, np.float32)
    with gpusim.record(level=level):
        kernel((1,), (32,), (o, np.arange(32, dtype=np.int32), np.int32(3), np.int32(w)))
    return o


@pytest.mark.parametrize("name", READS)
def test_an_index_beyond_a_constant_array_is_found(name, level):
    inside = 1 if "differs" in name else 8
    launched(level, READS[name], inside)
    beyond = (9,) if name == "a loop" else (9, -8, 30)
    for w in beyond:
        with pytest.raises(
            errors.OutOfBounds, match=r"outside the arrays: index -?\d+ of weights, which has 9"
        ) as caught:
            launched(level, READS[name], w)
        assert caught.value.line in (7, 8)


TWO_ON_A_LINE = {
    "an index each": "o[t] = s + weights[w] * behind[n];",
    "an index with numbers": "o[t] = s + weights[w - n + 3] * before[n + 2] - behind[n - 1];",
    "indices that differ from thread to thread": "o[t] = s + weights[(t & 7) + w - 7] * behind[(t + n) & 7];",
    "indices that were in memory": "o[t] = s + weights[x[w]] * behind[x[n]];",
    "a loop": "for (int k = 0; k <= w; ++k) s += weights[k] * x[k] + before[k & 7];\no[t] = s;",
}


@pytest.mark.parametrize("name", TWO_ON_A_LINE)
def test_index_beyond_one_of_two_constant_arrays_is_found(name, level):
    launched(level, TWO_ON_A_LINE[name], 8)
    with pytest.raises(errors.OutOfBounds, match="index 9 of weights, which has 9"):
        launched(level, TWO_ON_A_LINE[name], 9)


def test_constant_arrays_at_indices_of_other_lanes_are_unknown():
    body = "o[t] = s + weights[__shfl_sync(~0u, w, 1)] * behind[__shfl_sync(~0u, n, 2)];"
    assert (launched("sass", body, 8) == launched("sass", body, 8)).all()
    launched("sass", body, 9)
    with pytest.raises(errors.OutOfBounds, match="index 9 of weights"):
        launched("ptx", body, 9)


def test_guarded_constants_have_no_finding(level):
    body = """for (int k = -4; k <= 4; ++k) {
    int at = t + k;
    if (at >= 0 && at < 9)
    s += weights[at] * x[t];
    s += t < 8 ?
    before[t] : 0;
    if (t >= 5) continue;
    s += numbers[t];
    }
    o[t] = s;"""
    for n in (1, 9):
        launched(level, body, n)


POINTED_AT = """__constant__ int before[3];
__constant__ float first[9], second[8];
__device__ __noinline__ float look(const float *p, int i) { return p[i]; }
extern "C" __global__ void kernel(float *o, const float *x, int n) {
const int t = threadIdx.x;
o[t] = look(n & 1 ? first : second, t & 7) + first[t % 9] + before[n % 3] * x[t];
}"""


@pytest.mark.parametrize("arch", ("sm_75", "sm_80", "sm_90", "sm_120"))
@pytest.mark.parametrize("options", ((), ("-G",)), ids=("optimized", "for a debugger"))
def test_pointers_to_constants_lead_to_them(options, arch):
    module = gpusim.RawModule(code=POINTED_AT, options=options, arch=arch)
    kernel, x = module.get_function("kernel"), np.linspace(0, 1, 32, dtype=np.float32)
    for number in (1, 2):  # of a launch: what is in a variable may change between two
        values = [np.arange(9, dtype=np.float32) + number, 10 * number - np.arange(8, dtype=np.float32)]
        for name, value in zip(("first", "second"), values, strict=True):
            gpu.ndarray(value.shape, np.float32, module.get_global(name))[...] = value
        t = np.arange(32)
        for n in (3, 4):
            o = np.zeros(32, np.float32)
            with gpusim.record(level="sass"):
                kernel((1,), (32,), (o, x, np.int32(n)))
            assert (o == values[1 - n % 2][t & 7] + values[0][t % 9]).all()
