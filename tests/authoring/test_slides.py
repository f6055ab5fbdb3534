"""The slides to hand out: what of a notebook they show, and in a browser without a network that every page fits."""

import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import Browser, expect, sync_playwright

from helpers import plan
from helpers.authoring.notebooks import form
from helpers.authoring.slides import check, deck, page
from helpers.authoring.slides.__main__ import main, write
from helpers.exercises.n03 import predict_naive_load

NOTEBOOKS = sorted(plan.FOLDER.glob("*.ipynb"))


def typed(cell, slide_type=None, tags=()):
    if slide_type:
        cell.metadata["slideshow"] = {"slide_type": slide_type}
    cell.metadata["tags"] = list(tags)
    return cell


def text(source, slide_type=None):
    return typed(new_markdown_cell(source), slide_type)


def printed(source, stdout, slide_type=None, tags=()):
    outputs = [new_output("stream", name="stdout", text=stdout)] if stdout else []
    return typed(new_code_cell(source, outputs=outputs), slide_type, tags)


def shown(*cells):
    """Of every slide, its blocks as (kind, cell)."""
    return [
        [(block.kind, block.cell) for block in slide.blocks] for slide in deck.slides(new_notebook(cells=list(cells)))
    ]


def png(width, height):
    """A grey picture, as base64."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    whole = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b64encode(b"\x89PNG\r\n\x1a\n" + whole).decode()


def picture(source, width, height, slide_type=None):
    size = {"image/png": {"alt": "grey", "width": str(width), "height": str(height)}}
    output = new_output("execute_result", {"image/png": png(width, height)}, metadata=size)
    return typed(new_code_cell(source, outputs=[output]), slide_type)


def test_cells_join_slides_by_their_slide_type_and_skipped_ones_and_notes_are_left_out():
    assert shown(
        text("# Title", "slide"),
        text("setup", "skip"),
        printed("1 + 1", "2", "fragment"),
        text("say this", "notes"),
        text("more", "subslide"),
        text("continued"),
    ) == [[("text", 1), ("code", 3), ("output", 3)], [("text", 5), ("text", 6)]]


def test_notes_go_to_the_slide_before_them_and_those_of_an_empty_slide_to_the_last_that_shows_something():
    cells = [text("# One", "slide"), text("first", "notes"), printed("x = 1", "", "slide", ("hide-input",))]
    cells.append(text("second", "notes"))
    slides = deck.slides(new_notebook(cells=cells))
    assert len(slides) == 1
    assert [re.sub("<.*?>", "", note).strip() for note in slides[0].notes] == ["first", "second"]


def test_a_hidden_input_leaves_its_output_and_a_live_widget_its_name():
    widget = printed("import x\nx.explore()", "", tags=("nbval-ignore-output",))
    slides = deck.slides(new_notebook(cells=[printed("draw()", "drawn", tags=("hide-input",)), widget]))
    output, live = slides[0].blocks
    assert output.kind == "output" and "draw()" not in output.html and "drawn" in output.html
    assert live.kind == "live" and "x.explore()" in live.html and "import" not in live.html


def test_a_prediction_stands_on_paper_with_its_options_and_its_answer_folded():
    stored = printed("predict_naive_load()", "", tags=("nbval-ignore-output",))
    stored.outputs = [new_output("display_data", predict_naive_load()._repr_mimebundle_())]
    notebook = form.mended(new_notebook(cells=[text("# T"), stored]))
    assert form.WIDGET_VIEW not in notebook.cells[1].outputs[0].data
    (block,) = (block for slide in deck.slides(notebook) for block in slide.blocks if block.kind == "asked")
    before, folded = block.html.split("<details>")
    assert [option in before for option in ("<li>1</li>", "<li>4</li>", "<li>16</li>", "<li>32</li>")] == [True] * 4
    assert "✔" not in before and "✔ 32: " in folded


def test_a_cell_of_cuda_is_coloured_as_cuda_below_its_magic():
    block = deck.slides(new_notebook(cells=[printed("%%cuda naive\nint row;\n", "")]))[0].blocks[0]
    lines = re.findall(r'<span class="line">(.*?)</span>(?=<span class="line">|$)', block.html)
    assert lines[0] == "%%cuda naive" and 'class="kt"' in lines[1]


def test_a_slide_remembers_the_heading_that_stands_above_it():
    slides = deck.slides(new_notebook(cells=[text("# Title\ntext", "slide"), text("more", "subslide")]))
    assert [slide.heading for slide in slides] == ["Title", "Title"]


def test_every_line_of_a_listing_is_an_element_with_its_tags_closed():
    kernel = 'my_kernel = r"""\n/* a comment\n   of two lines */\nint x;\n"""\nrun(my_kernel)'
    block = deck.slides(new_notebook(cells=[printed(kernel, "")]))[0].blocks[0]
    lines = re.findall(r'<span class="line">(.*?)</span>(?=<span class="line">|$)', block.html)
    assert len(lines) == 6
    assert [line.count("<span") - line.count("</span>") for line in lines] == [0] * 6
    assert "comment" in lines[1] and 'class="kt"' in lines[3]  # a type of C++, not a name of Python


def test_a_formula_is_refused_with_its_cell_and_what_to_write_instead():
    with pytest.raises(ValueError, match=r"cell 2 has the formula '\$x\^2\$'.*Unicode"):
        deck.slides(new_notebook(cells=[text("# T"), text("so $x^2$ is")]))


def test_a_dollar_in_code_and_a_price_are_no_formula():
    assert shown(text("`$a$` and\n\n```sh\necho $A $B\n```\n\n5 $ or $6")) == [[("text", 1)]]


def test_links_to_notebooks_lead_to_hand_outs_and_none_is_broken(tmp_path):
    titles = write(NOTEBOOKS[:1], tmp_path)
    assert list(titles) == ["00_start_here.html", "glossary.html"]
    hand_out = (tmp_path / "00_start_here.html").read_text(encoding="utf-8")
    slides = hand_out.split("<script>")[0]
    written_for_all = {f"{path.stem}.html" for path in NOTEBOOKS} | {"glossary.html"}
    links = re.findall(r'href="([^"]+)"', slides)
    assert links and {link.split("#")[0] for link in links if not link.startswith(("http", "#"))} <= written_for_all
    assert 'href="00_start_here.html">Start here' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_missing_reveal_says_how_to_install_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(page, "PACKAGE", "no_such_package")
    assert main(["--folder", str(tmp_path), str(NOTEBOOKS[0])]) == 1
    assert "make slides" in capsys.readouterr().err


def test_a_file_that_is_no_notebook_is_named(capsys, tmp_path):
    (tmp_path / "broken.ipynb").write_text("{}")
    assert main(["--folder", str(tmp_path), str(tmp_path / "broken.ipynb")]) == 1
    assert "broken.ipynb: this is not a notebook" in capsys.readouterr().err


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


def examined(browser, folder, *cells, extra="") -> check.Examined:
    path = folder / "deck.html"
    notebook = new_notebook(cells=list(cells))
    html = page.deck_page("Deck", deck.slides(notebook))
    before, end, after = html.rpartition("</body>")
    path.write_text(before + extra + end + after, encoding="utf-8")
    return check.examine(browser, path)


@pytest.mark.browser
@pytest.mark.parametrize("name", ["03_coalescing", "06_register_tiling"])
def test_every_page_of_a_hand_out_fits_and_asks_for_nothing(browser, tmp_path, name):
    path = plan.FOLDER / f"{name}.ipynb"
    write([path], tmp_path)
    found = check.examine(browser, tmp_path / f"{name}.html")
    slides = deck.slides(form.read(path.read_text(encoding="utf-8")))
    assert [str(problem) for problem in found.problems] == []
    assert found.pages >= len(slides)
    assert found.pictures == sum(block.kind == "picture" for slide in slides for block in slide.blocks) > 0


@pytest.mark.browser
def test_what_does_not_fit_one_page_goes_on_the_next_with_nothing_lost(browser, tmp_path):
    cells = [text("# Long\n\n" + "\n\n".join(f"paragraph {number}" for number in range(40)), "slide")]
    cells.append(printed("print()", "\n".join(f"row {number}" for number in range(90)), "subslide"))
    cells += [picture("one()", 900, 400, "subslide"), picture("two()", 900, 700)]
    found = examined(browser, tmp_path, *cells)
    assert [str(problem) for problem in found.problems] == []
    assert found.pages >= 2 + 3 + 2
    opened = browser.new_page()
    opened.goto((tmp_path / "deck.html").as_uri())
    whole = opened.locator(".slides").text_content()
    assert re.findall(r"paragraph (\d+)", whole) == [str(number) for number in range(40)]
    assert re.findall(r"row (\d+)", whole) == [str(number) for number in range(90)]
    assert opened.locator(".running").count() == found.pages - 1
    opened.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("extra", "sentences"),
    [
        (
            '<script src="https://example.org/x.js"></script><script>nothing.there()</script>'
            "<script>document.querySelector('img').src = 'data:image/png;base64,AAAA'</script>",
            ("asks for https://example.org/x.js", "a script failed", "has a picture that does not show"),
        ),
        (
            "<style>.text { position: relative; left: 500px; font-size: 9px } img { width: 300px !important }</style>",
            ("past the slide's right edge", "has letters of 9.0 pixels", "has a picture of 300 pixels across"),
        ),
        (
            "<style>.text { height: 10px; overflow: hidden } .code { position: relative; top: 700px }</style>",
            ("pixels of its height", "pixels below the slide"),
        ),
    ],
)
def test_the_check_finds_what_is_planted(browser, tmp_path, extra, sentences):
    cells = [text("# A title\n\nA paragraph that is as wide as the slide is, " + "and goes on, " * 9, "slide")]
    found = examined(browser, tmp_path, *cells, picture("draw()", 900, 300), extra=extra)
    for sentence in sentences:
        assert any(sentence in str(problem) for problem in found.problems), (sentence, found.problems)


@pytest.mark.browser
def test_the_speakers_window_shows_the_notes_unfolded_and_without_a_network(browser, tmp_path):
    folded = "<details><summary>For the speaker · 2 minutes</summary>\n\n**Say** it slowly.\n</details>"
    examined(browser, tmp_path, text("# A title", "slide"), text(folded, "notes"))
    context = browser.new_context(offline=True)
    shown = context.new_page()
    shown.goto((tmp_path / "deck.html").as_uri())
    with context.expect_page() as opened:
        shown.keyboard.press("s")
    expect(opened.value.locator(".speaker-controls-notes")).to_contain_text("Say it slowly.")
    expect(opened.value.get_by_text("it slowly.")).to_be_visible()
    context.close()


def test_a_problem_names_the_deck_and_the_page():
    assert str(check.Problem("03.html", 4, "it hides")) == "03.html, page 4: it hides"
    assert str(check.Problem("03.html", 0, "it asks")) == "03.html: it asks"


def test_the_smallest_letter_of_the_check_is_that_of_the_page_breaks():
    script = (Path(page.__file__).parent / "paginate.js").read_text(encoding="utf-8")
    assert f"SMALLEST_LETTER = {check.SMALLEST_LETTER};" in script
    assert f"SMALLEST_PICTURE = {check.SMALLEST_PICTURE};" in script
