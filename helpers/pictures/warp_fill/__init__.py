"""How much of its warps does a block fill? A row for each block size, its lanes in warps of 32, idle ones hatched."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
