"""What all tests share: the simulator unless a GPU is asked for, and a browser where there is one."""

import os
import shutil

import pytest

# A notebook and a test give the same numbers everywhere on the simulator; `make test-gpu` asks for the GPU.
os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")
# Notebooks run on the kernel of this environment even where the user has another one called python3.
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run, each with its reason."""
    if os.environ["GEMM_COURSE_BACKEND"] != "gpu":
        _skip(items, "gpu", "needs an NVIDIA GPU: make test-gpu")
    # On the machine that decides, a missing browser is a failure and not a reason to look away.
    if _chromium() is None and not os.environ.get("CI"):
        _skip(items, "browser", "needs chromium (Debian, Ubuntu: apt install chromium)")


def _skip(items: list[pytest.Item], marker: str, reason: str) -> None:
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of an installed Chromium."""
    path = _chromium()
    assert path is not None, "no chromium on the PATH; install it (apt install chromium)"
    return path
