"""Programs in C, compiled ahead of time: where Python, even with NumPy, is too slow.

    library = native.load("engine")          # a ctypes.CDLL
    library.processor_level()

A program is a folder here with its C files, and `libraries.zip`: what `make engine` built of them for the systems in
`TARGETS`, so that a learner needs no C compiler. On another system one that is found there builds it, once, into the
cache. Without both, NoLibrary says why, and callers go on in Python.
"""

from helpers.native.loading import ENVIRONMENT_VARIABLE, NoLibrary, describe, load
from helpers.native.sources import PROGRAMS, TARGETS, digest_of_source

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "NoLibrary",
    "PROGRAMS",
    "TARGETS",
    "describe",
    "digest_of_source",
    "load",
]
