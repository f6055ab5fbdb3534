"""What a first cell loads: little of the course, and nothing that makes recordings or the course itself."""

import ast
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from types import SimpleNamespace

import pytest

from helpers import exercises, plan
from helpers.exercises.framework import catalogue
from tests.notebooks.support import NUMBERS, sources

ROOT = plan.FOLDER.parent
MOST_MODULES = 150  # of ours
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
(CONTRACT,) = (one for one in CONTRACTS if one["id"] == "learner")


def loaded_by(code: str) -> set[str]:
    """The modules of a fresh process after this code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def imported_by(source: str) -> set[str]:
    """Our modules that a cell names in its imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if (ROOT / name.replace(".", "/")).is_dir() or _file(name).is_file()}


def _file(module: str):
    return ROOT / f"{module.replace('.', '/')}.py"


def test_a_first_cell_loads_few_modules_and_no_matplotlib():
    loaded = loaded_by("from helpers import course, exercises")
    ours = {name for name in loaded if name.partition(".")[0] in ("helpers", "gemm_kernels")}
    assert 50 < len(ours) <= MOST_MODULES
    assert not loaded & {"matplotlib", "cupy", "scipy"}
    assert not ours & set(CONTRACT["forbidden_modules"])


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
def test_a_notebook_imports_what_the_contract_covers(number):
    code = (source for source in sources(number, "code") if not source.startswith("%%"))
    imported = set().union(*(imported_by("\n".join(_plain(source))) for source in code)) - {"helpers"}
    covered = CONTRACT["source_modules"]
    assert imported
    assert {name for name in imported if not any(fnmatch(name, one) for one in covered)} == set()


def _plain(source: str) -> list[str]:
    return ["" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
