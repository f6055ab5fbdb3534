"""The shared-memory kernel without one of its barriers: right by luck, and found out."""

import pytest

from gemm_kernels import get
from helpers import run
from helpers.pictures.barriers import explorer as barriers
from tests.pictures.driving import drive

KERNEL = get("shared_memory", T=8)
LAUNCH = KERNEL.launch(24, 16, 40)


def said(removed: int, tile: int = 8, phase: int = 0) -> str:
    return barriers.picture_of(barriers.Choice(removed, tile, phase)).caption.replace("\u00a0", " ")


def test_with_both_barriers_nothing_is_found():
    sanitized = run.sanitize(LAUNCH)
    assert sanitized.right
    assert sanitized.report.findings == ()
    assert sanitized.report.shared_accesses > 0


@pytest.mark.parametrize("number", [1, 2])
def test_without_a_barrier_luck_gives_the_result_and_tiles_race(number):
    sanitized = run.sanitize(barriers.without(LAUNCH, number))
    assert sanitized.right  # the simulator's threads go in step
    assert {finding.array for finding in sanitized.report.findings} == {"As", "Bs"}


def test_only_the_barriers_line_is_taken_out():
    before, after = KERNEL.source.splitlines(), barriers.without(LAUNCH, 1).source.splitlines()
    changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1 and "__syncthreads();" in changed[0][0] and changed[0][1] == ""


def test_only_the_barrier_is_taken_out_of_a_line_with_other_code():
    first = "for (;;) { As[0] = 1; __syncthreads(); sum += As[1]; __syncthreads ( ); } // __syncthreads();\n"
    text = f"{first}__syncthreads();\n"
    sources = [barriers.without(LAUNCH.with_source(text), number).source for number in (1, 2, 3)]
    assert sources[0].startswith("for (;;) { As[0] = 1;  sum += As[1]; __syncthreads ( ); } //")
    assert sources[1].startswith("for (;;) { As[0] = 1; __syncthreads(); sum += As[1];  } //")
    assert sources[2] == f"{first}\n"


def test_barrier_number_beyond_the_kernels_count_gets_a_sentence():
    with pytest.raises(ValueError, match="coalesced has 0 barriers; there is no number 1"):
        barriers.without(get("coalesced").launch(8, 8, 8), 1)


def test_without_first_barrier_a_read_may_precede_the_store():
    lines = barriers.without(LAUNCH, 1).source.splitlines()
    store = 1 + next(number for number, line in enumerate(lines) if line.strip().startswith("Bs[y][x] ="))
    read = 1 + next(number for number, line in enumerate(lines) if "acc += As[y][k]" in line)
    assert said(1) == (
        f"Without the first __syncthreads(), thread (0, 7) may read Bs[0][0] (line {read}) before thread (0, 0) has "
        f"stored it (line {store}): C is right or wrong by chance."
    )


def test_without_second_barrier_next_tile_may_precede_last_read():
    assert "thread (0, 0) may store the next tile's float in Bs[0][0]" in said(2, phase=1)


def test_both_barriers_in_place_show_the_phase_without_a_race():
    assert said(0).startswith("Phase 1 of 8: 128 floats loaded")


def test_every_setting_of_the_explorer_shows_a_picture(monkeypatch):
    shown = drive(barriers.explore(), monkeypatch, settings=25)
    assert shown["picture"] > 25


def test_lines_of_a_solution_are_not_drawn():
    texts = [
        {text.get_text() for axes in barriers.picture_of(choice).figure.axes for text in axes.texts}
        for choice in (barriers.Choice(1, 8), barriers.Choice(1, 8, lines=False))
    ]
    assert any("As[y][k]" in text for text in texts[0]) and barriers.UNQUOTED in texts[1]
    assert not any("[k]" in text for text in texts[1])
