"""All rows of the table."""

from tests.simulator.foreign import arithmetic, control, copies, halves, lanes, numerics, sorting  # noqa: F401 (its rows)
from tests.simulator.foreign.rows import LEVELS, ROWS

__all__ = ["LEVELS", "ROWS"]
