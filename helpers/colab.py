"""Google Colab: install what it lacks of the course's packages, and leave alone what it has.

The first code cell of every notebook (helpers.tools.notebooks.form writes it) fetches the course there and calls
`set_up`. Anywhere else that cell does nothing, and this module is not loaded.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Of these the pinned version, whatever Colab has: other compilers make other machine code than the text tells of,
# cuda-bindings for another CUDA calls another compiler, and Matplotlib has colours for hatches since 3.11.
EXACT = ("cuda-bindings", "matplotlib", "nvidia-cuda-nvdisasm", "nvidia-cuda-nvrtc-cu12")
COMPILER, PROGRAMS = (
    "ziglang",
    "helpers/gpusim/src/gpusim/native/building.py",
)  # of C, and what compiles the course's programs with it
# CuPy has a package for each major version of CUDA, and two of them in one environment do not work.
OTHER_CUPY = ("cupy", "cupy-cuda11x", "cupy-cuda13x", "cupy-cuda14x")


def installed_version(name: str) -> str | None:
    """The version of a package that is installed here, None without it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def pins(constraints: str) -> dict[str, str]:
    """Package → 'package==version' of constraints.txt, for those that have one version on every platform."""
    lines = (line.strip() for line in constraints.splitlines())
    return {line.split("==")[0].lower(): line for line in lines if re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)}


def wanted(
    dependencies: Sequence[str], constraints: str, version_of: Callable[[str], str | None] = installed_version
) -> list[str]:
    """What pip has to install: those of EXACT where they differ from the pinned version, the rest where missing.

    dependencies: the requirements in pyproject.toml.  constraints: the text of constraints.txt.
    """
    pinned, needed = pins(constraints), []
    for requirement in dependencies:
        name = re.split(r"[ ;<>=!~\[]", requirement, maxsplit=1)[0]
        here, pin = version_of(name), pinned.get(name.lower(), name)
        if name.startswith("cupy"):
            here = next((version for version in map(version_of, (name, *OTHER_CUPY)) if version), None)
        if here is None or (name in EXACT and pin != f"{name}=={here}"):
            needed.append(pin)
    return needed


def load_compiler() -> None:
    """Load the pinned NVRTC into this process, before CuPy looks for one.

    CuPy before version 14 asks the system's loader for libnvrtc.so.12, which knows nothing of pip's folders; a library
    of that name which is loaded already is the answer.
    """
    from cuda.pathfinder import load_nvidia_dynamic_lib  # not before set_up has installed it

    load_nvidia_dynamic_lib("nvrtc")


def set_up(
    root: Path = ROOT, run: Callable[..., object] = subprocess.run, load: Callable[[], None] = load_compiler
) -> None:
    """Install what is wanted, compile the programs in C, and say what that was.

    RuntimeError with pip's last lines if a package could not be had.

    Without dependencies of dependencies: Colab's own NumPy and its notebook server must keep their versions.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    constraints = (root / "constraints.txt").read_text(encoding="utf-8")
    packages = wanted([*project["dependencies"], COMPILER], constraints, installed_version)
    if packages:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *packages]
        try:
            run(command, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            last_lines = "\n".join((error.stderr or error.stdout or "").strip().splitlines()[-3:])
            raise RuntimeError(
                f"Colab could not install {', '.join(packages)}:\n{last_lines}\n"
                "Choose Runtime, then Restart session, and run this cell again."
            ) from error
        importlib.invalidate_caches()  # this process may have looked for them before they were there
    load()
    run([sys.executable, str(root / PROGRAMS)], check=False)  # says itself what it did
    print(f"The course is in {root}; installed: {', '.join(packages) or 'nothing, all was there'}.")
    if "matplotlib" in sys.modules and any(package.startswith("matplotlib==") for package in packages):
        print("Matplotlib was in use already: choose Runtime, then Restart session, and run this cell again.")
