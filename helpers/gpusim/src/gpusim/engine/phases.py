"""Threads that wait for a phase of an mbarrier to end. PTX ISA, 'mbarrier.test_wait, mbarrier.try_wait'.

`mbarrier.try_wait` suspends the thread until the phase has ended or some time is over, on an H100 some 7,760 cycles:
then it says that the phase goes on. Here no thread's time is over as long as any can run. If none can, all go on
without success, which lets a thread do something else, that may end the phase; but threads that come back to where they
were, with nothing changed, wait for ever."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.arithmetic import mbarrier
from gpusim.engine.circles import memory_of, same_values
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.ir import Instruction
from gpusim.engine.memory import lane_name
from gpusim.engine.schedule import by_warps
from gpusim.errors import BarrierError

MOST_NAMED = 3  # barriers in a message


@dataclass(slots=True)
class Waiting:
    """The threads of `lanes` wait at an instruction, for the phases of parity `phase` at `addresses`."""

    instruction: Instruction
    lanes: np.ndarray
    addresses: np.ndarray
    phase: np.ndarray

    def bits(self, wave) -> np.ndarray:
        """Of the barriers that the threads wait at; 0 for others."""
        wave.instruction = self.instruction
        return self.instruction.look.bits(wave, self.addresses, self.lanes)

    def ended(self, wave) -> np.ndarray:
        """The waiting threads whose phase has ended, those of a warp together."""
        goes_on = self.lanes & (mbarrier.parity(self.bits(wave)) == self.phase)
        return self.lanes & ~by_warps(goes_on, wave.shape)


class PhaseWaits:
    """The threads of a wave that wait for phases; `held`, bool (blocks, threads), are all of them."""

    def __init__(self, wave) -> None:
        self.held = np.zeros(wave.shape, bool)
        self._waiting: list[Waiting] = []
        self._late: tuple[Any, ...] | None = None  # what all looked like when the time was over

    def come(self, wave, instruction: Instruction, lanes: np.ndarray) -> np.ndarray:
        """The threads of `lanes` come to a wait; those that are held there."""
        addresses, phase = (np.broadcast_to(operand, wave.shape) for operand in instruction.look.at(wave.registers))
        waiting = Waiting(instruction, lanes, addresses, phase)
        ended = waiting.ended(wave)
        if ended.any():
            _pass(wave, waiting, ended, np.True_)
        waiting.lanes = lanes & ~ended
        if waiting.lanes.any():
            self._waiting.append(waiting)
            self.held |= waiting.lanes
        return waiting.lanes

    def release(self, wave) -> None:
        """Let those go on whose phases have ended."""
        for waiting in self._waiting:
            ended = waiting.ended(wave)
            if ended.any():
                self._let_go(wave, waiting, ended, np.True_)
        self._waiting = [waiting for waiting in self._waiting if waiting.lanes.any()]

    def give_up(self, wave) -> bool:
        """The time of all waiting threads is over. Returns whether they go on."""
        if not self._waiting:
            return False
        registers, memory = list(wave.registers), [wave.pcs.copy(), *(part.copy() for part in memory_of(wave))]
        late, self._late = self._late, (registers, memory)
        unchanged = late is not None and same_values(late[0], registers)
        if unchanged and all(np.array_equal(old, new) for old, new in zip(late[1], memory, strict=True)):
            return False
        for waiting in self._waiting:
            self._let_go(wave, waiting, waiting.lanes, np.False_)
        self._waiting = []
        return True

    def _let_go(self, wave, waiting: Waiting, lanes: np.ndarray, answer) -> None:
        _pass(wave, waiting, lanes, answer)
        self.held &= ~lanes
        wave.waiting &= ~lanes
        waiting.lanes = waiting.lanes & ~lanes

    def refuse(self, wave) -> None:
        """Raise BarrierError: the waiting threads do so for ever."""
        texts, lines, first = [], [], None
        for waiting in self._waiting:
            bits = waiting.bits(wave)
            for address in np.unique(waiting.addresses[waiting.lanes]).tolist():
                block, thread = (int(i) for i in np.argwhere(waiting.lanes & (waiting.addresses == address))[0])
                here = waiting.lanes[block] & (waiting.addresses[block] == address)
                wave.instruction = waiting.instruction
                thread_name = lane_name(wave.block_index(block), wave.thread_index(thread))
                more = f" and {int(here.sum()) - 1} more of its block" if here.sum() > 1 else ""
                name = _name(wave, address)
                what, advice = _missing(int(bits[block, thread]))
                texts.append(
                    (
                        f"{thread_name}{more} at line {waiting.instruction.line}, for {what} at the mbarrier {name}",
                        advice,
                    )
                )
                lines.append((waiting.instruction.line, *waiting.instruction.called_from))
                first = first or (block, thread)
        rest = f"; {len(texts) - MOST_NAMED} more wait, too" if len(texts) > MOST_NAMED else ""
        named = texts[:MOST_NAMED]
        raise BarrierError(
            f"{wave.program.name}: threads wait for ever: {'; '.join(text for text, _ in named)}{rest}.\n"
            + "".join(wave.launch.quote(*line) for line in dict.fromkeys(lines))
            + " ".join(dict.fromkeys(advice for _, advice in named)),
            kernel=wave.program.name,
            line=lines[0][0],
            lines=tuple(dict.fromkeys(line for several in lines for line in several)),
            block=wave.block_index(first[0]),
            thread=wave.thread_index(first[1]),
        )


def _name(wave, address: int) -> str:
    """An mbarrier as the source calls it: "full[2]"."""
    byte = address & (1 << RANK_SHIFT) - 1
    array = wave.launch.shared_names.around(byte)
    if array is None or not array.bytes:
        return f"at byte {byte} of shared memory"
    return array.name + (f"[{(byte - array.offset) // 8}]" if array.bytes > 8 else "")


def _missing(bits: int) -> tuple[str, str]:
    """(what a phase that does not end waits for, what to look at)."""
    bits_ = np.uint64(bits)
    threads, bytes_ = int(mbarrier.pending(bits_)) % 2**20, mbarrier.bytes_pending(bits_)
    if bytes_ > 0 and threads:
        return (
            f"{_threads(threads)} to arrive and {bytes_} bytes to come",
            "Does each thread arrive that mbarrier.init counts, and is all copied that is expected?",
        )
    if bytes_ > 0:
        return (
            f"{bytes_} bytes to come",
            "Do the sizes of the copies add up to the bytes that mbarrier.expect_tx names? A copy in bulk takes whole "
            "multiples of 16 bytes.",
        )
    if bytes_ < 0:
        return (
            f"{-bytes_} bytes to be expected that have come already",
            "Name the bytes of all copies of a phase by mbarrier.arrive.expect_tx.",
        )
    return (
        f"{_threads(threads)} to arrive",
        "Does each thread arrive that mbarrier.init counts, and does the parity change from phase to phase?",
    )


def _threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def _pass(wave, waiting: Waiting, lanes: np.ndarray, answer) -> None:
    """The threads of `lanes` go on, with an answer."""
    (slot,) = waiting.instruction.writes
    if slot is not None:
        old = wave.registers[slot]
        wave.registers[slot] = answer if lanes.all() else np.where(lanes, answer, old)
    wave.instruction = waiting.instruction
    waiting.instruction.look.tell(wave, waiting.addresses, lanes, bool(answer))
