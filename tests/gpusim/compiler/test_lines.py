"""SASS from nvdisasm, and which instructions belong to which source line."""

import re
import shutil
from pathlib import Path

import pytest

from gpusim import compiler
from gpusim.compiler import disassembly

SOURCE = """\
__device__ float square(float v) {
    return v * v;
}
extern "C" __global__ void other(float *x) { x[0] = 1; }
extern "C" __global__ void k(const float *x, float *y, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];

    y[i] = a / square(v);
}
"""


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMM_COURSE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
def test_every_architecture_of_the_course_is_disassembled(arch):
    text = compiler.disassemble(compiler.compile(SOURCE, "k", arch=arch))
    number = arch.removeprefix("sm_")
    assert re.search(rf"EF_CUDA_SM{number}\b|\.target\s+sm_{number}\b", text)  # as CUDA 12 and 13 head it
    assert text.count(".section\t.text.") == 1
    assert ".text.k:" in text
    assert "LDG.E" in text
    assert "STG.E" in text
    assert '//## File "kernel.cu", line 7' in text


def test_sass_is_sorted_by_source_line():
    lines = compiler.sass_by_line(compiler.compile(SOURCE, "k"))
    assert any(instruction.startswith("LDG.E") for instruction in lines[7])
    assert any(instruction.startswith("STG.E") for instruction in lines[9])
    assert any(instruction.startswith("FMUL.FTZ") for instruction in lines[2])  # inlined, and still its own line
    assert set(lines) <= {2, 5, 6, 7, 9, 10}
    everything = [instruction for instructions in lines.values() for instruction in instructions]
    assert "NOP" not in everything
    assert not any("/*" in instruction or instruction.endswith(";") for instruction in everything)
    assert not any("slowpath" in instruction.split("`")[0] for instruction in everything)


def test_ptx_is_sorted_by_source_line():
    lines = compiler.ptx_by_line(compiler.compile(SOURCE, "k"))
    assert [text.split()[0] for text in lines[7] if text.startswith("ld.global")] == ["ld.global.f32"]
    assert [text.split()[0] for text in lines[9] if text.startswith("st.global")] == ["st.global.f32"]
    assert [text.split()[0] for text in lines[2]] == ["mul.ftz.f32"]
    assert "mad.lo.s32" in [text.split()[0] for text in lines[6]]
    assert 4 not in lines  # that is another kernel's
    assert lines[10] == ["ret"]


def test_ptx_call_over_several_lines_is_one_instruction():
    source = """__device__ __noinline__ float f(float v) { return v + 1; }
    extern "C" __global__ void k(float *x) {
        x[0] = f(x[1]);
    }"""
    calls = [text for text in compiler.ptx_by_line(compiler.compile(source, "k"))[3] if text.startswith("call")]
    assert len(calls) == 1
    assert calls[0].startswith("call.uni (retval0), ")


def test_code_of_a_header_belongs_to_the_line_that_called_it():
    header = "\n" * 20 + "__device__ float f(float v) { return v * 3; }\n"
    source = '#include "f.cuh"\nextern "C" __global__ void k(float *x) { x[0] = f(x[1]); }\n'
    kernel = compiler.compile(source, "k", headers={"f.cuh": header})
    assert set(compiler.ptx_by_line(kernel)) == {2}
    assert set(compiler.sass_by_line(kernel)) == {2}
    assert any(text.startswith("mul") for text in compiler.ptx_by_line(kernel)[2])
    assert any(text.startswith("FMUL") for text in compiler.sass_by_line(kernel)[2])
    assert '//## File "f.cuh", line 21' in compiler.disassemble(kernel)


def test_a_second_disassembly_is_read_from_the_cache(monkeypatch):
    kernel = compiler.compile(SOURCE, "k")
    first = compiler.disassemble(kernel)
    monkeypatch.setattr(disassembly, "_run", lambda *_: pytest.fail("nvdisasm was started again"))
    assert compiler.disassemble(kernel) == first


def test_a_missing_nvdisasm_is_named(monkeypatch):
    kernel = compiler.compile(SOURCE, "k")
    pathfinder = pytest.importorskip("cuda.pathfinder")
    monkeypatch.setattr(pathfinder, "find_nvidia_binary_utility", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(compiler.NvdisasmMissing) as raised:
        compiler.disassemble(kernel)
    assert str(raised.value) == (
        "nvdisasm, which prints the machine code (SASS) of a kernel, is not installed. "
        "Run `make lab` again, or `pip install nvidia-cuda-nvdisasm`; a CUDA toolkit has it too."
    )


def test_nvdisasm_on_the_path_is_found_when_no_wheel_has_it(monkeypatch):
    pathfinder = pytest.importorskip("cuda.pathfinder")
    monkeypatch.setattr(pathfinder, "find_nvidia_binary_utility", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    assert disassembly.find_nvdisasm() == Path("/somewhere/nvdisasm")


def test_nvdisasms_refusal_is_given_in_its_words(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")
    refusing = tmp_path / "nvdisasm"
    refusing.write_text("#!/bin/sh\necho 'nvdisasm fatal   : CUDA architecture is deprecated' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(disassembly, "find_nvdisasm", lambda: refusing)
    with pytest.raises(compiler.DisassemblyError) as raised:
        compiler.disassemble(compiler.compile(SOURCE, "k"))
    assert str(raised.value) == (
        "nvdisasm does not print the machine code of k for sm_90. It says: nvdisasm fatal   : CUDA architecture is "
        "deprecated. Compile for an architecture that it knows, such as sm_80 or sm_90."
    )
