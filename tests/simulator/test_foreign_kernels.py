"""Kernels as books, samples and forums have them: each gives the right result at both levels, or the sentence expected.

`python -m tests.simulator.foreign` counts what they show.
"""

from pathlib import Path

import pytest

from tests.simulator.foreign import table

RUN = [
    pytest.param(row, level, id=f"{row.name}-{level}", marks=[pytest.mark.xfail(strict=True)] if row.wanting else [])
    for row in table.ROWS.values()
    if row.check
    for level in table.LEVELS
]


@pytest.mark.parametrize(("row", "level"), RUN)
def test_a_kernel_from_elsewhere_gives_what_the_table_says(row, level):
    row.run(level)


@pytest.mark.parametrize("row", [row for row in table.ROWS.values() if row.held_by], ids=lambda row: row.name)
def test_a_row_that_other_tests_hold_names_tests_that_there_are(row):
    for test in row.held_by:
        file, name = test.split("::")
        assert f"\ndef {name}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")
