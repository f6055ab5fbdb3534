"""What a GPU looks like to a kernel: its memories, how wide the way between them is, how long a float is on it."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
