"""Ruff's rules and its formatting, for every Python file of the project."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", [["check", "--output-format=concise"], ["format", "--check"]], ids=" ".join)
def test_the_code_is_linted_and_formatted(command):
    outcome = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--no-cache", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr + "\n`make format` mends most of it."
