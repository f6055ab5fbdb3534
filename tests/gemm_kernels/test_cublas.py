"""The programs that call cuBLAS with row-major matrices, against products by cuBLAS's definition, without a GPU."""

import ctypes
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import gemm_kernels

HOST = Path(gemm_kernels.__file__).with_name("host")
ON_CPU = Path(__file__).with_name("cublas_on_cpu")
COMPILER = shutil.which("g++") or shutil.which("clang++")


def compiled(source: str, folder: Path) -> Path:
    """The program, with cuBLAS's calls by their definition, compiled without a warning."""
    file, program = folder / "cublas.cpp", folder / "cublas"
    file.write_text(source, encoding="utf-8")
    command = [COMPILER, "-std=c++17", "-O1", "-Wall", "-Wno-unused", "-I", str(ON_CPU), "-o", str(program), str(file)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    return program


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is here")
def test_the_cpp_program_asks_cublas_for_row_major_products(tmp_path):
    source = (HOST / "cublas.cu").read_text(encoding="utf-8")
    ran = subprocess.run([compiled(source, tmp_path)], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(ran.stdout.splitlines()) == 7 and "nan" not in ran.stdout
    swapped = source.replace("N, M, K,                          // C^T", "M, N, K,                          // C^T")
    assert swapped != source
    assert subprocess.run([compiled(swapped, tmp_path)], capture_output=True).returncode != 0


class HostArray(np.ndarray):
    """An array of the host that says where it is as CuPy's arrays do."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def down_columns(pointer, rows, cols, ld, type_=np.float32):
    """A (rows, cols) matrix as cuBLAS reads it: element (row, col) is at col * ld + row."""
    size = np.dtype(type_).itemsize
    memory = (ctypes.c_char * (((cols - 1) * ld + rows) * size)).from_address(pointer)
    return np.ndarray((rows, cols), type_, memory, strides=(size, ld * size))


def by_definition(op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, type_=np.float32):
    """C (m, n) = alpha · op(A) · op(B) + beta · C, all of them down columns."""
    assert lda >= (k if op_a else m) and ldb >= (n if op_b else k) and ldc >= m
    left = down_columns(A, *((k, m) if op_a else (m, k)), lda, type_).astype(np.float64)
    right = down_columns(B, *((n, k) if op_b else (k, n)), ldb, type_).astype(np.float64)
    product = (left.T if op_a else left) @ (right.T if op_b else right)
    a, b = (down_columns(pointer, 1, 1, 1)[0, 0] for pointer in (alpha, beta))
    to = down_columns(C, m, n, ldc)
    to[...] = a * product + (b * to if b else 0)


@pytest.fixture
def cublas_on_cpu(monkeypatch):
    """CuPy and its binding of cuBLAS, in memory of the host."""

    def gemm_ex(
        handle, op_a, op_b, m, n, k, alpha, A, a_type, lda, B, b_type, ldb, beta, C, c_type, ldc, compute, algo
    ):
        assert (a_type, b_type, c_type, compute, algo) == (2, 2, 0, 68, -1)
        by_definition(op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, np.float16)

    def batched(handle, op_a, op_b, m, n, k, alpha, A, lda, sa, B, ldb, sb, beta, C, ldc, sc, count):
        for i in range(count):
            places = alpha, A + 4 * i * sa, lda, B + 4 * i * sb, ldb, beta, C + 4 * i * sc, ldc
            by_definition(op_a, op_b, m, n, k, *places)

    library = SimpleNamespace(
        sgemm=lambda handle, *rest: by_definition(*rest), gemmEx=gemm_ex, sgemmStridedBatched=batched
    )
    on_host = lambda x: np.array(x).view(HostArray)  # noqa: E731
    modules = {
        "cupy": {"asarray": on_host, "asnumpy": np.asarray, "full": lambda *given: np.full(*given).view(HostArray)},
        "cupy.cuda": {"device": SimpleNamespace(get_cublas_handle=lambda: 0)},
        "cupy_backends": {}, "cupy_backends.cuda": {}, "cupy_backends.cuda.libs": {"cublas": library},
    }  # fmt: skip
    for name, values in modules.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)


def test_the_python_program_asks_cublas_for_row_major_products(cublas_on_cpu):
    program = runpy.run_path(str(HOST / "cublas.py"))
    assert program["main"]() < 1e-5
    with pytest.raises(AssertionError, match="no step between the elements of a row"):
        program["ld"](np.zeros((4, 6), np.float32)[:, ::2])
