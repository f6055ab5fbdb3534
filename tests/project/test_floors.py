"""Each floor uses only the floors below it: the contracts in pyproject.toml, checked by import-linter."""

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LINT, "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_no_module_imports_from_a_floor_above_its_own():
    outcome = lint(ROOT)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        (
            "helpers/devices/__init__.py",
            "import helpers.explore",
            "each floor of helpers uses only the floors below it BROKEN",
        ),
        ("gemm_kernels/kernel.py", "import helpers.devices", "gemm_kernels imports nothing of helpers BROKEN"),
        ("helpers/draw/picture.py", "import helpers.measure", "a picture is drawn from facts"),
        ("helpers/draw/picture.py", "import helpers.simulator", "a picture is drawn from facts"),
        (
            "helpers/analysis/facts.py",
            "import helpers.draw",
            "each floor of helpers uses only the floors below it BROKEN",
        ),
        (
            "helpers/explore/widget.py",
            "from helpers import simulator",
            "an explorer runs and records launches by helpers.run, and not by the simulator's",
        ),
        ("helpers/attic.py", "", "each floor of helpers uses only the floors below it BROKEN"),
        (
            "helpers/exercises/answer.py",
            "def checked():\n    import helpers.measure.tuning",
            "what a notebook imports makes no recordings",
        ),
    ],
)
def test_the_contracts_notice_what_they_forbid(tmp_path, skeleton, module, line, broken):
    shutil.copytree(skeleton, tmp_path, dirs_exist_ok=True)
    (tmp_path / module).write_text(line + "\n")
    outcome = lint(tmp_path)
    assert outcome.returncode == 1
    assert broken in outcome.stdout


@pytest.fixture(scope="module")
def skeleton(tmp_path_factory):
    """Empty modules of all names in the contracts, which keep them."""
    folder = tmp_path_factory.mktemp("skeleton")
    named = {name for one in CONTRACTS for key in ("source_modules", "forbidden_modules") for name in one.get(key, ())}
    for name in sorted({name.removesuffix(".**") for name in named}):
        package = folder / name.replace(".", "/")
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    sound = lint(folder)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    return folder


FACE, DOORS = ("RawModule", "record", "sanitize"), ("simulator", "gpu")


def _compiles_or_records(tree: ast.AST) -> list[str]:
    """What a module uses of the simulator's face or of the door to compile a kernel, or to record a launch."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("helpers.simulator"):
            found += [alias.name for alias in node.names if alias.name in FACE]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in DOORS:
            found += [node.attr] if node.attr in FACE else []
    return found


@pytest.mark.parametrize("room", ["explore", "exercises"])
def test_explorers_and_exercises_compile_and_record_by_helpers_run(room):
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "helpers" / room).rglob("*.py")}
    assert {path: found for path, text in sources.items() if (found := _compiles_or_records(ast.parse(text)))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "from helpers import simulator\nsimulator.RawModule(code=source)",
        "from helpers.simulator import record",
        "from helpers import gpu\nwith gpu.record() as recording: pass",
    ],
)
def test_a_way_around_helpers_run_is_noticed(text):
    assert len(_compiles_or_records(ast.parse(text))) == 1
