"""The first code cell: on Colab it fetches the course and installs what is lacking; a wrong kernel gets a sentence."""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from IPython.core.error import UsageError

from helpers import colab, plan
from helpers.tools.notebooks import form

ROOT = Path(__file__).resolve().parents[2]
CELL = form.colab_source(form.repository_address())
PINS = """\
cuda-bindings==12.9.10
cupy-cuda12x==14.2.0
matplotlib==3.11.2
nvidia-cuda-nvrtc-cu12==12.9.86
pywin32==311 ; sys_platform == 'win32'
"""


def test_cell_after_every_title_is_folded_and_on_no_slide():
    for path in sorted(plan.FOLDER.glob("*.ipynb")):
        cell = form.read(path.read_text(encoding="utf-8")).cells[1]
        assert (cell.source, cell.outputs) == (CELL, []), path.name
        assert cell.metadata.jupyter.source_hidden, path.name


def test_a_notebook_that_lost_the_cell_or_changed_it_is_mended():
    text = sorted(plan.FOLDER.glob("*.ipynb"))[0].read_text(encoding="utf-8")
    lost, changed = form.read(text), form.read(text)
    del lost.cells[1]
    changed.cells[1].source += "\nprint(1)"
    for notebook in (lost, changed):
        problems = form.problems(notebook)
        assert (
            "the second cell is not the one for Google Colab, equal in all notebooks; `make format` writes it."
            in problems
        )
        assert form.written(form.mended(notebook)) == text


def test_anywhere_else_the_cell_does_nothing_and_takes_no_time(capsys):
    before, path, started = os.getcwd(), list(sys.path), time.perf_counter()
    exec(compile(CELL, "cell", "exec"), {})
    assert time.perf_counter() - started < 0.05
    assert (os.getcwd(), sys.path) == (before, path) and capsys.readouterr() == ("", "")


def test_colab_cell_fetches_the_course_once(tmp_path):
    origin, content = tmp_path / "origin", tmp_path / "content"
    for name in ("helpers/__init__.py", "helpers/colab.py", "constraints.txt", "notebooks/glossary.md"):
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, origin / name)
    (origin / "pyproject.toml").write_text('[project]\ndependencies = ["numpy"]\n')
    (origin / colab.PROGRAMS).parent.mkdir(parents=True)
    (origin / colab.PROGRAMS).write_text("# what compiles the programs in C\n")
    compiler = tmp_path / "site" / f"{colab.COMPILER}-1.0.dist-info"  # as if it were installed
    compiler.mkdir(parents=True)
    (compiler / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {colab.COMPILER}\nVersion: 1.0\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(origin)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    content.mkdir()
    run_twice = (
        "import sys, types\nsys.modules['google.colab'] = types.ModuleType('google.colab')\n"
        f"cell = {CELL.replace('/content/', f'{content}/')!r}\n"
        "for _ in range(2): exec(cell, {})\n"
        "import os, helpers\nprint(helpers.__file__)\nprint(os.getcwd())\n"
    )
    environment = {**os.environ, "GEMM_COURSE_ADDRESS": origin.as_uri(), "PYTHONPATH": str(compiler.parent)}
    ran = subprocess.run(
        [sys.executable, "-c", run_twice], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    course = content / "gemm-course"
    said = f"The course is in {course}; installed: nothing, all was there."
    assert ran.stdout.splitlines() == [said, said, f"{course}/helpers/__init__.py", f"{course}/notebooks"], ran.stderr


def test_address_stands_once_and_without_one_the_cell_asks(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\n")
    assert form.repository_address(project) == ""
    assert "names no public address" in form.colab_source("")
    project.write_text('[project.urls]\nRepository = "https://example.org/course"\n')
    known = form.colab_source(form.repository_address(project))
    assert 'address = address or "https://example.org/course"\n' in known and "input(" not in known


@pytest.mark.parametrize("lacks", ["gemm_kernels", "cuda", "ipywidgets"])
def test_a_wrong_jupyter_kernel_is_answered_with_the_right_one(monkeypatch, lacks):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == lacks else sys)
    with pytest.raises(UsageError) as caught:  # which IPython shows without a traceback
        exec(compile(CELL, "cell", "exec"), {})
    assert str(caught.value).startswith(f"This kernel is not the course's: {sys.executable} lacks its packages. In VS")
    assert "Select Kernel > Python Environments > .venv" in str(caught.value) and "`make lab`" in str(caught.value)


@pytest.mark.parametrize("address", ["", "https://example.org/somebody/a-course-with-a-long-name.git"])
def test_no_line_of_the_cell_is_long(address):
    assert max(map(len, form.colab_source(address).splitlines())) <= 120


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"numpy": "1", "cupy-cuda12x": "13", "nvidia-cuda-nvrtc-cu12": "12.9.86"}, []),
        ({"numpy": "1", "cupy-cuda12x": "13", "nvidia-cuda-nvrtc-cu12": "12.4"}, ["nvidia-cuda-nvrtc-cu12==12.9.86"]),
        ({"cupy-cuda12x": "13", "nvidia-cuda-nvrtc-cu12": "12.9.86"}, ["numpy"]),
        ({"numpy": "1", "nvidia-cuda-nvrtc-cu12": "12.9.86"}, ["cupy-cuda12x==14.2.0"]),
        ({"numpy": "1", "cupy-cuda13x": "14.0", "nvidia-cuda-nvrtc-cu12": "12.9.86"}, []),
        (
            {"cuda-bindings": "13.0.3", "cupy-cuda12x": "13", "numpy": "1", "nvidia-cuda-nvrtc-cu12": "12.9.86"},
            ["cuda-bindings==12.9.10"],
        ),
        (
            {"matplotlib": "3.10.0", "numpy": "1", "cupy-cuda12x": "13", "nvidia-cuda-nvrtc-cu12": "12.9.86"},
            ["matplotlib==3.11.2"],
        ),
    ],
)
def test_present_packages_stay_and_exact_ones_are_pinned(installed, expected):
    needed = ["cuda-bindings<13", "cupy-cuda12x>=13", "matplotlib", "numpy", "nvidia-cuda-nvrtc-cu12"]
    versions = {"cuda-bindings": "12.9.10", "matplotlib": "3.11.2", **installed}
    assert colab.wanted(needed, PINS, versions.get) == expected


def test_pip_runs_once_without_dependencies_or_gives_a_sentence(tmp_path, capsys, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["no-such-package-of-the-course"]\n')
    (tmp_path / "constraints.txt").write_text(PINS)
    commands, loaded = [], []
    monkeypatch.setattr(colab, "installed_version", lambda name: None)
    colab.set_up(tmp_path, lambda command, **_: commands.append(command), lambda: loaded.append("compiler"))
    assert loaded == ["compiler"]
    needed = ["no-such-package-of-the-course", "ziglang"]
    assert commands == [
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *needed],
        [sys.executable, str(tmp_path / colab.PROGRAMS)],
    ]
    assert "installed: no-such-package-of-the-course, ziglang." in capsys.readouterr().out

    def fails(command, **_):
        raise subprocess.CalledProcessError(1, command, stderr="a\nERROR: no network\n")

    with pytest.raises(
        RuntimeError, match=r"could not install no-such-package-of-the-course, ziglang:\na\nERROR: no network\n"
    ):
        colab.set_up(tmp_path, fails)
