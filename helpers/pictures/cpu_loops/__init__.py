"""Multiplications on this machine's CPU: timed as they stand, and by the loop that is innermost."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
