"""Set-up: which Python, which packages, and a sentence for everything that can go wrong."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from jupyterlab.commands import get_app_dir

from helpers.tools import setup_environment as setup
from helpers.tools.setup_environment import Gpu, SetupError

TESTED = [(3, 11), (3, 12), (3, 13)]


@pytest.fixture
def pythons(monkeypatch):
    """Pythons by path, in place of those of this machine: a path that is not here does not start."""
    pythons = {"/bin/new": (3, 12), "/bin/newest": (3, 15), "/bin/old": (3, 10)}
    monkeypatch.setattr(setup, "version_of", pythons.get)


def test_python_running_set_up_is_used_if_it_is_a_tested_one():
    assert os.path.realpath(setup.python_request("", TESTED, (3, 12))) == os.path.realpath(sys.executable)


@pytest.mark.parametrize("running", [(3, 8), (3, 10), (3, 14)])
def test_in_place_of_any_other_uv_looks_for_a_tested_python(running):
    assert setup.python_request("", TESTED, running) == ">=3.11,<3.14"


def test_requested_python_is_used_or_refused_never_replaced(pythons):
    assert setup.python_request("/bin/new", TESTED, (3, 11)) == "/bin/new"
    assert setup.python_request("/bin/newest", TESTED, (3, 11)) == "/bin/newest"
    with pytest.raises(SetupError, match=r"needs Python 3\.11 or newer; found Python 3\.10 \(/bin/old\)\. Install"):
        setup.python_request("/bin/old", TESTED, (3, 12))
    with pytest.raises(SetupError, match=r"PYTHON=/no/python does not start\. Give the path of a Python 3\.11"):
        setup.python_request("/no/python", TESTED, (3, 12))


def test_python_too_old_for_uv_is_named_with_what_to_do():
    with pytest.raises(SetupError, match=r"needs Python 3\.11 or newer; found Python 3\.6 .*`make lab PYTHON=/path/to"):
        setup.python_request("", TESTED, (3, 6))


def test_real_python_gives_its_version_and_a_broken_one_none(tmp_path):
    assert setup.version_of(sys.executable) == sys.version_info[:2]
    assert setup.version_of(str(tmp_path / "none")) is None
    assert setup.version_of("false") is None
    assert setup.version_of("echo") is None


def test_python_without_venv_names_the_debian_package(course):
    python = course / "python"
    python.write_text("#!/bin/sh\necho 'No module named venv'; exit 1\n")
    python.chmod(0o755)
    with pytest.raises(
        SetupError, match=r"(?s)python cannot make .*ensurepip.*`sudo apt install python3-venv`.*No module"
    ):
        setup.get_uv(course, str(python), [])


def test_script_starts_on_an_old_python_with_nothing_installed():
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
        with pytest.raises(SetupError, match=f"this is {system} on {machine}") as caught:
            setup.check_platform(system, machine)
        assert f"\n    {setup.CONTAINER}\n" in str(caught.value)


def test_container_has_a_tested_python_and_a_reachable_server():
    words = shlex.split(setup.CONTAINER)
    image = next(word for word in words if word.startswith("python:"))
    tested = setup.tested_versions((setup.ROOT / "pyproject.toml").read_text())
    assert image.removeprefix("python:") in map(setup.dotted, tested)
    assert words[words.index(image) + 1 :] == ["make", "lab", "ARGS=--ip=0.0.0.0 --no-browser"]
    port = re.search(r"^PORT \?= (\d+)$", (setup.ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert words[words.index("-p") + 1] == f"127.0.0.1:{port}:{port}"


def test_jupyterlab_finds_and_knows_each_course_setting():
    settings = "helpers/jupyter/overrides.json"
    wheel = tomllib.loads((setup.ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    settings_file = Path(sys.prefix) / wheel["shared-data"][settings]
    assert settings_file == Path(get_app_dir()) / "settings" / "overrides.json"
    changed = json.loads((setup.ROOT / settings).read_text())
    assert json.loads(settings_file.read_text()) == changed
    for plugin, values in changed.items():
        package, name = plugin.split(":")
        schema = Path(get_app_dir()) / "schemas" / package / f"{name}.json"
        assert set(values) <= set(json.loads(schema.read_text())["properties"])


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
    gpu = setup.find_gpu(str(library))
    assert gpu.usable is usable
    assert re.search(words, gpu.reason)


def test_environment_is_current_for_unchanged_inputs_only():
    stamp = {"root": "/course", "inputs": "digest", "python": "/bin/new", "extras": ["gpu", "test"]}
    wanted = {"root": "/course", "inputs": "digest", "python": "", "extras": []}
    assert setup.is_current(stamp, wanted)
    assert setup.is_current(stamp, {**wanted, "python": "/bin/new", "extras": ["test"]})
    assert not setup.is_current({}, wanted)
    for other in ({"root": "/moved"}, {"inputs": "other"}, {"python": "/bin/newest"}, {"extras": ["slides", "test"]}):
        assert not setup.is_current(stamp, {**wanted, **other})


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("error: Failed to write to a file\n  cause: No space left on device (os error 28)", "disk is full"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...: Failed to establish'\n"
            "ERROR: No matching distribution found for uv==0.13.9",
            r"network could not be reached(?s:.*)The last lines:\n    WARNING: Retrying",
        ),
        ("error: Request failed after 3 retries\n  cause: Failed to fetch: https://…", "network could not be reached"),
        ("one\ntwo\nerror: something new", r"^The last lines:\n    one\n    two\n    error: something new"),
    ],
)
def test_what_uv_and_pip_say_becomes_a_sentence(log, sentence):
    assert re.search(sentence, setup.explain(log.splitlines()))


def test_uv_takes_pips_mirror_and_prefers_its_own_settings(monkeypatch, tmp_path):
    monkeypatch.setattr(setup, "program", lambda environment, name: sys.executable)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://mirror.example/simple\n")
    assert setup.settings_for_uv(tmp_path)["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other.example/simple")
    assert setup.settings_for_uv(tmp_path)["UV_DEFAULT_INDEX"] == "https://other.example/simple"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A folder with the files that set-up reads, and nothing else."""
    for name in setup.INPUTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(setup.ROOT / name, tmp_path / name)
    return tmp_path


def run_set_up(course: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = course / "helpers" / "tools" / "setup_environment.py"
    command = [sys.executable, "-I", str(script), "--gpu", "no", *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)


def with_uv(course: Path, does: str = "exit 0") -> None:
    """In place of uv a script that answers with the pinned version, and then does what is told, in `sh`."""
    uv = setup.program(course / setup.UV, "uv")
    uv.parent.mkdir(parents=True)
    pin = re.search(r"^uv==(.*)$", (course / "constraints.txt").read_text(), re.MULTILINE)
    assert pin
    uv.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo uv {pin[1]}; exit; fi\necho "$@" >> uv.log\n{does}\n')
    uv.chmod(0o755)


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
    assert "set-up: uv could not be installed. The network could not be reached: there is none" in outcome.stderr
    assert setup.read_stamp(course / ".venv") == {}


def test_set_up_makes_the_environment_by_the_pins_and_remembers(course):
    python = setup.program(course / ".venv", "python")
    with_uv(course, f"mkdir -p {python.parent} && ln -sf {sys.executable} {python}")
    outcome = run_set_up(course, "--extra", "test", "--python", sys.executable)
    assert outcome.returncode == 0, outcome.stderr
    venv, install = (course / "uv.log").read_text().splitlines()
    assert venv == f"venv --no-project --clear --python {sys.executable} .venv"
    assert install == f"pip install --python {python} -c constraints.txt pip -e .[test]"
    assert setup.read_stamp(course / ".venv")["extras"] == ["test"]

    again = run_set_up(course)
    assert (again.returncode, again.stdout) == (0, "set-up: .venv is up to date\n")
    run_set_up(course, "--extra", "slides", "--wheelhouse", str(course / "wheels"))
    *_, install = (course / "uv.log").read_text().splitlines()  # the same environment, with what it had
    assert install.startswith(f"pip install --python {python} --offline --no-index --find-links {course / 'wheels'} ")
    assert install.endswith("-e .[slides,test]")
    assert len((course / "uv.log").read_text().splitlines()) == 3


def test_failed_install_leaves_no_stamp_and_quotes_uv(course):
    python = setup.program(course / ".venv", "python")
    makes = f"mkdir -p {python.parent} && ln -sf {sys.executable} {python}"
    with_uv(course, f'[ "$1" = venv ] || {{ echo "no such"; exit 2; }}\n{makes}')
    outcome = run_set_up(course)
    assert outcome.returncode == 1
    assert outcome.stderr == "set-up: The packages could not be installed. The last lines:\n    no such\n"
    assert setup.read_stamp(course / ".venv") == {}


def test_set_up_returns_at_once_where_the_stamp_matches(course):
    python = setup.program(course / ".venv", "python")
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    stamp = {"root": str(course.resolve()), "inputs": setup.digest_of_inputs(course), "python": "", "extras": ["test"]}
    (course / ".venv" / setup.STAMP).write_text(json.dumps(stamp))
    outcome = run_set_up(course, "--extra", "test")
    assert (outcome.returncode, outcome.stdout) == (0, "set-up: .venv is up to date\n")


def test_changed_c_is_set_up_again(course):
    source = course / setup.COMPILED / "engine" / "machine.h"
    source.parent.mkdir(parents=True)
    digests = [source.write_text(text) and setup.digest_of_inputs(course) for text in ("/* 1 */", "/* 2 */")]
    assert digests[0] != digests[1]


def test_a_damaged_stamp_counts_as_none(tmp_path):
    for text in ('{"root": "/course"', "[]"):
        (tmp_path / setup.STAMP).write_text(text)
        assert setup.read_stamp(tmp_path) == {}
