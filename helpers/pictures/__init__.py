"""What a recording tells, as frozen dataclasses: who accessed what, in which order, and what it cost."""

from gpusim.sentences import Sentence


class CannotTell(Sentence, LookupError):
    """A recording does not hold the fact that was asked for; the message says what it holds, or what to try."""
