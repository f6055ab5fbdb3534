"""Kernels as books, samples and forums have them: each gives the right result at both levels, or the sentence expected.

`python -m tests.gpusim.foreign` counts what they show.
"""

from pathlib import Path

import pytest

from tests.gpusim.foreign import findings, sanitized, table

RUN = [
    pytest.param(row, level, id=f"{row.name}-{level}")
    for row in table.ROWS.values()
    if row.check
    for level in table.LEVELS
]


@pytest.mark.table(keep=24)
@pytest.mark.parametrize(("row", "level"), RUN)
def test_a_kernel_from_elsewhere_gives_what_the_table_says(row, level):
    row.run(level)


def test_all_parts_of_the_table_are_run():
    parts = {row.check.__module__.rpartition(".")[2] for row in table.ROWS.values() if row.check}
    assert parts == {*table.PARTS.split()} and len(RUN) > 500


def test_rows_that_other_tests_hold_name_tests_that_there_are():
    for test in {test for row in table.ROWS.values() for test in row.held_by} | {
        *sanitized.HELD.values(),
        *findings.HELD_BY.values(),
    }:
        file, name = test.split("::")
        assert f"\ndef {name}(" in (Path(__file__).parent / file).read_text(encoding="utf-8"), test


SANITIZED = [
    pytest.param(program, level, id=f"{name}-{level}")
    for name, program in sanitized.PROGRAMS.items()
    for level in table.LEVELS
]


@pytest.mark.parametrize(("program", "level"), SANITIZED)
def test_sanitizer_says_exactly_what_is_wrong_with_a_program(program, level):
    program.run(level)
