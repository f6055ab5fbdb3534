"""What do the warps of a scheduler wait for? A row per warp, a column per clock cycle, and below what is issued."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
