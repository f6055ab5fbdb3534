"""The explorer of a tree in shared memory: block, order and step → who takes from whom, and at which banks."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
