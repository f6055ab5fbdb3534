"""Headers that are read once in a process: the same machine code in a part of the time."""

import os
from pathlib import Path

import pytest

from gpusim import compiler
from gpusim.compiler import build, nvrtc, precompiled

GROUPS = '#include <cooperative_groups.h>\nextern "C" __global__ void kernel(float *x) { x[threadIdx.x] *= NUMBER; }'
QUICK = GROUPS.replace("cooperative_groups.h", "cuda/std/cstdint")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")
    monkeypatch.setattr(precompiled, "_met", precompiled.Counter())


def source(number: int) -> str:
    return GROUPS.replace("NUMBER", str(number))


def seconds_of_compiler() -> float:
    """The processor time that the process of the compiler has taken."""
    fields = Path(f"/proc/{nvrtc._idle[-1].popen.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="no times of other processes here")
def test_precompiled_headers_save_time_and_keep_the_code(monkeypatch):
    seconds, kernels = [], []
    nvrtc.build()
    for number in (2, 3, 4):
        started = seconds_of_compiler()
        kernels.append(compiler.compile(source(number), "kernel"))
        seconds.append(seconds_of_compiler() - started)
    assert seconds[2] < seconds[0] / 2
    monkeypatch.setattr(precompiled, "options", lambda *_: ())
    build._compiled.cache_clear()
    assert compiler.compile(source(4), "kernel") == kernels[2]


def test_a_mistake_below_kept_headers_is_reported_unchanged():
    for number in (2, 3):
        compiler.compile(QUICK.replace("NUMBER", str(number)), "kernel")
    with pytest.raises(compiler.CompileError, match=r"kernel.cu:2: error: identifier .y. is undefined"):
        compiler.compile(QUICK.replace("x[", "y["), "kernel")


@pytest.mark.parametrize(
    ("first", "other", "kept"),
    [
        (source(2), source(3), True),
        ("// mine\n" + source(2), "// yours\n" + source(3), False),
        ("#define N 4\n" + source(2), "#define N 5\n" + source(3), False),
        ("typedef unsigned uint;\n" + source(2), "typedef unsigned uint;\n" + source(3), False),
        ("#include <cuda_fp16.h>\n__half a;", "#include <cuda_fp16.h>\n__half b;", False),
        ("int x;", "int x;", False),
    ],
    ids=["the same lines", "another comment", "another macro", "a declaration before", "a quick header", "no header"],
)
def test_headers_are_kept_for_a_second_source_that_begins_alike(first, other, kept):
    assert precompiled.options(first, ()) == ()
    assert bool(precompiled.options(other, ())) == kept
    assert precompiled.options(other, ("-DN=2",)) == ()


def test_an_older_compiler_is_not_asked_to_keep_any(monkeypatch):
    monkeypatch.setattr(nvrtc, "version", lambda: (12, 7))
    assert not any(precompiled.options(source(number), ()) for number in (2, 3))


def test_a_header_of_the_learners_own_is_read_each_time():
    own = '#include "mine.h"\n' + QUICK.replace("NUMBER", "2 + MINE")
    kept_headers = [
        compiler.compile(own, "kernel", headers={"mine.h": f"#define MINE {number}"}).cubin for number in (1, 2, 3, 3)
    ]
    assert len(set(kept_headers)) == 3 and kept_headers[2] == kept_headers[3]
