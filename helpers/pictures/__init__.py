"""Pictures: one folder each, with its facts, its figure and its explorer; beside them what all share.

`facts`: what a recording says, as frozen dataclasses.  `model`: arithmetic that a learner can check by hand.
`figure`: data in, a Figure out; it never measures, compiles, launches or reads a file.  `explorer`: controls, the data
that they ask for, and its picture.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from gpusim.sentences import Sentence
from helpers import modules_of

PARTS = ("explorer", "figure", "facts", "model")


class CannotTell(Sentence, LookupError):
    """A recording does not hold the fact that was asked for; the message says what it holds, or what to try."""


def parts_of(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a picture's module (PEP 562): a notebook's `coalescing.explore` is its explorer's.

    A module of the folder is loaded when it, or the first name that no part before it has, is asked for.
    """
    module_of = modules_of(package)

    def __getattr__(name: str) -> Any:
        if not name.startswith("_") and not find_spec(f"{package}.{name}"):
            for part in filter(lambda part: find_spec(f"{package}.{part}"), PARTS):
                if name in vars(module := module_of(part)):
                    return getattr(module, name)
        return module_of(name)

    return __getattr__


__getattr__ = modules_of(__name__)
