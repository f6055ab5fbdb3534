"""What no kernel or launch can be made of: a notebook shows the sentence, without Python's traceback."""

from __future__ import annotations


class Refused(ValueError):
    """The message is a sentence: what was found, and what to try."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]
