"""Make `.venv`: find a Python, create the virtual environment, install the pinned packages, once.

    python3 -I helpers/authoring/setup_environment.py [--extra test] [--gpu auto|yes|no] [--python PATH]

Run by `make` with the system's Python, before anything is installed: so it uses the standard library alone, keeps to
syntax that Python 3.6 reads (to be able to say that it is too old), and prints ASCII only (Windows consoles).
A second run compares a stamp and returns at once.
"""

import argparse
import ctypes
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterable, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
VENV = ".venv"
STAMP = "set-up.json"
LOG = "set-up.log"
INPUTS = ("pyproject.toml", "constraints.txt", "helpers/authoring/setup_environment.py")

GB = 10**9
# Measured: .venv holds 0.9 GB, with the tests 1.2 GB, with cuBLAS 1 GB more; pip needs room for the wheels beside it.
DISK_BYTES = 2 * GB
DISK_BYTES_GPU = 4 * GB
# CuPy's wheels for CUDA 12.x ask the driver for CUDA 12.0 (cuDriverGetVersion: 1000 * major + 10 * minor).
DRIVER_CUDA = 12000

# JupyterLab's defaults that this environment changes. Else its first greeting is a question about Jupyter's news, on
# top of the notebook.
LAB_SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}

PROBE = (
    "import sys\n"
    "try:\n"
    "    import ensurepip, venv; complete = 1\n"
    "except ImportError:\n"
    "    complete = 0\n"
    "print(sys.version_info[0], sys.version_info[1], sys.version_info[2], complete)\n"
    "print(getattr(sys, '_base_executable', '') or sys.executable)\n"
)

NETWORK_SIGNS = (
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "SSLError",
    "name resolution",
    "getaddrinfo failed",
    "Network is unreachable",
    "Connection refused",
    "Connection reset",
)


class SetupError(Exception):
    """A sentence to the person in front of the terminal: what was found, what was expected, what to try."""


class Interpreter(NamedTuple):
    """A Python that ran: its path, its version, and whether it can make virtual environments."""

    path: str
    version: Tuple[int, int, int]
    complete: bool

    @property
    def name(self) -> str:
        return "Python " + ".".join(str(part) for part in self.version)


class Gpu(NamedTuple):
    """Whether CuPy can use a GPU here, and the reason in words."""

    usable: bool
    reason: str


class Stamp(NamedTuple):
    """What the last complete set-up was made from."""

    root: str
    inputs: str
    python: str
    extras: Tuple[str, ...]


def supported_versions(pyproject: str) -> List[Tuple[int, int]]:
    """Python versions that the text of pyproject.toml names in its classifiers, oldest first."""
    found = re.findall(r"Programming Language :: Python :: (\d+)\.(\d+)\"", pyproject)
    return sorted((int(major), int(minor)) for major, minor in found)


def minor_version(version: Tuple[int, ...]) -> str:
    """(3, 12, 1) -> "3.12"."""
    return f"{version[0]}.{version[1]}"


def inspect(command: List[str]) -> Optional[Interpreter]:
    """Run a Python and ask who it is; None if it does not start (a pyenv shim without its version, a broken venv)."""
    try:
        answer = subprocess.check_output(command + ["-I", "-c", PROBE], stderr=subprocess.DEVNULL, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = answer.decode("utf-8", "replace").splitlines()
    major, minor, micro, complete = (int(word) for word in lines[0].split())
    return Interpreter(lines[1], (major, minor, micro), bool(complete))


def candidates(versions: List[Tuple[int, int]], windows: bool) -> List[List[str]]:
    """Commands that may start a suitable Python: the one that runs this script, then by version, newest first."""
    named = []
    for major, minor in reversed(versions):
        number = f"{major}.{minor}"
        named.append(["py", "-" + number] if windows else ["python" + number])
    return [[sys.executable]] + named


def choose_interpreter(
    requested: str,
    versions: List[Tuple[int, int]],
    commands: List[List[str]],
    look: Callable[[List[str]], Optional[Interpreter]] = inspect,
) -> Interpreter:
    """The Python to build with: the requested one, else the first tested version, else a newer one.

    Raises SetupError if there is none, or if the requested one cannot be used.
    """
    oldest = minor_version(versions[0])
    if requested:
        asked = look([requested])
        if asked is None:
            raise SetupError(f"PYTHON={requested} does not start. Give the path of a Python {oldest} or newer.")
        found = [asked]
    else:
        found = [one for one in map(look, commands) if one is not None]

    recent = [one for one in found if one.version[:2] >= versions[0]]
    if not recent:
        have = ", ".join(sorted({f"{one.name} ({one.path})" for one in found})) or "no Python that starts"
        raise SetupError(
            f"This course needs Python {oldest} or newer; found {have}. Install a newer Python (for example from "
            "https://www.python.org/downloads/) and name it, `make lab PYTHON=/path/to/python3`, or use conda: "
            "`conda env create -f environment.yml`."
        )
    complete = [one for one in recent if one.complete]
    if not complete:
        one = recent[0]
        raise SetupError(
            f"{one.name} ({one.path}) cannot make virtual environments: its venv or ensurepip module is missing. "
            f"On Debian or Ubuntu install it with `sudo apt install python{minor_version(one.version)}-venv`, "
            "then run the same command again."
        )
    tested = [one for one in complete if one.version[:2] in versions]
    return (tested or complete)[0]


def check_platform(system: str, machine: str) -> None:
    """Raise SetupError where NVIDIA publishes no compiler wheels (system and machine as the platform module says)."""
    if system == "Linux" and machine in ("x86_64", "aarch64") or system == "Windows" and machine == "AMD64":
        return
    raise SetupError(
        "The CUDA compiler that this course uses exists for Linux (x86-64, arm64) and Windows (x86-64); this is "
        f"{system} on {machine}. Use a Linux container or virtual machine, Binder or Colab: README.md says how."
    )


def check_disk(folder: Path, needed: int) -> None:
    """Raise SetupError if the disk that holds folder has fewer free bytes than needed."""
    free = shutil.disk_usage(str(folder)).free
    if free < needed:
        raise SetupError(
            f"Only {free / GB:.1f} GB are free on the disk of {folder}; set-up needs {needed / GB:.1f} GB. "
            "Free some space, or move the course to another disk, and run the same command again."
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


def venv_python(venv: Path) -> Path:
    """The interpreter inside a virtual environment."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def digest_of_inputs(root: Path) -> str:
    """A digest of every file that decides what is installed."""
    text = hashlib.sha256()
    for name in INPUTS:
        text.update((root / name).read_bytes())
    return text.hexdigest()


def read_stamp(venv: Path) -> Optional[Stamp]:
    """The stamp of the last complete set-up, or None."""
    try:
        facts = json.loads((venv / STAMP).read_text())
        return Stamp(facts["root"], facts["inputs"], facts["python"], tuple(facts["extras"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_current(stamp: Optional[Stamp], wanted: Stamp) -> bool:
    """Does the environment hold all that is wanted, made from the same inputs in the same place?

    An empty `wanted.python` accepts any Python.
    """
    return (
        stamp is not None
        and (stamp.root, stamp.inputs) == (wanted.root, wanted.inputs)
        and wanted.python in ("", stamp.python)
        and set(wanted.extras) <= set(stamp.extras)
    )


def explain_pip_failure(log: str) -> str:
    """What pip's output means, as a sentence."""
    missing = re.search(r"No matching distribution found for (\S+)", log)
    if "No space left on device" in log:
        return "The disk is full (pip also needs room in the temporary folder, TMPDIR). Free some space and try again."
    if any(sign in log for sign in NETWORK_SIGNS):
        return (
            "pip could not reach the package index: no network, a proxy that it does not know (HTTPS_PROXY), or a "
            "firewall. Check the connection and run the same command again; what was downloaded is kept."
        )
    if missing:
        return (
            f"pip found no {missing.group(1)} for this Python on {platform.system()}, {platform.machine()}. "
            "Try another Python: `make lab PYTHON=/path/to/python3.12`."
        )
    tail = "\n".join("    " + line for line in log.strip().splitlines()[-12:])
    return "pip failed. Its last lines:\n" + tail


def run_pip(python: Path, root: Path, extras: Iterable[str], log: Path, say: Callable[[str], None]) -> None:
    """Install the project with its extras, held to constraints.txt; pip's output goes to the log.

    Raises SetupError with the reason if pip fails.
    """
    names = ",".join(sorted(extras))
    command = [str(python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    command += ["-c", "constraints.txt", "-e", f".[{names}]" if names else "."]
    pip = subprocess.Popen(command, cwd=str(root), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    assert pip.stdout is not None
    with open(str(log), "w", encoding="utf-8") as out:
        for raw in pip.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            lines.append(line)
            out.write(line + "\n")
            out.flush()
            # Only the wheels that take a while: one that pip counts in tens of megabytes.
            large = re.search(r"Downloading (\S+?)-\d\S* \((\d{2,}\.\d MB)\)", line)
            if large:
                say(f"    downloading {large.group(1)} ({large.group(2)})")
    if pip.wait() != 0:
        raise SetupError(explain_pip_failure("\n".join(lines)) + f"\nThe whole log is in {log}.")


def create_venv(interpreter: Interpreter, venv: Path) -> None:
    """Make an empty virtual environment, in place of one that is there. Raises SetupError with Python's own words."""
    if venv.exists() and not (venv / "pyvenv.cfg").exists():
        raise SetupError(f"{venv} is there but is no virtual environment. Move it away and run again.")
    command = [interpreter.path, "-m", "venv", "--clear", str(venv)]
    made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = made.communicate()[0].decode("utf-8", "replace").strip()
    if made.returncode != 0:
        raise SetupError(f"{interpreter.name} could not make {venv}:\n{output}")


def usable_venv(venv: Path, versions: List[Tuple[int, int]], python: str) -> bool:
    """Does the environment start, is its Python recent enough and the requested one ("3.12"; "" accepts any)?"""
    inside = inspect([str(venv_python(venv))])
    if inside is None or inside.version[:2] < versions[0] or python not in ("", minor_version(inside.version)):
        return False
    probe = [str(venv_python(venv)), "-c", "import pip"]
    return subprocess.call(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def write_lab_settings(venv: Path) -> None:
    """Tell the JupyterLab of this environment LAB_SETTINGS; a learner's own settings still come before them."""
    folder = venv / "share" / "jupyter" / "lab" / "settings"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "overrides.json").write_text(json.dumps(LAB_SETTINGS, indent=1) + "\n")


def size_of(folder: Path) -> int:
    """Bytes of all files below folder, links not followed."""
    total = 0
    for where, _, names in os.walk(str(folder)):
        total += sum(os.lstat(os.path.join(where, name)).st_size for name in names)
    return total


def set_up(root: Path, extras: Iterable[str], requested: str, gpu: str, say: Callable[[str], None]) -> None:
    """Bring root/.venv up to date: extras are names in pyproject.toml, gpu is "auto", "yes" or "no".

    Raises SetupError with a sentence if it cannot.
    """
    started = time.time()
    venv = root / VENV
    stamp = read_stamp(venv) if venv_python(venv).exists() else None
    wanted = set(extras)
    had = set(stamp.extras) if stamp else set()
    found = Gpu(gpu == "yes", "asked for the GPU's packages" if gpu == "yes" else "told to look for no GPU")
    if gpu == "auto":
        found = Gpu(True, "has the GPU's packages already") if "gpu" in had else find_gpu()
    if found.usable:
        wanted.add("gpu")

    versions = supported_versions((root / "pyproject.toml").read_text(encoding="utf-8"))
    python = ""
    if requested:
        asked = choose_interpreter(requested, versions, [])
        python = minor_version(asked.version)
    goal = Stamp(str(root), digest_of_inputs(root), python, tuple(sorted(wanted)))
    if is_current(stamp, goal):
        say(f"set-up: {VENV} is up to date")
        return

    check_platform(platform.system(), platform.machine())
    everything = sorted(wanted | had)
    check_disk(root, DISK_BYTES_GPU if "gpu" in everything else DISK_BYTES)
    say(f"set-up: {found.reason}")
    if usable_venv(venv, versions, python):
        say(f"set-up: {VENV} is there, bringing its packages up to date")
        if (venv / STAMP).exists():
            (venv / STAMP).unlink()
    else:
        interpreter = choose_interpreter(requested, versions, candidates(versions, os.name == "nt"))
        say(f"set-up: making {VENV} with {interpreter.name} ({interpreter.path})")
        create_venv(interpreter, venv)
    chosen = f" with extras {', '.join(everything)}" if everything else ""
    say(f"set-up: installing the packages pinned in constraints.txt{chosen}; the first time takes a minute or more")
    run_pip(venv_python(venv), root, everything, venv / LOG, say)
    write_lab_settings(venv)

    inside = inspect([str(venv_python(venv))])
    assert inside is not None
    facts = goal._replace(python=minor_version(inside.version), extras=tuple(everything))
    (venv / STAMP).write_text(json.dumps(facts._asdict(), indent=1, sort_keys=True) + "\n")
    say(f"set-up: done in {time.time() - started:.0f} s, {VENV} holds {size_of(venv) / GB:.2f} GB")


def main(arguments: List[str]) -> int:
    """Parse the command line, set up, and turn a SetupError into its sentence and exit status 1."""
    parser = argparse.ArgumentParser(description="Make .venv with the course's pinned packages.")
    parser.add_argument("--extra", action="append", default=[], help="an extra of pyproject.toml, such as test")
    parser.add_argument("--python", default="", help="the Python to build with; default: the first suitable one")
    parser.add_argument("--gpu", choices=("auto", "yes", "no"), default="auto", help="install what a GPU needs?")
    options = parser.parse_args(arguments)
    try:
        set_up(ROOT, options.extra, options.python, options.gpu, lambda line: print(line, flush=True))
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
