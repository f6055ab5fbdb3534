"""Make `.venv` with uv, once: the pinned packages, those for the GPU too where there is one.

    python3 -I helpers/tools/setup_environment.py [--extra test] [--gpu auto|yes|no] [--python PATH]
                                                      [--wheelhouse FOLDER]

Run by `make` with the system's Python, before anything is installed: so it uses the standard library alone, keeps to
syntax that Python 3.7 reads (to be able to say that it is too old), and prints ASCII only (Windows consoles).
uv finds or fetches the Python of `.venv` and installs. Here is what uv does not do: get uv, look for a GPU, return at
once when nothing changed, and say in a sentence what went wrong.
"""

import argparse
import ctypes
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
VENV = ".venv"
UV = "build/uv"  # an environment that holds uv alone
STAMP = "set-up.json"
INPUTS = (
    "pyproject.toml",
    "constraints.txt",
    "helpers/tools/setup_environment.py",
    "helpers/jupyter/cuda_cells/labextension/package.json",  # names the built files by their digests
    "helpers/jupyter/overrides.json",
    "helpers/gpusim/hatch_build.py",
)
COMPILED = "helpers/gpusim/src/gpusim/native"  # whose C files the installation compiles

# uv's own package asks for this Python.
OLDEST_FOR_UV = (3, 8)
# CuPy's wheels for CUDA 12.x ask the driver for CUDA 12.0 (cuDriverGetVersion: 1000 * major + 10 * minor).
DRIVER_CUDA = 12000

# Where this machine's own system has no compiler: the course's folder in a container whose Python is a tested one.
CONTAINER = (
    'docker run --rm -it -p 127.0.0.1:8888:8888 -v "$PWD":/course -w /course python:3.12 '
    'make lab ARGS="--ip=0.0.0.0 --no-browser"'
)

# pip's settings that uv does not read, and uv's names for them.
PIP_SETTINGS = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY"}

# In the words of pip, which fetches uv, and of uv.
DISK_FULL = r"No space left on device|os error (28|112)\b"
NO_NETWORK = (
    r"(NewConnection|ConnectTimeout|ReadTimeout|Proxy|SSL)Error|getaddrinfo failed|name resolution|dns error|timed out|"
    r"Network is unreachable|Connection (refused|reset)|error sending request|Failed to fetch"
)


def say(line: str) -> None:
    print(line, flush=True)


class SetupError(Exception):
    """A sentence to the person in front of the terminal: what was found, what was expected, what to try."""


class Gpu(NamedTuple):
    """Whether CuPy can use a GPU here, and the reason in words."""

    usable: bool
    reason: str


def tested_versions(pyproject: str) -> List[Tuple[int, int]]:
    """Python versions that the text of pyproject.toml names in its classifiers, oldest first."""
    versions = re.findall(r"Programming Language :: Python :: (\d+)\.(\d+)\"", pyproject)
    return sorted((int(major), int(minor)) for major, minor in versions)


def dotted(version: Tuple[int, ...]) -> str:
    """(3, 12) -> "3.12"."""
    return ".".join(str(part) for part in version)


def version_of(python: str) -> Optional[Tuple[int, int]]:
    """Run a Python and ask for its version; None if it does not start."""
    try:
        printed = subprocess.check_output(
            [python, "-I", "-c", "import sys; print('%d %d' % sys.version_info[:2])"],
            stderr=subprocess.DEVNULL,
            timeout=30,
        )
        major, minor = printed.split()
        return int(major), int(minor)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def python_request(requested: str, tested: List[Tuple[int, int]], running: Tuple[int, int]) -> str:
    """What to tell uv about the Python of `.venv`: a path, or the range in which it looks for one or fetches one.

    requested: PYTHON=, or "".  running: the version of the Python that runs this.  Raises SetupError if the requested
    Python does not start, or if one that is needed is too old.
    """
    version = version_of(requested) if requested else running
    if version is None:
        raise SetupError(f"PYTHON={requested} does not start. Give the path of a Python {dotted(tested[0])} or newer.")
    if version < (tested[0] if requested else OLDEST_FOR_UV):
        raise SetupError(needs_newer(tested[0], version, requested or sys.executable))
    if requested or running in tested:
        return requested or getattr(sys, "_base_executable", "") or sys.executable
    return f">={dotted(tested[0])},<{tested[-1][0]}.{tested[-1][1] + 1}"


def needs_newer(oldest: Tuple[int, int], version: Tuple[int, int], path: str) -> str:
    return (
        f"This course needs Python {dotted(oldest)} or newer; found Python {dotted(version)} ({path}). Install a newer "
        "Python (for example from https://www.python.org/downloads/) and name it, `make lab PYTHON=/path/to/python3`, "
        "or use conda: `conda env create -f environment.yml`."
    )


def check_platform(system: str, machine: str) -> None:
    """Raise SetupError where NVIDIA publishes no compiler wheels (system and machine as the platform module says)."""
    if system == "Linux" and machine in ("x86_64", "aarch64") or system == "Windows" and machine == "AMD64":
        return
    raise SetupError(
        "The CUDA compiler that this course uses exists for Linux (x86-64, arm64) and Windows (x86-64); this is "
        f"{system} on {machine}. With Docker it runs in a Linux container; run this here, and open the last address "
        f"that it prints:\n    {CONTAINER}\nREADME.md names other ways."
    )


def find_gpu(library: str = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1") -> Gpu:
    """Ask the NVIDIA driver itself: is it there, is it new enough for CuPy, does it see a GPU?"""
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return Gpu(False, "no NVIDIA driver found: kernels will run in the simulator")
    number = ctypes.c_int()
    status = driver.cuInit(0)
    if status != 0 or driver.cuDeviceGetCount(ctypes.byref(number)) != 0 or number.value < 1:
        return Gpu(False, f"the NVIDIA driver shows no GPU (cuInit: {status}): kernels will run in the simulator")
    count = number.value
    driver.cuDriverGetVersion(ctypes.byref(number))
    version = f"{number.value // 1000}.{number.value % 1000 // 10}"
    if number.value < DRIVER_CUDA:
        return Gpu(False, f"the NVIDIA driver is for CUDA {version}; to use the GPU, CuPy needs one for CUDA 12")
    return Gpu(True, f"found {count} NVIDIA GPU(s), driver for CUDA {version}")


def program(environment: Path, name: str) -> Path:
    """A program inside a virtual environment: "python", "uv"."""
    return environment / (f"Scripts/{name}.exe" if os.name == "nt" else f"bin/{name}")


def digest_of_inputs(root: Path) -> str:
    """A digest of every file that decides what is installed."""
    text = hashlib.sha256()
    for path in [root / name for name in INPUTS] + sorted((root / COMPILED).glob("*/*.[ch]")):
        text.update(path.read_bytes())
    return text.hexdigest()


def read_stamp(venv: Path) -> Dict[str, Any]:
    """What the last complete set-up was made from: root, inputs, python, extras. Empty where there was none."""
    try:
        facts = json.loads((venv / STAMP).read_text())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def is_current(stamp: Dict[str, Any], wanted: Dict[str, Any]) -> bool:
    """Does the environment hold all that is wanted, made from the same inputs in the same place?

    An empty `wanted["python"]` accepts any Python.
    """
    same = all(stamp.get(name) == wanted[name] for name in ("root", "inputs"))
    python = wanted["python"] in ("", stamp.get("python"))
    return same and python and set(wanted["extras"]) <= set(stamp.get("extras", ()))


def explain(lines: List[str]) -> str:
    """What pip or uv said of its failure, as a sentence where it is one of the usual reasons."""
    log = "\n".join(lines)
    if re.search(DISK_FULL, log):
        return "The disk is full: set-up needs 2 GB, with a GPU 4 GB. Free some space and run the same command again."
    reason = ""
    if re.search(NO_NETWORK, log):
        reason = (
            "The network could not be reached: there is none, or a proxy (HTTPS_PROXY) or a certificate "
            "(SSL_CERT_FILE) is not known here, or there is a firewall. Check the connection and run the same command "
            "again; what was downloaded is kept. "
        )
    return reason + "The last lines:\n" + "\n".join("    " + line for line in lines[-12:])


def run(command: List[str], root: Path, environment: Dict[str, str], failed: str) -> None:
    """Run a command and tell of its large downloads. SetupError, beginning with `failed`, if it does not succeed."""
    process = subprocess.Popen(
        command, cwd=str(root), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines = []
    assert process.stdout is not None
    for raw in process.stdout:
        lines.append(raw.decode("utf-8", "replace").rstrip())
        if re.match(r"Downloading .*(\d\d\.\dM|G)iB", lines[-1]):
            say("    " + lines[-1])
    if process.wait() != 0:
        raise SetupError(f"{failed} {explain(lines)}")


def get_uv(root: Path, python: str, wheels: List[str]) -> Path:
    """The pinned uv, in an environment of its own, which is made where it is missing."""
    uv = program(root / UV, "uv")
    pin = re.search(r"^uv==(\S+)", (root / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert pin is not None
    try:
        if subprocess.check_output([str(uv), "--version"]).decode().split()[1] == pin.group(1):
            return uv
    except (OSError, subprocess.SubprocessError):
        pass
    say(f"set-up: getting uv {pin.group(1)}, which installs the rest")
    made = subprocess.run(
        [python, "-m", "venv", "--clear", str(root / UV)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if made.returncode != 0:
        raise SetupError(
            f"{python} cannot make virtual environments: its venv or ensurepip module is missing. On Debian or Ubuntu "
            "install it with `sudo apt install python3-venv`, then run the same command again. It says:\n"
            + made.stdout.decode("utf-8", "replace").strip()
        )
    pip = [str(program(root / UV, "python")), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    run(pip + wheels + ["uv==" + pin.group(1)], root, dict(os.environ), "uv could not be installed.")
    return uv


def settings_for_uv(root: Path) -> Dict[str, str]:
    """The environment for uv: this one, and where it says nothing, what pip is told of a mirror or a proxy.

    A Python that uv has to fetch goes below `root`, too.
    """
    environment = dict(os.environ)
    environment.setdefault("UV_PYTHON_INSTALL_DIR", str(root / "build" / "python"))
    command = [str(program(root / UV, "python")), "-m", "pip", "config", "list"]
    try:
        printed = subprocess.check_output(command, stderr=subprocess.DEVNULL).decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return environment
    for name, value in re.findall(r"^[\w:]+\.([\w-]+)='(.*)'\r?$", printed, re.MULTILINE):
        if name in PIP_SETTINGS:
            environment.setdefault(PIP_SETTINGS[name], value)
    return environment


def set_up(root: Path, extras: Iterable[str], requested: str, gpu: str, wheelhouse: str) -> None:
    """Bring root/.venv up to date: extras are names in pyproject.toml, gpu is "auto", "yes" or "no".

    wheelhouse: a folder of packages to take all from, without a network, or "".  Raises SetupError with a sentence.
    """
    started = time.time()
    venv = root / VENV
    python = program(venv, "python")
    stamp = read_stamp(venv) if python.exists() else {}
    had = set(stamp.get("extras", ()))
    gpu_found = Gpu(gpu == "yes", "asked for the GPU's packages" if gpu == "yes" else "told to look for no GPU")
    if gpu == "auto":
        gpu_found = Gpu(True, "has the GPU's packages already") if "gpu" in had else find_gpu()
    wanted = {*extras, "gpu"} if gpu_found.usable else set(extras)
    goal = {"root": str(root), "inputs": digest_of_inputs(root), "python": requested, "extras": sorted(wanted)}
    if is_current(stamp, goal):
        say(f"set-up: {VENV} is up to date")
        return

    check_platform(platform.system(), platform.machine())
    tested = tested_versions((root / "pyproject.toml").read_text(encoding="utf-8"))
    chosen = requested
    if not requested and sys.version_info < OLDEST_FOR_UV:  # as python3 of an enterprise Linux, with newer ones beside
        chosen = next(filter(version_of, ("python" + dotted(version) for version in reversed(tested))), "")
    request = python_request(chosen, tested, sys.version_info[:2])
    say(f"set-up: {gpu_found.reason}")
    wheels = ["--no-index", "--find-links", wheelhouse] if wheelhouse else []
    uv = str(get_uv(root, chosen or sys.executable, wheels))
    environment = settings_for_uv(root)
    offline = ["--offline"] if wheelhouse else []

    inside = version_of(str(python))
    if inside is None or inside < tested[0] or goal["python"] not in ("", stamp.get("python")):
        say(f"set-up: making {VENV} with Python {request}")
        command = [uv, "venv", "--no-project", "--clear", "--python", request] + offline + [VENV]
        failed = f"{VENV} could not be made with {request}."
        if request.startswith(">="):
            failed = (
                needs_newer(tested[0], sys.version_info[:2], sys.executable)
                + " uv found no other, nor could it fetch one."
            )
        run(command, root, environment, failed)
    else:
        goal["python"] = requested or stamp.get("python", "")
        if stamp:
            (venv / STAMP).unlink()
    goal["extras"] = sorted(wanted | had)
    names = ",".join(goal["extras"])
    say("set-up: installing the packages pinned in constraints.txt" + (f" with extras {names}" if names else ""))
    command = [uv, "pip", "install", "--python", str(python)] + offline + wheels
    command += ["-c", "constraints.txt", "pip", "-e", f".[{names}]" if names else "."]
    run(command, root, environment, "The packages could not be installed.")
    (venv / STAMP).write_text(json.dumps(goal, indent=1, sort_keys=True) + "\n")
    say(f"set-up: done in {time.time() - started:.0f} s")


def main(arguments: List[str]) -> int:
    """Parse the command line, set up, and turn a SetupError into its sentence and exit status 1."""
    parser = argparse.ArgumentParser(description="Make .venv with the course's pinned packages.")
    parser.add_argument("--extra", action="append", default=[], help="an extra of pyproject.toml, such as test")
    parser.add_argument("--python", default="", help="the Python to build with; default: the first suitable one")
    parser.add_argument("--gpu", choices=("auto", "yes", "no"), default="auto", help="install what a GPU needs?")
    parser.add_argument("--wheelhouse", default="", help="a folder of packages, where there is no network")
    options = parser.parse_args(arguments)
    wheelhouse = os.path.abspath(options.wheelhouse) if options.wheelhouse else ""
    try:
        set_up(ROOT, options.extra, options.python, options.gpu, wheelhouse)
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
