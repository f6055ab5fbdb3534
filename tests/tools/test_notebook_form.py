"""The form of notebooks: each rule is noticed by a sentence with the cell's number, mended or left to the author."""

import base64
import copy
import json
import re
import struct
import zlib
from collections.abc import Callable

import pytest
from nbformat import NotebookNode, v4

from helpers import plan
from helpers.tools.notebooks import form


def png(width: int) -> str:
    """A one-row grey PNG as base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)
    row = zlib.compress(b"\0" + b"\x7f" * width)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", row) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


def result(count: int, **data: object) -> NotebookNode:
    names = {"png": "image/png", "plain": "text/plain", "html": "text/html", "script": "application/javascript"}
    return v4.new_output("execute_result", {names[key]: value for key, value in data.items()}, execution_count=count)


def sound() -> NotebookNode:
    """A small notebook in canonical form: a title, a picture, a printed line, an error that teaches, an end."""
    cells = [
        v4.new_markdown_cell("# A title"),
        v4.new_code_cell("picture", execution_count=1, outputs=[result(1, png=png(form.PNG_WIDTH), plain="caption")]),
        v4.new_code_cell("print(1)", execution_count=2, outputs=[v4.new_output("stream", name="stdout", text="1\n")]),
        v4.new_code_cell(
            "1/0",
            execution_count=3,
            metadata={"tags": ["raises-exception"]},
            outputs=[v4.new_output("error", ename="E", evalue="zero", traceback=["E: zero"])],
        ),
        v4.new_markdown_cell("The end."),
    ]
    return form.mended(v4.new_notebook(cells=cells))


def sentences(notebook: NotebookNode) -> str:
    return "\n".join(form.problems(notebook))


def test_sound_notebook_has_no_problem_and_mending_changes_none():
    notebook = sound()
    assert form.problems(notebook) == []
    assert form.mended(notebook) == notebook
    assert form.check(form.written(notebook)) == []


def widget(cell: NotebookNode) -> None:
    cell.outputs = [v4.new_output("display_data", {form.WIDGET_VIEW: {"model_id": "1"}, "text/plain": "IntSlider()"})]


def pieces(cell: NotebookNode) -> None:
    cell.outputs = [v4.new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")]


def with_traceback(cell: NotebookNode) -> None:
    cell.outputs[0].traceback = ["Traceback", 'File "/home/me/x.py", line 1', "E: zero"]


MENDED: dict[str, tuple[int, Callable[[NotebookNode], object]]] = {
    "cell 2 (picture) has carriage returns or ends in blank lines": (1, lambda cell: cell.update(source="picture\r\n")),
    "cell 2 (picture) stores when it was run": (1, lambda cell: cell.metadata.update(execution={"shell": "12:00"})),
    "cell 5 (The end.) has metadata or attachments that belong to one": (
        4,
        lambda c: c.metadata.update(colab={"a": 1}),
    ),
    "cell 3 (print(1)) stores a widget, which is dead in a file": (2, widget),
    "cell 3 (print(1)) has tags that are unsorted": (2, lambda cell: cell.metadata.update(tags=[])),
    "cell 3 (print(1)) is hidden but not tagged hide-input": (
        2,
        lambda cell: cell.metadata.update(jupyter=NotebookNode(source_hidden=True)),
    ),
    "cell 2 (picture) is hidden but not tagged hide-input or answer, or tagged so but not hidden": (
        1,
        lambda cell: cell.metadata.update(tags=["hide-input"]),
    ),
    "cell 3 (print(1)) prints in several pieces": (2, pieces),
    "cell 2 (picture) has output metadata other than": (
        1,
        lambda cell: cell.outputs[0].metadata.update(needs_background="light"),
    ),
    "cell 2 (picture) has line breaks inside": (
        1,
        lambda cell: cell.outputs[0].data.update({"image/png": cell.outputs[0].data["image/png"] + "\n"}),
    ),
    "cell 4 (1/0) stores a traceback": (3, with_traceback),
    "cell 3 (print(1)) has an execution count out of sequence": (2, lambda cell: cell.update(execution_count=7)),
    "cell 3 (print(1)) has an id that is not the one its text gives": (2, lambda cell: cell.update(id="random")),
    "cell 3 is empty": (2, lambda cell: cell.update(source="\n", outputs=[])),
}


@pytest.mark.parametrize("sentence", MENDED)
def test_what_a_run_adds_by_chance_is_named_mended_and_then_gone(sentence):
    position, spoil = MENDED[sentence]
    notebook = sound()
    spoil(notebook.cells[position])
    assert sentence in sentences(notebook)
    once = form.mended(notebook)
    assert form.problems(once) == []
    assert form.mended(once) == once


def test_one_fault_is_one_sentence():
    notebook = sound()
    notebook.cells[2].execution_count = 7
    assert len(form.problems(notebook)) == 1


def test_a_mended_widget_is_gone_and_its_cell_is_not_compared():
    notebook = sound()
    widget(notebook.cells[2])
    notebook.metadata["widgets"] = {form.WIDGET_VIEW: {"state": {}}}
    assert "the notebook stores the state of its widgets" in sentences(notebook)
    mended = form.mended(notebook)
    assert mended.cells[2].outputs == []
    assert mended.cells[2].metadata.tags == ["nbval-ignore-output"]
    assert "widgets" not in mended.metadata


def test_what_a_widget_says_in_html_stays_when_the_widget_goes():
    notebook = sound()
    widget(notebook.cells[2])
    notebook.cells[2].outputs[0].data["text/html"] = "<p>Predict.</p>"
    (output,) = form.mended(notebook).cells[2].outputs
    assert output.data == {"text/plain": "IntSlider()", "text/html": "<p>Predict.</p>"}


def test_an_answer_is_closed_in_the_file_and_its_code_is_not():
    notebook = sound()
    notebook.cells[2].metadata["tags"] = ["answer"]
    assert form.mended(notebook).cells[2].metadata.jupyter == {"outputs_hidden": True}
    notebook.cells[2].metadata["tags"] = ["answer", "hide-input"]
    assert form.mended(notebook).cells[2].metadata.jupyter == {"outputs_hidden": True, "source_hidden": True}


def test_the_width_height_and_text_of_a_picture_are_kept():
    notebook = sound()
    shown = {"width": 900, "height": 1, "alt": "caption"}
    notebook.cells[1].outputs[0].metadata = NotebookNode({"image/png": NotebookNode(shown, dpi=3), "other": 1})
    assert form.mended(notebook).cells[1].outputs[0].metadata == {"image/png": shown}


def test_ids_are_unique_and_the_same_for_the_same_text():
    cells = [v4.new_markdown_cell("# A title"), *(v4.new_code_cell("same()", execution_count=1) for _ in range(3))]
    first, second = (form.mended(v4.new_notebook(cells=copy.deepcopy(cells))) for _ in range(2))
    ids = [cell.id for cell in first.cells]
    assert ids == [cell.id for cell in second.cells]
    assert len(set(ids)) == 4
    assert all(re.fullmatch("[0-9a-f]{8}(-[23])?", cell_id) for cell_id in ids)


def test_a_cell_in_which_an_idea_is_taught_keeps_its_id():
    named = sorted(form._named_places())[0]
    cells = [v4.new_markdown_cell("# A title"), v4.new_markdown_cell("New words.", id=named)]
    assert form.mended(v4.new_notebook(cells=cells)).cells[1].id == named
    doubled = v4.new_notebook(cells=cells)
    doubled.cells.append(NotebookNode(cells[1], source="Copied."))
    assert len({cell.id for cell in form.mended(doubled).cells}) == 3


def test_wrong_notebook_metadata_and_format_are_named_and_mended():
    notebook = sound()
    notebook.metadata.kernelspec = NotebookNode(name="conda-env-x", display_name="x", language="python")
    notebook.nbformat_minor = 4
    assert "the notebook is of format 4.4, expected 4.5." in sentences(notebook)
    assert "conda-env-x" in sentences(notebook) and 'expected {"kernelspec"' in sentences(notebook)
    assert form.problems(form.mended(notebook)) == []


def long_code(cell: NotebookNode) -> None:
    cell.source = "\n".join(f"line_{number} = {number}" for number in range(form.MAX_CODE_LINES + 1))


def kernel_of(lines: int) -> str:
    """The cell of an exercise with a kernel of so many lines."""
    kernel = "\n".join(f"// line {number}" for number in range(lines))
    return f'my_kernel = r"""\n{kernel}\n"""\nexercise.check(my_kernel)'


def long_kernel(cell: NotebookNode) -> None:
    cell.source = kernel_of(form.MAX_KERNEL_LINES + 1)


def stderr(cell: NotebookNode) -> None:
    cell.outputs = [v4.new_output("stream", name="stderr", text="UserWarning: odd\n")]


def printed(text: str) -> Callable[[NotebookNode], None]:
    return lambda cell: cell.update(outputs=[v4.new_output("stream", name="stdout", text=text)])


LEFT: dict[str, tuple[int, Callable[[NotebookNode], object]]] = {
    "cell 3 (print(1)) is tagged 'remove-cell'; the course knows answer, hide-input,": (
        2,
        lambda cell: cell.metadata.update(tags=["remove-cell"]),
    ),
    "cell 3 (line_0 = 0) has 16 lines of code, more than 15": (2, long_code),
    "has a kernel of 61 lines, more than 60": (2, long_kernel),
    "cell 3 (print(1)) was not run; `make notebooks`": (2, lambda cell: cell.update(execution_count=None)),
    "cell 4 (1/0) stores an error (E: zero)": (3, lambda cell: cell.metadata.pop("tags")),
    "cell 3 (print(1)) prints to stderr ('UserWarning: odd')": (2, stderr),
    "cell 3 (print(1)) stores an output of type application/javascript": (
        2,
        lambda cell: cell.update(outputs=[result(2, script="alert()")]),
    ),
    f"cell 3 (print(1)) stores a picture that is 640 pixels wide; every picture of the course is {form.PNG_WIDTH}": (
        2,
        lambda cell: cell.update(outputs=[result(2, png=png(640))]),
    ),
    "cell 3 (print(1)) prints a path of one machine (/home/ada)": (2, printed("saved in /home/ada/course\n")),
    "cell 3 (print(1)) prints a path of one machine (C:\\Users\\)": (2, printed("C:\\Users\\ada\n")),
    "the first cell is no Markdown cell that begins with '# '": (0, lambda cell: cell.update(source="A title")),
    "cell 5 (The end.) is a raw cell": (4, lambda cell: cell.update(cell_type="raw")),
}


@pytest.mark.parametrize("sentence", LEFT)
def test_what_only_the_author_can_decide_is_named_and_left(sentence):
    position, spoil = LEFT[sentence]
    notebook = sound()
    spoil(notebook.cells[position])
    assert sentence in sentences(notebook)
    assert sentence in sentences(form.mended(notebook))


def test_kernel_to_edit_may_be_longer_than_other_code():
    notebook = sound()
    notebook.cells[2].source = kernel_of(form.MAX_KERNEL_LINES)
    assert "lines" not in sentences(notebook)
    notebook.cells[2].source += "\n" + "\n".join(["pass"] * form.MAX_CODE_LINES)
    assert f"has {form.MAX_CODE_LINES + 3} lines of code" in sentences(notebook)
    notebook.cells[2].source = "%%cuda naive\n" + "\n".join(["// line"] * form.MAX_KERNEL_LINES)
    assert "lines" not in sentences(notebook)
    notebook.cells[2].source += "\n// line"
    assert f"has a kernel of {form.MAX_KERNEL_LINES + 1} lines" in sentences(notebook)


def test_paths_that_name_no_machine_are_no_problem():
    notebook = sound()
    printed("helpers/gpusim/src/gpusim, ../tmp/x, http://example.org/home/x, 3/root, 1/tmp\n")(notebook.cells[2])
    assert form.problems(notebook) == []


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no json", '{"nbformat": 3, "nbformat_minor": 0, "metadata": {}}'])
def test_a_file_that_is_no_notebook_is_said_to_be_none(text):
    (sentence,) = form.check(text)
    assert sentence.startswith("this is not a notebook of format 4: ")


def test_a_file_in_another_layout_is_noticed_and_rewritten(tmp_path):
    path = tmp_path / "00-x.ipynb"
    expected = form.written(sound())
    path.write_text(json.dumps(json.loads(expected), indent=2))
    assert form.check(path.read_text()) == [
        "the file is not as nbformat writes it (sorted keys, indent 1, a newline at the end)."
    ]
    assert form.fix(path) is True
    assert path.read_text() == expected
    assert form.fix(path) is False
    assert expected.endswith("}\n") and expected.startswith('{\n "cells"')


def test_command_reports_mends_and_sets_its_exit_status(tmp_path, capsys):
    path = tmp_path / "00-x.ipynb"
    notebook = sound()
    notebook.cells[2].id = "random"
    notebook.cells[2].metadata["tags"] = ["mine"]
    path.write_text(form.written(notebook))
    assert form.main([str(path)]) == 1
    assert "2 problems; `python -m helpers.tools.notebooks.form --fix` mends" in capsys.readouterr().out
    assert form.main(["--fix", str(path)]) == 1
    out = capsys.readouterr().out
    assert f"{path}: mended" in out
    assert "is tagged 'mine'" in out and "an id" not in out and out.endswith("1 problem\n")
    notebook.cells[2].metadata.pop("tags")
    path.write_text(form.written(notebook))
    assert form.main(["--fix", str(path)]) == 0
    assert form.main([str(path)]) == 0
    assert form.main([str(tmp_path / "none.ipynb")]) == 1


def test_every_notebook_of_the_course_is_in_canonical_form():
    broken = {path.name: form.check(path.read_text()) for path in sorted(plan.FOLDER.glob("*.ipynb"))}
    assert not {name: problems for name, problems in broken.items() if problems}, (
        "`make format` mends what needs no decision"
    )
