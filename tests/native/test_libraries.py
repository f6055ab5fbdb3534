"""The compiled programs: up to date, for every system, small, and found or built where they are needed."""

import shutil
import struct
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import native
from helpers.authoring.native import MOST_BYTES
from helpers.compiler import cache
from helpers.native import loading, sources
from helpers.simulator.engine.machine_layout import INSTRUCTION, PACKED

ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
PE_MACHINES = {"x86_64": 0x8664}
MACH_MACHINES = {"x86_64": 0x01000007, "aarch64": 0x0100000C}


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Libraries are looked for anew, with an empty cache."""
    loading._found.cache_clear()
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    yield tmp_path
    loading._found.cache_clear()


def members(program: str) -> dict[str, bytes]:
    with zipfile.ZipFile(sources.archive(program)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def processor(data: bytes) -> tuple[str, int]:
    """(the system that a library is for, the number of its processor in that system's files)."""
    if data[:4] == b"\x7fELF":
        return "linux", struct.unpack_from("<H", data, 18)[0]
    if data[:2] == b"MZ":
        return "windows", struct.unpack_from("<H", data, struct.unpack_from("<I", data, 60)[0] + 4)[0]
    assert data[:4] == bytes.fromhex("cffaedfe")
    return "macos", struct.unpack_from("<I", data, 4)[0]


@pytest.mark.parametrize("program", native.PROGRAMS)
def test_the_libraries_were_built_from_the_source_that_is_here(program):
    digest = members(program)[sources.DIGEST].decode().strip()
    assert digest == native.digest_of_source(program), "the source was changed: make engine"


@pytest.mark.parametrize("program", native.PROGRAMS)
def test_there_is_a_library_for_every_system_and_it_is_one_of_that_system(program):
    libraries = members(program)
    numbers = {"linux": ELF_MACHINES, "windows": PE_MACHINES, "macos": MACH_MACHINES}
    assert set(libraries) == {sources.DIGEST, *(target.member for target in native.TARGETS)}
    for target in native.TARGETS:
        system, _, machine = target.name.partition("-")
        assert processor(libraries[target.member]) == (system, numbers[system][machine])


@pytest.mark.parametrize("program", native.PROGRAMS)
def test_the_libraries_are_small_and_tell_nothing_of_where_they_were_built(program):
    assert sources.archive(program).stat().st_size < MOST_BYTES
    for name, data in members(program).items():
        assert b"/home/" not in data and b"/tmp/" not in data and str(sources.HOME).encode() not in data, name


def test_a_library_is_loaded_as_it_comes_with_the_course(fresh):
    if loading.system() not in {target.name for target in native.TARGETS}:
        pytest.skip("built here instead")
    assert native.load("engine").processor_level() in (1, 3, 4)
    assert native.describe("engine").startswith(f"as it comes with the course for {loading.system()}-v")
    kept = list((fresh / "native").iterdir())
    assert kept and all(path.read_bytes() in members("engine").values() for path in kept)


@pytest.mark.parametrize("level", [1, 3, 4, 5])
@pytest.mark.parametrize("system", ["linux-x86_64", "macos-x86_64", "macos-aarch64"])
def test_the_quickest_library_is_loaded_that_the_processor_can_run(monkeypatch, system, level):
    there = [target.level for target in native.TARGETS if target.name == system]
    monkeypatch.setattr(loading, "system", lambda: system)
    monkeypatch.setattr(loading, "_opened", lambda program, data: SimpleNamespace(processor_level=lambda: level))
    quickest = max(one for one in there if one <= level)
    assert loading._shipped("engine")[1] == f"as it comes with the course for {system}-v{quickest}"


def test_a_damaged_file_in_the_cache_is_replaced(fresh):
    if loading.system() not in {target.name for target in native.TARGETS}:
        pytest.skip("built here instead")
    data = members("engine")[f"{loading.system()}-v1"]
    (fresh / "native").mkdir()
    path = loading._folder() / f"engine-{loading.hashlib.sha256(data).hexdigest()[:16]}{loading.SUFFIX}"
    path.write_bytes(b"not a library")
    native.load("engine")
    assert path.read_bytes() == data


@pytest.mark.skipif(sys.platform == "win32", reason="compilers of Windows take other options")
@pytest.mark.skipif(not any(map(shutil.which, loading.COMPILERS)), reason="there is no C compiler here")
def test_on_another_system_a_compiler_that_is_there_builds_the_library_once(fresh, monkeypatch):
    monkeypatch.setattr(loading, "system", lambda: "plan9-mips")
    monkeypatch.setattr(loading, "FLAGS", [{"-O3": "-O0"}.get(flag, flag) for flag in loading.FLAGS])  # 2 s, not 8
    assert native.load("engine").processor_level() in (1, 3, 4)
    assert native.describe("engine").startswith("built here by ")
    (built,) = (fresh / "native").iterdir()
    made = built.stat().st_mtime_ns
    loading._found.cache_clear()
    native.load("engine")
    assert built.stat().st_mtime_ns == made


def test_without_a_library_and_without_a_compiler_a_sentence_says_so(fresh, monkeypatch):
    monkeypatch.setattr(loading, "system", lambda: "plan9-mips")
    monkeypatch.setattr(loading, "COMPILERS", ("no-such-compiler",))
    with pytest.raises(native.NoLibrary, match="does not come compiled for plan9-mips, and there is no C compiler"):
        native.load("engine")


def test_compiled_programs_can_be_turned_off(monkeypatch):
    monkeypatch.setenv(native.ENVIRONMENT_VARIABLE, "off")
    with pytest.raises(native.NoLibrary, match="GEMM_COURSE_NATIVE=off"):
        native.load("engine")


def test_without_a_cache_a_library_is_kept_for_this_process_alone(fresh, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, "off")
    assert native.load("engine").processor_level() in (1, 3, 4)
    assert not (fresh / "native").exists()


def test_an_instruction_is_packed_into_the_fields_of_its_layout():
    values = range(1, 1 + sum(int(np.prod(INSTRUCTION[name].shape)) for name in INSTRUCTION.names))
    (packed,) = np.frombuffer(PACKED.pack(*values), INSTRUCTION)
    assert [one for name in INSTRUCTION.names for one in np.ravel(packed[name])] == list(values)
