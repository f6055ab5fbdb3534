"""Loads and stores of a line, in PTX and in machine code."""

import pytest

from helpers.pictures.heat_source.moves import is_move, moves_in_ptx, moves_in_sass


@pytest.mark.parametrize(
    ("text", "kind", "width"),
    [
        ("ld.shared.f32 %f1, [%r2+4]", ("shared", "load"), 4),
        ("ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]", ("global", "load"), 16),
        ("@%p3 st.global.v2.u64 [%rd1], {%rd2, %rd3}", ("global", "store"), 16),
        ("st.local.u8 [%rd1], %rs1", ("local", "store"), 1),
        ("ld.volatile.shared.u16 %rs1, [%r1]", ("shared", "load"), 2),
        ("ld.shared::cta.b64 %rd1, [%r1]", ("shared", "load"), 8),
        ("cp.async.cg.shared.global [%r5], [%rd7], 16, %r9", ("asynchronous", "copy"), 16),
    ],
)
def test_ptx_is_read(text, kind, width):
    assert moves_in_ptx([text]) == {kind: {width: 1}} and is_move(text)


@pytest.mark.parametrize(
    ("text", "kind", "width"),
    [
        ("LDS.128 R4, [R2]", ("shared", "load"), 16),
        ("@!P0 LDG.E.64.CONSTANT R4, desc[UR6][R2.64]", ("global", "load"), 8),
        ("@UP1 STG.E desc[UR6][R2.64], R4", ("global", "store"), 4),
        ("STS.U8 [R2], R4", ("shared", "store"), 1),
        ("LDL.U16 R4, [R2]", ("local", "load"), 2),
        ("LDGSTS.E.BYPASS.LTC128B.128 [R5], desc[UR6][R2.64]", ("asynchronous", "copy"), 16),
        ("LDGSTS.E.LTC128B [R5], desc[UR6][R2.64]", ("asynchronous", "copy"), 4),
    ],
)
def test_machine_code_is_read(text, kind, width):
    assert moves_in_sass([text]) == {kind: {width: 1}} and is_move(text)


@pytest.mark.parametrize(
    "text",
    [
        "ld.param.u64 %rd1, [k_param_0]",
        "ldmatrix.sync.x4 {%r1}, [%r2]",
        "add.f32 %f1, %f2, %f3",
        "LDC R1, c[0x0][0x28]",
    ],
)
def test_other_instructions_are_no_moves(text):
    assert not is_move(text)
