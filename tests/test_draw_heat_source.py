"""Picture 13: a source with what each of its lines costs."""

import pytest

from helpers.draw.heat_source import HeatLine, HeatSource, heat_source
from helpers.simulator import Counts, LineCounts

SOURCE = "// 1\n// 2\n// 3\n// 4\nx = A[i];\ns[i] = x;\ny = s[j];\ny <z> & w;\n}\n"
BY_LINE = [
    LineCounts(5, "x = A[i];", 100, {("global", "ld"): Counts(requests=10, sectors=165)}),
    LineCounts(6, "s[i] = x;", 50, {("shared", "st"): Counts(requests=10, wavefronts=80, ideal_wavefronts=10)}),
    LineCounts(7, "y = s[j];", 50, {("shared", "ld"): Counts(requests=10, wavefronts=20, ideal_wavefronts=40)}),
    LineCounts(8, "y <z> & w;", 600, {}),
]
PTX, SASS = {5: ["ld.param.u64 %rd1, [_Z9my_kernel_param_4]", "ld.global.f32 %f1, [%rd1]"]}, {5: ["LDG.E R1, [R2]"]}


@pytest.fixture
def source() -> HeatSource:
    return heat_source(BY_LINE, SOURCE, "k", "one block", PTX, SASS)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def test_every_line_has_the_counts_of_the_recording(source):
    assert [line.instructions for line in source.lines] == [0, 0, 0, 0, 100, 50, 50, 600, 0]
    assert (source.lines[4].global_requests, source.lines[4].sectors) == (10, 165)
    assert (source.lines[5].wavefronts, source.lines[5].needed, source.lines[5].conflicts) == (80, 10, 70)
    assert source.lines[6].conflicts == 0  # neighbours that share addresses need fewer than the width does


def test_the_caption_names_the_lines_that_cost_most(source):
    assert plain(source.caption) == (
        "Line 6 takes 80 % of the shared wavefronts, 8 times what it needs; line 5 takes 100 % of the global sectors, "
        "16.5 a request; line 8 takes 75 % of the instructions (one block)."
    )


def test_the_text_has_a_star_at_trouble_and_folds_what_became_no_instruction(source):
    lines = plain(source.text()).splitlines()
    assert lines[2] == "   ⋮ 4 lines without instructions"
    assert lines[3].split() == ["5", "12", "%", "16.5", "x", "=", "A[i];"]
    assert lines[4].split() == ["6", "6", "%", "8", "(1)*", "s[i]", "=", "x;"]
    assert [line for line in lines if "*" in line] == [lines[4]]
    assert lines[-1].split() == ["9", "}"]


def test_the_longest_bar_belongs_to_the_line_with_most_instructions(source):
    html = source.html()
    widths = [int(part.split("px")[0]) for part in html.split('<span style="display: inline-block; width: ')[1:]]
    bars = [width for width in widths if width not in (46,)]
    assert bars.count(64) == len([line for line in source.shown() if not isinstance(line, int)]) + 1
    assert 11 in bars  # 100 of 600 instructions


def test_a_line_opens_to_its_instructions_and_code_is_escaped(source):
    html = source.html()
    assert html.count("<details>") == 1
    assert "machine code: 1\nLDG.E R1, [R2]" in html
    assert "[param_4]" in html and "my_kernel" not in html
    assert "y &lt;z&gt; &amp; w;" in html
    assert "<script" not in html and "class=" not in html


def test_many_instructions_are_cut_and_counted():
    source = heat_source(BY_LINE, SOURCE, "k", "one block", {8: ["add.f32"] * 100})
    assert "… and 76 more" in source.html()


def test_a_kernel_of_nothing_says_so():
    assert HeatSource("k", (HeatLine(1, "}"),), "one block").caption == "No line became an instruction (one block)."


def test_a_notebook_gets_html_and_text(source):
    assert source._repr_mimebundle_() == {"text/html": source.html(), "text/plain": source.text()}
