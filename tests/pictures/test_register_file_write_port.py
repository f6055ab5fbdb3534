"""Writes to the two banks of registers: who collides, and that nothing that is to be written gets lost."""

import pytest

from helpers.pictures.register_file.write_port import REGISTERS, collisions, cycles

IN_TURN, EVEN, NOTHING = [number % 2 for number in range(24)], [0] * 24, [None] * 24
SUMS = {"in turn": IN_TURN, "one bank": EVEN, "nothing": NOTHING}


@pytest.mark.parametrize(
    ("sums", "merged", "lost"),
    [
        ("in turn", True, 2),
        ("in turn", False, 0),
        ("one bank", True, 2),
        ("one bank", False, 2),
        ("nothing", True, 0),
        ("nothing", False, 0),
    ],
)
def test_load_costs_the_cycles_without_a_free_write_port(sums, merged, lost):
    assert collisions(SUMS[sums], {4: merged}) == lost
    assert collisions(SUMS[sums], {4: merged, 16: merged}) == 2 * lost


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("sums", SUMS)
@pytest.mark.parametrize("at", [0, 4, 5, 23])
def test_every_register_is_written_once_and_no_port_takes_two(sums, merged, at):
    by_cycle = cycles(SUMS[sums], {at: merged})
    assert [moment.fma for moment in by_cycle if moment.fma is not None] == list(range(24))
    assert sorted(number for moment in by_cycle for _, number in moment.returned) == list(range(REGISTERS))
    for cycle in by_cycle:
        ports = [bank for bank, _ in cycle.returned] + ([cycle.bank] if cycle.bank is not None else [])
        assert len(set(ports)) == len(ports)
        assert all(bank == number % 2 for bank, number in cycle.returned)


def test_merged_load_returns_two_registers_a_cycle_then_one():
    assert {len(cycle.returned) for cycle in cycles(IN_TURN, {4: True})} == {0, 2}
    assert {len(cycle.returned) for cycle in cycles(IN_TURN, {4: False})} == {0, 1}


def test_without_loads_nothing_waits():
    assert len(cycles(IN_TURN, {})) == len(IN_TURN) and not collisions(IN_TURN, {})
