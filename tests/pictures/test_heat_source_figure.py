"""Picture 13: a source with what each of its lines costs."""

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gemm_kernels.launch import OPTIONS
from gpusim import Counts, LineCounts
from helpers import run
from helpers.pictures import theme
from helpers.pictures.heat_source.facts import LineCost, line_costs, source_costs
from helpers.pictures.heat_source.figure import _HEAT, HeatSource, heat_source
from tests.pictures.figure_data import plain

SOURCE = "// 1\n// 2\n// 3\n// 4\nx = A[i];\ns[i] = x;\ny = s[j];\ny <z> & w;\n}\n"
BY_LINE = [
    LineCounts(5, "x = A[i];", 100, {("global", "ld"): Counts(requests=10, sectors=165, ideal_sectors=40)}),
    LineCounts(6, "s[i] = x;", 50, {("shared", "st"): Counts(requests=10, wavefronts=80, ideal_wavefronts=10)}),
    LineCounts(7, "y = s[j];", 50, {("shared", "ld"): Counts(requests=10, wavefronts=20, ideal_wavefronts=40)}),
    LineCounts(8, "y <z> & w;", 600, {}),
]
PTX, SASS = {5: ["ld.param.u64 %rd1, [_Z9my_kernel_param_4]", "ld.global.f32 %f1, [%rd1]"]}, {5: ["LDG.E R1, [R2]"]}


def of(ptx: dict | None = None, sass: dict | None = None) -> HeatSource:
    return HeatSource("k", line_costs(BY_LINE, SOURCE, ptx, sass), "one block")


@pytest.fixture
def source() -> HeatSource:
    return of(PTX, SASS)


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


def test_text_has_a_star_at_trouble_and_folds_dead_lines(source):
    lines = plain(source.text()).splitlines()
    assert lines[2] == "   ⋮ 4 lines without instructions"
    assert lines[3].split() == ["5", "12", "%", "10", "×", "16.5", "(4)*", "x", "=", "A[i];"]
    assert lines[4].split() == ["6", "6", "%", "10", "×", "8", "(1)*", "s[i]", "=", "x;"]
    assert lines[5].split() == ["7", "6", "%", "10", "×", "2", "y", "=", "s[j];"]
    assert [line for line in lines if "*" in line] == lines[3:5]
    assert lines[-1].split() == ["9", "}"]


def test_cells_darken_with_their_lines_part_trouble_is_coloured(source):
    html = source.html()
    assert f"background: {theme.TROUBLE}99; font-weight: bold;" in html  # all sectors, 0.6 opaque
    assert html.count(theme.TROUBLE) == 2  # the sectors of line 5, the wavefronts of line 6
    assert f"background: {_HEAT}1F;" in html  # 20 of 100 wavefronts, in no conflict


def test_longest_bar_is_of_the_line_with_most_instructions(source):
    html = source.html()
    widths = [int(part.split("px")[0]) for part in html.split('<span style="display: inline-block; width: ')[1:]]
    bars = [width for width in widths if width not in (46,)]
    assert bars.count(64) == len([line for line in source.shown() if not isinstance(line, int)]) + 1
    assert 11 in bars  # 100 of 600 instructions


def test_a_line_opens_to_its_instructions_and_code_is_escaped(source):
    html = source.html()
    assert html.count("<details>") == 1
    assert "machine code: 1\n<b>LDG.E R1, [R2]</b>" in html
    assert "[param_4]" in html and "my_kernel" not in html
    assert "y &lt;z&gt; &amp; w;" in html
    assert "<script" not in html and "class=" not in html


def test_many_instructions_are_cut_and_memory_ones_shown_first():
    source = of({8: ["add.f32"] * 100})
    assert "… and 76 more" in source.html()
    source = of({8: [*["add.f32"] * 100, "ld.shared.f32 %f1, [%r1]"]})
    assert "PTX: 101\n<b>ld.shared.f32 %f1, [%r1]</b>\n… and 100 more" in source.html()


def test_names_of_shared_arrays_are_the_source_s_own():
    ptx = {8: ["mov.u64 %rd79, _ZZ16sgemm_transposedILi128ELi8EEviiifPKfS1_fPfE2As;"]}
    assert "mov.u64 %rd79, As;" in of(ptx).html()


def test_merged_instructions_are_named_above_and_at_the_line():
    ptx = {7: [f"ld.shared.f32 %f{i}, [%r1+{4 * i}]" for i in range(8)]}
    source = of(ptx, {7: ["LDS.128 R4, [R2]", "LDS.128 R8, [R2+0x10]"]})
    sentence = "8 shared loads of 4 bytes in PTX are 2 of 16 bytes in the machine code: merged."
    assert plain(source.merged) == f"Line 7: {sentence}"
    assert plain(source.html()).count(sentence) == 2 and plain(source.text()).count(sentence) == 1
    assert of(ptx, {7: ["LDS R4, [R2]"] * 8}).merged == ""


# ---- from a recording alone


@pytest.fixture(scope="module")
def recording() -> gpusim.Recording:
    kernel = get("transposed")
    module = gpusim.RawModule(code=kernel.source, options=OPTIONS, name_expressions=[kernel.entry])
    launch = run.launcher(kernel, module.get_function(kernel.entry))
    with gpusim.record(level="sass", checks="off") as recording:
        arrays = [np.zeros(shape, np.float32) for shape in ((256, 16), (16, 256), (256, 256))]
        launch(256, 256, 16, 1.0, *arrays[:2], 0.0, arrays[2])
    return recording


def test_a_recording_is_annotated_with_both_levels(recording):
    source = heat_source(source_costs(recording))
    assert source.text().splitlines()[0].endswith("(counted on all 4 blocks, in machine code).")
    assert "64 shared loads of 4 bytes in PTX are 16 of 16 bytes" in plain(source.merged)
    assert source.instructions == recording.instructions()
    store = next(line for line in source.lines if "As[a_k][a_row + y] =" in line.text)
    assert (store.conflicts, store.wasteful) == (7 * store.shared_requests, False)
    written = next(line for line in source.lines if "element = alpha" in line.text)
    assert written.wasteful and written.sectors == 8 * written.needed_sectors


def test_the_caption_says_which_blocks_were_counted():
    source = (
        """extern "C" __global__ void k(float *x) { x[(blockIdx.y * 8 + blockIdx.x) * 32 + threadIdx.x] += 1.0f; }"""
    )
    kernel = gpusim.RawModule(code=source).get_function("k")
    with gpusim.record(blocks=[(0, 0), (1, 0)], only_traced=True) as recording:
        kernel((8, 8), (32,), (np.zeros(2048, np.float32),))
    assert "counted on 2 of 64 blocks, in machine code" in plain(heat_source(source_costs(recording)).caption)


def test_a_kernel_of_nothing_says_so():
    assert HeatSource("k", (LineCost(1, "}"),), "one block").caption == "No line became an instruction (one block)."


def test_a_notebook_gets_html_and_text(source):
    assert source._repr_mimebundle_() == {"text/html": source.html(), "text/plain": source.text()}
