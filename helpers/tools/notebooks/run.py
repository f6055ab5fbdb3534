"""Run notebooks in the simulator and store their outputs in the one form that git keeps.

    python -m helpers.tools.notebooks.run [notebooks/03-….ipynb …]

The simulator gives the same numbers on every machine, so whoever runs this stores the same bytes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import nbclient
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from helpers import plan
from helpers.tools.notebooks import form

CELL_TIMEOUT = 120  # seconds; the slowest cell of the course takes a few


class NotebookFailed(Exception):
    """A cell did not run to its end; the message names the notebook, the cell and the error."""


def execute(text: str, folder: Path) -> str:
    """The text of a notebook file with the outputs of a fresh run in folder, in canonical form.

    Runs in the simulator, on the kernel of this Python's environment. Raises NotebookFailed if a cell raises (and is
    not tagged raises-exception), takes longer than CELL_TIMEOUT or kills its kernel, ValueError if text is no notebook.
    """
    notebook = form.mended(form.read(text))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        store_widget_state=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    # Told of no folder, the manager offers the kernel of this Python: not the user's own of the same name.
    client.km = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    try:
        # Nobody's own progress belongs in a stored output.
        settings = {"GEMM_COURSE_BACKEND": "simulator", "GEMM_COURSE_PROGRESS": "off", "GEMM_COURSE_MY": "off"}
        client.execute(env={**os.environ, **settings})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise NotebookFailed(str(error)) from error
    return form.written(form.mended(notebook))


def main(arguments: list[str]) -> int:
    """Run the notebooks given (all of them by default) and write them. Exit status 1 if one failed or breaks a rule."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.notebooks.run", description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; default: all in notebooks/")
    options = parser.parse_args(arguments)
    failed = 0
    for path in options.paths or sorted(plan.FOLDER.glob("*.ipynb")):
        started = time.monotonic()
        try:
            before = path.read_text(encoding="utf-8")
            after = execute(before, path.resolve().parent)
        except (NotebookFailed, ValueError, OSError) as error:
            failed += 1
            print(f"{path}: not stored. {error}", file=sys.stderr)
            continue
        path.write_text(after, encoding="utf-8", newline="\n")
        changed = "stored" if after != before else "unchanged"
        print(f"{path}: {changed}, ran in {time.monotonic() - started:.0f} s", flush=True)
        sentences = form.check(after)
        failed += bool(sentences)
        for sentence in sentences:
            print(f"{path}: {sentence}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
