"""All rows of the table, and what each shows today."""

from tests.simulator.foreign import (  # noqa: F401 (their rows)
    arithmetic,
    control,
    copies,
    further,
    halves,
    hopper,
    lanes,
    library,
    numerics,
    sorting,
    waiting,
)
from tests.simulator.foreign.rows import LEVELS, ROWS, Row

__all__ = ["LEVELS", "ROWS", "answer"]


def answer(row: Row, level: str) -> str:
    """What a row shows: "right", "message", "held by other tests", or what is wrong with it."""
    if row.check is None:
        return "held by other tests"
    try:
        row.run(level)
    except Exception as error:  # whatever it is, it is what the row shows
        return f"WRONG: {str(error)[:200]!r}"
    return "message" if level in row.refused else "right"
