"""The two pictures of the register file: what is at hand, what is asked, who waits."""

import pytest

from helpers.pictures.register_file.figure import SHOWN, ports_figure, queues_figure
from helpers.pictures.register_file.model import asked_of, in_order, queue
from helpers.pictures.register_file.write_port import cycles
from tests.pictures.figure_data import words


def shown(registers):
    fmas = in_order(registers)
    return queues_figure(fmas, queue(asked_of(fma.text for fma in fmas)), "queues")


def words_of(drawn):
    return drawn.caption.replace("\u00a0", " ")


def test_each_operand_stands_once_under_a_bank_or_at_hand():
    drawn = shown([(48, 56, 17), (48, 57, 18)])
    places = {text.get_text(): text.get_position()[0] for text in drawn.axes[0].texts}
    assert words(drawn).count("R48") == 2  # asked for once, at hand once
    assert places["R17"] > places["R56"] and places["R57"] > places["R18"]
    assert "2 FMAs lose no cycle" in words_of(drawn)


def test_lost_cycles_stand_in_their_rows_and_in_the_caption():
    drawn = shown([(48, 56, 16), (48, 58, 18), (48, 60, 20)])
    assert words(drawn).count("+1") == 3 and "3 FMAs lose 3 cycles" in words_of(drawn)


@pytest.mark.parametrize("count", [0, SHOWN + 1])
def test_too_many_fmas_are_refused_with_a_sentence(count):
    with pytest.raises(ValueError, match="shows 1 to 32 FMAs"):
        shown([(48, 56, 17)] * count)


def test_an_fma_that_waits_is_named_under_its_cycle():
    panels = [("Merged", cycles([0, 1] * 7, {4: True})), ("Not merged", cycles([0, 1] * 7, {4: False}))]
    drawn = ports_figure(panels, "ports")
    assert words(drawn).count("#4") == 2 + 1 + 1  # it waits twice, and is written once in each panel
    assert words_of(drawn).startswith("FMAs lose 2 cycles (merged) and no cycle (not merged).")


def test_no_situation_is_refused():
    with pytest.raises(ValueError, match="no situation"):
        ports_figure([], "ports")
