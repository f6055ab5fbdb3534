"""One FMA of a warp: the element that each lane adds to, what it needs of A and B, where its registers come from."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
