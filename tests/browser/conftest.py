"""One JupyterLab and one browser for all files of browser tests that a process runs."""

import shutil
from collections.abc import Iterator

import pytest

from helpers.authoring import labextension
from helpers.exercises.framework import progress
from tests.browser.lab import Lab, running_lab


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Lab]:
    """With the extension as it lies in the project, and with nobody's progress."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copytree(labextension.BUILT, folder / "jupyter" / "labextensions" / "gemm-course-cuda-cells")
    variables = {
        "JUPYTER_PATH": str(folder / "jupyter"),
        progress.ENVIRONMENT_VARIABLE: str(folder / "progress.json"),
    }
    with running_lab(folder, chromium, **variables) as running:
        yield running
