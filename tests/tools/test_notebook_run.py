"""Running notebooks: a fresh run in the simulator, stored in canonical form, the same bytes every time."""

import json
import sys
from pathlib import Path

import pytest
from nbformat import v4

from helpers.tools.notebooks import form, run

CELLS = [
    v4.new_markdown_cell("# A title"),
    v4.new_code_cell(
        f"import os, sys\nprint(os.environ['GEMM_COURSE_BACKEND'], os.path.samefile(sys.prefix, {sys.prefix!r}))"
    ),
    v4.new_code_cell("import ipywidgets\nipywidgets.IntSlider()"),
    v4.new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]}),
    v4.new_code_cell("print(os.path.basename(os.getcwd()))"),
]


def stored(folder: Path, cells: list) -> Path:
    path = folder / "00-x.ipynb"
    path.write_text(form.written(v4.new_notebook(cells=cells)))
    return path


def printed(path: Path, cell: int) -> str:
    return "".join(json.loads(path.read_text())["cells"][cell]["outputs"][0]["text"]).strip()


@pytest.fixture
def rival_kernel(tmp_path, monkeypatch):
    """A user's own kernel called python3, which does not start."""
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({"argv": ["false"], "display_name": "x", "language": "python"}))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))


def test_run_is_stored_canonically_and_a_rerun_changes_no_byte(tmp_path, capsys, monkeypatch, rival_kernel):
    monkeypatch.setenv("GEMM_COURSE_BACKEND", "gpu")
    path = stored(tmp_path, CELLS)
    assert run.main([str(path)]) == 0
    assert printed(path, 1) == "simulator True"
    assert printed(path, 4) == tmp_path.name
    first = path.read_text()
    assert form.check(first) == []
    assert "stored, ran in" in capsys.readouterr().out
    assert run.main([str(path)]) == 0
    assert path.read_text() == first
    assert "unchanged, ran in" in capsys.readouterr().out


def test_failing_cell_leaves_the_file_and_is_named(tmp_path, capsys):
    path = stored(tmp_path, [v4.new_markdown_cell("# A title"), v4.new_code_cell("undefined_name + 1")])
    before = path.read_text()
    assert run.main([str(path)]) == 1
    assert path.read_text() == before
    message = capsys.readouterr().err
    assert "not stored" in message
    assert "undefined_name + 1" in message and "name 'undefined_name' is not defined" in message


def test_a_run_stores_no_progress_of_its_user(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_PROGRESS", str(tmp_path / "progress.json"))
    source = "from helpers.exercises import progress\nprogress.note('barriers', solved=True)\nprint(progress.path())"
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# T"), v4.new_code_cell(source)])
    assert "None" in run.execute(form.written(notebook), tmp_path)
    assert not (tmp_path / "progress.json").exists()
