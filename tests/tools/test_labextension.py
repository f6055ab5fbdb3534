"""The JupyterLab extension for %%cuda cells: built from its source as it stands, small, installed with the course."""

import json
import re
import shutil
import subprocess
import tomllib

import pytest

from helpers.tools import labextension

BUILT = [path for path in labextension.BUILT.rglob("*") if path.is_file()]


def test_it_was_built_from_the_source_as_it_stands():
    digest = (labextension.BUILT / labextension.DIGEST).read_text().strip()
    assert digest == labextension.digest_of_source(), "the source was changed: make labextension"


def test_what_is_kept_is_small_and_names_no_registry():
    assert sum(path.stat().st_size for path in BUILT) < 100_000
    assert not [path.name for path in BUILT if path.suffix == ".map"]
    assert not [path.name for path in BUILT if re.search(r"https?://|sourceMappingURL", path.read_text())]
    kept = {path.name for path in labextension.HOME.iterdir()}
    assert kept == {"package.json", "src", "labextension"}


def test_the_builder_is_pinned_to_one_version():
    package = json.loads((labextension.HOME / "package.json").read_text())
    for name, version in {**package["dependencies"], **package["devDependencies"]}.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} {version} is not one version"


def test_an_install_of_the_course_puts_it_where_jupyterlab_looks():
    package = json.loads((labextension.BUILT / "package.json").read_text())
    assert (labextension.BUILT / package["jupyterlab"]["_build"]["load"]).is_file()
    wheel = tomllib.loads((labextension.ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    folder = labextension.BUILT.relative_to(labextension.ROOT).as_posix()
    assert wheel["shared-data"][folder] == f"share/jupyter/labextensions/{package['name']}"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('✘ kernel.cu:5: error: expected a ";"\n    5 | }', {"5": "error"}),
        ("✔ Compiled: k.\n\nkernel.cu:7: warning: unused\nkernel.cu:2: note: here", {"7": "warning"}),
        ("✘ Thread 3 reads in line 4, 32 bytes, and lines 20 and 21, in block (1, 0).", {"4": 0, "20": 0, "21": 0}),
        ("✘ Some wait at line 5, 9.", {"5": 0, "9": 0}),
        ("✘ Line 6 is never reached. Put it between line 3 and line 5.", {"6": 0, "3": 0, "5": 0}),
        ("✔ Right: line 4 is coalesced.", {}),
    ],
)
def test_the_lines_that_a_verdict_names_are_found(text, lines):
    module = (labextension.HOME / "src" / "lines.js").as_uri()
    outputs = json.dumps([{"output_type": "display_data", "data": {"text/plain": text}}])
    code = (
        f"import {{namedLines}} from {module!r}; console.log(JSON.stringify(Object.fromEntries(namedLines({outputs}))))"
    )
    command = ["node", "--no-warnings", "--input-type=module", "--eval", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert json.loads(printed) == {line: severity or "error" for line, severity in lines.items()}
