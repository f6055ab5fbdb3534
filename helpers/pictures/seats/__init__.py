"""Which blocks sit on one SM, and which part of C each of their warps computes."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
