"""What a first cell loads: little of the course, and nothing that makes recordings or the course itself."""

import ast
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gpusim.cupy.raw_module import EXECUTORS
from helpers import exercises, plan
from helpers.exercises.framework import catalogue
from tests.notebooks.support import NUMBERS, sources

ROOT = plan.FOLDER.parent
MOST_MODULES = 150  # of ours
OURS = ("gemm_kernels", "gpusim", "helpers")
TOOLS = "helpers.tools"


def loaded_by(code: str) -> set[str]:
    """The modules of a fresh process after this code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def imported_by(source: str) -> set[str]:
    """Our modules that a cell names in its imports."""
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in modules if name.partition(".")[0] in OURS}


def test_a_first_cell_loads_few_modules_and_no_matplotlib():
    loaded = loaded_by("from helpers import course, exercises")
    ours = {name for name in loaded if name.partition(".")[0] in OURS}
    assert 50 < len(ours) <= MOST_MODULES
    assert not loaded & {"matplotlib", "cupy", "scipy"}
    assert not {name for name in ours if name.startswith(TOOLS)}


def test_executors_are_not_loaded_before_a_kernel_compiles():
    assert not loaded_by("import gpusim\ngpusim.RawModule") & {*EXECUTORS, "gpusim.checks.checks", "gpusim.engine.run"}


def test_a_notebooks_exercise_loads_no_other_notebooks(monkeypatch):
    modules = {number: SimpleNamespace(EXERCISES=exercises.of_notebook(number)) for number in NUMBERS}
    asked = []
    monkeypatch.setattr(catalogue, "_module", lambda number: asked.append(number) or modules[number])
    for number in set(NUMBERS) - {"04"}:
        monkeypatch.delitem(sys.modules, f"helpers.exercises.n{number}")
    assert exercises.get("tiled") is exercises.of_notebook("04")[0]
    assert set(asked) == {"04"}
    assert exercises.get("naive").notebook == "02" and "02" in asked


@pytest.mark.parametrize("number", NUMBERS)
def test_a_notebook_imports_no_tools(number):
    code = (source for source in sources(number, "code") if not source.startswith("%%"))
    imported = set().union(*(imported_by("\n".join(_plain(source))) for source in code)) - {"helpers"}
    assert imported
    assert not {name for name in imported if name.startswith(TOOLS)}


def _plain(source: str) -> list[str]:
    return ["" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
