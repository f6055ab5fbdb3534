"""What is chosen for all launches inside a `with`: `record` counts them, `sanitize` says what happens with hazards."""

import operator
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from gpusim.checks.checks import Report
from gpusim.counters.questions import Recording
from gpusim.counters.recorded import Captured
from gpusim.cupy import levels
from gpusim.errors import SimulatorError

DEFAULT_MAX_INSTRUCTIONS = 1_000_000
MOST_INSTRUCTIONS = 2**62  # as many as the compiled engine can count
CHECKS = ("raise", "report", "off")


@dataclass(frozen=True)
class Settings:
    """What `record` and `sanitize` chose for the launches inside them.

    `blocks` are those whose addresses are kept, None for all; `only_traced`: nothing else is executed.
    """

    recording: Recording | None = None
    level: str = levels.AUTO
    blocks: tuple[tuple[int, int, int], ...] | None = ()
    only_traced: bool = False
    max_instructions: int = DEFAULT_MAX_INSTRUCTIONS
    checks: str = "raise"
    reports: list[Report] | None = None
    captured: list[Captured] | None = None
    reverse_atomics: bool = False


_settings: ContextVar[Settings | None] = ContextVar("simulator_settings", default=None)
_of_main_thread: list[Settings] = []  # the innermost last


def current() -> Settings:
    """The settings of the innermost `with record(…)` or `with sanitize(…)`.

    In a thread that has none, those of the main thread hold: what it starts inside the `with` is recorded, too.
    """
    own = _settings.get()
    if own is not None:
        return own
    return _of_main_thread[-1] if _of_main_thread else Settings()


@contextmanager
def _chosen(settings: Settings) -> Iterator[None]:
    """Settings that hold inside the `with`."""
    is_main = threading.current_thread() is threading.main_thread()
    token = _settings.set(settings)
    if is_main:
        _of_main_thread.append(settings)
    try:
        yield
    finally:
        _settings.reset(token)
        if is_main:
            _of_main_thread[:] = [other for other in _of_main_thread if other is not settings]


@contextmanager
def record(
    level: str = levels.AUTO,
    blocks: Iterable[Sequence[int]] | str = ((0, 0, 0),),
    *,
    only_traced: bool = False,
    max_instructions: int | None = None,
    checks: bool | str | None = None,
) -> Iterator[Recording]:
    """Record every launch inside the `with`.

    Args:
        level: "auto", the machine code that the hardware runs, and PTX, the compiler's intermediate language, only
            where the machine code cannot be executed here; "sass" or "ptx" insist on one. `Recording.level` says which
            it was, and `Recording.note` why PTX was taken.
        blocks: the blocks whose addresses are kept for `Recording.requests`, as (x,), (x, y) or (x, y, z); "all" keeps
            everything (much memory). Counters always cover all blocks that are executed.
        only_traced: execute nothing but `blocks`. The rest of C stays as it was, and counters are theirs alone.
        max_instructions: how many instructions a warp may execute before the kernel is taken for an infinite loop; by
            default as outside (`sanitize`), which is a million.
        checks: what the sanitizer does, as for `sanitize`; True means "raise" and False "off". By default as outside.
    """
    levels.checked(level)
    if not isinstance(only_traced, bool | np.bool_):
        raise SimulatorError(f"only_traced={only_traced!r}: choose True or False.")
    if isinstance(blocks, str) and blocks != "all":
        raise SimulatorError(f"blocks={blocks!r}: name blocks as [(x, y), …], or say 'all'.")
    wanted = None if isinstance(blocks, str) else _places(blocks)
    recording = Recording(level)
    outside = current()
    mode = outside.checks if checks is None else _mode(checks)
    most = outside.max_instructions if max_instructions is None else _check_most(max_instructions)
    settings = Settings(recording, level, wanted, only_traced, most, mode, outside.reports)
    with _chosen(settings):
        yield recording


@contextmanager
def sanitize(
    checks: bool | str = "raise", *, max_instructions: int | None = None, reverse_atomics: bool = False
) -> Iterator[list[Report]]:
    """Choose what the sanitizer does in the launches inside the `with`; yields the list of their reports.

    Args: `checks` is "raise" (also True; the default everywhere): after a launch with a hazard, raise RaceError,
    UninitializedRead, AsyncCopyError or WarpMaskError, with the results in the arrays, and where whole warps pass one
    barrier at different places, warn by a BarrierWarning; "report": only add to the list of reports; "off" (also
    False): do not look. `max_instructions`: how many instructions a thread may execute before
    the kernel is taken for an infinite loop; by default as outside. `reverse_atomics`: of the atomic operations that
    threads make at the same time that of the last thread of the last block comes first, and not that of the first: what
    is right in both orders, and in each launch, does not depend on which comes first.
    """
    reports: list[Report] = []
    outside = current()
    most = outside.max_instructions if max_instructions is None else _check_most(max_instructions)
    with _chosen(
        replace(outside, checks=_mode(checks), reports=reports, max_instructions=most, reverse_atomics=reverse_atomics)
    ):
        yield reports


@contextmanager
def capture(level: str = "sass") -> Iterator[list[Captured]]:
    """Execute none of the launches inside the `with`; yields the list of them, for callers that execute parts of them.

    They are to be measured, not checked: an index that runs from one __shared__ array into another is mostly found in a
    launch alone.

    level: as for `record`.
    """
    levels.checked(level)
    captured: list[Captured] = []
    with _chosen(Settings(level=level, captured=captured)):
        yield captured


def _places(blocks: Iterable[Sequence[int]]) -> tuple[tuple[int, int, int], ...]:
    """Blocks as (x, y, z). SimulatorError for what names none."""
    try:
        places = tuple(tuple(operator.index(i) for i in block) for block in blocks)
    except TypeError:
        places = ((),)
    if not all(1 <= len(dims) <= 3 for dims in places):
        raise SimulatorError(f"blocks={blocks!r}: name blocks by whole numbers, as [(x, y), …], or say 'all'.")
    return tuple((*dims, 0, 0)[:3] for dims in places)


def _check_most(instructions: int) -> int:
    if not isinstance(instructions, int | np.integer) or isinstance(instructions, bool) or instructions < 1:
        raise SimulatorError(f"max_instructions={instructions!r}: expected a whole number above 0, such as 1_000_000.")
    if instructions > MOST_INSTRUCTIONS:
        raise SimulatorError(f"max_instructions={instructions}: the most is {MOST_INSTRUCTIONS:,}.")
    return int(instructions)


def _mode(checks: bool | str) -> str:
    mode = {True: "raise", False: "off"}[checks] if isinstance(checks, bool) else checks
    if not isinstance(mode, str) or mode not in CHECKS:
        raise SimulatorError(f"checks={checks!r}: choose True ('raise'), 'report' or False ('off').")
    return mode
