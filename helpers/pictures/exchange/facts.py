"""Who gives a value to whom, step by step: lanes by shuffles, threads through shared memory, as recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpusim import Recording
from gpusim.devices import BANKS, WARP, WORD_BYTES
from helpers.pictures import CannotTell
from helpers.pictures.bank_board.facts import SharedAccess
from helpers.pictures.threads import block_accesses

Mode = Literal["down", "up", "xor", "lane"]
MODES: tuple[Mode, ...] = ("down", "up", "xor", "lane")
_OPCODES: dict[str, Mode] = {"DOWN": "down", "UP": "up", "BFLY": "xor", "IDX": "lane"}
_SHUFFLE = re.compile(r"SHFL\.(DOWN|UP|BFLY|IDX) \w+, R\w+, R\w+, (RZ|0x[0-9a-f]+), (RZ|0x[0-9a-f]+)")
ALL_LANES = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Step:
    """One exchange.

    name: "down by 16".  pairs: (giver, taker) of all that take another thread's value.  wavefronts: of the most
    expensive load of a warp, 0 for a shuffle.  banks: (32,) how many different words of each bank that load wants, None
    for a shuffle.
    """

    name: str
    pairs: tuple[tuple[int, int], ...]
    wavefronts: int = 0
    banks: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Exchange:
    """All steps of a block, in their order. threads: that may give and take.  keep: the threads whose result is
    stored at the end."""

    steps: tuple[Step, ...]
    threads: int
    keep: tuple[int, ...]

    def needed(self) -> list[set[tuple[int, int]]]:
        """By step the (giver, taker) that the stored results come from, directly or by later steps."""
        wanted, needed_after = set(self.keep), []
        for step in reversed(self.steps):
            pairs = {(giver, taker) for giver, taker in step.pairs if taker in wanted}
            wanted |= {giver for giver, _ in pairs}
            needed_after.append(pairs)
        return needed_after[::-1]


def givers(mode: Mode, offset: int, width: int = WARP) -> np.ndarray:
    """(32,) the lane whose value each lane gets from __shfl_down_sync, _up_, _xor_ or __shfl_sync: its own where the
    wanted one lies outside of its `width` lanes (CUDA guide, "Warp Shuffle Functions"). offset: or the number of the
    lane. width: a power of two up to 32."""
    segment = WARP - width
    return _givers(mode, offset, segment << 8 | (0 if mode == "up" else WARP - 1))


def _givers(mode: Mode, b: int, c: int) -> np.ndarray:
    """The rule of the instruction (PTX ISA, "shfl.sync"). b: offset or lane.  c: clamp and segment mask."""
    lane = np.arange(WARP)
    segment, clamp = c >> 8 & 31, c & 31
    last = (lane & segment) | (clamp & ~segment & 31)
    wanted = {"down": lane + b, "up": lane - b, "xor": lane ^ b, "lane": (lane & segment) | (b & ~segment & 31)}[mode]
    inside = wanted >= last if mode == "up" else wanted <= last
    return np.where(inside, wanted, lane)


def shuffles(recording: Recording) -> Exchange:
    """The shuffles of a warp in the order of its machine code, of a launch whose block (0, 0, 0) was recorded.

    CannotTell for a kernel without one, and where an offset is not in the instruction itself.
    """
    steps: list[Step] = []
    executed = recording.by_instruction()
    # For an atomic of many lanes the compiler lets one lane count for all, and shares out what it returned
    atomics = {instruction.line for instruction in executed if instruction.opcode.startswith("ATOM")}
    for instruction in executed:
        if not instruction.opcode.startswith("SHFL") or not instruction.warps or instruction.line in atomics:
            continue
        match = _SHUFFLE.search(instruction.text)
        if match is None:
            raise CannotTell(
                f"The compiler left the offset of a shuffle in a register ({instruction.text}), so that no picture "
                "can be made of the machine code alone. A loop with a fixed number of steps is unrolled: offset = 16, "
                "8, 4, 2, 1."
            )
        mode, (b, c) = _OPCODES[match[1]], (0 if text == "RZ" else int(text, 16) for text in match.groups()[1:])
        pairs = tuple((int(giver), lane) for lane, giver in enumerate(_givers(mode, b, c)) if giver != lane)
        if not steps or steps[-1].pairs != pairs:  # a value and its place travel by the same step
            steps.append(Step(f"{'from lane' if mode == 'lane' else f'{mode} by'} {b}", pairs))
    if not steps:
        raise CannotTell("The kernel executes no shuffle.")
    return Exchange(tuple(steps), WARP, _storing(recording, WARP))


def tree(recording: Recording) -> Exchange:
    """The exchanges through shared memory of block (0, 0, 0): a thread takes what another one stored last.

    CannotTell where no thread takes another's.
    """
    owner: dict[int, int] = {}
    steps: list[Step] = []
    threads = int(np.prod(recording.launches[-1].facts.block))
    stored = True
    for access in block_accesses(recording, space="shared"):
        active = np.flatnonzero(access.active).tolist()
        words = (access.offset // WORD_BYTES)[access.active].tolist()
        if access.op != "ld":
            owner.update(zip(words, active, strict=True))
            stored = True
            continue
        pairs = tuple((owner.get(word, thread), thread) for word, thread in zip(words, active, strict=True))
        pairs = tuple(pair for pair in pairs if pair[0] != pair[1])
        if not pairs:
            continue
        costs = [_cost(access.offset, access.active, warp) for warp in range(-(-threads // WARP))]
        cost, banks = max(costs, key=lambda candidate: candidate[0])
        if not stored:  # two loads of one step: both operands are another thread's
            last = steps.pop()
            pairs = (*last.pairs, *pairs)
            cost, banks = (cost, banks) if cost > last.wavefronts else (last.wavefronts, last.banks)
        steps.append(Step(f"step {len(steps) + 1}", pairs, cost, banks))
        stored = False
    if not steps:
        raise CannotTell("No thread takes through shared memory what another thread has stored.")
    return Exchange(tuple(steps), threads, _storing(recording, threads))


def _cost(offset: np.ndarray, active: np.ndarray, warp: int) -> tuple[int, np.ndarray]:
    """(wavefronts, different words by bank) of a warp's load."""
    address, acting = np.zeros(WARP, np.int64), np.zeros(WARP, bool)
    mine = slice(warp * WARP, (warp + 1) * WARP)
    count = len(offset[mine])
    address[:count], acting[:count] = offset[mine], active[mine]
    words = np.unique(address[acting] // WORD_BYTES)
    banks = np.bincount(words % BANKS, minlength=BANKS)
    return (SharedAccess("", "ld", WORD_BYTES, address, acting).wavefronts if acting.any() else 0), banks


def _storing(recording: Recording, threads: int) -> tuple[int, ...]:
    """The first threads of block (0, 0, 0), so many, that store to global memory."""
    stores = [store.active for store in _global_writes(recording)]
    writers = np.flatnonzero(np.any(stores, axis=0)) if stores else np.arange(threads)
    return tuple(int(thread) for thread in writers if thread < threads)


def _global_writes(recording: Recording) -> Iterator:
    for op in ("st", "red", "atom"):
        yield from block_accesses(recording, space="global", op=op)


def absent(giver: Sequence[int], mask: int) -> np.ndarray:
    """(32,) bool: lanes of the mask that take from a lane which the mask does not name."""
    named = mask >> np.arange(WARP) & 1 == 1
    return named & ~named[np.asarray(giver)]
