"""A kernel whose notebook has not run its first cell: `%%cuda` works, and a slip is answered by a sentence."""

import os
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from ipykernel.kernelapp import IPKernelApp
from IPython import get_ipython
from IPython.core.application import ENV_CONFIG_DIRS
from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output
from jupyter_client.manager import start_new_kernel

from helpers import before

CONFIG = Path(before.__file__).with_name("jupyter") / "ipython_kernel_config.py"
KERNEL = "__global__ void f(float *A) { A[threadIdx.x] = 1.0f; }"


def test_installed_course_puts_settings_where_ipython_looks():
    root = Path(before.__file__).parents[1]
    wheel = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    settings_file = Path(sys.prefix) / wheel["shared-data"][CONFIG.relative_to(root).as_posix()]
    assert (str(settings_file.parent), settings_file.name) == (
        ENV_CONFIG_DIRS[0],
        f"{IPKernelApp.name.replace('-', '_')}_config.py",
    )


@pytest.fixture
def shell() -> Iterator:
    shell = start_ipython() or get_ipython()  # None where another test of this process began it
    shell.set_custom_exc((NameError, SyntaxError), before.answered)
    yield shell
    shell.set_custom_exc((), None)


def shown(shell, cell: str) -> str:
    with capture_output() as captured:
        shell.run_cell(cell)
    return captured.stdout + captured.stderr


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("course_of_nobody.kernel('naive')", "name 'course_of_nobody' is not defined. If a cell further up makes it"),
        ("rows_of_mine = 3\nprint(row_of_mine)", "name 'row_of_mine' is not defined. Did you mean rows_of_mine?"),
        (f"# mine\n%%cuda mine\n{KERNEL}", "%%cuda has to be the first line of its cell"),
        (KERNEL, "This cell is CUDA C++, which Python cannot read. Write %%cuda and a name into a line above it"),
        ("#include <cuda_fp16.h>\nfloat x = 1;", "This cell is CUDA C++"),
    ],
)
def test_a_slip_is_answered_by_a_sentence_without_a_traceback(shell, cell, said):
    text = shown(shell, cell)
    assert said in text
    assert "Traceback" not in text and "helpers/" not in text


def test_the_line_of_the_cell_is_named(shell):
    assert "In line 2 of the cell: print(row_of_nobody)" in shown(shell, "x = 1\nprint(row_of_nobody)")


@pytest.mark.parametrize("cell", ["def f():\n    return nobody\nf()", "for i in range(3) print(i)", "if 1:\nprint(1)"])
def test_every_other_mistake_is_shown_as_python_shows_it(shell, cell):
    text = shown(shell, cell)
    assert "Cell In[" in text and "^" in text or "---->" in text
    assert "If a cell further up" not in text and "CUDA" not in text


def test_cuda_cell_compiles_in_a_kernel_without_imports(tmp_path):
    profile = tmp_path / "profile_default"
    profile.mkdir()
    shutil.copy(CONFIG, profile)  # set-up puts it into the environment
    settings = {**os.environ, "IPYTHONDIR": str(tmp_path), "GEMM_COURSE_MY": str(tmp_path / "my")}
    manager, client = start_new_kernel(kernel_name="python3", env=settings)
    try:
        outputs = []
        for cell in ("import sys\nprint('numpy' in sys.modules)", f"%%cuda mine\n{KERNEL}"):
            client.execute_interactive(cell, output_hook=lambda message: outputs.append(message["content"]), timeout=60)
        assert outputs[2]["text"] == "False\n"
        assert any("Compiled: f" in output["data"]["text/plain"] for output in outputs if "data" in output)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
