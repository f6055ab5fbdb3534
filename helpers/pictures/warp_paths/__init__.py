"""A branch as time: the instructions that a warp issues one after the other, and which of its lanes take part."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
