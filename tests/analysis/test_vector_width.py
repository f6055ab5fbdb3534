"""A source line's memory instructions."""

from helpers.analysis.vector_width import line_code
from helpers.draw.vector_width import opcode

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
    found = line_code(SOURCE, 2, ptx, sass)
    assert found.text == "c[i] = a[i];"
    assert [opcode(one) for one in found.ptx] == ["ld.global.nc.f32", "st.shared.v4.f32", "cp.async.ca.shared.global"]
    assert [opcode(one) for one in found.sass] == ["LDG.E", "LDGSTS.E"]
    assert line_code(SOURCE, 1, ptx, sass).sass == ()
