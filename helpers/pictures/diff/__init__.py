"""Two kernels of the ladder side by side: what is new in the code, and which counters it moved."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
