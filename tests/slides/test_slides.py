"""The slides: what a notebook's file says of them, and in a browser without a network that every one fits a room."""

import io
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

from helpers import exercises, plan
from helpers.exercises.framework.predict import predict
from helpers.pictures import theme
from helpers.pictures.faults import faults
from helpers.slides import deck, live, redrawn, route, speaker, steps
from helpers.slides.planned import MOST_WORDS, Planned, path_of, planned
from helpers.tools.notebooks import form
from helpers.tools.slides import check, page
from helpers.tools.slides.__main__ import main, write

NOTEBOOKS = sorted(plan.FOLDER.glob("*.ipynb"))
BOOK = plan.course().notebook("05")


def notebook(path: Path):
    return form.read(path.read_text(encoding="utf-8"))


def said(path: Path) -> list[Planned]:
    return planned(path_of(path).read_text(encoding="utf-8"))


def book(*cells):
    return new_notebook(cells=list(cells))


def drawn(source="draw()"):
    data, size = theme.Figure(2.0, "A caption that states 3 numbers.")._repr_mimebundle_()
    return new_code_cell(source, outputs=[new_output("display_data", {**data, "image/png": PNG}, metadata=size)])


PNG = b64encode(theme.Figure(2.0, "A caption that states 3 numbers.").png()).decode()
DRAW = new_code_cell("""from helpers.pictures import theme
def draw(caption="A caption that states 3 numbers."):
    return theme.Figure(2.0, caption)""")
STEP = new_markdown_cell("## 2 · See")
SLIDE = Planned(2, "A title", "Some words.", "picture", "draw()")


def test_section_is_a_slide_with_one_thing_to_look_at():
    text = "# Slides\n\n## 3 · It says this\n\nA **word** or\ntwo.\n\nfilm: x.explore() | warps = 1, 2\n"
    assert planned(text) == [
        Planned(3, "It says this", "A **word** or\ntwo.", "film", "x.explore()", ("warps = 1, 2",))
    ]
    assert planned(text)[0].count == 7


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("## Without a step\n\npicture: x", "is no heading of a slide"),
        ("## 3 · A title\n\nOnly words.", "shows 0 things"),
        ("## 3 · A title\n\npicture: x\ntable: y", "shows 2 things"),
        ("## 3 · A title\n\npicture: x\n\n" + "word " * 39, "has 41 words; 40 is the most"),
    ],
)
def test_what_is_no_slide_is_refused_with_its_reason(text, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        planned(text)


def test_slide_shows_the_stored_output_of_its_steps_cell():
    other = new_markdown_cell("## 3 · Do")
    slides = deck.slides(book(DRAW, drawn("draw()"), STEP, drawn("draw()  # this"), other), [SLIDE])
    assert (slides[0].cell, slides[0].kind) == (3, "picture")
    attributes = r'alt="A caption that states 3 numbers\." data-letters="0.0" data-faults="" src="[^,]*,([^"]+)"'
    read = re.search(attributes, slides[0].shown[0])
    assert Image.open(io.BytesIO(b64decode(read[1]))).size == (1296, 287)  # without the caption
    with pytest.raises(ValueError, match="A title.*no code cell of step 2 has 'paint'"):
        deck.slides(book(STEP, drawn()), [replace(SLIDE, what="paint")])
    with pytest.raises(ValueError, match="shows no picture"):
        deck.slides(book(DRAW, STEP, new_code_cell("drawn = draw()")), [SLIDE])
    assert deck.slides(book(STEP, drawn()), [SLIDE], frames=False)[0].shown == ()


def test_picture_is_drawn_after_only_the_cells_it_needs():
    cells = ("left = 2", "words = {}", "words[0] = 'A caption that states 3 numbers.'", "1 / 0", "%%cuda x\nint words;")
    notebook = book(*map(new_code_cell, cells), DRAW, STEP, new_code_cell("draw(words[0])"))
    assert redrawn.needed(notebook, 7)[0] == [1, 2, 5]
    assert redrawn.picture(notebook, 7).caption == "A caption that states 3 numbers."


@pytest.mark.parametrize(("after", "caption"), [("left = 5", "A caption of 5."), ("count = 5", "A caption of 3.")])
def test_a_live_picture_takes_no_name_that_a_later_cell_binds(after, caption):
    shown = new_code_cell("from helpers.pictures import theme\ntheme.Figure(1.0, f'A caption of {count}.')")
    notebook = book(new_code_cell("count = 3"), STEP, shown, new_code_cell(after))
    assert redrawn.picture(notebook, 2, known={"count": 5}).caption == caption


@pytest.mark.parametrize(
    ("height", "points", "words", "pixels"),
    [
        (2.0, 14.0, "letters", 0.0),  # can be read as they are
        (6.0, 9.0, "letters", deck.LAST_ROW[0]),
        (6.0, 9.0, "letters " * 13, deck.LAST_ROW[1]),  # larger ones would be cut off
    ],
)
def test_small_letters_grow_as_far_as_they_fit(height, points, words, pixels):
    def draw(least):
        figure = theme.Figure(height, "A caption that states 3 numbers.")
        figure.text(0.03, 0.5, words.strip(), fontsize=max(points, least))
        return figure

    sizes, least = deck.legible(SLIDE, draw)
    shown = min(deck.WIDE / 900, (deck.HIGH - deck.TITLE[0] - deck.WORDS[0] - 2 * deck.GAP) / (100 * height))
    assert least * 100 / 72 * shown == pytest.approx(pixels)
    assert faults(sizes) == []


def test_a_live_slide_says_which_output_of_its_cell_it_shows():
    slides = live.slides("03_coalescing.ipynb").data["shows"][0]["slides"]
    shown = {slide["kind"]: slide["output"] for slide in slides}
    assert (shown["table"], shown["printed"], shown["ask"], shown["picture"]) == ("table", "pre", "", "")
    slides = live.slides("15_tensor_cores.ipynb").data["shows"][0]["slides"]
    assert [slide["columns"] for slide in slides if slide["title"] == "The second ladder"] == [[1, 3, 4, 5, 6]]


def test_live_picture_is_the_courses_despite_reused_names(monkeypatch):
    shown = []
    monkeypatch.setattr(live, "display", shown.append)
    monkeypatch.setattr(live, "get_ipython", lambda: SimpleNamespace(user_ns={"layouts": "a later cell's"}))
    path = plan.course().notebook("02").path
    number = next(number for number, slide in enumerate(said(path)) if slide.what == "layouts.layout_figure")
    live.draw(path.name, number)
    assert 'class="still jp-CoursePicture"' in shown[0].data


def test_a_table_may_be_shown_with_some_of_its_columns():
    cell = new_code_cell("draw()", outputs=[new_output("display_data", {
        "text/html": "<table><tr><th>a</th><th>b</th><th>c</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>"
    })])  # fmt: skip
    slides = deck.slides(book(STEP, cell), [replace(SLIDE, kind="table", how=("1, 3",))])
    assert slides[0].columns == (1, 3)
    assert slides[0].shown == ("<table><tr><th>a</th><th>c</th></tr><tr><td>1</td><td>3</td></tr></table>",)


@pytest.mark.parametrize(
    ("kind", "shown"), [("printed", '<pre class="printed"><span>4 &lt; 5\n</span></pre>'), ("table", "<table>")]
)
def test_a_slide_shows_the_text_or_the_table_of_a_cell(kind, shown):
    outputs = [new_output("stream", text="4 < 5\n"), new_output("display_data", {"text/html": "<table></table>"})]
    (slide,) = deck.slides(book(STEP, new_code_cell("draw()", outputs=outputs)), [replace(SLIDE, kind=kind)])
    assert slide.shown[0].startswith(shown) and slide.kind == kind
    with pytest.raises(ValueError, match=f"its cell stores no {kind} output"):
        deck.slides(book(STEP, new_code_cell("draw()")), [replace(SLIDE, kind=kind)])


def test_a_line_of_code_in_words_breaks_at_its_spaces_alone():
    assert deck.markdown("a `dim3 g(2), b(4);`") == (
        "<p>a <code><span>dim3</span> <span>g(2),</span> <span>b(4);</span></code></p>\n"
    )


def test_a_table_or_a_listing_of_a_steps_text_can_be_shown():
    step = new_markdown_cell("## 2 · By hand\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nMore.\n\n```text\n<1> 2\n```")
    table, listing = deck.slides(book(step), [replace(SLIDE, kind="block", what=text) for text in ("| 1", "<1>")])
    assert "<td>1</td>" in table.shown[0] and "More" not in table.shown[0]
    assert listing.shown == ('<pre class="drawing size0" data-lines="1">&lt;1&gt; 2</pre>',)


def test_a_comment_too_long_for_a_slide_goes_on_in_the_next_line():
    words = "for each k: a float4 of As[k] from row on, a float4 of Bs[k] from col on, then all products of the two"
    step = new_markdown_cell(f"## 2 · See\n\n```cuda\n  //  4. {words}\n  x;\n```")
    listing = re.sub("<.*?>", "", deck.slides(book(step), [replace(SLIDE, kind="block", what="x;")])[0].shown[0])
    first, second, last = listing.split("\n")
    assert first.startswith("  //  4. for") and second.startswith("  //     ") and last == "  x;"
    assert f"{first} {second.removeprefix('  //').strip()}" == f"  //  4. {words}"


def test_code_too_long_for_a_slide_has_its_comment_above_it():
    code, comment = "    float sum = 0.0f;", "// what a thread adds up, of row of A and column of B, over all k"
    shown = deck.slides(book(new_markdown_cell(f"## 2 · See\n\n```cuda\n{code}   {comment}\n```")),
                        [replace(SLIDE, kind="block", what="sum")])[0].shown[0]  # fmt: skip
    assert re.sub("<.*?>", "", shown) == f"    {comment}\n{code}"


def test_a_line_of_code_too_long_for_a_slide_is_refused():
    step = new_markdown_cell(f"## 2 · See\n\n```cuda\nx = {'y + ' * 30}z;\n```")
    with pytest.raises(ValueError, match="letters; 86 is the most that a room can read"):
        deck.slides(book(step), [replace(SLIDE, kind="block", what="x =")])


def test_kernel_is_an_excerpt_of_at_most_14_coloured_lines():
    kernel = replace(SLIDE, kind="kernel", what="tiled", how=("float sum = 0.0f;", "// 6"))
    shown = deck.slides(book(STEP), [kernel])[0].shown[0]
    assert 'data-lines="8"' in shown and 'class="kt"' in shown and "__syncthreads" in shown
    with pytest.raises(ValueError, match="lines; 14 is the most"):
        deck.slides(book(STEP), [replace(kernel, how=())])


def test_film_is_the_explorer_at_each_value_without_captions():
    film = replace(SLIDE, kind="film", what="scheduler.explore()", how=("warps = 1, 4",))
    slide = deck.slides(book(STEP), [film])[0]
    assert slide.cell is None and len(set(slide.shown)) == 2
    assert [re.search(r'alt="(\d+)', frame)[1] for frame in slide.shown] == ["1", "4"]
    assert deck.slides(book(STEP), [film], frames=False)[0].shown == ()


def test_a_film_whose_control_cannot_be_moved_is_refused():
    film = replace(SLIDE, kind="film", what='bank_board.explore(kernel="transposed")', how=("padding = 0, 1",))
    with pytest.raises(ValueError, match="its control padding cannot be moved"):
        deck.slides(book(STEP), [film])


def test_task_begins_an_exercise_and_code_is_in_a_cell_before():
    cell = new_code_cell('source = """\nint first;\nint second;\n"""')
    task, code = deck.slides(book(new_markdown_cell("## 1 · Question"), cell, STEP), [
        replace(SLIDE, kind="task", what="naive", how=("// 1", "}")),
        replace(SLIDE, kind="code", what="source =", how=("int first", '"""')),
    ])  # fmt: skip
    assert task.kind == code.kind == "kernel" and task.cell is code.cell is None
    assert "Add up the products" in task.shown[0] and "blockIdx" not in task.shown[0]
    assert 'data-lines="2"' in code.shown[0] and "second" in code.shown[0]


@pytest.mark.parametrize("workshop", plan.course().routes, ids=lambda route: route.name)
def test_workshop_slides_show_the_clock_and_ask_first(workshop):
    minute, seen = 0, []
    for part in route.parts(workshop, plan.course(), plan.FOLDER, frames=False):
        notes = [part.notes, *(slide.notes for slide in part.slides)]
        clocks = [
            tuple(map(int, minutes))
            for minutes in re.findall(r"<b>Minute (\d+)</b>, until minute (\d+)", " ".join(notes))
        ]
        whole, *each = clocks
        assert whole[0] == minute
        assert [begin for begin, _ in each] == [whole[0], *(end for _, end in each)][: len(each)]
        minute = whole[1]
        seen += [slide.title for slide in part.slides]
    assert minute == steps.route_minutes(workshop, plan.course(), plan.FOLDER)
    order = (
        ("Predict: how much faster is that?", "Two lines of code"),
        ("Write it: which two lines change?", "Two lines change"),
    )
    assert all(seen.index(question) < seen.index(answer) for question, answer in order if answer in seen)
    assert any(title.startswith("Write it: ") for title in seen)


def test_the_notes_of_a_step_stand_at_its_first_slide():
    slides = deck.slides(book(DRAW, STEP, drawn()), [SLIDE, SLIDE], {2: "**Say** it."})
    assert ["Say" in slide.notes for slide in slides] == [True, False]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_says_slides_whose_numbers_are_in_it(path):
    slides, text = said(path), notebook(path)
    assert len(slides) >= 8
    assert [slide.cell for slide in deck.slides(text, slides, frames=False)]
    everything = " ".join(cell.source + str(cell.get("outputs", "")) for cell in text.cells)
    for slide in slides:
        assert slide.count <= MOST_WORDS and len(slide.title) <= 70
        for number in re.findall(r"\b\d+\b", f"{slide.title} {slide.words}"):
            assert re.search(rf"\b{number}\b", everything), f"{slide.title}: {number} is not in the notebook"


def test_every_step_of_a_route_has_a_slide_and_speaker_notes():
    for workshop in plan.course().routes:
        for stop in workshop.stops:
            if isinstance(stop, plan.Pause):
                continue
            path = plan.course().notebook(stop.notebook).path
            shown = {slide.step for slide in said(path)}
            missing = [step for step in stop.steps if step not in shown]
            assert missing == [], f"{path.stem} has no slide of steps {missing}, which {workshop.name!r} shows"
            assert set(stop.steps) <= set(speaker.notes(path))


def test_workshop_gives_each_step_the_time_of_its_slides():
    """A minute and a half to look, three to choose an answer; to write, four and one more for each line."""
    for stop in (stop for workshop in plan.course().routes for stop in workshop.stops if isinstance(stop, plan.Stop)):
        path = plan.course().notebook(stop.notebook).path
        notes = speaker.notes(path)
        for step in stop.steps:
            shown = [slide for slide in said(path) if slide.step == step]
            looking = 1.5 * sum(slide.kind not in ("ask", "task") for slide in shown)
            writes = sum(4 + exercises.get(slide.what).lines for slide in shown if slide.kind == "task")
            least = looking + 3 * sum(slide.kind == "ask" for slide in shown) + writes
            assert notes[step].minutes >= least, f"{path.stem}, step {step}: {notes[step].minutes} minutes, not {least}"


def test_jupyterlab_gets_the_same_slides_and_live_cells():
    show = live.slides(BOOK.file).data
    slides, whole = said(BOOK.path), show["shows"][0]["slides"]
    assert [slide["title"] for slide in whole] == [slide.title for slide in slides]
    for number, (live_slide, slide) in enumerate(zip(whole, slides, strict=True)):
        drawn = f"draw('{BOOK.file}', {number})" in live_slide["draw"]
        assert [drawn, bool(live_slide["cell"]), bool(live_slide["html"])].count(True) == 1
        assert drawn == (slide.kind in ("film", "picture"))
    assert ".course-slide" in show["style"]
    assert live.slides("99_nothing.ipynb").data == {"shows": []}


def test_jupyterlab_knows_each_workshops_cells_and_next_step():
    course = plan.course()
    for workshop in course.routes:
        books = list(dict.fromkeys(stop.notebook for stop in workshop.stops if isinstance(stop, plan.Stop)))
        by_book = {book: live.slides(course.notebook(book).file).data["shows"][1:] for book in books}
        mine = {book: [show for show in shows if show["route"] == workshop.name] for book, shows in by_book.items()}
        assert [len(shows) for shows in mine.values()] == [1] * len(books)
        shown = [slide["title"] for shows in mine.values() for slide in shows[0]["slides"]]
        handed = route.parts(workshop, course, plan.FOLDER, frames=False)
        assert shown == [title for part in handed for title in (part.title, *(slide.title for slide in part.slides))]
        after = [course.notebook(book).file for book in books[1:]]
        assert [shows[0]["then"] and shows[0]["then"]["file"] for shows in mine.values()] == [*after, None]
        assert all("Minute" in shows[0]["slides"][0]["notes"] for shows in mine.values())
    shown_by = [route for route in course.routes if any(getattr(stop, "notebook", "") == "15" for stop in route.stops)]
    assert len(live.slides("15_tensor_cores.ipynb").data["shows"]) == 1 + len(shown_by)


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


def examined(browser, folder, *slides, extra="") -> check.Examined:
    path = folder / "deck.html"
    before, end, after = page.deck_page(BOOK, slides).rpartition("</body>")
    path.write_text(before + extra + end + after, encoding="utf-8")
    return check.examine(browser, path)


SHOWN = f'<img class="still" alt="a" data-letters="14" src="data:image/png;base64,{PNG}">'
PICTURE = deck.Slide(1, "A title", "<p>Words.</p>", "picture", (SHOWN,))


@pytest.mark.browser
@pytest.mark.parametrize("name", ["04_shared_memory", "10_double_buffering"])
def test_every_slide_of_a_hand_out_fits_and_asks_for_nothing(browser, tmp_path, name):
    path = plan.FOLDER / f"{name}.ipynb"
    write([path], tmp_path)
    problems = check.examine(browser, tmp_path / f"{name}.html")
    assert [str(problem) for problem in problems.problems] == []
    slides = said(path)
    assert problems.facts.pages == 1 + len(slides)
    assert problems.facts.films == sum(slide.kind == "film" for slide in slides) > 0
    assert problems.facts.words <= MOST_WORDS and problems.facts.lines <= deck.MOST_LINES
    assert problems.facts.code >= check.SMALLEST_CODE


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
            "<style>.words { position: relative; left: 1100px; font-size: 9px }</style>",
            ("past the slide's right", "9.0 pixels"),
        ),
        ("<style>.shown { flex: 0 0 120px !important }</style>", ("shows a picture whose smallest letters have",)),
        ("<style>h1 { padding-top: 700px }</style>", ("pixels below the slide",)),
        ("<style>pre.code { font-size: 12px !important }</style>", ("less than 22",)),
        ("<style>.words { width: 60px; word-break: break-all }</style>", ("breaks a line inside of “Words.”",)),
        ("<script>document.querySelector('img').dataset.faults = 'letters are cut'</script>", ("letters are cut",)),
        (
            "<style>.ask details[open] { padding-bottom: 720px }</style>",
            ("with its answer opened, details reaches",),
        ),
    ],
)
def test_the_check_finds_what_is_planted(browser, tmp_path, extra, sentences):
    kernel = replace(PICTURE, kind="kernel", shown=('<pre class="code size0" data-lines="1">int x;</pre>',))
    question = replace(PICTURE, kind="ask", shown=(predict("Which?", {1: "No.", 2: "Yes."}, 2).on_paper(),))
    problems = examined(browser, tmp_path, PICTURE, kernel, question, extra=extra)
    for sentence in sentences:
        assert any(sentence in str(problem) for problem in problems.problems), (sentence, problems.problems)


OPAQUE = "one => one.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})"
PAPER = "one => getComputedStyle(one.closest('section')).backgroundColor"


@pytest.mark.browser
def test_keys_show_a_films_next_frame_and_dark_pages_dark_slides(browser, tmp_path):
    frames = tuple(f'<img class="frame" alt="{name}" src="data:image/png;base64,{PNG}">' for name in "abc")
    assert examined(browser, tmp_path, replace(PICTURE, kind="film", shown=frames)).facts.frames == 3
    context = browser.new_context(offline=True, color_scheme="dark")
    shown = context.new_page()
    shown.goto((tmp_path / "deck.html").as_uri())
    shown.keyboard.press("ArrowRight")
    for name in "abc":
        seen = [image.get_attribute("alt") for image in shown.locator(".film img").all() if image.evaluate(OPAQUE)]
        assert seen[-1] == name
        shown.keyboard.press("ArrowRight")
    assert shown.locator(".film").evaluate(PAPER) == "rgb(17, 17, 17)"
    assert "course-dark" in shown.locator(".film img").first.evaluate("one => getComputedStyle(one).filter")
    context.close()


@pytest.mark.browser
def test_speakers_window_alone_shows_notes_without_network(browser, tmp_path):
    examined(browser, tmp_path, replace(PICTURE, notes="<p><b>Say</b> it slowly.</p>"))
    context = browser.new_context(offline=True)
    shown = context.new_page()
    shown.goto((tmp_path / "deck.html").as_uri())
    shown.keyboard.press("ArrowRight")
    expect(shown.get_by_text("it slowly.")).not_to_be_visible()
    with context.expect_page() as opened:
        shown.keyboard.press("s")
    expect(opened.value.locator(".speaker-controls-notes")).to_contain_text("Say it slowly.")
    expect(opened.value.get_by_text("it slowly.")).to_be_visible()
    context.close()


def test_a_problem_names_the_deck_and_the_page():
    assert str(check.Problem("03.html", 4, "it hides")) == "03.html, page 4: it hides"
    assert str(check.Problem("03.html", 0, "it asks")) == "03.html: it asks"
