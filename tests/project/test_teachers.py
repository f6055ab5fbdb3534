"""The page for teachers: its routes add up, and the wheelhouse that it speaks of holds what a set-up needs."""

import os
import subprocess
import tomllib
from pathlib import Path

from helpers import plan
from helpers.slides import steps
from helpers.tools.pages import course

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "notebooks" / "teachers.md"
PAGE = PATH.read_text(encoding="utf-8")


def test_the_routes_are_those_that_the_speakers_notes_add_up_to():
    assert course.wanted()[PATH] == PAGE, "run `make format`"
    for route in plan.course().routes:
        assert f"({steps.route_minutes(route, plan.course(), plan.FOLDER)} minutes)" in PAGE


def commands(target: str, *settings: str) -> str:
    """What make would run, as from a terminal: also where make runs the tests."""
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(
        ["make", "-n", target, *settings], cwd=ROOT, env=own, capture_output=True, text=True, check=True
    ).stdout


def test_the_wheelhouse_holds_what_builds_the_project_too():
    (needed,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    asked = commands("wheelhouse", "GPU=yes")
    assert f'"{needed}"' in asked and "editables" in asked and '".[gpu,slides]"' in asked
    without = commands("wheelhouse", "GPU=no")
    assert '".[slides]"' in without and "GPU=no" in without.splitlines()[-1]
