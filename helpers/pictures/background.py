"""Work that takes longer than a picture may, such as a predicted time: in a thread, while the explorer goes on.

All explorers share one thread, so that there is one prediction at a time. The result comes back to the event loop,
where all widgets live; one that something newer has outdated is dropped, and work that has not begun then never does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_THREAD = ThreadPoolExecutor(1, "predictions of explorers")


class Behind:
    """One piece of work of an explorer."""

    def __init__(self) -> None:
        self._future: Future[str] | None = None

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""
        return self._future is not None

    def begin(self, work: Callable[[], str], done: Callable[[str], None]) -> None:
        """Call `work` in the thread, then `done` with its result on the event loop. Without an event loop, outside of a
        notebook, both at once.

        work: must not touch a widget.
        """
        self.stop()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            done(work())
            return
        self._future = future = _THREAD.submit(work)

        def arrived() -> None:
            if self._future is future:
                self._future = None
                done(future.result())

        def tell(_: Future[str]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(arrived)

        future.add_done_callback(tell)

    def stop(self) -> None:
        """What is under way is outdated."""
        if self._future is not None:
            self._future.cancel()
            self._future = None
