"""Recordings: what launches did, and everything that can be asked about it afterwards."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.checks.checks import Report
from gpusim.counters import counters, counting
from gpusim.counters.recorded import Counts, InstructionCounts, LineCounts, RecordedLaunch, place_of
from gpusim.counters.recorder import COPY, WARP, as_warps
from gpusim.errors import SimulatorError
from gpusim.occupancy import Occupancy

REQUEST = np.dtype(
    [
        ("step", np.int64),
        ("line", np.int32),
        ("instruction", np.int32),
        ("space", "U6"),
        ("op", "U4"),
        ("array", "U32"),
        ("width", np.int32),
        ("address", np.int64, WARP),
        ("offset", np.int64, WARP),
        ("active", np.bool_, WARP),
        ("sectors", np.int32),
        ("tags", np.int32),
        ("wavefronts", np.int32),
    ]
)


MOST_ASKED = 8  # answers of a recording that are kept


@dataclass(slots=True, repr=False)
class Recording:
    """Everything that was launched inside `gpusim.record(…)`; `requested` is the level that was asked for there."""

    requested: str
    launches: list[RecordedLaunch] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    _asked: dict[tuple[Any, ...], np.ndarray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __reduce__(self):
        raise SimulatorError("A Recording cannot be pickled or copied. Record the launch again where it is looked at.")

    @property
    def level(self) -> str:
        """What was executed and counted: "sass", the machine code that the hardware runs; "ptx", the compiler's
        intermediate language; "mixed" if that is not the same in all launches; `requested` before the first."""
        levels = {launch.program.level for launch in self.launches}
        return "mixed" if len(levels) > 1 else levels.pop() if levels else self.requested

    @property
    def note(self) -> str | None:
        """Sentences that say why PTX was executed in place of the machine code, or that no GPU has confirmed how the
        machine code of this architecture is executed here; None if there is nothing to say."""
        return "\n".join(dict.fromkeys(launch.facts.note for launch in self.launches if launch.facts.note)) or None

    def __repr__(self) -> str:
        if not self.launches:
            return f"<Recording at {self.level.upper()} level: no launch>"
        texts = [
            f"{facts.kernel} for {facts.arch} on a grid of {' × '.join(map(str, facts.grid))} blocks of "
            f"{' × '.join(map(str, facts.block))} threads"
            for facts in (launch.facts for launch in self.launches)
        ]
        launches = "; ".join(
            text if texts.count(text) == 1 else f"{texts.count(text)} times {text}" for text in dict.fromkeys(texts)
        )
        return f"<Recording at {self.level.upper()} level: {launches}>"

    @property
    def checks(self) -> Report:
        """What the sanitizer looked at and found in the launches, as one report; str() says it in words."""
        if not self.reports:
            raise SimulatorError("The sanitizer was off, or nothing was launched, inside `with gpusim.record(...)`.")
        return sum(self.reports, Report(""))

    @property
    def source(self) -> str:
        """The source text of the last launch's kernel."""
        return "\n".join(self._launches()[-1].program.source_lines)

    def listing(self, level: str | None = None) -> dict[int, tuple[str, ...]]:
        """The last kernel's instructions by source line, as PTX ("ptx") or machine code ("sass"), whatever level was
        recorded; by default that one.

        Raises NvdisasmMissing if the machine code cannot be shown here.
        """
        level = self._launches()[-1].program.level if level is None else level
        if level not in ("ptx", "sass"):
            raise SimulatorError(f"level={level!r}: choose 'ptx' or 'sass'.")
        return self._launches()[-1].listing(level)

    @property
    def listings(self) -> dict[str, dict[int, tuple[str, ...]]]:
        """`listing` of the levels that can be shown here, by level."""
        return self._launches()[-1].all_listings()

    def _launches(self) -> list[RecordedLaunch]:
        if not self.launches:
            raise SimulatorError("Nothing was recorded: no kernel was launched inside `with gpusim.record(...)`.")
        return self.launches

    def total(self, quantity: str, space: str | None = None, op: str | None = None, array: str | None = None) -> int:
        """The sum of a quantity of `Counts` ("requests", "sectors", "tags", "wavefronts", …) over all accesses, or over
        those of a space ("global"), an op ("ld", "st", "atom", "red", "copy") and an array (a parameter's name)."""
        return sum(
            getattr(counts, quantity)
            for launch in self._launches()
            for (_, where, what, name), counts in launch.counts.items()
            if space in (None, where) and op in (None, what) and array in (None, name)
        )

    def instructions(self, opcode: str | None = None, threads: bool = False) -> int:
        """Warp (or thread) instructions executed, all or those whose opcode starts with `opcode`."""
        total = 0
        for launch in self._launches():
            executed = launch.block_lanes if threads else launch.block_warps
            for block in launch.program.blocks:
                instructions = launch.program.instructions[block.start : block.stop]
                matching = sum(opcode is None or i.opcode.startswith(opcode) for i in instructions)
                total += matching * int(executed[block.index])
        return total

    @property
    def counters(self) -> dict[str, int | float]:
        """The launches' counters under Nsight Compute's names, summed; `launch__…` are the last launch's.

        At SASS level they are the hardware's own (`recording.counters`); at PTX level a few of them, counted on
        what the compiler's first half made. `launch__…` and the occupancy are the machine code's at both levels.
        """
        launches = self._launches()
        if self.level == "mixed":
            raise SimulatorError(
                f"Some launches were counted in machine code and some in PTX, which cannot be added up. {self.note} "
                "Record each launch by itself."
            )
        if self.level == "sass":
            return counters.of_sass(launches)
        answers = {"smsp__inst_executed.sum": self.instructions()}
        answers["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = self.instructions("fma.rn", threads=True)
        for op in ("ld", "st"):
            for quantity in ("requests", "sectors"):
                answers[f"l1tex__t_{quantity}_pipe_lsu_mem_global_op_{op}.sum"] = self.total(quantity, "global", op)
            answers[f"smsp__sass_inst_executed_op_shared_{op}.sum"] = self.total("requests", "shared", op)
            name = f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
            answers[name] = self.total("wavefronts", "shared", op)
        return answers | counters.of_launch(launches[-1].facts)

    @property
    def occupancy(self) -> Occupancy:
        """How many blocks of the last launch fit on an SM of its architecture, and what stops the next one."""
        return counters.occupancy_of(self._launches()[-1].facts)

    def by_line(self) -> list[LineCounts]:
        """The source lines that became instructions, in order, with their counts."""
        instructions: dict[int, int] = {}
        accesses: dict[int, dict[tuple[str, str], Counts]] = {}
        text: dict[int, str] = {}
        for launch in self._launches():
            program = launch.program
            for block in program.blocks:
                for instruction in program.instructions[block.start : block.stop]:
                    line = instruction.line
                    instructions[line] = instructions.get(line, 0) + int(launch.block_warps[block.index])
                    if 1 <= line <= len(program.source_lines):
                        text[line] = program.source_lines[line - 1]
            for (index, space, op, _), counts in launch.counts.items():
                kinds = accesses.setdefault(program.instructions[index].line, {})
                kinds.setdefault((space, op), Counts()).add(counts)
        return [
            LineCounts(line, text.get(line, ""), instructions[line], accesses.get(line, {}))
            for line in sorted(instructions)
        ]

    def by_instruction(self, launch: int = -1) -> list[InstructionCounts]:
        """The instructions of one launch's kernel in the order of the code, each with its counts, also if it was never
        executed; PTX or machine code, as was recorded."""
        recorded = self._launches()[launch]
        accesses: dict[int, dict[tuple[str, str], Counts]] = {}
        for (index, space, op, _), counts in recorded.counts.items():
            accesses.setdefault(index, {}).setdefault((space, op), Counts()).add(counts)
        program = recorded.program
        # Basic blocks need not be in the order of the code.
        indices = [index for block in program.blocks for index in range(block.start, block.stop)]
        rows = dict(zip(indices, counters.executed(recorded), strict=True))
        return [
            InstructionCounts(
                index, program.instructions[index].text, row.opcode, row.line, row.warps, row.threads,
                row.predicated_on, accesses.get(index, {}),
            )
            for index, row in sorted(rows.items())
        ]  # fmt: skip

    def requests(
        self,
        space: str | None = None,
        op: str | None = None,
        block: Iterable[int] | int = (0, 0, 0),
        warp: int | None = 0,
        line: int | None = None,
        array: str | None = None,
        launch: int = -1,
    ) -> np.ndarray:
        """The warp-level requests of one block in the order in which they were made, dtype `REQUEST`.

        Fields: `address` (32,) byte addresses in their space, `offset` (32,) bytes from the start of `array`, `active`
        (32,), `width` bytes a lane, `sectors`, `tags`, `wavefronts` (0 where they do not apply), `line`, `op`, `step`.

        Args: `warp` None means all warps; `space`, `op`, `line` and `array` select. The block must have been traced:
        SimulatorError says so otherwise.
        """
        if warp is None:
            block = place_of(block)
            _check_selection(space, op, warp, line, array)
            return _requests(self._launches()[launch], space, op, block, warp, line, array)
        # A caller that asks for a request of a warp asks for the next one, too.
        block = place_of(block)
        _check_selection(space, op, warp, line, array)
        key = (len(self.launches), space, op, block, warp, line, array, launch)
        if key not in self._asked:
            answer = _requests(self._launches()[launch], space, op, block, warp, line, array)
            answer.flags.writeable = False
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()
            self._asked[key] = answer
        return self._asked[key]


EXAMPLES = {"space": "shared", "op": "ld", "array": "A"}


def _check_selection(space: Any, op: Any, warp: Any, line: Any, array: Any) -> None:
    """SimulatorError for what selects no requests, whatever was recorded."""
    for name, value in (("space", space), ("op", op), ("array", array)):
        if value is not None and not isinstance(value, str):
            raise SimulatorError(f"{name}={value!r}: expected a text, such as {EXAMPLES[name]!r}, or None for all.")
    for name, value in (("warp", warp), ("line", line)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer)):
            raise SimulatorError(f"{name}={value!r}: expected a whole number, or None for all.")


def _requests(
    recorder: RecordedLaunch, space: str | None, op: str | None, block: Iterable[int] | int, warp: int | None,
    line: int | None, array: str | None,
) -> np.ndarray:  # fmt: skip
    """See `Recording.requests`."""
    copies = {index for index, _, op, _ in recorder.counts if op == COPY}
    rows: list[tuple[Any, ...]] = []
    alike: dict[tuple[Any, ...], list[int]] = {}  # rows that are counted together, by what the rule depends on
    for trace in recorder.traces_of(block):
        source_line = recorder.program.instructions[trace.instruction].line
        if (
            space not in (None, trace.space)
            or op not in (None, trace.op)
            or line not in (None, source_line)
            or array not in (None, trace.array)
        ):
            continue
        addresses = as_warps(trace.addresses[None, :])
        active = np.ones(len(trace.addresses), bool) if trace.active is None else trace.active
        lanes = as_warps(active[None, :])
        chosen = range(len(addresses)) if warp is None else [warp]
        for number in chosen:
            if number >= len(addresses) or not lanes[number].any():
                continue
            addresses_of_warp = addresses[number]
            kind = (trace.space, trace.op, trace.width, len(addresses), trace.instruction in copies)
            alike.setdefault(kind, []).append(len(rows))
            rows.append(
                (
                    trace.step, source_line, trace.instruction, trace.space, trace.op, trace.array, trace.width,
                    addresses_of_warp, addresses_of_warp - trace.base, lanes[number], 0, 0, 0,
                )
            )  # fmt: skip
    requests = np.array(rows, REQUEST)
    for (space_, op_, width, warps, copied), numbers in alike.items():
        costs = _costs(requests[numbers], space_, op_, width, warps, copied)
        for name, counted in zip(("sectors", "tags", "wavefronts"), costs, strict=True):
            requests[name][numbers] = counted
    return requests


def _costs(
    requests: np.ndarray, space: str, op: str, width: int, warps: int, copied: bool
) -> tuple[np.ndarray | int, np.ndarray | int, np.ndarray | int]:
    """(sectors, tags, wavefronts) of each of some requests that are alike. warps: of their block."""
    addresses, active = requests["address"], requests["active"]
    if space == "shared":
        return 0, 0, counting.wavefronts(addresses, active, width, op != "ld")
    parts = [addresses]
    if space == "local" and width > 4:
        # A lane's words lie apart, each beside the other lanes' same word: see LaunchRecorder.access.
        apart = 4 * WARP * warps
        width, parts = 4, [addresses + word * apart for word in range(width // 4)]
    sectors = sum(counting.sectors(part, active, width) for part in parts)
    return sectors, sum(counting.tags(part, active, width, copied) for part in parts), 0
