"""Compilations that do not end, take all memory or crash: they are stopped, and the next one is as ever."""

import os
import signal
import threading
import time

import pytest

from gpusim import compiler
from gpusim.compiler import nvrtc

KERNEL = 'extern "C" __global__ void k(int *x) {{ x[0] = {}; }}'
MACROS = "#define A0 +1\n" + "".join(f"#define A{n + 1} A{n} A{n}\n" for n in range(26)) + KERNEL.format("0 A26")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")
    nvrtc.build()  # asked for before a limit is set


def compiles() -> bool:
    return ", 4711;" in compiler.compile(KERNEL.format("4711") + f"// {time.time()}", "k").ptx


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of processor time")
def test_endless_compilation_is_stopped(monkeypatch):
    monkeypatch.setenv(nvrtc.SECONDS, "1")
    with pytest.raises(compiler.CompileError, match=r"had not finished this source after 1 seconds of work.*=… allows"):
        compiler.compile(MACROS, "k")
    assert compiles()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of memory")
def test_compilation_with_too_much_memory_is_stopped(monkeypatch):
    monkeypatch.setenv(nvrtc.GIGABYTES, "0.4")
    with pytest.raises(compiler.CompileError, match=r"needed more than 0.4 GB of memory.*COMPILE_GB=… allows more"):
        compiler.compile(KERNEL.format("1" + "+1" * 400_000), "k")
    assert compiles()


@pytest.mark.parametrize("limit", ("none", "-1", "0", "nan"))
def test_limits_are_numbers(limit, monkeypatch):
    monkeypatch.setenv(nvrtc.SECONDS, limit)
    with pytest.raises(compiler.CompileError, match=f"{nvrtc.SECONDS}='{limit}' is no limit: expected a number above"):
        compiles()


@pytest.mark.skipif(os.name == "nt", reason="os.kill ends a process there")
def test_interrupt_ends_a_compilation():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))  # as a terminal or Jupyter does
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            compiler.compile(MACROS, "k")
    finally:
        signal.signal(signal.SIGINT, before)
    assert compiles()


def test_process_is_kept_for_the_next_source():
    compiles()
    process = nvrtc._idle[-1].popen.pid
    assert compiles() and nvrtc._idle[-1].popen.pid == process


def test_process_that_ended_by_itself_is_replaced():
    compiles()
    nvrtc._idle[-1].popen.kill()
    nvrtc._idle[-1].popen.wait()
    assert compiles()


def test_two_threads_compile_at_once():
    results = []
    threads = [threading.Thread(target=lambda: results.append(compiles())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_has_a_process_of_its_own():
    compiles()
    process = nvrtc._idle[-1].popen.pid
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = int(not (compiles() and nvrtc._idle[-1].popen.pid != process))
        finally:
            nvrtc._end_all()
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert compiles() and nvrtc._idle[-1].popen.pid == process


def test_messages_quote_a_part_of_long_lines():
    with pytest.raises(compiler.CompileError) as caught:
        compiler.compile(KERNEL.format("1" + "+1" * 20_000 + " $$ 5" + "+1" * 2_000), "k")
    error, line, caret = str(caught.value).split("\n")[:3]
    assert len(line) < 200 and line.startswith("    1 | … ") and line.endswith("+1 …")
    assert line[caret.index("^") :].startswith("$")


def test_messages_quote_ordinary_lines_whole():
    with pytest.raises(compiler.CompileError) as caught:
        compiler.compile(KERNEL.format("1 " + "+ 1" * 60 + " $"), "k")
    assert KERNEL.format("1 " + "+ 1" * 60 + " $") in str(caught.value)
