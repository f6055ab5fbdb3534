"""cuBLASLt's algorithms as launches: what is asked for row-major matrices, and that nothing is left behind."""

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.tools.measuring import cublaslt

OFFERED, REFUSED = 0, 15  # states of an algorithm that the heuristic names
EPILOGUE, BIAS_POINTER, GELU_BIAS = 7, 8, 36  # as cublasLt.h has them


class FakeLibrary:
    """cuBLASLt on the host's memory: it remembers its calls, and multiplies column by column as documented."""

    def __init__(self, states=(OFFERED, REFUSED, OFFERED), heuristic=0):
        self.calls, self.states, self.heuristic, self.layouts, self.attributes = [], states, heuristic, {}, {}
        self.answers = {
            "cublasLtMatmulDescSetAttribute": self.set,
            "cublasLtMatrixLayoutCreate": self.lay_out,
            "cublasLtMatmulAlgoGetHeuristic": self.offer,
            "cublasLtMatmul": self.multiply,
        }

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            return self.answers.get(name, lambda *rest: 0)(*arguments)

        return call

    def lay_out(self, handle, kind, rows, columns, distance):
        handle._obj.value = len(self.layouts) + 1
        self.layouts[handle._obj.value] = (rows.value, columns.value, distance.value)
        return 0

    def set(self, operation, attribute, value, size):
        assert ctypes.sizeof(value._obj) == size.value
        self.attributes[attribute.value] = value._obj.value
        return 0

    def offer(self, handle, operation, a, b, c, d, preference, most, results, count):
        for result, state in zip(results, self.states, strict=False):
            result.state, result.algorithm[0] = state, 7
        count._obj.value = len(self.states)
        return self.heuristic

    def multiply(self, handle, operation, alpha, left, a, right, b, beta, C, c, D, d, algorithm, *rest):
        def matrix(pointer, layout):
            rows, columns, distance = self.layouts[layout.value]
            assert distance == rows
            floats = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float))
            return np.ctypeslib.as_array(floats, (columns, rows)).T

        assert algorithm._obj[0] == 7 and C.value == D.value
        matrix(C, c)[...] = alpha._obj.value * (matrix(left, a) @ matrix(right, b)) + beta._obj.value * matrix(C, c)
        if self.attributes.get(EPILOGUE) == GELU_BIAS:
            rows = matrix(C, c)
            bias = ctypes.cast(self.attributes[BIAS_POINTER], ctypes.POINTER(ctypes.c_float))
            y = rows + np.ctypeslib.as_array(bias, (len(rows), 1))
            rows[...] = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        return 0


class OnHost:
    """A NumPy array with its address where CuPy has it."""

    def __init__(self, array):
        self.data = SimpleNamespace(ptr=array.ctypes.data)


@pytest.fixture
def fake(monkeypatch):
    cuda = SimpleNamespace(
        Device=lambda: SimpleNamespace(synchronize=lambda: None), get_current_stream=lambda: SimpleNamespace(ptr=3)
    )
    empty = lambda count, kind: OnHost(np.empty(4, kind))  # noqa: E731
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, empty=empty))
    library = FakeLibrary()
    monkeypatch.setattr(cublaslt, "library", lambda: library)
    return library


def test_each_offered_algorithm_multiplies_row_major_matrices(fake):
    rng = np.random.default_rng(0)
    A, B, C = (rng.random(shape, np.float32) for shape in ((3, 5), (5, 4), (3, 4)))
    expected = 1.25 * (A @ B) + 0.5 * C
    with cublaslt.algorithms(3, 4, 5) as launches:
        assert len(launches) == fake.states.count(OFFERED)
        for launch in launches:
            output = C.copy()
            launch(3, 4, 5, 1.25, OnHost(A), OnHost(B), 0.5, OnHost(output))
            assert np.allclose(output, expected)
    made = [name.removesuffix("Create") for name in fake.calls if name.endswith("Create")]
    assert sorted(made) == sorted(name.removesuffix("Destroy") for name in fake.calls if name.endswith("Destroy"))


def test_bias_and_gelu_are_added_along_our_columns(fake):
    rng = np.random.default_rng(0)
    A, B, bias, C = (rng.random(shape, np.float32) for shape in ((3, 5), (5, 4), (4,), (3, 4)))
    y = A.astype(np.float64) @ B + bias
    with cublaslt.algorithms_with_bias_and_gelu(3, 4, 5, cublaslt.REAL_32F, OnHost(bias)) as launches:
        launches[0](3, 4, 5, 1.0, OnHost(A), OnHost(B), 0.0, OnHost(C))
    assert np.allclose(C, 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))))


def test_where_nothing_is_offered_there_is_no_launch(fake):
    fake.heuristic = cublaslt.NOT_SUPPORTED
    with cublaslt.algorithms(3, 4, 5) as launches:
        assert launches == []


def test_a_call_that_fails_is_a_sentence_with_its_status(fake):
    fake.heuristic = 13
    with (
        pytest.raises(cublaslt.NoCublasLt, match=r"GetHeuristic answered with status 13 at 3 × 4 × 5"),
        cublaslt.algorithms(3, 4, 5),
    ):
        pass
    fake.answers["cublasLtMatmul"] = lambda *arguments: 8
    fake.heuristic = 0
    with cublaslt.algorithms(1, 1, 1) as launches, pytest.raises(cublaslt.NoCublasLt, match="cublasLtMatmul answered"):
        launches[0](1, 1, 1, 1.0, *[OnHost(np.zeros(1, np.float32))] * 2, 0.0, OnHost(np.zeros(1, np.float32)))
