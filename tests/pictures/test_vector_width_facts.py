"""A source line's memory instructions and costs, and ways to copy."""

import pytest

from gemm_kernels import get
from helpers import run
from helpers.pictures.vector_width.facts import (
    WIDTHS,
    Copy,
    array_of,
    copy_code,
    cost_of_line,
    line_code,
    lines_of,
    way_of,
)
from helpers.pictures.vector_width.figure import opcode

SOURCE = "int x;\n    c[i] = a[i];\n"


def test_only_memory_instructions_of_the_line_are_kept():
    ptx = {
        2: [
            "ld.param.u64 %rd1, [p]",
            "@%p1 ld.global.nc.f32 %f1, [%rd1]",
            "add.f32 %f2, %f1, %f1",
            "st.shared.v4.f32 [%r1], {%f1, %f1, %f1, %f1}",
            "cp.async.ca.shared.global [%r1], [%rd2], 4",
        ]
    }
    sass = {2: ["LDC R1, c[0x0][0x28]", "@!P5 LDG.E R18, [R2.64]", "FADD R1, R2, R3", "LDGSTS.E [R1], [R2.64]"]}
    code = line_code(SOURCE, 2, ptx, sass)
    assert code.text == "c[i] = a[i];"
    assert [opcode(instruction) for instruction in code.ptx] == [
        "ld.global.nc.f32",
        "st.shared.v4.f32",
        "cp.async.ca.shared.global",
    ]
    assert [opcode(instruction) for instruction in code.sass] == ["LDG.E", "LDGSTS.E"]
    assert line_code(SOURCE, 1, ptx, sass).sass == ()


@pytest.mark.parametrize(
    ("copy", "costs"),
    [
        (Copy(128, 0), [(4, 16), (4, 64), (2, 16), (1, 16)]),
        (Copy(132, 1), [(4, 20), (4, 68), (2, 18), (1, 17)]),
        (Copy(129, 1), [(4, 20), (4, 65), None, None]),
        (Copy(128, 3, 2), [(4, 20), (4, 66), (2, 18), None]),
    ],
)
def test_requests_fall_with_the_width_and_sectors_do_not(copy, costs):
    ways = [way_of(width, copy) for width in WIDTHS]
    assert [None if way.refused else (way.requests, way.cost) for way in ways] == costs


def test_the_array_of_a_line_is_the_one_it_names():
    assert array_of("As[a_k][a_row + y] = x;") == "A"
    assert array_of("b_frag[x] = Bs[k][col];") == "B"
    assert array_of("C[i] = A[i];") == ""


def test_what_a_line_costs_is_what_was_recorded():
    launch = get("transposed").launch(256, 256, 16)
    fragment = next(line for line in lines_of(launch) if "b_frag" in line.text)
    rows = run.record(launch).requests(line=fragment.line)
    way = cost_of_line(launch, fragment.line)
    assert (way.requests, way.cost, way.unit) == (len(rows), rows["wavefronts"].sum(), "wavefronts")


def test_a_misaligned_copy_is_refused_with_its_byte():
    assert way_of(WIDTHS[-1], Copy(129, 1)).refused == "Row 1 begins at byte 516 of A, which is no multiple of 16."


def test_the_line_of_a_copy_says_the_type_that_it_moves():
    texts = {width.label: [code.text for code in copy_code(width)] for width in WIDTHS}
    assert texts["float4, at once"][0].startswith("const float4 *from; for (int i = 0; i < 1;")
    assert texts["float, four passes"][0].endswith("i < 4; ++i) mine[i] = from[start + i * 32];")
    assert texts["float2, two passes"][1].startswith("float2 *to; ")
