"""Kernels as books, samples and forums have them: each gives the right result at both levels, or the sentence expected.

`python -m tests.simulator.foreign` counts what they show.
"""

import pytest

from tests.simulator.foreign import table

RUN = [(row, level) for row in table.ROWS.values() if row.check for level in table.LEVELS]


@pytest.mark.parametrize(("row", "level"), RUN, ids=[f"{row.name}-{level}" for row, level in RUN])
def test_a_kernel_from_elsewhere_gives_what_the_table_says(row, level):
    row.run(level)
