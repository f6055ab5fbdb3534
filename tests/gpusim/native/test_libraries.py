"""The compiled programs: built for this machine from the source that is here, once, and found again."""

import re
import shutil
import sys

import numpy as np
import pytest

from gpusim import native
from gpusim.compiler import cache
from gpusim.engine.machine_layout import INSTRUCTION, PACKED
from gpusim.native import building, loading

SMALL = "tiny"  # a program that is compiled at once
needs_a_compiler = pytest.mark.skipif(not building.compiler(), reason="there is no C compiler here")


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A course with one small program, for which no library is built, and an empty cache."""
    loading._loaded.cache_clear()
    (tmp_path / "course" / SMALL).mkdir(parents=True)
    (tmp_path / "course" / SMALL / "tiny.c").write_text("int answer(void);\nint answer(void) { return 42; }\n")
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    monkeypatch.setattr(building, "HOME", tmp_path / "course")
    monkeypatch.setattr(building, "FLAGS", [flag for flag in building.FLAGS if flag != "-fvisibility=hidden"])
    yield tmp_path
    loading._loaded.cache_clear()


@needs_a_compiler
def test_every_program_is_compiled_on_a_machine_that_can():
    assert native.PROGRAMS == ("cycles", "engine")
    for program in native.PROGRAMS:
        assert native.describe(program).startswith("compiled for this machine when ")


@needs_a_compiler
def test_an_installation_builds_what_it_lacks_once(fresh):
    (message,) = building.build_all([SMALL])
    assert message.startswith(f"compiled the {SMALL} in ") and building.words(building.compiler()) in message
    assert building.build_all([SMALL]) == []
    assert native.load(SMALL).answer() == 42
    assert native.describe(SMALL) == "compiled for this machine when the course was set up"
    assert not (fresh / "native").exists()


@needs_a_compiler
def test_a_library_that_lacks_is_built_once_when_it_is_needed(fresh):
    assert native.describe(SMALL) == "compiled for this machine when it was first needed"
    (built,) = (fresh / "native").iterdir()
    made = built.stat().st_mtime_ns
    loading._loaded.cache_clear()
    native.load(SMALL)
    assert built.stat().st_mtime_ns == made


@needs_a_compiler
def test_a_library_that_was_cut_short_is_built_anew(fresh):
    for path in building.wanted(SMALL).values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x7fELF and no more")
    assert native.describe(SMALL) == "compiled for this machine when it was first needed"


@needs_a_compiler
def test_library_without_a_cache_is_kept_for_this_process_only(fresh, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, "off")
    native.load(SMALL)
    assert not (fresh / "native").exists()


@needs_a_compiler
def test_a_library_that_the_source_has_outgrown_is_removed(fresh, monkeypatch):
    building.build_all([SMALL])
    before = building.wanted(SMALL)
    monkeypatch.setattr(building, "FLAGS", (*building.FLAGS, "-DANOTHER=1"))
    building.build_all([SMALL])
    folder = building.installed(SMALL).parent
    assert not set(before.values()) & set(building.wanted(SMALL).values())
    assert set(folder.iterdir()) == set(building.wanted(SMALL).values())


def test_another_system_asks_for_another_library(monkeypatch):
    before = building.name("engine", 1)
    monkeypatch.setattr(building, "system", lambda: "mips-plan9")
    assert building.name("engine", 1) != before


@pytest.mark.parametrize(
    ("able", "levels", "built"),
    [
        (building.LEVELS[4], (4, 3, 1), {4, 3}),
        (building.LEVELS[3], (3, 1), {3}),
        (building.LEVELS[4] - {"fma"}, (1,), {1}),
        (set(), (1,), {1}),
    ],
)
def test_a_processor_gets_the_libraries_that_it_executes(monkeypatch, able, levels, built):
    monkeypatch.setattr(building, "_abilities", lambda: set(able))
    monkeypatch.setattr(building, "levels", building.levels.__wrapped__)
    assert building.levels() == levels and building.wanted("engine").keys() == built


def test_library_for_older_processors_serves_as_the_fallback(fresh, monkeypatch):
    monkeypatch.setattr(building, "levels", lambda: (3, 1))
    (building.HOME / SMALL / building.BUILT).mkdir()
    plain = building.HOME / SMALL / building.BUILT / building.name(SMALL, 1)
    plain.touch()
    assert building.installed(SMALL) == plain
    plain.with_name(building.name(SMALL, 4)).touch()  # which this processor cannot execute
    assert building.installed(SMALL) == plain


def test_a_changed_source_asks_for_another_library(monkeypatch, tmp_path):
    shutil.copytree(building.HOME, tmp_path / "native")
    monkeypatch.setattr(building, "HOME", tmp_path / "native")
    before = building.name("engine", 1)
    (tmp_path / "native" / "engine" / "machine.h").open("a").write("\n/* changed */\n")
    assert building.name("engine", 1) != before


def test_without_a_compiler_a_sentence_says_what_to_install(fresh, monkeypatch):
    monkeypatch.setattr(building, "compiler", lambda: ())
    with pytest.raises(native.NoLibrary, match=r"no C compiler here to build the tiny\. Install one, `.*ziglang`"):
        native.load(SMALL)


def test_a_compiler_that_refuses_is_quoted(fresh, monkeypatch):
    command = (sys.executable, "-c", "import sys; sys.exit('note: one\\ntiny.c:1: error: no such thing')")
    monkeypatch.setattr(building, "compiler", lambda: command)
    with pytest.raises(native.NoLibrary, match=r"cannot build the tiny: tiny\.c:1: error: no such thing"):
        native.load(SMALL)


def test_compiled_programs_can_be_turned_off(monkeypatch):
    monkeypatch.setenv(native.ENVIRONMENT_VARIABLE, "off")
    with pytest.raises(native.NoLibrary, match="GEMM_COURSE_NATIVE=off"):
        native.load("engine")


# A file of the engine calls those of later layers only, as machine.h says.
LAYERS = (
    ("blocks", "lanewise", "traces"), ("warp",), ("typed", "exchange", "textures", "bulk", "clock"),
    ("arithmetic", "memory"), ("patterns", "checks"), ("bulk_checks", "uninvolved"), ("shadow",), ("machine",),
    ("floats",),
)  # fmt: skip
DEFINITION = re.compile(r"^(?!static|typedef|enum|struct)\w[\w *]*?\b(\w+)\([^;{}()]*\) \{", re.MULTILINE)


def test_calls_of_the_engine_go_to_lower_layers():
    texts = {
        path.stem: re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in (building.HOME / "engine").glob("*.c")
    }
    layer_of = {name: layer for layer, names in enumerate(LAYERS) for name in names}
    assert layer_of.keys() == texts.keys()
    home_of = {function: name for name, text in texts.items() for function in DEFINITION.findall(text)}
    assert home_of["end_phase"] == "checks"
    upward = {
        f"{name}.c calls {function} of {home}.c"
        for function, home in home_of.items()
        for name, text in texts.items()
        if name != home and layer_of[name] >= layer_of[home] and re.search(rf"\b{function}\(", text)
    }
    assert not upward


def test_an_instruction_is_packed_into_the_fields_of_its_layout():
    values = range(1, 1 + sum(int(np.prod(INSTRUCTION[name].shape)) for name in INSTRUCTION.names))
    (packed,) = np.frombuffer(PACKED.pack(*values), INSTRUCTION)
    assert [instruction for name in INSTRUCTION.names for instruction in np.ravel(packed[name])] == list(values)
