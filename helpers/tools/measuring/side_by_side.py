"""Work on several GPUs of a machine at once: a process for each of them, which takes one task after another."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any

VISIBLE = "CUDA_VISIBLE_DEVICES"  # which GPUs CUDA shows a process, in this order


class TooFew(Exception):
    """There are fewer GPUs than were asked for; the message says how many."""


def like_this_one(count: int) -> list[str]:
    """So many GPUs that have the same name as the current one, as VISIBLE calls them. Needs a GPU; TooFew if there are
    not so many."""
    from cupy.cuda import runtime

    names = [runtime.getDeviceProperties(which)["name"] for which in range(runtime.getDeviceCount())]
    wanted = names[runtime.getDevice()]
    called = os.environ[VISIBLE].split(",") if os.environ.get(VISIBLE) else map(str, range(len(names)))
    alike = [candidate for candidate, name in zip(called, names, strict=False) if name == wanted]
    if len(alike) < count:
        raise TooFew(f"{count} GPUs were asked for, and there are {len(alike)} × {wanted.decode()} here.")
    return alike[:count]


def results(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], gpus: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], Future]]:
    """Call a function of a module with each task's arguments, on whichever of these GPUs is free. Yields the tasks with
    what came of them, in the order in which they end.

    Each process sees its own GPU and no other. Closed before its end, it waits for the tasks that processes have been
    given, two for each of them at most, and drops the others.
    """
    afresh = multiprocessing.get_context("spawn")  # a process that CUDA has been started in cannot be forked
    free = afresh.Queue()
    for gpu in gpus:
        free.put(gpu)
    pool = ProcessPoolExecutor(len(gpus), mp_context=afresh, initializer=_see_one, initargs=(free,))
    try:
        begun = {pool.submit(function, *task): task for task in tasks}
        for ended in as_completed(begun):
            yield begun[ended], ended
    finally:
        pool.shutdown(cancel_futures=True)


def _see_one(free: multiprocessing.Queue) -> None:
    """What a process does first, before CUDA is started in it."""
    os.environ[VISIBLE] = free.get()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
