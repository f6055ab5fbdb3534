"""The compiled kernels that come with the project: whole, up to date, small, and what the compiler makes."""

import dataclasses

import pytest

import gemm_kernels
from gpusim import compiler
from gpusim.compiler import build, cache, cubin, disassembly, listing, nvrtc, shipped
from helpers.tools import shipped_kernels

OUT_OF_DATE = "run `make kernels` and commit helpers/gpusim/src/gpusim/compiler/shipped.zip"


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    """An empty cache, and a compiler and an nvdisasm that say no."""

    def refuse(*arguments, **options):
        raise AssertionError(OUT_OF_DATE)

    nvrtc.build()  # reads the compiler's name for itself, and is remembered
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    monkeypatch.setattr(nvrtc, "run", refuse)
    monkeypatch.setattr(disassembly, "find_nvdisasm", refuse)
    build._compiled.cache_clear()
    yield
    build._compiled.cache_clear()


@pytest.mark.parametrize("kernel", shipped_kernels.KERNELS, ids=lambda kernel: kernel.name)
def test_first_use_of_a_ladder_or_side_kernel_needs_no_compiler(kernel, no_compiler):
    compiled = shipped_kernels.compiled(kernel)
    assert compiled.source == kernel.source
    assert listing.read(compiled)[0]


@pytest.mark.parametrize(("source", "entry"), shipped_kernels.small_ones(), ids=lambda text: text[-24:].strip())
def test_first_use_of_an_explorers_kernel_needs_no_compiler(source, entry, no_compiler):
    compiled = compiler.compile(source, entry, options=shipped_kernels.OPTIONS)
    assert listing.read(compiled)[0]


@pytest.mark.parametrize("exercise", shipped_kernels.EXERCISES, ids=lambda exercise: exercise.name)
def test_first_check_of_an_exercise_compiles_no_known_slip(exercise, no_compiler):
    for source, entry in shipped_kernels.versions(exercise):
        assert compiler.compile(source, entry, options=shipped_kernels.OPTIONS).source == source


@pytest.mark.parametrize("name", ["naive", "block_tile_2d"])
def test_what_is_shipped_is_what_the_compiler_and_nvdisasm_make(name, monkeypatch, tmp_path):
    kernel = gemm_kernels.get(name)
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))  # where nothing was compiled before
    build._compiled.cache_clear()
    kept = shipped_kernels.compiled(kernel)
    text = compiler.disassemble(kept)
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, "off")
    build._compiled.cache_clear()
    made = shipped_kernels.compiled(kernel)
    # The name of a folder and a time are in the module beside the code, and PTX, which is not shipped twice.
    assert dataclasses.replace(made, cubin=b"") == dataclasses.replace(kept, cubin=b""), OUT_OF_DATE
    code, kept_code = (cubin.read(kernel.cubin).sections for kernel in (made, kept))
    assert all(kept_code[name] == code[name] for name in code if name.startswith((".text.", ".nv.")))
    assert not any(kept_code[".nv_debug_ptx_txt"].data) and any(code[".nv_debug_ptx_txt"].data)
    assert compiler.disassemble(made) == text


def test_nothing_else_is_shipped_and_it_is_small():
    kernels = {(kernel.source, kernel.entry) for kernel in shipped_kernels.KERNELS} | {*shipped_kernels.small_ones()}
    kernels |= {version for exercise in shipped_kernels.EXERCISES for version in shipped_kernels.versions(exercise)}
    modules = [name for name in shipped.index() if name.startswith("module-")]
    assert len(modules) == len(kernels), OUT_OF_DATE
    assert shipped.PATH.stat().st_size <= shipped_kernels.MOST_BYTES


def test_a_source_that_differs_by_a_letter_is_not_shipped(no_compiler):
    kernel = gemm_kernels.get("naive")
    with pytest.raises(AssertionError, match="make kernels"):
        compiler.compile(kernel.source + " ", kernel.entry, options=shipped_kernels.OPTIONS)


def test_same_entries_give_the_same_file_and_are_read_back(tmp_path, monkeypatch):
    first, second = {"b": {"y": b"2" * 100, "x": b"1"}, "c": {"x": b""}}, {"a": {"z": b"3"}}
    paths = [tmp_path / "one.zip", tmp_path / "two.zip"]
    shipped.write([first, second], paths[0])
    shipped.write([second, dict(reversed(first.items()))], paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    monkeypatch.setattr(shipped, "PATH", paths[0])
    for kept in (shipped.index, shipped._member):
        monkeypatch.setattr(shipped, kept.__name__, kept.__wrapped__)
    assert {name: shipped.read(name) for name in "abc"} == first | second and shipped.read("d") is None
