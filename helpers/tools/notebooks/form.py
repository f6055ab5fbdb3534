"""The one form in which notebooks are kept in git: checked, and mended with --fix.

    python -m helpers.tools.notebooks.form [--fix] [notebooks/03-….ipynb …]

Two people who run the same notebook must store the same bytes, so that a diff shows only what somebody meant. What a
run adds by chance (ids, timings, widget state, a user's metadata) is mended; what only its author can decide (a tag
nobody knows, a cell too long to project, an error in an output) is reported with the cell's number.

Each mender changes one thing, and a notebook breaks that rule exactly if the mender would change it: the check and the
fix are the same code.
"""

from __future__ import annotations

import argparse
import base64
import copy
import hashlib
import json
import re
import struct
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers import plan
from helpers.pictures import theme
from helpers.tools.notebooks import glossary, head

ROOT = Path(__file__).resolve().parents[3]

# nbval-ignore-output: its text differs from run to run (a live timing, a widget). raises-exception: the error is the
# lesson. answer: its output tells what a prediction asks, so it stays closed until the cell is run or opened.
# hide-input: code that is not the lesson, folded away in JupyterLab.
TAGS = ("answer", "hide-input", "nbval-ignore-output", "raises-exception")
MIME_TYPES = ("image/png", "text/html", "text/latex", "text/markdown", "text/plain")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
MAX_CODE_LINES = 15  # more does not fit on a projected slide beside its output
MAX_KERNEL_LINES = 60  # of a kernel that a learner edits, which must stand in the notebook as a whole
LEARNERS_KERNEL = re.compile(  # in a string, or in a cell of its own
    r'^my_kernel = r"""\n(?P<text>.*?)^"""$|\A%%cuda \w+\n(?P<cell>.*)', re.DOTALL | re.MULTILINE
)
PNG_WIDTH = round(theme.WIDTH * theme.DPI)  # pixels
COLAB_TITLE = "# Only on Google Colab:"
OF_THE_COURSE = re.compile(r"^(?:from|import) (?:gemm_kernels|gpusim|helpers)\b", re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.~/])/(?:home|root|tmp|Users|private/var)/[\w.-]+|\b[A-Z]:\\Users\\")


@dataclass(frozen=True)
class Mender:
    """One rule that can be mended.

    rule: what the cell does wrong, as the end of a sentence. mend: changes a cell of the given notebook in place.
    """

    rule: str
    mend: Callable[[NotebookNode, NotebookNode], None]


def repository_address(pyproject: Path = ROOT / "pyproject.toml") -> str:
    """The public address of the course's repository: `Repository` under [project.urls], empty while it has none."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return str(project.get("urls", {}).get("Repository", ""))


def colab_source(address: str) -> str:
    """The text of the first code cell, equal in all notebooks. Without an address it asks for one on Colab."""
    asked = 'input("This copy of the course names no public address. Its git repository: ")'
    return f"""{COLAB_TITLE} fetch the course, install what Colab lacks. Anywhere else: is this the course's kernel?
import os
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    course, address = "/content/gemm-course", os.environ.get("GEMM_COURSE_ADDRESS")
    address = address or {json.dumps(address) if address else asked}
    if not os.path.isdir(course):
        subprocess.run(["git", "clone", "--quiet", "--depth=1", address, course], check=True)
    os.chdir(course + "/notebooks")
    sys.path.insert(0, course)
    from helpers import colab

    colab.set_up()
elif not all(map(find_spec, ("gemm_kernels", "cuda", "ipywidgets"))):
    from IPython.core.error import UsageError

    raise UsageError(
        f"This kernel is not the course's: {{sys.executable}} lacks its packages. In VS Code choose Select Kernel > "
        "Python Environments > .venv, that of the course's folder. In a terminal, `make lab` in that folder opens "
        "JupyterLab with the right kernel."
    )"""


def _is_colab_cell(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and cell.source.startswith(COLAB_TITLE)


def _mend_colab(notebook: NotebookNode) -> None:
    """Put the cell for Colab right after the title of a notebook that imports something of the course."""
    cells = [cell for cell in notebook.cells if not _is_colab_cell(cell)]
    if any(cell.cell_type == "code" and OF_THE_COURSE.search(cell.source) for cell in cells):
        source = colab_source(repository_address())
        colab = next((cell for cell in notebook.cells if _is_colab_cell(cell)), None) or nbformat.v4.new_code_cell()
        if colab.source != source:
            colab.source, colab.execution_count, colab.outputs = source, 1, []
        colab.metadata["tags"] = ["hide-input"]
        cells.insert(1, colab)
    notebook.cells = cells


def _mend_head(cell: NotebookNode, notebook: NotebookNode) -> None:
    if cell is notebook.cells[0] and cell.cell_type == "markdown":
        cell.source = head.with_head(cell.source, plan.course(), plan.FOLDER)


def _mend_terms(cell: NotebookNode, _: NotebookNode) -> None:
    if cell.cell_type == "markdown":
        cell.source = glossary.linked(cell.source)


def _mend_source(cell: NotebookNode, _: NotebookNode) -> None:
    cell.source = cell.source.replace("\r\n", "\n").replace("\r", "\n").rstrip()


def _mend_timing(cell: NotebookNode, _: NotebookNode) -> None:
    for key in ("execution", "ExecuteTime"):
        cell.metadata.pop(key, None)


def _mend_metadata(cell: NotebookNode, _: NotebookNode) -> None:
    allowed = ("tags", "jupyter", "execution", "ExecuteTime")  # timings have their own sentence
    for key in [key for key in cell.metadata if key not in allowed]:
        del cell.metadata[key]
    cell.pop("attachments", None)


def _mend_tags(cell: NotebookNode, _: NotebookNode) -> None:
    tags = sorted(set(cell.metadata.pop("tags", [])))
    if tags:
        cell.metadata["tags"] = tags


def _mend_hidden(cell: NotebookNode, _: NotebookNode) -> None:
    cell.metadata.pop("jupyter", None)
    closed = {"hide-input": "source_hidden", "answer": "outputs_hidden"}
    hidden = {closed[tag]: True for tag in cell.metadata.get("tags", []) if tag in closed}
    if hidden:
        cell.metadata["jupyter"] = NotebookNode(hidden)


def _mend_widget(cell: NotebookNode, _: NotebookNode) -> None:
    """What a widget says in HTML, such as a prediction's question on paper, is alive in a file, too, and stays."""
    live = [output for output in cell.get("outputs", []) if WIDGET_VIEW in output.get("data", {})]
    for output in live:
        del output.data[WIDGET_VIEW]
    if live:
        cell.outputs = [
            output for output in cell.outputs if not any(output is out for out in live) or "text/html" in output.data
        ]
        cell.metadata["tags"] = sorted({*cell.metadata.get("tags", []), "nbval-ignore-output"})


def _mend_streams(cell: NotebookNode, _: NotebookNode) -> None:
    joined: list[NotebookNode] = []
    for output in cell.get("outputs", []):
        before = joined[-1] if joined else None
        if before and before.output_type == output.output_type == "stream" and before.name == output.name:
            before.text += output.text
        else:
            joined.append(output)
    if "outputs" in cell:
        cell.outputs = joined


def _mend_output_metadata(cell: NotebookNode, _: NotebookNode) -> None:
    for output in cell.get("outputs", []):
        if "metadata" in output:
            picture = output.metadata.get("image/png", {})
            shown = {key: picture[key] for key in ("alt", "height", "width") if key in picture}
            output.metadata = NotebookNode({"image/png": NotebookNode(shown)} if shown else {})


def _mend_png(cell: NotebookNode, _: NotebookNode) -> None:
    for output in cell.get("outputs", []):
        if "image/png" in output.get("data", {}):
            output.data["image/png"] = "".join(output.data["image/png"].split())


def _mend_traceback(cell: NotebookNode, _: NotebookNode) -> None:
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            output.traceback = [f"{output.ename}: {output.evalue}"]


def _mend_count(cell: NotebookNode, notebook: NotebookNode) -> None:
    if cell.cell_type != "code" or cell.execution_count is None:
        return
    position = _position(cell, notebook)
    cell.execution_count = 1 + sum(cell.cell_type == "code" for cell in notebook.cells[:position])
    for output in cell.outputs:
        if output.output_type == "execute_result":
            output.execution_count = cell.execution_count


def _mend_id(cell: NotebookNode, notebook: NotebookNode) -> None:
    """An id says what the cell is, so that the same notebook built twice has the same ids.

    One that coverage.toml names stays with its cell, however the text changes: an idea is taught there.
    """
    if cell.get("id") in _named_places() and sum(other.get("id") == cell.id for other in notebook.cells) == 1:
        return
    position = _position(cell, notebook)
    text = f"{cell.cell_type}\n{cell.source.strip()}"
    same = sum(f"{cell.cell_type}\n{cell.source.strip()}" == text for cell in notebook.cells[:position])
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    cell["id"] = digest if not same else f"{digest}-{same + 1}"


def _named_places(file: Path = plan.FOLDER / "coverage.toml") -> frozenset[str]:
    """The ids of the cells in which ideas are taught."""
    return _read_places(file, file.stat().st_mtime_ns)


@cache
def _read_places(file: Path, modified: int) -> frozenset[str]:
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["idea"]
    return frozenset(location.partition(":")[2] for row in rows for location in row["places"])


def _position(cell: NotebookNode, notebook: NotebookNode) -> int:
    return next(index for index, other in enumerate(notebook.cells) if other is cell)


# In this order: a widget's output adds a tag, tags decide what is hidden, and an id is made of the mended source.
MENDERS = (
    Mender("has carriage returns or ends in blank lines", _mend_source),
    Mender(f"has another title, other minutes or other neighbours than {plan.FILE} says", _mend_head),
    Mender("links a term to the glossary, but not to its entry there", _mend_terms),
    Mender("stores when it was run (execution timing)", _mend_timing),
    Mender("has metadata or attachments that belong to one user's editor", _mend_metadata),
    Mender(
        "stores a widget, which is dead in a file; what it says in HTML stays, nbval-ignore-output comes", _mend_widget
    ),
    Mender("has tags that are unsorted, doubled or an empty list", _mend_tags),
    Mender("is hidden but not tagged hide-input or answer, or tagged so but not hidden", _mend_hidden),
    Mender("prints in several pieces that are one stream", _mend_streams),
    Mender("has output metadata other than a picture's width, height and alternative text", _mend_output_metadata),
    Mender("has line breaks inside a picture's base64", _mend_png),
    Mender("stores a traceback, which names files of one machine; one line is kept", _mend_traceback),
    Mender("has an execution count out of sequence", _mend_count),
    Mender("has an id that is not the one its text gives", _mend_id),
)


def mended(notebook: NotebookNode) -> NotebookNode:
    """A copy in canonical form, as far as that needs no decision. Mending twice changes nothing more."""
    copied = copy.deepcopy(notebook)
    copied.metadata = NotebookNode(copy.deepcopy(METADATA))
    copied.nbformat, copied.nbformat_minor = 4, 5
    copied.cells = [cell for cell in copied.cells if not _is_empty(cell)]
    _mend_colab(copied)
    for mender in MENDERS:
        for cell in copied.cells:
            mender.mend(cell, copied)
    return copied


def problems(notebook: NotebookNode) -> list[str]:
    """Every rule that the notebook breaks, a sentence each; cells are numbered from 1, as they stand in the file."""
    sentences = []
    if (notebook.nbformat, notebook.nbformat_minor) != (4, 5):
        sentences.append(f"the notebook is of format {notebook.nbformat}.{notebook.nbformat_minor}, expected 4.5.")
    if "widgets" in notebook.metadata:
        sentences.append("the notebook stores the state of its widgets, which grows and is dead in a file.")
    others = {key: value for key, value in notebook.metadata.items() if key != "widgets"}
    if others != METADATA:
        sentences.append(f"the notebook's metadata is {json.dumps(others)}, expected {json.dumps(METADATA)}.")
    for number, cell in enumerate(notebook.cells, 1):
        name = _name(number, cell)
        if _is_empty(cell):
            sentences.append(f"{name} is empty.")
            continue
        sentences += [f"{name} {mender.rule}." for mender in MENDERS if _would_change(mender, cell, notebook)]
        sentences += [f"{name} {rule}" for rule in _undecided(cell)]
    return sentences + list(_undecided_notebook(notebook))


def _would_change(mender: Mender, cell: NotebookNode, notebook: NotebookNode) -> bool:
    trial = copy.copy(notebook)
    changed = copy.deepcopy(cell)
    trial.cells = [changed if other is cell else other for other in notebook.cells]
    mender.mend(changed, trial)
    return changed != cell


def _undecided(cell: NotebookNode) -> Iterator[str]:
    """What is wrong with one cell and only its author can put right, as ends of sentences."""
    for tag in cell.metadata.get("tags", []):
        if tag not in TAGS:
            yield f"is tagged {tag!r}; the course knows {', '.join(TAGS)}."
    if cell.cell_type == "raw":
        yield "is a raw cell, which JupyterLab shows as grey text; make it Markdown or code."
    if cell.cell_type != "code":
        return
    kernel = LEARNERS_KERNEL.search(cell.source)
    kernel_lines = (kernel["text"] or kernel["cell"]).rstrip().count("\n") + 1 if kernel else 0
    if kernel_lines > MAX_KERNEL_LINES:
        yield f"has a kernel of {kernel_lines} lines, more than {MAX_KERNEL_LINES}: give the learner a shorter one."
    lines = cell.source.rstrip().count("\n") + 1 - kernel_lines
    if lines > MAX_CODE_LINES and not _is_colab_cell(cell):  # which is folded, and on no slide
        yield f"has {lines} lines of code, more than {MAX_CODE_LINES}: split it, or give the logic a name in helpers."
    if cell.execution_count is None:
        yield "was not run; `make notebooks` runs every cell."
    for output in cell.outputs:
        yield from _undecided_output(output, cell.metadata.get("tags", []))


def _undecided_output(output: NotebookNode, tags: Iterable[str]) -> Iterator[str]:
    if output.output_type == "error" and "raises-exception" not in tags:
        yield f"stores an error ({output.ename}: {output.evalue}); mend it, or tag it raises-exception if it teaches."
    if output.output_type == "stream" and output.name == "stderr":
        first = output.text.strip().split("\n")[0]
        yield f"prints to stderr ({first[:80]!r}); a reader takes that for a failure."
    for mime in output.get("data", {}):
        if mime not in (*MIME_TYPES, WIDGET_VIEW):
            yield f"stores an output of type {mime}; a reader on the web sees {', '.join(MIME_TYPES)}."
    if "image/png" in output.get("data", {}):
        width = png_width(output.data["image/png"])
        if width != PNG_WIDTH:
            yield (
                f"stores a picture that is {width} pixels wide; every picture of the course is {PNG_WIDTH} "
                "(a figure of helpers.pictures is)."
            )
    path = MACHINE_PATH.search(_text_of(output))
    if path:
        yield f"prints a path of one machine ({path.group()})."


def _undecided_notebook(notebook: NotebookNode) -> Iterator[str]:
    cells = [cell for cell in notebook.cells if not _is_empty(cell)]
    if not cells:
        yield "the notebook has no cells."
        return
    expected = copy.deepcopy(notebook)
    expected.cells = copy.deepcopy(cells)
    _mend_colab(expected)
    if expected.cells != cells:
        yield "the second cell is not the one for Google Colab, equal in all notebooks; `make format` writes it."
    if cells[0].cell_type != "markdown" or not cells[0].source.startswith("# "):
        yield "the first cell is no Markdown cell that begins with '# ' and the title."
    last = cells[-1]
    if "hide-input" in last.metadata.get("tags", []) and not last.get("outputs"):
        yield f"{_name(len(notebook.cells), last)} is the last one and shows nothing."


def _is_empty(cell: NotebookNode) -> bool:
    return not cell.source.strip() and not cell.get("outputs")


def _name(number: int, cell: NotebookNode) -> str:
    first = cell.source.strip().split("\n")[0]
    return f"cell {number} ({first if len(first) <= 40 else first[:39] + '…'})" if first else f"cell {number}"


def _text_of(output: NotebookNode) -> str:
    texts = [str(text) for mime, text in output.get("data", {}).items() if mime.startswith("text/")]
    return "\n".join([*texts, output.get("text", ""), output.get("evalue", "")])


def png_width(encoded: str) -> int:
    """Width in pixels of a PNG given as base64: the first field of its IHDR chunk (PNG specification, 11.2.1)."""
    return int(struct.unpack(">I", base64.b64decode(encoded)[16:20])[0])


def read(text: str) -> NotebookNode:
    """The notebook in a file's text. Raises ValueError with a sentence if it is none."""
    try:
        # Not nbformat.reads, which gives cells without an id a random one.
        notebook = nbformat.v4.reads(text)
        nbformat.validate(mended(notebook))
    except Exception as error:  # nbformat raises json, attribute, key and validation errors for the various ways
        raise ValueError(f"this is not a notebook of format 4: {str(error).splitlines()[0]}") from error
    return notebook


def written(notebook: NotebookNode) -> str:
    """The text of the file: as nbformat writes it, keys sorted, indented by 1, with a newline at its end."""
    return str(nbformat.writes(notebook, version=nbformat.NO_CONVERT)).rstrip("\n") + "\n"


def check(text: str) -> list[str]:
    """Every problem of a notebook's file, a sentence each; an empty list if it is in canonical form."""
    try:
        notebook = read(text)
    except ValueError as error:
        return [str(error)]
    sentences = problems(notebook)
    if not sentences and text != written(notebook):
        sentences.append("the file is not as nbformat writes it (sorted keys, indent 1, a newline at the end).")
    return sentences


def fix(path: Path) -> bool:
    """Write the file in canonical form. Returns whether its text changed; ValueError if it is no notebook."""
    before = path.read_text(encoding="utf-8")
    after = written(mended(read(before)))
    if after != before:
        path.write_text(after, encoding="utf-8", newline="\n")
    return after != before


def main(arguments: list[str]) -> int:
    """Check, or mend and check, the notebooks given (all of them by default). Exit status 1 if a problem is left."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.notebooks.form", description=__doc__.split("\n")[0])
    parser.add_argument("--fix", action="store_true", help="mend what needs no decision")
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; default: all in notebooks/")
    options = parser.parse_args(arguments)
    left = 0
    for path in options.paths or sorted(plan.FOLDER.glob("*.ipynb")):
        try:
            if options.fix and fix(path):
                print(f"{path}: mended")
            sentences = check(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValueError) as error:
            sentences = [str(error)]
        left += len(sentences)
        for sentence in sentences:
            print(f"{path}: {sentence}")
    if left:
        hint = "" if options.fix else "; `python -m helpers.tools.notebooks.form --fix` mends what needs no decision"
        print(f"{left} problem{'' if left == 1 else 's'}{hint}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
