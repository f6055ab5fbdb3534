"""The course's own CUDA headers: what exercises give, which every source may include by name."""

from pathlib import Path

from gpusim import compiler

FOLDER = Path(__file__).resolve().parent / "exercises" / "headers"


def register() -> None:
    """Let the sources of this process include them, in the simulator and on a GPU."""
    compiler.register_headers(FOLDER)
