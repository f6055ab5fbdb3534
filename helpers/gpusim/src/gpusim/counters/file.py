"""Recordings in files: one `.npz`, which holds arrays and, as JSON in one of them, everything else.

Nothing in a file is ever executed (no pickle), and neither the compiler nor the kernel is needed to read one. A zip
archive has a checksum of every member, so that damage is noticed.
"""

import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.checks.checks import Finding, Report
from gpusim.counters.recorded import QUANTITIES, Counts, LaunchFacts, RecordedLaunch, Sampling
from gpusim.counters.trace import Trace
from gpusim.counters.unique_sectors import SectorSets
from gpusim.engine.ir import BasicBlock, Instruction, Kind, Program
from gpusim.errors import SimulatorError

FORMAT, VERSION = "gemm-course recording", 1
HEADER = "header"
TRACE = np.dtype(
    [(name, "<i8") for name in ("step", "x", "y", "z", "instruction", "base", "width", "masked")]
    + [(name, "<i4") for name in ("space", "op", "array")]  # numbers of names
)


# ---- writing


def write(path: str | os.PathLike, level: str, launches: Sequence[RecordedLaunch], reports: Sequence[Report]) -> Path:
    """Write a recording to `path`, which must end in .npz; the file is there whole or not at all. Returns the path.

    The listings of both levels are written too; of the machine code only where nvdisasm is at hand.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise SimulatorError(f"A recording is saved as an .npz file: {path} should be called {path.stem}.npz.")
    arrays: dict[str, np.ndarray] = {}
    described = []
    for number, launch in enumerate(launches):
        for name, array in _arrays(launch).items():
            arrays[f"launch{number}/{name}"] = array
        described.append(_description(launch))
    content = {
        "format": FORMAT, "version": VERSION, "level": level, "launches": described,
        "reports": [asdict(report) for report in reports],
    }  # fmt: skip
    arrays[HEADER] = np.frombuffer(json.dumps(content).encode(), np.uint8)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            np.savez_compressed(file, **arrays)
        unfinished.replace(path)
    except OSError as error:
        raise SimulatorError(f"The recording was not saved to {path}: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _description(launch: RecordedLaunch) -> dict[str, Any]:
    """What is no array."""
    program = launch.program
    return {
        "facts": asdict(launch.facts),
        "traced": None if launch.traced is None else sorted(launch.traced),
        "sampling": None if launch.sampling is None else asdict(launch.sampling),
        "program": {
            "name": program.name, "level": program.level, "arch": program.arch, "source": list(program.source_lines),
            "blocks": [(block.start, block.stop) for block in program.blocks],
            "instructions": [
                (
                    instruction.text, instruction.opcode, instruction.line, instruction.guard is not None,
                    list(instruction.called_from),
                )
                for instruction in program.instructions
            ],
        },
        "guarded": [(index, int(lanes)) for index, lanes in launch.guarded_lanes.items()],
        "accesses": list(launch.counts),
        "names": _names(launch),
        "unique": None if launch.unique is None else {
            "blocks": _lists(launch.unique.blocks),
            "grid": None if launch.unique.grid is None else _lists(launch.unique.grid),
        },
        "listings": {level: sorted(listing.items()) for level, listing in launch.all_listings().items()},
    }  # fmt: skip


def _lists(histograms: Mapping[str, np.ndarray]) -> dict[str, list[int]]:
    return {name: histogram.tolist() for name, histogram in histograms.items()}


def _names(launch: RecordedLaunch) -> list[str]:
    """The texts that traces refer to."""
    return sorted({name for trace in launch.traces for name in (trace.space, trace.op, trace.array)})


def _arrays(launch: RecordedLaunch) -> dict[str, np.ndarray]:
    number = {name: index for index, name in enumerate(_names(launch))}
    rows = [
        (
            trace.step, *trace.block, trace.instruction, trace.base, trace.width, trace.active is not None,
            number[trace.space], number[trace.op], number[trace.array],
        )
        for trace in launch.traces
    ]  # fmt: skip
    threads = int(np.prod(launch.facts.block))
    masks = [trace.active for trace in launch.traces if trace.active is not None]
    return {
        "block_warps": launch.block_warps.astype("<i8"),
        "block_lanes": launch.block_lanes.astype("<i8"),
        "counts": np.array(
            [[getattr(counts, name) for name in QUANTITIES] for counts in launch.counts.values()], "<i8"
        ).reshape(-1, len(QUANTITIES)),
        "traces": np.array(rows, TRACE),
        "addresses": np.array([trace.addresses for trace in launch.traces], "<i8").reshape(-1, threads),
        "active": np.packbits(np.array(masks, bool).reshape(-1, threads), axis=1),
    }


# ---- reading


def read(path: str | os.PathLike) -> tuple[str, list[RecordedLaunch], list[Report]]:
    """(level, launches, sanitizer's reports) of a file that `write` made.

    Raises SimulatorError with a sentence for a file that is missing, damaged, of another kind, or of a later version.
    """
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise SimulatorError(f"load takes the name of a file that Recording.save wrote, and this is {path!r}.")
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            if HEADER not in getattr(file, "files", ()):
                raise SimulatorError(_not_a_recording(path, "it has no header"))
            content = json.loads(file[HEADER].tobytes())
            _check(path, content)
            launches = [
                _launch(described, {name: file[f"launch{number}/{name}"] for name in _ARRAYS})
                for number, described in enumerate(content["launches"])
            ]
    except FileNotFoundError:
        raise SimulatorError(f"There is no file {path}: recording.save(path) makes one.") from None
    except IsADirectoryError:
        raise SimulatorError(f"{path} is a folder: name the .npz file in it.") from None
    except _DAMAGE as error:
        raise SimulatorError(_not_a_recording(path, f"or it is damaged ({error})")) from None
    return content["level"], launches, [_report(report) for report in content["reports"]]


_ARRAYS = ("block_warps", "block_lanes", "counts", "traces", "addresses", "active")
_DAMAGE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    zipfile.BadZipFile,
    zlib.error,
)


def _not_a_recording(path: Path, why: str) -> str:
    return f"{path} is not a recording, {why}. Recordings are the .npz files that recording.save(path) writes."


def _check(path: Path, content: Any) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SimulatorError(_not_a_recording(path, "its header is another one"))
    version = content.get("version")
    if version != VERSION:
        raise SimulatorError(
            f"{path} is a recording of format {version}; this version of the course reads format {VERSION}. Update the "
            "course (git pull), or record the launch again."
        )


def _launch(described: dict[str, Any], arrays: dict[str, np.ndarray]) -> RecordedLaunch:
    code = described["program"]
    facts = LaunchFacts(**{name: _tuples(value) for name, value in described["facts"].items()})
    sampling, unique = described["sampling"], described["unique"]
    program = Program(
        code["name"], code["level"], code["arch"],
        [
            Instruction(
                index, text, opcode, line, Kind.ALU, guard=(0, False) if guarded else None, called_from=tuple(callers)
            )
            for index, (text, opcode, line, guarded, callers) in enumerate(code["instructions"])
        ],
        initial=[], parameters=(), source_lines=tuple(code["source"]),
        blocks=[BasicBlock(index, start, stop) for index, (start, stop) in enumerate(code["blocks"])],
    )  # fmt: skip
    counts = {
        (index, space, op, array): Counts(*row)
        for (index, space, op, array), row in zip(described["accesses"], arrays["counts"].tolist(), strict=True)
    }
    return RecordedLaunch(
        program,
        facts,
        None if described["traced"] is None else frozenset(described["traced"]),
        arrays["block_warps"],
        arrays["block_lanes"],
        dict(described["guarded"]),
        counts,
        list(_traces(described["names"], arrays, int(np.prod(facts.block)))),
        None if sampling is None else Sampling(**{name: _tuples(value) for name, value in sampling.items()}),
        None if unique is None else SectorSets(_histograms(unique["blocks"]), _histograms(unique["grid"])),
        {
            level: {line: tuple(texts) for line, texts in listing}
            for level, listing in described["listings"].items()
        },
    )  # fmt: skip


def _histograms(lists: dict[str, list[int]] | None) -> dict[str, np.ndarray] | None:
    return None if lists is None else {name: np.array(values, np.int64) for name, values in lists.items()}


def _traces(names: Sequence[str], arrays: dict[str, np.ndarray], threads: int) -> Iterator[Trace]:
    masks = iter(np.unpackbits(arrays["active"], axis=1, count=threads).astype(bool))
    for row, addresses in zip(arrays["traces"].tolist(), arrays["addresses"].astype(np.int64), strict=True):
        step, x, y, z, instruction, base, width, masked, space, op, array = row
        active = next(masks) if masked else None
        yield Trace(
            step, (x, y, z), instruction, names[space], names[op], names[array], base, width, addresses, active
        )  # fmt: skip


def _report(described: dict[str, Any]) -> Report:
    values = {name: _tuples(value) for name, value in described.items()}
    findings = tuple(
        Finding(**{name: _tuples(value) for name, value in finding.items()}) for finding in values["findings"]
    )
    return Report(**{**values, "findings": findings})


def _tuples(value: Any) -> Any:
    """JSON knows lists only; facts hold tuples."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
