"""How far a kernel's machine code stands between a load from shared memory and the first use of what it brings."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
