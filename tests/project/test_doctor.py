"""helpers.doctor: what it finds on a sound machine, and the sentence for each thing that may be missing."""

import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gpusim import compiler, native
from gpusim.compiler import cache
from helpers import doctor, gpu, recordings
from helpers.doctor import BROKEN, NOT_HERE, WORKS, Finding, Report

ROOT = Path(__file__).resolve().parents[2]


def finding(what: str) -> Finding:
    return next(finding for finding in doctor.examine().findings if finding.what == what)


def test_nothing_is_broken_here_and_every_part_was_checked():
    report = doctor.examine()
    assert report.healthy, report.text()
    states = {finding.what: finding.state for finding in report.findings}
    needed = ("Python", "packages", "widgets", "compiler", "simulator", "recordings")
    assert all(states[what] == WORKS for what in needed)
    assert list(states) == [*needed[:4], "headers", "disassembler", "simulator", "GPU", "recordings", "cache"]


def test_bare_python_gets_a_report_and_exit_status_1():
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"]
    command[-1] += "from helpers import doctor; sys.exit(doctor.main())"
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr == ""
    assert "✔ Python" in done.stdout
    assert "numpy" in done.stdout and "Run `make lab`" in done.stdout
    assert done.stdout.strip().endswith("Begin with the first ✘; the others may follow from it.")


def test_the_oldest_python_is_the_one_that_the_project_asks_for(monkeypatch):
    requirement = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert requirement == ">=" + ".".join(map(str, doctor.OLDEST_PYTHON))
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (4, 0))
    assert finding("Python").advice == "The course needs Python 4.0 or newer; `make lab` looks for one."


def test_a_missing_package_is_named(monkeypatch):
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "pillow":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    packages = finding("packages")
    assert packages.state == BROKEN and "1 of" in packages.observation and "pillow" in packages.observation


def test_code_without_the_files_of_the_course_is_recognised(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    packages = finding("packages")
    assert packages.state == BROKEN
    assert packages.observation.startswith(f"{tmp_path} holds no pyproject.toml")
    assert packages.observation.endswith("in its folder.")


def test_another_version_than_pinned_is_named_but_no_failure(monkeypatch):
    monkeypatch.setattr(doctor, "_pins", lambda: {"numpy": {"1.0"}})
    packages = finding("packages")
    assert packages.state == WORKS and "(tested with 1.0)" in packages.observation


def test_a_header_that_is_not_there_is_named_alone(monkeypatch):
    assert finding("headers").state == WORKS
    monkeypatch.setattr(doctor, "HEADERS", ("mma.h", "thrust/no_such_header.h"))
    headers = finding("headers")
    assert headers.state == NOT_HERE
    assert headers.observation == "Kernels that include <thrust/no_such_header.h> cannot be compiled."


def test_unsatisfiable_setting_is_answered_by_the_doors_sentence(monkeypatch):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "abacus")
    gpu_finding = finding("GPU")
    assert gpu_finding.state == BROKEN
    assert gpu_finding.sentence == f"{gpu.BACKEND_VARIABLE}='abacus' is not known: choose auto, gpu or simulator."


def test_a_wrong_result_of_the_simulator_is_noticed(monkeypatch):
    monkeypatch.setattr(doctor, "PROBE", doctor.PROBE.replace("+ 1.0f", "+ 2.0f"))
    assert finding("simulator").state == BROKEN


def test_the_engine_is_named_and_why_it_is_not_the_compiled_one(monkeypatch):
    assert "Its engine is the compiled one, " in finding("simulator").observation
    monkeypatch.setenv(native.ENVIRONMENT_VARIABLE, "off")
    assert finding("simulator").observation.endswith("Its engine is the slower one, in NumPy: GEMM_COURSE_NATIVE=off.")


def test_a_missing_disassembler_is_no_failure(monkeypatch):
    def missing(kernel: compiler.CompiledKernel) -> str:
        raise compiler.NvdisasmMissing("nvdisasm is not installed.")

    monkeypatch.setattr(compiler, "disassemble", missing)
    disassembler = finding("disassembler")
    assert disassembler.state == NOT_HERE and disassembler.sentence == "nvdisasm is not installed."


def test_no_recordings_are_a_failure(monkeypatch):
    monkeypatch.setattr(recordings, "gpus", lambda: [])
    assert finding("recordings").state == BROKEN


@pytest.mark.parametrize(
    ("folder", "sentence"), [("off", "every kernel is compiled anew"), ("{}/file", "cannot be kept")]
)
def test_a_cache_that_is_off_or_read_only_is_named(monkeypatch, tmp_path, folder, sentence):
    (tmp_path / "file").touch()
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, folder.format(tmp_path))
    cache_finding = finding("cache")
    assert cache_finding.state == NOT_HERE and sentence in cache_finding.observation


def test_broken_check_stops_no_other_and_says_what_was_raised(monkeypatch):
    def breaks() -> Finding:
        raise RuntimeError("the disk is upside down\nsecond line")

    monkeypatch.setattr(doctor, "_compiler", breaks)
    report = doctor.examine()
    assert not report.healthy
    broken = [finding for finding in report.findings if finding.state == BROKEN]
    assert [finding.sentence for finding in broken] == [f"RuntimeError: the disk is upside down. {doctor.SET_UP}"]


def test_the_report_reads_the_same_as_text_and_as_html():
    report = Report((Finding("a <b>", BROKEN, "It fails.", "Do this."), Finding("c", WORKS, "Fine.")))
    assert report.text().splitlines() == [
        "✘ a <b>  It fails. Do this.",
        "✔ c      Fine.",
        "1 of 2 checks failed. Begin with the first ✘; the others may follow from it.",
    ]
    shown = report._repr_mimebundle_()
    assert shown["text/plain"] == report.text()
    assert "a &lt;b&gt;" in shown["text/html"] and "It fails. Do this." in shown["text/html"]


@pytest.mark.parametrize("command", ["helpers.profile", "helpers.exercises", "helpers.tools.measuring"])
def test_command_in_a_bare_python_ends_in_a_sentence(command):
    done = subprocess.run(
        [sys.executable, "-S", "-m", command, "--help"], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"{sys.executable} is not the course's Python: it lacks cuda, IPython, matplotlib, ")
    assert done.stderr.endswith(f"then `.venv/bin/python -m {command} …` there.\n")
