"""What `clock64()` shows. The compiled engine says the same (`read_clock` in helpers/native/engine/exchange.c)."""

PATIENT, FEW_STEPS, GROWTH = 16, 64, 8


class Clock:
    """Shows how many instructions were executed: it goes on, but is no time.

    Who does nothing but wait for it shall not have to execute as many as it waits for: from PATIENT readings on, by the
    same instruction a few steps apart and with no access to memory between them, it leaps ahead, each time a little
    further.
    """

    def __init__(self) -> None:
        self._ahead = self._leap = self._reads = self._read_at = 0
        self._read_by = -1

    def shows(self, now: int) -> int:
        """now: how many instructions were executed."""
        return now + self._ahead

    def read(self, index: int, now: int, before) -> int:
        """What it shows to the instruction `index`. before: the last one that accessed memory or read a clock."""
        is_again = self._read_by == index and now - self._read_at <= FEW_STEPS and before.index == index
        self._reads = self._reads + 1 if is_again else 0
        self._leap = 0 if self._reads <= PATIENT else self._leap + self._leap // GROWTH + 1
        self._ahead += self._leap if self._ahead < 1 << 61 else 0
        self._read_by, self._read_at = index, now
        return self.shows(now)
