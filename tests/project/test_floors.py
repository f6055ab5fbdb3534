"""Each floor uses only the floors below it: the contracts in pyproject.toml, checked by import-linter."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
        ("helpers/devices.py", "import helpers.explore", "each floor of helpers uses only the floors below it BROKEN"),
        ("gemm_kernels/kernel.py", "import helpers.devices", "gemm_kernels imports nothing of helpers BROKEN"),
        ("helpers/draw/picture.py", "import helpers.measure", "a picture is drawn from facts"),
        ("helpers/draw/picture.py", "import helpers.simulator", "a picture is drawn from facts"),
        (
            "helpers/analysis/facts.py",
            "import helpers.draw",
            "each floor of helpers uses only the floors below it BROKEN",
        ),
        ("helpers/attic.py", "", "each floor of helpers uses only the floors below it BROKEN"),
    ],
)
def test_the_contracts_notice_an_import_upwards_and_a_module_on_no_floor(tmp_path, module, line, broken):
    packages = (
        "gemm_kernels",
        "helpers",
        *(f"helpers/{name}" for name in ("analysis", "compiler", "draw", "explore", "measure", "simulator")),
    )
    for package in packages:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for name in ("devices", "gpu"):
        (tmp_path / "helpers" / f"{name}.py").touch()
    sound = lint(tmp_path)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    (tmp_path / module).write_text(line + "\n")
    outcome = lint(tmp_path)
    assert outcome.returncode == 1
    assert broken in outcome.stdout
