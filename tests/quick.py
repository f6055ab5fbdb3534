"""The tests nearest to what was changed, for a minute: `make check`, or `python -m tests.quick [path …]`.

paths: what was changed; without any, what git finds uncommitted, or else in the last commit. A module is tested by the
file that has its name, or by all of its room. The tests of the course's rules come first. Of a test with many cases the
first and the last are run; when the minute is over, the rest is skipped, and the summary counts it. `make test` runs
everything.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "helpers/gpusim/src/gpusim/"
ALWAYS = ("tests/project/test_style.py", "tests/project/test_floors.py", "tests/project/test_loading.py")
BUDGET_S = 45  # from the first test on; before it, seconds go into set-up and imports
STARTED = "COURSE_CHECK_STARTED"
OVER = "the minute is over: `make test` runs it"


def changed() -> list[str]:
    """Paths that git finds uncommitted, or without any those of the last commit."""
    uncommitted = _git("diff", "--name-only", "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    return uncommitted or _git("diff", "--name-only", "HEAD~1", "HEAD")


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()


def tests_of(path: str, root: Path = ROOT) -> list[str]:
    """The files of tests that are nearest to a file, by its name: [] where no test is near."""
    parts = Path(path).parts
    if parts[0] == "tests":
        if parts[-1].startswith("test_") and (root / path).exists():
            return [path]
        return _room("/".join(parts[1:2]), root) if len(parts) > 2 else []
    if parts[0] == "notebooks" and path.endswith(".ipynb"):
        own = f"tests/notebooks/test_{parts[-1][:2]}.py"
        return [own] * (root / own).exists() + ["tests/notebooks/test_every_notebook.py"]
    if parts[0] not in ("helpers", "gemm_kernels"):
        return []
    if path.startswith(PACKAGE):
        parts = (
            "helpers",
            "gpusim",
            *parts[PACKAGE.count("/") :],
        )  # tests/gpusim, and folders in it for its larger rooms
    room = parts[1:-1] if parts[0] == "helpers" else parts[:1]
    folders = ["/".join(room[:count]) for count in range(len(room), 0, -1)] if room else [""]
    names = (Path(parts[-1]).stem, f"{parts[-2]}_{Path(parts[-1]).stem}")  # a picture's tests: of its name and its part
    own = (Path("tests") / folder / f"test_{name}.py" for folder in folders for name in names)
    nearest = next((test for test in own if (root / test).exists()), None)
    if nearest:
        return [nearest.as_posix()]
    near = next((folder for folder in folders if folder and (root / "tests" / folder).is_dir()), "")
    return _room(near, root) if near else []


def _room(name: str, root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / "tests" / name).glob("test_*.py"))


def chosen(paths: Iterable[str]) -> list[str]:
    """The tests of the rules, then those nearest to each path; none twice."""
    return list(dict.fromkeys([*ALWAYS, *(test for path in paths for test in tests_of(path))]))


# --- the plugin that such a run has


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The first and the last case of each test, and no browser."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {id(item) for some in cases.values() for item in (some[0], some[-1])}
    kept -= {id(item) for item in items if item.get_closest_marker("browser")}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > float(os.environ.setdefault(STARTED, str(time.time()))) + BUDGET_S:
        pytest.skip(OVER)


if __name__ == "__main__":
    files = chosen(sys.argv[1:] or changed())
    command = [sys.executable, "-m", "pytest", "-p", "tests.quick", "-q", "-n", "2", "--dist=loadscope"]
    sys.exit(subprocess.run([*command, "--no-loadscope-reorder", *files], cwd=ROOT).returncode)
