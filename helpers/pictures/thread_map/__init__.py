"""The explorer of notebook 02: block and grid → which thread computes which element of C, and which warp it is in."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
