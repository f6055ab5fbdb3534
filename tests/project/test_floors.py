"""The rules of who imports whom: the contracts in pyproject.toml, checked by import-linter; and gpusim's face."""

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gpusim

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"
MOST_NAMES = 30  # of a face


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LINT, "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_the_contracts_are_kept():
    outcome = lint(ROOT)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("gpusim/devices.py", "import helpers.run", "gpusim imports nothing of the course BROKEN"),
        ("helpers/exercises/answer.py", "import gpusim.engine", "knows gpusim by its face BROKEN"),
        ("gemm_kernels/kernel.py", "import helpers.run", "gemm_kernels imports nothing of helpers BROKEN"),
        ("helpers/pictures/bits/figure.py", "import helpers.measure", "a picture is drawn from facts"),
        ("helpers/pictures/bits/figure.py", "import gpusim.cupy", "a picture is drawn from facts"),
        ("helpers/pictures/bits/facts.py", "import helpers.exercises", "the course on its pictures"),
        ("helpers/exercises/answer.py", "def checked():\n    import helpers.tools.tuning", "never import the authors'"),
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
    keys = ("source_modules", "forbidden_modules", "layers")
    named = {
        name for contract in CONTRACTS for key in keys for row in contract.get(key, ()) for name in row.split(" : ")
    }
    for name in sorted(named | {"helpers.pictures.bits.figure", "helpers.tools.tuning", "gemm_kernels", "helpers"}):
        package = folder
        for part in name.replace("*", "bits").split("."):
            package = package / part
            package.mkdir(exist_ok=True)
            (package / "__init__.py").touch()
    shutil.rmtree(folder / "helpers" / "pictures" / "bits" / "figure")
    (folder / "helpers" / "pictures" / "bits" / "figure.py").touch()
    sound = lint(folder)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    return folder


def test_face_of_gpusim_is_short_and_each_name_exists():
    assert len(gpusim.__all__) <= MOST_NAMES
    assert {name: getattr(gpusim, name) is not None for name in gpusim.__all__} == dict.fromkeys(gpusim.__all__, True)
    with pytest.raises(AttributeError, match="no attribute 'rceord'; it has Captured"):
        gpusim.rceord  # noqa: B018


FACE, DOORS = ("RawModule", "record", "sanitize"), ("gpusim", "gpu")


def _compiles_or_records(tree: ast.AST) -> list[str]:
    """What a module uses of gpusim's face or of the door to compile a kernel, or to record a launch."""
    calls = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gpusim"):
            calls += [alias.name for alias in node.names if alias.name in FACE]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in DOORS:
            calls += [node.attr] if node.attr in FACE else []
    return calls


@pytest.mark.parametrize("files", ["pictures/*/explorer.py", "exercises/**/*.py"])
def test_explorers_and_exercises_compile_by_helpers_run(files):
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "helpers").glob(files)}
    assert sources
    assert {path: calls for path, text in sources.items() if (calls := _compiles_or_records(ast.parse(text)))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import gpusim\ngpusim.RawModule(code=source)",
        "from gpusim import record",
        "import gpusim\nwith gpusim.record() as recording: pass",
    ],
)
def test_a_way_around_helpers_run_is_noticed(text):
    assert len(_compiles_or_records(ast.parse(text))) == 1
