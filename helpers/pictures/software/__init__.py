"""From one line of PyTorch down to the instructions of a thread: what stands between, and where the course is."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
