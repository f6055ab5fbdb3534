"""The programs around a kernel that stand alone: one in C++ with nvcc, one in Python with CuPy's calls."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gemm_kernels
from helpers import course, gpu
from helpers.exercises import get
from tests.notebooks.support import sources

HOST = Path(gemm_kernels.__file__).with_name("host")
KERNEL = get("warp_tile")
NVCC = shutil.which("nvcc")


@pytest.fixture
def kernel_file(tmp_path):
    file = tmp_path / "warp_tile.cu"
    file.write_text(KERNEL.solved, encoding="utf-8")
    return file


def compiled(file: Path, folder: Path, kernel: Path) -> subprocess.CompletedProcess[str]:
    """What nvcc says of the program, with its warnings, when it is compiled to folder/multiply."""
    options = [f'-DKERNEL="{kernel}"', "-DBLOCK=dim3(256)", "-DTILE_ROWS=64", "-DTILE_COLUMNS=64"]
    command = [NVCC, "-std=c++17", "-O1", "-arch=sm_90", "-Xcompiler", "-Wall", *options]
    return subprocess.run([*command, "-o", str(folder / "multiply"), str(file)], capture_output=True, text=True)


@pytest.mark.skipif(NVCC is None, reason="nvcc is no part of this machine")
def test_cpp_program_compiles_without_warning_and_names_failures(tmp_path, kernel_file):
    program = compiled(HOST / "multiply.cu", tmp_path, kernel_file)
    assert (program.returncode, program.stdout, program.stderr) == (0, "", "")
    ran = subprocess.run([tmp_path / "multiply", "100"], capture_output=True, text=True)
    assert ran.returncode == 2 and "M must be a multiple of 64" in ran.stderr
    ran = subprocess.run([tmp_path / "multiply", "128"], capture_output=True, text=True)
    if gpu.backend() == "simulator":  # without a GPU its first call of the runtime fails, and it says which
        assert ran.returncode == 1 and "cudaMalloc(&device_A" in ran.stderr
    else:
        assert ran.returncode == 0 and "GFLOPS" in ran.stdout


def test_the_python_program_multiplies_with_cupy_s_calls_alone(cupy_of_the_course, monkeypatch, capsys, kernel_file):
    monkeypatch.setattr(sys, "argv", ["multiply.py", str(kernel_file)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(HOST / "multiply.py"))
    assert ended.value.code == 0
    assert float(capsys.readouterr().out.split()[-1]) < 1e-4


def test_the_python_program_says_that_a_wrong_kernel_is_wrong(cupy_of_the_course, monkeypatch, tmp_path):
    file = tmp_path / "wrong.cu"
    file.write_text(KERNEL.marked.version("first_k_alone"), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["multiply.py", str(file)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(HOST / "multiply.py"))
    assert ended.value.code == 1


def test_notebook_12_gives_the_programs_compiler_line():
    (line,) = (text for text in sources("14", "markdown") if "nvcc -std" in text)
    block = next(part for part in line.split("```") if "nvcc -std" in part)
    head = course.program("multiply.cu").source.split("#include")[0]
    words = [word for word in block.split() if word not in ("./multiply", "4096")]
    assert all(word in head.split() for word in words), set(words) - set(head.split())


def test_unknown_program_is_answered_with_the_existing_ones():
    with pytest.raises(ValueError, match=r"no program 'multiply\.f90' in gemm_kernels/host; there are cublas\.cu, c"):
        course.program("multiply.f90")
