"""Programs in C, compiled for the machine that they run on: where Python, even with NumPy, is too slow.

    library = native.load("engine")          # a ctypes.CDLL

A program is a folder here with its C files. `building` compiles it when the course is installed, or else, and after a
change of the source, when it is first needed. Where there is no C compiler, NoLibrary says what to install.
"""

from gpusim.native.building import PROGRAMS
from gpusim.native.loading import ENVIRONMENT_VARIABLE, NoLibrary, describe, load

__all__ = ["ENVIRONMENT_VARIABLE", "NoLibrary", "PROGRAMS", "describe", "load"]
