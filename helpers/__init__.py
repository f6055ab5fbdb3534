"""What the notebooks stand on: compiler, simulator, device, measurement, drawing, exercises and widgets.

A command of the course, `python -m helpers.profile`, ends here with a sentence in a Python that has not its packages.
`helpers.doctor` says more, and needs none of them.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

_NEEDED = ("cuda", "IPython", "matplotlib", "numpy", "platformdirs")


def _command() -> str:
    """The module of the course that `python -m` runs; empty in a notebook, in a test, in a script."""
    words = getattr(sys, "orig_argv", [])
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    return module if module.startswith("helpers.") and module != "helpers.doctor" else ""


if _command() and (missing := [name for name in _NEEDED if find_spec(name) is None]):
    sys.exit(
        f"{sys.executable} is not the course's Python: it lacks {', '.join(missing)}. `make lab` in the course's "
        f"folder makes one; then `.venv/bin/python -m {_command()} …` there."
    )

if find_spec("gpusim") is None:  # a clone that is not installed, as in Colab
    sys.path.append(str(Path(__file__).parent / "gpusim" / "src"))

_OF_GPUSIM = {"compiler": "gpusim.compiler", "devices": "gpusim.devices", "gpusim": "gpusim"}


def __getattr__(name: str) -> ModuleType:
    """What notebooks import beside the modules of this folder, so that one line does (PEP 562)."""
    if name not in _OF_GPUSIM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(_OF_GPUSIM[name])


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package whose modules are loaded when they are first asked for (PEP 562).

    A notebook so imports the package alone and writes `pictures.bars`; what it does not use is never loaded.
    """

    def __getattr__(name: str) -> ModuleType:
        if name.startswith("_") or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return __getattr__
