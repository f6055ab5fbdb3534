"""What gpusim models, in its README, from its own tables: `python -m helpers.tools.pages.modelled [--fix]`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

import gpusim
from gpusim import constants, devices, errors
from gpusim.isa.ptx import opcodes as ptx
from gpusim.isa.sass import opcodes as sass
from helpers.tools.pages.markers import Markers, command_line

README = Path(__file__).resolve().parents[3] / "helpers" / "gpusim" / "README.md"
MODELLED = Markers("modelled", "make format")
FINDINGS = (
    errors.SHARED_RACE, errors.GLOBAL_RACE, errors.UNWRITTEN_SHARED, errors.UNWRITTEN_GLOBAL, errors.UNWRITTEN_LOCAL,
    errors.NEVER_SET, errors.WARP_MASK, errors.ASYNC_COPY, errors.BARRIERS,
)  # fmt: skip


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _machine_code() -> list[str]:
    """The opcodes of machine code by the first compute capability that has them."""
    since: dict[int, list[str]] = {}
    for row in sass.ROWS:
        since.setdefault(row.since, []).append(row.name)
    uniform = sum(bool(row.uniform) for row in sass.ROWS)
    lines = [
        f"### Machine code: {len(sass.ROWS)} opcodes, {uniform} of them also for uniform registers", "",
        "With a modifier that a row of `isa/sass/opcodes.py` does not name an instruction is refused, not guessed.", "",
        "| from | opcodes |", "|---|---|",
    ]  # fmt: skip
    return lines + [f"| sm_{number} | {_listed(names)} |" for number, names in sorted(since.items())]


def _sentences() -> list[str]:
    """The exceptions of the package with the first line of what they say of themselves."""
    classes = (
        member for _, member in inspect.getmembers(errors, inspect.isclass) if member.__module__ == errors.__name__
    )
    shown = [error for error in classes if issubclass(error, errors.SimulatorError)]
    return [f"| `{error.__name__}` | {(error.__doc__ or '').strip().splitlines()[0]} |" for error in shown]


def _counters() -> list[str]:
    """The names that a recording has counters under."""
    kernel = gpusim.RawModule(code='extern "C" __global__ void nothing() {}').get_function("nothing")
    with gpusim.record() as recording:
        kernel((1,), (32,), ())
    return [*recording.counters]


def text() -> str:
    """The part of the README that follows from tables."""
    statements = set(ptx.OPCODES)
    counted = _counters()
    limits = sorted(devices.LIMITS, key=lambda arch: int(arch.removeprefix("sm_")))
    timed = " and ".join(constants.gpus(constants.MACHINE))
    lines = [
        *_machine_code(), "",
        f"### PTX: {len(statements)} statements, where machine code cannot be had", "",
        _listed(statements), "",
        "### Hazards that `sanitize` reports", "",
        *(f"- {kind}" for kind in FINDINGS), "",
        f"### {len(counted)} of Nsight Compute's counters", "",
        _listed(counted), "",
        "### Architectures and GPUs", "",
        f"Limits of launches and occupancy: {', '.join(limits)}. GPUs by name: {', '.join(devices.DEVICES)}. "
        f"Times are predicted for {timed}, on which constants were measured.", "",
        "### What is refused, each with a sentence", "",
        "| error | when |", "|---|---|", *_sentences(),
    ]  # fmt: skip
    return "\n".join(lines)


def wanted(readme: Path = README) -> dict[Path, str]:
    """The page, and the text that it should have."""
    return {readme: MODELLED.replaced(readme.read_text(encoding="utf-8"), text(), readme.name)}


def main(arguments: list[str]) -> int:
    """Compare or write. Exit status 1 if the page is not up to date (and --fix was not given)."""
    return command_line(arguments, __spec__.name, __doc__, MODELLED.command, wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
