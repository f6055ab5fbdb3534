"""Blocks of a grouped product: whose rows each computes, and how long a GPU of few slots is busy with them."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
