"""Whatever a learner hands to a public function, the answer is a result or a sentence, and no traceback of Python's.

Hypothesis chooses which arguments of a call are replaced by what, of every type. In the suite it always tries the same
few; GEMM_COURSE_NONSENSE=1000 tries so many others for each function.
"""

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import gpusim
from gemm_kernels import OwnKernel, get
from gemm_kernels.refused import Refused
from gpusim import compiler
from gpusim.sentences import Sentence
from helpers import course, gpu, profile, run
from helpers.profile.__main__ import main as profile_command

pytestmark = pytest.mark.usefixtures("on_the_simulator")

F32 = np.float32
SOURCE = """__device__ float kept[4];
extern "C" __global__ void k(const float *x, float *y, int n, float a) {
    if (threadIdx.x < n) y[threadIdx.x] = a * x[threadIdx.x] + kept[0];
}"""
GEMM = """extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}"""
EXAMPLES = int(os.environ.get("GEMM_COURSE_NONSENSE", "0"))


class Strange:
    """An object that answers nothing."""


# As functions, so that no call gets what another one has changed.
NONSENSE: tuple[Callable[[], object], ...] = (
    lambda: None, lambda: True, lambda: 0, lambda: -1, lambda: 3, lambda: 10**30, lambda: 1.5, lambda: float("nan"),
    lambda: float("inf"), lambda: 1j, lambda: "", lambda: "k", lambda: "\ud800", lambda: "a\0b", lambda: "x" * 300,
    lambda: "all", lambda: "../x", lambda: b"", lambda: b"k", lambda: [], lambda: [None], lambda: (), lambda: ("a",),
    lambda: [[1, 2], [3]], lambda: (1, 2, 3, 4), lambda: (10**30, 1), lambda: {}, lambda: {"a": 1}, lambda: {1: "a"},
    lambda: {3}, lambda: Strange(), lambda: Strange, lambda: len, lambda: ..., lambda: slice(1, 2), lambda: range(3),
    lambda: (i for i in "ab"), lambda: Path("nowhere"), lambda: F32(2), lambda: np.int64(-3), lambda: np.array(5),
    lambda: np.zeros(0, F32), lambda: np.array(["a"]), lambda: np.array([None, {}]), lambda: np.zeros((2, 3)),
    lambda: np.zeros(4, "M8[s]"), lambda: np.zeros(4, [("a", "i4")]), lambda: np.ones((4, 4), F32)[:, ::2],
    lambda: np.float16, lambda: np.dtype("f8"), lambda: gpu.zeros(8, F32), lambda: gpu.zeros((2, 2), "c8"),
)  # fmt: skip


def module() -> gpusim.RawModule:
    return gpusim.RawModule(code=SOURCE)


def launch(**given) -> None:
    module().get_function("k")(given["grid"], given["block"], given["args"], shared_mem=given["shared_mem"])


def launch_with(**given) -> None:
    module().get_function("k")(1, 8, tuple(given.values()))


def recorded(**given):
    with gpusim.record(**given) as recording:
        launch_with(x=np.ones(8, F32), y=np.ones(8, F32), n=np.int32(8), a=F32(1))
    return recording


def sanitized(**given) -> None:
    with gpusim.sanitize(**given):
        launch_with(x=np.ones(8, F32), y=np.ones(8, F32), n=np.int32(8), a=F32(1))


def asked(question: str) -> Callable[..., object]:
    def ask(**given):
        return getattr(recorded(), question)(*given.values())

    return ask


def captured(level) -> None:
    with gpusim.capture(level):
        launch_with(x=np.ones(8, F32), y=np.ones(8, F32), n=np.int32(8), a=F32(1))


def operated(name: str) -> Callable[..., object]:
    return lambda other: getattr(gpu.ones((2, 3), F32), name)(other)


def elementwise(**given):
    types, x = (given.pop(name) for name in ("types", "x"))
    return gpu.ElementwiseKernel(types, "float32 y", **given)(x)


def reduced(**given):
    x, axis = given.pop("x"), given.pop("axis")
    return gpu.ReductionKernel("float32 x", "float32 y", "x", "a + b", "y = a", "0", **given)(x, axis=axis)


def own(**given) -> OwnKernel:
    return OwnKernel(**{"source": GEMM, "entry": "sgemm", "block": (16, 16)} | given)


def command(file: str, kernel: str, grid: str, args: str) -> int:
    words = [str(file), str(kernel), "--grid", str(grid), "--block", "8", "--args", *str(args).split()]
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            status = profile_command(words)
        except SystemExit as usage:  # argparse's, below what it says
            status = usage.code
    assert status == 0 or said.getvalue().strip()
    return status


X = gpusim.empty(8, F32)
X[:] = 1
# A public function, and its arguments as they should be.
FUNCTIONS: dict[str, tuple[Callable[..., object], dict[str, object]]] = {
    "RawModule": (lambda **given: gpusim.RawModule(**given).get_function("k"), {
        "code": SOURCE, "options": ("-std=c++17",), "name_expressions": None, "arch": "sm_90", "headers": None,
        "path": None, "jitify": False, "enable_cooperative_groups": False}),
    "get_function": (lambda name: module().get_function(name), {"name": "k"}),
    "get_global": (lambda name: module().get_global(name), {"name": "kept"}),
    "launch": (launch, {"grid": 1, "block": 8, "shared_mem": 0, "args": (None, None, np.int32(0), F32(0))}),
    "arguments": (launch_with, {"x": np.ones(8, F32), "y": np.ones(8, F32), "n": np.int32(8), "a": F32(1)}),
    "record": (recorded, {"level": "auto", "blocks": [(0,)], "only_traced": False, "max_instructions": 1000,
                          "checks": "raise"}),
    "sanitize": (sanitized, {"checks": "report", "max_instructions": 1000}),
    "capture": (captured, {"level": "sass"}),
    "requests": (asked("requests"), {"space": "global", "block": (0, 0), "warp": 0}),
    "empty": (gpusim.empty, {"shape": 8, "dtype": F32, "order": "C"}),
    "compile": (compiler.compile, {"source": SOURCE, "entry": "k", "arch": "sm_90", "options": (), "headers": None}),
    "gpu.array": (lambda **given: gpu.array(**given), {"host": [1, 2], "dtype": F32, "order": "C", "ndmin": 0}),
    "gpu.asarray": (lambda **given: gpu.asarray(**given), {"host": X, "dtype": F32, "order": "C"}),
    "gpu.zeros": (lambda **given: gpu.zeros(**given), {"shape": 3, "dtype": F32, "order": "C"}),
    "gpu.empty": (lambda **given: gpu.empty(**given), {"shape": 3, "dtype": F32, "order": "C"}),
    "gpu.full": (lambda **given: gpu.full(**given), {"shape": 3, "fill_value": 1, "dtype": F32}),
    "gpu.empty_like": (lambda **given: gpu.empty_like(**given), {"other": X, "dtype": F32}),
    "gpu.asnumpy": (lambda **given: gpu.asnumpy(**given), {"device_array": X, "order": "C", "out": None}),
    "gpu.dot": (lambda a, b: gpu.dot(a, b), {"a": X, "b": X}),
    "gpu.sum": (lambda a, axis: gpu.sum(a, axis), {"a": X, "axis": 0}),
    "gpu.linalg": (lambda a, b: gpu.linalg.solve(a, b), {"a": np.eye(2), "b": np.ones(2)}),
    "gpu.cuda.alloc": (lambda size: gpu.cuda.alloc(size), {"size": 8}),
    "gpu.cuda.Device": (lambda device: gpu.cuda.Device(device).use(), {"device": 0}),
    "gpu.RawKernel": (lambda args, **given: gpu.RawKernel(**given)(1, 8, args), {
        "code": SOURCE, "name": "k", "options": (), "args": (None, None, np.int32(0), F32(0))}),
    "gpu.ElementwiseKernel": (elementwise, {"types": "float32 x", "operation": "y = x", "name": "e", "x": X}),
    "gpu.ReductionKernel": (reduced, {"name": "r", "x": X, "axis": None}),
    "gpu.ndarray": (lambda **given: gpu.ndarray(**given), {"shape": 2, "dtype": F32, "memptr": None}),
    **{f"gpu array: {name}": (operated(name), {"other": 1}) for name in (
        "__add__", "__rmul__", "__matmul__", "__itruediv__", "__lt__", "__getitem__", "reshape", "astype", "sum", "set",
        "view", "take", "fill", "dot")},
    "set an item": (lambda index, value: gpu.zeros((2, 2), F32).__setitem__(index, value), {"index": 0, "value": 1}),
    "run.multiply": (lambda **given: run.multiply(**given), {
        "kernel": own(), "A": np.ones((4, 4), F32), "B": np.ones((4, 4), F32)}),
    "run.operands": (run.operands, {"M": 4, "N": 4, "K": 4}),
    "run.function": (run.function, {"source": SOURCE, "entry": "k"}),
    "OwnKernel": (lambda **given: course.record(own(**given), 16, 16, 16), {
        "source": GEMM, "entry": "sgemm", "block": (16, 16), "grid": None, "args": None, "shared_bytes": 0}),
    "course.source": (course.source, {"name": "nothing"}),
    "course.kernel": (course.kernel, {"name": "nothing", "shape": (4, 4, 4)}),
    "course.record": (course.record, {"kernel": own(), "M": 16, "N": 16, "K": 16}),
    "course.multiply": (course.multiply, {"name": "nothing", "A": np.ones((4, 4), F32), "B": np.ones((4, 4), F32)}),
    "course.sectors": (course.sectors, {"name": "naive", "block": (32, 8)}),
    "course.program": (course.program, {"name": "nothing"}),
    "course.here": (course.here, {"number": "03"}),
    "course.speed": (course.speed, {"name": "naive", "size": 256}),
    "course.my_ladder": (course.my_ladder, {"size": 256, "until": "naive"}),
    "course.explore": (course.explore, {"kernel": own(), "picture": "nothing"}),
    "profile": (profile.profile, {"launch": get("naive").launch(16, 16, 16), "device": "NVIDIA H200", "cold": True}),
    "profile's command": (command, {"file": "nowhere.cu", "kernel": "k", "grid": "1", "args": "8 8 8 1.0"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nonsense_is_answered_by_a_sentence(name, tmp_path_factory, monkeypatch):
    function, right = FUNCTIONS[name]
    monkeypatch.chdir(tmp_path_factory.mktemp("nonsense"))

    @settings(
        max_examples=EXAMPLES or 8, derandomize=not EXAMPLES, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.dictionaries(st.sampled_from(sorted(right)), st.sampled_from(NONSENSE), min_size=1))
    def answered(replaced):
        arguments = right | {argument: make() for argument, make in replaced.items()}
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                function(**arguments)
        except Exception as error:
            if not isinstance(error, Sentence | Refused):
                raise
            assert str(error).strip()

    answered()
