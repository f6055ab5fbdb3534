"""Picture 8: a source line, its PTX, its machine code, and what it costs."""

import numpy as np
import pytest

from helpers.pictures import theme
from helpers.pictures.vector_width import figure as picture
from helpers.pictures.vector_width.facts import LineCode, Way
from helpers.pictures.vector_width.figure import opcodes, vector_width_figure, widths_figure
from tests.pictures.figure_data import plain

SCALAR = LineCode(2, "c[i] = a[i];", ("ld.global.f32 %f1, [%rd1]",) * 4, ("LDG.E R1, [R2]",) * 4, "A")
VECTOR = LineCode(2, "c[i] = a[i];", ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]",), ("LDG.E.128 R4, [R2]",), "A")
WAYS = (Way("float", 4, 16), Way("own", 4, 64), Way("float4", 1, 16))


def texts(drawn) -> list[str]:
    return [plain(text.get_text()) for text in drawn.axes[0].texts]


def lengths(drawn, label: str) -> list[float]:
    artists = [artist for artist in drawn.axes[0].collections if artist.get_label() == label]
    return [float(np.ptp(path.vertices[:, 0])) for artist in artists for path in artist.get_paths()]


def test_opcodes_are_counted():
    assert plain(opcodes(["LDS.128 R1", "LDS R2", "LDS.128 R3"])) == "2 × LDS.128 and 1 × LDS"
    assert opcodes([]) == "nothing"


def test_caption_says_what_became_of_the_scalar_loads():
    drawn = vector_width_figure([VECTOR], WAYS, 2, "t", before=SCALAR)
    assert plain(drawn.caption) == "4 × LDG.E became 1 × LDG.E.128: requests 4 → 1, sectors 16 → 16."
    own = vector_width_figure([SCALAR], WAYS, 1, "t", before=SCALAR)
    assert plain(own.caption).endswith("sectors 16 → 64. That is 4 times as many sectors for the same bytes.")


def test_the_first_way_is_described_by_itself():
    drawn = vector_width_figure([SCALAR], WAYS, 0, "t", before=SCALAR)
    assert plain(drawn.caption) == (
        "Line 2 is 4 × ld.global.f32 in PTX and 4 × LDG.E in the machine code: 4 requests, 16 sectors."
    )


def test_bars_are_as_long_as_the_counts():
    drawn = vector_width_figure([VECTOR], WAYS, 2, "t")
    assert lengths(drawn, "requests") == pytest.approx([picture.REQUESTS_WIDTH * n / 4 for n in (4, 4, 1)])
    assert lengths(drawn, "cost") == pytest.approx([picture.COST_WIDTH * n / 64 for n in (16, 64, 16)])


def test_a_refused_way_has_its_reason_in_the_caption_and_no_bar():
    ways = (*WAYS[:2], Way("float4", 1, 0, refused="Row 1 begins at byte 516, which is no multiple of 16."))
    drawn = vector_width_figure([VECTOR], ways, 2, "t", before=SCALAR)
    assert drawn.caption.endswith("no multiple of 16.")
    assert "refused: misaligned address" in texts(drawn)
    assert len(lengths(drawn, "cost")) == 2


def test_every_instruction_is_written_or_counted_as_left_out():
    many = LineCode(2, "x", tuple(f"ld.shared.f32 %f{n}, [%r1]" for n in range(64)), ("LDS.128 R1, [R2]",) * 3)
    written = texts(vector_width_figure([many], WAYS[:1], 0, "t"))
    shown = [text for text in written if text.startswith("ld.shared")]
    assert f"… and {64 - len(shown)} more" in written
    assert written.count("LDS.128 R1, [R2]") == 3


def test_a_line_without_memory_instructions_says_so():
    empty = LineCode(2, "x = 1;", (), ())
    assert texts(vector_width_figure([empty], WAYS[:1], 0, "t")).count("(no memory instruction)") == 2


def test_bands_join_the_blocks_of_a_line():
    drawn = vector_width_figure([SCALAR], WAYS, 0, "t")
    bands = [a.get_paths()[0].vertices for a in drawn.axes[0].collections if a.get_label() == "band"]
    assert [(band[:, 0].min(), band[:, 0].max()) for band in bands] == [
        (picture.COLUMNS[0][0] + picture.COLUMNS[0][1], picture.COLUMNS[1][0]),
        (picture.COLUMNS[1][0] + picture.COLUMNS[1][1], picture.COLUMNS[2][0]),
    ]


def test_too_many_ways_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="between|at least"):
        vector_width_figure([SCALAR], WAYS * 2, 0, "t")
    with pytest.raises(ValueError, match="at least one"):
        widths_figure([], "t")


def test_the_twin_counts_what_is_refused():
    refused = Way("float4", 1, 0, refused="no")
    drawn = widths_figure([("a", WAYS), ("b", (*WAYS[:2], refused))], "t")
    assert plain(drawn.caption) == (
        "16 to 64 sectors for the same 512 bytes; 1 of 6 are refused: their addresses are misaligned."
    )
    assert len(lengths(drawn, "cost")) == 5
    assert [t.get_color() for t in drawn.axes[0].texts if t.get_text() == "misaligned"] == [theme.TROUBLE]
