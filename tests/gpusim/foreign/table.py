"""All rows of the table, and what each shows today."""

from importlib import import_module

from gpusim import compiler, devices
from tests.gpusim.foreign.rows import LEVELS, ROWS, NotForThisArchitecture, Row

__all__ = ["LEVELS", "ROWS", "answer"]

PARTS = "arithmetic control copies further halves hopper lanes library numerics sorting waiting"
for part in PARTS.split():
    import_module(f"tests.gpusim.foreign.{part}")  # which adds its rows


def answer(row: Row, level: str, arch: str = devices.DEFAULT.arch) -> str:
    """What a row shows: "right", "message", "held by other tests", "refused by the compiler", or what is wrong."""
    if row.check is None:
        return "held by other tests"
    try:
        row.run(level, arch)
    except (NotForThisArchitecture, compiler.CompileError):
        return "refused by the compiler"
    except Exception as error:  # whatever it is, it is what the row shows
        return f"WRONG: {str(error)[:200]!r}"
    return "message" if level in row.refused else "right"
