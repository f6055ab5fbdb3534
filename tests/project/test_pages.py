"""What the README and the pages for contributors and teachers name exists: files, commands, modules, explorers."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers import pictures

ROOT = Path(__file__).resolve().parents[2]
NOTES = ("teachers", "setup", "own_kernels", "speeds", "where_taught", "cublas")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "notebooks" / f"{name}.md" for name in NOTES)]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
OWN_KERNELS = PAGES[4].read_text(encoding="utf-8")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pages
def test_every_link_of_a_page_leads_to_a_file(page):
    links = [link for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")) if "://" not in link]
    assert links and [link for link in links if not (page.parent / link).exists()] == []


@pages
def test_every_file_of_the_project_that_a_page_names_is_there(page):
    text = page.read_text(encoding="utf-8").replace("\\", "/")  # PowerShell writes paths with backslashes
    paths = re.findall(r"\b(?:helpers|gemm_kernels|tests|notebooks)/[\w./-]*\w", text)
    assert [path for path in paths if not (ROOT / path).exists() and not (page.parent / path).exists()] == []


@pages
def test_every_make_target_that_a_page_names_exists(page):
    named = set(re.findall(r"(?:^|`|sudo |&& )make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named and named <= TARGETS


def test_every_target_that_the_makefile_explains_exists():
    assert set(re.findall(r"^#   make ([a-z-]+)", MAKEFILE, re.MULTILINE)) <= TARGETS


@pages
def test_every_module_that_a_page_runs_is_found(page):
    named = re.findall(r"python -m ((?:helpers|gemm_kernels)[\w.]*\w)", page.read_text(encoding="utf-8"))
    assert [name for name in named if find_spec(name) is None] == []


@pages
def test_what_the_code_of_a_page_imports_is_there(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for node in (node for block in blocks for node in ast.walk(ast.parse(block))):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                assert hasattr(import_module(node.module), alias.name) or find_spec(whole), whole


def test_page_names_every_explorer_and_which_take_own_kernels():
    section = re.search(
        r"^## Explorers for your own kernel\n.*?```\n\n(.*?)\n\n##", OWN_KERNELS, re.MULTILINE | re.DOTALL
    )[1]
    own, without = (set(re.findall(r"`(\w+)`", part)) for part in section.split(";")[:2])
    folder = Path(pictures.__file__).parent
    texts = {path.parent.name: path.read_text(encoding="utf-8") for path in folder.glob("*/explorer.py")}
    explorers = {name: re.search(r"^def explore\((.*?)\) ->", text, re.M | re.S) for name, text in texts.items()}
    takes_own = {
        name: re.search("own: (Own|OwnKernel)\\b", head[1]) is not None for name, head in explorers.items() if head
    }
    assert own == {name for name, takes in takes_own.items() if takes}
    assert without == {name for name, takes in takes_own.items() if not takes}


def test_roads_have_five_stops_and_the_page_fits_a_screen():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    roads = re.split(r"^\*\*From ", page.split("## Three roads")[1].split("## ")[0], flags=re.MULTILINE)[1:]
    stops = [re.findall(r"^(\d)\. ", road, re.MULTILINE) for road in roads]
    assert len(roads) == 3 and all(numbers == list("12345")[: len(numbers)] for numbers in stops)
    assert len(page.splitlines()) <= 60


def test_readme_sells_in_few_words_before_the_notebooks():
    readme = PAGES[0].read_text(encoding="utf-8")
    before_the_first_fold = re.sub(
        r"<!--.*?-->|<[^>]+>|\]\([^)]*\)", " ", readme.split("<details>")[0], flags=re.DOTALL
    )
    assert len(before_the_first_fold.split()) <= 900
    first_screen = readme.split("\n## ")[0]
    assert "No GPU needed" in first_screen and "git clone --depth 1" in first_screen and "make lab" in first_screen
    films = set(re.findall(r"notebooks/images/film-\w+\.webp", first_screen))
    assert len(films) == 2 and all(0 < (ROOT / film).stat().st_size <= 2_000_000 for film in films)
