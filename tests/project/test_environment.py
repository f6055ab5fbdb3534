"""The files that say what is installed agree: pyproject.toml, constraints.txt, the two environment.yml, and here."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers.tools import setup_environment

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
SETUP = PYPROJECT["dependency-groups"]["setup"]
REQUIREMENTS = [
    Requirement(requirement) for group in (PROJECT["dependencies"], *EXTRAS.values(), SETUP) for requirement in group
]
PIN_LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PINS = [Requirement(line) for line in PIN_LINES]


def conda(name: str) -> tuple[list[str], list[str]]:
    """The conda packages and the pip lines of an environment.yml."""
    environment = yaml.safe_load((ROOT / name).read_text())
    assert environment["name"] == PROJECT["name"]
    assert environment["channels"] == ["conda-forge"]
    *packages, last = environment["dependencies"]
    assert list(last) == ["pip"]
    return packages, last["pip"]


@pytest.mark.parametrize(
    ("name", "to_root", "extras"), [("environment.yml", ".", "[gpu]"), (".binder/environment.yml", "..", "")]
)
def test_environment_file_adds_python_and_pip_to_pyproject(name, to_root, extras):
    (python, pip), lines = conda(name)
    assert pip == "pip"
    minor = re.fullmatch(r"python=(\d+\.\d+)", python)
    assert minor
    assert f"Programming Language :: Python :: {minor.group(1)}" in PROJECT["classifiers"]
    constraints = "constraints.txt" if to_root == "." else f"{to_root}/constraints.txt"
    assert lines == [f"-c {constraints}", f"-e {to_root}{extras}"]
    folder = (ROOT / name).parent
    assert (folder / constraints).resolve() == ROOT / "constraints.txt"
    assert (folder / to_root).resolve() == ROOT
    assert not extras or extras.strip("[]") in EXTRAS


def test_both_environment_files_have_the_same_python():
    assert conda("environment.yml")[0] == conda(".binder/environment.yml")[0]


def test_classifiers_begin_with_the_oldest_allowed_python():
    versions = setup_environment.tested_versions((ROOT / "pyproject.toml").read_text())
    assert versions == sorted(versions)
    allowed = SpecifierSet(PROJECT["requires-python"])
    major, minor = versions[0]
    assert allowed.contains(f"{major}.{minor}")
    assert not allowed.contains(f"{major}.{minor - 1}")


def test_every_requirement_is_pinned_to_one_version():
    pinned = {canonicalize_name(pin.name) for pin in PINS}
    assert {canonicalize_name(requirement.name) for requirement in REQUIREMENTS} <= pinned
    for pin in PINS:
        assert re.fullmatch(r"==[\w.]+", str(pin.specifier)), f"{pin} is not one version"


def test_the_pins_name_no_index_no_address_and_no_path():
    for line in PIN_LINES:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; .+)?", line), line


def test_what_is_installed_here_is_what_is_pinned():
    wrong = []
    for pin in PINS:
        if pin.marker is not None and not pin.marker.evaluate():
            continue
        try:
            installed = metadata.version(pin.name)
        except metadata.PackageNotFoundError:
            continue  # of another extra
        if not pin.specifier.contains(installed, prereleases=True):
            wrong.append(f"{pin.name} {installed}, pinned {pin.specifier}")
    assert not wrong, f"{wrong}: run make test, which sets up from constraints.txt"


def test_the_base_packages_need_no_gpu_and_no_test_tool():
    base = {canonicalize_name(Requirement(requirement).name) for requirement in PROJECT["dependencies"]}
    for extra in ("gpu", "test"):
        assert not base & {canonicalize_name(Requirement(requirement).name) for requirement in EXTRAS[extra]}


FIRST_WORD = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)  # imports, and some sentences


def test_every_package_that_the_code_imports_is_declared():
    groups = (PROJECT["dependencies"], EXTRAS["gpu"], EXTRAS["tune"], EXTRAS["slides"])
    declared = {canonicalize_name(Requirement(requirement).name) for group in groups for requirement in group}
    of_a_gpu = {"cupy": ["cupy-cuda12x"], "cupy_backends": ["cupy-cuda12x"]}
    distributions = of_a_gpu | metadata.packages_distributions()
    theirs = {top for top, names in distributions.items() if declared & {canonicalize_name(name) for name in names}}
    theirs |= {name.replace("-", "_") for name in declared}  # of extras that are not installed
    known = theirs | sys.stdlib_module_names | {"helpers", "gemm_kernels", "gpusim"}
    undeclared = []
    for path in [*ROOT.glob("helpers/**/*.py"), *ROOT.glob("gemm_kernels/**/*.py")]:
        if path.name in ("hatch_build.py", "tile_language.py"):
            continue  # run in environments of their own, which have hatchling, or Triton
        if path.match("slides/check.py"):
            continue  # `make slides CHECK=1` installs what tests need
        text = path.read_text(encoding="utf-8")
        if set(FIRST_WORD.findall(text)) <= known:
            continue  # to parse all files takes seconds
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(str(node.module))
            for top in {name.split(".")[0] for name in names} - known:
                undeclared.append(f"{path.relative_to(ROOT)}:{node.lineno} imports {top}")
    assert not undeclared
