"""What became of a line's loads and stores, in sentences."""

from helpers.pictures.heat_source.moves import merged
from helpers.pictures.heat_source.moves_figure import translations


def plain(sentences):
    return [sentence.replace("\u00a0", " ") for sentence in sentences]


def test_what_became_of_loads_is_said_in_a_sentence():
    four = ["ld.shared.f32 %f1, [%r1]"] * 4
    assert plain(translations(four, ["LDS.128 R4, [R2]"])) == [
        "4 shared loads of 4 bytes in PTX are 1 of 16 bytes in the machine code: merged."
    ]
    assert merged(four, ["LDS.128 R4, [R2]"]) == 3
    assert plain(translations(four[:1], ["LDS R4, [R2]"] * 4)) == [
        "1 shared load of 4 bytes in PTX is 4 of 4 bytes in the machine code: the code is there 4 times, unrolled."
    ]
    assert translations(four, ["LDS R4, [R2]"] * 4) == () and merged(four, ["LDS R4, [R2]"] * 4) == 0
    assert translations(four, []) == ()  # moved to another line
    copies = ["cp.async.ca.shared.global [%r5], [%rd7], 4"] * 2
    assert plain(translations(copies, ["LDGSTS.E.64 [R5], [R2.64]"])) == [
        "2 asynchronous copies of 4 bytes in PTX are 1 of 8 bytes in the machine code: merged."
    ]
    wide = ["ld.global.v4.f32 {%f1}, [%rd1]"]
    assert plain(translations(wide, ["LDG.E R4, [R2.64]"] * 4)) == [
        "1 global load of 16 bytes in PTX is 4 of 4 bytes in the machine code: split."
    ]
