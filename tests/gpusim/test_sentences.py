"""What a learner sees of an error: its sentence and the line of the cell, and of our own mistakes everything."""

import subprocess
import sys

import pytest
from IPython import get_ipython
from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output

import gpusim
from gpusim import compiler
from gpusim.devices import UnknownDevice
from gpusim.occupancy import DoesNotFit
from gpusim.sentences import Sentence
from helpers import run
from helpers.pictures.live import CannotShow
from helpers.recordings import NoRecording

START = """
import numpy as np
import gpusim
kernel = gpusim.RawModule(code=r'''extern "C" __global__ void fill(float *x, int n) {
    x[threadIdx.x] = 1.0f;
}''').get_function("fill")
"""
LAUNCH = "x = np.zeros(40, np.float32)\nkernel((1,), (64,), (x, np.int32(40)))\nprint(x)"


@pytest.fixture(scope="module")
def shell():
    return start_ipython() or get_ipython()  # None where another test of this process began it


def shown(shell, cell: str) -> str:
    with capture_output() as captured:
        shell.run_cell(cell)
    return captured.stdout + captured.stderr


def test_kernel_error_shows_sentence_and_line_no_traceback(shell):
    text = shown(shell, START + LAUNCH)
    assert "OutOfBounds: fill: thread (40, 0, 0) of block (0, 0, 0) wrote 4 bytes" in text
    assert "x[threadIdx.x] = 1.0f;" in text
    assert "In line 7 of the cell: kernel((1,), (64,), (x, np.int32(40)))" in text
    assert "Traceback" not in text and "helpers/" not in text


def test_compiler_error_shows_its_words_the_line_and_a_caret(shell):
    text = shown(
        shell, "from gpusim import compiler\ncompiler.compile('__global__ void k(float *x) { x[0] = y; }', 'k')"
    )
    assert 'CompileError: kernel.cu:1: error: identifier "y" is undefined' in text and "^" in text
    assert "Traceback" not in text and text.count("\n") < 10


def test_a_mistake_of_ours_shows_everything(shell, monkeypatch):
    monkeypatch.setattr(gpusim.RawModule, "get_function", lambda self, name: {}["missing"])
    text = shown(shell, START)
    assert "Traceback" in text and "KeyError" in text


@pytest.mark.parametrize(
    "kind",
    [
        compiler.CompileError,
        gpusim.SimulatorError,
        run.LaunchFailed,
        CannotShow,
        NoRecording,
        DoesNotFit,
        UnknownDevice,
    ],
)
def test_what_is_addressed_to_a_learner_is_a_sentence(kind):
    assert issubclass(kind, Sentence) and issubclass(kind, Exception)


def test_outside_a_notebook_the_exception_is_as_any_other():
    with pytest.raises(compiler.CompileError, match='identifier "y" is undefined') as raised:
        compiler.compile("__global__ void k(float *x) { x[0] = y; }", "k")
    assert raised.value._render_traceback_()[0].startswith("CompileError: kernel.cu:1")
    assert len(raised.value._render_traceback_()) == 1


def test_a_closed_pipe_is_no_error():
    command = [sys.executable, "-c", "from gpusim.sentences import say; say('line\\n' * 100_000); say('more')"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
