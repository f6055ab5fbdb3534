"""What of the course every CUDA source may include: headers that exercises give, by name, and other files by path."""

from pathlib import Path

from gpusim import compiler

COURSE = Path(__file__).resolve().parents[1]
FOLDER = COURSE / "helpers" / "exercises" / "headers"


def register() -> None:
    """Let the sources of this process include them, in the simulator and on a GPU."""
    compiler.allow_includes(COURSE)
    compiler.register_headers(FOLDER)
