"""The disk cache: whole entries or none, whoever writes and whatever lies on the disk."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpusim import compiler
from gpusim.compiler import build, cache, includes, nvrtc

SOURCE = 'extern "C" __global__ void k(float *x) { x[threadIdx.x] = 2; }'
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_CACHE", str(tmp_path))
    build._compiled.cache_clear()
    return tmp_path


@pytest.fixture
def runs(monkeypatch):
    """The list of compilations that really ran."""
    calls = []
    real = nvrtc.run
    nvrtc.build()  # asks the compiler once, for the key

    def run(source, filename, options, name_expressions, headers):
        calls.append(source)
        return real(source, filename, options, name_expressions, headers)

    monkeypatch.setattr(nvrtc, "run", run)
    return calls


def fresh(**kwargs):
    """Compile as another process would: with nothing in memory."""
    build._compiled.cache_clear()
    return compiler.compile(SOURCE, "k", **kwargs)


def test_what_is_read_is_what_was_written(folder):
    parts = {"first": b"\x00\xff" * 500, "empty": b"", "text": "größe".encode()}
    cache.write("entry", parts)
    assert cache.read("entry") == parts
    assert cache.read("other") is None


def test_an_entry_is_half_of_what_it_holds_or_less(folder):
    kernel = fresh()
    (entry,) = folder.glob("module-*.zip")
    assert 2 * entry.stat().st_size < len(kernel.cubin) + len(kernel.ptx.encode())


def test_a_kernel_is_compiled_once_and_then_read_back_the_same(folder, runs):
    first = fresh()
    again = fresh()
    assert len(runs) == 1
    assert again == first
    assert again is not first


@pytest.mark.parametrize(
    "change",
    [
        {"arch": "sm_86"},
        {"options": ("-DX=1",)},
        {"filename": "other.cu"},
        {"headers": {"unused.h": "int x;"}},
    ],
)
def test_every_fact_that_matters_is_in_the_key(folder, runs, change):
    fresh()
    fresh(**change)
    assert len(runs) == 2


def test_naming_the_default_language_is_no_other_entry(folder, runs):
    first = fresh()
    for named in ("-std=c++17", "--std=c++17"):
        assert fresh(options=(named,)).cubin == first.cubin
    assert len(runs) == 1
    fresh(options=("-std=c++20",))
    assert len(runs) == 2


def test_another_build_of_the_compiler_compiles_anew(folder, runs, monkeypatch):
    fresh()
    monkeypatch.setattr(nvrtc, "build", lambda: "// another compiler")
    fresh()
    assert len(runs) == 2


def test_included_files_are_part_of_what_is_kept(folder, runs, tmp_path, monkeypatch):
    monkeypatch.setenv(includes.ENVIRONMENT_VARIABLE, str(tmp_path))
    (tmp_path / "include").mkdir()
    source = '#include "width.h"\nextern "C" __global__ void k(int *x) { x[0] = WIDTH; }'
    options = (f"-I{tmp_path / 'include'}",)
    texts = {}
    for width in (8, 16, 8):
        (tmp_path / "include" / "width.h").write_text(f"#define WIDTH {width}\n")
        build._compiled.cache_clear()
        texts.setdefault(width, compiler.compile(source, "k", options=options).ptx)
    assert texts[8] != texts[16]
    assert len(runs) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data[:900] + bytes([data[900] ^ 1]) + data[901:],
        lambda data: b"something else entirely",
        lambda data: data.replace(b"ptxPK", b"ptyPK"),  # a part by another name
        lambda data: data[:-20] + bytes(20),
    ],
)
def test_a_damaged_entry_is_ignored_and_written_anew(folder, runs, damage):
    first = fresh()
    (entry,) = folder.glob("module-*.zip")
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert fresh() == first
    assert entry.read_bytes() == whole
    assert len(runs) == 2


def test_entry_with_a_changed_byte_is_read_whole_or_not_at_all(folder):
    parts = {"facts": b'{"log": ""}', "cubin": bytes(range(64))}
    cache.write("entry", parts)
    path = folder / "entry.zip"
    whole = path.read_bytes()
    for position in range(len(whole)):
        for flipped in (0x01, 0x08, 0x80, 0xFF):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ flipped]) + whole[position + 1 :])
            read = cache.read("entry")
            assert read is None or set(read) != set(parts) or read == parts, (position, flipped)


def test_the_cache_can_be_turned_off(monkeypatch, runs):
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")
    assert cache.folder() is None
    fresh()
    fresh()
    assert len(runs) == 2


@pytest.mark.parametrize("before", [None, "before"])
def test_what_is_kept_elsewhere_for_a_while_is_gone_afterwards(tmp_path, monkeypatch, before):
    if before is None:
        monkeypatch.delenv("GEMM_COURSE_CACHE", raising=False)
    else:
        monkeypatch.setenv("GEMM_COURSE_CACHE", str(tmp_path / before))
    usual = cache.folder()
    with pytest.raises(ZeroDivisionError), cache.kept_in(tmp_path / "elsewhere"):
        cache.write("entry", {"part": b"kept"})
        assert cache.read("entry") == {"part": b"kept"}
        raise ZeroDivisionError
    assert cache.folder() == usual
    assert cache.read("entry") is None


def test_a_folder_that_cannot_be_written_is_as_good_as_none(tmp_path, monkeypatch, runs):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GEMM_COURSE_CACHE", str(tmp_path / "file" / "below"))
    assert fresh().registers > 0
    assert fresh().registers > 0
    assert len(runs) == 2


def test_the_entries_used_longest_ago_go_first(folder):
    for age, name in enumerate(["new", "middle", "old"]):
        cache.write(name, {"part": bytes(1000)})
        stamp = time.time() - 100 * age
        os.utime(folder / f"{name}.zip", (stamp, stamp))
    cache.read("old")  # now it is the one used last
    size = (folder / "new.zip").stat().st_size
    cache.trim(folder, limit_bytes=2 * size)
    assert sorted(path.stem for path in folder.iterdir()) == ["new", "old"]


def test_process_scans_the_folder_at_first_write_then_seldom(folder, monkeypatch):
    trimmed = []
    monkeypatch.setattr(cache, "trim", lambda directory, limit: trimmed.append((directory, limit)))
    monkeypatch.setattr(cache, "_untrimmed", cache._TRIM_EVERY_BYTES)
    part = os.urandom(cache._TRIM_EVERY_BYTES // 4)  # what cannot be compressed
    looked = []
    for number in range(6):
        cache.write(f"entry{number}", {"part": part})
        looked.append(len(trimmed))
    assert looked == [1, 1, 1, 1, 2, 2]
    assert trimmed == [(folder, cache.LIMIT_BYTES)] * 2


def test_what_a_stopped_writer_left_is_deleted_after_an_hour(folder):
    for name, age in (("recent", 10), ("ancient", 7200)):
        path = folder / f"{name}.part"
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age, time.time() - age))
    cache.trim(folder, limit_bytes=10**6)
    assert [path.name for path in folder.iterdir()] == ["recent.part"]


WRITER = """
import sys
from gpusim.compiler import cache
letter = sys.argv[1].encode()
whole = 0
for turn in range(150):
    cache.write("shared", {"left": letter * 40_000, "right": letter * 3})
    parts = cache.read("shared")
    assert parts is not None, "an entry that is always there was not"
    assert set(parts["left"]) == set(parts["right"]) and len(parts["left"]) == 40_000, "a mixed entry"
"""


def test_concurrent_writers_never_leave_half_an_entry(folder):
    environment = {**os.environ, "GEMM_COURSE_CACHE": str(folder)}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, letter], cwd=ROOT, env=environment, stderr=subprocess.PIPE)
        for letter in "ab"
    ]
    errors = [writer.communicate(timeout=60)[1].decode() for writer in writers]
    assert errors == ["", ""]
    assert [path.name for path in folder.iterdir()] == ["shared.zip"]


COMPILER = """
import sys
from gpusim import compiler
kernel = compiler.compile(sys.argv[1], "k")
sys.stdout.buffer.write(kernel.cubin)
"""


def test_two_processes_that_compile_one_kernel_get_the_same(folder):
    environment = {**os.environ, "GEMM_COURSE_CACHE": str(folder)}
    processes = [
        subprocess.Popen([sys.executable, "-c", COMPILER, SOURCE], cwd=ROOT, env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    cubins = [process.communicate(timeout=60)[0] for process in processes]
    assert cubins[0] == cubins[1] == fresh().cubin
    assert len(list(folder.iterdir())) == 1
