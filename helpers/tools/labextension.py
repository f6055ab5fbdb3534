"""Builds the JupyterLab extension in `helpers/jupyter/cuda_cells`: `python -m helpers.tools.labextension`.

What it makes is kept with the project, in the folder `labextension` beside the source, so that a learner needs no
Node.js. Run it again when the source changes: a test says so.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import jupyterlab

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "helpers" / "jupyter" / "cuda_cells"
BUILT = HOME / "labextension"
FILTER = HOME / "src" / "dark.svg"  # pictures on a dark page
WORKSHOP = ROOT / "build" / "labextension"  # holds node_modules, 65 MB
DIGEST = "source.sha256"


def digest_of_source() -> str:
    """Of the files that the built ones are made from."""
    text = hashlib.sha256()
    for path in [HOME / "package.json", *sorted((HOME / "src").iterdir())]:
        text.update(path.read_bytes())
    return text.hexdigest()


def build() -> None:
    """Install the pinned builder into the workshop, build there, and put the result in the place of the old one.

    FileNotFoundError without npm, CalledProcessError if one of the steps fails.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm, of Node.js 20 or newer, is needed: https://nodejs.org")
    core = Path(jupyterlab.__file__).parent / "staging"
    WORKSHOP.mkdir(parents=True, exist_ok=True)
    shutil.copy(HOME / "package.json", WORKSHOP)
    shutil.rmtree(WORKSHOP / "src", ignore_errors=True)
    shutil.copytree(HOME / "src", WORKSHOP / "src")
    subprocess.run([npm, "install", "--no-package-lock", "--no-audit", "--no-fund"], cwd=WORKSHOP, check=True)
    subprocess.run([npm, "exec", "--", "build-labextension", "--core-path", core, "."], cwd=WORKSHOP, check=True)
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(WORKSHOP / "labextension", BUILT)
    (BUILT / DIGEST).write_text(f"{digest_of_source()}\n")


def main() -> None:
    build()
    size = sum(path.stat().st_size for path in BUILT.rglob("*") if path.is_file())
    sys.stdout.write(f"{BUILT}: {size:,} bytes\n")


if __name__ == "__main__":
    main()
