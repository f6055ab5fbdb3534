"""One JupyterLab and one browser for all files of browser tests that a process runs."""

from collections.abc import Iterator

import pytest

from tests.browser.lab import Lab, course_lab


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Lab]:
    """With the extension as it lies in the project, and with nobody's progress."""
    folder = tmp_path_factory.mktemp("course")
    with course_lab(folder, chromium) as running:
        yield running
