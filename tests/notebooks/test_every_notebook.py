"""What a reader of any notebook can rely on: terms lead to the glossary, links to files, explorers have a twin."""

import ast
import re
import symtable

import pytest
from nbformat import NotebookNode

from helpers import plan
from helpers.slides import steps
from helpers.tools.notebooks import glossary
from helpers.tools.pages import course
from tests.notebooks.support import FOLDER, LINKED_TERM, NUMBERS, cells, linked_terms

ROWS = [(", ".join(entry.terms), entry.text, entry.number) for entry in glossary.entries()]

OURS = ("gemm_kernels", "gpusim", "helpers")
LINKED_ENTRY = re.compile(r"\[\*\*([^\]*]+)\*\*\]\(glossary\.md(?:#([^)]*))?\)")
EXERCISE = re.compile(r"exercises\.get\(|\.check\w*\(|\.hint\(|\A\w+\.show\(|\A%%cuda |course\.here\(")


def plain(text: str) -> str:
    return " ".join(text.lower().split())


def singulars(term: str) -> set[str]:
    """A term and what it may be the plural of: 'phases' → 'phase', 'spills' → 'spill'."""
    return {plain(term), plain(term).removesuffix("s")}


TERMS = {plain(term) for row in ROWS for term in row[0].split(", ")}


def markdown(number: str) -> list[str]:
    """The Markdown cells."""
    return [cell.source for cell in cells(number) if cell.cell_type == "markdown"]


def linked(number: str) -> set[str]:
    links = LINKED_TERM.findall("\n".join(markdown(number)))
    return set().union(*map(singulars, links)) if links else set()


@pytest.mark.parametrize("number", NUMBERS)
def test_term_is_linked_to_the_glossary_where_it_is_explained(number):
    rows = [row[0] for row in ROWS if row[2] == number]
    assert [row for row in rows if not any(singulars(term) & linked(number) for term in row.split(", "))] == []


@pytest.mark.parametrize("number", NUMBERS)
def test_a_term_of_the_glossary_that_stands_in_bold_is_a_link(number):
    text = LINKED_TERM.sub("", "\n".join(markdown(number)))
    bold = re.findall(r"\*\*([^*]{2,60})\*\*", text)
    assert [term for term in bold if singulars(term) & TERMS] == []


def test_glossary_is_sorted_with_a_sentence_and_notebook_a_row():
    names = [row[0].lower() for row in ROWS]
    assert names == sorted(names) and len(set(names)) == len(names)
    for term, sentence, number in ROWS:
        assert sentence.endswith(".") and number in NUMBERS, term


@pytest.mark.parametrize("number", NUMBERS)
def test_every_term_that_a_notebook_links_is_in_the_glossary(number):
    assert [term for term in linked_terms(number) if not singulars(term) & TERMS] == []


@pytest.mark.parametrize("number", NUMBERS)
def test_notebook_that_is_said_to_explain_a_term_has_it(number):
    written = " ".join(plan.course().notebook(number).path.read_text(encoding="utf-8").split()).lower()
    terms = [term for row in ROWS if row[2] == number for term in row[0].split(", ")]
    assert [term for term in terms if term.lower().removesuffix(" on …") not in written] == []


@pytest.mark.parametrize("number", NUMBERS)
def test_every_link_to_a_file_leads_to_one(number):
    text = "\n".join(markdown(number))
    targets = {target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target}
    headings = {f"#{title.replace(' ', '-')}" for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    files = {target.split("#")[0] for target in targets - headings}
    assert {file for file in files if not (FOLDER / file).is_file()} == set()


@pytest.mark.parametrize("number", NUMBERS)
def test_ideas_are_three_sentences_without_later_terms(number):
    sentences = plan.course().notebook(number).summary.splitlines()
    assert len(sentences) == 3 and all(re.fullmatch(r"[A-Z].*\w\.", sentence) for sentence in sentences)
    assert all(len(re.findall(r"[.?!]( |$)", sentence)) == 1 for sentence in sentences), "one sentence on each line"
    later = [term for row in ROWS if row[2] >= number for term in row[0].split(", ")]
    words = plain(" ".join(sentences))
    assert [term for term in later if re.search(rf"\b{re.escape(plain(term))}(s|ed|ing)?\b", words)] == []


@pytest.mark.parametrize("number", NUMBERS[2:])
def test_notebook_says_its_kernels_limit_and_next_begins_there(number):
    here = plan.course().notebook(number)
    assert here.now is not None and here.then is not None


def test_link_to_the_first_step_leads_to_an_existing_cell():
    """JupyterLab finds a cell by its id, and no heading with a sign such as · in it."""
    start_cells = cells("00")
    ((file, cell_id),) = re.findall(r"\]\(([\w.]+)#cell-id=(\w+)\)", start_cells[0].source)
    (target,) = (cell for cell in start_cells if cell.id == cell_id)
    assert file == plan.course().notebook("00").file
    assert target.source.startswith("## 1 · ")


def test_every_entry_of_the_glossary_leads_to_its_notebook():
    text = (FOLDER / "glossary.md").read_text(encoding="utf-8")
    links = re.findall(r"\*Notebook \[(\d\d)\]\((\S+)\)\.\*$", text, re.MULTILINE)
    assert len(links) == len(ROWS) == text.count("### ")
    assert all(plan.course().notebook(number).file == file for number, file in links)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_link_of_a_term_leads_to_its_entry(number):
    anchors = {entry.anchor for entry in glossary.entries()}
    targets = [link[2] for link in LINKED_ENTRY.finditer("\n".join(markdown(number)))]
    assert targets and [target for target in targets if target not in anchors] == []


def test_terms_with_capitals_have_a_lower_case_anchor():
    text = (FOLDER / "glossary.md").read_text(encoding="utf-8")
    capitals = [entry for entry in glossary.entries() if entry.terms[0] != entry.terms[0].lower()]
    assert capitals and all(f'<a id="{entry.anchor}"></a>\n\n### {entry.terms[0]}\n' in text for entry in capitals)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_picture_has_a_caption(number):
    for cell in cells(number):
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                assert output.metadata["image/png"]["alt"].strip().endswith("."), cell.source


def cells_by_step(number: str) -> list[list[NotebookNode]]:
    """The cells of each step, the title's first."""
    sections: list[list[NotebookNode]] = [[]]
    for cell in cells(number):
        if cell.cell_type == "markdown" and steps.STEP.search(cell.source):
            sections.append([])
        sections[-1].append(cell)
    return sections


@pytest.mark.parametrize("number", NUMBERS)
def test_every_explorer_has_a_picture_that_paper_can_show(number):
    for step in cells_by_step(number):
        code = [cell for cell in step if cell.cell_type == "code"]
        if any(re.search(r"\.explore\w*\(", cell.source) for cell in code):
            stored = [output.get("data", {}) for cell in code for output in cell.outputs]
            assert any("image/png" in data for data in stored), step[0].source.split("\n")[0]


# cells that tell of a machine, or of who reads
OF_THE_READER = re.compile(
    r"^(doctor\.examine|exercises\.progress_map|course\.my_ladder|exercises\.n17\.stages)\(.*\)\Z", re.MULTILINE
)


@pytest.mark.parametrize("number", NUMBERS)
def test_only_what_differs_from_run_to_run_is_not_compared(number):
    for cell in cells(number):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            output_text = "".join(str(output.get("data", output)) for output in cell.outputs)
            widget = cell.outputs == [] or "<b>Predict.</b>" in output_text
            assert widget or "measured here" in output_text or OF_THE_READER.search(cell.source), cell.source


def imports_of(number: str) -> list[ast.ImportFrom]:
    """The statements by which a notebook imports ours; the guard before them is not counted."""
    code = [cell.source for cell in cells(number) if cell.cell_type == "code" and not cell.source.startswith("%%")]
    trees = [ast.parse("\n".join(line for line in source.splitlines() if line[:1] not in "%!")) for source in code[1:]]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    assert not any(isinstance(node, ast.Import) and node.names[0].name.startswith("helpers") for node in nodes)
    return [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in OURS]


def test_notebooks_import_few_names_each_in_two_lines():
    statements = {number: imports_of(number) for number in NUMBERS}
    assert all(1 <= len(imports) <= 2 for imports in statements.values())
    names = {(node.module, name.name) for imports in statements.values() for node in imports for name in node.names}
    assert 10 < len(names) <= 30 and {module for module, _ in names} == {"gemm_kernels", "helpers"}


@pytest.mark.parametrize("number", NUMBERS)
def test_notebook_has_at_most_25_cells_of_other_code(number):
    taught = [
        cell
        for step in cells_by_step(number)[1:]
        for cell in step
        if cell.cell_type == "code"
        and not EXERCISE.search(cell.source)
        and "Do" not in step[0].source.split("·")[1][:4]
    ]
    assert len(taught) <= 25


@pytest.mark.parametrize("number", NUMBERS)
def test_the_last_cell_names_its_sources_and_what_comes_next(number):
    last = cells(number)[-1].source
    assert last.startswith("**Next.**") and re.search(r"^\*\*Sources\.\*\* .*\*[^*]+\*", last, re.MULTILINE | re.DOTALL)


# Words that mean something else, or nothing special, before the notebook that makes a term of them.
EVERYDAY = {"tag", "turn", "patch", "slice", "configuration", "architecture", "register", "thread"}


def before_its_notebook(number: str) -> list[str]:
    """Terms of later notebooks in this one's prose: not linked, not in italics, not where it says what is next."""
    cells = [text for text in markdown(number) if not course.MAP.are_in(text)]
    text = re.split(r"\*\*(?:Next|Sources)\.\*\*", "\n".join(cells[1:]))[0]
    text = re.sub(r"(?<!\*)\*[^*]+\*(?!\*)|`[^`]+`", "", LINKED_TERM.sub("", text))
    later = {term for row in ROWS if row[2] > number for term in row[0].split(", ")} - EVERYDAY - linked(number)
    return [term for term in sorted(later) if re.search(rf"(?<![\w-]){re.escape(term)}s?\b", text, re.IGNORECASE)]


@pytest.mark.parametrize("number", NUMBERS)
def test_no_term_is_used_before_the_notebook_that_explains_it(number):
    assert before_its_notebook(number) == []


def names(source: str) -> tuple[set[str], set[str]]:
    """(names that a cell defines, names that it uses)."""
    defined: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.arg):
            defined.add(node.name if isinstance(node, ast.FunctionDef) else node.arg)
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else defined).add(node.id)
    return defined, used


@pytest.mark.parametrize("number", [number for number in NUMBERS if "07" <= number <= "14"])
def test_visible_code_uses_no_name_defined_in_folded_code_only(number):
    seen: set[str] = set()
    folded: set[str] = set()
    for cell in cells(number):
        if cell.cell_type != "code" or cell.source.startswith("%%"):
            continue
        defined, used = names(cell.source)
        if "hide-input" in cell.metadata.get("tags", ()):
            folded |= defined
        else:
            assert used & folded - seen - defined == set(), cell.source
            seen |= defined


def read_and_bound(table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """The names that a cell takes from other cells, and those that it leaves to them."""
    bound = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    inner, read = [table], set()
    while inner:
        scope = inner.pop()
        symbols = [symbol for symbol in scope.get_symbols() if symbol.is_referenced() and symbol.is_global()]
        read |= {symbol.get_name() for symbol in symbols}
        inner += scope.get_children()
    return read - bound, bound


@pytest.mark.parametrize("number", [number for number in NUMBERS if number != "00"])  # its last step frees the arrays
def test_a_cell_can_be_run_again_after_later_ones(number):
    code = [cell.source for cell in cells(number) if cell.cell_type == "code" and not cell.source.startswith("%%")]
    names = [read_and_bound(symtable.symtable(source, "cell", "exec")) for source in code]
    later: set[str] = set()
    for source, (read, bound) in reversed(list(zip(code, names, strict=True))):
        assert read & later == set(), source
        later |= bound


LIVE = re.compile(r"\bmeasure\.performance\(|\bpairs\.speeds\(|\bcourse\.way\(")


@pytest.mark.parametrize("number", [number for number in NUMBERS if "06" <= number <= "11"])
def test_what_is_measured_here_is_not_labelled_with_another_gpu(number):
    live: set[str] = set()  # names of what may be measured here
    for cell in cells(number):
        if cell.cell_type != "code" or cell.source.startswith("%%"):
            continue
        defined, used = names(cell.source)
        if LIVE.search(cell.source) or used & live:
            assert not re.search(r"peak_fp32_gflops|clock_mhz|h200\.sms|recorded_on\(", cell.source), cell.source
            live |= {name for name in defined if re.search(rf"\b{name}\b.*(?:performance|speeds)\(", cell.source)}
        live -= {name for name in defined if not re.search(rf"\b{name}\b.*(?:performance|speeds)\(", cell.source)}
