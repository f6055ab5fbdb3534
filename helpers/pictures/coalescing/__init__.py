"""The explorer of notebook 03: block shape, axis order and matrix width → the sectors of one warp."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
