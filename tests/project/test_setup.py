"""Set-up: which Python, which packages, and a sentence for everything that can go wrong."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.authoring import setup_environment as setup
from helpers.authoring.setup_environment import Gpu, Interpreter, SetupError, Stamp

VERSIONS = [(3, 11), (3, 12), (3, 13)]
COMMANDS = [["python3"], ["python3.13"], ["python3.12"], ["python3.11"]]


def pythons(**found: tuple[tuple[int, int, int], bool]):
    """A stand-in for `inspect`: name -> (version, can make environments); names that are missing do not start."""
    by_name = {name.replace("_", "."): facts for name, facts in found.items()}

    def look(command: list[str]) -> Interpreter | None:
        return Interpreter("/bin/" + command[0], *by_name[command[0]]) if command[0] in by_name else None

    return look


def choose(requested: str = "", **found: tuple[tuple[int, int, int], bool]) -> Interpreter:
    return setup.choose_interpreter(requested, VERSIONS, COMMANDS, pythons(**found))


def test_a_suitable_python3_is_used_although_a_newer_one_exists():
    assert choose(python3=((3, 11, 2), True), python3_13=((3, 13, 0), True)).path == "/bin/python3"


def test_the_newest_tested_python_is_used_where_python3_is_too_old():
    chosen = choose(python3=((3, 10, 12), True), python3_12=((3, 12, 1), True), python3_11=((3, 11, 9), True))
    assert chosen.path == "/bin/python3.12"


def test_a_python_without_ensurepip_is_passed_over_for_one_that_has_it():
    assert choose(python3=((3, 12, 3), False), python3_11=((3, 11, 9), True)).path == "/bin/python3.11"


def test_a_tested_python_is_preferred_to_one_that_is_newer_than_the_pins():
    assert choose(python3=((3, 15, 0), True), python3_12=((3, 12, 1), True)).version == (3, 12, 1)
    assert choose(python3=((3, 15, 0), True)).version == (3, 15, 0)


def test_only_old_pythons_are_named_with_their_versions_and_what_to_do():
    with pytest.raises(SetupError, match=r"needs Python 3\.11 or newer; found Python 3\.10\.12 \(/bin/python3\)\."):
        choose(python3=((3, 10, 12), True))
    with pytest.raises(SetupError, match="found no Python that starts"):
        choose()


def test_a_python_that_cannot_make_environments_names_the_debian_package():
    with pytest.raises(SetupError, match=r"Python 3\.12\.3 .* ensurepip .*`sudo apt install python3\.12-venv`"):
        choose(python3=((3, 12, 3), False))


def test_a_requested_python_is_used_or_refused_and_never_replaced_by_another():
    found = {"python3": ((3, 12, 1), True), "python3_11": ((3, 11, 9), True), "old": ((3, 9, 1), True)}
    assert choose("python3.11", **found).path == "/bin/python3.11"
    with pytest.raises(SetupError, match=r"found Python 3\.9\.1"):
        choose("old", **found)
    with pytest.raises(SetupError, match=r"PYTHON=/no/python does not start"):
        choose("/no/python", **found)


def test_inspect_asks_a_real_python_and_survives_one_that_does_not_start(tmp_path):
    found = setup.inspect([sys.executable])
    assert found is not None
    assert found.version == sys.version_info[:3]
    assert found.complete
    # From inside an environment it answers with the Python that the environment was made of.
    assert os.path.realpath(found.path) == os.path.realpath(sys.executable)
    assert setup.inspect([str(tmp_path / "none")]) is None
    assert setup.inspect(["false"]) is None


def test_the_script_starts_on_an_old_python_and_needs_nothing_installed():
    tree = ast.parse(Path(setup.__file__).read_text(), feature_version=(3, 7))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names
    assert Path(setup.__file__).read_text().isascii()


@pytest.mark.parametrize(
    ("system", "machine", "works"),
    [
        ("Linux", "x86_64", True),
        ("Linux", "aarch64", True),
        ("Windows", "AMD64", True),
        ("Darwin", "arm64", False),
        ("Linux", "armv7l", False),
    ],
)
def test_a_platform_without_compiler_wheels_is_refused_by_name(system, machine, works):
    if works:
        setup.check_platform(system, machine)
    else:
        with pytest.raises(SetupError, match=f"this is {system} on {machine}"):
            setup.check_platform(system, machine)


def test_a_full_disk_is_reported_with_what_is_free_and_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_240_000_000))
    setup.check_disk(tmp_path, 1_240_000_000)
    with pytest.raises(SetupError, match=r"Only 1\.2 GB are free on the disk of .*; set-up needs 2\.0 GB\."):
        setup.check_disk(tmp_path, 2_000_000_000)


def test_without_a_driver_there_is_no_gpu():
    assert setup.find_gpu("libthere-is-no-such-driver.so.1") == Gpu(
        False, "no NVIDIA driver found: kernels will run in the simulator"
    )


DRIVER = """
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGetCount(int *count) { *count = COUNT; return 0; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler to make a driver that answers as told")
@pytest.mark.parametrize(
    ("init", "count", "version", "usable", "words"),
    [
        (0, 2, 13000, True, r"found 2 NVIDIA GPU\(s\), driver for CUDA 13\.0"),
        (0, 1, 12020, True, r"driver for CUDA 12\.2"),
        (0, 1, 11040, False, r"driver is for CUDA 11\.4; to use the GPU, CuPy needs one for CUDA 12"),
        (0, 0, 13000, False, "shows no GPU"),
        (100, 1, 13000, False, r"shows no GPU \(cuInit: 100\)"),
    ],
)
def test_the_driver_itself_says_whether_there_is_a_gpu(tmp_path, init, count, version, usable, words):
    source = tmp_path / "driver.c"
    source.write_text(DRIVER)
    library = tmp_path / "libdriver.so"
    defines = [f"-DINIT={init}", f"-DCOUNT={count}", f"-DVERSION={version}"]
    subprocess.run(["cc", "-shared", "-fPIC", *defines, "-o", library, source], check=True)
    found = setup.find_gpu(str(library))
    assert found.usable is usable
    assert re.search(words, found.reason)


def test_an_environment_is_current_only_for_the_same_place_inputs_python_and_extras():
    stamp = Stamp("/course", "digest", "3.12", ("gpu", "test"))
    assert setup.is_current(stamp, Stamp("/course", "digest", "", ()))
    assert setup.is_current(stamp, Stamp("/course", "digest", "3.12", ("test",)))
    assert not setup.is_current(None, Stamp("/course", "digest", "", ()))
    assert not setup.is_current(stamp, Stamp("/moved", "digest", "", ()))
    assert not setup.is_current(stamp, Stamp("/course", "other", "", ()))
    assert not setup.is_current(stamp, Stamp("/course", "digest", "3.13", ()))
    assert not setup.is_current(stamp._replace(extras=("gpu",)), Stamp("/course", "digest", "", ("test",)))


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...: Failed to establish'\n"
            "ERROR: No matching distribution found for jupyterlab==4.6.6",
            "could not reach the package index",
        ),
        (
            "ERROR: No matching distribution found for cupy-cuda12x==14.2.0",
            "no cupy-cuda12x==14.2.0 for this Python",
        ),
        ("one\ntwo\nERROR: something new", r"Its last lines:\n    one\n    two\n    ERROR: something new"),
    ],
)
def test_what_pip_says_becomes_a_sentence(log, sentence):
    assert re.search(sentence, setup.explain_pip_failure(log))


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A folder with the files that set-up reads, and nothing else."""
    (tmp_path / "helpers").mkdir()
    for name in setup.INPUTS:
        shutil.copy(setup.ROOT / name, tmp_path / name)
    return tmp_path


def run_set_up(course: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(course / "helpers" / "setup_environment.py"), "--gpu", "no", *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)


def test_set_up_without_network_says_so_and_leaves_no_stamp(course):
    nobody_listens = "http://127.0.0.1:9/simple"
    outcome = run_set_up(
        course,
        PIP_CONFIG_FILE=os.devnull,
        PIP_INDEX_URL=nobody_listens,
        PIP_EXTRA_INDEX_URL="",
        PIP_FIND_LINKS="",
        PIP_RETRIES="1",
        NO_PROXY="*",
    )
    assert outcome.returncode == 1
    assert "set-up: pip could not reach the package index: no network" in outcome.stderr
    assert "The whole log is in" in outcome.stderr
    assert setup.venv_python(course / ".venv").exists()
    assert setup.read_stamp(course / ".venv") is None


def test_set_up_never_clears_a_folder_that_is_no_environment(course):
    (course / ".venv").mkdir()
    (course / ".venv" / "precious").write_text("mine")
    outcome = run_set_up(course)
    assert outcome.returncode == 1
    assert "is no virtual environment. Move it away" in outcome.stderr
    assert (course / ".venv" / "precious").read_text() == "mine"


def test_set_up_returns_at_once_where_the_stamp_matches(course):
    python = setup.venv_python(course / ".venv")
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    stamp = Stamp(str(course.resolve()), setup.digest_of_inputs(course), "3.12", ("test",))
    (course / ".venv" / setup.STAMP).write_text(json.dumps(stamp._asdict()))
    outcome = run_set_up(course, "--extra", "test")
    assert (outcome.returncode, outcome.stdout) == (0, "set-up: .venv is up to date\n")


def test_a_damaged_stamp_counts_as_none(tmp_path):
    (tmp_path / setup.STAMP).write_text('{"root": "/course"')
    assert setup.read_stamp(tmp_path) is None
    (tmp_path / setup.STAMP).write_text('{"root": "/course"}')
    assert setup.read_stamp(tmp_path) is None
