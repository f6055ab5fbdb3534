"""Who multiplies what, and when? The SMs as lines of time, with the pieces of tiles that they work on."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
